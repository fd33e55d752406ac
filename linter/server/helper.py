"""A helper process as the server sees it: it answers questions, may take too long or die, and is started anew then."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

from stridelint.linter.server.child import LENGTH, framed

# Seconds after which a question is given up, and after which nobody wants the answer any more.
PATIENCE = 60.0
GRACE = 1.0
# Only what the server itself could import: not the current folder, where the user's code lies.
_START = "import sys; sys.path[:] = sys.argv[1:]; from stridelint.linter.server.child import main; main()"


class NoAnswer(Exception):
    """There is no answer; the text says why."""


class Helper:
    """One process, one question at a time."""

    def __init__(self, patience: float = PATIENCE, grace: float = GRACE) -> None:
        self.patience = patience
        self.grace = grace
        self._process: asyncio.subprocess.Process | None = None
        self._lock = asyncio.Lock()
        self._current: asyncio.Task[Any] | None = None
        self._since = 0.0

    async def ask(self, name: str, *arguments: object) -> Any:
        """The answer to one of `answers.QUESTIONS`.

        If the asker is cancelled, a question that waits is dropped; one that is worked at is left a moment to end by itself,
        which is cheaper than a new process.

        Raises:
            NoAnswer: it failed, took too long, or the process died.
        """
        task = asyncio.ensure_future(self._asked(name, arguments))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
            self._abandon(task)
            raise

    async def _asked(self, name: str, arguments: tuple[object, ...]) -> Any:
        async with self._lock:
            loop = asyncio.get_running_loop()
            self._current, self._since = asyncio.current_task(), loop.time()
            try:
                return await asyncio.wait_for(self._exchange(name, arguments), self.patience)
            except asyncio.TimeoutError:
                self.stop()
                raise NoAnswer(f"gave up after {self.patience:g} seconds") from None
            except (OSError, EOFError):  # a broken pipe, an incomplete answer
                self.stop()
                raise NoAnswer("the process that analysed it died: out of memory, or a crash in native code") from None
            except asyncio.CancelledError:
                self.stop()
                raise
            finally:
                self._current = None

    async def _exchange(self, name: str, arguments: tuple[object, ...]) -> Any:
        import pickle

        process = await self._started()
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(framed((name, arguments)))
        await process.stdin.drain()
        (length,) = LENGTH.unpack(await process.stdout.readexactly(LENGTH.size))
        worked, answer = pickle.loads(await process.stdout.readexactly(length))
        if not worked:
            raise NoAnswer(answer)
        return answer

    async def _started(self) -> asyncio.subprocess.Process:
        if self._process is None or self._process.returncode is not None:
            paths = [os.path.abspath(each) for each in sys.path if each]
            pipe = asyncio.subprocess.PIPE
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-c", _START, *paths, stdin=pipe, stdout=pipe
            )
        return self._process

    def _abandon(self, task: asyncio.Task[Any]) -> None:
        if task is not self._current:
            task.cancel()
            return
        loop = asyncio.get_running_loop()
        left = self._since + self.grace - loop.time()
        loop.call_later(max(left, 0), task.cancel)  # does nothing to a task that is done

    async def close(self) -> None:
        """End the process, and wait for its end."""
        process = self._process
        self.stop()
        if process is not None:
            await process.wait()

    def stop(self) -> None:
        """End the process; the next question starts another one."""
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            try:
                process.kill()
            except ProcessLookupError:
                pass
