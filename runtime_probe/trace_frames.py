"""Whose code a frame runs: code that is watched, code of torch that works for its caller, or other code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Any, TypeVar

WATCHED, THROUGH, OTHER = "watched", "through", "other"
# Parts of torch that compute what their caller asked for; the rest (optimizers, autograd ...) has reasons of its own.
_THROUGH = ("nn" + os.sep, "functional.py", "_tensor.py", "overrides.py", "_ops.py", "_jit_internal.py")
_DEEPER = (os.path.join("utils", "_device.py"), os.path.join("utils", "_contextlib.py"), "_VF.py")
_FOREIGN = frozenset({"site-packages", "dist-packages", ".venv", "venv", ".tox", ".nox"})
_MOST_CODES = 50_000
_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
T = TypeVar("T")


class Frames:
    """Tells code apart by its file.

    Args:
        folders: what is watched: folders and files, as absolute paths. Installed packages are watched only where they
            are named.
    """

    def __init__(self, folders: Sequence[str]) -> None:
        self.kinds: dict[int, str] = {}
        self._folders = [os.path.realpath(each) for each in folders]
        self._files: dict[str, str] = {}
        self._alive: list[CodeType] = []
        self._seen: set[int] = set()
        self._torch = ""

    def kind(self, code: CodeType) -> str:
        """Whose code it is; remembered."""
        name = code.co_filename
        found = self._files.get(name)
        if found is None:
            found = self._files[name] = self._of_file(name)
        if len(self.kinds) < _MOST_CODES:
            self.kinds[id(code)] = found
            self.kept(code, None)
        return found

    def kept(self, code: CodeType, value: T) -> T:
        """Keeps a code object alive, for its identity stands for it, and hands on `value`."""
        if id(code) not in self._seen:
            self._seen.add(id(code))
            self._alive.append(code)
        return value

    def _of_file(self, name: str) -> str:
        if not self._torch:
            self._torch = os.path.dirname(os.path.abspath(sys.modules["torch"].__file__ or "")) + os.sep
        path = os.path.abspath(name)
        if path.startswith(self._torch):
            inner = path[len(self._torch) :]
            return THROUGH if inner.startswith(_THROUGH) or inner in _DEEPER else OTHER
        if name.startswith("<") or path.startswith(_HERE) or not os.path.isfile(path):
            return OTHER
        real = os.path.realpath(path)
        for folder in self._folders:
            inside = real.startswith(folder.rstrip(os.sep) + os.sep)
            if real == folder or (inside and _FOREIGN.isdisjoint(real[len(folder) :].split(os.sep))):
                return WATCHED
        return OTHER


def _template(function: Any, args: Any, kwargs: Any) -> Any: return function(*args, **kwargs)  # fmt: skip


def stand_in(frame: FrameType) -> Callable[..., Any]:
    """A function that calls another one from the file, line and module of a frame.

    What torch warns of is filed under the module and line of whoever calls it; without this all warnings of a program would
    come from one line here, and most of them would be taken for repetitions.
    """
    code = _template.__code__
    changes: dict[str, Any] = {
        "co_filename": frame.f_code.co_filename,
        "co_name": frame.f_code.co_name,
        "co_firstlineno": frame.f_lineno or 1,
    }
    if sys.version_info >= (3, 11):
        changes["co_qualname"] = frame.f_code.co_qualname
        # One line for all instructions, without columns: 8 code units an entry, "no columns" is kind 13.
        units = len(code.co_code) // 2
        sizes = [8] * (units // 8) + [units % 8] * (units % 8 > 0)
        changes["co_linetable"] = b"".join(bytes((0x80 | 13 << 3 | size - 1, 0)) for size in sizes)
    return FunctionType(code.replace(**changes), frame.f_globals)


def strip(error: BaseException) -> None:
    """Take the frames of the trace, and those that stand in for the program's, from an error and those it came from."""
    seen: set[int] = set()
    errors: list[BaseException | None] = [error]
    for each in errors:
        if each is not None and id(each) not in seen:
            seen.add(id(each))
            each.__traceback__ = _stripped(each.__traceback__)
            errors += [each.__cause__, each.__context__]


def _stripped(trace: TracebackType | None) -> TracebackType | None:
    kept: list[TracebackType] = []
    own = False
    while trace is not None:
        code = trace.tb_frame.f_code
        stands_in = own and code.co_code == _template.__code__.co_code
        own = code.co_filename.startswith(_HERE)
        if not own and not stands_in:
            kept.append(trace)
        trace = trace.tb_next
    for each, after in zip(kept, [*kept[1:], None]):
        each.tb_next = after
    return kept[0] if kept else None
