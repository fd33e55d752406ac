"""Containers that code stores items in, by the way it is written: what they were made with does not tell what they hold."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from stridelint.rules.forms.walking import children

_FILLING = frozenset({"update", "setdefault", "append", "extend", "insert", "appendleft", "extendleft"})


def names_in_functions(module: cst.Module) -> set[str]:
    """Those with a name that functions of a module, or methods, store items in."""
    return {each.value for each, inside in _filled(module) if inside and isinstance(each, cst.Name)}


def attributes_of(cls: cst.ClassDef) -> frozenset[str]:
    """Attributes of a class that its body stores items in, and its methods by the class's name: in them, or in their items."""
    found = set()
    for container, inside in _filled(cls):
        while isinstance(container, cst.Subscript):
            container = container.value
        if isinstance(container, cst.Name) and not inside:
            found.add(container.value)
        elif isinstance(container, cst.Attribute) and isinstance(container.value, cst.Name):
            if container.value.value in ("cls", cls.name.value):
                found.add(container.attr.value)
    return frozenset(found)


def _filled(root: cst.CSTNode) -> Iterator[tuple[cst.BaseExpression, bool]]:
    """All containers that code stores items in, and whether it does so in a function."""
    waiting: list[tuple[cst.CSTNode, bool]] = [(root, False)]
    while waiting:
        node, inside = waiting.pop()
        for container in filled_by(node):
            yield container, inside
        if type(node) is not cst.Name:
            inside = inside or type(node) is cst.FunctionDef
            waiting += [(child, inside) for child in children(node)]


def filled_by(node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """The containers that a node itself stores items in: `x[i] = ...`, `x.append(...)`."""
    if type(node) is cst.Assign:
        for each in node.targets:
            target = each.target
            if type(target) is cst.Subscript:
                yield target.value
    elif type(node) is cst.Call:
        function = node.func
        if type(function) is cst.Attribute and function.attr.value in _FILLING:
            yield function.value
