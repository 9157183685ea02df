"""What the compiled modules were built from: written by the build (setup.py), read before any of them is imported.

A file beside the extension, `RECORD`, holds the digest of the spec and the hash of every source. Time stamps say
nothing about either: a checkout, an archive or a copy may bring any.

Only the standard library is imported here, and nothing of the package: setup.py runs this file by its path.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from hashlib import blake2b
from importlib.machinery import EXTENSION_SUFFIXES
from typing import Any

#: the name of the record; two Pythons that share a checkout have one each, as they have their own extensions
RECORD = f"_built{EXTENSION_SUFFIXES[0]}.json"


def hashed(root: str, paths: Iterable[str]) -> dict[str, str]:
    """path -> hash of its content, "" for a file that is not there. Paths are relative to `root`, with slashes."""
    hashes = {}
    for path in paths:
        try:
            with open(os.path.join(root, path), "rb", buffering=0) as file:
                hashes[path] = blake2b(file.read(), digest_size=16).hexdigest()
        except FileNotFoundError:
            hashes[path] = ""
    return hashes


def changed(root: str, before: dict[str, str]) -> list[str]:
    """The files of `before` (path -> hash) that are not what they were."""
    now = hashed(root, before)
    return [path for path in before if now[path] != before[path]]


def read(path: str) -> dict[str, Any] | None:
    """The record at `path`, or None where there is none that can be read."""
    try:
        with open(path, encoding="utf-8") as file:
            record = json.load(file)
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) and isinstance(record.get("sources"), dict) else None


def write(path: str, spec: str, sources: dict[str, str]) -> None:
    """Record that what lies beside `path` was built from the spec of this digest and from these `sources`."""
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"spec": spec, "sources": sources}, file, indent=1)
