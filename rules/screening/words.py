"""The words of a module's code: its names and short strings, with how they are used.

`.view(` is a call of a method (or of what is imported under that name), `permute(` of anything, `out=` a keyword or parameter,
`+=` an operator, `"out"` a string, `]=` an assignment to an item, and `channels_last` any name or string that contains it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Set

STORE = "]="
# Strings count as names only up to this length (getattr(x, "permute"), a parametrized argument): longer ones are prose.
MAX_STRING = 100
_QUOTES = ('"', "'")
_EXACT = re.compile(r"\.?\w+\(|\w+=|\W{1,3}=")
_CONTAINED = re.compile(r"\.?\w+")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


class Words:
    """The words that a module says, each as it would be searched for (see above)."""

    def __init__(self, said: Set[str]) -> None:
        self._said = said

    @functools.cached_property
    def _text(self) -> str:
        return "\n" + "\n".join(self._said) + "\n"

    def matches(self, pattern: re.Pattern[str]) -> bool:
        """Whether a pattern is found among all words, one on each line."""
        return pattern.search(self._text) is not None

    def has_one(self, words: tuple[str, ...]) -> bool:
        """Whether one of a rule's words occurs in the code."""
        exact, contained = _forms(words)
        if not exact.isdisjoint(self._said):
            return True
        return any(all(part in self._text for part in parts) for parts in contained)


@functools.lru_cache(maxsize=256)
def _forms(words: tuple[str, ...]) -> tuple[frozenset[str], tuple[tuple[str, ...], ...]]:
    """The words that stand in a module's as they are, and parts of which all must be contained in some."""
    exact: set[str] = set()
    contained: list[tuple[str, ...]] = []
    for word in words:
        if word[:1] in _QUOTES:
            exact.add(f'"{word[1:-1]}"')
        elif _EXACT.fullmatch(word):
            exact.add(word)
            if word.endswith("(") and not word.startswith("."):
                exact.add("." + word)
        else:
            contained.append((word,) if _CONTAINED.fullmatch(word) else tuple(_IDENTIFIER.findall(word)))
    return frozenset(exact), tuple(contained)


def said(
    plain: Iterable[str], attributes: Iterable[str], strings: Iterable[str], methods: Iterable[str],
    functions: Iterable[str], keywords: Iterable[str],
) -> set[str]:  # fmt: skip
    """The words of names by how they are used."""
    found = set(plain)
    found.update([f".{name}" for name in attributes])
    found.update([f'"{text}"' for text in strings])
    found.update([f".{name}(" for name in methods])
    found.update([f"{name}(" for name in functions])
    found.update([f"{name}=" for name in keywords])
    return found
