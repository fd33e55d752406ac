"""Strides of operators' results from their bound arguments.

Most follow from the layout class measured in the table; the rest are listed here by operator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from stridelint.rules import events
from stridelint.rules.contract import convolution, generic, questions
from stridelint.rules.contract.dtypes import Scalar
from stridelint.rules.contract.facts import Dims, TensorFacts
from stridelint.rules.contract.operators import Operator, Variant
from stridelint.rules.contract.out_contract import scalar_kind
from stridelint.rules.events import Operand

Bound: TypeAlias = Mapping[str, object]


def of(operator: Operator, variant: Variant, bound: Bound, shape: Dims | None) -> Dims | None:
    """The strides of the first result, whose shape is known; None where they are not."""
    if shape is None:
        return None
    special = _BY_NAME.get(operator.name)
    if special is not None:
        return special(bound, shape)
    if variant.layout == "row_major":
        return generic.strides_in_order(shape, range(len(shape)))
    if variant.layout == "elementwise":
        return _elementwise(variant, bound)
    source = bound.get("input")
    if variant.layout == "preserve" and isinstance(source, Operand) and source.facts.shape == shape:
        return questions.cloned(source.facts).strides
    if variant.layout == "channels_last" and isinstance(source, Operand):
        return questions.result_of("channels_last", [source.facts], shape).strides
    return None


def _elementwise(variant: Variant, bound: Bound) -> Dims | None:
    facts: list[TensorFacts | Scalar] = []
    for name in variant.order or variant.tensor_parameters:
        value = bound.get(name)
        kind = scalar_kind(value)
        if isinstance(value, Operand):
            facts.append(value.facts)
        elif isinstance(value, Scalar):
            facts.append(value)
        elif kind is not None:
            facts.append(Scalar(kind))
        elif value is events.Unknown.UNKNOWN:
            return None
    return questions.elementwise(facts).strides if facts else None


def _conv(bound: Bound, shape: Dims) -> Dims | None:
    source, weight = bound.get("input"), bound.get("weight")
    groups = bound.get("groups", 1)
    if not isinstance(source, Operand) or not isinstance(weight, Operand) or not isinstance(groups, int):
        return None
    number_of_groups = groups

    def compute(tensors: tuple[TensorFacts, ...], extra: generic.Numbers) -> tuple[int, ...] | None:
        geometries = [(tensor.concrete_shape, tensor.concrete_strides) for tensor in tensors]
        (a, b), (c, d) = geometries
        if a is None or b is None or c is None or d is None:
            return None
        return convolution.conv_strides((a, b), (c, d), extra[0], groups=number_of_groups, dtype=source.facts.dtype)

    return generic.lift_strides(compute, shape, [source.facts, weight.facts], shape)


def _joined(join: Callable[[list[TensorFacts], int], TensorFacts]) -> Callable[[Bound, Dims], Dims | None]:
    def strides(bound: Bound, shape: Dims) -> Dims | None:
        tensors, axis = bound.get("tensors"), bound.get("dim", 0)
        if not isinstance(tensors, tuple) or not isinstance(axis, int):
            return None
        facts = [each.facts for each in tensors if isinstance(each, Operand)]
        return join(facts, axis).strides if len(facts) == len(tensors) else None

    return strides


def _row_major(bound: Bound, shape: Dims) -> Dims | None:
    return generic.strides_in_order(shape, range(len(shape)))


_BY_NAME: dict[str, Callable[[Bound, Dims], Dims | None]] = {
    **{
        f"{prefix}conv{kind}{axes}d": _conv
        for prefix in ("", "nn.functional.")
        for kind in ("", "_transpose")
        for axes in (1, 2, 3)
    },
    **dict.fromkeys(("cat", "concat", "concatenate"), _joined(questions.cat)),
    "stack": _joined(questions.stack),
    **dict.fromkeys(
        (
            "nn.functional.embedding",
            "nn.functional.one_hot",
            "matmul",
            "mm",
            "bmm",
            "mv",
            "outer",
            "nn.functional.linear",
        ),
        _row_major,
    ),
}
