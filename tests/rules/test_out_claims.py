"""What TLC3xx and TLC401 claim is true: torch raises, warns, resizes or computes other numbers where they say so.

Every example and sample program runs on real torch. Each reported line is watched: what it raises is caught and noted,
and calls with out= are compared with the same call without. Programs without findings run with warnings as errors, and
all their calls with out= give the same numbers as without.
"""

from __future__ import annotations

import ast
import contextlib
import re
import sys
import warnings
from collections.abc import Iterator
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
CODES = ("TLC301", "TLC302", "TLC303", "TLC304", "TLC305", "TLC306", "TLC307", "TLC308", "TLC311", "TLC312", "TLC401")
RULES = tuple(rule for rule in all_rules() if rule.code in CODES)
BAD = [path for path in sorted((FIXTURES / "bad").glob("*.py")) if any(code in path.read_text() for code in CODES)]
INVALID = [
    *(pytest.param(each.code, id=f"{rule.code}-{index}") for rule in RULES for index, each in enumerate(rule.INVALID)),
    *(pytest.param(path.read_text(), id=path.stem) for path in BAD),
]
VALID = [
    *(pytest.param(code, id=f"{rule.code}-{index}") for rule in RULES for index, code in enumerate(rule.VALID)),
    *(
        pytest.param(path.read_text(), id=path.stem)
        for path in sorted((FIXTURES / "clean").glob("*.py"))
        if "torch.compile" not in path.read_text()  # it does not trace through the mode used here
    ),
]
NAME = "<claims>"
SMALL = (torch.uint8, torch.int8, torch.int16)
RANDOM = ("rand", "randn", "randperm", "randint", "empty")


class Watch:
    """What happened on each line of a program."""

    def __init__(self) -> None:
        self.raised: dict[int, str] = {}
        self.called: dict[int, Call] = {}


class Call:
    """One call with out=: before, after, and without it; or one that changes integers in place."""

    def __init__(self) -> None:
        self.warned = ""
        self.shapes: tuple[object, object] = (None, None)
        self.same_numbers: bool | None = None
        self.keeps_gradient = True
        self.overwrote_neighbours = False
        self.restrided = False
        self.dtypes: tuple[object, object] = (None, None)
        self.strides: tuple[object, object] = (None, None)
        self.exact: tuple[int, int] | None = None


class Compare(overrides.TorchFunctionMode):  # type: ignore[misc, name-defined]
    """Makes each call with out= of the program also without."""

    def __init__(self, watch: Watch) -> None:
        super().__init__()
        self.watch = watch

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        out = kwargs.get("out")
        frame = program_frame()
        if frame is None or (out is None and not changes_integers(function, args)):
            return function(*args, **kwargs)
        call = self.watch.called[frame.f_lineno] = Call()
        if out is None:
            call.exact = widened(function, args, kwargs)
            return function(*args, **kwargs)
        first = out if isinstance(out, torch.Tensor) else out[0]
        rest = {key: value for key, value in kwargs.items() if key != "out"}
        call.exact = widened(function, args, rest)
        try:
            expected = function(*copies(args), **copies(rest))
        except Exception:
            expected = None
        shape, strides, base = tuple(first.shape), tuple(first.stride()), first._base
        behind = None if base is None else (base.detach().clone(), outside(base, first))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = function(*args, **kwargs)
        if isinstance(expected, torch.Tensor):
            call.dtypes = (expected.dtype, first.dtype)
            call.strides = (tuple(expected.stride()), tuple(first.stride()))
        call.restrided = tuple(first.stride()) != strides
        call.warned = " ".join(str(each.message) for each in caught)
        call.shapes = (shape, tuple(first.shape))
        if expected is not None and getattr(function, "__name__", "") not in RANDOM:
            call.same_numbers = same(expected, result)
        if behind is not None:
            call.overwrote_neighbours = bool((base.detach() != behind[0])[behind[1]].any())
        if torch.is_grad_enabled() and any(each.requires_grad for each in tensors(function(*args, **rest))):
            call.keeps_gradient = has_gradient(first)
        return result


def changes_integers(function: Any, args: Any) -> bool:
    name = getattr(function, "__name__", "")
    changes = re.fullmatch(r"__i\w+__|\w+[a-z]_", name) is not None
    return changes and bool(args) and isinstance(args[0], torch.Tensor) and args[0].dtype in SMALL


def widened(function: Any, args: Any, kwargs: Any) -> tuple[int, int] | None:
    """The smallest and the largest number that a call gives with int64 in place of smaller integers."""
    with contextlib.suppress(Exception):
        result = function(*copies(args, wide=True), **copies(kwargs, wide=True))
        if isinstance(result, torch.Tensor) and result.dtype == torch.int64:
            return int(result.min()), int(result.max())
    return None


def program_frame() -> FrameType | None:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename != NAME:
        frame = frame.f_back
    return frame


def tensors(value: Any) -> Iterator[Any]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from tensors(each)


def copies(value: Any, wide: bool = False) -> Any:
    if isinstance(value, torch.Tensor):
        copy = value.detach().clone()
        return copy.long() if wide and value.dtype in SMALL else copy
    if isinstance(value, (tuple, list)):
        return type(value)(copies(each, wide) for each in value)
    return {key: copies(each, wide) for key, each in value.items()} if isinstance(value, dict) else value


def same(expected: Any, result: Any) -> bool:
    left, right = list(tensors(expected)), list(tensors(result))
    return len(left) == len(right) and all(
        a.shape == b.shape
        and (a.is_meta or torch.allclose(a.to(b.dtype).double(), b.detach().double(), atol=1e-2, equal_nan=True))
        for a, b in zip(left, right, strict=True)
    )


def outside(base: Any, view: Any) -> Any:
    mask = torch.ones(base.shape, dtype=torch.bool)
    mask.as_strided(view.shape, view.stride(), view.storage_offset()).fill_(False)
    return mask


def has_gradient(result: Any) -> bool:
    try:
        result.sum().backward(retain_graph=True)
    except (RuntimeError, NotImplementedError):
        return False
    return True


class Catch(ast.NodeTransformer):
    """Puts each watched line into a `try` that notes what it raises."""

    def __init__(self, lines: set[int]) -> None:
        self.lines = lines

    def visit(self, node: ast.AST) -> Any:
        simple = isinstance(node, ast.stmt) and not hasattr(node, "body")
        if not simple or not any(node.lineno <= line <= (node.end_lineno or 0) for line in self.lines):  # type: ignore[attr-defined]
            return self.generic_visit(node)
        assert isinstance(node, ast.stmt)
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
    names = {"__name__": "__main__", "note": note}
    with Compare(watch):
        try:
            exec(compile(tree, NAME, "exec", dont_inherit=True), names)
        except NameError:
            assert watch.raised  # it goes on after a line that did not assign what it should
    return watch


def findings(code: str) -> list[tuple[int, str, str]]:
    selection = Selection(RULES, frozenset(CODES), Confidence.POSSIBLE)
    outcome = engine.check(source.from_bytes("example.py", code.encode(), explicit=True), selection)
    return [(found.line, found.code, found.message) for found in outcome.findings]


def check_claim(watch: Watch, line: int, message: str) -> None:
    if " raises because " in message:
        assert line in watch.raised, message
        said = re.search(r" \(([a-z_.]+\(\): [^;]+|[^()]+(?:\(\)[^()]*)?)\)[,;]", message)
        if said is not None:
            assert said[1].split("; ")[0] in watch.raised[line], (message, watch.raised[line])
        return
    if "or it raises" in message and line in watch.raised:
        return
    assert line not in watch.raised, (message, watch.raised[line])
    call = watch.called[line]
    if "resizes" in message:
        assert call.shapes[0] != call.shapes[1], message
        assert ("An output" in call.warned) is ("deprecated" in message), (message, call.warned)
        assert bool(call.warned) is ("without a warning" not in message), (message, call.warned)
        assert call.overwrote_neighbours is ("lies behind" in message), message
    elif "its results" in message:
        said = re.search(r"its results (are all|go up to|go down to) (-?\d+)( or more| or less)?;", message)
        assert said is not None and call.exact is not None, message
        smallest, largest = call.exact
        number = int(said[2])
        if said[1] == "are all":
            low, high = (None if said[3] == f" or {word}" else number for word in ("less", "more"))
            assert (low is None or smallest >= low) and (high is None or largest <= high), (message, call.exact)
        else:
            assert number == (largest if said[1] == "go up to" else smallest), (message, call.exact)
    elif "does not fit" in message or "wraps around" in message:
        assert call.dtypes[0] != call.dtypes[1] or "converts" not in message, message
    elif "row-major result" in message:
        assert call.strides[0] != call.strides[1], message
    elif "writes next to it" in message:
        assert call.restrided, message
    elif "loses the gradient" in message:
        assert not call.keeps_gradient, message
    else:
        assert "without an error" in message
        assert call.same_numbers is False, message


@pytest.mark.parametrize("code", INVALID)
def test_what_is_reported_happens(code: str) -> None:
    found = findings(code)
    assert found
    watch = run(code, {line for line, _, _ in found})
    for line, _, message in found:
        check_claim(watch, line, message)


@pytest.mark.parametrize("code", VALID)
@pytest.mark.filterwarnings("error")
def test_what_is_not_reported_is_right(code: str) -> None:
    watch = run(code, set())
    for line, call in watch.called.items():
        assert call.same_numbers is not False, line
        assert not call.warned, line
        assert call.keeps_gradient, line
