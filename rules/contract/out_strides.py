"""Outs of the right shape whose strides an operator does not honour: it writes to the wrong places, or changes the strides.

The operator table tells for which kinds of strides that happens ("reversed", "channels_last", "sliced"); what else it
depends on was measured by hand and is written down here.
"""

from __future__ import annotations

from collections.abc import Mapping

from stridelint.rules.contract.answers import Answer, Confidence
from stridelint.rules.contract.facts import Dims, TensorFacts
from stridelint.rules.contract.generic import strides_in_order
from stridelint.rules.contract.layout import is_non_overlapping_and_dense
from stridelint.rules.contract.operators import Variant
from stridelint.rules.contract.out_dtypes import facts_of
from stridelint.rules.contract.verdict import FINE, UNKNOWN, Verdict

# Random numbers come in another order; batch_norm's depends on its input.
ANOTHER_ORDER = frozenset({"bernoulli", "normal", "rand", "randn", "randint", "native_batch_norm"})
# They step from matrix to matrix by the stride of the last batch axis alone.
FLAT_BATCH = {"tril": (0,), "triu": (0,), "linalg.lu": (1,)}
_ORDERS = {4: (0, 2, 3, 1), 5: (0, 2, 3, 4, 1)}


def strides_clause(
    variant: Variant, name: str, index: int, arguments: Mapping[str, object], out: TensorFacts, required: TensorFacts
) -> Verdict:
    """Whether an operator spoils an out because of its strides.

    Effects: "wrong" (values end up in the wrong elements of out), "outside" (in other elements of the tensor that out is a
    part of), "restrided" (out gets other strides, and the values lie elsewhere).
    """
    if not variant.accepts_out or name in ANOTHER_ORDER or out.shape is None or out.strides is None:
        return UNKNOWN
    if required.shape is not None and required.shape != out.shape:
        return UNKNOWN  # It is resized first.
    kind = _kind(out)
    if kind is None:
        return UNKNOWN
    if kind == "":
        return FINE
    effect = variant.out_strides.get(kind, "")
    if name in FLAT_BATCH:
        effect = _flat_batch(out.shape, out.strides, kind) if index in FLAT_BATCH[name] else ""
    elif name.endswith("matmul"):
        first, second = (facts_of(arguments.get(each)) for each in ("input", "other"))
        effect = effect if first is not None and second is not None and (first.rank, second.rank) == (1, 2) else ""
    elif name == "nn.functional.gelu":
        source = facts_of(arguments.get("input"))
        effect = effect if source is not None and _kind(source) == "" else ""
    if not effect:
        return UNKNOWN
    return Verdict(Answer.YES, effect, confidence=Confidence.LIKELY if required.shape is None else Confidence.CERTAIN)


def _kind(facts: TensorFacts) -> str | None:
    """ "" for row-major, "channels_last", "reversed" (dense in another order), "sliced" (with gaps); None if not known."""
    shape, strides = facts.shape, facts.strides
    if shape is None or strides is None:
        return None
    order = _ORDERS.get(len(shape), ())
    concrete_shape, concrete_strides = facts.concrete_shape, facts.concrete_strides
    if concrete_shape is None or concrete_strides is None:
        if strides == strides_in_order(shape, range(len(shape))):
            return ""
        return "channels_last" if order and strides == strides_in_order(shape, order) else None
    if 0 in concrete_shape or _same(shape, strides, strides_in_order(shape, range(len(shape)))):
        return ""
    if not is_non_overlapping_and_dense(concrete_shape, concrete_strides):
        return "sliced"
    return "channels_last" if order and _same(shape, strides, strides_in_order(shape, order)) else "reversed"


def _same(shape: Dims, left: Dims, right: Dims | None) -> bool:
    """Equal strides on axes of more than one element."""
    return right is not None and all(size == 1 or a == b for size, a, b in zip(shape, left, right))


def _flat_batch(shape: Dims, strides: Dims, kind: str) -> str:
    """What goes wrong where the batch axes cannot be stepped through as one."""
    axes = range(len(shape) - 2)
    if len(axes) < 2 or any(not isinstance(dim, int) for dim in (*shape, *strides)):
        return ""
    last = axes[-1]
    step = strides[last]
    for axis in reversed(axes[:-1]):
        following = strides[axis + 1] if axis + 1 != last else step
        expected = following * shape[axis + 1]  # type: ignore[operator]  # all are integers
        if shape[axis] != 1 and strides[axis] != expected:
            return "wrong" if kind == "channels_last" else "outside"
    return ""
