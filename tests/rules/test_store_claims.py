"""What TLC310, TLC313 and TLC402-404 claim is true on real torch: each reported line runs, and is watched.

Stores are repeated on copies: what is read back is compared with what was stored.
"""

from __future__ import annotations

import ast
import re
import sys
import warnings
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from stridelint.linter import engine, source
from stridelint.linter.selection import Selection
from stridelint.rules.contract.answers import Confidence
from stridelint.rules.registry import all_rules

torch = pytest.importorskip("torch")
overrides = pytest.importorskip("torch.overrides")

FIXTURES = Path(__file__).parent.parent.parent / "fixtures"
CODES = ("TLC313", "TLC402", "TLC403", "TLC404")
RULES = tuple(rule for rule in all_rules() if rule.code in CODES)
BAD = [path for path in sorted((FIXTURES / "bad").glob("*.py")) if any(code in path.read_text() for code in CODES)]
INVALID = [
    *(pytest.param(each.code, id=f"{rule.code}-{index}") for rule in RULES for index, each in enumerate(rule.INVALID)),
    *(pytest.param(path.read_text(), id=path.stem) for path in BAD),
]
VALID = [pytest.param(code, id=f"{rule.code}-{index}") for rule in RULES for index, code in enumerate(rule.VALID)]
CLEAN = ("expanded_tensors", "whole_numbers", "resized_buffers")
NAME = "<claims>"


class Watch(overrides.TorchFunctionMode):  # type: ignore[misc, name-defined]
    """Notes for each line what it raises and warns of, whether a store kept its value, and whether data moved."""

    def __init__(self) -> None:
        super().__init__()
        self.raised: dict[int, str] = {}
        self.warned: dict[int, str] = {}
        self.kept: dict[int, bool] = {}
        self.moved: dict[int, bool] = {}

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        frame = program_frame()
        name = getattr(function, "__name__", "")
        if frame is None:
            return function(*args, **kwargs)
        before = args[0].clone() if name == "resize_" or name == "resize_as_" else None
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = function(*args, **kwargs)
        if caught:
            self.warned[frame.f_lineno] = " ".join(str(each.message) for each in caught)
        stored = read_back(name, args, kwargs, result)
        if stored is not None:
            self.kept[frame.f_lineno] = bool(stored)
        if before is not None:
            self.moved[frame.f_lineno] = moved(before, args[0])
        return result


def program_frame() -> FrameType | None:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename != NAME:
        frame = frame.f_back
    return frame


def read_back(name: str, args: Any, kwargs: Any, result: Any) -> bool | None:
    """Whether what was stored is there; None for other calls."""
    if name == "__setitem__":
        return equal(args[0][args[1]], args[2])
    if name in ("copy_", "fill_", "full_like", "full"):
        value = kwargs["fill_value"] if "fill_value" in kwargs else args[1]
        return equal(args[0] if name.endswith("_") else result, value)
    if name in ("masked_fill", "masked_fill_"):
        return equal(result[args[1].expand(result.shape)], args[2])
    return None


def equal(left: Any, right: Any) -> bool:
    right = torch.as_tensor(right)
    if right.numel() == 0 or left.numel() == 0:
        return True
    wide = torch.complex128 if left.is_complex() or right.is_complex() else torch.float64
    return bool(torch.isclose(left.detach().to(wide), right.detach().to(wide), rtol=1e-2, equal_nan=True).all())


def moved(before: Any, after: Any) -> bool:
    if before.dim() != after.dim():
        return False
    common = tuple(slice(min(a, b)) for a, b in zip(before.shape, after.shape, strict=True))
    # Ones and zeros look alike wherever they are: number the places instead.
    numbered = torch.arange(before.numel()).as_strided(before.shape, before.stride())
    fresh = torch.full((max(before.numel(), after.numel()),), -1)
    fresh[: before.numel()] = torch.arange(before.numel())
    return not torch.equal(numbered[common], fresh.as_strided(after.shape, after.stride())[common])


class Catch(ast.NodeTransformer):
    """Puts each watched line into a `try` that notes what it raises."""

    def __init__(self, lines: set[int]) -> None:
        self.lines = lines

    def visit(self, node: ast.AST) -> Any:
        if not isinstance(node, ast.stmt) or hasattr(node, "body") or node.lineno not in self.lines:
            return self.generic_visit(node)
        caught = ast.parse(f"try: pass\nexcept Exception as error: note({node.lineno}, error)").body[0]
        assert isinstance(caught, ast.Try)
        caught.body = [node]
        return caught


def run(code: str, lines: set[int]) -> Watch:
    watch = Watch()
    tree = ast.fix_missing_locations(Catch(lines).visit(ast.parse(code)))

    def note(line: int, error: Exception) -> None:
        watch.raised[line] = f"{type(error).__name__}: {error}"

    torch.manual_seed(0)
    with watch:
        exec(compile(tree, NAME, "exec", dont_inherit=True), {"__name__": "__main__", "note": note})
    return watch


def findings(code: str) -> list[tuple[int, str, str]]:
    selection = Selection(RULES, frozenset(CODES), Confidence.POSSIBLE)
    outcome = engine.check(source.from_bytes("example.py", code.encode(), explicit=True), selection)
    return [(found.line, found.code, found.message) for found in outcome.findings]


@pytest.mark.parametrize("code", INVALID)
def test_what_is_reported_happens(code: str) -> None:
    found = findings(code)
    assert found
    watch = run(code, {line for line, _, _ in found})
    for line, rule, message in found:
        if " raises because " in message:
            said = re.search(r" \(([^()]+)\);", message)
            assert said is not None and said[1] in watch.raised[line], (message, watch.raised.get(line))
            continue
        assert line not in watch.raised, (message, watch.raised[line])
        if rule == "TLC402":
            assert ("deprecated" in watch.warned.get(line, "")) is ("deprecated" in message), message
        elif rule == "TLC403":
            assert watch.kept[line] is False, message
        elif rule == "TLC404":
            assert watch.moved[line], message
        else:
            assert watch.kept[line], message


@pytest.mark.parametrize(
    "code", [*VALID, *(pytest.param((FIXTURES / "clean" / f"{name}.py").read_text(), id=name) for name in CLEAN)]
)
@pytest.mark.filterwarnings("error")
def test_what_is_not_reported_is_right(code: str) -> None:
    watch = run(code, set())
    assert not watch.warned
    assert all(watch.kept.values()), watch.kept
    assert not any(watch.moved.values()) or "resize" in code


TRANSFORMED = next(rule for rule in all_rules() if rule.code == "TLC310")


@pytest.mark.parametrize("example", TRANSFORMED.INVALID)
def test_transforms_refuse(example: Any) -> None:
    raised = []
    names: dict[str, Any] = {"__name__": "__main__"}
    for statement in ast.parse(example.code).body:
        try:
            exec(compile(ast.Module([statement], []), NAME, "exec"), names)
        except Exception as error:
            raised.append(str(error))
    said = [re.search(r" \(([^()]+)\);", message) for _, _, message in example.expected]
    assert len(raised) == len(said)
    for text in said:
        assert text is not None and any(text[1] in each for each in raised), (text, raised)


def test_custom_outs_differ_from_torch() -> None:
    """TLC309: torch's own `out=` refuses what `copy_`, `out[...] =` and `.data` let pass, and returns out."""
    out, wide = torch.zeros(2, dtype=torch.int64), torch.zeros(4, 3)
    with pytest.raises(RuntimeError, match="can't be cast"):
        torch.mul(torch.rand(2), 0.5, out=out)
    out.copy_(torch.tensor([0.9, 0.7]))
    assert out.tolist() == [0, 0]
    with pytest.warns(UserWarning, match="resized"):
        torch.mul(torch.rand(3), 2, out=wide.clone())
    wide[...] = torch.ones(3)
    assert wide.sum() == 12
    table = torch.nn.Parameter(torch.rand(2))
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        torch.mul(torch.rand(2), 2, out=table)
    table.data.copy_(torch.zeros(2))
    assert torch.add(torch.ones(2), 1, out=(given := torch.empty(2))) is given
