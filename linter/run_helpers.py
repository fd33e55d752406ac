"""What goes along with a run and changes nothing about its findings: the cache, the progress bar, the time it takes."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from stridelint.linter import statistics
from stridelint.linter.config import Settings
from stridelint.linter.errors import TRACEBACK
from stridelint.linter.progress import Progress, suits
from stridelint.linter.run import Helpers, Job
from stridelint.linter.telling import tell

if TYPE_CHECKING:
    import argparse

    from stridelint.linter.cache import Cache
    from stridelint.linter.project import Project
    from stridelint.linter.statistics import Statistics


def add_options(parser: argparse._ActionsContainer) -> None:
    """Declare the options about the cache, and about what a run tells besides its report."""
    parser.add_argument("--no-cache", action="store_true", help="check all files anew, and remember nothing")
    parser.add_argument(
        "--cache-dir",
        metavar="DIR",
        help="where to remember what came of files (default: .stridelint_cache, see docs/cache.md)",
    )
    parser.add_argument("--watch", action="store_true", help="check again whenever a file changes, until Ctrl-C")
    told = parser.add_mutually_exclusive_group()
    told.add_argument("-q", "--quiet", action="store_true", help="only findings: no progress bar, no summary")
    told.add_argument("-v", "--verbose", action="store_true", help="tell on standard error what the cache was good for")


def cache_of(options: argparse.Namespace, jobs: Iterable[Job], project: Project | None) -> Cache | None:
    """The cache for files of a run; None if there is to be none."""
    from stridelint.linter.discover import Target

    if options.no_cache or os.environ.get(TRACEBACK) or not any(isinstance(item, Target) for item, _ in jobs):
        return None
    from stridelint.linter.cache import Cache

    return Cache(project, options.cache_dir)


def is_known(cache: Cache | None, settings: Settings) -> bool:
    """Whether a run with these settings has come to an end before."""
    return cache is not None and cache.knows(settings)


class Watch:
    """Times a run if it is asked to. known: of how many files the outcome was."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.seconds: dict[str, float] | None = {} if options.statistics else None
        self.known = 0
        self._started = time.perf_counter()

    def measuring(self) -> contextlib.AbstractContextManager[None]:
        """Measures what runs meanwhile."""
        return contextlib.nullcontext() if self.seconds is None else statistics.measured(self.seconds)

    def statistics(self) -> Statistics | None:
        """What was measured."""
        return None if self.seconds is None else statistics.statistics(self._started, self.seconds, self.known)


@contextlib.contextmanager
def helping(options: argparse.Namespace, cache: Cache | None, watch: Watch) -> Iterator[Helpers]:
    """What helps a run. In the end, also if that is Ctrl-C, what was found out so far is kept."""
    progress = Progress(sys.stderr if not options.quiet and suits(sys.stderr) else None)
    try:
        yield Helpers(cache, watch.seconds, progress.tell)
    finally:
        progress.close()
        if cache is not None:
            with statistics.phase("cache"):
                cache.save()
            watch.known = cache.hits
            if options.verbose:
                _tell(cache)


def _tell(cache: Cache) -> None:
    folders = ", ".join(sorted(cache.folders))
    files = f"{cache.hits} file{'s' * (cache.hits != 1)}"
    tell(f"the outcome of {files} was known from {folders}")
    if cache.problem:
        tell(f"the cache is not kept: {cache.problem}")
