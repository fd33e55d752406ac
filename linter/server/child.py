"""The helper process of the server: answers one question after the other, until its input ends.

Questions and answers are pickles with their length in front. They go through descriptors of their own: whatever writes to
standard output ends up in standard error.
"""

from __future__ import annotations

import os
import pickle
import signal
import struct
import sys
from typing import Any, BinaryIO

LENGTH = struct.Struct(">Q")


def main() -> None:
    """Run until the server goes away."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    questions = os.fdopen(os.dup(0), "rb")
    replies = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    from stridelint.linter.errors import internal_error
    from stridelint.linter.server.answers import QUESTIONS

    while True:
        asked = _read(questions)
        if asked is None:
            return
        name, arguments = asked
        try:
            answer: tuple[bool, Any] = True, QUESTIONS[name](*arguments)
        except Exception as error:
            answer = False, internal_error(error)
        try:
            replies.write(framed(answer))
            replies.flush()
        except BrokenPipeError:
            return


def framed(message: object) -> bytes:
    """A message as it goes through the pipe."""
    data = pickle.dumps(message)
    return LENGTH.pack(len(data)) + data


def _read(stream: BinaryIO) -> Any:
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    data = stream.read(length)
    return pickle.loads(data) if len(data) == length else None
