"""Decides cheaply, without LibCST, which rules can fire in a file: most files hold nothing for any of them.

First the bytes are searched for the rules' words and for torch; what is left is judged on the stdlib tree, where comments
and docstrings do not count. A rule sees no file in which its words do not occur, so the screen changes no finding.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ast

    from stridelint.rules.rule import Rule

TORCH = "torch"
# Strings count as names only up to this length (getattr(x, "permute"), a parametrized argument's name): longer ones are prose.
_MAX_STRING = 100
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_ONLY_AST = 0x400  # ast.PyCF_ONLY_AST, without importing ast


def may_use_torch(data: bytes) -> bool:
    """Whether the bytes mention torch anywhere."""
    return TORCH.encode() in data


def mentions(data: bytes, rules: Iterable[type[Rule]]) -> bool:
    """Whether the bytes hold a word of any rule, and torch."""
    if not may_use_torch(data):
        return False
    words = {word for rule in rules for word in rule.words or ("",)}
    return any(word.encode() in data for word in words)


class Unparsable(Exception):
    """Python itself does not accept the text; the message says why."""


def parse(text: str) -> ast.Module:
    """The stdlib tree of a module."""
    import warnings

    try:
        with warnings.catch_warnings():
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
    """What occurs in a module's code: its names (and short strings), and how deeply it nests."""

    def __init__(self, tree: ast.Module) -> None:
        """Walk the tree once, without recursion: a deep tree must be measured before anything recurses into it."""
        self.tree = tree
        self.depth = 0
        names: set[str] = set()
        stack: list[tuple[object, int]] = [(tree, 0)]
        while stack:
            node, depth = stack.pop()
            kind = type(node).__name__
            if kind == "Expr" and type(node.value).__name__ == "Constant":  # type: ignore[attr-defined]
                continue  # a docstring, or a string used as a comment
            self.depth = max(self.depth, depth)
            for field in node._fields:  # type: ignore[attr-defined]
                value = getattr(node, field, None)
                if type(value) is list:
                    for item in value:
                        if type(item) is str:
                            names.add(item)
                        elif item is not None:
                            stack.append((item, depth + 1))
                elif type(value) is str:
                    if kind != "Constant" or len(value) <= _MAX_STRING:
                        names.add(value)
                elif hasattr(value, "_fields"):
                    stack.append((value, depth + 1))
        self._text = "\n".join(names)

    @property
    def uses_torch(self) -> bool:
        """Whether anything in the code is called torch."""
        return TORCH in self._text

    def has(self, word: str) -> bool:
        """Whether the identifiers of a rule's word (`out` of `out=`) occur; a word without any (`+=`) always does."""
        return all(name in self._text for name in _IDENTIFIER.findall(word))

    def rules(self, rules: Sequence[type[Rule]], data: bytes) -> list[type[Rule]]:
        """Those rules that can fire in this module, of which `data` are the bytes."""
        if not self.uses_torch:
            return []
        return [
            rule
            for rule in rules
            if any(word.encode() in data and self.has(word) for word in rule.words or ("",)) and rule.screen(self.tree)
        ]
