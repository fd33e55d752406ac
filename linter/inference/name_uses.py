"""How a function uses a name for a tensor: where it is written to, read, or kept by something else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import libcst as cst

from stridelint.linter.inference.bindings import dotted_name
from stridelint.rules.forms.walking import children

# What is made of a tensor by these shares no memory with it.
_READING = frozenset(
    """sum mean max min amax amin any all item tolist size dim numel nelement ndimension norm std var prod argmax argmin median
    count_nonzero is_contiguous stride storage_offset element_size is_floating_point is_complex nonzero equal allclose isfinite isnan
    abs sqrt square exp log""".split()
)
_ABOUT = frozenset("shape dtype device ndim requires_grad is_cuda is_leaf layout".split())
_VIEWS = frozenset(
    "data T mT view reshape flatten ravel permute transpose t unsqueeze squeeze detach cpu float".split()
)
_PLAIN = frozenset("print len float int bool str repr isinstance type torch.equal torch.allclose".split())
_LOOPS = frozenset({cst.For, cst.While})
_STATEMENTS = frozenset({cst.Expr, cst.Assign, cst.AnnAssign, cst.AugAssign})
_FUNCTIONS = frozenset({cst.FunctionDef, cst.Lambda, cst.ClassDef})
_OF_THEIR_OWN = (cst.Comparison, cst.BinaryOperation, cst.FormattedStringExpression, cst.Assert, cst.Del)


@dataclass(frozen=True)
class Use:
    """One place where a name stands. end: number of the last node of its statement; loops: the loops around it."""

    number: int
    end: int
    loops: tuple[int, ...]


@dataclass
class Uses:
    """All places where a function has a name. kept: something may go on with its tensor elsewhere."""

    assigned: list[tuple[Use, cst.CSTNode]] = field(default_factory=list)
    written: dict[int, Use] = field(default_factory=dict)  # by identity of the node
    read: list[Use] = field(default_factory=list)
    kept: bool = False

    def is_last(self, node: cst.CSTNode) -> bool:
        """Whether nothing reads what is written at this node: all reads come before, also in the next turn of a loop."""
        if self.kept or len(self.assigned) != 1 or id(node) not in self.written:
            return False
        made, write = self.assigned[0][0], self.written[id(node)]
        return all(read.number <= write.end and _comes_first(made, read, write) for read in self.read)


def _comes_first(made: Use, read: Use, write: Use) -> bool:
    """Whether no loop leads from the write back to the read, unless the name is assigned anew in between."""
    again = [loop for loop in read.loops if loop in write.loops]
    return all(loop in made.loops for loop in again) and (not again or made.number < read.number)


@dataclass(frozen=True)
class _Place:
    """Where a name stands: the number of its node, that of the last one of its statement, and the nodes around it."""

    name: cst.Name
    number: int
    end: int
    above: tuple[cst.CSTNode, ...]


class NameUses:
    """How each name is used in a function or module, functions in it included; sorted out for those that are asked for."""

    def __init__(self, body: cst.CSTNode) -> None:
        self._body = body
        self._places: dict[str, list[_Place]] = {}
        self._known: dict[str, Uses] = {}
        self._number = 0
        self._waiting: list[tuple[cst.Name, int, tuple[cst.CSTNode, ...]]] = []
        self._visit(body, (), False)

    def of(self, name: str) -> Uses:
        """All uses of a name."""
        if name not in self._known:
            self._known[name] = self._sorted(self._places.get(name, []))
        return self._known[name]

    def _visit(self, node: cst.CSTNode, above: tuple[cst.CSTNode, ...], inside: bool) -> None:
        """Number the nodes in the order of the code. inside: of a small statement, whose names end where it does."""
        self._number += 1
        kind = type(node)
        if kind is cst.Name:
            self._waiting.append((cst.ensure_type(node, cst.Name), self._number, above))
            if not inside:
                self._settle()
            return
        above = (*above, node)
        skipped: cst.CSTNode | None = None
        if kind is cst.Attribute:
            skipped = cst.ensure_type(node, cst.Attribute).attr
        elif kind is cst.Arg:
            skipped = cst.ensure_type(node, cst.Arg).keyword
        is_statement = kind in _STATEMENTS
        for child in children(node):
            if child is not skipped:
                self._visit(child, above, inside or is_statement)
        if is_statement:
            self._settle()

    def _settle(self) -> None:
        """The names that were met belong to a statement that ends here."""
        for name, number, above in self._waiting:
            self._places.setdefault(name.value, []).append(_Place(name, number, self._number, above))
        self._waiting = []

    def _sorted(self, places: Iterable[_Place]) -> Uses:
        uses = Uses()
        for place in places:
            use = Use(place.number, place.end, tuple(id(each) for each in place.above if type(each) in _LOOPS))
            kind = "kept" if self._is_nested(place.above) else _kind(place.name, place.above)
            if kind == "assigned":
                statement = next(
                    each for each in reversed(place.above) if isinstance(each, (cst.Assign, cst.AnnAssign))
                )
                uses.assigned.append((use, statement.value or statement))
            elif kind == "written":
                uses.written[id(place.name)] = use
            elif kind == "read":
                uses.read.append(use)
            else:
                uses.kept = True
        return uses

    def _is_nested(self, above: tuple[cst.CSTNode, ...]) -> bool:
        return any(type(each) in _FUNCTIONS and each is not self._body for each in above)


def _kind(name: cst.Name, above: tuple[cst.CSTNode, ...]) -> str:
    """What happens to a name there: "assigned", "written", "read", or "kept" where that is not known."""
    if isinstance(above[-1], cst.AssignTarget):
        return "assigned" if isinstance(above[-2], cst.Assign) and len(above[-2].targets) == 1 else "kept"
    if isinstance(above[-1], cst.AnnAssign) and above[-1].target is name:
        return "assigned"
    node: cst.CSTNode = name
    for index in range(len(above) - 1, -1, -1):
        parent = above[index]
        around = above[index - 1] if index else None
        if isinstance(parent, cst.Attribute):
            called = isinstance(around, cst.Call) and around.func is parent
            attribute = parent.attr.value
            if attribute in (_READING if called else _ABOUT):
                return "read"
            if called and attribute.endswith("_") and not attribute.startswith("_"):
                return "written" if index > 1 and isinstance(above[index - 2], cst.Expr) else "kept"
            if attribute not in _VIEWS and called:
                return "kept"
        elif isinstance(parent, cst.Call):
            if parent.func is not node:
                return "kept"
        elif isinstance(parent, cst.Arg):
            return _argument(parent, name, above[:index])
        elif isinstance(parent, (cst.Index, cst.SubscriptElement)):
            return "read"  # which items of another tensor
        elif isinstance(parent, cst.AugAssign) and parent.target is node:
            return "written"
        elif isinstance(parent, cst.AssignTarget):
            return "written" if isinstance(node, cst.Subscript) else "kept"
        elif isinstance(parent, _OF_THEIR_OWN) or (
            isinstance(parent, cst.UnaryOperation) and not isinstance(parent.operator, cst.Plus)
        ):
            return "read"
        elif isinstance(parent, cst.Expr):
            return "read"
        elif not isinstance(parent, cst.Subscript) or parent.value is not node:
            return "kept"
        node = parent
    return "kept"


def _argument(arg: cst.Arg, name: cst.Name, above: tuple[cst.CSTNode, ...]) -> str:
    """What a call does with a tensor that it is given."""
    call = above[-1]
    if not isinstance(call, cst.Call):
        return "kept"
    if arg.keyword is not None and arg.keyword.value == "out":
        return "written" if len(above) > 1 and isinstance(above[-2], cst.Expr) else "kept"
    called = dotted_name(call.func)
    of_torch = called.startswith("torch.") and called.count(".") == 1
    writes = any(each.keyword is not None and each.keyword.value == "out" for each in call.args)
    if called in _PLAIN or (of_torch and (writes or called[6:] in _READING)):
        return "read"
    receiver = call.func
    while isinstance(receiver, (cst.Attribute, cst.Subscript)):
        receiver = receiver.value
    in_place = isinstance(call.func, cst.Attribute) and call.func.attr.value.endswith("_")
    return "read" if in_place and isinstance(receiver, cst.Name) and receiver.value == name.value else "kept"
