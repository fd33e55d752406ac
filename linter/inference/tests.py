"""Test functions: run once for each choice of their parameters, with what they assert recorded."""

from __future__ import annotations

import itertools
import math
import re

import libcst as cst

from stridelint.linter.inference import parameters, roots
from stridelint.linter.inference.attributes import class_scope, decorator_names, find_method
from stridelint.linter.inference.calls import call_function
from stridelint.linter.inference.parametrized import Choice, choices_of, fixture_node, request_of, words_of
from stridelint.linter.inference.path import BudgetExhausted, Path, Raised, Returned
from stridelint.linter.inference.program import Program
from stridelint.linter.inference.scopes import ModuleScope, flat_statements, make_class
from stridelint.linter.inference.values import Arguments, Class, Function, Instance, Sequence, Unknown, Value
from stridelint.rules.events import Parameter, Site, TestEvent, TestRun
from stridelint.rules.forms.walking import comments, source_code, walk

MAX_RUNS = 24
PATHS_PER_RUN = 6
MAX_HEIRS = 4


def is_test(node: cst.FunctionDef, owner: cst.ClassDef | None) -> bool:
    """A function that pytest or unittest collects by its name."""
    return node.name.value.startswith("test")


def read_test(program: Program, node: cst.FunctionDef, owner: cst.ClassDef | None) -> None:
    """Run a test for each choice of its parameters and show the rules all of them."""
    state = _Runs(program, node, owner)
    for state.owner in _collected(program, node, owner):
        for index in range(MAX_RUNS):
            state.index = index
            roots.explore(program, state, steps=roots.ROOT_STEPS, grad_mode=True, paths=PATHS_PER_RUN)
            if index + 1 >= state.total:
                break
    if state.runs:
        words = frozenset(state.words | state.subject)
        program.judge_test(
            TestEvent(node.name.value, Site(node), words, tuple(state.runs), frozenset(state.subject), state.complete)
        )


def _collected(
    program: Program, node: cst.FunctionDef, owner: cst.ClassDef | None
) -> list[cst.ClassDef | None]:
    """The classes in which a test runs: its own, if that is collected, and those that inherit it."""
    if owner is None:
        return [None]
    heirs = [
        each
        for each in flat_statements(program.module.body)
        if isinstance(each, cst.ClassDef)
        and any(isinstance(base.value, cst.Name) and base.value.value == owner.name.value for base in each.bases)
        and not any(isinstance(own, cst.FunctionDef) and own.name.value == node.name.value for own in each.body.body)
    ][:MAX_HEIRS]
    alone = owner.name.value.startswith("Test") or bool(owner.bases) or not heirs
    return [owner, *heirs] if alone else [*heirs]


class _Runs:
    """The runs of a test so far; called for each path of the run with number `index`."""

    def __init__(self, program: Program, node: cst.FunctionDef, owner: cst.ClassDef | None) -> None:
        self.program, self.node, self.owner = program, node, owner
        self.index = 0
        self.total = 1
        self.runs: list[TestRun] = []
        self.words = _words(node)
        self.subject = {word for text in _names(node, owner) for word in words_of(text)}
        self.complete = True

    def __call__(self, path: Path) -> None:
        scope = roots.module_scope(self.program, False)
        path.module_scope = scope
        cls = None
        if self.owner is not None:
            found = scope.get(path, self.owner.name.value)
            cls = (
                found if isinstance(found, Class) and found.node is self.owner else make_class(path, scope, self.owner)
            )
        lists = choices_of(path, scope, self.node, self.owner)
        self.total = math.prod(len(each.choices) for each in lists)
        self.complete &= self.total <= MAX_RUNS and all(each.complete for each in lists)
        chosen = next(itertools.islice(itertools.product(*(each.choices for each in lists)), self.index, None), ())
        for each in lists:
            self.words |= each.words
        for choice in chosen:
            self.words |= choice.words
        path.recorded = []
        try:
            _call(path, scope, self.node, cls, chosen)
        except BudgetExhausted:
            self.complete = False
            raise
        finally:
            given = tuple(Parameter(name, choice.text, Site(choice.node)) for choice in chosen for name in choice.names)
            self.runs.append(TestRun(given, tuple(path.assertions), tuple(path.recorded), path.confidence))


def _call(
    path: Path, scope: ModuleScope, node: cst.FunctionDef, cls: Class | None, choices: tuple[Choice, ...]
) -> None:
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
            args.positional.append(fixture(path, scope, name, param, values))
    roots.call_root(path, function, args)


def fixture(path: Path, scope: ModuleScope, name: str, param: cst.Param, given: dict[str, Value]) -> Value:
    """What a fixture of the file gives; else unknown."""
    if name in path.fixture_values:
        return path.fixture_values[name]
    node = fixture_node(scope, name)
    if node is None:
        return parameters.argument(path, scope, param, set())
    path.fixture_values[name] = Unknown(name)
    args = Arguments([_fixture_argument(path, scope, name, each, given) for each in node.params.params])
    try:
        with path.mute():
            value = call_function(path, None, Function(node, scope), args)
    except (Raised, Returned):
        value = Unknown(name)
    if (
        isinstance(value, Sequence)
        and value.items is None
        and value.element is not None
        and any(isinstance(each, cst.Yield) for each in walk(node, cst.Yield))
    ):
        value = value.element()
    path.fixture_values[name] = value
    return value


def _fixture_argument(path: Path, scope: ModuleScope, name: str, param: cst.Param, given: dict[str, Value]) -> Value:
    own = param.name.value
    if own != "request":
        return given[own] if own in given else fixture(path, scope, own, param, given)
    request = Instance(None, "pytest.FixtureRequest")
    request.attributes["param"] = given.get(request_of(name), Unknown("param"))
    return request


def _names(node: cst.FunctionDef, owner: cst.ClassDef | None) -> list[str]:
    """What a test is called, and its parameters."""
    cls = [] if owner is None else [re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", owner.name.value)]
    return [node.name.value, *cls, *(param.name.value for param in node.params.params)]


def _words(node: cst.FunctionDef) -> set[str]:
    """Words of a test's decorators, docstring and comments."""
    texts = [source_code(decorator.decorator) for decorator in node.decorators]
    texts.append(node.get_docstring() or "")
    texts += comments(node)
    return {word for text in texts for word in words_of(text)}
