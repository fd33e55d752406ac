"""Which functions are worth reading: those that hold a word of some rule, and those that lead to one.

The screen decides about files, this about the functions of a file that passed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import libcst as cst

from stridelint.linter.inference.scopes import flat_statements
from stridelint.linter.inference.syntax import walk

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
# Methods that are not called by their own name: the class's name stands for them.
_IMPLICIT = frozenset({"forward", "__init__", "__call__", "__getitem__", "__iter__", "__enter__", "__post_init__", "setUp"})
_IN_PLACE = "augmented assignment"


class Relevance:
    """`reads(node)` tells whether a function, or the module's body (None), can show anything to the rules."""

    def __init__(self, module: cst.Module, words: Iterable[str]) -> None:
        self._words = [frozenset(_IDENTIFIER.findall(word) or ({_IN_PLACE} if word else ())) for word in words]
        self._names: dict[int, frozenset[str]] = {}
        self._hot: set[int] = set()
        self._functions: list[tuple[cst.FunctionDef, cst.ClassDef | None]] = []
        self._classes: list[cst.ClassDef] = []
        body: set[str] = set()
        for statement in flat_statements(module.body):
            if isinstance(statement, cst.FunctionDef):
                self._functions.append((statement, None))
            elif isinstance(statement, cst.ClassDef):
                self._classes.append(statement)
                self._functions += [(member, statement) for member in statement.body.body if isinstance(member, cst.FunctionDef)]
            elif not isinstance(statement, (cst.Import, cst.ImportFrom)):
                body |= names_in(statement)
        for function, _ in self._functions:
            self._names[id(function)] = frozenset(names_in(function))
        self._body = frozenset(body)
        self._spread()
        self.body = self._has_word(self._body) or not self._hot_names.isdisjoint(self._body)

    def reads(self, function: cst.FunctionDef) -> bool:
        """Whether a function of the module is worth reading on its own."""
        return id(function) in self._hot

    def _has_word(self, names: frozenset[str]) -> bool:
        return any(word <= names for word in self._words)

    def _spread(self) -> None:
        """Functions that refer to relevant ones are relevant too."""
        self._hot = {id(function) for function, _ in self._functions if self._has_word(self._names[id(function)])}
        self._hot_names: set[str] = set()
        bases = {id(cls): {name for arg in cls.bases for name in names_in(arg)} for cls in self._classes}
        while True:
            before = len(self._hot), len(self._hot_names)
            for function, owner in self._functions:
                if id(function) in self._hot:
                    name = function.name.value
                    self._hot_names.add(owner.name.value if owner is not None and name in _IMPLICIT else name)
                    if owner is not None:
                        self._hot_names.add(owner.name.value)
            for cls in self._classes:
                if not self._hot_names.isdisjoint(bases[id(cls)]):
                    self._hot_names.add(cls.name.value)
            builders = {
                id(owner)
                for function, owner in self._functions
                if owner is not None and function.name.value in ("__init__", "setUp") and not self._hot_names.isdisjoint(self._names[id(function)])
            }
            for function, owner in self._functions:
                if not self._hot_names.isdisjoint(self._names[id(function)]) or (owner is not None and id(owner) in builders):
                    self._hot.add(id(function))
            if before == (len(self._hot), len(self._hot_names)):
                return


def names_in(node: cst.CSTNode) -> set[str]:
    """Identifiers that occur in code; an augmented assignment counts as one too."""
    found: set[str] = set()
    for each in walk(node):
        if isinstance(each, cst.Name):
            found.add(each.value)
        elif isinstance(each, cst.AugAssign):
            found.add(_IN_PLACE)
        elif isinstance(each, cst.SimpleString) and len(each.value) < 40:
            found.update(_IDENTIFIER.findall(each.value))
    return found
