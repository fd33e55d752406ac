"""The child process that replays witnesses: one JSON document a line in, one verdict a line out.

    python -m stridelint.runtime_probe.worker auto

The first line out tells the device and the version of torch, or the error that keeps it from starting. Nothing that
torch prints gets between the lines: standard output is handed to standard error.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from typing import Any, TextIO

# How much memory the calls may take, beyond what torch has taken when it is ready, and the exit status if they take more.
MEMORY = 2 << 30
TOO_MUCH_MEMORY = 77
NO_TORCH = "the probe needs torch: pip install 'stridelint[probe]'"


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until the input ends."""
    wanted = (sys.argv[1:] if argv is None else argv)[0]
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    started = start(wanted)
    _say(answers, started)
    if "error" in started:
        return 2
    if os.name == "posix":
        threading.Thread(target=_watch, args=(os.getppid(), _memory() + MEMORY), daemon=True).start()
    for line in sys.stdin:
        _say(answers, answer(json.loads(line), started))
    return 0


def start(wanted: str) -> dict[str, Any]:
    """Import torch and choose the device; {"error": ...} where that is not possible."""
    try:
        import torch
    except ImportError as error:
        return {"error": NO_TORCH if error.name == "torch" else f"torch cannot be imported: {error}"}
    cuda = torch.cuda.is_available()
    if wanted == "cuda" and not cuda:
        return {"error": "the probe was asked to run on cuda, but torch sees no CUDA device here"}
    torch.set_num_threads(1)
    device = "cuda" if wanted in ("cuda", "auto") and cuda else "cpu"
    return {"torch": torch.__version__, "device": device}


def answer(witness: dict[str, Any], started: dict[str, Any]) -> dict[str, Any]:
    """The verdict on one witness, as plain data."""
    from stridelint.runtime_probe.replay import INCONCLUSIVE, Verdict, replay

    try:
        verdict = replay(witness, started["device"])
    except (
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        IndexError,
        AssertionError,
        RuntimeError,
        MemoryError,
    ) as error:
        frames = traceback.extract_tb(error.__traceback__)
        where = f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}"
        text = " ".join(str(error).split())[:200]
        verdict = Verdict(INCONCLUSIVE, f"the replay failed: {type(error).__name__}: {text} at {where}")
    told = dataclasses.asdict(verdict)
    return {**told, "torch": started["torch"], "device": verdict.device or started["device"]}


def _watch(parent: int, limit: int) -> None:
    """End this process when it has taken too much memory, or when nobody wants its answers any more.

    A limit on address space would not do: a GPU's driver reserves far more than it uses.
    """
    while True:
        if _memory() > limit:
            os._exit(TOO_MUCH_MEMORY)
        if os.getppid() != parent:
            os._exit(1)
        time.sleep(0.01)


def _memory() -> int:
    """The most memory that this process has taken so far, in bytes."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _say(stream: TextIO, document: dict[str, Any]) -> None:
    stream.write(json.dumps(document) + "\n")
    stream.flush()


if __name__ == "__main__":
    sys.exit(main())
