"""The registry of tools: schemas, name inference (R-46) and validation (R-75), through jsonschema-rs.

The validator library is imported when the first tool is registered, not with the package.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from fsm.model.errors import SchemaError, MisuseError

MAX_DEPTH = 250  # nesting of a schema; the validator's own bound is just above
MAX_VALUES = 100_000  # of all kinds in one schema
MAX_BACKTRACKS = 100_000  # steps of one pattern on one string, about 2 ms


class Tool:
    """One registered tool, with a copy of its schema.

    Raises SchemaError when `schema` is no JSON Schema, or reaches out of itself.
    """

    __slots__ = ("_validator", "declared", "name", "required", "schema")

    def __init__(self, name: str, schema: Mapping[str, Any] | bool | None) -> None:
        import jsonschema_rs

        outside: list[str] = []

        def refuse(uri: str) -> Any:
            outside.append(uri)
            raise ValueError("nothing is fetched")

        self.name = name
        try:
            schema = _plain(_copied(schema)) if isinstance(schema, Mapping) else {} if schema is None else schema
            options = jsonschema_rs.FancyRegexOptions(backtrack_limit=MAX_BACKTRACKS)
            self._validator = jsonschema_rs.validator_for(schema, retriever=refuse, pattern_options=options)
        except Exception as e:  # the library raises several unrelated types; all mean a bad schema
            if outside or "not present in a registry" in str(e):
                where = repr(outside[0]) if outside else str(e).partition("\n")[0]
                raise SchemaError(f"the schema of tool {name!r} refers to what is neither in it nor a standard "
                                  f"meta-schema: {where}. Nothing is fetched; put it under $defs") from e
            raise SchemaError(f"the schema of tool {name!r} is no JSON Schema: {e}") from e
        self.schema = schema
        body = schema if isinstance(schema, Mapping) else {}
        self.required = frozenset(body.get("required") or ())
        self.declared = frozenset(body.get("properties") or ())

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.name, self.schema)

    def complaint(self, value: dict[str, Any]) -> str | None:
        """Why the schema refuses `value`, or None (R-75): the first fault. Nothing is coerced."""
        try:
            self._validator.validate(value)
        except ValueError as e:  # a ValidationError is one; so is what the library says of a value that it cannot read
            where = "/".join(str(p) for p in getattr(e, "instance_path", ()))
            return f"{str(getattr(e, 'message', e))[:200]}{f' at {where}' if where else ''}"
        return None

    def fits(self, value: dict[str, Any]) -> bool:
        """Whether arguments without a name can be for this tool (rule 9)."""
        given = value.keys()
        if not self.required <= given or (self.declared and not self.declared >= given):
            return False
        try:
            return bool(self._validator.is_valid(value))
        except ValueError:
            return False


class ToolRegistry:
    """Name -> schema of every tool the model may call.

    tools: a mapping name -> JSON Schema, or a vendor's list of tool definitions (Anthropic `input_schema`, OpenAI
        `function.parameters` or `parameters`, Gemini `functionDeclarations`, Bedrock `toolSpec`); default none.
        A schema may be written in Gemini's way (`"type": "OBJECT"`). It is copied, so that what happens to it
        later does not count.

    Raises SchemaError for a bad schema and MisuseError for something that is no tool definition.

    Schemas come from anywhere, so what one may do is bounded:
    - it reaches nothing but itself and the standard meta-schemas: a `$ref` or `$schema` elsewhere is a SchemaError,
      nothing is fetched or opened, at registration or later;
    - it is JSON, at most 250 deep and of 100,000 values, else a SchemaError. Circles of `$ref` are allowed and end;
    - patterns take time that grows with the text; one with look-around or back references at most 100,000 steps per
      text (2 ms), beyond which the call is refused; one that takes more than 10 MB is a SchemaError;
    - judging stops at the first fault, and arguments are bounded by `Limits.content_bytes` and `Limits.depth`: at
      1 MiB, `uniqueItems` takes less than a second.
    Not bounded is what its own alternatives multiply to: `anyOf` of references to `anyOf` of references, and so on.

    A registry pickles. A copy, deep or not, is independent: what is registered in one is not in the other.
    """

    __slots__ = ("_tools",)

    def __init__(self, tools: Mapping[str, Any] | Iterable[Mapping[str, Any]] | None = None) -> None:
        self._tools: dict[str, Tool] = {}
        if isinstance(tools, Mapping):
            for name, schema in tools.items():
                self.register(name, schema)
        elif tools is None or isinstance(tools, Iterable):
            for definition in tools or ():
                self._register_definition(definition)
        else:
            raise MisuseError("tools are a ToolRegistry, a mapping name -> JSON Schema or a vendor's list of tools, "
                             f"not {type(tools).__name__}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ({name: tool.schema for name, tool in self._tools.items()},)

    def __copy__(self) -> ToolRegistry:
        made = type(self)()
        made._tools = dict(self._tools)  # a tool itself never changes
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> ToolRegistry:
        return self.__copy__()

    def __repr__(self) -> str:
        names, more = list(self._tools)[:10], len(self._tools) - 10
        return f"<ToolRegistry {', '.join(names) or 'empty'}{f' and {more} more' if more > 0 else ''}>"

    @classmethod
    def of(cls, tools: Any) -> ToolRegistry | None:
        """`tools` as a registry; None stays None (no registry: any name is taken)."""
        return tools if tools is None or isinstance(tools, cls) else cls(tools)

    def register(self, name: str, schema: Mapping[str, Any] | bool | None = None) -> None:
        """Add a tool, or replace the one of that name. `schema` None accepts any arguments."""
        if not isinstance(name, str) or not name:
            raise MisuseError(f"a tool needs a name, not {name!r}")
        self._tools[name] = Tool(name, schema)

    def _register_definition(self, definition: Any) -> None:
        if isinstance(definition, Mapping):
            declarations = definition.get("functionDeclarations") or definition.get("function_declarations")
            if isinstance(declarations, list):
                for declaration in declarations:
                    self._register_definition(declaration)
                return
            body = next((definition[k] for k in ("function", "toolSpec") if isinstance(definition.get(k), Mapping)), definition)
            if isinstance(body, Mapping) and isinstance(body.get("name"), str):
                schema = next((body[k] for k in ("input_schema", "parameters", "parametersJsonSchema", "inputSchema") if k in body), None)
                if isinstance(schema, Mapping) and isinstance(schema.get("json"), Mapping):
                    schema = schema["json"]  # Bedrock wraps it
                self.register(body["name"], schema)
                return
        raise MisuseError(f"no tool definition: {definition!r}; pass a mapping name -> JSON Schema, or a vendor's list of tools")

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __len__(self) -> int:
        return len(self._tools)

    def get(self, name: str) -> Tool | None:
        return self._tools.get(name)

    def has_prefix(self, piece: str) -> bool:
        """Whether a registered name begins with `piece` and goes on (names in pieces)."""
        return any(n.startswith(piece) and n != piece for n in self._tools)

    def candidates(self, value: dict[str, Any]) -> list[str]:
        """The tools that a call without a name can be for (R-46, R-47)."""
        return [name for name, tool in self._tools.items() if tool.fits(value)]


_UPPER = frozenset({"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"})
_COUNTS = ("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties")


def _copied(schema: Any) -> Any:
    """A copy of `schema`. Raises ValueError for what is no JSON, too deep or too large."""
    room = MAX_VALUES

    def copied(value: Any, depth: int) -> Any:
        nonlocal room
        room -= 1
        if room < 0:
            raise ValueError(f"it has more than {MAX_VALUES} values")
        if depth > MAX_DEPTH:
            raise ValueError(f"it is nested more than {MAX_DEPTH} deep")
        if value is None or isinstance(value, (str, int)):
            return value
        if isinstance(value, float) and math.isfinite(value):
            return value
        if isinstance(value, Mapping):
            if (odd := next((key for key in value if not isinstance(key, str)), None)) is not None:
                raise ValueError(f"the key {odd!r} is no string")
            return {key: copied(item, depth + 1) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [copied(item, depth + 1) for item in value]
        raise ValueError(f"{value!r:.100} is no JSON")

    return copied(schema, 1)


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """`schema` with Gemini's spelling made JSON Schema's: types in upper case, `nullable`, counts as strings."""
    out = schema.copy()
    kind = out.get("type")
    if isinstance(kind, str) and (kind in _UPPER or kind == "TYPE_UNSPECIFIED"):
        del out["type"]
        nullable = out.get("nullable") is True
        if kind in _UPPER:
            out["type"] = [kind.lower(), "null"] if nullable else kind.lower()
        if nullable and isinstance(out.get("enum"), list):
            out["enum"] = [*out["enum"], None]
        for key in _COUNTS:
            if isinstance(out.get(key), str) and out[key].isdigit():
                out[key] = int(out[key])
    for key in ("properties", "$defs", "definitions"):
        if isinstance(out.get(key), dict):
            out[key] = {name: _plain(s) if isinstance(s, dict) else s for name, s in out[key].items()}
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        if isinstance(out.get(key), list):
            out[key] = [_plain(s) if isinstance(s, dict) else s for s in out[key]]
    for key in ("items", "additionalProperties"):
        if isinstance(out.get(key), dict):
            out[key] = _plain(out[key])
    return out
