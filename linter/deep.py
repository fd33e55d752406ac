"""Runs a function where recursion may go deep.

LibCST's parser is native and recursive: on the usual 8 MB stack deep nesting kills the process. LibCST's visitors and
the interpreter recurse in Python, several frames a level, and would hit the usual limit of 1000.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_STACK = 512 * 1024 * 1024  # address space only: pages are taken when touched
_FRAMES = 30_000


def run_deep(function: Callable[[], T]) -> T:
    """The function's result, computed in a thread with a large stack and a high recursion limit."""
    results: list[T] = []
    errors: list[BaseException] = []

    def body() -> None:
        try:
            results.append(function())
        except BaseException as error:
            errors.append(error)

    size, frames = threading.stack_size(), sys.getrecursionlimit()
    try:
        threading.stack_size(_STACK)
        thread = threading.Thread(target=body, daemon=True)  # a daemon does not hold up the exit after Ctrl-C
        sys.setrecursionlimit(max(frames, _FRAMES))
        thread.start()
    except (RuntimeError, ValueError):  # no room for such a stack here: better the small one than none
        sys.setrecursionlimit(frames)
        return function()
    finally:
        threading.stack_size(size)
    try:
        thread.join()
    finally:
        sys.setrecursionlimit(frames)
    if errors:
        raise errors[0]
    return results[0]
