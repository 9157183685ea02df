cimport cython

from fsm cimport _tables as T
from fsm.dialects.base cimport Dialect

cdef class _Item:
    cdef public object id
    cdef public bint done, quoted
    cdef public dict fields, parts
    cpdef list places(self)
    cpdef addresses(self, kind, base)
    cpdef first(self, kind)

cdef class OpenAIResponses(Dialect):
    cdef object _unknown
    cdef bint _created
    cdef dict _items
    cpdef _meta(self, dict response)
    cpdef _over(self, dict payload, bytes raw, word)
    @cython.locals(blocks=list, known=_Item)
    cpdef _end(self, dict response, bytes raw, tuple path=*)
    cpdef _restate(self, list blocks, dict wire, bytes raw, tuple path)
    @cython.locals(item=_Item, fields=dict)
    cpdef _item_begins(self, dict wire, dict payload, bytes raw)
    cpdef _item_ends(self, dict wire, dict payload, bytes raw)
    @cython.locals(item=_Item)
    cpdef _index(self, dict payload, id_)
    @cython.locals(item=_Item)
    cpdef _Item _item(self, index)
    @cython.locals(item=_Item, fields=dict, places=dict)
    cpdef _parts(self, dict wire, index, bint restated)
    @cython.locals(item=_Item)
    cpdef tuple _part(self, dict payload, kind, key)
    cpdef _say(self, int event, dict payload, kind, key)
    cpdef _state(self, dict payload, part, bint restated)
    cpdef _unquote(self, _Item item, address)
