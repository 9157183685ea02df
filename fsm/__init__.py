"""deltafsm: from the raw bytes of an LLM's streaming response to a structured assistant message.

    outcome = fsm.reconstruct(body, dialect="anthropic", tools={"Read": schema})

or, as the bytes arrive:

    r = fsm.Reconstructor("openai-chat", tools=tools)
    for chunk in response:
        for event in r.feed(chunk):
            ...
    r.end()
    outcome = r.outcome

`BACKEND` says which engine is active ("compiled" or "python").
"""

from fsm._engine import BACKEND
from fsm.history import request as _request  # noqa: F401  # which gives messages their `to_request`
from fsm.model.errors import (ErrorInfo, FsmError, MisuseError, OptionError, SchemaError, StreamCancelled, StreamError,
                              StreamErrored, StreamTimedOut, UnknownDialectError, UnknownEngineError)
from fsm.model.events import (BlockFinished, BlockStarted, Event, FieldReady, MessageFinished, NormalizedEvent, StreamFailed,
                              TextDelta, ThinkingDelta, ToolInputDelta, ToolInvalid, ToolReady, UsageUpdated)
from fsm.model.limits import Limits, Timeouts
from fsm.model.message import Anomaly, History, Message, Outcome, Partial, StreamState
from fsm.model.metrics import Metrics
from fsm.model.registry import ToolRegistry
from fsm.model.usage import Usage, UsageLedger
from fsm.reconstructor import Reconstructor, reconstruct, reconstruct_many

__version__ = "0.1.0"

__all__ = [
    "BACKEND", "Anomaly", "BlockFinished", "BlockStarted", "ErrorInfo", "Event", "FieldReady", "FsmError", "History",
    "Limits", "Message", "MessageFinished", "Metrics", "MisuseError", "NormalizedEvent", "OptionError", "Outcome",
    "Partial", "Reconstructor", "SchemaError", "StreamCancelled", "StreamError", "StreamErrored", "StreamFailed",
    "StreamState", "StreamTimedOut", "TextDelta", "ThinkingDelta", "Timeouts", "ToolInputDelta", "ToolInvalid",
    "ToolReady", "ToolRegistry", "UnknownDialectError", "UnknownEngineError", "Usage", "UsageLedger", "UsageUpdated",
    "reconstruct", "reconstruct_many",
]
