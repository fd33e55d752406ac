"""The traced program's process: runs a script or a module as `python` would, under the trace.

    python -m stridelint.runtime_probe.trace_child '{"report": ..., "rules": [...], "watch": [...]}' train.py ARGS

What the trace finds goes to a file at once, one JSON document a line.
"""

from __future__ import annotations

import atexit
import importlib.util
import json
import os
import sys
import types
from collections.abc import Callable
from types import TracebackType
from typing import Any

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def main() -> None:
    """Run what the arguments say; returns, exits or raises as the program does."""
    asked = json.loads(sys.argv[1])
    arguments = sys.argv[2:]
    recorder = _start(asked)
    _hide_frames(recorder)
    run = _module if arguments[0] == "-m" else _script
    run(arguments[1:] if arguments[0] == "-m" else arguments)


def _start(asked: dict[str, Any]) -> Any:
    from stridelint.runtime_probe.trace_record import Recorder
    from stridelint.runtime_probe.trace_rules import judging
    from stridelint.runtime_probe.trace_start import Tracer

    stream = open(asked["report"], "a", encoding="utf-8")  # noqa: SIM115  # as long as the process lives
    recorder = Recorder(judging(asked["rules"]), stream)
    process = os.getpid()

    def finish() -> None:
        if os.getpid() == process:  # not in a forked worker
            recorder.finish()

    def forked() -> None:
        recorder.stream = None

    atexit.register(finish)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=forked)
    Tracer(recorder, asked["watch"]).start_with_torch()
    return recorder


def _script(arguments: list[str]) -> None:
    path = arguments[0]
    if os.path.isdir(path):
        sys.path[0] = path
        path = os.path.join(path, "__main__.py")
    else:
        sys.path[0] = os.path.dirname(os.path.realpath(path))
    sys.argv = arguments
    with open(path, "rb") as file:
        source = file.read()
    path = os.path.abspath(path)
    _execute(compile(source, path, "exec", dont_inherit=True), path, None)


def _module(arguments: list[str]) -> None:
    name = arguments[0]
    sys.path[0] = os.getcwd()
    sys.argv = ["-m", *arguments[1:]]
    spec = importlib.util.find_spec(name)
    if spec is not None and spec.submodule_search_locations is not None:
        spec = importlib.util.find_spec(f"{name}.__main__")
    if spec is None or spec.loader is None:
        sys.exit(f"{sys.executable}: No module named {name}")
    code = spec.loader.get_code(spec.name)  # type: ignore[attr-defined]
    if code is None:
        sys.exit(f"{sys.executable}: No code object available for {name}")
    sys.argv[0] = spec.origin or name
    _execute(code, spec.origin or name, spec)


def _execute(code: types.CodeType, path: str, spec: Any) -> None:
    """Run code as `__main__`."""
    main = types.ModuleType("__main__")
    main.__dict__.update(
        __file__=path, __builtins__=__builtins__, __spec__=spec, __loader__=None if spec is None else spec.loader,
        __cached__=None, __package__=None if spec is None else spec.parent,
    )  # fmt: skip
    sys.modules["__main__"] = main
    exec(code, main.__dict__)


def _hide_frames(recorder: Any) -> None:
    """Tracebacks of errors that nobody handles show the program's own frames only."""
    original: Callable[..., object] = sys.excepthook

    def excepthook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        recorder.escaped(error)
        seen: set[int] = set()
        errors: list[BaseException | None] = [error]
        for each in errors:
            if each is not None and id(each) not in seen:
                seen.add(id(each))
                each.__traceback__ = stripped(each.__traceback__)
                errors += [each.__cause__, each.__context__]
        (original if sys.excepthook is excepthook else sys.__excepthook__)(kind, error, error.__traceback__)

    sys.excepthook = excepthook


def stripped(trace: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames of the trace and those that stand in for the program's."""
    kept: list[TracebackType] = []
    own = False
    while trace is not None:
        code = trace.tb_frame.f_code
        stands_in = own and code.co_varnames == ("function", "args", "kwargs") and len(code.co_names) == 0
        own = code.co_filename.startswith(_HERE) or "runpy" in code.co_filename
        if not own and not stands_in:
            kept.append(trace)
        trace = trace.tb_next
    for each, after in zip(kept, [*kept[1:], None]):
        each.tb_next = after
    return kept[0] if kept else None


if __name__ == "__main__":
    main()
