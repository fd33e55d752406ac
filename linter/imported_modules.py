"""The modules of the project that reading one file brings in, as trees; a process keeps those it asked for last."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeAlias

import libcst

from stridelint.linter import screen, source
from stridelint.linter.inference.bare_nodes import Unsupported
from stridelint.linter.inference.bare_tree import BareTree
from stridelint.linter.inference.imports import Imported
from stridelint.linter.project import Project
from stridelint.linter.statistics import phase
from stridelint.rules.forms.walking import source_code

# How many modules a process keeps, and how large a module may be to be followed.
_KEPT = 128
_LARGEST = 400_000

# With what tells how a node of it is written.
_Tree: TypeAlias = "tuple[libcst.Module, Callable[[libcst.CSTNode], str]]"


class Modules:
    """The other modules that reading one file brings in; see `inference.imports.Imports`.

    exact: with LibCST's own trees, which know their positions.
    """

    def __init__(self, project: Project, exact: bool) -> None:
        self._project = project
        self._exact = exact
        self.loaded: dict[str, Imported] = {}

    def load(self, dotted: str, importer: str) -> Imported | None:
        """The module of an absolute dotted name; None if it is not of the project or cannot be read."""
        path = self._project.find(dotted, importer)
        if path is None:
            return None
        if path not in self.loaded:
            digest, tree = _tree(path, self._exact)
            if self._project.asked is not None:
                self._project.asked.read[path] = digest
            if tree is None:
                return None
            self.loaded[path] = Imported(path, self._project.package(path), *tree)
        return self.loaded[path]

    def source(self, node: libcst.CSTNode) -> str:
        """How a node of one of these modules is written.

        Raises:
            Unsupported: it is of none of them.
        """
        for each in self.loaded.values():
            try:
                return each.source(node)
            except Unsupported:
                continue
        raise Unsupported("the text of a node of another file")


def _tree(path: str, exact: bool) -> tuple[str, _Tree | None]:
    """The digest of a file ("" where that does not matter, or it cannot be read), and its tree."""
    state = source.state_of(path)
    return ("", None) if state is None else _parsed(path, *state, exact)


@functools.lru_cache(maxsize=_KEPT)
def _parsed(path: str, changed: int, size: int, exact: bool) -> tuple[str, _Tree | None]:
    """The digest and tree of a file in one state (`changed`, `size`); no tree where it cannot be parsed."""
    try:
        file = source.read(path)
    except source.Unreadable:
        return "", None
    digest = source.digest(file.data)
    if len(file.data) > _LARGEST:
        return digest, None
    try:
        text = file.text
        if exact:
            with phase("libcst"):
                return digest, (libcst.parse_module(text), source_code)
        tree = screen.parse(text)
        if screen.Code(tree).depth > screen.MAX_DEPTH:
            return digest, None
        with phase("nodes"):
            bare = BareTree(tree)
        return digest, (bare.module, bare.source)
    except (screen.Unparsable, Unsupported, libcst.ParserSyntaxError, RecursionError):
        return digest, None
