"""The registry of tools: schemas, name inference (R-46) and validation (R-75), through jsonschema-rs.

The validator library is imported when the first tool is registered, not with the package.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fsm.errors import SchemaError, UsageError


class Tool:
    """One registered tool. Raises SchemaError when `schema` is no JSON Schema."""

    __slots__ = ("_validator", "declared", "name", "required", "schema")

    def __init__(self, name: str, schema: Mapping[str, Any] | bool | None) -> None:
        import jsonschema_rs

        self.name = name
        schema = _plain(schema) if isinstance(schema, Mapping) else schema
        self.schema = {} if schema is None else schema
        try:
            self._validator = jsonschema_rs.validator_for(self.schema if isinstance(self.schema, bool) else dict(self.schema))
        except Exception as e:  # the library raises several unrelated types; all mean a bad schema
            raise SchemaError(f"the schema of tool {name!r} is no JSON Schema: {e}") from e
        body = schema if isinstance(schema, Mapping) else {}
        self.required = frozenset(body.get("required") or ())
        self.declared = frozenset(body.get("properties") or ())

    def complaint(self, value: dict[str, Any]) -> str | None:
        """Why the schema refuses `value`, or None (R-75). Nothing is coerced."""
        for error in self._validator.iter_errors(value):
            where = "/".join(str(p) for p in error.instance_path)
            return f"{error.message[:200]}{f' at {where}' if where else ''}"
        return None

    def fits(self, value: dict[str, Any]) -> bool:
        """Whether arguments without a name can be for this tool (fine print 9)."""
        given = value.keys()
        return self.required <= given and (not self.declared or self.declared >= given) and self.complaint(value) is None


class ToolRegistry:
    """Name -> schema of every tool the model may call.

    Accepts a mapping name -> JSON Schema, or a vendor's list of tool definitions (Anthropic `input_schema`, OpenAI
    `function.parameters` or `parameters`, Gemini `functionDeclarations`, Bedrock `toolSpec`). A schema may be written in
    Gemini's way (`"type": "OBJECT"`). Raises SchemaError for a bad schema and
    UsageError for something that is no tool definition.
    """

    __slots__ = ("_tools",)

    def __init__(self, tools: Mapping[str, Any] | Iterable[Mapping[str, Any]] | None = None) -> None:
        self._tools: dict[str, Tool] = {}
        if isinstance(tools, Mapping):
            for name, schema in tools.items():
                self.register(name, schema)
        else:
            for definition in tools or ():
                self._register_definition(definition)

    @classmethod
    def of(cls, tools: Any) -> ToolRegistry | None:
        """`tools` as a registry; None stays None (no registry: any name is taken)."""
        return tools if tools is None or isinstance(tools, cls) else cls(tools)

    def register(self, name: str, schema: Mapping[str, Any] | bool | None = None) -> None:
        """Add a tool, or replace the one of that name. `schema` None accepts any arguments."""
        if not isinstance(name, str) or not name:
            raise UsageError(f"a tool needs a name, not {name!r}")
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
        raise UsageError(f"no tool definition: {definition!r}; pass a mapping name -> JSON Schema, or a vendor's list of tools")

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


def _plain(schema: Mapping[str, Any]) -> dict[str, Any]:
    """`schema` with Gemini's spelling made JSON Schema's: types in upper case, `nullable`, counts as strings."""
    out = dict(schema)
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
        if isinstance(out.get(key), Mapping):
            out[key] = {name: _plain(s) if isinstance(s, Mapping) else s for name, s in out[key].items()}
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        if isinstance(out.get(key), list):
            out[key] = [_plain(s) if isinstance(s, Mapping) else s for s in out[key]]
    for key in ("items", "additionalProperties"):
        if isinstance(out.get(key), Mapping):
            out[key] = _plain(out[key])
    return out
