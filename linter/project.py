"""The project under check, for imports between its files: which file a module's name stands for, and that file's tree.

Only files found in the folders of the run belong to it, so nothing is read that the user did not ask for. A module is
looked for where Python would: in the folder that holds the importing file's outermost package, which for a script is its
own, and in the folders of the run and their `src`. No folder of a package is searched: `import torch` beside a `torch.py`
within one means PyTorch.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from stridelint.linter import screen, source

if TYPE_CHECKING:
    import ast

    import libcst

    from stridelint.linter.discover import Target
    from stridelint.linter.inference.imports import Imported

# How many modules a process keeps, and how large a module may be to be followed.
_KEPT = 128
_LARGEST = 400_000


class Project(NamedTuple):
    """files: those of the run, normalized. folders: where a top-level module may lie."""

    files: frozenset[str]
    folders: tuple[str, ...]

    def find(self, dotted: str, importer: str) -> str | None:
        """The file of a module, by its absolute name; None if the project has no such module."""
        if dotted.startswith("."):
            return None
        parts = dotted.split(".")
        for folder in (self.outermost(importer), *self.folders):
            stem = os.path.normpath(os.path.join(folder, *parts))
            for candidate in (stem + ".py", os.path.join(stem, "__init__.py")):
                if candidate in self.files:
                    return candidate
        return None

    def outermost(self, path: str) -> str:
        """The folder that holds the outermost package a file belongs to."""
        folder = os.path.dirname(path)
        while os.path.join(folder, "__init__.py") in self.files and os.path.dirname(folder) != folder:
            folder = os.path.dirname(folder)
        return folder

    def package(self, path: str) -> str:
        """The dotted name of the package that a file belongs to; "" for none."""
        folder = os.path.dirname(path)
        top = self.outermost(path)
        return "" if folder == top else os.path.relpath(folder, top or os.curdir).replace(os.sep, ".")


def project_of(targets: Iterable[Target], arguments: Iterable[str]) -> Project | None:
    """The project that a run checks; None where only single files are named, as by a hook."""
    files = frozenset(os.path.normpath(target.path) for target in targets if not target.explicit)
    if not files:
        return None
    named = [os.path.normpath(argument) for argument in arguments if os.path.isdir(argument)]
    folders = [each for folder in named for each in (folder, os.path.join(folder, "src"))]
    return Project(files, tuple(each for each in folders if os.path.join(each, "__init__.py") not in files))


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
        from stridelint.linter.inference.imports import Imported

        path = self._project.find(dotted, importer)
        if path is None:
            return None
        if path not in self.loaded:
            tree = _tree(path, self._exact)
            if tree is None:
                return None
            self.loaded[path] = Imported(path, self._project.package(path), *tree)
        return self.loaded[path]

    def source(self, node: libcst.CSTNode) -> str:
        """How a node of one of these modules is written.

        Raises:
            Unsupported: it is of none of them.
        """
        from stridelint.linter.inference.bare_tree import Unsupported

        for each in self.loaded.values():
            try:
                return each.source(node)
            except Unsupported:
                continue
        raise Unsupported("the text of a node of another file")


class Names(NamedTuple):
    """The names that a file's top-level imports bring in from the project's own modules.

    makers: those of functions that may make a tensor which is not the usual row-major float one.
    """

    every: frozenset[str]
    makers: frozenset[str]


def imported_names(project: Project, tree: ast.Module, path: str) -> Names:
    """What a file imports from other files of the project."""
    import ast

    from stridelint.linter.inference.imports import absolute

    package, found, makers = project.package(path), set(), set()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            module = absolute("." * node.level + (node.module or ""), package)
            origin = project.find(module, path)
            for alias in node.names:
                name = alias.asname or alias.name
                if origin or project.find(f"{module}.{alias.name}", path):
                    found.add(name)
                if origin and _makes_unusual(origin, alias.name):
                    makers.add(name)
        elif isinstance(node, ast.Import):
            found.update(
                alias.asname or alias.name.partition(".")[0] for alias in node.names if project.find(alias.name, path)
            )
    return Names(frozenset(found), frozenset(makers))


# What a function that makes an unusual tensor is written with.
_UNUSUAL = (
    rb"channels_last|permute|transpose|expand|\b(?:bool|u?int8|int16|int32|int64|long|short|half|double|float64|float16|bfloat16"
    rb"|complex64|cfloat|requires_grad\w*|arange|randint|randperm|one_hot|\w+Tensor)\b"
)


@functools.lru_cache(maxsize=1024)
def _makes_unusual(path: str, name: str) -> bool:
    """Whether a file defines a function of this name, and some unusual tensor."""
    try:
        data = source.read(path).data
    except source.Unreadable:
        return False
    return f"def {name}(".encode() in data and re.search(_UNUSUAL, data) is not None


_Tree: TypeAlias = "tuple[libcst.Module, Callable[[libcst.CSTNode], str]]"


def _tree(path: str, exact: bool) -> _Tree | None:
    try:
        state = os.stat(path)
        return _parsed(path, state.st_mtime_ns, state.st_size, exact) if state.st_size <= _LARGEST else None
    except OSError:
        return None


@functools.lru_cache(maxsize=_KEPT)
def _parsed(path: str, changed: int, size: int, exact: bool) -> _Tree | None:
    """The tree of a file in one state (`changed`, `size`); None where it cannot be read."""
    import libcst

    from stridelint.linter.inference.bare_tree import BareTree, Unsupported
    from stridelint.rules.forms.walking import source_code

    try:
        text = source.read(path).text
        if exact:
            return libcst.parse_module(text), source_code
        tree = screen.parse(text)
        if screen.Code(tree).depth > screen.MAX_DEPTH:
            return None
        bare = BareTree(tree)
        return bare.module, bare.source
    except (source.Unreadable, screen.Unparsable, Unsupported, libcst.ParserSyntaxError, RecursionError):
        return None
