"""What a tool's schema may not do: reach out of itself, hang, overflow the stack. Schemas come from anywhere."""

from __future__ import annotations

import copy
import json
import pickle
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import fsm
from fsm.model import registry as tools_module
from helpers import ROOT, STOP, frag, message, start

# ---------------------------------------------------------------- nothing is fetched

DRAFTS = [*(f"https://json-schema.org/draft/{draft}/schema" for draft in ("2019-09", "2020-12")),
          *(f"http://json-schema.org/draft-0{n}/schema#" for n in (4, 6, 7))]


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.05)
        yield server


def url(server: socket.socket) -> str:
    return f"http://127.0.0.1:{server.getsockname()[1]}/schema.json"


def heard(server: socket.socket) -> bool:
    try:
        server.accept()[0].close()
    except TimeoutError:
        return False
    return True


@pytest.mark.parametrize("schema", [
    {"$ref": "<>"}, {"$ref": "<>#/$defs/x"}, {"$dynamicRef": "<>"}, {"$schema": "<>"},
    {"properties": {"a": {"$ref": "<>"}}}, {"allOf": [{"$ref": "<>"}]}, {"items": {"$dynamicRef": "<>"}},
    {"$id": "<>", "properties": {"a": {"$ref": "other.json"}}}, {"$defs": {"unused": {"$ref": "<>"}}},
    {"$schema": DRAFTS[-1], "definitions": {"a": {"$ref": "<>"}}, "$ref": "#/definitions/a"},
], ids=json.dumps)
@pytest.mark.parametrize("scheme", ["http", "file"])
def test_a_reference_to_the_outside_is_refused(listener: socket.socket, tmp_path: Path, schema: dict, scheme: str):
    (tmp_path / "schema.json").write_text('{"$schema": "https://json-schema.org/draft/2020-12/schema"}')
    where = url(listener) if scheme == "http" else (tmp_path / "schema.json").as_uri()
    schema = json.loads(json.dumps(schema).replace("<>", where))
    with pytest.raises(fsm.SchemaError, match="tool 'X' refers to what is neither in it nor a standard") as caught:
        fsm.ToolRegistry({"X": schema})
    assert where.rpartition("/")[0] in str(caught.value)
    assert "Nothing is fetched" in str(caught.value)
    assert not heard(listener)


@pytest.mark.parametrize("schema", [
    {"properties": {"a": {"$schema": "<>", "type": "string"}}}, {"enum": [{"$ref": "<>"}, "x"]},
    {"default": {"$ref": "<>"}}, {"x-vendor": {"$ref": "<>"}}, {"$vocabulary": {"<>": True}}, {"$comment": "<>"},
    {"properties": {"$ref": {"const": "<>"}}},
    {"$id": "<>", "properties": {"a": {"$ref": "#/$defs/s"}}, "$defs": {"s": {"type": "string"}}},
], ids=json.dumps)
def test_what_is_no_reference_is_not_followed_either(listener: socket.socket, schema: dict):
    registry = fsm.ToolRegistry({"X": json.loads(json.dumps(schema).replace("<>", url(listener)))})
    registry.candidates({"a": "x"})
    assert not heard(listener)


@pytest.mark.parametrize("schema", [
    {"$id": "http://example.com/root.json", "$defs": {"x": {"$id": "item.json", "type": "string"}},
     "properties": {"a": {"$ref": "item.json"}}},
    {"$id": "http://example.com/root.json", "$defs": {"x": {"type": "string"}},
     "properties": {"a": {"$ref": "http://example.com/root.json#/$defs/x"}}},
    {"$defs": {"x": {"$anchor": "text", "type": "string"}}, "properties": {"a": {"$ref": "#text"}}},
    {"$schema": DRAFTS[-1], "definitions": {"x": {"type": "string"}}, "properties": {"a": {"$ref": "#/definitions/x"}}},
])
def test_references_inside_are_followed(schema: dict):
    tool = fsm.ToolRegistry({"X": schema}).get("X")
    assert (tool.complaint({"a": "x"}), tool.complaint({"a": 1})) == (None, '1 is not of type "string" at a')


@pytest.mark.parametrize("draft", DRAFTS)
def test_the_standard_meta_schemas_are_there(draft: str):
    tool = fsm.ToolRegistry({"X": {"$schema": draft, "properties": {"schema": {"$ref": draft}}}}).get("X")
    assert tool.complaint({"schema": {"type": "object"}}) is None
    assert tool.complaint({"schema": {"type": 3}}) is not None


# ---------------------------------------------------------------- circles and depths

CIRCLES = [
    {"$ref": "#"}, {"allOf": [{"$ref": "#"}]}, {"anyOf": [{"$ref": "#"}, {"type": "string"}]}, {"not": {"$ref": "#"}},
    {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}, {"$dynamicRef": "#"},
    {"properties": {"a": {"$ref": "#"}}, "type": "object"}, {"$schema": DRAFTS[0], "$recursiveRef": "#"},
    {"$dynamicAnchor": "x", "$dynamicRef": "#x"}, {"allOf": [{"$ref": "#"}], "unevaluatedProperties": False},
]


def apart(code: str, timeout: float = 30) -> str:
    """Run in a process of its own: a stack that overflows takes it down."""
    got = subprocess.run([sys.executable, "-c", f"import fsm, json\n{code}"], capture_output=True, text=True, cwd=ROOT,
                         timeout=timeout)
    assert got.returncode == 0, got.stderr
    return got.stdout.strip()


def test_circles_of_references_end():
    code = f"""
deep = {{}}
for _ in range(250): deep = {{"a": deep}}
for schema in {CIRCLES!r}:
    tool = fsm.ToolRegistry({{"X": schema}}).get("X")
    for value in ({{}}, {{"a": 1}}, deep): tool.complaint(value), tool.fits(value)
print("done")
"""
    assert apart(code) == "done"


@pytest.mark.parametrize("levels", [126, 500, 100_000])
@pytest.mark.parametrize("grown", ['{"properties": {"a": x}}', '{"not": x}', '{"allOf": [x]}', '{"enum": [x]}',
                                   '{"items": x}', '{"x-vendor": x}', "[x]"])
def test_a_schema_may_be_deep(levels: int, grown: str):
    code = f"""
x = {{}}
for _ in range({levels}): x = {grown}
try:
    fsm.ToolRegistry({{"X": x if isinstance(x, dict) else {{"enum": x}}}})
except fsm.SchemaError as e:
    print(e)
print("end")
"""
    said = apart(code).splitlines()
    assert said[-1] == "end"
    if levels > 250:
        assert said[0] == "the schema of tool 'X' is no JSON Schema: it is nested more than 250 deep"


def test_a_schema_that_holds_itself_is_refused():
    schema: dict[str, Any] = {"properties": {}}
    schema["properties"]["a"] = schema
    with pytest.raises(fsm.SchemaError, match="nested more than 250 deep"):
        fsm.ToolRegistry({"X": schema})
    wide: Any = {}
    for _ in range(100):  # a hundred objects stand for 2 ** 100
        wide = {"anyOf": [wide, wide]}
    with pytest.raises(fsm.SchemaError, match="more than 100000 values"):
        fsm.ToolRegistry({"X": wide})


@pytest.mark.parametrize(("value", "says"), [
    (object(), "is no JSON"), (b"x", "is no JSON"), ({1, 2}, "is no JSON"), (float("nan"), "nan is no JSON"),
    (float("inf"), "inf is no JSON"), ({1: 2}, "the key 1"), ("\ud800", "surrogates"), ({"\udc00": 1}, "surrogates"),
    (1j, "is no JSON"), (print, "is no JSON"),
])
def test_what_is_no_json_is_no_schema(value: Any, says: str):
    for schema in ({"default": value}, {"properties": {"a": {"enum": [1, value]}}}):
        with pytest.raises(fsm.SchemaError, match=f"tool 'X' is no JSON Schema: .*{says}"):
            fsm.ToolRegistry({"X": schema})


def test_a_number_may_be_large_and_a_list_a_tuple():
    tool = fsm.ToolRegistry({"X": {"properties": {"a": {"enum": (10 ** 30, 1)}}}}).get("X")
    assert (tool.complaint({"a": 10 ** 30}), tool.complaint({"a": 2}) is None) == (None, False)


# ---------------------------------------------------------------- cost


def test_a_pattern_that_backtracks_is_cut_off(engine: str):
    """Two to the power of the text's length, as it stands; a plain pattern takes linear time."""
    assert apart(r"""
values = {"a": "a" * 50_000 + "!"}
for pattern in (r"^(?:(a|a)+)\1c$", r"^(a|a)+(?<!b)$", r"^(a+)+$", r"^(\w+\s?)*$"):
    tool = fsm.ToolRegistry({"X": {"properties": {"a": {"pattern": pattern}}}}).get("X")
    assert tool.complaint(values) is not None
many = {"a": ["a" * 25 + "!"] * 40_000}
tool = fsm.ToolRegistry({"X": {"properties": {"a": {"items": {"pattern": r"^(a|a)+(?<!b)$"}}}}}).get("X")
assert tool.complaint(many) is not None
print("done")
""", timeout=15) == "done"
    tools = {"X": {"properties": {"a": {"pattern": "^((?!secret).)*$"}}}}
    for size, invalid in ((5_000, None), (200_000, "schema")):
        call = message(engine, [start("t", "X"), frag(f'{{"a":"{"x" * size}"}}'), STOP], tools).content[0]
        assert call.get("invalid") == invalid


@pytest.mark.parametrize("pattern", ["(a{1000}){1000}", "((a{100}){100}){100}", "(?=x)(a{1000}){1000}"])
def test_a_pattern_that_grows_is_refused(pattern: str):
    with pytest.raises(fsm.SchemaError, match='is not a "regex"'):
        fsm.ToolRegistry({"X": {"properties": {"a": {"pattern": pattern}}}})


def test_a_large_value_is_judged_in_time():
    """As many items as 1 MiB of arguments can hold; and many faults, of which the first is enough."""
    assert apart("""
schema = {"properties": {"a": {"uniqueItems": True}, "b": {"items": {"type": "string"}}}}
tool = fsm.ToolRegistry({"X": schema}).get("X")
for items in (list(range(500_000)), [[i] for i in range(200_000)], [{"a": i} for i in range(150_000)], [[]] * 300_000):
    tool.complaint({"a": items})
assert tool.complaint({"b": [1] * 500_000}) == '1 is not of type "string" at b/0'
print("done")
""", timeout=15) == "done"


def test_a_value_that_the_validator_cannot_read_is_refused():
    """Half a surrogate pair, or what is nested beyond its own bound, must not raise."""
    tool = fsm.ToolRegistry({"X": {"properties": {"a": {"enum": [1]}}}}).get("X")
    deep: Any = []
    for _ in range(500):
        deep = [deep]
    for value in ({"a": "\ud800"}, {"a": deep}):
        assert (tool.complaint(value) is not None, tool.fits(value)) == (True, False)


# ---------------------------------------------------------------- copies


def test_a_registry_keeps_its_schemas():
    schema = {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}
    registry = fsm.ToolRegistry({"X": schema})
    schema["properties"]["a"]["type"] = "integer"
    schema["required"].append("b")
    assert registry.get("X").complaint({"a": "x"}) is None
    assert registry.get("X").schema["required"] == ["a"]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))],
                         ids=["copy", "deepcopy", "pickle"])
def test_a_copy_of_a_registry_is_independent(copied: Any):
    gemini = {"type": "OBJECT", "nullable": True, "properties": {"a": {"type": "STRING"}}}
    registry = fsm.ToolRegistry({"X": {"required": ["a"]}, "Y": None, "Z": False, "G": gemini})
    other = copied(registry)
    for value in ({"a": "x"}, {"b": 1}):
        assert other.candidates(value) == registry.candidates(value)
    assert other.get("G").schema == registry.get("G").schema
    other.register("New", {})
    registry.register("X", {})
    assert ("New" in registry, len(registry), len(other), other.get("X").required) == (False, 4, 5, {"a"})


def test_a_registry_says_what_is_in_it():
    assert repr(fsm.ToolRegistry({"Read": {}, "Bash": {}})) == "<ToolRegistry Read, Bash>"
    assert repr(fsm.ToolRegistry()) == "<ToolRegistry empty>"
    assert repr(fsm.ToolRegistry({f"t{i}": {} for i in range(99)})).endswith("t9 and 89 more>")


def test_the_docstring_names_the_bounds():
    for bound in (tools_module.MAX_DEPTH, tools_module.MAX_VALUES, tools_module.MAX_BACKTRACKS):
        assert f"{bound:,}" in fsm.ToolRegistry.__doc__
