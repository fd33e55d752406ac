"""Attributes of tensors."""

from __future__ import annotations

import libcst as cst

from stridelint.linter.inference.objects import BoundMethod
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.torch_api.view_ops import geometry_of, view_of
from stridelint.linter.inference.values import (
    FALSE,
    TRUE,
    Condition,
    Constant,
    Device,
    Dtype,
    ShapeOf,
    SizeValue,
    TensorValue,
    Unknown,
    Value,
    shape_value,
)
from stridelint.rules.contract import questions, sizes, views
from stridelint.rules.contract.answers import Answer
from stridelint.rules.contract.dtypes import real_of
from stridelint.rules.contract.facts import Dims, TensorFacts
from stridelint.rules.contract.generic import strides_in_order

VIEWS = {"T": "is transposed here", "mT": "is transposed here", "H": "is transposed here", "mH": "is transposed here"}


def tensor_attribute(path: Path, tensor: TensorValue, name: str, node: cst.CSTNode | None) -> Value:
    """`tensor.name`; methods are bound."""
    facts = path.facts(tensor)
    if name == "shape":
        return ShapeOf(tensor) if facts.shape is None else shape_value(facts.shape, tensor)
    if name == "ndim":
        return rank_value(path, tensor)
    if name == "dtype":
        return dtype_value(path, tensor)
    if name == "device":
        return Device(facts.device) if facts.device is not None else Unknown("device")
    if name in ("is_cuda", "is_cpu", "is_meta"):
        return Unknown(name) if facts.device is None else _bool(facts.device.split(":")[0] == name.removeprefix("is_"))
    if name == "requires_grad":
        return requires_grad_value(path, tensor)
    if name == "is_leaf":
        return Unknown(name) if facts.is_leaf is None else _bool(facts.is_leaf)
    if name == "data":
        value = TensorValue(facts.but(requires_grad=False, is_leaf=True), tensor.story, tensor.proven)
        value.base = tensor
        return value
    if name == "grad":
        return gradient(path, tensor)
    if name in VIEWS:
        return _transposed(path, tensor, name, node)
    if name in ("real", "imag"):
        return _part(path, tensor, name)
    return BoundMethod(tensor, name)


def _bool(value: bool) -> Constant:
    return TRUE if value else FALSE


def rank_value(path: Path, tensor: TensorValue) -> Value:
    """`x.dim()`: comparing it with a number tells the rank."""
    rank = path.facts(tensor).rank
    if rank is not None:
        return Constant(rank)
    for atom, owner in path.rank_of.items():
        if owner is tensor:
            return SizeValue(sizes.Size({(atom,): 1}))
    symbol = sizes.Size.fresh("rank")
    assert symbol.symbol is not None
    path.rank_of[symbol.symbol] = tensor
    return SizeValue(symbol)


def dtype_value(path: Path, tensor: TensorValue) -> Value:
    """`x.dtype`: an unknown one that remembers whose it is."""
    dtype = path.facts(tensor).dtype
    if dtype is not None:
        return Dtype(dtype)
    value = Unknown("dtype")
    path.dtype_of[value.identity] = tensor
    return value


def requires_grad_value(path: Path, tensor: TensorValue) -> Value:
    """`x.requires_grad`: testing it tells."""
    known = tensor.facts.requires_grad
    if known is not None:
        return _bool(known)

    def assume(outcome: bool) -> None:
        tensor.facts = tensor.facts.but(requires_grad=outcome)

    return Condition(("requires_grad", tensor.identity), assume)


def gradient(path: Path, tensor: TensorValue) -> Value:
    """`x.grad`: shape and dtype of x; its strides where x is a leaf, as gradients of others come as they are computed."""
    if tensor.gradient is None:
        facts = path.facts(tensor)
        accumulated = tensor.is_parameter or facts.is_leaf is True
        gradient_facts = facts.but(
            requires_grad=False,
            storage=path.new_storage(),
            storage_offset=0,
            strides=_accumulated_strides(facts) if accumulated else None,
            is_leaf=True,
        )
        tensor.gradient = TensorValue(gradient_facts, tensor.story)
        tensor.gradient.name = f"{tensor.name}.grad" if tensor.name else None
    return tensor.gradient


def _accumulated_strides(facts: TensorFacts) -> Dims | None:
    """By the gradient layout contract: those of a leaf that is dense, whatever the gradient came as, and row-major for others."""
    dense = questions.is_dense(facts).answer
    if dense is Answer.NO and facts.shape is not None:
        return strides_in_order(facts.shape, range(len(facts.shape)))
    return facts.strides if dense is Answer.YES else None


def _transposed(path: Path, tensor: TensorValue, name: str, node: cst.CSTNode | None) -> Value:
    base = geometry_of(path, tensor)
    if base is None:
        moved = None
    elif name in ("T", "H"):
        moved = views.reversed_axes(base)
    else:
        moved = views.transpose(base, -2, -1)
    return view_of(path, tensor, moved, node, VIEWS[name])


def _part(path: Path, tensor: TensorValue, name: str) -> Value:
    facts = path.facts(tensor)
    if facts.kind in ("bool", "integer", "float") and name == "real":
        return tensor
    result = view_of(path, tensor, None, None)
    strides = (
        None
        if facts.strides is None or facts.kind != "complex"
        else tuple(sizes.multiply(stride, 2) for stride in facts.strides)
    )
    dtype = real_of(facts.dtype) if facts.dtype is not None else None
    result.facts = result.facts.but(
        shape=facts.shape,
        strides=strides,
        storage_offset=None,
        dtype=dtype,
        kind="float" if facts.kind == "complex" else None,
    )
    return result
