"""Whether code sees the memory layout of an expression's value, by the way it is written.

Values are followed through names of a function, elementwise operators and functions, and containers, to where they end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from stridelint.linter.inference.bindings import dotted_name
from stridelint.linter.inference.layout_words import (
    ELEMENTWISE,
    EXACT,
    INDICES,
    LOSSES,
    MODULES,
    PAIRS,
    PLAIN,
    ROUNDED,
    SETTINGS,
    SIZES,
    VALUES,
)
from stridelint.linter.inference.program import Program
from stridelint.rules.events import LayoutUse
from stridelint.rules.forms.walking import Parents, walk

_SCOPES = (cst.FunctionDef, cst.Lambda, cst.ClassDef, cst.Module)
# Where a step ends, or the expressions that the value goes on in.
_Step = LayoutUse | Sequence[cst.CSTNode]


@dataclass(frozen=True, eq=False)
class LayoutUser:
    """What comes of the layout of a node's value, worked out when somebody asks."""

    program: Program
    node: cst.CSTNode

    def __call__(self) -> LayoutUse:
        """The weightiest of all that is done with it; open where that is not known, or nothing."""
        module = self.program.module
        return self.program.once(module, LayoutUses, module).use_of(self.node)


class LayoutUses:
    """A module's nodes, with what they are a part of."""

    def __init__(self, module: cst.Module) -> None:
        self._parents = Parents(module)
        self._names: dict[str, list[cst.Name]] = {}
        self._shared: set[str] = set()
        for node in walk(module):
            if isinstance(node, cst.Name):
                self._names.setdefault(node.value, []).append(node)
            elif isinstance(node, (cst.Global, cst.Nonlocal)):
                self._shared |= {each.name.value for each in node.names}

    def use_of(self, node: cst.CSTNode) -> LayoutUse:
        """All ends of a value, as one."""
        waiting, seen, found = [node], {node}, LayoutUse.NOTHING
        while waiting:
            step = self._step(waiting.pop())
            if isinstance(step, LayoutUse):
                found = max(found, step)
                if found is LayoutUse.OPEN:
                    return found
                continue
            waiting += [each for each in step if each not in seen]
            seen.update(step)
        return LayoutUse.OPEN if found is LayoutUse.NOTHING else found

    def _step(self, node: cst.CSTNode) -> _Step:
        """What is done at once with a node's value."""
        parent = self._parents.of(node)
        if isinstance(parent, cst.Attribute) and parent.value is node:
            return self._attribute(parent)
        if isinstance(parent, cst.Arg):
            return self._argument(parent)
        if isinstance(parent, cst.BinaryOperation):
            return LayoutUse.OPEN if isinstance(parent.operator, cst.MatrixMultiply) else [parent]
        if isinstance(parent, cst.UnaryOperation):
            return LayoutUse.EXACT if isinstance(parent.operator, cst.Not) else [parent]
        if isinstance(parent, (cst.Comparison, cst.ComparisonTarget)):
            return self._compared(parent)
        if isinstance(parent, (cst.IfExp, cst.If, cst.While, cst.Assert)) and parent.test is node:
            return LayoutUse.EXACT
        if isinstance(parent, (cst.IfExp, cst.BooleanOperation)):
            return [parent]
        if isinstance(parent, (cst.Element, cst.DictElement)) and parent.value is node:
            held = self._parents.of(parent)
            return (
                [held]
                if isinstance(held, (cst.Tuple, cst.List, cst.Dict)) and self._only_goes(held)
                else LayoutUse.OPEN
            )
        if isinstance(parent, cst.Subscript) and parent.value is node:
            return LayoutUse.EXACT if _called(node) in PAIRS and _is_second(parent) else [parent]
        if isinstance(parent, cst.Index) and isinstance(node, cst.Comparison):
            return LayoutUse.EXACT  # a mask
        if isinstance(parent, (cst.Expr, cst.Del)):
            return []
        if isinstance(parent, cst.Return):
            function = self._scope(parent)
            is_forward = isinstance(function, cst.FunctionDef) and function.name.value == "forward"
            return LayoutUse.RETURNED if is_forward and parent.value is node else LayoutUse.OPEN
        return self._bound(node, parent)

    def _only_goes(self, held: cst.BaseExpression) -> bool:
        """Whether a container is returned or gets a name, and is not used on the spot."""
        return isinstance(self._parents.of(held), (cst.Return, cst.Assign, cst.IfExp, cst.Element, cst.DictElement))

    def _bound(self, node: cst.CSTNode, parent: cst.CSTNode | None) -> _Step:
        if isinstance(parent, cst.NamedExpr) and parent.value is node:
            return [parent, *self._reads(parent.target)] if self._is_read(parent.target) else LayoutUse.OPEN
        targets: list[cst.CSTNode] = []
        if isinstance(parent, cst.Assign):
            targets = [each.target for each in parent.targets]
        elif isinstance(parent, (cst.AnnAssign, cst.AugAssign)) and parent.value is node:
            targets = [parent.target]
        is_pair = len(targets) == 1 and isinstance(targets[0], cst.Tuple) and _called(node) in PAIRS
        if is_pair:  # the second result is where the first was found
            targets = [each.value for each in cst.ensure_type(targets[0], cst.Tuple).elements[:1]]
        if not targets or not all(map(self._is_read, targets)):
            return LayoutUse.OPEN
        reads = [read for target in targets for read in self._reads(target)]
        return LayoutUse.EXACT if is_pair and not reads else reads

    def _is_read(self, target: cst.CSTNode) -> bool:
        """Whether all that reads a variable is known: it belongs to a function, or to a module where that reads it itself."""
        if not isinstance(target, cst.Name) or target.value in self._shared:
            return False
        scope = self._scope(target)
        return isinstance(scope, (cst.FunctionDef, cst.Module)) and all(
            self._scope(each) is scope for each in self._named(target, scope)
        )

    def _reads(self, target: cst.CSTNode) -> list[cst.CSTNode]:
        assert isinstance(target, cst.Name)
        return [each for each in self._named(target, self._scope(target)) if not self._is_target(each)]

    def _named(self, target: cst.Name, scope: cst.CSTNode | None) -> list[cst.Name]:
        """Where the variable of a scope may be meant, also in functions in it."""
        return [
            each
            for each in self._names[target.value]
            if not self._is_label(each)
            and (isinstance(scope, cst.Module) or any(outer is scope for outer in self._parents.above(each)))
        ]

    def _is_label(self, name: cst.Name) -> bool:
        """Of an attribute or a keyword."""
        parent = self._parents.of(name)
        return (isinstance(parent, cst.Attribute) and parent.attr is name) or (
            isinstance(parent, cst.Arg) and parent.keyword is name
        )

    def _is_target(self, name: cst.Name) -> bool:
        """A value is stored there; in a loop's target and the like it is no use of what was there before either."""
        parent = self._parents.of(name)
        if isinstance(parent, cst.Element):
            return isinstance(self._parents.of(self._parents.of(parent)), (cst.AssignTarget, cst.For, cst.CompFor))
        stored = (cst.AnnAssign, cst.AugAssign, cst.NamedExpr, cst.For, cst.CompFor)
        return isinstance(parent, (cst.AssignTarget, cst.Param)) or (
            isinstance(parent, stored) and parent.target is name
        )

    def _scope(self, node: cst.CSTNode) -> cst.CSTNode | None:
        return next((each for each in self._parents.above(node) if isinstance(each, _SCOPES)), None)

    def _attribute(self, node: cst.Attribute) -> _Step:
        """`x.abs()`, `x.shape`."""
        call, name = self._parents.of(node), node.attr.value
        if isinstance(call, cst.Call) and call.func is node:
            if name in ("is_contiguous", "stride"):
                return LayoutUse.STATED if self._states_row_major(call) else LayoutUse.OPEN
            return _done(call, name, call.args)
        if name in SIZES or name in INDICES:
            return LayoutUse.EXACT if name in INDICES else []
        return [node] if name in ("values", "data") else LayoutUse.OPEN

    def _argument(self, arg: cst.Arg) -> _Step:
        """`torch.abs(x)`, `y.maximum(x)`."""
        call = self._parents.of(arg)
        if not isinstance(call, cst.Call) or arg.star or (arg.keyword is not None and arg.keyword.value == "out"):
            return LayoutUse.OPEN
        owner, _, name = dotted_name(call.func).rpartition(".")
        if not owner and name in PLAIN:
            return [call] if name == "abs" else LayoutUse.EXACT
        if owner in MODULES or (not owner and name == "assert_close"):
            return _done(call, name, call.args[1:])
        is_method = isinstance(call.func, cst.Attribute)
        name = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
        if is_method and (name in ELEMENTWISE or name in VALUES):
            return _done(call, name, call.args[1:])
        return LayoutUse.OPEN

    def _compared(self, parent: cst.CSTNode) -> _Step:
        comparison = self._parents.of(parent) if isinstance(parent, cst.ComparisonTarget) else parent
        assert isinstance(comparison, cst.Comparison)
        operators = [each.operator for each in comparison.comparisons]
        if all(isinstance(each, (cst.Is, cst.IsNot)) for each in operators):
            return []
        is_in = any(isinstance(each, (cst.In, cst.NotIn, cst.Is, cst.IsNot)) for each in operators)
        return LayoutUse.OPEN if is_in else [comparison]

    def _states_row_major(self, query: cst.Call) -> bool:
        """`assert x.is_contiguous()`, `assert not x.is_contiguous(memory_format=...)`, `assert x.stride() == (60, 20, 5, 1)`."""
        node: cst.CSTNode = query
        parent = self._parents.of(node)
        if isinstance(query.func, cst.Attribute) and query.func.attr.value == "stride":
            if query.args or not isinstance(parent, cst.Comparison) or parent.left is not query:
                return False
            if len(parent.comparisons) != 1 or not _is_row_major(parent.comparisons[0]):
                return False
            node, parent = parent, self._parents.of(parent)
        else:
            negated = isinstance(parent, cst.UnaryOperation) and isinstance(parent.operator, cst.Not)
            if negated is not bool(query.args):
                return False
            if negated:
                assert parent is not None
                node, parent = parent, self._parents.of(parent)
        while isinstance(parent, cst.BooleanOperation) and isinstance(parent.operator, cst.And):
            node, parent = parent, self._parents.of(parent)
        if isinstance(parent, cst.Assert):
            return parent.test is node
        call = self._parents.of(parent) if isinstance(parent, cst.Arg) else None
        return isinstance(call, cst.Call) and dotted_name(call.func).rpartition(".")[2] == "assertTrue"


def _is_row_major(target: cst.ComparisonTarget) -> bool:
    """`== (60, 20, 5, 1)`."""
    strides = target.comparator
    if not isinstance(target.operator, cst.Equal) or not isinstance(strides, cst.Tuple) or not strides.elements:
        return False
    last = strides.elements[-1].value
    return isinstance(last, cst.Integer) and last.value == "1"


def _called(node: cst.CSTNode) -> str:
    """`topk` of `x.topk(2)` and `torch.topk(x, 2)`."""
    function = node.func if isinstance(node, cst.Call) else None
    return function.attr.value if isinstance(function, cst.Attribute) else ""


def _is_second(node: cst.Subscript) -> bool:
    """`x[1]`"""
    index = node.slice[0].slice
    value = index.value if len(node.slice) == 1 and isinstance(index, cst.Index) else None
    return isinstance(value, cst.Integer) and value.value == "1"


def _done(call: cst.Call, name: str, further: Sequence[cst.Arg]) -> _Step:
    """What a function of torch by that name does with a tensor. further: its other arguments."""
    keywords = {each.keyword.value for each in further if each.keyword is not None}
    if name in SIZES:
        return []
    if name in VALUES:
        return LayoutUse.OPEN if "check_stride" in keywords else LayoutUse.EXACT
    if name in LOSSES:
        return LayoutUse.ROUNDED if all(map(_reduces, further)) else LayoutUse.OPEN
    if name in EXACT or name in ROUNDED:
        if name not in ("argmax", "argmin") and not _leaves_few(further):
            return LayoutUse.TAKEN
        return LayoutUse.EXACT if name in EXACT else LayoutUse.ROUNDED
    if name in PAIRS or name == "numpy":
        return LayoutUse.TAKEN
    if name.rstrip("_") in ELEMENTWISE and not keywords & {"memory_format", "out"}:
        return [call]
    return LayoutUse.OPEN


def _reduces(arg: cst.Arg) -> bool:
    """Not `reduction="none"`, nor what may be that."""
    if arg.star or arg.keyword is None or arg.keyword.value not in ("reduction", "reduce"):
        return not arg.star
    return isinstance(arg.value, cst.SimpleString) and arg.value.evaluated_value in ("mean", "sum", "batchmean")


def _leaves_few(further: Sequence[cst.Arg]) -> bool:
    """Whether a reduction leaves at most one axis of a tensor of rank 4."""
    axes: list[cst.BaseExpression] = []
    for each in further:
        keyword = "" if each.keyword is None else each.keyword.value
        if each.star or keyword not in ("", "dim", "axis", "keepdim", *SETTINGS):
            return False
        if keyword in ("", "dim", "axis"):
            axes.append(each.value)
    if not axes:
        return True
    given = axes[0].elements if isinstance(axes[0], (cst.Tuple, cst.List)) else axes
    return len(given) >= 3
