"""The traced program's process: runs a script or a module as `python` would, under the trace.

    python runtime_probe/trace_child.py '{"report": ..., "rules": [...], "watch": [...]}' train.py ARGS

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
    isolated = not sys.path or os.path.abspath(sys.path[0]) + os.sep != _HERE  # python -P, python -I
    if not isolated:
        del sys.path[0]
    recorder = _start(asked)
    _hide_frames(recorder)
    is_module = arguments[0] == "-m"
    if not isolated:
        sys.path.insert(0, os.getcwd() if is_module else _folder(arguments[0]))
    (_module if is_module else _script)(arguments[1:] if is_module else arguments)


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


def _folder(path: str) -> str:
    """What `python PATH` puts first into sys.path."""
    return path if os.path.isdir(path) else os.path.dirname(os.path.realpath(path))


def _script(arguments: list[str]) -> None:
    path = arguments[0]
    sys.argv = arguments
    if os.path.isdir(path):
        path = os.path.join(path, "__main__.py")
    with open(path, "rb") as file:
        source = file.read()
    path = os.path.abspath(path)
    _execute(compile(source, path, "exec", dont_inherit=True), path, None)


def _module(arguments: list[str]) -> None:
    name = arguments[0]
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
    from stridelint.runtime_probe import trace_frames

    original: Callable[..., object] = sys.excepthook

    def excepthook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        recorder.escaped(error)
        trace_frames.strip(error)
        (original if sys.excepthook is excepthook else sys.__excepthook__)(kind, error, error.__traceback__)

    sys.excepthook = excepthook


if __name__ == "__main__":
    main()
