"""A limit of time for rules of a project's own: one that does not come back is stopped, told, and left out of that file.

Python code is stopped by an exception that another thread raises in it, on all platforms. Native code cannot be interrupted:
where it runs in a process of its own (see `workers`), that process ends, and the file is checked again without local rules.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import functools
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from stridelint.linter import workers

if TYPE_CHECKING:
    from stridelint.rules.rule import Rule

T = TypeVar("T")

SECONDS = 10.0  # for a rule in one file, all its calls together
GRACE = 5.0  # after which a process ends in which a rule could not be stopped
MOST = 10_000  # findings of one call
_LOOK = 0.2
_raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
_raise_in.argtypes = (ctypes.c_ulong, ctypes.py_object)


class Stop(BaseException):
    """Raised in a rule from outside; not an Exception, so that the rule does not take it for one of its own."""


class Limits:
    """How long each rule has run, and the thread that stops one which runs too long; of one file."""

    def __init__(self) -> None:
        self._spent: dict[object, float] = {}
        self._overdue: dict[object, TimeoutError] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._watcher: threading.Thread | None = None
        self._running: tuple[int, float] | None = None  # in which thread, and until when

    def run(self, owner: object, work: Callable[[], T]) -> T:
        """The result of `work`, which counts for `owner`. Raises TimeoutError if it, or all of it so far, takes too long."""
        if self._running is not None:  # a rule calls another one's check
            return work()
        started = time.monotonic()
        if owner in self._overdue:
            raise self._overdue[owner]
        try:
            try:
                self._begin(SECONDS - self._spent.get(owner, 0.0))
                return work()
            finally:
                self._end()
        except Stop as stop:
            self._end_surely()
            reason = f"it takes more than {SECONDS:g} seconds"
            self._overdue[owner] = TimeoutError(reason).with_traceback(stop.__traceback__)
            raise self._overdue[owner] from None
        finally:
            self._spent[owner] = self._spent.get(owner, 0.0) + time.monotonic() - started

    def close(self) -> None:
        """End the thread, so that none is left when a process is forked."""
        self._closed.set()
        if self._watcher is not None:
            self._watcher.join()

    def _begin(self, left: float) -> None:
        if workers.is_one():
            faulthandler.dump_traceback_later(left + GRACE, exit=True, file=_nowhere())
        if self._watcher is None:
            self._watcher = threading.Thread(target=self._watch, daemon=True)
            self._watcher.start()
        with self._lock:
            self._running = threading.get_ident(), time.monotonic() + left

    def _end(self) -> None:
        with self._lock:
            if self._running is not None:
                _raise_in(self._running[0], ctypes.py_object())  # what was raised and has not arrived is taken back
                self._running = None
        if workers.is_one():
            faulthandler.cancel_dump_traceback_later()

    def _end_surely(self) -> None:
        while True:
            try:
                self._end()
                return
            except Stop:
                continue

    def _watch(self) -> None:
        while not self._closed.wait(_LOOK):
            with self._lock:
                if self._running is not None and time.monotonic() > self._running[1]:
                    _raise_in(self._running[0], Stop)


@functools.cache
def _nowhere() -> int:
    return os.open(os.devnull, os.O_WRONLY)


_current: list[Limits] = []


@contextlib.contextmanager
def one_file() -> Iterator[None]:
    """Time that local rules take meanwhile counts for one file."""
    limits = Limits()
    _current.append(limits)
    try:
        yield
    finally:
        _current.remove(limits)
        limits.close()


def alone(work: Callable[[], T]) -> T:
    """The result of some work that has a limit of its own. Raises TimeoutError."""
    limits = Limits()
    try:
        return limits.run(None, work)
    finally:
        limits.close()


def limit(rule: type[Rule]) -> None:
    """Give a local rule its limit: its methods raise TimeoutError when all of them together take too long in a file."""
    from stridelint.rules.rule import Rule

    for name in ("check", "check_test", "check_module"):
        method = getattr(rule, name)
        if method is not getattr(Rule, name):
            setattr(rule, name, _limited(rule, method, lambda found: list(_bounded(found))))
    if rule.fix is not Rule.fix:
        rule.fix = _limited(rule, rule.fix, lambda fix: fix)  # type: ignore[method-assign]
    places = rule.places
    if places.__func__ is not Rule.places.__func__:  # type: ignore[attr-defined]
        own = places.__func__  # type: ignore[attr-defined]
        rule.places = classmethod(_limited(rule, own, lambda units: units))  # type: ignore[assignment,method-assign]


def _limited(rule: type[Rule], method: Callable[..., Any], finish: Callable[[Any], Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def limited(*arguments: Any) -> Any:
        def work() -> Any:
            try:
                return finish(method(*arguments))
            except (Exception, KeyboardInterrupt, Stop):
                raise
            except BaseException as error:  # such as SystemExit
                reason = f"it ends the program: {type(error).__name__}"
                raise RuntimeError(reason).with_traceback(error.__traceback__) from None

        return _current[-1].run(rule, work) if _current else work()

    return limited


def _bounded(found: Iterable[T]) -> Iterator[T]:
    for number, each in enumerate(found):
        if number == MOST:
            raise RuntimeError(f"it yields more than {MOST:,} findings for one place")
        yield each
