cimport cython

cpdef kind_of(dict item)
cpdef dict fields_of(dict item)
cpdef dict _further(dict wire)
cpdef read_part(part)
@cython.locals(found=list)
cpdef list stated_parts(dict item)
