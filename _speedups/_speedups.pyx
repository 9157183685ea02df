# cython: language_level=3, binding=True, embedsignature=False
# cython: boundscheck=False, wraparound=True, initializedcheck=False, cdivision=True
"""The compiled twins: SSE framing with its short cut, the table step, block buffers.

One extension of several files, in the order of need. Directives stand here and nowhere else.
"""

cimport cython
from libc.string cimport memchr, memcmp, memcpy, memmove as memcpy_down

from fsm.rebuild.accumulator cimport Accumulator
from fsm.rebuild.blocks cimport Block
from fsm.parts cimport BaseFraming, BaseStepper, Meter
from fsm.dialects.decoder cimport Reader

from orjson import loads as _loads

from fsm.framing.sse import _fields

include "_tables.pxi"
include "partial.pxi"
include "buffer.pxi"
include "scan.pxi"
include "frames.pxi"
include "template.pxi"
include "events.pxi"
include "recent.pxi"
include "counts.pxi"
include "engine.pxi"
include "carry.pxi"
include "lines.pxi"
include "sse.pxi"
include "feed.pxi"
