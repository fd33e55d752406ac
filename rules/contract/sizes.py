"""Symbolic sizes: polynomials with integer coefficients over unknown sizes.

`n, c, h, w = x.shape` names four unknown sizes; `c * h * w` and `h // 2` are sizes computed from them. Strides of a
tensor whose sizes are unknown are sizes too: channels_last is (h*w*c, 1, w*c, c) whatever the numbers are.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar, TypeAlias
from weakref import WeakValueDictionary

_fresh = itertools.count(1)

Monomial: TypeAlias = tuple["Atom", ...]


class Atom:
    """One unknown quantity: a named size, or a quotient, remainder or minimum of sizes that does not simplify.

    `identity` tells atoms apart and orders them; two quotients of equal sizes are one atom.
    """

    __slots__ = ("__weakref__", "identity", "left", "name", "operator", "right")
    # Compound atoms by identity, so that equal ones are the same object.
    _compound: ClassVar[WeakValueDictionary[str, Atom]] = WeakValueDictionary()

    name: str
    operator: str
    left: SizeLike
    right: SizeLike
    identity: str

    def __new__(cls, name: str, operator: str = "", left: SizeLike = 0, right: SizeLike = 0) -> Atom:
        """A fresh named size; or, for an operator, the one quantity that it makes of two sizes."""
        identity = f"({_identity(left)}{operator}{_identity(right)})" if operator else f"#{next(_fresh):09d}"
        known = cls._compound.get(identity) if operator else None
        if known is not None:
            return known
        made = object.__new__(cls)
        made.name, made.operator, made.left, made.right, made.identity = name, operator, left, right, identity
        if operator:
            cls._compound[identity] = made
        return made

    def __repr__(self) -> str:
        return self.name

    def evaluate(self, values: Mapping[Atom, int]) -> int:
        """The number under an assignment, rounded down as Python does; ValueError for a division by zero."""
        if not self.operator:
            return values[self]
        left, right = evaluate(self.left, values), evaluate(self.right, values)
        if self.operator == "min":
            return min(left, right)
        if right == 0:
            raise ValueError("a size is divided by zero")
        return left // right if self.operator == "//" else left % right

    @property
    def leaves(self) -> tuple[Atom, ...]:
        """The named sizes it is computed from."""
        if not self.operator:
            return (self,)
        return tuple(atom for side in (self.left, self.right) if isinstance(side, Size) for atom in side.leaves)


class Size:
    """An integer that is not known, as a polynomial over atoms."""

    __slots__ = ("_leaves", "symbol", "terms")

    def __init__(self, terms: Mapping[Monomial, int]) -> None:
        """symbol: the atom when the size is just one named unknown."""
        self.symbol: Atom | None = None
        self._leaves: tuple[Atom, ...] | None = None
        if len(terms) > 1:
            self.terms = tuple(sorted(terms.items(), key=_by_length))
            return
        self.terms = tuple(terms.items())
        for monomial, coefficient in self.terms:
            if coefficient == 1 and len(monomial) == 1 and not monomial[0].operator:
                self.symbol = monomial[0]

    @classmethod
    def fresh(cls, name: str = "?") -> Size:
        """A new unknown size; `name` is for messages."""
        return cls({(Atom(name),): 1})

    @property
    def leaves(self) -> tuple[Atom, ...]:
        """The named unknown sizes that it is computed from, in the order in which they stand in it."""
        if self._leaves is None:
            if self.symbol is not None:
                return (self.symbol,)
            found: dict[Atom, None] = {}
            for atoms, _ in self.terms:
                for atom in atoms:
                    found.update(dict.fromkeys(atom.leaves))
            self._leaves = tuple(found)
        return self._leaves

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Size) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(self.terms)

    def __repr__(self) -> str:
        texts = []
        for atoms, factor in self.terms:
            alone = len(atoms) == 1 and factor == 1
            names = sorted(_paren(atom.name) if atom.operator and not alone else atom.name for atom in atoms)
            texts.append((len(atoms) == 0, "*".join([str(factor)] * (factor != 1 or not atoms) + names)))
        return " + ".join(text for _, text in sorted(texts))


def _by_length(term: tuple[Monomial, int]) -> tuple[int, list[str]]:
    return len(term[0]), [atom.identity for atom in term[0]]


SizeLike: TypeAlias = int | Size


def _identity(size: SizeLike) -> str:
    if isinstance(size, int):
        return str(size)
    return "+".join("*".join([str(factor), *(atom.identity for atom in atoms)]) for atoms, factor in size.terms)


def _terms(size: SizeLike) -> dict[Monomial, int]:
    return dict(size.terms) if isinstance(size, Size) else ({(): size} if size else {})


def _build(terms: dict[Monomial, int]) -> SizeLike:
    if 0 in terms.values():
        terms = {atoms: factor for atoms, factor in terms.items() if factor}
    if not terms:
        return 0
    if len(terms) == 1 and () in terms:
        return terms[()]
    return Size(terms)


def add(left: SizeLike, right: SizeLike) -> SizeLike:
    """left + right."""
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    terms = _terms(left)
    for atoms, factor in _terms(right).items():
        terms[atoms] = terms.get(atoms, 0) + factor
    return _build(terms)


def multiply(left: SizeLike, right: SizeLike) -> SizeLike:
    """left * right."""
    if isinstance(left, int):
        if isinstance(right, int):
            return left * right
        left, right = right, left
    if isinstance(right, int):
        if right in (0, 1):
            return left if right else 0
        return Size({atoms: factor * right for atoms, factor in _terms(left).items()})
    terms: dict[Monomial, int] = {}
    for atoms_left, factor_left in left.terms:
        for atoms_right, factor_right in right.terms:
            atoms = _sorted([*atoms_left, *atoms_right])
            terms[atoms] = terms.get(atoms, 0) + factor_left * factor_right
    return _build(terms)


def _sorted(atoms: list[Atom]) -> Monomial:
    atoms.sort(key=_identity_of)
    return tuple(atoms)


def _identity_of(atom: Atom) -> str:
    return atom.identity


def subtract(left: SizeLike, right: SizeLike) -> SizeLike:
    """left - right."""
    if isinstance(left, int) and isinstance(right, int):
        return left - right
    terms = _terms(left)
    for atoms, factor in _terms(right).items():
        terms[atoms] = terms.get(atoms, 0) - factor
    return _build(terms)


def floor_divide(left: SizeLike, right: SizeLike) -> SizeLike | None:
    """left // right: simplified where a single term divides; None for a division by zero."""
    if isinstance(right, int) and right == 0:
        return None
    if isinstance(left, int) and isinstance(right, int):
        return left // right
    divisor = _terms(right)
    if len(divisor) == 1:
        ((atoms_right, factor_right),) = divisor.items()
        quotient = _divide_exactly(_terms(left), atoms_right, factor_right)
        if quotient is not None:
            return quotient
    name = f"{_paren(left)}//{_paren(right)}"
    return Size({(Atom(name, "//", left, right),): 1})


def _divide_exactly(terms: dict[Monomial, int], atoms_right: Monomial, factor_right: int) -> SizeLike | None:
    quotient: dict[Monomial, int] = {}
    for atoms, factor in terms.items():
        rest = list(atoms)
        for atom in atoms_right:
            if atom not in rest:
                return None
            rest.remove(atom)
        if factor % factor_right:
            return None
        quotient[tuple(rest)] = factor // factor_right
    return _build(quotient)


def modulo(left: SizeLike, right: SizeLike) -> SizeLike | None:
    """left % right: 0 where a single term divides; None for a division by zero."""
    if isinstance(right, int) and right == 0:
        return None
    if isinstance(left, int) and isinstance(right, int):
        return left % right
    divisor = _terms(right)
    if len(divisor) == 1:
        ((atoms_right, factor_right),) = divisor.items()
        if _divide_exactly(_terms(left), atoms_right, factor_right) is not None:
            return 0
    return Size({(Atom(f"{_paren(left)}%{_paren(right)}", "%", left, right),): 1})


def minimum(left: SizeLike, right: SizeLike) -> SizeLike:
    """The smaller one: what a slice to a bound keeps of an axis."""
    if isinstance(left, int) and isinstance(right, int):
        return min(left, right)
    if left == right:
        return left
    return Size({(Atom(f"min({left!r}, {right!r})", "min", left, right),): 1})


def _paren(size: SizeLike | str) -> str:
    text = size if isinstance(size, str) else repr(size)
    return f"({text})" if any(sign in text for sign in " */%") and not text.startswith("min(") else text


def product(sizes: Iterable[SizeLike]) -> SizeLike:
    """The product of all sizes (numel); 1 for none."""
    number, atoms, sums = 1, list[Atom](), list[Size]()
    for size in sizes:
        if isinstance(size, int):
            number *= size
        elif len(size.terms) == 1:
            ((factors, factor),) = size.terms
            atoms += factors
            number *= factor
        else:
            sums.append(size)
    result: SizeLike = Size({_sorted(atoms): number}) if atoms and number else number
    for each in sums:
        result = multiply(result, each)
    return result


def renamed(size: SizeLike, names: Mapping[Atom, Atom]) -> SizeLike | None:
    """`size` with other named sizes in the place of those that it is computed from, each another one; None where `substitute` gives
    none."""
    if isinstance(size, int):
        return size
    if size.symbol is not None:
        return Size({(names[size.symbol],): 1})
    if any(atom.operator for atoms, _ in size.terms for atom in atoms):
        return substitute(size, {old: Size({(new,): 1}) for old, new in names.items()})
    return Size({_sorted([names[atom] for atom in atoms]): factor for atoms, factor in size.terms})


def divisors(size: SizeLike) -> frozenset[int]:
    """The numbers by which unknown sizes are divided in it."""
    if isinstance(size, int):
        return frozenset()
    found: frozenset[int] = frozenset()
    for atoms, _ in size.terms:
        for atom in atoms:
            if atom.operator:
                found |= divisors(atom.left) | divisors(atom.right)
                found |= (
                    frozenset([atom.right]) if isinstance(atom.right, int) and atom.operator != "min" else frozenset()
                )
    return found


_NO_LEAVES: frozenset[Atom] = frozenset()


def leaves(size: SizeLike) -> frozenset[Atom]:
    """The named unknown sizes that `size` is computed from."""
    return _NO_LEAVES if isinstance(size, int) else frozenset(size.leaves)


def evaluate(size: SizeLike, values: Mapping[Atom, int]) -> int:
    """The number under an assignment of all its leaves; ValueError for a division by zero."""
    if isinstance(size, int):
        return size
    if size.symbol is not None:
        return values[size.symbol]
    total = 0
    for atoms, factor in size.terms:
        term = factor
        for atom in atoms:
            term *= atom.evaluate(values)
        total += term
    return total


def substitute(size: SizeLike, values: Mapping[Atom, SizeLike]) -> SizeLike | None:
    """`size` with atoms replaced by other sizes; None where a replaced divisor is zero."""
    if isinstance(size, int):
        return size
    total: SizeLike = 0
    for atoms, factor in size.terms:
        term: SizeLike = factor
        for atom in atoms:
            replacement = _replaced(atom, values)
            if replacement is None:
                return None
            term = multiply(term, replacement)
        total = add(total, term)
    return total


_OPERATORS: dict[str, Callable[[SizeLike, SizeLike], SizeLike | None]] = {
    "//": floor_divide,
    "%": modulo,
    "min": minimum,
}


def _replaced(atom: Atom, values: Mapping[Atom, SizeLike]) -> SizeLike | None:
    if atom in values:
        return values[atom]
    if not atom.operator:
        return Size({(atom,): 1})
    left, right = substitute(atom.left, values), substitute(atom.right, values)
    return None if left is None or right is None else _OPERATORS[atom.operator](left, right)
