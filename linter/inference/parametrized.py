"""The choices of a test's parameters: `parametrize` and `expand` decorators, and fixtures with `params`."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import libcst as cst

from stridelint.linter.inference import strategies
from stridelint.linter.inference.bindings import dotted_name, flat_statements
from stridelint.linter.inference.dispatch import evaluate
from stridelint.linter.inference.iteration import items_of
from stridelint.linter.inference.objects import Class
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.scopes import ModuleScope, Scope
from stridelint.linter.inference.values import Constant, Sequence, Unknown, Value, is_none

MAX_CHOICES = 24
_WORD = re.compile(r"[a-z0-9]+(?:[_ -][a-z0-9]+)*")


@dataclass(frozen=True)
class Choice:
    """One value of a parametrize list: for which names, where it is written, and the words written there."""

    names: tuple[str, ...]
    values: tuple[Value, ...]
    node: cst.CSTNode
    text: str
    words: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Choices:
    """A parametrize list. `complete`: no value was left out; `words`: those of the whole decorator and of the list it names."""

    choices: list[Choice]
    complete: bool
    words: frozenset[str]


def words_of(text: str) -> frozenset[str]:
    """The words of a text, and pairs of neighbours: "size_one" and "size one" give size, one and size_one."""
    found: set[str] = set()
    for run in _WORD.findall(text.lower()):
        parts = [part for part in re.split(r"[_ -]", run) if part]
        found.update(parts)
        found.update(f"{left}_{right}" for left, right in itertools.pairwise(parts))
    return frozenset(found)


def choices_of(
    path: Path, scope: ModuleScope, node: cst.FunctionDef, owner: cst.ClassDef | None, fixtures: Fixtures
) -> list[Choices]:
    """All lists of choices that a test runs through."""
    found: list[Choices] = []
    decorators = [*node.decorators, *(owner.decorators if owner is not None else ())]
    for call in [*(each.decorator for each in decorators), *_marks(path, owner)]:
        if not isinstance(call, cst.Call):
            continue
        name = dotted_name(call.func).split(".")[-1]
        if name == "parametrize" and len(call.args) >= 2:
            names = _names(path, scope, call)
            if names:
                found.append(_choices(path, scope, call, names, call.args[1].value))
        elif name == "expand" and call.args:
            found.append(_choices(path, scope, call, _own_names(node, owner), call.args[0].value))
        elif name == "given":
            found += _drawn(path, scope, call, _own_names(node, owner))
    given = {name for choices in found for choice in choices.choices for name in choice.names}
    for param in node.params.params:
        if param.name.value not in given:
            found += _of_fixture(path, scope, param.name.value, fixtures, set())
    return found


def _drawn(path: Path, scope: ModuleScope, call: cst.Call, names: tuple[str, ...]) -> list[Choices]:
    found = []
    for name, written in strategies.drawn(call, names):
        listed = strategies.listed(path, scope, written)
        if isinstance(listed, list):
            choices = [Choice((name,), (value,), written, "") for value in listed]
            found.append(Choices(choices, True, words_of(path.program.written(written))))
        elif listed is not None:
            found.append(_choices(path, scope, call, (name,), listed))
    return found


def _marks(path: Path, owner: cst.ClassDef | None) -> list[cst.BaseExpression]:
    """What `pytestmark` says for all tests of the class and of the module."""
    module = path.program.module
    values = list(path.program.once(module, _marked, module))
    if owner is not None:
        values += _marked(owner.body)
    return [
        each
        for value in values
        for each in ([part.value for part in value.elements] if isinstance(value, (cst.List, cst.Tuple)) else [value])
    ]


def _marked(block: cst.Module | cst.BaseSuite) -> list[cst.BaseExpression]:
    return [
        small.value
        for line in block.body
        if isinstance(line, cst.SimpleStatementLine)
        for small in line.body
        if isinstance(small, cst.Assign)
        and isinstance(small.targets[0].target, cst.Name)
        and small.targets[0].target.value == "pytestmark"
    ]


@dataclass(frozen=True)
class Fixture:
    """A function that makes a test's argument; `owner` is the class whose method it is; `automatic`: it always runs."""

    node: cst.FunctionDef
    owner: Class | None
    automatic: bool


Fixtures: TypeAlias = Mapping[str, Fixture]


def fixtures_of(path: Path, cls: Class | None) -> Fixtures:
    """The fixtures that a test of this class may name: those of the file, and those of the class and its bases."""
    module = path.program.module
    found = dict(path.program.once(module, _module_fixtures, module))
    for owner in reversed(cls.linearized() if cls is not None else ()):
        found.update(_fixtures(owner.node.body.body, owner))
    return found


def _module_fixtures(module: cst.Module) -> dict[str, Fixture]:
    return _fixtures(flat_statements(module.body), None)


def _fixtures(statements: Iterable[cst.CSTNode], owner: Class | None) -> dict[str, Fixture]:
    found = {}
    for node in statements:
        for decorator in node.decorators if isinstance(node, cst.FunctionDef) else ():
            called = decorator.decorator
            target, args = (called.func, called.args) if isinstance(called, cst.Call) else (called, ())
            if isinstance(node, cst.FunctionDef) and "fixture" in dotted_name(target):
                options = {arg.keyword.value: arg.value for arg in args if arg.keyword is not None}
                alias, automatic = options.get("name"), options.get("autouse")
                name = alias.evaluated_value if isinstance(alias, cst.SimpleString) else node.name.value
                found[str(name)] = Fixture(node, owner, isinstance(automatic, cst.Name) and automatic.value == "True")
    return found


def request_of(name: str) -> str:
    """Under which name the value of `request.param` is given to a fixture."""
    return f"{name}/request.param"


def _of_fixture(path: Path, scope: ModuleScope, name: str, fixtures: Fixtures, seen: set[str]) -> list[Choices]:
    if name not in fixtures or name in seen:
        return []
    seen.add(name)
    node = fixtures[name].node
    found: list[Choices] = []
    for decorator in node.decorators:
        call = decorator.decorator
        for arg in call.args if isinstance(call, cst.Call) else ():
            if arg.keyword is not None and arg.keyword.value == "params" and isinstance(call, cst.Call):
                found.append(_choices(path, scope, call, (request_of(name),), arg.value))
    for param in node.params.params:
        found += _of_fixture(path, scope, param.name.value, fixtures, seen)
    return found


def _own_names(node: cst.FunctionDef, owner: cst.ClassDef | None) -> tuple[str, ...]:
    names = tuple(param.name.value for param in node.params.params)
    return names if owner is None else names[1:]


def _names(path: Path, scope: Scope, call: cst.Call) -> tuple[str, ...]:

    with path.mute():
        value = evaluate(path, scope, call.args[0].value)
        indirect = next(
            (
                evaluate(path, scope, arg.value)
                for arg in call.args
                if arg.keyword is not None and arg.keyword.value == "indirect"
            ),
            None,
        )
    if isinstance(value, Constant) and isinstance(value.value, str):
        names = tuple(name.strip() for name in value.value.split(",") if name.strip())
    elif isinstance(value, Sequence) and value.items is not None:
        names = tuple(str(each.value) for each in value.items if isinstance(each, Constant))
    else:
        return ()
    if isinstance(indirect, Sequence) and indirect.items is not None:
        through = {each.value for each in indirect.items if isinstance(each, Constant)}
        return tuple(request_of(name) if name in through else name for name in names)
    return (
        names
        if is_none(indirect) or path.known_truth(indirect or Unknown()) is False
        else tuple(request_of(name) for name in names)
    )


def _choices(
    path: Path, scope: ModuleScope, call: cst.Call, names: tuple[str, ...], written: cst.BaseExpression
) -> Choices:

    with path.mute():
        items, exhaustive = items_of(path, evaluate(path, scope, written))
    nodes, words = _written_items(path, scope, written)
    words |= words_of(path.program.written(call))
    result = []
    for index, item in enumerate(items[:MAX_CHOICES]):
        known = nodes is not None and len(nodes) == len(items)
        node: cst.CSTNode = nodes[index] if nodes is not None and known else call
        text = " ".join(path.program.written(node).split()) if known else ""
        values = _unwrapped(item, len(names)) if exhaustive else None
        result.append(Choice(names, values or tuple(Unknown(name) for name in names), node, text, words_of(text)))
    return Choices(
        result or [Choice(names, tuple(Unknown(name) for name in names), call, "")],
        exhaustive and len(items) <= MAX_CHOICES,
        words,
    )


def _written_items(
    path: Path, scope: ModuleScope, written: cst.BaseExpression
) -> tuple[list[cst.BaseExpression] | None, frozenset[str]]:
    """The nodes of a list's items, where it is written out here or assigned to a name at the top of the file."""
    words: frozenset[str] = frozenset()
    if isinstance(written, cst.Name):
        binding = scope.index.find(written.value)
        if binding is None or not isinstance(binding.node, (cst.Assign, cst.AnnAssign)) or binding.node.value is None:
            return None, words
        written = binding.node.value
        words = words_of(path.program.written(written))
    if isinstance(written, (cst.List, cst.Tuple)) and not any(
        isinstance(each, cst.StarredElement) for each in written.elements
    ):
        return [each.value for each in written.elements], words
    return None, words


def _unwrapped(item: Value, count: int) -> tuple[Value, ...] | None:
    if isinstance(item, Sequence) and item.kind == "subtest" and item.items:
        return _unwrapped(item.items[0], count)
    if isinstance(item, Sequence) and item.kind == "pytest.param" and item.items is not None:
        return tuple(item.items) if len(item.items) == count else None
    if count == 1:
        return (item,)
    if isinstance(item, Sequence) and item.items is not None and len(item.items) == count:
        return tuple(item.items)
    return None
