"""Which functions of a module may run where something is called."""

from __future__ import annotations

import ast
from typing import TypeAlias

from stridelint.rules.screening.expressions import beginning_of, name_of
from stridelint.rules.screening.nodes import Nodes

Function: TypeAlias = tuple[ast.arguments, str]
# What runs when an object is called.
_OF_OBJECTS = ("forward", "__call__")


class Callees:
    """The functions of a module by name, with what decorators put around them and what is defined in them.

    of: their arguments and units; of classes, those of their constructors. decorators: by the name of a function, those that
    it has, by the name that each begins with.
    """

    def __init__(self, nodes: Nodes) -> None:
        self.of: dict[str, list[Function]] = {}
        self.classes = {cls.name for cls in nodes.classes}
        self.decorators: dict[str, list[str]] = {}
        self._decorated: dict[str, list[str]] = {}
        self._within: dict[str, list[str]] = {}
        for function, unit in nodes.functions:
            self.of.setdefault(function.name, []).append((function.args, unit))
            if function.decorator_list:
                self.decorators[function.name] = [beginning_of(each) for each in function.decorator_list]
            if not nodes.unit_of(function):
                self._within.setdefault(_outermost(unit), []).append(function.name)
        for name, roots in self.decorators.items():
            for root in roots:
                self._decorated.setdefault(root, []).append(name)

    def within(self, name: str) -> list[str]:
        """Functions that are defined in one of the module."""
        return self._within.get(name, [])

    def made_by(self, name: str) -> list[Function]:
        """What may run when the result of a function or class of the module is called."""
        if name not in self.of and name not in self.classes:
            return []
        return [each for own in (*self.within(name), *_OF_OBJECTS) for each in self.of.get(own, [])]

    def of_objects(self) -> list[Function]:
        """What may run when some object is called."""
        return [each for name in _OF_OBJECTS for each in (*self.of.get(name, []), *self._around(name))]

    def beyond(self, call: ast.Call, unit: str) -> list[Function]:
        """What else may run than the functions of the callee's name: in a decorator, what it decorates."""
        found = self._around(name_of(call.func))
        if isinstance(call.func, ast.Name) and call.func.id not in self.of:
            found += [each for own in self._decorated.get(_outermost(unit), ()) for each in self.of[own]]
        return found

    def _around(self, name: str) -> list[Function]:
        """What decorators of the module put around functions of that name."""
        return [each for root in self.decorators.get(name, ()) for each in self.made_by(root)]


def _outermost(unit: str) -> str:
    """The name of the function that a unit is."""
    return unit.partition("#")[0]
