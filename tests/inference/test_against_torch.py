"""What the interpreter predicts for scripts is what torch does when they run."""

from __future__ import annotations

import collections
import contextlib
import importlib.util
import io
import runpy
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import libcst
import pytest
from libcst.metadata import MetadataWrapper, PositionProvider

from stridelint.linter.inference import roots
from stridelint.linter.inference.path import Broke, Continued, Finished, Path as Execution, Raised, Returned
from stridelint.linter.inference.program import Program
from stridelint.linter.inference.statements import execute
from stridelint.rules.events import Form, TensorEvent
from stridelint.rules.rule import Finding, Rule

pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
FIXTURES = Path(__file__).parent.parent.parent / "fixtures"
FILES = sorted(path for folder in ("bad", "clean", "programs") for path in (FIXTURES / folder).glob("*.py"))


class Result(NamedTuple):
    """A tensor that a call returned."""

    op: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    requires_grad: bool


def events_of(code: str, *, steps: int = 100_000) -> list[tuple[int, int, TensorEvent]]:
    """Events of a module run as a script on its first path: (first line, last line, event)."""
    seen: list[TensorEvent] = []

    class Recorder(Rule):
        code, name, words = "TLC999", "recorder", ()

        def check(self, event: TensorEvent) -> Iterator[Finding]:
            seen.append(event)
            return iter(())

    module = libcst.parse_module(code)
    program = Program(module, [Recorder], steps)
    path = Execution(program)
    scope = roots.module_scope(program, True)
    path.module_scope = scope
    with contextlib.suppress(Raised, Returned, Finished, Broke, Continued):
        execute(path, scope, module.body)
    positions = MetadataWrapper(module, unsafe_skip_copy=True).resolve(PositionProvider)
    found = []
    for event in seen:
        where: Any = positions[event.site.node]  # type: ignore[index]
        found.append((where.start.line, where.end.line, event))
    return found


def observed(path: Path) -> dict[int, list[Result]]:
    """What torch's functions return when a script runs, by the script's line."""
    import torch
    from torch.overrides import TorchFunctionMode

    seen: dict[int, list[Result]] = collections.defaultdict(list)
    name = str(path)

    class Observer(TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            out = func(*args, **(kwargs or {}))
            frame = sys._getframe(1)
            while frame is not None and frame.f_code.co_filename != name:
                frame = frame.f_back  # type: ignore[assignment]
            first = out[0] if isinstance(out, tuple) and out else out
            if frame is not None and isinstance(first, torch.Tensor):
                with torch._C.DisableTorchFunction():
                    dtype = str(first.dtype).removeprefix("torch.")
                    result = Result(
                        func.__name__, tuple(first.shape), tuple(first.stride()), dtype, first.requires_grad
                    )
                seen[frame.f_lineno].append(result)
            return out

    with (
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.suppress(Exception, SystemExit),
    ):
        warnings.simplefilter("ignore")
        with Observer():
            runpy.run_path(name, run_name="__main__")
    return seen


def agrees(event: TensorEvent, result: Result) -> bool:
    """Every fact that was predicted is so."""
    facts = event.result
    return (
        facts.concrete_shape in (None, result.shape)
        and facts.concrete_strides in (None, result.strides)
        and facts.dtype in (None, result.dtype)
        and facts.requires_grad in (None, result.requires_grad)
    )


def is_named(event: TensorEvent, result: Result) -> bool:
    """The two are of one operator, by name."""
    mine = event.op.rpartition(".")[2]
    theirs = result.op.strip("_").replace("true_divide", "div").replace("truediv", "div")
    return mine in theirs or theirs == "r" + mine


def compared(path: Path) -> tuple[int, list[str]]:
    """How many predictions of a script's run were tried, and those that torch contradicts."""
    real = observed(path)
    tried, wrong = 0, []
    for first, last, event in events_of(path.read_text(encoding="utf-8")):
        if event.form is Form.INPLACE or event.out is not None:
            continue
        results = [each for line in range(first, last + 1) for each in real.get(line, ()) if is_named(event, each)]
        if not results:
            continue
        tried += 1
        if not any(agrees(event, each) for each in results):
            facts = event.result
            wrong.append(
                f"{path.name}:{first}: {event.text}: {facts.shape} {facts.strides} {facts.dtype}, torch: {results[:2]}"
            )
    return tried, wrong


@pytest.mark.parametrize("path", FILES, ids=[f"{path.parent.name}-{path.stem}" for path in FILES])
def test_predictions_hold(path: Path) -> None:
    _, wrong = compared(path)
    assert not wrong


def test_the_programs_try_many_predictions() -> None:
    assert sum(compared(path)[0] for path in (FIXTURES / "programs").glob("*.py")) > 100
