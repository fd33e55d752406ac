"""Decides cheaply, without LibCST, which rules can fire in a file: most files hold nothing for any of them.

First the bytes are searched for the rules' words and for torch; what is left is judged on the stdlib tree, where comments
and docstrings do not count. A rule sees no file whose code has none of its words, so the screen changes no finding.

Words look like code: `.view(` is a call of a method (or of an imported name), `permute(` of anything, `out=` a keyword,
`+=` an operator, `"out"` a string, and `channels_last` any name or short string that contains it.
"""

from __future__ import annotations

import contextlib
import gc
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from stridelint.linter.statistics import timed

if TYPE_CHECKING:
    import ast

    from stridelint.rules.rule import Rule

TORCH = "torch"
# Deeper than any code that a person wrote; LibCST and the interpreter handle this much on the stack of `run_deep`.
MAX_DEPTH = 1000
# Strings count as names only up to this length (getattr(x, "permute"), a parametrized argument): longer ones are prose.
_MAX_STRING = 100
_QUOTES = ('"', "'")
_SPACE = re.compile(rb"[ \t]+(?=[(=])")  # `out = x` and `x.view (1)` hold the words, too
_PLAIN = re.compile(r"\.?\w+\(?|\w+=|\W{1,3}=")
_NAMED_TORCH = re.compile(r"\n(?:\.?torch\n|\"torch|import [^\n]*torch)")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_ONLY_AST = 0x400  # ast.PyCF_ONLY_AST, without importing ast
_OPERATORS = {
    "Add": "+=", "Sub": "-=", "Mult": "*=", "Div": "/=", "FloorDiv": "//=", "Mod": "%=", "Pow": "**=", "MatMult": "@=",
    "BitAnd": "&=", "BitOr": "|=", "BitXor": "^=", "LShift": "<<=", "RShift": ">>=",
}  # fmt: skip


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
    words = {word.encode() for rule in rules for word in rule.words or ("",)}
    if any(word in data for word in words):
        return True
    closed = _SPACE.sub(b"", data)
    return any(word in closed for word in words)


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
    """What occurs in a module's code: its names (and short strings) with how they are used, and how deeply it nests."""

    @timed("screen")
    def __init__(self, tree: ast.Module) -> None:
        """Walk the tree once, without recursion: a deep tree must be measured before anything recurses into it."""
        self.tree = tree
        self.depth = 0
        found: set[str] = set()
        level: list[Any] = [tree]
        while level:
            self.depth += 1
            below: list[Any] = []
            for node in level:
                _collect(node, found, below)
            level = below
        self._text = "\n" + "\n".join(found) + "\n"

    @property
    def uses_torch(self) -> bool:
        """Whether anything in the code is called torch, or imported under a name with it; `func_torch` says nothing."""
        return _NAMED_TORCH.search(self._text) is not None

    def has(self, word: str) -> bool:
        """Whether a rule's word occurs in the code."""
        if word.endswith("="):
            word = "\n" + word  # `out=` is not in `dropout=`, `/=` is not in `//=`
        elif word[:1] in _QUOTES:
            return f'\n"{word[1:-1]}"\n' in self._text
        elif not _PLAIN.fullmatch(word):
            return all(name in self._text for name in _IDENTIFIER.findall(word))
        return word in self._text

    @timed("screen")
    def rules(self, rules: Sequence[type[Rule]]) -> list[type[Rule]]:
        """Those rules that can fire in this module."""
        if not self.uses_torch:
            return []
        return [rule for rule in rules if any(map(self.has, rule.words or ("",))) and rule.screen(self.tree)]


def _collect(node: Any, found: set[str], below: list[Any]) -> None:
    """Add what a node says itself to `found`, and its children to `below`."""
    kind = type(node).__name__
    # The most frequent kinds come first, and are read by hand: this loop is most of the screen's time.
    if kind == "Name":
        found.add(node.id)
    elif kind == "Attribute":
        found.add("." + node.attr)
        below.append(node.value)
    elif kind == "Constant":
        if type(node.value) is str and len(node.value) <= _MAX_STRING:
            found.add(f'"{node.value}"')
    elif kind == "Expr" and type(node.value).__name__ == "Constant":
        pass  # a docstring, or a string used as a comment
    else:
        if kind == "Call":
            function = type(node.func).__name__
            if function == "Attribute":
                found.add(f".{node.func.attr}(")
            elif function == "Name":
                found.add(node.func.id + "(")
        elif kind in ("keyword", "arg"):
            found.add(f"{node.arg}=")
        elif kind == "alias":
            # Under whatever name: the import stands for its uses.
            found.add(f".{node.name.rpartition('.')[2]}(")
            found.add(f"import {node.name}")
        elif kind == "ImportFrom":
            found.add(f"import {node.module}")
        elif kind == "AugAssign":
            found.add(_OPERATORS[type(node.op).__name__])
        for field in node._fields:
            value = getattr(node, field, None)
            if type(value) is list:
                for item in value:
                    if type(item) is str:
                        found.add(item)
                    elif hasattr(item, "_fields"):
                        below.append(item)
            elif type(value) is str:
                found.add(value)
            elif hasattr(value, "_fields"):
                below.append(value)
