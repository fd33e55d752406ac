"""Checks many files, in several processes when there is enough to do."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from stridelint.linter import engine, errors, screen, source
from stridelint.linter.config import Settings
from stridelint.linter.discover import Target
from stridelint.linter.findings import Outcome, Report, Reported

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

    from stridelint.linter.project import Project
    from stridelint.linter.selection import Selection

# Below this many files that pass the first screen, starting processes costs more than it saves.
SERIAL_BELOW = 20

Job = tuple[Target | source.Source, Settings]


def check_all(jobs: Iterable[Job], processes: int = 0, excluded: int = 0, project: Project | None = None) -> Report:
    """Check files (or text from standard input), each with its settings; `processes` 0: one for each core.

    project: where imports between the files are followed.
    """
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
        outcomes += (check_file(job, project) for job in ordered)
    else:
        outcomes += _in_processes(ordered, processes, project)
    return Report(
        tuple(sorted(_distinct(finding for outcome in outcomes for finding in outcome.findings))),
        tuple(sorted(skipped for outcome in outcomes for skipped in outcome.skipped)),
        sum(len(outcome.suppressed) for outcome in outcomes),
        checked,
        excluded,
        hidden=tuple(sorted(_distinct(finding for outcome in outcomes for finding in outcome.suppressed))),
    )


def _distinct(findings: Iterable[Reported]) -> Iterator[Reported]:
    """Each finding once: a function may be read for several files that call it. The surest one stays, and one with a fix."""
    best: dict[tuple[object, ...], Reported] = {}
    for finding in findings:
        key = (finding.path, finding.line, finding.column, finding.end_line, finding.end_column, finding.code)
        known = best.get(key)
        if known is None or _worth(known) < _worth(finding):
            best[key] = finding
    return iter(best.values())


def _worth(finding: Reported) -> tuple[int, bool]:
    return ("possible", "likely", "certain").index(finding.confidence), bool(finding.patch.edits)


def check_file(job: Job, project: Project | None = None) -> Outcome:
    """All that comes of one file, whatever happens."""
    try:
        return engine.check(read(job), _selection(job[1]), project=project)
    except source.Unreadable as error:  # it was readable a moment ago
        return engine.skipped(job[0].path, str(error))
    except Exception as error:
        return engine.skipped(job[0].path, errors.internal_error(error))


def read(job: Job) -> source.Source:
    """The bytes to check: those of a file, or the given ones."""
    item = job[0]
    return source.read(item.path, item.explicit) if isinstance(item, Target) else item


def _needs_a_closer_look(file: source.Source, settings: Settings) -> bool:
    """The first screen; the rules are not even imported for a file that does not mention torch."""
    if screen.may_use_torch(file.data) and (settings.assume or screen.mentions(file.data, _selection(settings).rules)):
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


def _in_processes(jobs: Sequence[Job], processes: int, project: Project | None) -> list[Outcome]:
    from collections import deque
    from concurrent.futures import FIRST_COMPLETED, wait
    from concurrent.futures.process import BrokenProcessPool

    outcomes: list[Outcome] = []
    todo = deque(jobs)
    while todo:
        running: dict[Future[Outcome], Job] = {}
        with _pool(processes, project) as pool:
            try:
                while todo or running:
                    # Few at a time: those that run when a process dies must be tried again, one by one.
                    while todo and len(running) < 2 * processes:
                        running[pool.submit(_check_here, todo[0])] = todo[0]
                        todo.popleft()
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        outcomes.append(future.result())
                        del running[future]
            except BrokenProcessPool:
                pass  # `running` holds the file that killed a process, and some bystanders
            except KeyboardInterrupt:
                _stop(pool)
                raise
        outcomes += (_alone(job, project) for job in running.values())
    return outcomes


def _alone(job: Job, project: Project | None) -> Outcome:
    """Check a file in a process of its own, which may die."""
    from concurrent.futures.process import BrokenProcessPool

    with _pool(1, project) as pool:
        try:
            return pool.submit(_check_here, job).result()
        except BrokenProcessPool:
            return engine.skipped(
                job[0].path, "the process that analysed it died: out of memory, or a crash in native code"
            )
        except KeyboardInterrupt:
            _stop(pool)
            raise


def _check_here(job: Job) -> Outcome:
    """`check_file` in a worker process."""
    return check_file(job, _worker.project)


class _Worker:
    """What a worker process is told once, when it starts."""

    project: Project | None = None


_worker = _Worker()


def _pool(processes: int, project: Project | None) -> ProcessPoolExecutor:
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    context = None
    if sys.platform == "linux":
        # Forked children share what is imported here once, and LibCST takes a while to import.

        context = multiprocessing.get_context("fork")
    arguments = (os.getpid(), project)
    return ProcessPoolExecutor(processes, mp_context=context, initializer=_start_worker, initargs=arguments)


def _start_worker(parent: int, project: Project | None) -> None:
    """Ctrl-C reaches all processes of a terminal, and the parent alone answers it; but none outlives the parent."""
    import signal
    import threading
    import time

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _worker.project = project

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
