"""The specification: every check refuses a broken one, and what is generated from it is up to date and agrees with the machine."""

from __future__ import annotations

import ast
import copy
import functools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from transitions import MachineError

from fsm import _tables as T
from fsm import machine, stepper
from fsm.dialects.canonical import Canonical
from fsm.model.errors import MisuseError
from fsm.model.events import NormalizedEvent
from spec import emit, generate, model

STREAM = yaml.safe_load((model.HERE / "stream.yaml").read_text("utf-8"))
ERRORS = yaml.safe_load((model.HERE / "errors.yaml").read_text("utf-8"))
DIALECTS = {d["name"]: d for p in sorted((model.HERE / "dialects").glob("*.yaml")) for d in [yaml.safe_load(p.read_text("utf-8"))]}


class Draft:
    """A copy of the specification to break."""

    def __init__(self) -> None:
        self.stream, self.errors, self.dialects = copy.deepcopy((STREAM, ERRORS, DIALECTS))

    def __getattr__(self, name: str) -> Any:
        return self.stream[name]

    def transition(self, event: str, source: str | None = None, guard: str | None = None) -> dict[str, Any]:
        return next(t for t in self.transitions if event in model._listed(t["event"]) and source in (None, t["from"], *model._listed(t["from"]))
                    and guard in (None, t.get("guard"), *model._listed(t.get("guard"))))

    def build(self) -> model.Spec:
        return model.build(self.stream, self.errors, self.dialects)


def new_state(d: Draft, **fields: Any) -> None:
    d.states["STREAMING.odd"] = {"id": 12, "parent": "STREAMING", "about": "x", **fields}


def decide_all(d: Draft, do: str | None = None, to: str | None = None) -> None:
    """Give STREAMING.odd an answer for every event."""
    answer = {"do": do, "to": to} if do else {"ignore": True}
    d.transitions.append({"event": list(d.events), "from": "STREAMING.odd", "why": "x", **answer})


def no_way_out(d: Draft) -> None:
    new_state(d)
    decide_all(d)
    d.transition("STOP_REASON", "INITIALIZING", "remark")["to"] = "STREAMING.odd"


def unreachable(d: Draft) -> None:
    new_state(d)
    decide_all(d, "fail", "ERRORED")


BROKEN: list[tuple[str, Callable[[Draft], Any]]] = [
    ("states: ids must be 0..11, each once", lambda d: d.states["ERRORED"].update(id=9)),
    ("events: ids must be 0..19, each once", lambda d: d.events["PING"].update(id=40)),
    ("anomalies: ids must be 0..38, each once", lambda d: d.anomalies["bad_json"].update(id=0)),
    ("state STREAMING.text: unknown parent NOWHERE", lambda d: d.states["STREAMING.text"].update(parent="NOWHERE")),
    ("the one with id 0, and only it, must be initial", lambda d: d.states["STREAMING.idle"].update(initial=True)),
    ("transition PING from live: no reason given (why)", lambda d: d.transition("PING", "live").pop("why")),
    ("exactly one of do, ignore and a bare anomaly is needed", lambda d: d.transition("PING", "live").update(do="append")),
    ("exactly one of do, ignore and a bare anomaly is needed", lambda d: d.transition("PING", "live").pop("ignore")),
    ("unknown action apend", lambda d: d.transition("TEXT_DELTA", "STREAMING.text", "owned").update(do="apend")),
    ("unknown anomaly late_dealt", lambda d: d.transition("TEXT_DELTA", "open", "late").update(anomaly="late_dealt")),
    ("unknown state STREAMING (a state with children is no target)", lambda d: d.transition("USAGE", "INITIALIZING").update(to="STREAMING")),
    ("unknown event PONG", lambda d: d.transition("PING", "live").update(event="PONG")),
    ("unknown guard owend of TEXT_DELTA", lambda d: d.transition("TEXT_DELTA", "STREAMING.text", "owned").update(guard="owend")),
    ("unknown state STREAMING.txt", lambda d: d.transition("TEXT_DELTA", "STREAMING.text", "owned").update({"from": "STREAMING.txt"})),
    ("two transitions for TEXT_DELTA [owned] in STREAMING.text", lambda d: d.transitions.append(dict(d.transition("TEXT_DELTA", "STREAMING.text", "owned")))),
    ("two unguarded transitions for PING in INITIALIZING", lambda d: d.transitions.append(dict(d.transition("PING", "live")))),
    ("TEXT_DELTA in STREAMING.text: the unguarded transition can never be taken",
     lambda d: d.transitions.append({"event": "TEXT_DELTA", "from": "STREAMING.text", "ignore": True, "why": "x"})),
    ("undecided: TEXT_DELTA [owned] in STREAMING.text", lambda d: d.transitions.remove(d.transition("TEXT_DELTA", "STREAMING.text", "owned"))),
    ("undecided: PING in COMPLETED", lambda d: d.transition("PING", "ended")["event"].remove("PING")),
    ("action juggle is never used", lambda d: d.actions.update(juggle={"about": "x"})),
    ("anomaly strange must be used by a transition or say which layer records it", lambda d: d.anomalies.update(strange={"id": 39, "about": "x"})),
    ("anomaly late_delta must be used by a transition or say which layer records it", lambda d: d.anomalies["late_delta"].update(by="reader")),
    ("group nobody is never used", lambda d: d.groups.update(nobody=["COMPLETED"])),
    ("state STREAMING.odd is unreachable", unreachable),
    ("state STREAMING.odd has no way out", no_way_out),
    ("final state COMPLETED has a way out or an action", lambda d: (d.transition("PING", "ended")["event"].remove("PING"), d.transitions.append(
        {"event": "PING", "from": "ended", "do": "fail", "to": "ERRORED", "why": "x"}))),
    ("is never archived on the way to COMPLETED", lambda d: d.actions["complete"].pop("archives")),
    ("is never archived on the way to CANCELLED", lambda d: d.actions["fail"].pop("archives")),
    ("dialects: ids must be 0..n, each once", lambda d: d.dialects["canonical"].update(id=7)),
    ("dialect anthropic: stop reason end_turn has no canonical word finished", lambda d: d.dialects["anthropic"]["stop_reasons"].update(end_turn="finished")),
    ("dialect anthropic: cut names the unlisted reason length", lambda d: d.dialects["anthropic"]["cut"].append("length")),
    ("dialect anthropic: unknown usage field tokens", lambda d: d.dialects["anthropic"]["usage"].update(tokens=["x"])),
    ("dialect anthropic: unknown role ignore at index", lambda d: d.dialects["anthropic"]["hot"].update(index="ignore")),
    ("dialect anthropic: PING at delta.text is no hot event", lambda d: d.dialects["anthropic"]["hot"]["delta"].update(text={"capture": "PING"})),
    ("dialect anthropic: unknown role ignore at stop.index", lambda d: d.dialects["anthropic"]["frames"]["stop"].update(index="ignore")),
    ("dialect anthropic: unknown role counts at message_delta.usage", lambda d: d.dialects["anthropic"]["frames"]["message_delta"].update(usage="counts")),
    ("dialect anthropic: the role capture at signature.delta.signature is for deltas only",
     lambda d: d.dialects["anthropic"]["frames"]["signature"]["delta"].update(signature={"capture": "TEXT_DELTA"})),
    ("dialect anthropic: the role kind at ping.type is for deltas only",
     lambda d: d.dialects["anthropic"]["frames"]["ping"].update(type={"kind": {"ping": "TEXT_DELTA"}})),
    ("dialect openai-responses: an event with a number of its own may be a repeat, so it goes through JSON: no frames",
     lambda d: d.dialects["openai-responses"].update(frames={"ping": {"type": {"literal": "ping"}}})),
    ("errors: code overloaded has the unknown class asleep", lambda d: d.errors["codes"].update(overloaded="asleep")),
]


@pytest.mark.parametrize(("sentence", "break_it"), BROKEN, ids=[s for s, _f in BROKEN])
def test_a_broken_spec_is_refused(sentence: str, break_it: Callable[[Draft], Any]):
    draft = Draft()
    break_it(draft)
    with pytest.raises(model.SpecError) as caught:
        draft.build()
    assert any(sentence in p for p in caught.value.problems), caught.value.problems


def test_the_unbroken_spec_is_accepted():
    assert Draft().build().digest == T.SPEC_DIGEST


def test_a_hot_cell_must_only_append():
    draft = Draft()
    draft.transition("TEXT_DELTA", "STREAMING.text", "owned")["do"] = ["append", "supplement"]
    with pytest.raises(ValueError, match=r"TEXT_DELTA \[owned\] in STREAMING.text is declared hot"):
        generate.OUTPUTS["_speedups/_tables.pxi"](draft.build())


def test_every_problem_is_reported_at_once():
    draft = Draft()
    draft.states["STREAMING.text"]["parent"] = "NOWHERE"
    draft.transition("PING", "live")["event"] = "PONG"
    with pytest.raises(model.SpecError) as caught:
        draft.build()
    assert len(caught.value.problems) >= 2


def test_the_digest_follows_every_file():
    drafts = [Draft(), Draft(), Draft(), Draft()]
    drafts[1].states["COMPLETED"]["about"] = "done"
    drafts[2].errors["codes"]["overloaded"] = "server"
    drafts[3].dialects["anthropic"]["basis"] = "unknown"
    assert len({d.build().digest for d in drafts}) == 4


# ---------------------------------------------------------------- what is generated


def test_generated_files_are_up_to_date():
    assert generate.stale() == [], "run `python -m spec.generate` and commit the result"


def test_a_stale_file_is_found(tmp_path: Path):
    for name in (*generate.OUTPUTS, "spec/stream.yaml", "spec/errors.yaml", *(f"spec/dialects/{p.name}" for p in (model.HERE / "dialects").glob("*.yaml"))):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes((generate.ROOT / name).read_bytes())
    assert generate.stale(tmp_path) == []
    (tmp_path / "fsm/_tables.py").write_text("old")
    assert generate.stale(tmp_path) == ["fsm/_tables.py"]


def test_check_says_so_by_its_exit_status():
    assert generate.main(["--check"]) == 0


def test_ids_are_stable():
    """A number, once given, keeps its meaning for ever: entries may be added here, none changed."""
    assert dict(enumerate(T.STATES)) == {
        0: "INITIALIZING", 1: "STREAMING", 2: "STREAMING.idle", 3: "STREAMING.text", 4: "STREAMING.thinking", 5: "STREAMING.tool",
        6: "STREAMING.opaque", 7: "STREAMING.stated", 8: "COMPLETED", 9: "CANCELLED", 10: "ERRORED", 11: "TIMED_OUT"}
    assert dict(enumerate(T.EVENTS)) == {
        0: "MESSAGE_START", 1: "TEXT_DELTA", 2: "THINKING_DELTA", 3: "SIGNATURE_DELTA", 4: "TOOL_USE_START", 5: "TOOL_INPUT_DELTA", 6: "TOOL_USE_STOP",
        7: "BLOCK_START", 8: "BLOCK_STOP", 9: "OPAQUE_BLOCK", 10: "USAGE", 11: "STOP_REASON", 12: "MESSAGE_STOP", 13: "PING", 14: "ERROR", 15: "CANCEL",
        16: "TIMEOUT", 17: "OVERFLOW", 18: "EOF", 19: "SNAPSHOT"}
    assert {name: d["id"] for name, d in T.DIALECTS.items()} == {
        "anthropic": 0, "openai-chat": 1, "canonical": 2, "gemini": 3, "ollama": 4, "bedrock-converse": 5, "openai-responses": 6, "cohere": 7, "dsh": 8,
        "gemini-interactions": 9}


def test_the_vocabulary_is_closed():  # R-16 R-02
    """Whatever a dialect may say is one of these words with these fields."""
    assert set(T.FIELDS) == set(T.EVENTS)
    assert {w.upper() for w in Canonical._SPOKEN} <= set(T.EVENTS)
    with pytest.raises(MisuseError, match="no normalized event is called 'text'"):
        NormalizedEvent.from_dict({"type": "text"})


# ---------------------------------------------------------------- shapes of whole events

SHAPES = [(name, shape) for name, d in DIALECTS.items() for shape in d.get("frames", {})]


@pytest.mark.parametrize(("name", "shape"), SHAPES, ids=[f"{name}-{shape}" for name, shape in SHAPES])
def test_the_method_of_a_shape_takes_what_the_shape_gives(name: str, shape: str):
    """Read from the source: a compiled method does not tell its parameters."""
    source = (generate.ROOT / "fsm" / "dialects" / f"{name.replace('-', '_')}.py").read_text("utf-8")
    method, = (f for c in ast.parse(source).body if isinstance(c, ast.ClassDef) for f in c.body if isinstance(f, ast.FunctionDef) and f.name == shape)
    names = [a.arg for a in method.args.args][1:]
    gives = model.given(DIALECTS[name]["frames"][shape])
    assert names[:len(gives)] == gives
    assert len(names) - len(gives) <= len(method.args.defaults), "what the shape does not give has a default"
    assert T.DIALECTS[name]["frames"][shape] == gives


def test_a_shape_needs_the_object_in_which_a_key_has_to_be_there():
    """Else an event without that object would have the shape, and mean what no key of it says."""
    draft = Draft()
    draft.dialects["anthropic"]["frames"] = {
        "stop": {"a": {"b": {"c": {"literal": "x"}}, "d": "skip"}, "e": {"f": "skip"}, "g": {"[0]": {"h": {"number": "n"}}}}}
    tree = emit.HotTree(draft.build())
    root = tree._shapes[0][0]
    first, count, needed = tree._nodes[root]
    assert [k.split('"')[1] for k in tree._keys[first:first + count]] == ["a", "e", "g"]
    assert needed == 0b001, "an array with one object or nothing may be missing"


# ---------------------------------------------------------------- the transitions machine

LEAVES = [s for s in T.STATES if s != "STREAMING"]
COLUMNS = [(e, g) for e, guards in enumerate(T.GUARDS) for g in range(max(1, len(guards)))]


@functools.cache
def built() -> Any:
    return machine.build()


@pytest.mark.parametrize("state", LEAVES)
def test_the_machine_is_the_table(state: str):
    """Every (state, event, guard): the machine moves as the table says, and refuses what the table ignores."""
    m = built()
    row = T.CELLS[T.STATES.index(state)]
    for event, guard in COLUMNS:
        actions, to, _anomaly = row[T.FIRST_COLUMN[event] + guard]
        subject = m.models[0]
        m.set_state(state, subject)
        subject.guard = T.GUARDS[event][guard] if T.GUARDS[event] else ""
        try:
            taken = m.trigger_event(subject, stepper.TRIGGERS[event])
        except (MachineError, AttributeError):  # AttributeError: nothing ever happens at a ping, so it is no trigger
            taken = False
        where = f"{T.EVENTS[event]} [{subject.guard}] in {state}"
        assert taken == bool(actions), where
        assert subject.state == (T.STATES[to] if to >= 0 else state), where


def test_every_cell_is_decided():
    assert [len(row) for row in T.CELLS] == [0 if s == "STREAMING" else len(COLUMNS) for s in T.STATES]


def test_final_states_have_no_way_out():  # R-83 R-91
    m = built()
    for state in T.FINAL:
        assert m.get_triggers(T.STATES[state]) == []
        assert all(to == -1 and not actions for actions, to, _a in T.CELLS[state])


def test_triggers_of_a_state():
    triggers = set(built().get_triggers("STREAMING.text"))
    assert {"text_delta", "thinking_delta", "tool_use_start", "message_stop", "cancel", "eof"} <= triggers
    assert "ping" not in triggers


class Mine(machine.Model):
    guard = "fresh"

    def __init__(self) -> None:
        self.seen: list[str] = []

    def on_enter_ERRORED(self) -> None:
        self.seen.append(f"in {self.state}")

    def noticed(self) -> None:
        self.seen.append(self.state)


def test_a_model_of_ones_own_with_added_callbacks():
    mine = Mine()
    m = machine.build(mine)
    m.get_state("STREAMING.text").add_callback("enter", "noticed")
    assert mine.text_delta()
    assert mine.seen == ["STREAMING.text"]


def test_build_calls_the_on_enter_methods_of_a_model():
    """As `build` says: a model may have any `transitions` callback."""
    mine = Mine()
    machine.build(mine)
    assert mine.error()
    assert mine.seen == ["in ERRORED"]


def test_two_builds_share_nothing():
    one, two = machine.build(), machine.build()
    one.set_state("ERRORED")
    assert two.models[0].state == "INITIALIZING"


def test_error_codes_and_classes_agree():
    assert set(T.ERROR_CODES.values()) <= set(T.ERROR_CLASSES)
    assert set(T.ERROR_CLASSES.values()) == {"backoff", "rate_limit", "never", "unknown"}


def test_anomaly_kinds_are_a_closed_list():
    """Every kind that any layer notes by name is declared in the specification."""
    noted = {m for p in (generate.ROOT / "fsm").rglob("*.py") for m in re.findall(r'note\("(\w+)"', p.read_text("utf-8"))}
    assert len(noted) > 10
    assert noted <= set(T.ANOMALIES)
