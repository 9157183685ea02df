"""The state of one stream in the Python engine, moved by a `transitions` machine that all such streams share.

`transitions` is imported when the first state changes: a compiled stream needs none of it, and nobody but an observer needs
the nested machine of `fsm/machine.py`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from fsm import _tables as T
from fsm.parts import BaseStepper

STATE_ID = {name: i for i, name in enumerate(T.STATES)}
TRIGGERS = tuple(name.lower() for name in T.EVENTS)


class Model:
    """What a machine moves: `state`, and the case of the event that is being fired."""

    state: str = T.STATES[T.INITIALIZING]
    guard: str = ""

    def fire(self, trigger: str) -> bool:
        """Let the shared machine move this model; False if it refuses."""
        return bool(shared().events[trigger].trigger(self))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("case_"):  # a guard's predicate, see spec.emit.guard_condition
            return lambda: name.endswith("_" + self.guard)
        raise AttributeError(name)


@cache
def shared() -> Any:
    """The machine that moves every stream which nobody observes: the same transitions between the same states, flat.

    Without callbacks the parent of a state means nothing, and the flat machine of `transitions` takes a fifth of the
    time of the nested one (tests/test_spec.py proves that they agree).
    """
    from transitions import Machine

    leaves = [name for i, name in enumerate(T.STATES) if T.CELLS[i]]
    return Machine(model=[], states=leaves, transitions=[dict(t) for t in T.MACHINE_TRANSITIONS], initial=leaves[0], auto_transitions=False)


class Stepper(BaseStepper):
    """The state of one stream, moved by the shared machine; of one that is `observed` (fsm.machine.Observed) by its observers'."""

    __slots__ = ("_model",)

    def __init__(self, observed: Model | None = None) -> None:
        super().__init__()
        self._model = observed

    def fire(self, event: int, guard: int) -> None:
        if self._model is None:
            self._model = Model()
        self.state = trigger(self._model, event, guard)


def trigger(model: Model, event: int, guard: int) -> int:
    """Fire `event` in the case `guard` on `model`; returns the id of the state it is in then.

    The machine has every transition that the table has (tests/test_spec.py), so it never refuses.
    """
    guards = T.GUARDS[event]
    model.guard = guards[guard] if guards else ""
    moved = model.fire(TRIGGERS[event])
    assert moved, f"the machine refuses {T.EVENTS[event]} [{model.guard}] in {model.state}"
    return STATE_ID[model.state]
