"""What a stream may cost (`Limits`) and how long it may take (`Timeouts`). All values have defaults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fsm.model.errors import OptionError


def _positive(owner: object, kinds: tuple[type[Any], ...], what: str, *names: str) -> None:
    for name in names:
        value: Any = getattr(owner, name)
        if type(value) not in kinds or not value > 0:
            raise OptionError(f"{type(owner).__name__}.{name} is {what} above 0, not {value!r}")


@dataclass(frozen=True, slots=True)
class Limits:
    """Upper bounds of one stream. Going over a bound of the stream ends it as CANCELLED (R-97, founding document S4 B2).

    content_bytes: accumulated UTF-8 bytes of all blocks, names and signatures; default 1 MiB.
    event_bytes:   one wire event, from its first byte to its blank line; default 16 MiB.
    blocks:        blocks of one message, calls included; default 4,096.
    depth:         nesting of tool arguments; a deeper call is invalid (`too_deep`), the stream goes on; default 256.
    anomalies:     anomalies kept (all are counted); default 100.

    Raises OptionError, which is a ValueError, for a bound that is no whole number above 0.
    """

    content_bytes: int = 1 << 20
    event_bytes: int = 16 << 20
    blocks: int = 4096
    depth: int = 256
    anomalies: int = 100

    def __post_init__(self) -> None:
        _positive(self, (int,), "a whole number", "content_bytes", "event_bytes", "blocks", "depth", "anomalies")


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Deadlines in seconds, judged by `Reconstructor.tick(now)`; `None` switches one off.

    total:       from the first clock reading to the end (R-81); default 120.
    connect:     for whoever opens the connection; the reconstructor itself never sees it (R-82); default 10.
    first_event: until the first event that is no keepalive; default 60.
    idle:        between two arrivals of bytes, keepalives included (R-82); default 30.
    progress:    between two events that say something. Keepalives do not count, so a stalled model behind a
                 proxy that pings for ever ends here, and a slow one that pings is not killed by `idle`; default 90.

    Raises OptionError, which is a ValueError, for a deadline that is no number above 0.
    """

    total: float | None = 120.0
    connect: float | None = 10.0
    first_event: float | None = 60.0
    idle: float | None = 30.0
    progress: float | None = 90.0

    def __post_init__(self) -> None:
        for name in ("total", "connect", "first_event", "idle", "progress"):
            if getattr(self, name) is not None:
                _positive(self, (int, float), "a number of seconds", name)
