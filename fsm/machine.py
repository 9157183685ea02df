"""The state machine: everything that changes the state of a stream is in this file.

Two promises. First: a state changes only here, and only as `spec/stream.yaml` says. Second: this file knows
states, events and guards, and nothing of blocks, bytes or vendors.

There is one machine for all streams, built by `transitions` from the generated lists (`shared()`, or `observed()` for
streams that somebody observes), and one small model per stream (`Stepper`). The accumulator decides which case (guard) of an event holds and runs the cell's
actions; when the cell names another state it calls `fire`, and the machine moves the model. A delta that stays in
its state never comes here: `transitions` costs microseconds per trigger and must not stand on the per-delta path.

The compiled engine has the same tables in C and its own `Stepper` (`_speedups/engine.pxi`): there a change of state
is a table look-up. An `observer` hears of every change of state in both.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from transitions import Machine
from transitions.extensions import HierarchicalMachine
from transitions.extensions.nesting import NestedState

from fsm import _tables as T
from fsm.parts import BaseStepper

STATE_ID = {name: i for i, name in enumerate(T.STATES)}
TRIGGERS = tuple(name.lower() for name in T.EVENTS)


class State(NestedState):
    """States nest with a dot (`STREAMING.text`), since names such as TIMED_OUT hold underscores."""

    separator = "."


class StreamMachine(HierarchicalMachine):
    """`HierarchicalMachine` with the dotted state names of this project."""

    state_cls = State


class Model:
    """What a machine moves: `state`, and the case of the event that is being fired."""

    state: str = T.STATES[T.INITIALIZING]
    guard: str = ""

    def fire(self, trigger: str) -> None:
        """Let the shared machine move this model."""
        shared().events[trigger].trigger(self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("case_"):  # a guard's predicate, see spec.emit.guard_condition
            return lambda: name.endswith("_" + self.guard)
        raise AttributeError(name)


def build(model: Any = None, machine: Any = StreamMachine, **options: Any) -> Any:
    """The nested `transitions` machine of one stream: 12 states, a trigger per event but `ping`, no automatic transitions.

    model: what it moves; default a fresh `Model`. A model of your own needs one predicate per guard
        (`case_text_delta_owned`, …), or derives from `Model` and sets `guard`. Its `on_enter_<STATE>` and
        `on_exit_<STATE>` are called; the dot of a nested state is written as `_` there.
    machine: the machine class, for example `transitions.extensions.HierarchicalGraphMachine` with `State` as its
        `state_cls`, for diagrams.
    options: passed on to the machine (`initial`, `send_event`, …).
    """
    options = {"initial": T.STATES[T.INITIALIZING], "auto_transitions": False, **options}
    model = Model() if model is None else model
    built = machine(model=model, states=[_copy(s) for s in T.MACHINE_STATES], transitions=[dict(t) for t in T.MACHINE_TRANSITIONS], **options)
    for one in model if isinstance(model, list) else [model]:
        _add_callbacks(built, one)
    return built


def _add_callbacks(machine: Any, owner: Any) -> None:
    """Let nested states call `on_enter_STREAMING_text` and the like; those of other states `transitions` finds itself."""
    for name in T.STATES:
        for when in ("on_enter", "on_exit"):
            callback = f"{when}_{name.replace('.', '_')}"
            state = machine.get_state(name)
            if callable(getattr(owner, callback, None)) and callback not in getattr(state, when):
                state.add_callback(when[3:], callback)


def _copy(state: Any) -> Any:
    return dict(state, children=list(state["children"])) if isinstance(state, dict) and "children" in state else state


@cache
def shared() -> Machine:
    """The machine that moves every stream which nobody observes: the same transitions between the same states, flat.

    Without callbacks the parent of a state means nothing, and the flat machine of `transitions` takes a fifth of the
    time of the nested one (tests/test_spec.py proves that they agree).
    """
    leaves = [name for i, name in enumerate(T.STATES) if T.CELLS[i]]
    return Machine(model=[], states=leaves, transitions=[dict(t) for t in T.MACHINE_TRANSITIONS], initial=leaves[0], auto_transitions=False)


@cache
def observed(kind: type) -> StreamMachine:
    """The nested machine whose states call the callbacks that objects of `kind` have."""
    machine: StreamMachine = build(model=[])
    _add_callbacks(machine, kind)
    return machine


class Stepper(BaseStepper):
    """The state of one stream, moved by the shared machine."""

    __slots__ = ("_model",)

    def __init__(self, observer: Any = None) -> None:
        super().__init__()
        self._model = Model() if observer is None else Observed(observer)

    def fire(self, event: int, guard: int) -> None:
        self.state = trigger(self._model, event, guard)


class Observed(Model):
    """A user's object as the machine sees it: `state` is written through, callbacks are found by name (R-83).

    The object may have any of `on_enter_<STATE>` and `on_exit_<STATE>` (a dot in a name is written as `_`:
    `on_enter_STREAMING_text`); they are called without arguments, after `state` was set.
    """

    def __init__(self, observer: Any) -> None:
        self.observer = observer
        self.state = T.STATES[T.INITIALIZING]

    def fire(self, trigger: str) -> None:
        """Let the machine for observers of this class move this model."""
        kind: type = type(self.observer)
        observed(kind).trigger_event(self, trigger)

    @property
    def state(self) -> str:
        return self.observer.state  # type: ignore[no-any-return]

    @state.setter
    def state(self, name: str) -> None:
        self.observer.state = name

    def __getattr__(self, name: str) -> Any:
        return getattr(self.observer, name) if name.startswith(("on_enter_", "on_exit_")) else super().__getattr__(name)


def trigger(model: Model, event: int, guard: int) -> int:
    """Fire `event` in the case `guard` on `model`; returns the id of the state it is in then."""
    guards = T.GUARDS[event]
    model.guard = guards[guard] if guards else ""
    model.fire(TRIGGERS[event])
    return STATE_ID[model.state]
