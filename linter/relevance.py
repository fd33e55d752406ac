"""Which parts of a file are worth reading, decided on the stdlib tree before LibCST parses anything.

A function is read on its own if it holds a word of some rule, or makes tensors and calls one that does; a test, and the
module's own statements, if they lead to one in any way. What those
need (the functions they call, their classes) is kept; the bodies of all other functions are blanked out, line by line, so
that LibCST does not parse them and every position stays what it was.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from stridelint.linter import source
from stridelint.linter.blanking import blanked, can_be_blanked
from stridelint.linter.statistics import timed
from stridelint.rules.rule import Rule
from stridelint.rules.screening import FUNCTIONS, IN_PLACE, Nodes, name_of
from stridelint.rules.screening.expressions import beginning_of

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
# Names whose use gives a tensor some fact: a caller without any of them tells a function nothing about its arguments.
_SOURCES = frozenset(
    """zeros ones empty full rand randn randint arange linspace eye tensor as_tensor from_numpy one_hot hann_window randperm Tensor
    FloatTensor LongTensor HalfTensor channels_last channels_last_3d memory_format half double long byte bfloat16 requires_grad_
    DataLoader default_rng contiguous""".split()
)
# Those of them that give it a fact which is not the usual one.
_UNUSUAL = frozenset(
    """channels_last channels_last_3d memory_format half double long byte bfloat16 requires_grad_ randint arange one_hot randperm
    LongTensor HalfTensor from_numpy bool int64 int32 uint8 complex64 float64 float16 expand""".split()
)
# Names that decide what torch makes of a tensor in the end, which is reason enough to follow it into other files.
_DECIDING = frozenset({"channels_last", "channels_last_3d", "memory_format", "requires_grad_"})


@dataclass(frozen=True)
class Plan:
    """What to read of a module.

    text: the source with the bodies of functions that do not matter blanked out; left_out: these functions.
    roots: functions to read on their own, numbered as they stand in the file (see `functions_of`); whether they hold a
        word of a rule themselves, or only lead to a function that does.
    rules: for roots in which only some rules may fire, and in what they call: these.
    body: whether the module's own statements are worth running.
    telling: names that matter: of the rules' words, of what gives tensors facts, of functions that lead to either; None: all.
    following: roots (None: the module's own statements) that are followed into other files of the project.
    """

    text: str
    left_out: frozenset[ast.AST]
    roots: Mapping[int, bool]
    rules: Mapping[int, frozenset[type[Rule]]]
    body: bool
    telling: frozenset[str] | None
    following: frozenset[int | None]


@dataclass(frozen=True)
class _Unit:
    """A function of the module, or a method of one of its classes."""

    node: ast.FunctionDef | ast.AsyncFunctionDef
    owner: ast.ClassDef | None
    names: frozenset[str]
    variables: frozenset[str]


@timed("plan")
def plan(text: str, tree: ast.Module, nodes: Nodes, rules: Iterable[type[Rule]]) -> Plan:
    """What to read, for the rules that passed the screen."""
    rules = tuple(rules)
    places = [(_identifiers(rule.words), rule.places_in(nodes)) for rule in rules]
    wanted = {word for words, found in places if found is None for word in words}
    exact = frozenset().union(*(found for _, found in places if found is not None))
    units = [
        _Unit(node, owner, frozenset(nodes.names_in(node)), frozenset(nodes.variables_in(node)))
        for node, owner in functions_of(tree.body)
    ]
    globals_ = {name: nodes.names_below(value) for name, value in _globals(tree.body)}
    body = frozenset(nodes.names_in(None))
    firing = [
        frozenset(
            rule
            for rule, (words, found) in zip(rules, places)
            if (any(word <= unit.names for word in words) if found is None else nodes.unit_of(unit.node) in found)
        )
        for unit in units
    ]
    spoken = [bool(found) for found in firing]
    spoken_globals = {name for name, parts in globals_.items() if any(word <= parts for word in wanted)}
    reaching = _reaching(units, spoken, globals_, spoken_globals)
    near, sources = _hot_names(units, spoken), _sources_of_objects(units)
    following: set[int | None] = {
        index for index, unit in enumerate(units) if _leads_out(nodes, unit.names, nodes.unit_of(unit.node))
    }
    roots = {
        index: spoken[index]
        for index, unit in enumerate(units)
        if spoken[index]
        or (reaching[index] and unit.node.name.startswith("test"))
        or not near.isdisjoint(unit.names)
        and (not _feeding(unit).isdisjoint(unit.names) or _passes_attributes(unit, near, sources))
        or index in following
    }
    leading = _hot_names(units, reaching) | nodes.imported
    telling = frozenset().union(*(word for words, _ in places for word in words), _SOURCES, leading)
    runs = "" in exact or any(word <= body for word in wanted) or not _hot_names(units, reaching).isdisjoint(body)
    if _leads_out(nodes, body, ""):
        runs = True
        following.add(None)
    kept = _needed(units, set(roots), body if runs else frozenset(), globals_)
    tests = {index for index in roots if units[index].node.name.startswith("test")}
    reached = _reached(units, firing, globals_)
    lines = source.lines_with_ends(text)
    left_out = [unit.node for index, unit in enumerate(units) if index not in kept and can_be_blanked(lines, unit.node)]
    return Plan(
        blanked(lines, left_out),
        frozenset(left_out),
        roots,
        {index: reached[index] for index in roots if index not in tests and index not in following},
        runs,
        telling if all(rule.words for rule in rules) else None,
        frozenset(following),
    )


def everything(text: str, tree: ast.Module) -> Plan:
    """A plan that leaves nothing out."""
    count = sum(1 for _ in functions_of(tree.body))
    return Plan(text, frozenset(), dict.fromkeys(range(count), True), {}, True, None, frozenset((None, *range(count))))


def _feeding(unit: _Unit) -> frozenset[str]:
    """Names in a function that make it worth reading for what it hands to others.

    With parameters of its own, a function is part of a library: the ordinary tensors it makes tell others little.
    """
    arguments = unit.node.args
    positional = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
    required = positional[: len(positional) - len(arguments.defaults)]
    return _UNUSUAL if set(required) - {"self", "cls"} else _SOURCES


def _sources_of_objects(units: Iterable[_Unit]) -> frozenset[str]:
    """Classes whose objects are made with tensors, and those that derive from them."""
    makers = {
        unit.owner.name
        for unit in units
        if unit.owner is not None and unit.node.name in _CONSTRUCTORS and not _SOURCES.isdisjoint(unit.names)
    }
    owners = {unit.owner for unit in units if unit.owner is not None}
    while True:
        heirs = {each.name for each in owners if not makers.isdisjoint(_base_names(each))} - makers
        if not heirs:
            return frozenset(makers)
        makers |= heirs


def _passes_attributes(unit: _Unit, near: set[str], sources: frozenset[str]) -> bool:
    """A method that hands what its object was made with to a function that is worth reading."""
    return (
        unit.owner is not None
        and unit.owner.name in sources
        and any(
            isinstance(each, ast.Call)
            and any(_is_own(argument) for argument in (*each.args, *(keyword.value for keyword in each.keywords)))
            and any(
                isinstance(part, (ast.Name, ast.Attribute)) and name_of(part) in near for part in ast.walk(each.func)
            )
            for each in ast.walk(unit.node)
        )
    )


def _is_own(node: ast.expr) -> bool:
    """`self.name`, or a part of it."""
    while isinstance(node, (ast.Subscript, ast.Starred)):
        node = node.value
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


def _leads_out(nodes: Nodes, names: frozenset[str], unit: str) -> bool:
    """Whether a unit may hand something unusual to functions of other files, or gets something from them."""
    return not nodes.imported.isdisjoint(names) and (
        unit in nodes.fed
        or not _DECIDING.isdisjoint(names)
        or not nodes.converting.isdisjoint(nodes.variables_of(unit))
    )


def _identifiers(words: Iterable[str]) -> set[frozenset[str]]:
    """The identifiers of each word; what says nothing by itself, like `+=`, is found by its kind."""
    return {frozenset(_IDENTIFIER.findall(word) or ({IN_PLACE} if word else ())) for word in words or ("",)}


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


def _globals(body: Iterable[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
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
                yield from _globals(block)


def _called(unit: _Unit) -> set[str]:
    """By which names a function is reached: its own, for a method its class's too."""
    return {unit.node.name} if unit.owner is None else {unit.owner.name, unit.node.name} - _COMMON


_CONSTRUCTORS = frozenset({"__init__", "__post_init__", "setUp", "setup_method"})
# Method names that say nothing about which class is meant.
_COMMON = frozenset(
    "forward __init__ __call__ __getitem__ __iter__ __len__ __enter__ __exit__ __post_init__ setUp to get update step".split()
)


def _hot_names(units: list[_Unit], hot: list[bool]) -> set[str]:
    return {name for unit, is_hot in zip(units, hot) if is_hot for name in _called(unit)}


def _reaching(
    units: list[_Unit], spoken: list[bool], globals_: dict[str, frozenset[str]], telling: set[str]
) -> list[bool]:
    """Functions from which one with a word, or a constant with one (`telling`), can be reached by name."""
    reaching = list(spoken)
    while True:
        names = _hot_names(units, reaching) | telling
        names |= {name for name, parts in globals_.items() if not names.isdisjoint(parts)}
        classes = {
            unit.owner.name
            for unit in units
            if unit.owner is not None and not names.isdisjoint(_base_names(unit.owner))
        }
        found = [known or not (names | classes).isdisjoint(unit.names) for known, unit in zip(reaching, units)]
        if found == reaching:
            return reaching
        reaching = found


def _reached(
    units: list[_Unit], firing: list[frozenset[type[Rule]]], globals_: dict[str, frozenset[str]]
) -> list[frozenset[type[Rule]]]:
    """The rules that may fire in each function and in what it can reach by name, through its class and constants too."""
    by_name: dict[str, set[int]] = {}
    for index, unit in enumerate(units):
        for name in {unit.node.name} if unit.owner is None else {unit.node.name, unit.owner.name}:
            by_name.setdefault(name, set()).add(index)
    known = by_name.keys() | globals_.keys()
    leading = [
        (unit.names | ({unit.owner.name} | _base_names(unit.owner) if unit.owner is not None else set())) & known
        for unit in units
    ]
    through = {name: parts & known for name, parts in globals_.items()}
    reached: dict[str, frozenset[type[Rule]]] = {
        name: frozenset().union(*(firing[index] for index in indices)) for name, indices in by_name.items()
    }
    while True:
        found = {
            name: frozenset().union(
                reached.get(name, frozenset()),
                *(reached.get(each, frozenset()) for each in through.get(name, ())),
                *(reached.get(each, frozenset()) for index in by_name.get(name, ()) for each in leading[index]),
            )
            for name in known
        }
        if found == reached:
            break
        reached = found
    return [own.union(*(reached[name] for name in names)) for own, names in zip(firing, leading)]


def _base_names(cls: ast.ClassDef) -> set[str]:
    return {
        each.id if isinstance(each, ast.Name) else each.attr
        for each in cls.bases
        if isinstance(each, (ast.Name, ast.Attribute))
    }


def _needed(units: list[_Unit], roots: set[int], body: frozenset[str], globals_: dict[str, frozenset[str]]) -> set[int]:
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
                names |= _base_names(unit.owner)
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


def _registered(
    units: list[_Unit], kept: set[int], names: set[str], globals_: Mapping[str, frozenset[str]]
) -> set[str]:
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
