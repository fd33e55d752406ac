"""Where sizes may be given to a reshape in another order than the axes have."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterator, Sequence

from stridelint.rules.screening import Flow, Nodes, Steps, name_of
from stridelint.rules.screening.expressions import integer_of

# More axes than tensors have: those counted from the end come after all others.
_MANY = 100


def reorders(nodes: Nodes, reshapes: frozenset[str]) -> frozenset[str]:
    """Where sizes are given to a reshape in another order than the axes they were read from, or as numbers only."""
    read = _Read()
    for node, unit in nodes.bindings:
        if isinstance(node, ast.Assign):
            read.note(node, unit)
    found: set[str] = set()
    for call, unit in nodes.calls:
        if name_of(call.func) in reshapes:
            if any(_is_reordered(call, axis_of) for axis_of in read.before(call, unit)) or _is_of_image(
                call, unit, nodes
            ):
                found.add(unit)
    return frozenset(found)


class _Read:
    """The axes from which sizes were read, by the names they are given. shapes: names that stand for all sizes of a tensor."""

    def __init__(self) -> None:
        self.axes: dict[tuple[str, str], dict[int, int]] = {}  # by the line
        self.shapes: set[tuple[str, str]] = set()

    def note(self, node: ast.Assign, unit: str) -> None:
        """What an assignment reads."""
        whole, axis_read = name_of(node.value) in ("shape", "size"), _axis_read(node.value)
        for target in node.targets:
            parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else []
            read: list[tuple[ast.expr, int | None]] = []
            if parts and whole:
                read = [(each, axis) for axis, each in enumerate(parts)]
            elif isinstance(node.value, ast.Tuple) and len(node.value.elts) == len(parts):
                read = list(zip(parts, map(_axis_read, node.value.elts)))
            elif isinstance(target, ast.Name) and axis_read is not None:
                read = [(target, axis_read)]
            elif isinstance(target, ast.Name) and whole:
                self.shapes.add((unit, target.id))
            for each, axis in read:
                if axis is not None:
                    self.axes.setdefault((unit, name_of(each)), {})[node.lineno] = axis

    def before(self, call: ast.Call, unit: str) -> Iterator[Callable[[ast.expr], int | None]]:
        """From which axis a size in a call was read, where its name was first given to one, and last before the call."""
        yield lambda size: self._axis_of(size, unit, 0)
        if any(len(lines) > 1 for (where, _), lines in self.axes.items() if where == unit):
            yield lambda size: self._axis_of(size, unit, call.lineno)

    def _axis_of(self, size: ast.expr, unit: str, line: int) -> int | None:
        if isinstance(size, ast.Subscript) and (unit, name_of(size.value)) in self.shapes:
            return integer_of(size.slice)
        axes = self.axes.get((unit, name_of(size)))
        if axes is None:
            return _axis_read(size)
        return axes[max((each for each in axes if each <= line), default=min(axes))]


class _Numbers(Flow):
    """Follows whole numbers that the module tells."""

    def starts(self, node: ast.expr, unit: str) -> bool | None:
        """Literals start it; of products and the like, a part is enough."""
        return self.is_number(integer_of(node)) if isinstance(node, ast.Constant) else None

    def is_number(self, number: int | None) -> bool:
        """Whether it is one of those looked for."""
        return number is not None

    def follow(self, node: ast.expr, unit: str) -> Steps:
        """Through names, attributes, options, and what a dict holds."""
        told, answer = self._defined.told, self.starts(node, unit)
        if answer is not None:
            return answer
        if isinstance(node, ast.Name):
            return [(unit, node.id), ("", node.id), *told.get((unit, node.id), ())]
        if isinstance(node, ast.Attribute):
            return [("", node.attr), *self._options.get(node.attr, ())]
        if isinstance(node, ast.Subscript):
            return [node.value] if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str) else False
        if isinstance(node, ast.Dict):
            return [*node.values]
        if isinstance(node, ast.BinOp):
            return [node.left, node.right]
        return [node.body, node.orelse] if isinstance(node, ast.IfExp) else False

    @functools.cached_property
    def _options(self) -> dict[str, list[ast.expr]]:
        """Defaults of options of the command line, by name."""
        found: dict[str, list[ast.expr]] = {}
        for call, _ in self._nodes.calls:
            for option in call.args if name_of(call.func) == "add_argument" else ():
                name = option.value if isinstance(option, ast.Constant) and isinstance(option.value, str) else ""
                given = [each.value for each in call.keywords if each.arg == "default"]
                found.setdefault(name.lstrip("-").replace("-", "_"), []).extend(given)
        return found


class _Colours(_Numbers):
    """Follows the number of an image's channels."""

    def starts(self, node: ast.expr, unit: str) -> bool | None:
        """A product of it is another number."""
        return False if isinstance(node, ast.BinOp) else super().starts(node, unit)

    def is_number(self, number: int | None) -> bool:
        """Three."""
        return number == 3


def _is_of_image(call: ast.Call, unit: str, nodes: Nodes) -> bool:
    """Sizes are numbers that the module tells, and one is three: that before two others, or the last."""
    sizes = [each for each in _sizes_of(call) if integer_of(each) != 1]
    if len(sizes) not in (3, 4) or any(integer_of(each) == 2 or isinstance(each, ast.Starred) for each in sizes):
        return False
    colours, numbers = nodes.flow(_Colours), nodes.flow(_Numbers)
    threes = [place for place, each in enumerate(sizes, -len(sizes)) if colours.holds(each, unit)]
    if threes not in ([-1], [-3]) or (threes == [-3] and -1 in map(integer_of, sizes[1:])):
        return False
    return all(integer_of(each) == -1 or numbers.holds(each, unit) for each in (*sizes[-3:-1], sizes[-1]))


def _sizes_of(call: ast.Call) -> list[ast.expr]:
    """The sizes that a reshape is given."""
    listed = _elements(call.args[-1]) if call.args else []
    return listed or call.args


def _axis_read(node: ast.expr) -> int | None:
    """The axis of `x.size(1)` or `x.shape[1]`."""
    if isinstance(node, ast.Call) and name_of(node.func) == "size" and node.args:
        return integer_of(node.args[0])
    return integer_of(node.slice) if isinstance(node, ast.Subscript) and name_of(node.value) == "shape" else None


def _elements(node: ast.expr) -> list[ast.expr]:
    """The sizes in `(n, c)`, `[n, c]` or `(n, c) + (h, w)`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _elements(node.left), _elements(node.right)
        return [*left, *right] if left and right else []
    return node.elts if isinstance(node, (ast.Tuple, ast.List)) else []


def _factors(node: ast.expr) -> list[ast.expr]:
    """The factors of a product, in order."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return [*_factors(node.left), *_factors(node.right)]
    return [node]


def _overtakes(sizes: Sequence[ast.expr], axis_of: Callable[[ast.expr], int | None]) -> bool:
    """An axis is asked for before any that was skipped, and after it there are sizes that may be what became of that."""
    named = [[axis_of(factor) for factor in _factors(each)] for each in sizes]
    is_open = [all(axis is None for axis in axes) for axes in named]
    before: set[int | None] = set()
    for place, axes in enumerate(named):
        before.update(axes)
        if any(is_open[place + 1 :]) and not any(is_open[:place]):
            if any(not before.issuperset(range(axis)) for axis in axes if axis is not None and axis > 0):
                return True
    return False


def _is_reordered(call: ast.Call, axis_of: Callable[[ast.expr], int | None]) -> bool:
    sizes = _sizes_of(call)
    if len(sizes) < 3:
        return False
    sizes = [each for each in sizes if integer_of(each) != 1]  # axes of size 1 stand in no order
    if len({ast.dump(each) for each in sizes if integer_of(each) != -1}) < 2:
        return False
    read = [axis_of(each) for each in sizes]
    factors = [axis_of(factor) for each in sizes for factor in _factors(each)]
    order = [axis if axis >= 0 else axis + _MANY for axis in factors if axis is not None]
    unread = [each for each, axis in zip(sizes, read) if axis is None and integer_of(each) is None]
    if (
        order != sorted(order)
        or len(set(order)) < len(order)
        or (not order and not unread)
        or _overtakes(sizes, axis_of)
    ):
        return True
    return any(
        axis is not None and (axis < position if axis >= 0 else axis > position - len(sizes))
        for position, axis in enumerate(read)
    )
