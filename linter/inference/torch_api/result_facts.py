"""What is known of an operator's results: shape and strides, dtype, device, and whether they require grad."""

from __future__ import annotations

from collections.abc import Mapping as Dict

from stridelint.linter.inference.path import Path
from stridelint.linter.inference.torch_api import result_shapes, result_strides
from stridelint.rules.contract import out_contract
from stridelint.rules.contract.dtypes import Scalar, kind_of
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.contract.operators import Operator, Variant
from stridelint.rules.events import Operand


def tensors_of(bound: Dict[str, object]) -> tuple[Operand, ...]:
    """All tensor operands, lists of them spread out."""
    found: list[Operand] = []
    for value in bound.values():
        if isinstance(value, Operand):
            found.append(value)
        elif isinstance(value, (tuple, list)):
            found += [each for each in value if isinstance(each, Operand)]
    return tuple(found)


def of(
    path: Path, operator: Operator, variant: Variant | None, bound: Dict[str, object], operands: tuple[Operand, ...]
) -> list[TensorFacts]:
    """What is known of each result; `operands` are the tensors among the bound arguments (see `tensors_of`)."""
    tensors = [each.facts for each in operands]
    if variant is None or not variant.measured:
        return [TensorFacts(requires_grad=_requires_grad(path, tensors, None))]
    facts = []
    shapes = result_shapes.of(operator.name, variant, bound)
    narrow = bound.get("out_int32", False)  # of searchsorted and bucketize
    for index, output in enumerate(variant.outputs):
        shape = shapes[index] if shapes is not None and index < len(shapes) else None
        dtype, kind = _dtype(path, operator.name, variant, index, bound)
        if narrow is not False:
            dtype = "int32" if narrow is True else None
        facts.append(
            TensorFacts(
                shape=shape,
                strides=result_strides.of(operator, variant, bound, shape, index),
                storage_offset=0,
                dtype=dtype,
                kind=kind,
                device=_device(tensors),
                requires_grad=_requires_grad(path, tensors, output.differentiable),
                is_leaf=None,
            )
        )
    return facts


# Under autocast these compute in its dtype.
_LOWERED = frozenset(
    """matmul mm bmm addmm baddbmm addbmm nn.functional.linear nn.functional.conv1d nn.functional.conv2d
    nn.functional.conv3d conv1d conv2d conv3d""".split()
)


def _dtype(
    path: Path, name: str, variant: Variant, index: int, bound: Dict[str, object]
) -> tuple[str | None, str | None]:
    if path.autocast:
        device, _, cast_to = path.autocast.partition(" ")
        lowered = name in _LOWERED and all(
            each.facts.dtype in ("float32", "float16", "bfloat16")
            and (each.facts.device or "").partition(":")[0] == device
            for each in tensors_of(bound)
        )
        return (cast_to, "float") if lowered and cast_to else (None, None)
    dtype, kind = _result_type(path, variant, index, bound)
    if path.default_dtype is None and dtype == "float32":
        return None, "float"
    if dtype is not None:
        return dtype, kind_of(dtype)
    return None, kind


def _result_type(path: Path, variant: Variant, index: int, bound: Dict[str, object]) -> tuple[str | None, str | None]:
    """Dtype and kind of a result; remembered by what they depend on, since most calls are alike."""
    asked = bound.get("dtype")
    key = (
        id(variant),
        index,
        path.default_dtype,
        asked if isinstance(asked, str) else type(asked),
        *(_type_of(bound.get(name)) for name in variant.outputs[index].of),
    )
    memory = path.program.result_types
    if key not in memory:
        dtype, kind = out_contract.result_dtype_and_kind(variant, index, bound, path.default_dtype or "float32")
        memory[key] = dtype, kind
    return memory[key]


def _type_of(value: object) -> object:
    """All that type promotion looks at in an argument."""
    if isinstance(value, Operand):
        rank = value.facts.rank
        return value.facts.dtype, value.facts.kind, rank if rank is None else rank == 0
    if isinstance(value, Scalar):
        return value
    return tuple(_type_of(each) for each in value) if isinstance(value, (tuple, list)) else type(value)


def _device(tensors: list[TensorFacts]) -> str | None:
    if len(tensors) == 1:
        return tensors[0].device
    devices = {facts.device for facts in tensors if facts.rank != 0} or {facts.device for facts in tensors}
    return devices.pop() if len(devices) == 1 else None


def _requires_grad(path: Path, tensors: list[TensorFacts], differentiable: bool | None) -> bool | None:
    if path.grad_mode is False or differentiable is False:
        return False
    wanted = [facts.requires_grad for facts in tensors]
    if True in wanted:
        return True if path.grad_mode and differentiable else None
    return None if None in wanted else False
