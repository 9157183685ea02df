"""Errors, whatever they look like (rule 20, R-91).

Vendors and the gateways before them say that an answer failed in a hundred spellings, often without the envelope of their
own dialect. `failure` finds that out of an object which has no envelope, `refusal` out of one whose envelope is empty;
both give the object in which the error is described. `error_event` takes its words from there.

Keys are compared without case and punctuation: `errorMessage`, `error_message` and `Error-Message` are one key.
"""

from __future__ import annotations

import re
from typing import Any

from fsm import _tables as T
from fsm.model.errors import classify
from fsm.model.events import NormalizedEvent
from fsm.model.surrogates import mend
from fsm.values.values import compact

#: an error, whatever its value says, as long as it says anything
_ERRORS = ("error", "errors", "err", "exception", "fault", "failure")
#: a number or a word that is an error unless it is one of success
_CODES = ("code", "errorcode", "errcode", "errno", "statuscode", "httpstatus", "httpcode", "httpstatuscode", "retcode", "returncode", "resultcode")
#: false where the answer failed
_FLAGS = ("success", "succeeded", "successful", "issuccess", "ok")
#: a text that nobody sends of an answer that goes well
_COMPLAINTS = ("errormessage", "errormsg", "errmsg", "errordescription", "errordetail", "errordetails", "faultstring")
#: a text that says what is wrong if nothing beside it says that all is well
_REMARKS = ("message", "msg", "detail", "details", "title")
#: blocks that a vendor puts its own status into
_BLOCKS = ("baseresp", "status", "header", "response", "result", "meta", "data", "body", "xgroq")

_KINDS = ("kind", "type", "errortype", *_CODES, "status", "name")
_TEXTS = (*_COMPLAINTS, "message", "detail", "details", "msg", "statusmsg", "statusmessage", "description", "reason", "title", *_ERRORS)
_WELL = frozenset({"", "ok", "okay", "success", "successful", "succeeded", "none", "null", "done", "complete", "completed", "finished", "pong", "ping",
                   "heartbeat", "keepalive", "connected", "true", "normal"})
#: a word in a `status` that tells of a failure
_BAD = re.compile(r"error|exception|fail|invalid|denied|forbidden|unauthor|unavailable|exceed|abort|reject|timed?_?out|overload|refused", re.I)
#: a type or an event name that is an error's; a dotted one is a vendor's own event, and one of a tool is no failure of the answer
_ERROR_NAME = re.compile(r"(?!tool)[a-z_-]*(error|exception)", re.I)
_NUMBER = re.compile(r"-?\d{1,9}", re.A)
_NESTING = 4  # how deep an error's description is looked for


def _keyed(payload: dict[str, Any]) -> dict[str, Any]:
    """`payload` by its keys without case and punctuation; of keys that become one the first that says something counts."""
    found: dict[str, Any] = {}
    for key, value in payload.items():
        plain = key.lower().replace("_", "").replace("-", "").replace(" ", "").replace(".", "")
        if plain not in found or not found[plain]:
            found[plain] = value
    return found


def _is_bad_code(value: Any, strict: bool) -> bool:
    """Whether a code is one of failure: a number that is neither 0 nor of HTTP's 1xx and 2xx, or a word that is not one of success.

    A `status` may also tell how far a request has come: there (`strict` False) only HTTP's errors and words of failure count.
    """
    if isinstance(value, bool):
        return False
    if isinstance(value, str):
        word = value.strip()
        if _NUMBER.fullmatch(word):
            return _is_bad_code(int(word), strict)
        if word.lower().replace("_", "").replace("-", "") in _WELL:
            return False
        return strict or classify(word)[0] != "unknown" or _BAD.search(word) is not None
    if not isinstance(value, (int, float)):
        return False
    return value != 0 and not 100 <= value < 300 if strict else value < 0 or value >= 400


def refusal(payload: dict[str, Any], depth: int = 0) -> dict[str, Any] | None:
    """Where `payload` says beyond doubt that the answer failed: itself, or the vendor's status block in it; else None."""
    keyed = _keyed(payload)
    if any(keyed.get(key) for key in _ERRORS) or any(isinstance(keyed.get(key), str) and keyed[key] for key in _COMPLAINTS):
        return payload
    if any(keyed.get(key) is False for key in _FLAGS) or any(_is_bad_code(keyed.get(key), True) for key in _CODES):
        return payload
    if _is_bad_code(keyed.get("status"), False):
        return payload
    for key in _BLOCKS:
        inner = keyed.get(key)
        if isinstance(inner, dict) and depth < _NESTING and (found := refusal(inner, depth + 1)) is not None:
            return found
    return None


def failure(payload: dict[str, Any], event: str | None) -> dict[str, Any] | None:
    """Where an object without its dialect's envelope, under the SSE name `event`, speaks of a failure, or None.

    A remark (`message`, `detail`) is a failure only if nothing says otherwise: neither a code of success, nor a type or an
    event name of the upstream's own (`{"type": "status", "message": "searching"}`).
    """
    named = [word for word in (payload.get("type"), payload.get("object"), payload.get("event"), event) if isinstance(word, str) and word]
    keyed = _keyed(payload)
    if any(_ERROR_NAME.fullmatch(word) or classify(word)[0] != "unknown" for word in named):
        return payload
    if any(word not in ("message", "data") for word in named):
        return payload if any(keyed.get(key) for key in _ERRORS) else None
    found = refusal(payload)
    if found is not None or any(keyed.get(key) is True for key in _FLAGS):
        return found
    if any(keyed.get(key) not in (None, "") for key in (*_CODES, "status")):  # each of them is a code of success
        return None
    for key in _REMARKS:
        said = keyed.get(key)
        if isinstance(said, str) and said.strip().lower().replace("_", "").replace("-", "") not in _WELL:
            return payload
        if key in ("detail", "details") and said and isinstance(said, (list, dict)):
            return payload
    return None


def error_event(error: Any, fallback: str) -> NormalizedEvent:
    """An ERROR in the words of any of the shapes an error has: an object, a list of them, a string, a nested `error`, an HTTP status.

    `fallback` is its type where it names none.
    """
    error = _innermost(error)
    if not isinstance(error, dict):
        return NormalizedEvent(T.ERROR, kind=fallback, message=mend(str(error)) if error else fallback)
    keyed = _keyed(error)
    names = [mend(str(word)) for key in _KINDS if isinstance(word := keyed.get(key), (str, int)) and not isinstance(word, bool) and str(word)]
    names = [word for word in names if word.lower() not in ("error", "0")] or names
    nested = error.get("metadata")
    if isinstance(nested, dict) and isinstance(nested.get("error_type"), str) and nested["error_type"]:
        names.append(mend(nested["error_type"]))
    message = _said(error) or (names[0] if names else _said({"message": error}) or fallback)
    return NormalizedEvent(T.ERROR, kind=names[0] if names else fallback, code=names[1] if len(names) > 1 else None, message=message)


def _innermost(error: Any) -> Any:
    """The object in which an error is described, or what there is instead of one."""
    for _level in range(_NESTING):
        if isinstance(error, list):
            error = next((item for item in error if isinstance(item, (dict, str)) and item), None)
        inner = None
        if isinstance(error, dict):
            keyed = _keyed(error)
            inner = next((value for key in _ERRORS if isinstance(value := keyed.get(key), (dict, list)) and value), None)
        if inner is None:
            return error
        error = inner
    return error


def _said(value: Any, depth: int = 0) -> str | None:
    """What an error says, from wherever in it that stands."""
    if isinstance(value, str):
        return mend(value) if value.strip() else None
    if isinstance(value, list):
        return next((said for item in value if (said := _said(item, depth + 1))), None) if depth < _NESTING else None
    if not isinstance(value, dict) or depth >= _NESTING:
        return None
    keyed = _keyed(value)
    said = next((said for key in _TEXTS if (said := _said(keyed.get(key), depth + 1))), None)
    if said is None and depth:
        return mend(compact(value))[:400] if value else None
    return said
