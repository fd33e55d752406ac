"""Checks many files, in several processes when there is enough to do."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from stridelint.linter import engine, screen, source
from stridelint.linter.config import Settings
from stridelint.linter.discover import Target
from stridelint.linter.findings import Outcome, Report

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

    from stridelint.linter.selection import Selection

# Below this many files that pass the first screen, starting processes costs more than it saves.
SERIAL_BELOW = 20

Job = tuple[Target | source.Source, Settings]


def check_all(jobs: Iterable[Job], processes: int = 0, excluded: int = 0) -> Report:
    """Check files (or text from standard input), each with its settings; `processes` 0: one for each core."""
    outcomes: list[Outcome] = []
    waiting: list[tuple[int, Job]] = []
    checked = 0
    for job in jobs:
        checked += 1
        try:
            file = read(job)
            if not _needs_a_closer_look(file, job[1]):
                continue
        except (source.Unreadable, screen.Unparsable) as error:
            outcomes.append(engine.skipped(job[0].path, str(error)))
        else:
            waiting.append((len(file.data), job))
    # Large files first, so that none of them is left to one process at the end.
    ordered = [job for _, job in sorted(waiting, key=lambda item: -item[0])]
    processes = min(processes or _cores(), len(ordered))
    if processes < 2 or len(ordered) < SERIAL_BELOW:
        outcomes += map(check_file, ordered)
    else:
        outcomes += _in_processes(ordered, processes)
    return Report(
        tuple(sorted(finding for outcome in outcomes for finding in outcome.findings)),
        tuple(sorted(skipped for outcome in outcomes for skipped in outcome.skipped)),
        sum(len(outcome.suppressed) for outcome in outcomes),
        checked,
        excluded,
        hidden=tuple(sorted(finding for outcome in outcomes for finding in outcome.suppressed)),
    )


def check_file(job: Job) -> Outcome:
    """All that comes of one file, whatever happens."""
    try:
        return engine.check(read(job), _selection(job[1]))
    except source.Unreadable as error:  # it was readable a moment ago
        return engine.skipped(job[0].path, str(error))
    except Exception as error:
        return engine.skipped(job[0].path, engine.internal_error(error))


def read(job: Job) -> source.Source:
    """The bytes to check: those of a file, or the given ones."""
    item = job[0]
    return source.read(item.path, item.explicit) if isinstance(item, Target) else item


def _needs_a_closer_look(file: source.Source, settings: Settings) -> bool:
    """The first screen; the rules are not even imported for a file that does not mention torch."""
    if screen.may_use_torch(file.data) and screen.mentions(file.data, _selection(settings).rules):
        return True
    if file.explicit:
        screen.parse(file.text)  # who names a broken file wants to hear that it is broken
    return False


def _selection(settings: Settings) -> Selection:
    from stridelint.linter.selection import select

    return select(settings)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _in_processes(jobs: Sequence[Job], processes: int) -> list[Outcome]:
    from collections import deque
    from concurrent.futures import FIRST_COMPLETED, wait
    from concurrent.futures.process import BrokenProcessPool

    outcomes: list[Outcome] = []
    todo = deque(jobs)
    while todo:
        running: dict[Future[Outcome], Job] = {}
        with _pool(processes) as pool:
            try:
                while todo or running:
                    # Few at a time: those that run when a process dies must be tried again, one by one.
                    while todo and len(running) < 2 * processes:
                        running[pool.submit(check_file, todo[0])] = todo[0]
                        todo.popleft()
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        outcomes.append(future.result())
                        del running[future]
            except BrokenProcessPool:
                pass  # `running` holds the file that killed a process, and some bystanders
            except KeyboardInterrupt:
                _stop(pool)
                raise
        outcomes += map(_alone, running.values())
    return outcomes


def _alone(job: Job) -> Outcome:
    """Check a file in a process of its own, which may die."""
    from concurrent.futures.process import BrokenProcessPool

    with _pool(1) as pool:
        try:
            return pool.submit(check_file, job).result()
        except BrokenProcessPool:
            return engine.skipped(job[0].path, "the process that analysed it died: out of memory, or a crash in native code")
        except KeyboardInterrupt:
            _stop(pool)
            raise


def _pool(processes: int) -> ProcessPoolExecutor:
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    context = None
    if sys.platform == "linux":
        # Forked children share what is imported here once, and LibCST takes a while to import.

        context = multiprocessing.get_context("fork")
    return ProcessPoolExecutor(processes, mp_context=context, initializer=_start_worker, initargs=(os.getpid(),))


def _start_worker(parent: int) -> None:
    """Ctrl-C reaches all processes of a terminal, and the parent alone answers it; but none outlives the parent."""
    import signal
    import threading
    import time

    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    if os.name == "posix":
        threading.Thread(target=watch, daemon=True).start()


def _stop(pool: ProcessPoolExecutor) -> None:
    import multiprocessing

    pool.shutdown(wait=False, cancel_futures=True)
    for child in multiprocessing.active_children():
        child.terminate()
