"""Verdicts on many findings from one child process, which may crash or hang: that costs the verdict on one of them.

    with Probe("auto") as probe:
        probe.wait()                         # ProbeError where it cannot start
        probe.verdict(witness)["verdict"]    # "confirmed", "refuted", "inconclusive"

This module does not import torch.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from typing import IO, Any

from stridelint.runtime_probe.worker import MEMORY, TOO_MUCH_MEMORY

DEVICES = ("auto", "cpu", "cuda")
# Importing torch from a cold disk takes long; a call on small tensors does not.
START_SECONDS = 300.0
LIMIT_SECONDS = 20.0
# With a child that dies at every start there is no point in going on.
_MOST_RESTARTS = 50


class ProbeError(Exception):
    """The probe cannot start; the text says why and what to do."""


class Probe:
    """A child process on a device, made again when it dies.

    Args:
        device: "auto", "cpu" or "cuda".
        limit: seconds for one witness.
        command: what to start, for tests.
    """

    def __init__(self, device: str = "auto", limit: float = LIMIT_SECONDS, command: list[str] | None = None) -> None:
        self.device = device
        self.torch = ""
        self.limit = limit
        self._command = command or [sys.executable, "-m", "stridelint.runtime_probe.worker"]
        self._restarts = 0
        self._child: subprocess.Popen[str] | None = None
        self._start()

    def __enter__(self) -> Probe:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self) -> None:
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        self._child = subprocess.Popen(
            [*self._command, self.device],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            env=environment,
        )
        self._lines: queue.Queue[str | None] = queue.Queue()
        assert self._child.stdout is not None
        threading.Thread(target=_read, args=(self._child.stdout, self._lines), daemon=True).start()
        self._ready = False

    def wait(self) -> None:
        """Wait until the child can work. Raises ProbeError."""
        if self._ready:
            return
        line = self._line(START_SECONDS)
        if line is None:
            raise ProbeError(f"the probe does not start: {self._ended(START_SECONDS)}")
        started = json.loads(line)
        if "error" in started:
            raise ProbeError(started["error"])
        self.torch, self.device, self._ready = started["torch"], started["device"], True

    def verdict(self, witness: dict[str, Any]) -> dict[str, Any]:
        """The verdict on one finding, with the reason, what was observed, and where."""
        if "reason" in witness:
            return self._inconclusive(str(witness["reason"]))
        self.wait()
        assert self._child is not None and self._child.stdin is not None
        line = None
        try:
            self._child.stdin.write(json.dumps(witness) + "\n")
            self._child.stdin.flush()
            line = self._line(self.limit)
        except OSError:
            pass  # it died between two witnesses
        if line is not None:
            found: dict[str, Any] = json.loads(line)
            return found
        ended = self._ended(self.limit)
        self._restarts += 1
        if self._restarts > _MOST_RESTARTS:
            raise ProbeError(f"the probe died {_MOST_RESTARTS} times, the last time because {ended}")
        self._start()
        return self._inconclusive(f"the call does not come back: {ended}")

    def _inconclusive(self, reason: str) -> dict[str, Any]:
        return {"verdict": "inconclusive", "reason": reason, "observed": "", "torch": self.torch, "device": self.device}

    def _line(self, seconds: float) -> str | None:
        try:
            return self._lines.get(timeout=seconds)
        except queue.Empty:
            return None

    def _ended(self, limit: float) -> str:
        """Make sure that the child is gone, and say how it went."""
        assert self._child is not None
        try:
            status = self._child.wait(timeout=0.5)
        except subprocess.TimeoutExpired:
            self._kill()
            return f"it took more than {limit:g} seconds"
        self._kill()
        if status == TOO_MUCH_MEMORY:
            return f"it needs more than {MEMORY >> 30} GiB of memory"
        if status < 0:
            names = {each.value: each.name for each in signal.Signals}
            return f"the process died of {names.get(-status, f'signal {-status}')}"
        return f"the process ended with status {status}"

    def _kill(self) -> None:
        if self._child is None:
            return
        self._child.kill()
        self._child.wait()
        for stream in (self._child.stdin, self._child.stdout):
            try:
                if stream is not None:
                    stream.close()
            except OSError:
                pass
        self._child = None

    def close(self) -> None:
        """End the child."""
        self._kill()


def _read(stream: IO[str], lines: queue.Queue[str | None]) -> None:
    try:
        for line in stream:
            lines.put(line)
    except (OSError, ValueError):
        pass
    lines.put(None)
