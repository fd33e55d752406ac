"""What a test asserts: recorded as the assertion's expression is evaluated."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

import libcst as cst

from stridelint.linter.inference.path import Path
from stridelint.linter.inference.torch_api.emit import operand
from stridelint.linter.inference.values import ArrayValue, Condition, TensorValue, Unknown, Value, as_int
from stridelint.rules.events import Assertion, Note, Operand, Site

NOTHING: AbstractContextManager[None] = nullcontext()
# Calls that pass the truth of their arguments on; `any` of several is no claim about each.
PASSING_ON = frozenset({"all", "bool"})
UNITTEST_CHECKS = frozenset(
    """assertTrue assertFalse assertEqual assertNotEqual assertIs assertIsNot assertIn assertNotIn assertLess assertLessEqual assertGreater
    assertGreaterEqual assertAlmostEqual assertTupleEqual assertListEqual assertSequenceEqual assertCountEqual assert_ _assert""".split()
)
# Operators that say how far two tensors are from each other, or whether they differ, and what they are as an assertion.
DIFFERENCES = {
    "eq": "equal", "ne": "equal", "sub": "allclose", "dist": "allclose", "nn.functional.mse_loss": "allclose",
    "nn.functional.l1_loss": "allclose", "nn.functional.smooth_l1_loss": "allclose",
}  # fmt: skip
CHECK_NAMES = ("assert", "check", "verify", "expect", "_assert", "_check", "_verify")


@dataclass(frozen=True)
class Claim:
    """An assertion under way.

    node: the assertion. negated: asserted not to hold. compared: part of a comparison or of an `or`, so that truth is not claimed.
    nested: an argument or a receiver of what is asserted.
    """

    node: cst.CSTNode
    negated: bool = False
    compared: bool = False
    nested: bool = False


@contextmanager
def asserting(path: Path, node: cst.CSTNode) -> Iterator[None]:
    """What is asked of tensors in this block is asserted at `node`."""
    with claiming(path, Claim(node)):
        yield


@contextmanager
def claiming(path: Path, claim: Claim | None) -> Iterator[None]:
    """What is asked of tensors in this block is part of an assertion under way, or of none."""
    previous, path.claim = path.claim, claim
    try:
        yield
    finally:
        path.claim = previous


def narrowed(
    path: Path, negated: bool = False, compared: bool = False, nested: bool = False
) -> AbstractContextManager[None]:
    """A part of an assertion (nothing if there is none, as nearly always)."""
    claim = path.claim
    if claim is None:
        return NOTHING
    return claiming(
        path, Claim(claim.node, claim.negated != negated, claim.compared or compared, claim.nested or nested)
    )


def comparing(path: Path, node: cst.Comparison) -> AbstractContextManager[None]:
    """The two sides of a comparison: `is True`, `== False` and their like claim a truth, others compare values."""
    return NOTHING if path.claim is None else claiming(path, compared(path.claim, node))


def compared(claim: Claim | None, node: cst.Comparison) -> Claim | None:
    """What is claimed of the sides of a comparison."""
    if claim is None:
        return None
    target = node.comparisons[0]
    unlike = isinstance(target.operator, (cst.NotEqual, cst.IsNot, cst.NotIn))
    truth = _literal(target.comparator)
    if (
        len(node.comparisons) == 1
        and truth is not None
        and isinstance(target.operator, (cst.Equal, cst.Is, cst.NotEqual, cst.IsNot))
    ):
        return dataclasses.replace(claim, negated=claim.negated != (unlike != (not truth)))
    return dataclasses.replace(claim, negated=claim.negated != unlike, compared=True)


def _literal(node: cst.CSTNode) -> bool | None:
    return node.value == "True" if isinstance(node, cst.Name) and node.value in ("True", "False") else None


def arguments_of(path: Path, node: cst.Call, discarded: bool) -> AbstractContextManager[None]:
    """The arguments of a call: asserted themselves if it is a check, else parts of what is asserted."""
    claim = _argument_claim(path.claim, node, discarded)
    return NOTHING if claim is None and path.claim is None else claiming(path, claim)


def check_of(node: cst.Call) -> Claim | None:
    """What unittest's `self.assertTrue(...)` and its like claim of their arguments; None for other calls."""
    if not is_unittest_check(node):
        return None
    name = called_name(node)
    if name in ("assertTrue", "assert_", "_assert"):
        return Claim(node)
    if name == "assertFalse":
        return Claim(node, negated=True)
    truths = [_literal(arg.value) for arg in node.args[:2]]
    truth = next((each for each in truths if each is not None), None)
    if name in ("assertEqual", "assertIs") and truth is not None:
        return Claim(node, negated=not truth)
    return Claim(node, negated="Not" in name, compared=True)


def _argument_claim(claim: Claim | None, node: cst.Call, discarded: bool) -> Claim | None:
    check = check_of(node)
    if check is not None:
        return check
    if claim is None:
        is_check = discarded and called_name(node).startswith(CHECK_NAMES)
        return Claim(node, compared=True, nested=True) if is_check else None
    if isinstance(node.func, cst.Name) and node.func.value in PASSING_ON:
        return claim
    return dataclasses.replace(claim, nested=True, compared=True)


def called_name(node: cst.Call) -> str:
    """The last part of what a call calls."""
    function = node.func
    if type(function) is cst.Attribute:
        return function.attr.value
    return function.value if type(function) is cst.Name else ""


def is_unittest_check(node: cst.CSTNode) -> bool:
    """`self.assertTrue(...)`: its arguments are asserted."""
    return type(node) is cst.Call and type(node.func) is cst.Attribute and node.func.attr.value in UNITTEST_CHECKS


def record(
    path: Path,
    kind: str,
    tensors: list[TensorValue | ArrayValue],
    arguments: dict[str, object],
    node: cst.CSTNode | None = None,
    query: cst.CSTNode | None = None,
    written: cst.CSTNode | None = None,
) -> None:
    """Note a check of tensors, at the assertion under way or at `node` (an assertion by itself).

    query: the call that asks. written: how the first tensor is written there.
    """
    claim = path.claim
    if claim is None and node is None:
        return
    if path.muted:
        return
    site = claim.node if claim is not None else node
    operands = tuple(
        _operand(path, tensor, written if position == 0 else None) for position, tensor in enumerate(tensors)
    )
    if kind == "is_contiguous" and claim is not None and claim.compared:
        kind = "memory_format"
    frames = path.frames[1:]
    through = next((frame.call for frame in frames if frame.call is not None), None)
    within = frames[-1].function.node if frames else None
    name = within.name.value if isinstance(within, cst.FunctionDef) else ""
    path.assertions.append(
        Assertion(
            kind, operands, Site(site), arguments, claim is None or not claim.negated, name, Site(through), Site(within)
        )
    )
    path.last_query = query


def _operand(path: Path, value: TensorValue | ArrayValue, written: cst.CSTNode | None) -> Operand:
    if isinstance(value, TensorValue):
        return operand(path, value, written)
    if value.tensor is not None:
        return operand(path, value.tensor, written)
    return Operand(value.facts, story=tuple(Note(Site(where), what) for what, where in value.story))


def subscripted(path: Path, node: cst.CSTNode, index: Value) -> None:
    """`x.stride()[0]` asks for one stride only."""
    if path.last_query is not node or not path.assertions:
        return
    last, axis = path.assertions[-1], as_int(index)
    if last.kind == "stride" and axis is not None and not last.arguments:
        path.assertions[-1] = dataclasses.replace(last, arguments={"dim": axis})
    path.last_query = None


def record_difference(path: Path, op: str, operands: Iterable[Value]) -> None:
    """`(a - b).abs().max() < eps`, `(a == b).all()` and `F.mse_loss(a, b) < eps` inside an assertion compare values."""
    if path.claim is None or op not in DIFFERENCES:
        return
    found = [each for each in operands if isinstance(each, (TensorValue, ArrayValue))]
    if len(found) == 2:
        record(path, DIFFERENCES[op], found, {})


def assume(path: Path, value: Value) -> None:
    """Go on as if the condition held (it was asserted)."""
    known = path.known_truth(value)
    if known is not None:
        return
    path.numbers.clear()
    if isinstance(value, Condition):
        path.assumptions.setdefault(value.key, not value.negated)
        if value.assume is not None:
            value.assume(True)
    elif isinstance(value, Unknown):
        value.none = False
        path.assumptions.setdefault(("truth", value.identity), True)
