cdef class Metrics:
    cdef public object time_to_first_token_ms, time_to_first_useful_chunk_ms, time_to_completion_ms, total_chunks, bytes_received
    cdef public object events, keepalives, idle_max_gap_ms, cancellation_reason
