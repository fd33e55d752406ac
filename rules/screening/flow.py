"""Following values with some property backwards, by name and regardless of order."""

from __future__ import annotations

import ast
import functools
import weakref
from typing import TypeAlias

from stridelint.rules.screening.definitions import ANY_OF_SELF, PROTOCOL, Key
from stridelint.rules.screening.expressions import arguments_of, expressions_in, name_of
from stridelint.rules.screening.nodes import Nodes

Steps: TypeAlias = "bool | list[ast.expr | Key]"


class Flow:
    """Where values with some property may be. Subclasses say what starts it, in `starts`, or all of it, in `follow`.

    Asked for an expression, it searches backwards through what may have got into its names; nothing is searched twice.
    """

    def __init__(self, nodes: Nodes) -> None:
        self.definitions = nodes.definitions.of
        self._defined = nodes.definitions
        # The nodes keep the flow: were it to keep them, too, only the garbage collector would free the tree.
        self._nodes: Nodes = weakref.proxy(nodes)
        self._has: set[Key] = set()
        self._has_not: set[Key] = set()
        # The same of expressions: long sums are asked for with each of their parts.
        self._fruitful: set[tuple[int, str]] = set()
        self._fruitless: set[tuple[int, str]] = set()

    def starts(self, node: ast.expr, unit: str) -> bool | None:
        """Whether a value has the property by itself (True), surely has not (False), or as its parts have it (None)."""
        raise NotImplementedError

    def begins(self) -> bool:
        """Whether anything in the module starts it, where that is quickly told; asked once."""
        return True

    @functools.cached_property
    def is_possible(self) -> bool:
        """Whether a value may have the property at all. What other files make may have any property."""
        return bool(self._nodes.made_elsewhere) or self.begins()

    def follow(self, node: ast.expr, unit: str) -> Steps:
        """Whether a value has the property; or the expressions and names any of which may bring it."""
        answer = self.starts(node, unit)
        if answer is not None:
            return answer
        kind = type(node)
        if kind is ast.Name:
            return [(unit, node.id), ("", node.id)]  # type: ignore[attr-defined]
        if kind is ast.Constant:
            return False
        if kind is ast.Attribute:
            return [("", node.attr), ("", ANY_OF_SELF), node.value]  # type: ignore[attr-defined]
        if isinstance(node, ast.Call):
            steps: list[ast.expr | Key] = [("", name_of(node.func) + "()"), *self._passed(node)]
            steps += [("", name + "()") for name in self._defined.picked(node.func, unit)]
            if name_of(node.func) in self._defined.classes:
                steps += [("", each) for each in PROTOCOL]
            if self._defined.may_call_object(node.func):  # a module, say
                steps += [("", "forward()"), ("", "__call__()")]
            return steps
        if isinstance(node, ast.Subscript) and (part := self.part(node, unit)):
            return part
        if isinstance(node, ast.Lambda):
            return [node.body]
        found: list[ast.expr | Key] = []
        found += expressions_in(node)
        return found

    def part(self, node: ast.Subscript, unit: str) -> list[ast.expr | Key]:
        """What may bring it into a part of a tuple that a function of the module returns; nothing for other items."""
        key = self._defined.part_of_result(node)
        if key is None or self.starts(node.value, unit) is not None:
            return []
        return [key, *self._passed(node.value)]  # type: ignore[arg-type]

    def _passed(self, call: ast.Call) -> list[ast.expr | Key]:
        """What a call may hand through, unless it is of a plain function of the module."""
        if isinstance(call.func, ast.Name) and self._defined.returns_itself(call.func.id):
            return []
        passed: list[ast.expr | Key] = [*arguments_of(call)]
        return passed + [call.func.value] if isinstance(call.func, ast.Attribute) else passed

    def holds(self, node: ast.expr, unit: str) -> bool:
        """Whether an expression's value may have the property."""
        if not self.is_possible:
            return False
        reached_from: dict[Key, Key | None] = {}
        seen = {(id(node), unit)}  # a default (`n=n`) or an annotation may lead back to itself
        waiting: list[tuple[ast.expr, str, Key | None]] = [(node, unit, None)]
        fruitless, fruitful, made_elsewhere = self._fruitless, self._fruitful, self._nodes.made_elsewhere
        while waiting:
            each, place, origin = waiting.pop()
            here = (id(each), place)
            if here in fruitless:
                continue
            steps: Steps = True
            if id(each) in made_elsewhere:
                self._nodes.fed.add(place)
            elif here not in fruitful:
                steps = self.follow(each, place)
            found = steps is True
            for step in () if isinstance(steps, bool) else steps:
                if type(step) is not tuple:
                    if (id(step), place) not in seen:
                        seen.add((id(step), place))
                        waiting.append((step, place, origin))  # type: ignore[arg-type]
                elif step in self._has:
                    found = True
                    break
                elif step not in reached_from and step not in self._has_not:
                    reached_from[step] = origin
                    waiting += [(value, where, step) for value, where in self.definitions.get(step, ())]
            if found:
                while origin is not None:
                    self._has.add(origin)
                    origin = reached_from[origin]
                fruitful.add((id(node), unit))
                return True
        self._has_not.update(reached_from)
        fruitless.update(seen)
        return False


class TensorFlow(Flow):
    """A flow of tensors: what only tells about one (`x.shape`) has no property of it."""

    def follow(self, node: ast.expr, unit: str) -> Steps:
        """As in `Flow`, but for such attributes."""
        if isinstance(node, ast.Attribute) and node.attr in _ABOUT:
            return False
        return super().follow(node, unit)


_ABOUT = frozenset({"shape", "dtype", "device", "ndim"})
