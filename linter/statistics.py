"""Where the time of a run goes: by phase and by rule. Costs nothing unless it is asked for.

A phase's seconds are without those of phases within it. Those of several processes are added up.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

Argument = TypeVar("Argument")
Result = TypeVar("Result")
Function = TypeVar("Function", bound=Callable[..., Any])

# In the order in which a file goes through them, with what they are.
PHASES: Mapping[str, str] = {
    "find": "find files and settings",
    "import": "load rules and LibCST",
    "cache": "look up and write the cache",
    "read": "read files",
    "screen": "search for what rules look for",
    "parse": "parse with Python",
    "plan": "plan what to interpret",
    "nodes": "make nodes to interpret",
    "interpret": "interpret",
    "rules": "judge by rules",
    "libcst": "parse with LibCST",
    "resolve": "find positions and fixes",
    "noqa": "find noqa comments",
}


class Statistics(NamedTuple):
    """Of a run. seconds: that it took; phases, rules: seconds by name and by code. cached: files whose outcome was known."""

    seconds: float
    phases: Mapping[str, float]
    rules: Mapping[str, float]
    cached: int


class _Clock:
    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._open: list[str] = []
        self._since = 0.0

    def enter(self, name: str) -> None:
        self._charge()
        self._open.append(name)

    def leave(self) -> None:
        self._charge()
        self._open.pop()

    def _charge(self) -> None:
        now = time.perf_counter()
        if self._open:
            self.seconds[self._open[-1]] = self.seconds.get(self._open[-1], 0.0) + now - self._since
        self._since = now


_clock: _Clock | None = None


@contextlib.contextmanager
def measured(into: dict[str, float]) -> Iterator[None]:
    """Measure what runs meanwhile, and add it up by phase; rules by their codes."""
    global _clock
    before, _clock = _clock, _Clock()
    try:
        yield
    finally:
        add(into, _clock.seconds)
        _clock = before


def add(into: dict[str, float], seconds: Mapping[str, float]) -> None:
    """Add up seconds by name."""
    for name, value in seconds.items():
        into[name] = into.get(name, 0.0) + value


def timed(name: str) -> Callable[[Function], Function]:
    """A decorator: all time in the function belongs to a phase."""

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def measuring(*arguments: Any, **options: Any) -> Any:
            if _clock is None:
                return function(*arguments, **options)
            with phase(name):
                return function(*arguments, **options)

        return measuring  # type: ignore[return-value]

    return decorate


@contextlib.contextmanager
def phase(name: str) -> Iterator[None]:
    """The time of a block belongs to a phase."""
    clock = _clock
    if clock is None:
        yield
        return
    clock.enter(name)
    try:
        yield
    finally:
        clock.leave()


def judged(code: str, check: Callable[[Argument], Iterable[Result]], about: Argument) -> Iterable[Result]:
    """What a rule finds; the time until all is found belongs to the rule."""
    if _clock is None:
        return check(about)
    with phase(code):
        return list(check(about))


def statistics(started: float, seconds: Mapping[str, float], cached: int) -> Statistics:
    """What was measured, in the order of the phases, and of the rules by time. started: by `time.perf_counter`."""
    rules = {name: value for name, value in seconds.items() if name not in PHASES}
    phases = {name: seconds.get(name, 0.0) for name in PHASES if name != "rules"}
    phases["rules"] = sum(rules.values())
    return Statistics(
        time.perf_counter() - started,
        {name: phases[name] for name in PHASES if phases[name] > 0},
        dict(sorted(rules.items(), key=lambda item: -item[1])),
        cached,
    )
