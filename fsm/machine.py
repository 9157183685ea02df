"""The nested machine of `spec/stream.yaml`, as `transitions` has it: for observers, for diagrams, and for anyone who wants to see it.

What the machine decides: where a stream goes, and that it goes nowhere else. In the Python engine a machine of the same
transitions moves every stream (`fsm/stepper.py`), in the compiled one a table of the same cells does. What it does not decide is
which case of an event holds: that takes a look at the blocks, and is the guards' (`fsm/rebuild/guards.py`), whose answer it is given.

This file knows states, events and guards, and nothing of blocks, bytes or vendors. A delta that stays in its state never comes
here: `transitions` costs microseconds per trigger and must not stand on the path of every delta.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from transitions.extensions import HierarchicalMachine
from transitions.extensions.nesting import NestedState

from fsm import _tables as T
from fsm.model.errors import MisuseError
from fsm.stepper import Model


class State(NestedState):
    """States nest with a dot (`STREAMING.text`), since names such as TIMED_OUT hold underscores."""

    separator = "."


class StreamMachine(HierarchicalMachine):
    """`HierarchicalMachine` with the dotted state names of this project."""

    state_cls = State


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
def observed(kind: type) -> StreamMachine:
    """The nested machine whose states call the callbacks that objects of `kind` have."""
    machine: StreamMachine = build(model=[])
    _add_callbacks(machine, kind)
    return machine


class Observed(Model):
    """A user's object as the machine sees it: `state` is written through, callbacks are found by name (R-83).

    The object may have any of `on_enter_<STATE>` and `on_exit_<STATE>` (a dot in a name is written as `_`:
    `on_enter_STREAMING_text`); they are called without arguments, after `state` was set. What they raise is kept until the
    stream is consistent again, when `settle` raises it.
    """

    def __init__(self, observer: Any) -> None:
        self.observer = observer
        self._raised: BaseException | None = None
        self._write(Model.state)
        if self._raised is not None:
            raise MisuseError(f"an observer needs an attribute `state` that can be set: {self._raised}") from self._raised

    def fire(self, trigger: str) -> bool:
        """Let the machine for observers of this class move this model; False if it refuses."""
        kind: type = type(self.observer)
        return bool(observed(kind).trigger_event(self, trigger))

    def settle(self) -> None:
        """Raise what a callback raised, once."""
        if self._raised is not None:
            raised, self._raised = self._raised, None
            raise raised

    @property
    def state(self) -> str:
        return self._state

    @state.setter
    def state(self, name: str) -> None:
        self._write(name)

    def _write(self, name: str) -> None:
        self._state = name
        self._guarded(setattr, self.observer, "state", name)

    def _guarded(self, call: Any, *arguments: Any) -> None:
        """Call what is the user's; of several exceptions the first is kept."""
        try:
            call(*arguments)
        except BaseException as e:
            self._raised = self._raised or e

    def __getattr__(self, name: str) -> Any:
        if not name.startswith(("on_enter_", "on_exit_")):
            return super().__getattr__(name)
        callback = getattr(self.observer, name)
        return lambda: self._guarded(callback)
