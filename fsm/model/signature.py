"""The signatures of compiled classes.

A compiled class keeps none of its constructor's, so `inspect.signature` and `help` would have nothing to show. Here it is read
from the class's Python source, which is what was compiled, when somebody asks.
"""

from __future__ import annotations

import os
from typing import Any


class Signed:
    """`__signature__` of a class: that of its own `__init__`, or of the base that has one. None, which means "look for
    yourself", for a class of the user's that has one of its own."""

    def __get__(self, instance: Any, owner: type) -> Any:
        first = next(cls for cls in owner.__mro__ if "__init__" in vars(cls))
        if first is object:
            from inspect import Signature

            return Signature()
        return _read(first) if first.__module__.startswith("fsm.") else None


def _read(cls: type) -> Any:
    import ast
    from inspect import Parameter, Signature

    folder = os.path.dirname(os.path.dirname(__file__))
    try:
        with open(os.path.join(folder, *cls.__module__.split(".")[1:]) + ".py", encoding="utf-8") as file:
            tree = ast.parse(file.read())
    except OSError:
        return None  # a distribution may leave its sources out
    body = next(node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == cls.__name__)
    init = next((node for node in body if isinstance(node, ast.FunctionDef) and node.name == "__init__"), None)
    if init is None:  # a dataclass has that of its fields
        fields = [node for node in body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)]
        return Signature([Parameter(node.target.id, Parameter.POSITIONAL_OR_KEYWORD, annotation=ast.unparse(node.annotation),  # type: ignore[union-attr]
                                    default=ast.literal_eval(node.value) if node.value is not None else Parameter.empty) for node in fields],
                         return_annotation=None)
    given = init.args
    named = [*given.posonlyargs, *given.args][1:]
    defaults: list[Any] = [Parameter.empty] * (len(named) - len(given.defaults)) + [ast.literal_eval(d) for d in given.defaults]
    kinds: list[Any] = [Parameter.POSITIONAL_ONLY] * max(0, len(given.posonlyargs) - 1)
    kinds += [Parameter.POSITIONAL_OR_KEYWORD] * (len(named) - len(kinds))
    rows = [*zip(named, kinds, defaults, strict=True)]
    rows += [(arg, Parameter.KEYWORD_ONLY, Parameter.empty if default is None else ast.literal_eval(default))
             for arg, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    return Signature([Parameter(arg.arg, kind, default=default, annotation=ast.unparse(arg.annotation) if arg.annotation else Parameter.empty)
                      for arg, kind, default in rows], return_annotation=None)
