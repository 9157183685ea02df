cpdef loads(text)
cpdef parse(text, max_depth)
cpdef read(bytes data)
cpdef stated(given, max_depth)
