"""Whether a reshape asks for a tensor's axes in another order, which only a permutation can give."""

from __future__ import annotations

from collections.abc import Sequence

from stridelint.rules.contract import sizes
from stridelint.rules.contract.answers import Answer, Confidence
from stridelint.rules.contract.facts import Dims

NOT = Answer.NO, Confidence.CERTAIN
_COLOURS = 3


def changes_order(shape: Dims, requested: Dims, axes: Sequence[int | None] = ()) -> tuple[Answer, Confidence]:
    """Whether `view(requested)` names sizes of `shape` in another order than that of its axes, and how sure that is.

    A view only regroups: reading the requested sizes from left to right, those of the axes must come in the axes' order.
    Sizes tell their axes by being the same symbol, or by `axes`, which says for each of `requested` of which axis of this
    very tensor the code took it. What names no axis stands for all axes not named, where it is the only such size;
    several neighbours stand for one axis that is split.

    Args:
        shape: of the tensor.
        requested: as written, -1 included.
    """
    named = [_axes_of(dim, shape, axes[place] if place < len(axes) else None) for place, dim in enumerate(requested)]
    taken = frozenset().union(*named) if named else frozenset()
    rest = frozenset(axis for axis, dim in enumerate(shape) if axis not in taken and dim != 1)
    open_places = [place for place, found in enumerate(named) if not found and requested[place] != 1]
    if len(open_places) == 1 and rest and _may_be(requested[open_places[0]], shape, rest):
        named[open_places[0]] = rest
    elif open_places and rest and _split_up(requested, open_places, named, shape, rest):
        for place in open_places:
            named[place] = rest
    elif open_places:
        return Answer.UNKNOWN, Confidence.CERTAIN
    groups = [found for found in named if found]
    if not open_places and sum(map(len, groups)) > len(taken):
        return Answer.UNKNOWN, Confidence.CERTAIN  # one axis stands for two sizes: another is just as large
    if not any(
        left != right and max(left) > min(right) for place, left in enumerate(groups) for right in groups[place + 1 :]
    ):
        return NOT
    known = all(isinstance(dim, int) for dim in (*shape, *requested))
    return Answer.YES, Confidence.CERTAIN if known else Confidence.LIKELY


def _axes_of(dim: sizes.SizeLike, shape: Dims, origin: int | None) -> frozenset[int]:
    """Axes whose sizes make up a requested size; those of size 1 do not matter."""
    if origin is not None:
        axis = origin % len(shape)
        return frozenset() if shape[axis] == 1 else frozenset([axis])
    found = set()
    for atom in _factors(dim):
        owners = [axis for axis, size in enumerate(shape) if atom in sizes.leaves(size)]
        if (
            len(owners) == 1
            and isinstance(shape[owners[0]], sizes.Size)
            and shape[owners[0]] == sizes.Size({(atom,): 1})
        ):
            found.add(owners[0])
    return frozenset(found)


def _factors(dim: sizes.SizeLike) -> frozenset[sizes.Atom]:
    """The sizes that a product multiplies; of a quotient those above the line."""
    if isinstance(dim, int) or len(dim.terms) != 1:
        return frozenset()
    found: frozenset[sizes.Atom] = frozenset()
    for atom in dim.terms[0][0]:
        found |= (
            frozenset([atom]) if not atom.operator else _factors(atom.left) if atom.operator == "//" else frozenset()
        )
    return found


def _adjacent(axes: frozenset[int], shape: Dims) -> bool:
    """No other axis lies between them: else some are surely of size 1, or the sizes were regrouped in a way unseen here."""
    return not any(axis not in axes and shape[axis] != 1 for axis in range(min(axes), max(axes)))


def _may_be(dim: sizes.SizeLike, shape: Dims, rest: frozenset[int]) -> bool:
    """A size that names no axis is that of the others together."""
    return _adjacent(rest, shape) if dim == -1 else dim == sizes.product([shape[axis] for axis in sorted(rest)])


def _split_up(
    requested: Dims, places: Sequence[int], named: Sequence[frozenset[int]], shape: Dims, rest: frozenset[int]
) -> bool:
    """Neighbouring sizes that name no axis are one axis (split, if they are several), where every other axis is asked for as it is."""
    whole = all(
        len(found) == 1 and (requested[place] == shape[next(iter(found))]) for place, found in enumerate(named) if found
    )
    together = places[-1] - places[0] + 1 == len(places)
    return whole and together and len(rest) == 1 and sum(map(len, named)) == len(frozenset().union(*named))


def swaps_channels(shape: Dims, requested: Dims) -> bool:
    """Numbers alone: an image's three channels go from behind its pixels to the front or back, as in (2, 4, 6, 3) to (2, 3, 4, 6),
    where the rows may be put together, as in (2, 3, 4, 6) to (2, 24, 3). Axes before an image keep their sizes, or -1 stands for
    them."""
    for batch in range(max(len(shape) - 1, 0)):
        source = shape[batch:]
        image = _pixels(source)
        if image is None:
            continue
        for before in {batch, min(batch, 1)}:
            kept = requested[:before] == shape[:batch] or (batch and requested[:before] == (-1,))
            wanted = _resolved(requested[before:], source) if kept else None
            if wanted is not None and _are_swapped(image, _pixels(wanted)):
                return True
    return False


def _resolved(requested: Dims, shape: Dims) -> Dims | None:
    """Sizes with what -1 stands for in its place; None where that is not known."""
    known = sizes.product([dim for dim in requested if dim != -1])
    total = sizes.product(shape)
    if not isinstance(known, int) or not isinstance(total, int) or known <= 0 or total % known:
        return None
    return tuple(total // known if dim == -1 else dim for dim in requested)


def _are_swapped(image: tuple[Dims, bool], other: tuple[Dims, bool] | None) -> bool:
    if other is None or image[1] is other[1]:
        return False
    if len(image[0]) == len(other[0]):
        return len(image[0]) > 1 and image[0] == other[0]
    return sizes.product(image[0]) == sizes.product(other[0])


def _pixels(dims: Dims) -> tuple[Dims, bool] | None:
    """The axes of an image that are no channels, and whether the channels come last; None for what is no image of colours."""
    if len(dims) not in (2, 3) or any(not isinstance(dim, int) or dim < 2 for dim in dims):
        return None
    if [dim for dim in dims if dim == _COLOURS] != [_COLOURS] or _COLOURS not in (dims[0], dims[-1]):
        return None
    return (dims[:-1], True) if dims[-1] == _COLOURS else (dims[1:], False)
