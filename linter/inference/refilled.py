"""Containers that code stores items in, by the way it is written: what they were made with does not tell what they hold."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from stridelint.rules.forms.walking import walk

_FILLING = frozenset({"update", "setdefault", "append", "extend", "insert", "appendleft", "extendleft"})


def attributes(node: cst.CSTNode) -> set[str]:
    """Those that are attributes of `self`."""
    return {
        each.attr.value
        for each in _filled(node)
        if isinstance(each, cst.Attribute) and isinstance(each.value, cst.Name) and each.value.value == "self"
    }


def names(node: cst.CSTNode) -> set[str]:
    """Those that have a name."""
    return {each.value for each in _filled(node) if isinstance(each, cst.Name)}


def names_in_functions(module: cst.Module) -> set[str]:
    """Those with a name that functions of a module, or methods, store items in."""
    functions = [each for each in walk(module, cst.FunctionDef) if isinstance(each, cst.FunctionDef)]
    return {name for function in functions for name in names(function.body)}


def _filled(node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    for each in walk(node, cst.Assign, cst.Call):
        if isinstance(each, cst.Assign):
            for target in each.targets:
                if isinstance(target.target, cst.Subscript):
                    yield target.target.value
        elif isinstance(each, cst.Call) and isinstance(each.func, cst.Attribute) and each.func.attr.value in _FILLING:
            yield each.func.value
