"""Checks many files, in several processes when there is enough to do."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from stridelint.linter import engine, errors, screen, source, statistics
from stridelint.linter.config import Settings
from stridelint.linter.discover import Target
from stridelint.linter.findings import Outcome, Report, Reported

if TYPE_CHECKING:
    from stridelint.linter.cache import Cache
    from stridelint.linter.project import Asked, Project
    from stridelint.linter.selection import Selection

# Below this many files that pass the first screen, starting processes costs more than it saves.
SERIAL_BELOW = 20
NOTHING = Outcome()

Job = tuple[Target | source.Source, Settings]


class Way(NamedTuple):
    """How files are examined.

    project: where imports are followed. keeps: outcomes are to be kept. timed: measure it. local: ask local rules, too.
    """

    project: Project | None = None
    keeps: bool = False
    timed: bool = False
    local: bool = True


class Examined(NamedTuple):
    """What came of a file.

    digest: of what was read; "" if the outcome is not to be kept. asked: of other files. seconds: by phase.
    """

    outcome: Outcome
    digest: str = ""
    asked: Asked | None = None
    seconds: dict[str, float] | None = None


class Helpers(NamedTuple):
    """What goes along with a run. cache: None for none. seconds: measure, into this. tell: is told how many files are done, of how many."""

    cache: Cache | None = None
    seconds: dict[str, float] | None = None
    tell: Callable[[int, int], None] = lambda done, total: None


ALONE = Helpers()


def check_all(
    jobs: Iterable[Job],
    processes: int = 0,
    excluded: int = 0,
    project: Project | None = None,
    helpers: Helpers = ALONE,
) -> Report:
    """Check files (or text from standard input), each with its settings; `processes` 0: one for each core.

    project: where imports between the files are followed.
    """
    jobs = list(jobs)
    outcomes: list[Outcome] = []
    commented: list[Job] = []
    way = Way(project, helpers.cache is not None, helpers.seconds is not None)
    for done, (job, examined) in enumerate(_examined(jobs, processes, way, helpers), 1):
        helpers.tell(done, len(jobs))
        if examined.outcome is not NOTHING:
            outcomes.append(examined.outcome)
        if examined.outcome.commented:
            commented.append(job)
        if examined.seconds and helpers.seconds is not None:
            statistics.add(helpers.seconds, examined.seconds)
        if helpers.cache is not None and isinstance(job[0], Target) and examined.digest:
            helpers.cache.remember(job[0], job[1], examined.outcome, examined.digest, examined.asked)
    if commented:
        outcomes += _unused(commented, outcomes, project)
    return Report(
        tuple(sorted(_distinct(finding for outcome in outcomes for finding in outcome.findings))),
        tuple(sorted(skipped for outcome in outcomes for skipped in outcome.skipped)),
        sum(len(outcome.suppressed) for outcome in outcomes),
        len(jobs),
        excluded,
        hidden=tuple(sorted(_distinct(finding for outcome in outcomes for finding in outcome.suppressed))),
    )


def _examined(jobs: Sequence[Job], processes: int, way: Way, helpers: Helpers) -> Iterator[tuple[Job, Examined]]:
    """What comes of each file: what is known, then what the first screen tells, then what needs a closer look."""
    waiting: list[tuple[int, Job]] = []
    for job in jobs:
        known = _known(job, helpers.cache)
        if known is not None:
            yield job, Examined(known)
            continue
        try:
            file = read(job)
            asking = None if way.project is None else way.project.asking()
            if _needs_a_closer_look(file, job[1], asking):
                waiting.append((len(file.data), job))
                continue
            outcome = Outcome(commented=True) if _has_comments(file, job[1]) else NOTHING
            asked = None if asking is None else asking.asked
            yield job, Examined(outcome, source.digest(file.data) if way.keeps else "", asked)
        except (source.Unreadable, screen.Unparsable) as error:
            yield job, Examined(engine.skipped(job[0].path, str(error)))
    # Large files first, so that none of them is left to one process at the end.
    ordered = [job for _, job in sorted(waiting, key=lambda item: -item[0])]
    if not ordered:
        return
    from stridelint.linter import workers

    processes, work = processes or _cores(), functools.partial(examine, way)
    is_serial = processes < 2 or len(ordered) < SERIAL_BELOW
    with contextlib.closing(
        workers.in_turn(ordered, work) if is_serial else workers.each(ordered, work, processes)
    ) as results:
        for job, result in results:
            yield job, _after_death(job, way) if isinstance(result, workers.Died) else result


def _after_death(job: Job, way: Way) -> Examined:
    """What comes of a file whose process died: local rules may have killed it, so once more without them."""
    from stridelint.linter import workers

    path = job[0].path
    if job[1].local_rules:
        work = functools.partial(examine, way._replace(keeps=False, local=False))
        with contextlib.closing(workers.in_turn([job], work)) as results:
            for _, result in results:
                if isinstance(result, Examined):
                    reason = "the local rules are left out here: with them the process died, or one of them did not come back"
                    skipped = (*engine.skipped(path, reason).skipped, *result.outcome.skipped)
                    return result._replace(outcome=result.outcome._replace(skipped=skipped))
    return Examined(engine.skipped(path, "the process that analysed it died: out of memory, or a crash in native code"))


@statistics.timed("cache")
def _known(job: Job, cache: Cache | None) -> Outcome | None:
    item, settings = job
    return cache.lookup(item, settings) if cache is not None and isinstance(item, Target) else None


def _distinct(findings: Iterable[Reported]) -> Iterator[Reported]:
    """Each finding once: a function may be read for several files that call it. The surest one stays, and one with a fix.

    In whatever order they come: that depends on what is in the cache, and which process is faster.
    """
    best: dict[tuple[object, ...], Reported] = {}
    for finding in sorted(findings):
        key = (finding.path, finding.line, finding.column, finding.end_line, finding.end_column, finding.code)
        known = best.get(key)
        if known is None or _worth(known) < _worth(finding):
            best[key] = finding
    return iter(best.values())


def _worth(finding: Reported) -> tuple[int, bool]:
    return ("possible", "likely", "certain").index(finding.confidence), bool(finding.patch.edits)


def examine(way: Way, job: Job) -> Examined:
    """What comes of one file, whatever happens, and what is to be known to keep it."""
    seconds: dict[str, float] | None = {} if way.timed else None
    with statistics.measured(seconds) if seconds is not None else contextlib.nullcontext():
        asked, project = None, way.project
        if way.keeps and project is not None:
            project = project.asking()
            asked = project.asked
        digests: list[str] = []
        outcome = check_file(job, project, digests if way.keeps else None, way.local)
    keeps = digests and not any(errors.may_pass(skipped.reason) for skipped in outcome.skipped)
    return Examined(outcome, digests[0] if keeps else "", asked, seconds)


def check_file(
    job: Job, project: Project | None = None, digests: list[str] | None = None, local: bool = True
) -> Outcome:
    """All that comes of one file, whatever happens. `digests` is given that of its contents. local: with local rules."""
    try:
        file = read(job)
        if digests is not None:
            digests.append(source.digest(file.data))
        selection = _selection(job[1])
        return engine.check(file, selection if local else selection.without_local(), project=project)
    except source.Unreadable as error:  # it was readable a moment ago
        return engine.skipped(job[0].path, str(error))
    except Exception as error:
        return engine.skipped(job[0].path, errors.internal_error(error))


@statistics.timed("read")
def read(job: Job) -> source.Source:
    """The bytes to check: those of a file, or the given ones."""
    item = job[0]
    return source.read(item.path, item.explicit) if isinstance(item, Target) else item


def _needs_a_closer_look(file: source.Source, settings: Settings, project: Project | None) -> bool:
    """The first screen; the rules are not even imported for a file that does not mention torch."""
    if file.is_notebook:  # what its code holds is seen only when the JSON is read
        return file.explicit or screen.may_use_torch(file.data)
    if screen.may_use_torch(file.data) and (settings.assume or screen.mentions(file.data, _selection(settings).rules)):
        return True
    if (
        project is not None
        and screen.may_use_torch(file.data)
        and engine.may_get_converted(file.path, file.data, project)
    ):
        return True  # asked again there, where it is noted what was asked
    if file.explicit:
        screen.parse(file.text)  # who names a broken file wants to hear that it is broken
    return False


def _has_comments(file: source.Source, settings: Settings) -> bool:
    """Whether a file has comments to judge when the run is over."""
    return screen.has_comments(file.data) and _selection(settings).shows_unused


def _unused(jobs: Iterable[Job], outcomes: Sequence[Outcome], project: Project | None) -> Iterator[Outcome]:
    """What is to be said of comments that hide nothing. jobs: the files with comments to judge."""
    used = frozenset(place for outcome in outcomes for place in outcome.used)
    skipped = {each.path for outcome in outcomes for each in outcome.skipped}
    for job in jobs:
        try:
            file = read(job)
            if file.path not in skipped:
                alone = project is None or os.path.normpath(file.path) not in project.files
                yield _unused_in(file, used, _selection(job[1]), alone)
        except Exception as error:  # it was readable a moment ago
            yield engine.skipped(job[0].path, errors.internal_error(error))


def _unused_in(
    file: source.Source, used: frozenset[tuple[str, int, int]], selection: Selection, alone: bool
) -> Outcome:
    from stridelint.linter.suppress_unused import unused

    if not file.is_notebook:
        return unused(file.path, file.text, used, selection, alone)
    from stridelint.linter.notebook import program as notebook

    program = notebook.read(file.data)
    return program.as_written(file.path, unused(file.path, program.text, used, selection, alone))


@statistics.timed("import")
def _selection(settings: Settings) -> Selection:
    from stridelint.linter.selection import select

    return select(settings)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
