"""Which linter this is: its own files, LibCST and Python, as far as they decide what is found. Imports neither LibCST nor rules."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterator

_SUFFIXES = (".py", ".json")


@functools.cache
def mark() -> int:
    """A number that changes with any of the linter's own files, by when they were changed and how long they are."""
    import zlib

    listed = "\n".join(f"{name} {state.st_mtime_ns} {state.st_size}" for name, state in _own_files())
    return zlib.crc32(f"{_others()}\n{listed}".encode("utf-8", "surrogatepass"))


@functools.cache
def digest() -> str:
    """What tells this linter from others by the contents of its files, wherever and whenever it was installed."""
    from stridelint.linter import source

    parts = [_others().encode("utf-8", "surrogatepass")]
    for name, _ in _own_files():
        with open(name, "rb") as file:
            parts.append(source.digest(file.read()).encode())
    return source.digest(b"\n".join(parts))


def _others() -> str:
    return f"{sys.implementation.name} {sys.version_info} libcst {_libcst()}"


def _libcst() -> str:
    """LibCST's version, without importing it."""
    import importlib.util

    spec = importlib.util.find_spec("libcst")
    if spec is None or not spec.origin:
        return ""
    try:
        with open(os.path.join(os.path.dirname(spec.origin), "_version.py"), encoding="utf-8") as file:
            return file.read()
    except (OSError, ValueError):
        from importlib.metadata import version

        return version("libcst")


def _own_files() -> list[tuple[str, os.stat_result]]:
    """The files that decide what is found, in a fixed order."""
    from stridelint import linter, rules

    return sorted(
        ((name, state) for package in (linter, rules) for folder in package.__path__ for name, state in _below(folder)),
        key=lambda each: each[0],
    )


def _below(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                if entry.name != "__pycache__":
                    yield from _below(entry.path)
            elif entry.name.endswith(_SUFFIXES):
                yield entry.path, entry.stat()
