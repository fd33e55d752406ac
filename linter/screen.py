"""Decides cheaply, without LibCST, which rules can fire in a file: most files hold nothing for any of them.

First the bytes are searched for the rules' words and for torch; what is left is judged on the stdlib tree, where comments
and docstrings do not count. A rule sees no file whose code has none of its words, so the screen changes no finding.

Words look like code, see `rules.screening.words`.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from stridelint.linter.statistics import timed

if TYPE_CHECKING:
    import ast

    from stridelint.rules.rule import Rule

TORCH = "torch"
# Deeper than any code that a person wrote; LibCST and the interpreter handle this much on the stack of `run_deep`.
MAX_DEPTH = 1000
_SPACE = re.compile(rb"[ \t]+(?=[(=])")  # `out = x` and `x.view (1)` hold the words, too
_NAMED_TORCH = re.compile(r"\n(?:\.?torch\n|\"torch|import [^\n]*torch)")
_ONLY_AST = 0x400  # ast.PyCF_ONLY_AST, without importing ast


def may_use_torch(data: bytes) -> bool:
    """Whether the bytes mention torch anywhere."""
    return TORCH.encode() in data


def has_comments(data: bytes) -> bool:
    """Whether the bytes may hold a comment that hides findings of stridelint's by name."""
    return b"stridelint:" in data or ((b"TLC" in data or b"tlc" in data) and b"noqa" in data.lower())


@timed("screen")
def mentions(data: bytes, rules: Iterable[type[Rule]]) -> bool:
    """Whether the bytes hold a word of any rule, and torch."""
    if not may_use_torch(data):
        return False
    words = _searched(frozenset(rule.words for rule in rules))
    if any(word in data for word in words):
        return True
    closed = _SPACE.sub(b"", data)
    return any(word in closed for word in words)


@functools.lru_cache(maxsize=4)
def _searched(words: frozenset[tuple[str, ...]]) -> tuple[bytes, ...]:
    """What to search for in place of the words of rules: the short ones first, as they occur most, and none that holds another."""
    found: list[str] = []
    for word in sorted({word for each in words for word in each or ("",)}, key=lambda word: (len(word), word)):
        if not any(part in word for part in found):
            found.append(word)
    return tuple(word.encode() for word in found)


# How many objects may come up before garbage is looked for.
_MANY_OBJECTS = 100_000


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Without garbage collection, which takes long in the midst of building a tree that holds no cycles."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextlib.contextmanager
def seldom_collected() -> Iterator[None]:
    """With rare garbage collection: trees and values are many, live as long as their file is read, and hold few cycles."""
    usual = gc.get_threshold()
    if usual[0]:  # else it is off, and stays off
        gc.set_threshold(max(usual[0], _MANY_OBJECTS), *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)


class Unparsable(Exception):
    """Python itself does not accept the text; the message says why."""


@timed("parse")
def parse(text: str) -> ast.Module:
    """The stdlib tree of a module."""
    import warnings

    try:
        with warnings.catch_warnings(), uncollected():
            warnings.simplefilter("ignore")  # invalid escapes and such are not ours to report
            tree: ast.Module = compile(text, "<source>", "exec", _ONLY_AST, dont_inherit=True)
    except SyntaxError as error:
        where = f" on line {error.lineno}" if error.lineno else ""
        raise Unparsable(f"is not valid Python: {error.msg}{where}") from None
    except (RecursionError, MemoryError):  # MemoryError: the parser's own limit on nesting
        raise Unparsable("is nested too deeply for Python's parser") from None
    except ValueError as error:
        raise Unparsable(f"is not valid Python: {error}") from None
    return tree


class Code:
    """What occurs in a module's code (see `rules.screening.words`), and how deeply it nests."""

    @timed("screen")
    def __init__(self, tree: ast.Module) -> None:
        from stridelint.rules.screening import nodes_of

        self.tree = tree
        nodes = nodes_of(tree)
        self.depth, self._words = nodes.depth, nodes.words

    @property
    def uses_torch(self) -> bool:
        """Whether anything in the code is called torch, or imported under a name with it; `func_torch` says nothing."""
        return self._words.matches(_NAMED_TORCH)

    @timed("screen")
    def rules(self, rules: Sequence[type[Rule]]) -> list[type[Rule]]:
        """Those rules that can fire in this module."""
        if not self.uses_torch:
            return []
        return [rule for rule in rules if self._says(rule) and rule.screen(self.tree)]

    def _says(self, rule: type[Rule]) -> bool:
        """Whether the code holds a word of a rule."""
        return not rule.words or (self._words.has_one(rule.words) and (not rule.also or self._words.has_one(rule.also)))
