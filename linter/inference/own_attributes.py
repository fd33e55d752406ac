"""What the methods of a class do with `self`, by the way they are written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import libcst as cst

from stridelint.linter.inference.objects import Class
from stridelint.linter.inference.program import Program
from stridelint.linter.inference.refilled import filled_by
from stridelint.rules.forms.walking import walk

_CONSTRUCTORS = ("__init__", "__post_init__", "setUp", "setup_method")


class OwnUses(NamedTuple):
    """Names behind `self.`: of methods called, of attributes assigned, and of attributes that items are stored in."""

    called: frozenset[str]
    assigned: frozenset[str]
    filled: frozenset[str]


def changed_later(program: Program, cls: Class) -> OwnUses:
    """What is done in methods that the constructor does not call."""
    methods: dict[str, list[OwnUses]] = {}  # of one name, as `super()` may lead from one to the next
    for owner in cls.linearized():
        for statement in owner.node.body.body:
            if isinstance(statement, cst.FunctionDef):
                uses = program.once(statement, own_uses, statement)
                methods.setdefault(statement.name.value, []).append(uses)
    reached: set[str] = set()
    waiting = list(_CONSTRUCTORS)
    while waiting:
        name = waiting.pop()
        if name in methods and name not in reached:
            reached.add(name)
            waiting += [called for uses in methods[name] for called in uses.called]
    later = [uses for name, group in methods.items() if name not in reached for uses in group]
    return OwnUses(*(frozenset().union(*names) for names in zip(*later))) if later else _NONE


_NONE = OwnUses(frozenset(), frozenset(), frozenset())


def own_uses(method: cst.FunctionDef) -> OwnUses:
    """What one method does."""
    called: set[str] = set()
    assigned: set[str] = set()
    filled: set[str] = set()
    for node in walk(method, cst.Call, cst.Assign, cst.AnnAssign, cst.AugAssign):
        if type(node) is cst.Call:
            called.add(own_name(node.func))
        else:
            assigned.update(map(own_name, _targets(node)))
        for container in filled_by(node):
            filled.add(own_name(container))
    return OwnUses(*(frozenset(names - {""}) for names in (called, assigned, filled)))


def own_name(node: cst.CSTNode) -> str:
    """`name` of `self.name`; "" for anything else."""
    if type(node) is cst.Attribute and type(node.value) is cst.Name and node.value.value == "self":
        return node.attr.value
    return ""


def _targets(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """What a statement assigns to, parts of a tuple one by one."""
    if type(node) is cst.Assign:
        for each in node.targets:
            target = each.target
            if type(target) is cst.Tuple or type(target) is cst.List:
                yield from (element.value for element in target.elements)
            else:
                yield target
    elif isinstance(node, (cst.AnnAssign, cst.AugAssign)):
        yield node.target
