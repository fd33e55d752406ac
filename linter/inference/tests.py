"""Test functions: run once for each choice of their parameters, with what they assert recorded."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass

import libcst as cst

from stridelint.linter.inference import parameters, roots
from stridelint.linter.inference.attributes import class_scope, decorator_names, find_method
from stridelint.linter.inference.calls import call_function
from stridelint.linter.inference.iteration import items_of
from stridelint.linter.inference.path import Path, Raised, Returned
from stridelint.linter.inference.program import Program
from stridelint.linter.inference.scopes import ModuleScope, Scope, dotted_name, make_class
from stridelint.linter.inference.torch_api.emit import source_text
from stridelint.linter.inference.values import Arguments, Class, Constant, Function, Sequence, Unknown, Value
from stridelint.rules.contract.answers import Confidence
from stridelint.rules.events import Parameter, Site, TestEvent, TestRun

MAX_RUNS = 24
PATHS_PER_RUN = 6


@dataclass(frozen=True)
class Choice:
    """One value of a parametrize list: for which names, where it is written."""

    names: tuple[str, ...]
    values: tuple[Value, ...]
    node: cst.CSTNode
    text: str


def is_test(node: cst.FunctionDef, owner: cst.ClassDef | None) -> bool:
    """A function that pytest or unittest collects by its name."""
    return node.name.value.startswith("test")


def read_test(program: Program, node: cst.FunctionDef, owner: cst.ClassDef | None) -> None:
    """Run a test for each choice of its parameters and show the rules all of them."""
    runs: list[TestRun] = []
    words: set[str] = _words(node)
    for index in range(MAX_RUNS):
        state = _Run(program, node, owner, index, runs, words)
        roots.explore(program, state, steps=roots.ROOT_STEPS, grad_mode=True, paths=PATHS_PER_RUN)
        if index + 1 >= state.total:
            break
    if runs:
        program.judge_test(TestEvent(node.name.value, Site(node), frozenset(words), tuple(runs)))


class _Run:
    """One choice of parameters; called for each path."""

    def __init__(self, program: Program, node: cst.FunctionDef, owner: cst.ClassDef | None, index: int, runs: list[TestRun], words: set[str]) -> None:
        self.program, self.node, self.owner, self.index = program, node, owner, index
        self.runs, self.words = runs, words
        self.total = 1

    def __call__(self, path: Path) -> None:
        scope = roots.module_scope(self.program, False)
        path.module_scope = scope
        cls = None
        if self.owner is not None:
            found = scope.get(path, self.owner.name.value)
            cls = found if isinstance(found, Class) and found.node is self.owner else make_class(path, scope, self.owner)
        lists = _parametrize_lists(path, scope, self.node, self.owner)
        combinations = list(itertools.islice(itertools.product(*lists), MAX_RUNS))
        self.total = len(combinations)
        choices = combinations[self.index] if self.index < len(combinations) else ()
        for choice in choices:
            self.words.update(_split(choice.text))
        path.recorded = []
        try:
            _call(path, scope, self.node, cls, choices)
        finally:
            given = tuple(Parameter(name, choice.text, Site(choice.node)) for choice in choices for name in choice.names)
            self.runs.append(TestRun(given, tuple(path.assertions), tuple(path.recorded), min(path.confidence, Confidence.CERTAIN)))


def _call(path: Path, scope: ModuleScope, node: cst.FunctionDef, cls: Class | None, choices: tuple[Choice, ...]) -> None:
    values: dict[str, Value] = {}
    for choice in choices:
        values.update(zip(choice.names, choice.values))
    args = Arguments()
    function = Function(node, scope)
    params = [*node.params.posonly_params, *node.params.params]
    if cls is not None and "staticmethod" not in decorator_names(node):
        instance = parameters.ordinary_instance(path, cls)
        for name in ("setUp", "setup_method", "setup"):
            method = find_method(instance, name)
            if method is not None:
                call_function(path, None, method, Arguments([instance], unknown_star=True))
        instance.hazy = set()
        function = Function(node, class_scope(cls), cls)
        args.positional.append(instance)
        params = params[1:]
    for param in params:
        name = param.name.value
        if name in values:
            args.positional.append(values[name])
        elif param.default is not None:
            args.positional.append(parameters.argument(path, scope, param, args.defaulted))
        else:
            args.positional.append(fixture(path, scope, name, param))
    roots.call_root(path, function, args)


def fixture(path: Path, scope: ModuleScope, name: str, param: cst.Param) -> Value:
    """What a fixture of the file gives; else unknown."""
    if name in path.fixture_values:
        return path.fixture_values[name]
    binding = scope.index.find(name)
    if binding is None or not isinstance(binding.node, cst.FunctionDef) or not any("fixture" in each for each in decorator_names(binding.node)):
        return parameters.argument(path, scope, param, set())
    node = binding.node
    path.fixture_values[name] = Unknown(name)
    args = Arguments([fixture(path, scope, each.name.value, each) for each in node.params.params])
    try:
        with path.mute():
            value = call_function(path, None, Function(node, scope), args)
    except (Raised, Returned):
        value = Unknown(name)
    if isinstance(value, Sequence) and value.items is None and value.element is not None and any(isinstance(each, cst.Yield) for each in parameters.walk(node)):
        value = value.element()
    path.fixture_values[name] = value
    return value


def _parametrize_lists(path: Path, scope: Scope, node: cst.FunctionDef, owner: cst.ClassDef | None) -> list[list[Choice]]:
    found = []
    for decorator in [*node.decorators, *(owner.decorators if owner is not None else ())]:
        call = decorator.decorator
        if isinstance(call, cst.Call) and dotted_name(call.func).split(".")[-1] == "parametrize" and len(call.args) >= 2:
            choices = _choices(path, scope, call)
            if choices:
                found.append(choices)
    return found


def _choices(path: Path, scope: Scope, call: cst.Call) -> list[Choice]:
    from stridelint.linter.inference.expressions import evaluate

    with path.mute():
        names_value = evaluate(path, scope, call.args[0].value)
        values = evaluate(path, scope, call.args[1].value)
    if isinstance(names_value, Constant) and isinstance(names_value.value, str):
        names = tuple(name.strip() for name in names_value.value.split(","))
    elif isinstance(names_value, Sequence) and names_value.items is not None:
        names = tuple(str(each.value) for each in names_value.items if isinstance(each, Constant))
    else:
        return []
    items, exhaustive = items_of(path, values)
    written = call.args[1].value
    nodes = written.elements if isinstance(written, (cst.List, cst.Tuple)) and len(written.elements) == len(items) else None
    result = []
    for index, item in enumerate(items[:MAX_RUNS]):
        node: cst.CSTNode = nodes[index].value if nodes is not None else call
        parts = _unwrapped(item, len(names))
        if exhaustive and parts is not None:
            result.append(Choice(names, parts, node, source_text(node) if nodes is not None else ""))
        else:
            result.append(Choice(names, tuple(Unknown(name) for name in names), node, ""))
    return result


def _unwrapped(item: Value, count: int) -> tuple[Value, ...] | None:
    if isinstance(item, Sequence) and item.kind == "pytest.param" and item.items is not None:
        return tuple(item.items) if len(item.items) == count else None
    if count == 1:
        return (item,)
    if isinstance(item, Sequence) and item.items is not None and len(item.items) == count:
        return tuple(item.items)
    return None


def _words(node: cst.FunctionDef) -> set[str]:
    """Words of a test's name, parameters, decorators, docstring and comments."""
    words = _split(node.name.value)
    for param in node.params.params:
        words |= _split(param.name.value)
    for decorator in node.decorators:
        words |= _split(source_text(decorator.decorator))
    docstring = node.get_docstring()
    words |= _split(docstring or "")
    for each in parameters.walk(node):
        if isinstance(each, cst.Comment):
            words |= _split(each.value)
    for line in node.leading_lines:
        if line.comment is not None:
            words |= _split(line.comment.value)
    return words


def _split(text: str) -> set[str]:
    whole = re.findall(r"[a-z0-9_]+", text.lower())
    return {part for word in whole for part in (*word.split("_"), word) if part}


