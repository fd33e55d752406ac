"""Work done in another process, which may hang or die: that costs one item."""

from __future__ import annotations

import os
import pickle
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, NoReturn, TypeVar

Item = TypeVar("Item")


class Watched(NamedTuple):
    """What came of an item.

    result: of the work; None if there is none. trouble: "", "hang" or "died: " and the exit status (of a signal less than 0).
    seconds: of CPU time. memory: the most that the process has used so far, in bytes; grown: by how much this item has raised that.
    """

    result: Any
    trouble: str = ""
    seconds: float = 0.0
    memory: int = 0
    grown: int = 0


def watched(
    items: Sequence[Item], work: Callable[[Item], Any], limit: float, renew: int = 2000
) -> Iterator[tuple[Item, Watched]]:
    """What comes of each item. limit: seconds of wall time for one. renew: a new process after so many."""
    position = 0
    while position < len(items):
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            os.close(reading)
            _serve(items[position : position + renew], work, writing)
        os.close(writing)
        trouble = ""
        with os.fdopen(reading, "rb", buffering=0) as results:
            for item in items[position : position + renew]:
                trouble, result = _received(results.fileno(), limit)
                if trouble:
                    break
                yield item, Watched(*result)
                position += 1
        if trouble == "hang":
            os.kill(child, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if trouble:
            yield items[position], Watched(None, trouble if trouble == "hang" else f"died: {status}")
            position += 1


def _received(handle: int, limit: float) -> tuple[str, Any]:
    """What the other process sends next: eight bytes with a length, and that many more."""
    end = time.monotonic() + limit
    found = b""
    for size in (8, None):
        found, wanted = b"", int.from_bytes(found, "big") if size is None else size
        while len(found) < wanted:
            if not select.select([handle], [], [], max(0.0, end - time.monotonic()))[0]:
                return "hang", None
            part = os.read(handle, wanted - len(found))
            if not part:
                return "died", None
            found += part
    return "", pickle.loads(found)


def _serve(items: Sequence[Item], work: Callable[[Item], Any], writing: int) -> NoReturn:
    import resource

    # The unit that Linux uses is 1024 bytes, that of macOS one.
    unit = 1 if sys.platform == "darwin" else 1024
    try:
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
        for item in items:
            started = time.process_time()
            result = work(item)
            now = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
            data = pickle.dumps((result, "", time.process_time() - started, now, now - memory))
            memory = now
            os.write(writing, len(data).to_bytes(8, "big"))
            while data:
                data = data[os.write(writing, data) :]
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(0)
