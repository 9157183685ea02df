cimport cython

from fsm.dialects.base cimport number, text

cdef class Item:
    cdef public object id, call_id, kind
    cdef public bint claimed, counts, done, free
    cdef public dict fields, parts
    cpdef list places(self)
    cpdef addresses(self, kind, base)
    cpdef list runs(self, kind, base)
    cpdef settle(self, kind, base, address)
    cpdef first(self, kind)

cdef class Items:
    cdef dict _aliases, _items
    cpdef Item known(self, index)
    @cython.locals(item=Item)
    cpdef Item at(self, index)
    cpdef tuple begin(self, index)
    cpdef meant(self, dict payload, kinds)
    cpdef brought(self, dict wire, dict payload, ended=*)
    @cython.locals(item=Item)
    cpdef _named(self, id_, call_id)
    @cython.locals(item=Item)
    cpdef _next(self, id_, kinds)
