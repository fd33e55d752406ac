"""What in-place writes do to the tensor they change: to one that overlaps itself, and to values it cannot hold."""

from __future__ import annotations

from stridelint.rules.contract import overlap
from stridelint.rules.contract.answers import Answer, Confidence
from stridelint.rules.contract.facts import TensorFacts

# Measured on expanded tensors: these write one number everywhere, or move no elements.
ALLOWED_ON_EXPANDED = frozenset(
    """fill zero_ tril triu conj_physical squeeze unsqueeze swapaxes swapdims t transpose as_strided detach set_ resize_ resize_as_
    fill_diagonal_ requires_grad_ put""".split()
)
# These still work on expanded tensors, with a warning; so does `x[mask] = v`.
DEPRECATED_ON_EXPANDED = frozenset({"masked_fill", "index_fill", "index_put"})

# Their results are copies of some elements, whatever the strides are.
PICKING = frozenset({"index_select", "masked_select", "gather", "take", "take_along_dim"})


def shares_elements(facts: TensorFacts) -> tuple[Answer, Confidence]:
    """Whether an axis of several elements has stride 0, which torch notices; only likely where that size is not known."""
    if facts.shape is None or facts.strides is None or 0 in facts.shape:
        return (Answer.UNKNOWN if facts.shape is None or 0 not in facts.shape else Answer.NO), Confidence.CERTAIN
    repeated = [dim for dim, stride in zip(facts.shape, facts.strides) if stride == 0 and dim != 1]
    if repeated:
        known = any(isinstance(dim, int) for dim in repeated)
        return Answer.YES, Confidence.CERTAIN if known else Confidence.LIKELY
    return Answer.UNKNOWN if facts.concrete_strides is None else Answer.NO, Confidence.CERTAIN


def windows_overlap(facts: TensorFacts) -> Answer:
    """Whether elements share memory in a way that torch does not notice, as overlapping windows do."""
    return overlap.self_overlap(facts)
