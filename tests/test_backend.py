"""The choice between what was built and its sources, in copies of the tree in which something was changed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from conftest import require
from fsm import _built
from fsm import _engine
from helpers import ROOT, a_text, a_tool, anthropic

SO = EXTENSION_SUFFIXES[0]
BODY = anthropic(*a_text(0, "hello"), *a_tool(1, "t", "Read", '{"file_path":"a"}'), stop="tool_use")
MODULES = ("fsm._speedups", *_engine.COLD)
RUN = f"""
import sys, warnings
warnings.simplefilter("always")
import fsm
from fsm import _engine
outcome = fsm.reconstruct({BODY!r}, tools={{"Read": {{"required": ["file_path"]}}}})
assert (outcome.message.text, outcome.message.tool_calls[0]["input"]) == ("hello", {{"file_path": "a"}})
print(fsm.BACKEND, sum(not sys.modules[name].__file__.endswith(".py") for name in {MODULES!r} if name in sys.modules))
"""
COMPILED = f"compiled {len(MODULES)}"
PURE = "python 0"


class Tree:
    """A copy of the package as it was built; a checkout has the sources of the extension beside it."""

    def __init__(self, root: Path, checkout: bool = True) -> None:
        require("compiled")
        self.root = root
        for folder in ("fsm", "_speedups") if checkout else ("fsm",):
            shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__", "*.c"))

    def run(self, **env: str) -> subprocess.CompletedProcess[str]:
        keep = {k: v for k, v in os.environ.items() if not k.startswith(("FSM_", "PYTHONPATH"))}
        return subprocess.run([sys.executable, "-c", RUN], cwd=self.root, env={**keep, **env}, capture_output=True,
                              text=True, timeout=60)

    def edit(self, path: str, old: str = "", new: str = "") -> None:
        """Change a file, by a line at its end if nothing is named, and leave its time stamps as they were."""
        file = self.root / path
        before = file.stat()
        text = file.read_text("utf-8")
        assert old in text
        file.write_text(text.replace(old, new, 1) if old else text + "\n", "utf-8")
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    def refuses(self, why: str) -> None:
        """It warns and works in pure Python, all of it; where the extension is required, it is an error."""
        got = self.run()
        assert got.stdout.strip() == PURE, got.stdout + got.stderr
        assert re.search(rf"RuntimeWarning: fsm\._speedups is not used: .*{why}", got.stderr), got.stderr
        required = self.run(FSM_REQUIRE_SPEEDUPS="1")
        assert re.search(rf"ImportError: fsm\._speedups is not used: .*{why}", required.stderr), required.stderr
        silent = self.run(FSM_PURE_PYTHON="1")
        assert (silent.stdout.strip(), silent.stderr) == (PURE, "")

    def takes(self) -> None:
        for required in ("", "1"):
            got = self.run(FSM_REQUIRE_SPEEDUPS=required)
            assert (got.stdout.strip(), got.stderr) == (COMPILED, ""), got.stderr


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "a checkout")


@pytest.fixture
def installed(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "site", checkout=False)


def test_what_was_built_is_taken(tree: Tree, installed: Tree):
    tree.takes()
    installed.takes()


@pytest.mark.parametrize("path", [
    "_speedups/_speedups.pyx", "_speedups/scan.pxi", "_speedups/_tables.pxi", "_speedups/match.h", "fsm/rebuild/calls.pxd",
    "fsm/_tables.pxd", "fsm/dialects/base.pxd", "fsm/rebuild/calls.py", "fsm/dialects/anthropic.py"])
def test_a_source_that_changed_is_noticed_whatever_its_time_stamp(tree: Tree, path: str):
    tree.edit(path)
    tree.refuses(f"{re.escape(path)} changed since it was built")


def test_a_source_that_went_away_is_noticed(tree: Tree):
    (tree.root / "_speedups" / "text.h").unlink()
    tree.edit("fsm/rebuild/calls.py")
    tree.refuses("_speedups/text.h and 1 more changed")


def test_another_spec_is_noticed(tree: Tree, installed: Tree):
    for where in (tree, installed):
        where.edit("fsm/_tables.py", 'SPEC_DIGEST: Final = "', 'SPEC_DIGEST: Final = "0')
        where.refuses("it was built from another spec")


@pytest.mark.parametrize("when", [0, 2_000_000_000])
def test_time_stamps_say_nothing(tree: Tree, when: int):
    for path in tree.root.rglob("*"):
        if path.suffix in (".py", ".pxd", ".pxi", ".h", ".pyx"):
            os.utime(path, (when, when))
    tree.takes()


def test_a_distribution_may_change_what_it_installs(installed: Tree):
    """Nothing is hashed there: an installer may strip or rewrite sources."""
    installed.edit("fsm/rebuild/calls.py")
    (installed.root / "fsm" / "rebuild" / "calls.pxd").unlink()
    installed.takes()


def test_a_build_that_did_not_finish_is_noticed(tree: Tree):
    record = tree.root / "fsm" / _built.RECORD
    for text in (None, "", "[]", '{"spec": "x"}'):
        record.unlink() if text is None else record.write_text(text)
        tree.refuses("the build did not finish")


@pytest.mark.parametrize("name", ["_speedups", "rebuild/calls", "dialects/base"])
def test_a_module_that_is_missing_or_broken_is_noticed(tree: Tree, name: str):
    path = tree.root / "fsm" / (name + SO)
    path.write_bytes(path.read_bytes()[:40])
    dotted = f"fsm.{name.replace('/', '.')}"
    tree.refuses(f"{dotted} does not load")
    path.unlink()
    tree.refuses(f"{dotted} was not built")


def test_where_nothing_was_built_nothing_is_said(tree: Tree):
    for path in (tree.root / "fsm").rglob(f"*{SO}"):
        path.unlink()
    (tree.root / "fsm" / _built.RECORD).unlink()
    got = tree.run()
    assert (got.stdout.strip(), got.stderr) == (PURE, "")
    required = tree.run(FSM_REQUIRE_SPEEDUPS="1")
    assert "ImportError: fsm._speedups is not used: fsm._speedups was not built" in required.stderr


def test_behind_the_choice_there_is_no_way_back(tree: Tree):
    """Half of it is loaded then, and holds on to what is compiled."""
    tree.edit("fsm/framing/sse.py", "def _fields(", "def _other(")
    said = tree.run().stderr
    assert re.search(r"ImportError: fsm\._speedups fails while it is loaded: .*FSM_PURE_PYTHON=1 does without it", said)


def test_the_record_names_every_source(tree: Tree):
    record = json.loads((tree.root / "fsm" / _built.RECORD).read_text())
    pxd = [p.relative_to(tree.root) for p in (tree.root / "fsm").rglob("*.pxd")]
    python = [p.with_suffix(".py") for p in pxd if p.name != "_tables.pxd"]
    own = [p.relative_to(tree.root) for p in (tree.root / "_speedups").iterdir() if p.suffix in (".pyx", ".pxi", ".h")]
    assert set(record["sources"]) == {p.as_posix() for p in (*pxd, *python, *own)}
    assert len(own) > 10


# ---------------------------------------------------------------- the build


def test_what_the_warning_says_to_do_is_what_the_documentation_says(tree: Tree):
    tree.edit("fsm/rebuild/calls.py")
    commands = re.findall("`(.+?)`", tree.run().stderr)
    assert commands == ["pip install -e '.[dev]'", "python setup.py build_ext --inplace"]
    documented = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    assert all(f"\n.venv/bin/{command}" in documented for command in commands)


def test_an_installed_package_is_told_to_be_installed_again(installed: Tree):
    (installed.root / "fsm" / _built.RECORD).unlink()
    commands = re.findall("`(.+?)`", installed.run().stderr)
    assert commands == ["pip install --force-reinstall --no-deps --no-binary deltafsm deltafsm"]


def test_the_extra_for_developers_has_what_builds():
    """In a fresh environment there may be no Cython, and a setuptools that refuses pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert set(project["build-system"]["requires"]) <= set(project["project"]["optional-dependencies"]["dev"])


@pytest.fixture
def built(tree: Tree) -> Tree:
    """A checkout that was built, its C files included."""
    pytest.importorskip("Cython", reason="the extra `dev` is not installed")
    for path in (*ROOT.rglob("fsm/**/*.c"), ROOT / "_speedups" / "_speedups.c"):
        if not path.exists():
            pytest.skip("it was built elsewhere")
        shutil.copy2(path, tree.root / path.relative_to(ROOT))
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy2(ROOT / name, tree.root)
    return tree


def build(tree: Tree, **env: str) -> str:
    got = subprocess.run([sys.executable, "setup.py", "build_ext", "--inplace"], cwd=tree.root, capture_output=True,
                         text=True, timeout=300, env={**os.environ, "FSM_REQUIRE_SPEEDUPS": "", **env})
    assert got.returncode == 0, got.stderr
    return got.stdout + got.stderr


def test_a_build_that_fails_leaves_no_record(built: Tree):
    said = build(built, CC="false")
    assert "could not be built" in said
    built.refuses("the build did not finish")


def test_the_build_does_not_go_by_time_stamps_either(built: Tree):
    """A source whose content is another is translated again, even one that looks older than what was made from it."""
    old = (built.root / "fsm" / "rebuild" / "finish.c").stat().st_mtime_ns
    built.edit("fsm/dialects/repeats.py")
    assert "Cythonizing" not in build(built, CC="false")
    built.edit("fsm/rebuild/finish.py")
    assert "Cythonizing fsm/rebuild/finish.py" in build(built, CC="false")
    assert (built.root / "fsm" / "rebuild" / "finish.c").stat().st_mtime_ns > old
