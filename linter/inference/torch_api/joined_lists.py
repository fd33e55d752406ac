"""What is known of `torch.stack(tensors)` and its kin where it is not known how many tensors the list holds."""

from __future__ import annotations

from collections.abc import Mapping

from stridelint.linter.inference.objects import Arguments
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.values import Sequence, TensorValue
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.contract.sizes import Size

NAMES = frozenset({"stack", "cat", "concat", "concatenate", "hstack", "vstack", "dstack", "column_stack"})
_ALONG_AN_AXIS = frozenset({"stack", "cat", "concat", "concatenate"})


def pair(path: Path, args: Arguments) -> Arguments | None:
    """The arguments with two tensors in place of the unknown number; None where the list tells nothing of them."""
    given = args.get(0, "tensors")
    if not isinstance(given, Sequence) or given.items is not None or given.element is None:
        return None
    two = Sequence([given.element(), given.element()], given.kind)
    if not all(isinstance(each, TensorValue) for each in two.items or ()):
        return None
    if args.positional:
        return Arguments([two, *args.positional[1:]], args.keywords)
    return Arguments([], {**args.keywords, "tensors": two})


def of_any_number(name: str, bound: Mapping[str, object], facts: TensorFacts) -> TensorFacts:
    """The facts of two joined tensors, without what depends on how many there are."""
    shape, axis = facts.shape, bound.get("dim", 0)
    if shape is None or name not in _ALONG_AN_AXIS or not isinstance(axis, int) or not -len(shape) <= axis < len(shape):
        return facts.but(shape=None, strides=None)
    axis %= len(shape)
    joined = (*shape[:axis], Size.fresh("count"), *shape[axis + 1 :])
    # The first axis is the outermost in all layouts that these operators give: no stride depends on its size.
    return facts.but(shape=joined, strides=facts.strides if axis == 0 else None)
