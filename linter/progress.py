"""A bar on standard error that tells how far a long run is. Only on a terminal, and only after a second."""

from __future__ import annotations

import os
import time
from typing import TextIO

_PATIENCE = 1.0  # seconds before it is shown
_PAUSE = 0.1  # and between two states of it
_WIDTH = 24
_CLEAR = "\r\033[K"


class Progress:
    """How many files of how many are done; `stream` None shows nothing."""

    def __init__(self, stream: TextIO | None, clock: object = None) -> None:
        self._stream = stream
        self._next = time.monotonic() + _PATIENCE
        self._is_shown = False

    def tell(self, done: int, total: int) -> None:
        """Show how far the run is, if it is time to."""
        if self._stream is None or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _PAUSE
        self._is_shown = True
        self._write(_CLEAR + line(done, total))

    def close(self) -> None:
        """Remove the bar."""
        if self._is_shown:
            self._is_shown = False
            self._write(_CLEAR)

    def _write(self, text: str) -> None:
        assert self._stream is not None
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):  # the terminal is gone: that is no reason to stop
            self._stream = None


def line(done: int, total: int) -> str:
    """The bar."""
    filled = _WIDTH * done // total if total else _WIDTH
    return f"[{'#' * filled}{'.' * (_WIDTH - filled)}] {done} of {total} files"


def suits(stream: TextIO) -> bool:
    """Whether a bar can be drawn there: a terminal that can erase a line, and nobody's log."""
    return stream.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("CI")
