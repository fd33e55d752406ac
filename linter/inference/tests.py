"""Test functions: run once for each choice of their parameters, with what they assert recorded."""

from __future__ import annotations

import itertools
import math
import re

import libcst as cst

from stridelint.linter.inference import parameters, roots
from stridelint.linter.inference.attributes import class_scope, decorator_names, find_method
from stridelint.linter.inference.bindings import flat_statements
from stridelint.linter.inference.calls import call_function
from stridelint.linter.inference.objects import Arguments, Class, Function, Instance
from stridelint.linter.inference.parametrized import Choice, Fixtures, choices_of, fixtures_of, request_of, words_of
from stridelint.linter.inference.path import BudgetExhausted, Path, Raised, Returned
from stridelint.linter.inference.program import Program
from stridelint.linter.inference.scopes import ModuleScope
from stridelint.linter.inference.values import Sequence, Unknown, Value
from stridelint.rules.events import Parameter, Site, TestEvent, TestRun
from stridelint.rules.forms.walking import comments, walk

MAX_RUNS = 24
PATHS_PER_RUN = 6
MAX_HEIRS = 4
# Methods that prepare a test, in the order in which they run. What those of the class set, its objects have.
_PREPARING = ("setUpClass", "setup_class", "setUp", "setup_method", "setup")


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


def _collected(program: Program, node: cst.FunctionDef, owner: cst.ClassDef | None) -> list[cst.ClassDef | None]:
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
        self.words = _words(program, node)
        self.subject = {word for text in _names(node, owner) for word in words_of(text)}
        self.complete = True

    def __call__(self, path: Path) -> None:
        scope = roots.module_scope(self.program, False)
        path.module_scope = scope
        cls = None if self.owner is None else roots.class_of(path, scope, self.owner)
        fixtures = fixtures_of(path, cls)
        lists = choices_of(path, scope, self.node, self.owner, fixtures)
        self.total = math.prod(len(each.choices) for each in lists)
        self.complete &= self.total <= MAX_RUNS and all(each.complete for each in lists)
        chosen = next(itertools.islice(itertools.product(*(each.choices for each in lists)), self.index, None), ())
        for each in lists:
            self.words |= each.words
        for choice in chosen:
            self.words |= choice.words
        path.recorded = []
        try:
            _call(path, scope, self.node, cls, chosen, fixtures)
        except BudgetExhausted:
            self.complete = False
            raise
        finally:
            given = tuple(Parameter(name, choice.text, Site(choice.node)) for choice in chosen for name in choice.names)
            self.runs.append(
                TestRun(given, tuple(path.assertions), tuple(path.recorded), path.confidence, tuple(path.sample_steps))
            )


def _call(
    path: Path,
    scope: ModuleScope,
    node: cst.FunctionDef,
    cls: Class | None,
    choices: tuple[Choice, ...],
    fixtures: Fixtures,
) -> None:
    values: dict[str, Value] = {}
    for choice in choices:
        values.update(zip(choice.names, choice.values))
    args = Arguments()
    function, instance = Function(node, scope), None
    params = [*node.params.posonly_params, *node.params.params]
    if cls is not None and "staticmethod" not in decorator_names(node):
        instance = parameters.ordinary_instance(path, cls)
        for name in _PREPARING:
            method = find_method(instance, name)
            if method is not None:
                call_function(path, None, method, Arguments([instance], unknown_star=True))
    making = _Making(path, scope, fixtures, values, instance)
    if instance is not None and cls is not None:
        making.automatic()
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
            args.positional.append(making.value(param))
    roots.call_root(path, function, args)


class _Making:
    """What the fixtures give to one run of a test; `receiver` is the object whose method the test is."""

    def __init__(
        self, path: Path, scope: ModuleScope, fixtures: Fixtures, given: dict[str, Value], receiver: Instance | None
    ) -> None:
        self.path, self.scope, self.fixtures, self.given, self.receiver = path, scope, fixtures, given, receiver
        self.made: dict[str, Value] = {}

    def value(self, param: cst.Param) -> Value:
        """What a parameter gets: the fixture of its name, if the file has one."""
        name = param.name.value
        if name in self.given:
            return self.given[name]
        if name not in self.fixtures:
            return parameters.argument(self.path, self.scope, param, set())
        if name not in self.made:
            self.made[name] = Unknown(name)
            self.made[name] = self._run(name)
        return self.made[name]

    def automatic(self) -> None:
        """Run the fixtures of the class that prepare each test."""
        for name, each in self.fixtures.items():
            if each.automatic and each.owner is not None and name not in self.made:
                self.made[name] = self._run(name)

    def _run(self, name: str) -> Value:
        made = self.fixtures[name]
        node, args = made.node, Arguments()
        function, params = Function(node, self.scope), node.params.params
        if made.owner is not None and self.receiver is not None and "staticmethod" not in decorator_names(node):
            function, params = Function(node, class_scope(made.owner), made.owner), params[1:]
            args.positional.append(self.receiver)
        args.positional += [
            self._request(name) if each.name.value == "request" else self.value(each) for each in params
        ]
        try:
            with self.path.mute():
                value = call_function(self.path, None, function, args)
        except (Raised, Returned):
            return Unknown(name)
        if isinstance(value, Sequence) and any(walk(node, cst.Yield)):
            value = value.items[0] if value.items else value.fresh_element()
        return value

    def _request(self, name: str) -> Value:
        request = Instance(None, "pytest.FixtureRequest")
        request.attributes["param"] = self.given.get(request_of(name), Unknown("param"))
        return request


def _names(node: cst.FunctionDef, owner: cst.ClassDef | None) -> list[str]:
    """What a test is called, and its parameters."""
    cls = [] if owner is None else [re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", owner.name.value)]
    return [node.name.value, *cls, *(param.name.value for param in node.params.params)]


def _words(program: Program, node: cst.FunctionDef) -> set[str]:
    """Words of a test's decorators, docstring and comments."""
    texts = [program.written(decorator.decorator) for decorator in node.decorators]
    texts.append(node.get_docstring() or "")
    texts += comments(program.written(node))
    return {word for text in texts for word in words_of(text)}
