"""A message as an entry of the history that a vendor's API accepts: `Message.to_request`.

For the message's own vendor it is exact: blocks in order, thinking with its signature, encrypted reasoning, thought
signatures on the parts that bore them, vendor blocks, arguments as the text that was streamed where the request takes
text. For another vendor it is honest: what only the first could read is left out and named.

Whoever it goes to: calls that must not run are sent, for the model must see them and each needs a result (R-47); the calls
that a max-tokens stop dropped are not (R-62).
"""

from __future__ import annotations

from fsm import _tables as T
from fsm.model import message as messages
from fsm.model.errors import MisuseError, UnknownDialectError, did_you_mean
from fsm.model.message import History, Message

def to_request(message: Message, dialect: str | None) -> History:
    """See `Message.to_request`."""
    from fsm.history.writers import WRITERS

    name = message.dialect if dialect is None else dialect
    if name is None:
        raise MisuseError("the message does not know its dialect; name one: message.to_request('anthropic')")
    if not isinstance(name, str) or name not in WRITERS:
        raise UnknownDialectError(f"no dialect is called {name!r}{did_you_mean(name, T.DIALECTS)}; there are {', '.join(T.DIALECTS)}")
    writer = WRITERS[name](message)
    entries = writer.write()
    return History(entries, writer.dropped, writer.ids)


messages.writing = to_request
