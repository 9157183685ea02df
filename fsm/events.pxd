# Fields of NormalizedEvent for the compiled build: see COLD in setup.py.
cdef class NormalizedEvent:
    cdef public int type
    cdef public object index, text, id, name, fragment, signature, usage, reason, code, message, model, kind, block, input, extra, sibling, restated, content
