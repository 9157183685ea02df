"""Build script: the extension `fsm._speedups`, and the cold path compiled from its Python sources.

A module of `fsm` with a `.pxd` beside it is compiled as it stands: the `.pxd` gives its classes C fields and its methods C
calls, the `.py` stays the one source, and Python runs that where nothing was compiled. `fsm._engine` takes all or nothing.
What was built from what is written down beside the extension, once all of it was built (`fsm/_built.py`).

Without a C compiler (or with FSM_PURE_PYTHON=1) the package installs in pure Python and says so; with
FSM_REQUIRE_SPEEDUPS=1 a failed build is an error instead. FSM_SANITIZE=1 builds with ASan and UBSan, FSM_SCALAR=1 without SSE2.
"""

from __future__ import annotations

import os
import re
import runpy
import sys
from glob import glob
from pathlib import Path
from types import SimpleNamespace

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

built = SimpleNamespace(**runpy.run_path("fsm/_built.py"))  # the package itself cannot be imported yet
TRANSLATED = "_speedups/_translated.json"  # what the .c files were made from
DECLARED = sorted(Path("fsm").rglob("*.pxd"))
COLD = [path for path in DECLARED if path.name != "_tables.pxd"]  # of the modules that are compiled


ROOMS = ("cli", "dialects", "framing", "history", "model", "rebuild", "samples", "values")

#: what callers see of the compiled modules: their methods keep their annotations. Not those of the Reconstructor: a method that keeps them
#: costs 118 instructions more per call, and `feed` is called for every chunk
PUBLIC = frozenset({"fsm.model.deltas", "fsm.model.events", "fsm.model.message", "fsm.model.metrics", "fsm.model.usage"})


def flag(name: str) -> bool:
    return os.environ.get(name, "") not in ("", "0")


REQUIRED = flag("FSM_REQUIRE_SPEEDUPS")


class BuildExt(build_ext):
    """`build_ext` that says loudly when it falls back to pure Python."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count()

    def run(self) -> None:
        if not self.extensions:
            return
        record = Path(self.get_ext_fullpath("fsm._speedups")).with_name(built.RECORD)
        record.unlink(missing_ok=True)
        self.failed = False
        try:
            super().run()
        except Exception as error:
            self._fall_back(error)
        if not self.failed:
            record.parent.mkdir(parents=True, exist_ok=True)
            built.write(record, SPEC, SOURCES)

    def build_extension(self, ext: Extension) -> None:
        try:
            super().build_extension(ext)
        except Exception as error:
            self._fall_back(error)

    def _fall_back(self, error: Exception) -> None:
        self.failed = True
        if REQUIRED:
            raise error
        print(f"\n*** deltafsm: the extension fsm._speedups could not be built ({error}).\n"
              "*** The package is installed in pure Python: complete, but many times slower.\n", file=sys.stderr)


def sources() -> dict[str, str]:
    """path -> hash of everything that is compiled in."""
    own = [path for kind in ("pyx", "pxi", "h") for path in Path("_speedups").glob(f"*.{kind}")]
    paths = [*own, *DECLARED, *(path.with_suffix(".py") for path in COLD)]
    return built.hashed(".", sorted(path.as_posix() for path in paths))


def renew() -> None:
    """Cython and the compiler go by time stamps: give what changed since the last translation a new one."""
    before = (built.read(TRANSLATED) or {"sources": {}})["sources"]
    for path, digest in SOURCES.items():
        if before.get(path) != digest:
            os.utime(path)


def extensions() -> list[Extension]:
    if flag("FSM_PURE_PYTHON"):
        return []
    try:
        from Cython.Build import cythonize
    except ImportError:
        raise SystemExit("building deltafsm needs Cython and a new setuptools: pip install -e '.[dev]'") from None

    renew()
    args = ["-O3", "-g0", "-Wno-unreachable-code", "-Wno-array-bounds"] if os.name == "posix" else ["/O2"]
    link: list[str] = []
    macros: list[tuple[str, str | None]] = [("FSM_SCALAR", "1")] if flag("FSM_SCALAR") else []
    if flag("FSM_SANITIZE"):
        args = ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer"]
        link = ["-fsanitize=address,undefined"]
    extension = Extension("fsm._speedups", ["_speedups/_speedups.pyx"], include_dirs=["_speedups"], extra_compile_args=args, extra_link_args=link,
                          define_macros=macros, depends=sorted(glob("_speedups/*.pxi") + glob("_speedups/*.h")))
    cold = [Extension(".".join(path.with_suffix("").parts), [str(path.with_suffix(".py"))], extra_compile_args=args,
                      extra_link_args=link, depends=[str(p) for p in DECLARED]) for path in COLD]
    # the annotations are for readers and mypy; what the compiler may rely on stands in the .pxd. Signatures are for `help` and `inspect`
    directives = {"annotation_typing": False, "binding": False, "embedsignature": True, "embedsignature.format": "clinic"}
    public = [ext for ext in cold if ext.name in PUBLIC]
    inner = [ext for ext in cold if ext.name not in PUBLIC]
    translated: list[Extension] = cythonize([extension, *inner], language_level=3, compiler_directives=directives)
    translated += cythonize(public, language_level=3, compiler_directives={**directives, "binding": True})  # which keeps annotations
    built.write(TRANSLATED, SPEC, SOURCES)
    for ext in translated:  # cythonize drops the mark
        ext.optional = not REQUIRED
    return translated


SOURCES = sources()
SPEC = re.search(r'SPEC_DIGEST = "(\w+)"', Path("_speedups/_tables.pxi").read_text("utf-8"))[1]

setup(
    packages=["fsm", *(f"fsm.{room}" for room in ROOMS)],
    package_data={"fsm": ["py.typed", "*.pyi"], "fsm.samples": ["*.sse", "*.json"]},
    ext_modules=extensions(),
    cmdclass={"build_ext": BuildExt},
)
