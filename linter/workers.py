"""Checks files in several processes. One that dies costs the file that killed it, and nothing else."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

# How many objects may come up in a process before garbage is looked for: about 200 MB.
_MANY_OBJECTS = 1_000_000
Item = TypeVar("Item")
Result = TypeVar("Result")


class Died(Exception):
    """The process that worked on an item is gone."""


def each(
    items: Sequence[Item], work: Callable[[Item], Result], processes: int
) -> Generator[tuple[Item, Result | Died], None, None]:
    """What comes of each item, in any order. `work` reaches the processes once, so it may carry what is large."""
    from collections import deque
    from concurrent.futures import FIRST_COMPLETED, wait
    from concurrent.futures.process import BrokenProcessPool

    todo = deque(items)
    while todo:
        running: dict[Future[Result], Item] = {}
        with _pool(processes, work) as pool:
            try:
                while todo or running:
                    # Few at a time: those that run when a process dies must be tried again, one by one.
                    while todo and len(running) < 2 * processes:
                        running[_submit(pool, todo[0])] = todo[0]
                        todo.popleft()
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        result = future.result()
                        yield running.pop(future), result
            except BrokenProcessPool:
                pass  # `running` holds the file that killed a process, and some bystanders
            except BaseException:  # Ctrl-C, or nobody wants the rest
                _stop(pool)
                raise
        for item in running.values():
            yield item, _alone(item, work)


def in_turn(items: Sequence[Item], work: Callable[[Item], Result]) -> Generator[tuple[Item, Result | Died], None, None]:
    """What comes of each item, one after the other, in one other process: quicker to start than several, and it may die as well."""
    if not hasattr(os, "fork"):
        yield from ((item, work(item)) for item in items)
        return
    import pickle
    import signal

    left, parent = list(reversed(items)), os.getpid()
    while left:
        reading, writing = os.pipe()
        with _later():
            child = os.fork()
            if not child:
                _serve(left, work, parent, reading, writing)
        os.close(writing)
        try:
            with os.fdopen(reading, "rb") as results:
                while left:
                    result = pickle.load(results)
                    yield left.pop(), result
        except (EOFError, pickle.UnpicklingError):
            yield left.pop(), Died()
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def _serve(left: Sequence[Item], work: Callable[[Item], Result], parent: int, reading: int, writing: int) -> NoReturn:
    """The other process: it sends what comes of the items, the last one first, and ends."""
    import pickle
    import traceback

    status = 1
    try:
        os.close(reading)
        _start(parent, work)
        with os.fdopen(writing, "wb") as results:
            for item in reversed(left):
                results.write(pickle.dumps(work(item)))
                results.flush()
        status = 0
    except BrokenPipeError:
        pass  # nobody wants the rest
    except BaseException:
        traceback.print_exc()
    finally:
        # Nothing of the parent's is flushed or cleaned up here.
        os._exit(status)


def _alone(item: Item, work: Callable[[Item], Result]) -> Result | Died:
    """Work on an item in a process of its own, which may die."""
    from concurrent.futures.process import BrokenProcessPool

    with _pool(1, work) as pool:
        try:
            result: Result = _submit(pool, item).result()
            return result
        except BrokenProcessPool:
            return Died()
        except BaseException:
            _stop(pool)
            raise


class _Worker:
    """What a process is told once, when it starts. is_one: it may die, and another goes on."""

    work: Callable[[Any], Any]
    is_one = False


_worker = _Worker()


def is_one() -> bool:
    """Whether this process is one that may die at the cost of the item it works on."""
    return _worker.is_one


def _work(item: Any) -> Any:
    return _worker.work(item)


def _pool(processes: int, work: Callable[[Any], Any]) -> ProcessPoolExecutor:
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    context = None
    if sys.platform == "linux":
        # Forked children share what is imported here once, and LibCST takes a while to import.
        context = multiprocessing.get_context("fork")
    return ProcessPoolExecutor(processes, mp_context=context, initializer=_start, initargs=(os.getpid(), work))


def _submit(pool: ProcessPoolExecutor, item: Any) -> Future[Any]:
    with _later():
        return pool.submit(_work, item)


@contextlib.contextmanager
def _later() -> Iterator[None]:
    """Ctrl-C and the wish to end wait: a process that starts meanwhile has not yet been told what to make of them."""
    import signal

    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start(parent: int, work: Callable[[Any], Any]) -> None:
    """Ctrl-C reaches all processes of a terminal, and the parent alone answers it; but none outlives the parent."""
    import gc
    import signal
    import threading
    import time

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
    _worker.work, _worker.is_one = work, True
    gc.freeze()  # what is imported stays
    gc.set_threshold(
        _MANY_OBJECTS
    )  # files leave hardly any cycles behind, and looking for them takes a tenth of the time

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
