cimport cython

cpdef kind_of(dict item)
cpdef dict fields_of(dict item)
@cython.locals(further=dict)
cpdef dict _further(dict wire)
cpdef read_part(part)
@cython.locals(found=list)
cpdef list stated_parts(dict item)
cpdef address_of(index)
cpdef arguments_of(dict item, bytes raw, tuple path=*)
