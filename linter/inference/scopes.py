"""Scopes: what names stand for in functions and modules (whose bindings are evaluated when first needed), and imports."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

import libcst as cst

from stridelint.linter.inference import registries
from stridelint.linter.inference.bindings import Binding, ModuleIndex, bound_names
from stridelint.linter.inference.dispatch import evaluate, execute_small
from stridelint.linter.inference.imports import absolute, imported
from stridelint.linter.inference.objects import Class, Function
from stridelint.linter.inference.torch_api.constants import constant
from stridelint.linter.inference.values import External, Unknown, Value
from stridelint.rules.contract.answers import Confidence

if TYPE_CHECKING:
    from stridelint.linter.inference.path import Path
    from stridelint.linter.inference.program import Program

BUILTINS = frozenset(dir(builtins))


class Scope:
    """The names of a function call; looks outward for others."""

    def __init__(self, parent: Scope | None) -> None:
        self.values: dict[str, Value] = {}
        self.parent = parent
        self.outer_names: dict[str, Scope] = {}
        self.defaulted: set[str] = set()
        self.owner: Class | None = parent.owner if parent is not None else None
        self.receiver: Value | None = None

    @property
    def module(self) -> ModuleScope:
        """The module's scope."""
        scope: Scope = self
        while scope.parent is not None:
            scope = scope.parent
        assert isinstance(scope, ModuleScope)
        return scope

    def lookup(self, path: Path, name: str) -> Value:
        """The value of a name; Unknown where it is not bound."""
        scope: Scope | None = self
        while scope is not None:
            found = scope.get(path, name)
            if found is not None:
                return found
            scope = scope.parent
        return External(f"builtins.{name}") if name in BUILTINS else Unknown(name)

    def get(self, path: Path, name: str) -> Value | None:
        """The value of a name bound in this very scope."""
        if name in self.defaulted:
            path.weaken(Confidence.LIKELY)
        return self.values.get(name)

    def bind(self, name: str, value: Value) -> None:
        """Assign to a name."""
        target = self.outer_names.get(name, self)
        target.values[name] = value
        target.defaulted.discard(name)

    def rests_on_default(self, name: str) -> None:
        """What a name was bound to depends on the default of a parameter."""
        self.outer_names.get(name, self).defaulted.add(name)


class Comprehension(Scope):
    """The names of a comprehension; what `:=` binds in it belongs to the scope around it."""


class ModuleScope(Scope):
    """The module's names. Those not assigned yet on this path are evaluated from their only binding when asked for."""

    def __init__(self, program: Program, index: ModuleIndex) -> None:
        super().__init__(None)
        program.scopes.append(self)
        self.index = index
        self._pending: set[str] = set()
        self._absent: set[str] = set()

    def get(self, path: Path, name: str) -> Value | None:
        """The value of a name, evaluated from its binding if need be."""
        if name in self.values:
            return super().get(path, name)
        if name in self._pending:
            return Unknown(name)
        binding = self.index.find(name)
        if binding is None:
            if name in self.index.bindings:
                return self.values.setdefault(name, Unknown(name))
            return self._from_stars(path, name)
        if binding.kind == "import":
            self._pending.add(name)
            try:
                value: Value = resolve_external(path, binding.dotted, self.index)
            finally:
                self._pending.discard(name)
        elif binding.kind == "function":
            assert isinstance(binding.node, cst.FunctionDef)
            value = make_function(path, self, binding.node)
        elif binding.kind == "class":
            assert isinstance(binding.node, cst.ClassDef)
            self._pending.add(name)
            try:
                value = make_class(path, self, binding.node)
            finally:
                self._pending.discard(name)
        else:
            return self._evaluate(path, name, binding)
        self.values[name] = value
        return value

    def _from_stars(self, path: Path, name: str) -> Value | None:
        """A name that `from module import *` brings in from the project."""
        if name in self._absent or path.program.imports is None:
            return None
        for star in self.index.stars:
            self._pending.add(name)
            try:
                found = imported(path, f"{absolute(star, self.index.package)}.{name}", self.index.path)
            finally:
                self._pending.discard(name)
            if found is not None:
                return self.values.setdefault(name, found)
        self._absent.add(name)
        return None

    def _evaluate(self, path: Path, name: str, binding: Binding) -> Value | None:

        self._pending.add(name)
        before = dict(path.numbers)
        try:
            with path.mute(), path.grad(True):
                execute_small(path, self, binding.node)
        finally:
            self._pending.discard(name)
            path.forget_since(before)  # the module may have changed it since
        self.values.setdefault(name, Unknown(name))
        for each in bound_names(binding.node):
            if each in self.values:
                registries.complete(path, self, each, self.values[each])
        return super().get(path, name)


def resolve_external(path: Path, dotted: str, index: ModuleIndex) -> Value:
    """The value of a dotted name of another module: what the project's own modules bind, and constants of torch and math,
    become what they are."""
    dotted = absolute(dotted, index.package)
    return constant(dotted) or imported(path, dotted, index.path) or External(dotted)


def make_function(path: Path, scope: Scope, node: cst.FunctionDef) -> Value:
    """The value that `def` binds: decorators that only set the grad mode are looked at when it is called."""
    return Function(node, scope, scope.owner)


def make_class(path: Path, scope: Scope, node: cst.ClassDef) -> Class:
    """The value that `class` binds; its body is looked at when attributes are asked for."""
    with path.mute():
        bases = [evaluate(path, scope, _without_types(base.value)) for base in node.bases if base.keyword is None]
    return Class(node, scope, bases)


def _without_types(base: cst.BaseExpression) -> cst.BaseExpression:
    """`Dataset` of `Dataset[Tensor]`."""
    return base.value if isinstance(base, cst.Subscript) else base
