"""The project under check, for imports between its files: which file a module's name stands for, and what was asked of it.

Only files found in the folders of the run belong to it, so nothing is read that the user did not ask for. A module is
looked for where Python would: in the folder that holds the importing file's outermost package, which for a script is its
own, and in the folders of the run and their `src`. No folder of a package is searched: `import torch` beside a `torch.py`
within one means PyTorch.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from stridelint.linter import makers


class Project(NamedTuple):
    """files: those of the run, normalized. folders: where a top-level module may lie. asked: keeps what the files were asked."""

    files: frozenset[str]
    folders: tuple[str, ...]
    asked: Asked | None = None

    def asking(self) -> Project:
        """The same, with nothing asked yet."""
        return self._replace(asked=Asked())

    def find(self, dotted: str, importer: str) -> str | None:
        """The file of a module, by its absolute name; None if the project has no such module."""
        if dotted.startswith("."):
            return None
        home = self.outermost(importer)
        top = dotted.partition(".")[0]
        if top not in self.tops(home):
            if self.asked is not None:
                self.asked.absent.setdefault(home, set()).add(top)
            return None
        found = self.module(dotted, home)
        if self.asked is not None:
            self.asked.modules.setdefault(home, {})[dotted] = found
        return found

    def tops(self, home: str) -> frozenset[str]:
        """The top-level names that there are, for files whose outermost folder is `home`; there may be no module to them."""
        index = _index(self.files)
        key = (home, self.folders)
        if key not in index.tops:
            folders = map(_plain, (home, *self.folders))
            index.tops[key] = frozenset().union(*(index.inside.get(folder, ()) for folder in folders))
        return index.tops[key]

    def module(self, dotted: str, home: str) -> str | None:
        """`find` for files whose outermost folder is `home`."""
        known, key = _index(self.files).modules, (dotted, home, self.folders)
        if key not in known:
            known[key] = self._module(dotted, home)
        return known[key]

    def _module(self, dotted: str, home: str) -> str | None:
        parts = dotted.split(".")
        for folder in (home, *self.folders):
            stem = os.path.normpath(os.path.join(folder, *parts))
            for candidate in (stem + ".py", os.path.join(stem, "__init__.py")):
                if candidate in self.files:
                    return candidate
        return None

    def outermost(self, path: str) -> str:
        """The folder that holds the outermost package a file belongs to."""
        folder = os.path.dirname(path)
        home = self.home(folder)
        if self.asked is not None:
            self.asked.homes[folder] = home
        return home

    def home(self, folder: str) -> str:
        """The folder that holds the outermost package which a folder is, or the folder itself."""
        homes = _index(self.files).homes
        if folder not in homes:
            outer = folder
            while os.path.join(outer, "__init__.py") in self.files and os.path.dirname(outer) != outer:
                outer = os.path.dirname(outer)
            homes[folder] = outer
        return homes[folder]

    def package(self, path: str) -> str:
        """The dotted name of the package that a file belongs to; "" for none."""
        folder = os.path.dirname(path)
        top = self.outermost(path)
        return "" if folder == top else os.path.relpath(folder, top or os.curdir).replace(os.sep, ".")


def _plain(folder: str) -> str:
    """A folder as `os.path.dirname` gives it for the files in it."""
    folder = os.path.normpath(folder)
    return "" if folder == os.curdir else folder


class _Index:
    """What is asked of a project's files again and again.

    inside: the names that lie in each folder, of modules without their suffix, and of folders. tops, homes, modules: answers so far.
    """

    def __init__(self, files: frozenset[str]) -> None:
        self.inside: dict[str, set[str]] = {}
        self.tops: dict[tuple[str, tuple[str, ...]], frozenset[str]] = {}
        self.homes: dict[str, str] = {}
        self.modules: dict[tuple[str, str, tuple[str, ...]], str | None] = {}
        for path in files:
            folder, name = os.path.split(path)
            name = name.partition(".")[0]
            while name and name not in self.inside.setdefault(folder, set()):
                self.inside[folder].add(name)
                folder, name = os.path.split(folder)


_index = functools.lru_cache(maxsize=4)(_Index)


class Asked:
    """What reading a file asked about other files, and the answers: as long as these stay the same, so does the outcome.

    homes: of a folder, the one that holds its outermost package. absent: top-level names that the project does not have, for files of a home.
    modules: the files of modules, for files of a home. makers: the digest of a file, and what it has of these names (see
    `makers.Origin`). read: the digests of files that were followed.
    """

    def __init__(self) -> None:
        self.homes: dict[str, str] = {}
        self.absent: dict[str, set[str]] = {}
        self.modules: dict[str, dict[str, str | None]] = {}
        self.makers: dict[str, tuple[str, dict[str, makers.Origin]]] = {}
        self.read: dict[str, str] = {}

    def as_json(self) -> list[Any]:
        """The questions and answers, for `still`."""
        absent = {home: sorted(names) for home, names in self.absent.items()}
        return [self.homes, absent, self.modules, self.makers, self.read]


def still(asked: Any, project: Project, digest: Callable[[str], str]) -> bool:
    """Whether what a file asked (`Asked.as_json`) would be answered alike now. `digest`: of a file as it is.

    TypeError, ValueError or AttributeError where it is something else.
    """
    homes, absent, modules, asked_makers, read = asked
    return (
        all(project.home(folder) == home for folder, home in homes.items())
        and all(project.tops(home).isdisjoint(names) for home, names in absent.items())
        and all(project.module(name, home) == path for home, found in modules.items() for name, path in found.items())
        and all(digest(path) == known for path, known in read.items())
        and all(digest(path) == known or makers.same(path, names) for path, (known, names) in asked_makers.items())
    )


def project_of(paths: Iterable[str], arguments: Iterable[str]) -> Project:
    """The project that a run checks. paths: the files found in folders, not those that are named, as by a hook."""
    files = frozenset(map(os.path.normpath, paths))
    named = [os.path.normpath(argument) for argument in arguments if os.path.isdir(argument)]
    folders = [each for folder in named for each in (folder, os.path.join(folder, "src"))]
    return Project(files, tuple(each for each in folders if os.path.join(each, "__init__.py") not in files))
