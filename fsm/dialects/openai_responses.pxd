cimport cython

from fsm cimport _tables as T
from fsm.dialects.base cimport Dialect
from fsm.dialects.responses_memory cimport Item, Items

cdef class OpenAIResponses(Dialect):
    cdef object _unknown
    cdef bint _created
    cdef Items _items
    cpdef _meta(self, dict response)
    cpdef _over(self, dict payload, bytes raw, word)
    @cython.locals(blocks=list, known=Item)
    cpdef _end(self, dict response, bytes raw, tuple path=*)
    cpdef _restate(self, list blocks, dict wire, bytes raw, tuple path)
    @cython.locals(item=Item, fields=dict)
    cpdef _item_begins(self, dict wire, dict payload, bytes raw)
    cpdef _item_ends(self, dict wire, dict payload, bytes raw)
    @cython.locals(item=Item, fields=dict, places=dict, joins=dict, stated=list)
    cpdef _parts(self, dict wire, index, bint restated)
    @cython.locals(item=Item)
    cpdef tuple _part(self, dict payload, kind, key, bint bounded)
    cpdef _say(self, int event, dict payload, kind, key)
    cpdef _state(self, dict payload, part, bint restated)
