"""Names that `--assume channels_last:NAME` gives to classes and functions that are nowhere: such an assumption guards nothing."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from stridelint.linter import run as runner, screen, source
from stridelint.linter.config import Settings, suggestion
from stridelint.linter.notebook import program as notebook
from stridelint.linter.telling import tell


class Asked(NamedTuple):
    """A path that was named, with its settings."""

    path: str
    settings: Settings


def tell_missing(asked: Sequence[Asked], jobs: Sequence[runner.Job], is_option: bool) -> bool:
    """Say which names are nowhere in the files read. True if that is an error: they should have been there.

    is_option: the assumption stands on the command line; else in a configuration, whose names are expected only where the
    whole folder that it holds for is checked.
    """
    named = [each for each in asked if any(map(_pattern, each.settings.assume)) and (is_option or _is_whole(each))]
    patterns = {each.path: set(filter(None, map(_pattern, each.settings.assume))) for each in named}
    missing = _missing(sorted(set().union(*patterns.values())), jobs)
    known = sorted({name for text in _texts(jobs) for name in _names(text)}) if missing else []
    for name in missing:
        tell(f"nothing is called '{name}' in the files read (assume: channels_last:{name}){suggestion(name, known)}")
    return any(os.path.isdir(path) and not names.isdisjoint(missing) for path, names in patterns.items())


def _pattern(assumption: str) -> str:
    return assumption.partition(":")[2]


def _is_whole(asked: Asked) -> bool:
    """Whether a folder was named that holds all for which its configuration is meant."""
    path, root = (os.path.join(os.path.realpath(each), "") for each in (asked.path, asked.settings.root or "."))
    return root.startswith(path)


def _missing(patterns: Iterable[str], jobs: Sequence[runner.Job]) -> list[str]:
    left = list(patterns)
    for text in _texts(jobs) if left else ():
        may_be = [each for each in left if _longest_word(each) in text]
        names = set(_names(text)) if may_be else set()
        left = [each for each in left if not any(fnmatchcase(name, each) for name in names)]
        if not left:
            break
    return left


def _longest_word(pattern: str) -> str:
    return max(re.split(r"\[.*?\]|[*?.\[\]]", pattern), key=len)


def _texts(jobs: Sequence[runner.Job]) -> Iterator[str]:
    """The code of the files that can be read."""
    for job in jobs:
        try:
            file = runner.read(job)
            yield notebook.read(file.data).text if file.is_notebook else file.text
        except source.Unreadable:
            continue


def _names(text: str) -> Iterator[str]:
    """Class, Class.method, function."""
    try:
        waiting: list[tuple[ast.AST, str]] = [(screen.parse(text), "")]
    except screen.Unparsable:
        return
    while waiting:
        node, owner = waiting.pop()
        if isinstance(node, ast.ClassDef):
            yield node.name
            owner = f"{node.name}."
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield owner + node.name
            owner = ""
        waiting += [
            (child, owner)
            for child in ast.iter_child_nodes(node)
            if isinstance(child, (ast.stmt, ast.excepthandler, ast.match_case))
        ]
