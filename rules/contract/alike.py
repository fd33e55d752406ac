"""Questions about sizes that differ only in which unknown is which are worked out once.

A path through the code names its own unknown sizes, so the same expression asks the same thing again and again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from stridelint.rules.contract import sizes
from stridelint.rules.contract.facts import Dims
from stridelint.rules.contract.sizes import Atom, Size, SizeLike

_KEPT = 10_000
_known: dict[Hashable, tuple[Dims | None, tuple[Atom, ...]]] = {}


def once_alike(question: Hashable, groups: Sequence[Dims | None], compute: Callable[[], Dims | None]) -> Dims | None:
    """What `compute()` gives: sizes made of those in `groups`, which with `question` decide it.

    Args:
        question: all else that the result depends on.
        groups: the sizes that the result depends on; None for a shape or strides that are not known.
    """
    order: dict[Atom, int] = {}
    key = (question, tuple(None if group is None else tuple(_form(size, order) for size in group) for group in groups))
    atoms = tuple(order)
    if key not in _known:
        if len(_known) >= _KEPT:
            _known.clear()
        _known[key] = compute(), atoms
    result, named = _known[key]
    if result is None or named == atoms:
        return result
    renamed: dict[Atom, SizeLike] = {old: Size({(new,): 1}) for old, new in zip(named, atoms)}
    found = [sizes.substitute(size, renamed) for size in result]
    return tuple(size for size in found if size is not None) if None not in found else compute()


def _form(size: SizeLike, order: dict[Atom, int]) -> Any:
    """A size with its unknowns numbered in the order of their first appearance."""
    if isinstance(size, int):
        return size
    if size.symbol is not None:
        return ("#", order.setdefault(size.symbol, len(order)))
    return tuple((factor, tuple(_form_of_atom(atom, order) for atom in atoms)) for atoms, factor in size.terms)


def _form_of_atom(atom: Atom, order: dict[Atom, int]) -> Any:
    if not atom.operator:
        return order.setdefault(atom, len(order))
    return atom.operator, _form(atom.left, order), _form(atom.right, order)
