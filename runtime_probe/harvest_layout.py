"""Measuring results without out=: their shape class, and what a 4-D result's layout is for permuted operands."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from stridelint.runtime_probe.harvest_calls import Call, attempt, copied

_SHAPE = (2, 4, 6, 8)
_REVERSED = (3, 2, 1, 0)


def measure_shape(calls: list[Call]) -> str:
    """ "broadcast", "first", "reduction" or "other": the first that holds for the first result of all samples."""
    possible = ["broadcast", "first", "reduction"]
    seen = False
    for call in calls:
        results = attempt(call.fresh()).results
        tensors = list(call.tensors().values())
        if not results or not tensors:
            continue
        seen = True
        shape = results[0].shape
        try:
            broadcast = shape == torch.broadcast_shapes(*(t.shape for t in tensors))
        except RuntimeError:
            broadcast = False
        holds = {
            "broadcast": broadcast,
            "first": shape == tensors[0].shape,
            "reduction": shape == _reduced(call, tensors[0]),
        }
        possible = [name for name in possible if holds[name]]
    return possible[0] if possible and seen else "other"


def measure_own_shapes(calls: list[Call]) -> list[int]:
    """Which results have another shape than the first one in some call."""
    shapes = [[result.shape for result in attempt(call.fresh()).results] for call in calls]
    return sorted({index for each in shapes for index, shape in enumerate(each) if shape != each[0]})


def _reduced(call: Call, tensor: Tensor) -> torch.Size | None:
    """The input's shape without the axes in dim= (all if absent), or with ones there for keepdim=True."""
    dim = call.bound.get("dim", call.bound.get("axis"))
    keep = call.bound.get("keepdim", False)
    rank = tensor.dim()
    if dim is None or dim == ():
        axes = set(range(rank))
    elif isinstance(dim, (int, list, tuple)) and not isinstance(dim, bool):
        axes = {axis % max(rank, 1) for axis in ([dim] if isinstance(dim, int) else dim) if isinstance(axis, int)}
    else:
        return None
    shape = [1 if axis in axes else size for axis, size in enumerate(tensor.shape) if keep or axis not in axes]
    return torch.Size(shape)


def measure_layout(calls: list[Call]) -> dict[str, Any]:
    """The layout class over all 4-D calls, and for TensorIterator operators which operand decides first."""
    found: list[str] = []
    order = ""
    for call in _four_dimensional(calls):
        verdict = _layout_of(call)
        if verdict:
            found.append(verdict)
            order = order or (_deciding_order(call) if verdict == "elementwise" else "")
    # A call that returns its input (dropout outside training) tells nothing where others make a result that follows it.
    if "itself" in found:
        found = [verdict for verdict in found if verdict != "itself"] or ["view"]
    if not found or len(set(found)) > 1:
        return {"layout": "other" if found else ""}
    return {"layout": found[0], "order": order} if order else {"layout": found[0]}


def _operands(call: Call) -> list[str]:
    """The tensors that have the shape of the first 4-D one."""
    tensors = call.tensors()
    first = next((t for t in tensors.values() if t.dim() == 4), None)
    return [name for name, t in tensors.items() if first is not None and t.shape == first.shape]


def _four_dimensional(calls: list[Call]) -> list[Call]:
    """Samples whose first tensor is a telling 4-D one; and the first sample with its same-shaped tensors made 4-D."""
    found = []
    for call in calls:
        names = _operands(call)
        tensors = call.tensors()
        if names and names[0] == next(iter(tensors)) and _tells(tensors[names[0]].shape):
            found.append(call)
    for call in calls[:2] if not found else []:
        made = _made_four_dimensional(call)
        if made is not None:
            found.append(made)
    return found[:6]


def _tells(shape: torch.Size) -> bool:
    """No two layouts coincide: several channels and several pixels."""
    return len(shape) == 4 and shape[1] > 1 and shape[2] * shape[3] > 1 and shape[0] * shape[2] > 1


def _made_four_dimensional(call: Call) -> Call | None:
    tensors = call.tensors()
    first = next(iter(tensors.values()), None)
    if first is None or not first.numel():
        return None
    count = torch.Size(_SHAPE).numel()

    def filled(_: str, tensor: Tensor) -> Tensor:
        if tensor.shape != first.shape:
            return copied(tensor)
        flat = tensor.detach().reshape(-1)
        return flat.repeat(count // flat.numel() + 1)[:count].reshape(_SHAPE)

    made = call.mapped(filled)
    results = attempt(made.fresh()).results
    return made if results else None


def _restrided(tensor: Tensor, kind: str) -> Tensor:
    if kind == "channels_last":
        return tensor.detach().clone(memory_format=torch.channels_last)
    if kind == "reversed":
        return tensor.detach().permute(_REVERSED).contiguous().permute(_REVERSED)
    return tensor.detach().clone(memory_format=torch.contiguous_format)


def _result_order(call: Call, kinds: dict[str, str]) -> str:
    """How the first result lies in memory: "row_major", "channels_last", "reversed", "view", "other"; "" if not telling."""
    made = call.replaced({name: _restrided(call.tensors()[name], kind) for name, kind in kinds.items()})
    results = attempt(made).results
    if not results:
        return "illegal"
    result = results[0]
    storages = {t.untyped_storage().data_ptr() for t in made.tensors().values()}
    if result.untyped_storage().data_ptr() in storages:
        first = made.tensors()[next(iter(kinds))]
        return "itself" if (result.shape, result.stride()) == (first.shape, first.stride()) else "view"
    if not _tells(result.shape):
        return ""
    if result.is_contiguous():
        return "row_major"
    if result.is_contiguous(memory_format=torch.channels_last):
        return "channels_last"
    return "reversed" if result.permute(_REVERSED).is_contiguous() else "other"


def _layout_of(call: Call) -> str:
    names = _operands(call)
    seen = tuple(_result_order(call, dict.fromkeys(names, kind)) for kind in ("row_major", "channels_last", "reversed"))
    classes: dict[tuple[str, ...], str] = {
        ("row_major", "channels_last", "reversed"): "follows",
        ("row_major", "channels_last", "row_major"): "channels_last",
        ("row_major", "row_major", "row_major"): "row_major",
        ("view", "view", "view"): "view",
        ("", "", ""): "",
    }
    if seen == ("itself", "itself", "itself"):
        return "itself"
    seen = tuple("view" if each == "itself" else each for each in seen)
    # A permuted operand may make a view illegal.
    if set(seen) - {"illegal"} == {"view"}:
        return "view"
    verdict = classes.get(tuple("" if each == "illegal" else each for each in seen), "other")
    return _iterated_or_preserved(call, names) if verdict == "follows" else verdict


def _iterated_or_preserved(call: Call, names: list[str]) -> str:
    """TensorIterator normalises the strides of a contiguous tensor with one channel, a preserving copy keeps them."""
    tensors = call.tensors()
    one = {}
    for name in names:
        flat = tensors[name].detach().reshape(-1)
        one[name] = flat.repeat(24 // flat.numel() + 1)[:24].view(2, 3, 4, 1).permute(0, 3, 1, 2)
    results = attempt(call.replaced(one)).results
    if results and tuple(results[0].shape) == (2, 1, 3, 4) and results[0].stride() == (12, 1, 4, 1) and len(names) == 1:
        numbers = [
            value for value in call.bound.values() if isinstance(value, (int, float)) and not isinstance(value, bool)
        ]
        return "preserve" if not numbers else "elementwise"
    return "elementwise"


def _deciding_order(call: Call) -> str:
    """Operands, the one whose layout wins against all others first."""
    names = _operands(call)
    if len(names) < 2:
        return ""
    winners = [
        name
        for name in names
        if _result_order(call, {other: "channels_last" if other == name else "row_major" for other in names})
        == "channels_last"
    ]
    rest = [name for name in names if name not in winners]
    return " ".join(dict.fromkeys(name.partition("[")[0] for name in winners + rest))
