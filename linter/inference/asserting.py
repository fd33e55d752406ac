"""What is asserted elsewhere than it is asked: `difference = (a - b).abs().max()`, then `assert difference < 1e-5`; what the method
that is asserted returns; `if not x.is_contiguous(): raise AssertionError`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import AbstractContextManager

import libcst as cst

from stridelint.linter.inference import testing
from stridelint.linter.inference.bindings import blocks_of, flat_statements
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.testing import Claim

# What keeps a difference one, or an answer one.
_PASSING_ON = frozenset("abs all amax any bool float item max mean norm sum".split())
_CHECKS = frozenset(
    "assertTrue assert_ _assert assertFalse assertLess assertLessEqual assertGreater assertGreaterEqual assertAlmostEqual".split()
)
_LITERALS = (cst.Integer, cst.Float, cst.Tuple, cst.List)


def bound(path: Path, node: cst.CSTNode) -> AbstractContextManager[None]:
    """The assigned expression of a statement: what an assertion asks of its name is asked here."""
    if path.recorded is None or path.claim is not None or not path.frames:
        return testing.NOTHING
    function = path.frames[-1].function.node
    return testing.claiming(path, path.program.once(function, _named_claims, function).get(node))


def returned(path: Path) -> AbstractContextManager[None]:
    """The returned expression of a method or property: `assert sample.is_nhwc` is about it."""
    claim = path.frames[-1].claim if path.frames and path.claim is None else None
    return testing.NOTHING if claim is None else testing.claiming(path, claim)


def refused(path: Path, node: cst.If) -> AbstractContextManager[None]:
    """A condition on which the test fails at once: it is asserted not to hold."""
    if path.recorded is None or path.claim is not None or node.orelse is not None or not _fails(node.body):
        return testing.NOTHING
    return testing.claiming(path, Claim(node.test, negated=True))


def _fails(body: cst.BaseSuite) -> bool:
    """`raise AssertionError(...)`, `pytest.fail(...)`, `self.fail(...)`."""
    small = list(flat_statements(body.body))
    if len(small) != 1:
        return False
    if isinstance(small[0], cst.Raise):
        raised = small[0].exc.func if isinstance(small[0].exc, cst.Call) else small[0].exc
        return isinstance(raised, cst.Name) and raised.value == "AssertionError"
    call = small[0].value if isinstance(small[0], cst.Expr) else None
    return isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute) and call.func.attr.value == "fail"


def _named_claims(function: cst.CSTNode) -> dict[cst.CSTNode, Claim]:
    """The assignments of a function whose names its assertions are about, and these: of several the first."""
    found: dict[cst.CSTNode, Claim] = {}
    named: dict[str, cst.CSTNode] = {}
    for node in (each for block in blocks_of(function) for each in flat_statements(block.body)):
        if isinstance(node, cst.Assign):
            for each in node.targets:
                if isinstance(each.target, cst.Name):
                    named[each.target.value] = node
        for name, claim in _asserted(node):
            if name in named:
                found.setdefault(named[name], claim)
    return found


def _asserted(node: cst.CSTNode) -> Iterator[tuple[str, Claim]]:
    if isinstance(node, cst.Assert):
        yield from _uses(node.test, Claim(node))
    call = node.value if isinstance(node, cst.Expr) else None
    if isinstance(call, cst.Call) and testing.called_name(call) in _CHECKS:
        claim = testing.check_of(call)
        for arg in call.args[:2] if claim is not None else ():
            yield from _uses(arg.value, claim or Claim(call))


def _uses(node: cst.CSTNode, claim: Claim) -> Iterator[tuple[str, Claim]]:
    """The names that an asserted expression is about."""
    if isinstance(node, cst.Name):
        yield node.value, claim
    elif isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not):
        yield from _uses(node.expression, dataclasses.replace(claim, negated=not claim.negated))
    elif isinstance(node, cst.BooleanOperation):
        part = claim if isinstance(node.operator, cst.And) else dataclasses.replace(claim, compared=True)
        yield from _uses(node.left, part)
        yield from _uses(node.right, part)
    elif isinstance(node, cst.Comparison):
        target = node.comparisons[0]
        if not isinstance(target.operator, (cst.Equal, cst.NotEqual, cst.Is, cst.IsNot)) or _is_literal(
            target.comparator
        ):
            yield from _uses(node.left, testing.compared(claim, node) or claim)
    elif isinstance(node, cst.Call) and testing.called_name(node) in _PASSING_ON:
        inner = node.args[0].value if node.args else node.func.value if isinstance(node.func, cst.Attribute) else None
        if inner is not None:
            yield from _uses(inner, dataclasses.replace(claim, nested=True, compared=True))


def _is_literal(node: cst.CSTNode) -> bool:
    return isinstance(node, _LITERALS) or (isinstance(node, cst.Name) and node.value in ("True", "False"))
