"""Which parts of a file are worth reading, decided on the stdlib tree before LibCST parses anything.

A function is read on its own if it holds a word of some rule, or makes tensors and calls one that does; a test, and the
module's own statements, if they lead to one in any way. What those
need (the functions they call, their classes) is kept; the bodies of all other functions are blanked out, line by line, so
that LibCST does not parse them and every position stays what it was.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass

from stridelint.linter import reachability, source
from stridelint.linter.blanking import blanked, can_be_blanked
from stridelint.linter.reachability import Unit, base_names, functions_of
from stridelint.linter.statistics import timed
from stridelint.rules.rule import Rule
from stridelint.rules.screening import IN_PLACE, Nodes, name_of

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
# Names whose use gives a tensor some fact: a caller without any of them tells a function nothing about its arguments.
_SOURCES = frozenset(
    """zeros ones empty full rand randn randint arange linspace eye tensor as_tensor from_numpy frombuffer one_hot hann_window randperm Tensor
    FloatTensor LongTensor HalfTensor channels_last channels_last_3d memory_format half double long byte bfloat16 requires_grad_
    DataLoader default_rng contiguous""".split()
)
# Those of them that give it a fact which is not the usual one.
_UNUSUAL = frozenset(
    """channels_last channels_last_3d memory_format half double long byte bfloat16 requires_grad_ randint arange one_hot randperm
    LongTensor HalfTensor from_numpy frombuffer bool int64 int32 uint8 complex64 float64 float16 expand""".split()
)
# Methods that give a tensor's axes another order.
_ORDERING = frozenset("permute transpose t T mT movedim moveaxis swapaxes swapdims".split())
# Methods that an object is made with.
_CONSTRUCTORS = frozenset({"__init__", "__post_init__", "setUp", "setUpClass", "setup_class", "setup_method"})
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


@timed("plan")
def plan(text: str, tree: ast.Module, nodes: Nodes, rules: Iterable[type[Rule]]) -> Plan:
    """What to read, for the rules that passed the screen."""
    rules = tuple(rules)
    places = [(_identifiers(rule.words), rule.places_in(nodes)) for rule in rules]
    wanted = {word for words, found in places if found is None for word in words}
    exact = frozenset().union(*(found for _, found in places if found is not None))
    units = [
        Unit(node, owner, frozenset(nodes.names_in(node)), frozenset(nodes.variables_in(node)))
        for node, owner in functions_of(tree.body)
    ]
    globals_ = {name: nodes.names_below(value) for name, value in reachability.globals_of(tree.body)}
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
    reaching = reachability.reaching(units, spoken, globals_, spoken_globals)
    near, sources = reachability.names_of(units, spoken), _sources_of_objects(units)
    near |= {name for name, parts in globals_.items() if not near.isdisjoint(parts)}  # `run = Kernel.apply`
    doubting = {unit.node.name for unit, speaks in zip(units, spoken) if speaks} & _doubting(nodes)
    following: set[int | None] = {
        index for index, unit in enumerate(units) if _leads_out(nodes, unit.names, nodes.unit_of(unit.node))
    }
    roots = {
        index: spoken[index]
        for index, unit in enumerate(units)
        if spoken[index]
        or (reaching[index] and unit.node.name.startswith("test"))
        or not near.isdisjoint(unit.names)
        and (_feeds(unit) or _passes_attributes(unit, near, sources) or not doubting.isdisjoint(unit.names))
        or index in following
    }
    hot = reachability.names_of(units, reaching)
    leading = hot | nodes.imported
    telling = frozenset().union(*(word for words, _ in places for word in words), _SOURCES, leading)
    runs = "" in exact or any(word <= body for word in wanted) or not hot.isdisjoint(body)
    if _leads_out(nodes, body, ""):
        runs = True
        following.add(None)
    kept = reachability.needed(units, set(roots), body if runs else frozenset(), globals_)
    tests = {index for index in roots if units[index].node.name.startswith("test")}
    reached = reachability.reached(units, firing, globals_)
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


def _feeds(unit: Unit) -> bool:
    """Names in a function make it worth reading for what it hands to others.

    With parameters of its own, a function is part of a library: the ordinary tensors it makes tell others little.
    """
    arguments = unit.node.args
    positional = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
    required = positional[: len(positional) - len(arguments.defaults)]
    if _SOURCES.isdisjoint(unit.names) and _UNUSUAL.isdisjoint(unit.names):
        return False
    names = _names_of_values(unit.node)
    makes = not _SOURCES.isdisjoint(names)
    if set(required) <= {"self", "cls"}:
        return makes
    return not _UNUSUAL.isdisjoint(names) or (makes and not _ORDERING.isdisjoint(names))


def _doubting(nodes: Nodes) -> set[str]:
    """Functions that ask whether an argument is None though its annotation says a tensor: read on their own they trust the
    annotation, and only their callers lead to what they do without one."""
    asked = {
        (unit, node.left.id)
        for node, unit in nodes.compared
        if isinstance(node.left, ast.Name)
        and isinstance(node.ops[0], (ast.Is, ast.IsNot))
        and isinstance(node.comparators[0], ast.Constant)
    }
    return {
        function.name
        for function, unit in nodes.functions
        for each in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
        if (unit, each.arg) in asked and isinstance(each.annotation, (ast.Name, ast.Attribute, ast.Constant))
    }


def _names_of_values(function: ast.AST) -> set[str]:
    """The identifiers in a function but for its annotations: `mask: bool` makes no tensor of that dtype."""
    found: set[str] = set()
    waiting = [function]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.keyword) and node.arg is not None:
            found.add(node.arg)
        elif isinstance(node, ast.alias):
            found.add(node.name.rpartition(".")[2])
        annotations = (getattr(node, "annotation", None), getattr(node, "returns", None))
        waiting += [each for each in ast.iter_child_nodes(node) if each not in annotations]
    return found


def _sources_of_objects(units: Iterable[Unit]) -> frozenset[str]:
    """Classes whose objects are made with tensors, and those that derive from them."""
    makers = {
        unit.owner.name
        for unit in units
        if unit.owner is not None
        and unit.node.name in _CONSTRUCTORS
        and not _SOURCES.isdisjoint(unit.names)
        and not _SOURCES.isdisjoint(_names_of_values(unit.node))
    }
    owners = {unit.owner for unit in units if unit.owner is not None}
    while True:
        heirs = {each.name for each in owners if not makers.isdisjoint(base_names(each))} - makers
        if not heirs:
            return frozenset(makers)
        makers |= heirs


def _passes_attributes(unit: Unit, near: set[str], sources: frozenset[str]) -> bool:
    """A method that hands what its object was made with to a function that is worth reading."""
    if unit.owner is None or unit.owner.name not in sources:
        return False
    parts = list(ast.walk(unit.node))
    own = {
        each.targets[0].id
        for each in parts
        if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name) and _is_own(each.value)
    }
    return any(
        isinstance(each, ast.Call)
        and any(_is_own(argument, own) for argument in (*each.args, *(keyword.value for keyword in each.keywords)))
        and any(isinstance(part, (ast.Name, ast.Attribute)) and name_of(part) in near for part in ast.walk(each.func))
        for each in parts
    )


def _is_own(node: ast.expr, names: Container[str] = frozenset()) -> bool:
    """`self.name`, a part of it or what a method of it gives, itself or by one of these names."""
    while True:
        if isinstance(node, (ast.Subscript, ast.Starred)):
            node = node.value
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and not _is_name(node.func.value, "self")
        ):
            node = node.func.value
        elif isinstance(node, ast.Attribute) and not _is_name(node.value, "self"):
            node = node.value
        else:
            return isinstance(node, ast.Attribute) or (isinstance(node, ast.Name) and node.id in names)


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


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
