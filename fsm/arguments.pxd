cpdef bint _rounded(value)
cpdef bint _deeper(value, limit)
cpdef loads(text)
cpdef parse(text, max_depth)
