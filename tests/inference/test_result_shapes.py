"""Shapes and dtypes of results: a result goes into an `out` of exactly its own shape and dtype without a finding."""

from __future__ import annotations

import functools
import itertools
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stridelint.linter import engine, source
from stridelint.linter.selection import Selection
from stridelint.rules.contract import operators
from stridelint.rules.contract.answers import Confidence
from stridelint.rules.registry import all_rules

torch = pytest.importorskip("torch")

CALLS = (Path(__file__).parent.parent.parent / "fixtures" / "result_calls.txt").read_text().splitlines()
RULES = tuple(rule for rule in all_rules() if rule.code.startswith("TLC3"))
IMPORTS = ["import torch", "import torch.nn.functional as F"]
SAMPLES = 2


def findings(lines: list[str]) -> list[str]:
    """What is reported of the lines, which must all be legal; a hundred at a time, which is faster than all at once."""
    return [each for start in range(0, len(lines), 100) for each in reported(lines[start : start + 100])]


def reported(lines: list[str]) -> list[str]:
    code = "\n".join([*IMPORTS, *lines]) + "\n"
    selection = Selection(RULES, frozenset(rule.code for rule in RULES), Confidence.POSSIBLE)
    outcome = engine.check(source.from_bytes("example.py", code.encode(), explicit=True), selection)
    assert not outcome.skipped
    return [f"{code.splitlines()[each.line - 1]}  # {each.code} {each.message}" for each in outcome.findings]


def empty(tensor: Any) -> str:
    return f"torch.empty({tuple(tensor.shape)}, dtype={tensor.dtype})"


def results_of(value: Any) -> list[Any] | None:
    """The tensors of a result; None where it is something else."""
    found = [value] if isinstance(value, torch.Tensor) else list(value) if isinstance(value, (tuple, list)) else []
    dense = found and all(isinstance(each, torch.Tensor) and each.layout is torch.strided for each in found)
    return found if dense else None


def stored(call: str, value: Any) -> Iterator[str]:
    """Each result of a call goes through an operator into an `out` of its own."""
    results = results_of(value) or ()
    for index, each in enumerate(results):
        part = call if value is each else f"{call}[{index}]"
        yield f"torch.mul({part}, {each.dtype == torch.bool or 1}, out={empty(each)})"


def filled(call: str, value: Any) -> str | None:
    """The call with an `out` like its result; None where torch takes none, or complains."""
    results = results_of(value)
    if results is None or not call.endswith(")"):
        return None
    outs = ", ".join(map(empty, results))
    line = f"{call[:-1]}{', ' * (call[-2] != '(')}out={outs if value is results[0] else f'({outs},)'})"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            evaluated(line)
        except (RuntimeError, TypeError, NotImplementedError, IndexError):
            return None
    return None if any("was resized" in str(each.message) for each in caught) else line


def evaluated(call: str) -> Any:
    torch.manual_seed(0)
    return eval(call, {"torch": torch, "F": torch.nn.functional})


@pytest.mark.filterwarnings("ignore")
def test_results_of_many_calls() -> None:
    lines: list[str] = []
    for call in CALLS:
        value = evaluated(call)
        line = filled(call, value)
        lines += [*stored(call, value), *([line] if line else [])]
    assert len(lines) > 600
    assert findings(lines) == []


def written(value: Any) -> str | None:
    """An argument in Python; a tensor with any numbers. None where that cannot be."""
    if isinstance(value, torch.Tensor):
        return empty(value) if value.layout is torch.strided else None
    if isinstance(value, (tuple, list)):
        parts = [written(each) for each in value]
        if None in parts:
            return None
        inner = ", ".join(part for part in parts if part is not None)
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' * (len(parts) == 1)})"
    plain = value is None or type(value) in (bool, int, str) or (type(value) is float and value - value == 0)
    return repr(value) if plain else str(value) if isinstance(value, torch.dtype) else None


def samples() -> Iterator[tuple[str, Any]]:
    """Calls of the table's functions with torch's own sample inputs, and their results."""
    from torch.testing._internal.common_methods_invocations import op_db

    for info in op_db:
        operator = operators.lookup(info.name)
        if operator is None or not operator.is_function or torch.float32 not in info.dtypes:
            continue
        function = functools.reduce(getattr, operator.name.split("."), torch)
        torch.manual_seed(0)
        try:
            found = list(itertools.islice(info.sample_inputs("cpu", torch.float32), SAMPLES))
        except Exception:  # Some need what is not installed.
            continue
        for sample in found:
            arguments = [written(each) for each in (sample.input, *sample.args)]
            named = {name: written(value) for name, value in sample.kwargs.items()}
            if None in arguments or None in named.values():
                continue
            written_out = [*map(str, arguments), *(f"{name}={value}" for name, value in named.items())]
            try:
                value = function(sample.input, *sample.args, **sample.kwargs)
            except (RuntimeError, TypeError, ValueError, NotImplementedError):
                continue
            yield f"torch.{operator.name}({', '.join(written_out)})", value


@pytest.mark.filterwarnings("ignore")
def test_results_of_the_samples_of_all_operators() -> None:
    lines: list[str] = []
    for call, value in samples():
        lines += stored(call, value)
    assert len(lines) > 800
    assert findings(lines) == []


@pytest.mark.parametrize(
    ("call", "wrong"),
    [
        ("torch.linalg.lu_factor(torch.rand(3, 3))[0]", (3,)),
        ("torch.linalg.matrix_norm(torch.rand(2, 3, 4))", ()),
        ("torch.linalg.pinv(torch.rand(3, 4))", (3, 4)),
        ("torch.range(0, 4)", (4,)),
        ("torch.rand(3, 4).take_along_dim(torch.zeros(2, 2, dtype=torch.long))", (2, 2)),
        ("torch.take_along_dim(torch.rand(3, 4), torch.zeros(1, 1, dtype=torch.long), 0)", (1, 1)),
        ("torch.cov(torch.rand(1, 5))", (1, 1)),
        ("torch.max(torch.rand(3, 4), 0)[1]", (4, 3)),
    ],
)
def test_another_shape_is_reported(call: str, wrong: tuple[int, ...]) -> None:
    value = evaluated(call)
    (line,) = stored(call, value)
    assert findings([line]) == []
    assert len(findings([line.replace(f"empty({tuple(value.shape)}", f"empty({wrong}")])) == 1


def test_the_number_of_results_is_not_that_of_a_sample() -> None:
    calls = [f"torch.unbind_copy(torch.rand({count}, 3))" for count in (1, 2, 5)]
    calls += ["torch.split_copy(torch.rand(9, 3), 2)", "torch.split_with_sizes_copy(torch.rand(4, 3), [1, 3])"]
    assert findings([str(filled(call, evaluated(call))) for call in calls]) == []
    assert findings([line for call in calls for line in stored(call, evaluated(call))]) == []


def test_sums_into_integers() -> None:
    calls = {
        name: f"torch.{name}(torch.rand(3), 0, out=torch.empty((), dtype=torch.long))" for name in ("sum", "nansum")
    }
    assert evaluated(calls["sum"]).dtype == torch.int64
    with pytest.raises(NotImplementedError):
        evaluated(calls["nansum"])
    (cast,), (refused,) = (findings([call]) for call in calls.values())
    assert "TLC301 sum() casts its input to int64" in cast
    assert "TLC301 nansum() raises because its result is float32" in refused
