cimport cython

from fsm cimport _tables as T
from fsm.dialects.base cimport Dialect

cdef class _Item:
    cdef public object id
    cdef public bint done, quoted
    cdef public dict fields, parts

cdef class OpenAIResponses(Dialect):
    cdef object _unknown
    cdef bint _created
    cdef dict _items
    cpdef _meta(self, dict response)
    @cython.locals(item=_Item)
    cpdef _index(self, dict payload, id_)
    @cython.locals(item=_Item)
    cpdef _Item _item(self, index)
    @cython.locals(item=_Item)
    cpdef tuple _part(self, dict payload, kind, key)
    cpdef _say(self, int event, dict payload, kind, key)
    cpdef _state(self, dict payload, part, bint restated)
    cpdef _unquote(self, _Item item, address)
