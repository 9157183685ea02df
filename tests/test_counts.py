"""Usage reports in every event: what the compiled core may keep back (_speedups/counts.pxi), on all tiers.

A report that only counts up replaces the one before; any other goes the slow way. Whoever looks finds the same counts,
the same raw report and the same anomalies as the pure engine gives.
"""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import fsm
from helpers import cut_at, ended, frame
from tiers import TIERS, disagreement


def gemini(said: str, usage: Any, **more: Any) -> bytes:
    return frame({"candidates": [{"content": {"parts": [{"text": said}], "role": "model"}, "index": 0}], "usageMetadata": usage, **more})


def chat(said: str, usage: Any) -> bytes:
    return frame({"id": "c", "model": "m", "choices": [{"index": 0, "delta": {"content": said}}], "usage": usage})


def counts(n: int, **more: Any) -> dict[str, Any]:
    return {"promptTokenCount": 10, "candidatesTokenCount": n, "totalTokenCount": 10 + n,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 10}], **more}


START = gemini("a", counts(1), responseId="r", modelVersion="m")
END = frame({"candidates": [{"content": {"parts": [{"text": ""}]}, "finishReason": "STOP"}]})
#: behind these the block's buffer has room, so that hits are copied there in one run
ROOMY = [gemini("x" * 100, counts(1)) for _ in range(12)]


def watch(engine: str, chunks: list[bytes], dialect: str, deltas: str, look: bool) -> tuple[Any, ...]:
    """The usage after each chunk (if somebody looks) and at the end, with the raw report and the anomalies."""
    r = fsm.Reconstructor(dialect, engine=engine, deltas=deltas)
    seen = []
    for chunk in chunks:
        r.feed(chunk)
        if look:
            seen.append((r.usage.to_dict(), dict(r.usage.raw)))
    usage = ended(r).message.usage
    return seen, usage.to_dict(), usage.raw, usage.basis, [(a.kind, a.event, a.offset, a.detail) for a in r.anomalies]


def told_late(engine: str, chunks: list[bytes], dialect: str, deltas: str) -> list[Any]:
    """What the usage events of a stream say to one who reads them when it is over."""
    r = fsm.Reconstructor(dialect, engine=engine, deltas=deltas)
    kept = [e for chunk in chunks for e in r.feed(chunk)]
    kept = [e for e in kept + r.end() if isinstance(e, fsm.UsageUpdated)]
    return [(e.usage.to_dict(), e.usage.raw, e.usage.basis) for e in kept]


def agree(tiers: tuple[str, ...], chunks: list[bytes], dialect: str = "gemini") -> tuple[Any, ...]:
    for deltas in ("none", "chunk"):
        for look in (False, True):
            want = watch("python", chunks, dialect, deltas, look)
            for engine in tiers[1:]:
                assert watch(engine, chunks, dialect, deltas, look) == want, (engine, deltas, look)
    for deltas in ("each", "chunk"):  # every event that the caller is told, in its order
        assert disagreement(chunks, dialect, tiers, deltas=deltas) is None
        late = told_late("python", chunks, dialect, deltas)
        for engine in tiers[1:]:
            assert told_late(engine, chunks, dialect, deltas) == late, (engine, deltas)
    return want


def appended(parts: list[bytes], engine: str = "compiled", deltas: str = "none", dialect: str = "gemini") -> int:
    r = fsm.Reconstructor(dialect, engine=engine, deltas=deltas)
    r.feed(b"".join(parts))
    return r._framing.appended


def test_counts_that_grow_are_taken_without_python(tiers: tuple[str, ...]):
    parts = [START, *(gemini("x", counts(n, thoughtsTokenCount=n)) for n in (2, 9, 10, 99, 100, 100, 12345)), END]
    assert appended(parts) == appended(parts, "scan") == 6  # all but the first of that shape
    usage = agree(tiers, parts)[1]
    assert (usage["output_tokens"], usage["reasoning_tokens"]) == (24690, 12345)


@pytest.mark.parametrize("next_", [
    counts(1), counts(0), counts(6, thoughtsTokenCount=3), {"candidatesTokenCount": 9}, counts(5, promptTokenCount=0), counts(5) | {"promptTokenCount": -3},
    counts(5) | {"candidatesTokenCount": 6.5}, counts(5) | {"candidatesTokenCount": "9"}, {"totalTokenCount": 20} | counts(5),
    counts(10**18), counts(10**30), {"trafficType": "ON_DEMAND"}, {}, None, [], "x", counts(5, promptTokensDetails=[{"modality": "TEXT", "tokenCount": 0}]),
    counts(5) | {"note": "was 4, now 5"}, counts(5) | {'k": 1, "': "x"}], ids=str)
@pytest.mark.parametrize("then", [counts(7), counts(5)], ids=["7", "5"])
@pytest.mark.parametrize("before", [[], ROOMY], ids=["short", "roomy"])
def test_any_other_report_goes_the_slow_way(tiers: tuple[str, ...], next_: Any, then: Any, before: list[bytes]):
    parts = [START, *before, gemini("b", counts(2)), gemini("c", counts(5)), gemini("d", next_), gemini("e", then), gemini("f", then), END]
    agree(tiers, [b"".join(parts)] if before else parts)


def test_a_run_of_reports(tiers: tuple[str, ...]):
    """The last of a run counts, and each is compared with the one before it."""
    grown = [gemini("b", counts(n)) for n in (2, 3, 40, 41)]
    parts = [START, *ROOMY, *grown, gemini("c", counts(30)), gemini("d", counts(31))]
    assert appended([START, *ROOMY, *grown]) == 16
    assert appended(parts) == 17
    assert agree(tiers, [b"".join([START, *ROOMY, *grown, END])])[1]["output_tokens"] == 41
    assert agree(tiers, [b"".join([*parts, END])])[1]["output_tokens"] == 31


def test_a_report_that_falls_is_told(tiers: tuple[str, ...]):
    """Cached tokens rise while the input falls: the basis changed, and the anomaly stands at its own event."""
    falls = {"promptTokenCount": 4, "cachedContentTokenCount": 6, "candidatesTokenCount": 9}
    anomalies = agree(tiers, [START, *[gemini("b", counts(n)) for n in (3, 4, 5)], gemini("c", falls), END])[-1]
    assert [(kind, event) for kind, event, _o, _d in anomalies] == [("usage_basis_changed", 5)]


@pytest.mark.parametrize("before", [100, 90])
def test_a_report_of_the_same_shape_that_falls_is_told(tiers: tuple[str, ...], before: int):
    """With fewer digits, and with as many: what only the anomaly tells apart from a report that grows."""
    def report(given: int, cached: int, n: int) -> bytes:
        return gemini("b", {"promptTokenCount": given, "cachedContentTokenCount": cached, "candidatesTokenCount": n})

    parts = [START, *[report(before, 1, n) for n in (3, 4, 5)], report(40, 6, 6), report(40, 6, 7), END]
    assert appended(parts) == 3
    assert [(kind, event) for kind, event, _o, _d in agree(tiers, parts)[-1]] == [("usage_basis_changed", 5)]


def test_a_pushed_report_is_between(tiers: tuple[str, ...]):
    """What the caller pushes by hand is not forgotten by the template's literal."""
    got = []
    for engine in TIERS:
        r = fsm.Reconstructor("gemini", engine=engine, deltas="none")
        for n in (1, 2, 3, 4):
            r.feed(gemini("a", counts(n), responseId="r", modelVersion="m"))
        r.push({"type": "usage", "usage": {"promptTokenCount": 99, "candidatesTokenCount": 99}})
        r.feed(gemini("b", counts(4), responseId="r", modelVersion="m"))
        got.append((r.usage.to_dict(), r.usage.raw))
    assert got == [got[0]] * 4
    assert got[0][0]["input_tokens"] == 10


def test_a_pushed_report_is_what_the_next_is_compared_with(tiers: tuple[str, ...]):
    """The basis changed at the first report behind it, whose bytes are those of the last one before it."""
    got = []
    for engine in TIERS:
        r = fsm.Reconstructor("gemini", engine=engine, deltas="none")
        for _ in range(4):
            r.feed(gemini("a", counts(4, cachedContentTokenCount=5)))
        r.push({"type": "usage", "usage": {"promptTokenCount": 99, "cachedContentTokenCount": 1}})
        r.feed(gemini("b", counts(4, cachedContentTokenCount=5)) + gemini("c", counts(4, cachedContentTokenCount=6)) + END)
        got.append([(a.kind, a.event, a.offset, a.detail) for a in ended(r).anomalies])
    assert got == [got[0]] * 4
    assert [(kind, event) for kind, event, _offset, _detail in got[0]][:1] == [("usage_basis_changed", 5)]


@pytest.mark.parametrize("number", [b"07", b"00", b"-7", b"7.5", b"7e1", b"7.", b"+7"])
def test_numbers_that_are_not_plainly_whole_go_the_slow_way(tiers: tuple[str, ...], number: bytes):
    """Some are no JSON at all, which ends the stream."""
    good = [gemini("x", counts(n)) for n in (2, 3, 4)]
    field = b'"candidatesTokenCount": '
    odd = [gemini("x", counts(5)).replace(field + b"5", field + number.replace(b"7", digit)) for digit in (b"5", b"7", b"8")]
    assert appended([START, *good, *odd]) == appended([START, *good]) == 3
    for deltas in ("none", "chunk", "each"):
        assert disagreement([START, *good, *odd, END], "gemini", tiers, deltas=deltas) is None


def test_chat_reports_too(tiers: tuple[str, ...]):
    parts = [chat("a", {"prompt_tokens": 7, "completion_tokens": n, "prompt_tokens_details": None}) for n in range(1, 9)]
    assert appended(parts, dialect="openai-chat") == 7
    end = frame({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}) + b"data: [DONE]\n\n"
    assert agree(tiers, [*parts, end], "openai-chat")[1] == {"input_tokens": 7, "output_tokens": 8}


@pytest.mark.parametrize(("deltas", "whole", "clock"), [("each", [1, 2, 3, 4, 5], None), ("chunk", [5], None), ("chunk", [5], lambda: 0.0), ("none", [], None)])
def test_what_live_callers_hear(tiers: tuple[str, ...], deltas: str, whole: list[int], clock: Any):
    """Each report, or the last one of a feed: like the text of a block."""
    parts = [START, *(gemini("x", counts(n)) for n in range(2, 6))]

    def told(r: fsm.Reconstructor, data: bytes) -> list[int | None]:
        return [e.usage.output_tokens for e in r.feed(data) if isinstance(e, fsm.UsageUpdated)]

    for engine in TIERS:
        assert told(fsm.Reconstructor("gemini", engine=engine, deltas=deltas, clock=clock), b"".join(parts)) == whole
        r = fsm.Reconstructor("gemini", engine=engine, deltas=deltas, clock=clock)
        assert [told(r, part) for part in parts] == [[] if deltas == "none" else [n] for n in range(1, 6)]
    assert appended(parts, deltas="chunk") == appended(parts, deltas="each") == 4


def test_usage_events_are_the_callers(tiers: tuple[str, ...]):
    """They can be compared, shown, pickled and copied, read or not; what is written into one is in no other."""
    parts = [START, *(gemini("x", counts(n, thoughtsTokenCount=5) if n < 4 else counts(n)) for n in range(2, 8))]
    for engine in TIERS:
        r = fsm.Reconstructor("gemini", engine=engine, deltas="each")
        told = [e for part in parts for e in r.feed(part) if isinstance(e, fsm.UsageUpdated)]
        pickled, copied = pickle.loads(pickle.dumps(told)), copy.deepcopy(told)
        assert told == pickled == copied
        assert repr(told) == repr(pickled) == repr(copied)
        assert told[-1].usage is told[-1].usage
        told[-2].usage.output_tokens = 1_000_000
        told[-2].usage.raw["candidatesTokenCount"] = "scribbled"
        r.feed(gemini("x", counts(8)))
        assert (r.usage.output_tokens, r.usage.raw["candidatesTokenCount"]) == (13, 8)
        assert [e.usage.output_tokens for e in told] == [1, 7, 8, 9, 10, 1_000_000, 12]


def test_a_report_is_told_before_what_follows_it(tiers: tuple[str, ...]):
    """The text, its usage, then the other block: in that order in one feed."""
    thought = [gemini("t", counts(n), responseId="r", modelVersion="m").replace(b'"text"', b'"thought": true, "text"') for n in (1, 2, 3)]
    said = [gemini("x", counts(n)) for n in (4, 5, 6)]
    agree(tiers, [b"".join([*thought, *said, *thought]), *said, END])
    r = fsm.Reconstructor("gemini", engine="compiled")
    names = [type(e).__name__ for e in r.feed(b"".join([*thought, *said]))]
    assert names == ["BlockStarted", "ThinkingDelta", "UsageUpdated", "BlockFinished", "BlockStarted", "TextDelta", "UsageUpdated"]


def test_a_long_report_is_not_kept(tiers: tuple[str, ...]):
    parts = [START, *(gemini("x", counts(n, note="y" * 5000)) for n in range(2, 6)), END]
    assert appended(parts) == 0
    agree(tiers, parts)


NUMBERS = st.sampled_from([0, 1, 2, 9, 10, 11, 99, 100, 10**17, 10**18, 10**20, -1, 1.0, 1.5, True, None, "7"])
KEYS = ["promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount", "cachedContentTokenCount", "trafficType", 'q"k', "é"]
REPORTS = st.dictionaries(st.sampled_from(KEYS), NUMBERS | st.lists(st.fixed_dictionaries({"tokenCount": NUMBERS}), max_size=2), max_size=4)


@settings(max_examples=150, deadline=None)
@given(st.lists(REPORTS | st.integers(1, 30).map(counts), min_size=1, max_size=12), st.data())
@example([counts(1), {"promptTokenCount": 10, "candidatesTokenCount": 2}, counts(3), counts(4)], None)
def test_reports_of_any_kind(tiers: tuple[str, ...], reports: list[Any], draw: Any):
    """Most grow, some do not; spaces, cuts and carriage returns anywhere."""
    parts = [START, *(gemini("x", report) for report in reports), END]
    body = b"".join(parts)
    if draw is not None:
        if draw.draw(st.booleans()):
            body = body.replace(b"\n", b"\r\n")
        if draw.draw(st.booleans()):
            body = body.replace(b'": ', b'":')
        parts = cut_at(body, draw.draw(st.lists(st.integers(0, len(body)), max_size=4)))
    agree(tiers, parts)


def test_the_json_given_out_is_valid_whatever_grew(tiers: tuple[str, ...]):
    """Digits in strings and behind escapes: the report that is kept can always be read."""
    def report(digits: str) -> bytes:
        usage = '{"promptTokenCount": 1' + digits + ', "s": "\\u00' + digits + ' 1' + digits + '", "f": 1.' + digits + '}'
        json.loads(usage)
        return b'data: {"candidates": [{"content": {"parts": [{"text": "x"}]}}], "usageMetadata": ' + usage.encode() + b"}\n\n"

    agree(tiers, [START, *(report(d) for d in ("11", "11", "12", "22", "22", "99")), END])
