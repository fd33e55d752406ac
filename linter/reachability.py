"""What the functions of a module can reach by name, on the stdlib tree: the functions and classes they name, and what those name."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from stridelint.rules.rule import Rule
from stridelint.rules.screening import FUNCTIONS
from stridelint.rules.screening.expressions import beginning_of


@dataclass(frozen=True)
class Unit:
    """A function of the module, or a method of one of its classes."""

    node: ast.FunctionDef | ast.AsyncFunctionDef
    owner: ast.ClassDef | None
    names: frozenset[str]
    variables: frozenset[str]


def functions_of(
    body: Iterable[ast.stmt],
) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, ast.ClassDef | None]]:
    """Top-level functions and methods, in order; also those inside top-level if / try / with / for."""
    for statement in body:
        if isinstance(statement, FUNCTIONS):
            yield statement, None
        elif isinstance(statement, ast.ClassDef):
            for member in statement.body:
                if isinstance(member, FUNCTIONS):
                    yield member, statement
        else:
            for block in _blocks(statement):
                yield from functions_of(block)


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(statement, name, None)
        if isinstance(block, list):
            yield block
    for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield part.body


def globals_of(body: Iterable[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    """The names that top-level statements assign, with what they assign."""
    for statement in body:
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                for each in ast.walk(target):
                    if isinstance(each, ast.Name):
                        yield each.id, statement.value
        elif (
            isinstance(statement, ast.AnnAssign)
            and statement.value is not None
            and isinstance(statement.target, ast.Name)
        ):
            yield statement.target.id, statement.value
        elif not isinstance(statement, FUNCTIONS):
            for block in _blocks(statement):
                yield from globals_of(block)


def _called(unit: Unit) -> set[str]:
    """By which names a function is reached: its own, for a method its class's too."""
    return {unit.node.name} if unit.owner is None else {unit.owner.name, unit.node.name} - _COMMON


# Method names that say nothing about which class is meant.
_COMMON = frozenset(
    "forward __init__ __call__ __getitem__ __iter__ __len__ __enter__ __exit__ __post_init__ setUp to get update step".split()
)


def names_of(units: list[Unit], chosen: list[bool]) -> set[str]:
    """By which names the chosen functions are reached."""
    return {name for unit, is_chosen in zip(units, chosen) if is_chosen for name in _called(unit)}


def reaching(
    units: list[Unit], spoken: list[bool], globals_: dict[str, frozenset[str]], telling: set[str]
) -> list[bool]:
    """Functions from which one with a word, or a constant with one (`telling`), can be reached by name."""
    known = list(spoken)
    while True:
        names = names_of(units, known) | telling
        names |= {name for name, parts in globals_.items() if not names.isdisjoint(parts)}
        classes = {
            unit.owner.name for unit in units if unit.owner is not None and not names.isdisjoint(base_names(unit.owner))
        }
        found = [leads or not (names | classes).isdisjoint(unit.names) for leads, unit in zip(known, units)]
        if found == known:
            return known
        known = found


def reached(
    units: list[Unit], firing: list[frozenset[type[Rule]]], globals_: dict[str, frozenset[str]]
) -> list[frozenset[type[Rule]]]:
    """The rules that may fire in each function and in what it can reach by name, through its class and constants too."""
    by_name: dict[str, set[int]] = {}
    for index, unit in enumerate(units):
        for name in {unit.node.name} if unit.owner is None else {unit.node.name, unit.owner.name}:
            by_name.setdefault(name, set()).add(index)
    known = by_name.keys() | globals_.keys()
    leading = [
        (unit.names | ({unit.owner.name} | base_names(unit.owner) if unit.owner is not None else set())) & known
        for unit in units
    ]
    through = {name: parts & known for name, parts in globals_.items()}
    rules_of: dict[str, frozenset[type[Rule]]] = {
        name: frozenset().union(*(firing[index] for index in indices)) for name, indices in by_name.items()
    }
    while True:
        found = {
            name: frozenset().union(
                rules_of.get(name, frozenset()),
                *(rules_of.get(each, frozenset()) for each in through.get(name, ())),
                *(rules_of.get(each, frozenset()) for index in by_name.get(name, ()) for each in leading[index]),
            )
            for name in known
        }
        if found == rules_of:
            break
        rules_of = found
    return [own.union(*(rules_of[name] for name in names)) for own, names in zip(firing, leading)]


def base_names(cls: ast.ClassDef) -> set[str]:
    """The last names of the classes that a class derives from."""
    return {
        each.id if isinstance(each, ast.Name) else each.attr
        for each in cls.bases
        if isinstance(each, (ast.Name, ast.Attribute))
    }


def needed(units: list[Unit], roots: set[int], body: frozenset[str], globals_: dict[str, frozenset[str]]) -> set[int]:
    """Roots and all that they may call: functions and classes they name, with what those name in turn."""
    kept = set(roots)
    names = set(body)
    while True:
        classes = {unit.owner.name for index, unit in enumerate(units) if index in kept and unit.owner is not None}
        for index in kept:
            names |= units[index].variables
        for name in list(names):
            names |= globals_.get(name, frozenset())
        for unit in units:
            if unit.owner is not None and (unit.owner.name in names or unit.owner.name in classes):
                classes.add(unit.owner.name)
                names |= base_names(unit.owner)
        names |= _registered(units, kept, names, globals_)
        found = {
            index
            for index, unit in enumerate(units)
            if index in kept
            or (unit.owner is None and unit.node.name in names)
            or (unit.owner is not None and unit.owner.name in classes)
        }
        if found == kept:
            return kept
        kept = found


def _registered(units: list[Unit], kept: set[int], names: set[str], globals_: Mapping[str, frozenset[str]]) -> set[str]:
    """Decorators that fill a container among `names`, and what they put there under a text that stands in kept functions."""
    functions = {unit.node.name: unit for unit in units if unit.owner is None}
    found: dict[str, list[ast.expr]] = {}
    registering: set[str] = set()
    for unit in units:
        node = unit.node if unit.owner is None else unit.owner
        if node.name not in found and node.decorator_list:
            roots = {beginning_of(each) for each in node.decorator_list}
            inside = [functions[root].variables for root in roots if root in functions]
            if roots.union(*inside) & globals_.keys() & names:
                found[node.name] = node.decorator_list
                registering |= roots & functions.keys()
    if not found:
        return set()
    said = {text for index in kept for text in _texts([units[index].node])}
    return registering | {
        name for name, decorators in found.items() if not said.isdisjoint({name, *_texts(decorators)})
    }


def _texts(nodes: Iterable[ast.AST]) -> set[str]:
    return {
        each.value
        for node in nodes
        for each in ast.walk(node)
        if isinstance(each, ast.Constant) and isinstance(each.value, str)
    }
