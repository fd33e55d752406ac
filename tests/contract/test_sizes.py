from __future__ import annotations

from stridelint.rules.contract import sizes
from stridelint.rules.contract.sizes import Size


def test_polynomials_do_not_depend_on_the_order_of_construction() -> None:
    n, c = Size.fresh("n"), Size.fresh("c")
    assert sizes.multiply(n, c) == sizes.multiply(c, n)
    assert hash(sizes.multiply(n, c)) == hash(sizes.multiply(c, n))
    assert sizes.subtract(sizes.add(n, c), c) == n
    assert sizes.multiply(sizes.subtract(n, n), c) == 0


def test_text_sorts_names() -> None:
    w, h = Size.fresh("w"), Size.fresh("h")
    assert repr(sizes.multiply(w, h)) == "h*w"
    assert repr(sizes.add(sizes.multiply(3, sizes.multiply(w, h)), 5)) == "3*h*w + 5"
    half = sizes.floor_divide(sizes.add(w, 1), 2)
    assert repr(half) == "(w + 1)//2"


def test_equal_names_are_different_sizes() -> None:
    assert Size.fresh("n") != Size.fresh("n")
    first, second = Size.fresh("?"), Size.fresh("?")
    assert sizes.floor_divide(first, 2) != sizes.floor_divide(second, 2)
    assert sizes.floor_divide(first, 2) == sizes.floor_divide(first, 2)


def test_division_cancels_where_it_is_exact() -> None:
    h, w = Size.fresh("h"), Size.fresh("w")
    assert sizes.floor_divide(sizes.multiply(h, w), w) == h
    assert sizes.floor_divide(sizes.multiply(6, h), 3) == sizes.multiply(2, h)
    assert sizes.modulo(sizes.multiply(6, h), 3) == 0
    assert sizes.floor_divide(h, 0) is None
    assert sizes.modulo(h, 0) is None
    assert sizes.floor_divide(7, 2) == 3


def test_evaluation_rounds_down() -> None:
    h = Size.fresh("h")
    atom = h.symbol
    assert atom is not None
    half = sizes.floor_divide(h, 2)
    assert half is not None
    assert sizes.evaluate(half, {atom: 7}) == 3
    assert sizes.evaluate(sizes.minimum(h, 4), {atom: 7}) == 4
    assert sizes.substitute(half, {atom: 8}) == 4
    assert sizes.leaves(half) == {atom}
    assert sizes.divisors(half) == {2}


def test_a_product_is_that_of_its_parts_in_any_order() -> None:
    n, c = Size.fresh("n"), Size.fresh("c")
    half = sizes.floor_divide(n, 2)
    assert half is not None
    parts = (3, sizes.add(n, 1), c, half, 2)
    expected = sizes.multiply(6, sizes.multiply(sizes.multiply(half, c), sizes.add(n, 1)))
    assert sizes.product(parts) == sizes.product(reversed(parts)) == expected
    assert sizes.product((n, 0, c)) == 0
    assert sizes.product(()) == 1


def test_renaming_is_substitution_of_one_name_for_another() -> None:
    old, new = Size.fresh("n"), Size.fresh("m")
    (was,), (becomes,) = old.leaves, new.leaves
    for size in (7, old, sizes.multiply(old, old), sizes.add(sizes.multiply(3, old), 1), sizes.modulo(old, 4)):
        assert size is not None
        assert sizes.renamed(size, {was: becomes}) == sizes.substitute(size, {was: new})
