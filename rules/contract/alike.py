"""Questions about sizes that differ only in which unknown is which are worked out once.

A path through the code names its own unknown sizes, so the same expression asks the same thing again and again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar, cast

from stridelint.rules.contract import sizes
from stridelint.rules.contract.facts import Dims
from stridelint.rules.contract.sizes import Atom, SizeLike

Result = TypeVar("Result")

_KEPT = 10_000
_known: dict[Hashable, tuple[object, tuple[Atom, ...]]] = {}


def answered_alike(question: Hashable, groups: Sequence[Dims | None], compute: Callable[[], Result]) -> Result:
    """What `compute()` gives, in which no size occurs.

    Args:
        question: all else that the result depends on.
        groups: the sizes that the result depends on; None for a shape or strides that are not known.
    """
    return _answer(question, groups, compute)[0]


def once_alike(question: Hashable, groups: Sequence[Dims | None], compute: Callable[[], Dims | None]) -> Dims | None:
    """As `answered_alike`, for a result of sizes that are made of those in `groups`."""
    result, named, atoms = _answer(question, groups, compute)
    if result is None or named == atoms:
        return result
    names = dict(zip(named, atoms))
    found = [sizes.renamed(size, names) for size in result]
    return tuple(size for size in found if size is not None) if None not in found else compute()


def _answer(
    question: Hashable, groups: Sequence[Dims | None], compute: Callable[[], Result]
) -> tuple[Result, tuple[Atom, ...], tuple[Atom, ...]]:
    """The result, the unknowns it was computed with, and those that stand for them here."""
    order: dict[Atom, int] = {}
    key = (question, *[None if group is None else _forms(group, order) for group in groups])
    atoms = tuple(order)
    known = _known.get(key)
    if known is None:
        if len(_known) >= _KEPT:
            _known.clear()
        known = _known[key] = compute(), atoms
    return cast(Result, known[0]), known[1], atoms


def _forms(group: Dims, order: dict[Atom, int]) -> tuple[Any, ...]:
    """Sizes with their unknowns numbered in the order of their first appearance."""
    return tuple([size if isinstance(size, int) else _form(size, order) for size in group])


def _form(size: SizeLike, order: dict[Atom, int]) -> Any:
    if isinstance(size, int):
        return size
    if size.symbol is not None:
        return ("#", order.setdefault(size.symbol, len(order)))
    return tuple([(factor, *[_form_of_atom(atom, order) for atom in atoms]) for atoms, factor in size.terms])


def _form_of_atom(atom: Atom, order: dict[Atom, int]) -> Any:
    if not atom.operator:
        return order.setdefault(atom, len(order))
    return atom.operator, _form(atom.left, order), _form(atom.right, order)
