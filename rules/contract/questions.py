"""The engine asked with facts: results as `TensorFacts`, claims as `Judgement`, all sound on what is unknown.

A fact of a result is given only where every tensor that has the operands' facts would lead to it, up to sizes of 0 and 1
behind symbols (`Confidence.LIKELY`). Results that are views keep the base's storage, dtype, device and requires_grad;
new tensors have storage None. Calls that torch refuses give facts without shape, or None where the signature says so.
"""

from __future__ import annotations

from stridelint.rules.contract.copied_facts import cloned, converted, like, made_contiguous
from stridelint.rules.contract.iterated_facts import elementwise, order_matters, result_of
from stridelint.rules.contract.predicates import format_raises, is_contiguous, is_dense, is_only, suggests
from stridelint.rules.contract.reshaping import resolve_shape as resolve_view_shape
from stridelint.rules.contract.viewed_facts import cat, flatten, reshape, stack, unflatten, view, viewed

__all__ = [
    "cat", "cloned", "converted", "elementwise", "flatten", "format_raises", "is_contiguous", "is_dense", "is_only",
    "like", "made_contiguous", "order_matters", "reshape", "resolve_view_shape", "result_of", "stack", "suggests", "unflatten",
    "view", "viewed",
]  # fmt: skip
