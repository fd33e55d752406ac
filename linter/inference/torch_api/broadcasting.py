"""Functions whose results are expanded views: several of their elements are one place in memory."""

from __future__ import annotations

from stridelint.linter.inference.torch_api.registry import Call, function
from stridelint.linter.inference.torch_api.view_ops import geometry_of, view_of
from stridelint.linter.inference.values import Constant, Sequence, TensorValue, Unknown, Value
from stridelint.rules.contract import views
from stridelint.rules.contract.elementwise import broadcast_shapes
from stridelint.rules.contract.facts import Dims
from stridelint.rules.contract.views import Geometry


def _tensors(call: Call) -> list[TensorValue] | None:
    """The tensors given one by one or as one list."""
    values: list[Value] = list(call.args.positional)
    if len(values) == 1 and isinstance(values[0], Sequence):
        values = list(values[0].items or [])
    found = [value for value in values if isinstance(value, TensorValue)]
    return found if found and len(found) == len(values) and not call.args.unknown_star else None


@function("torch.meshgrid")
def meshgrid(call: Call) -> Value:
    """`torch.meshgrid(x, y, indexing="xy")`: "xy" swaps the first two axes."""
    tensors = _tensors(call)
    if tensors is None:
        return Unknown("meshgrid")
    indexing = call.args.keywords.get("indexing", Constant("ij"))
    order = list(range(len(tensors)))
    if not isinstance(indexing, Constant):
        return Sequence([view_of(call.path, each, None, None) for each in tensors])
    if indexing.value == "xy" and len(order) > 1:
        order[:2] = [1, 0]
    lengths = []
    for tensor in tensors:
        shape = call.path.facts(tensor).shape
        if shape is None or len(shape) > 1:
            return Sequence([view_of(call.path, each, None, None) for each in tensors])
        lengths.append(shape[0] if shape else 1)
    shape = tuple(lengths[index] for index in order)
    return Sequence([_along(call, tensor, order.index(index), shape) for index, tensor in enumerate(tensors)])


def _along(call: Call, tensor: TensorValue, axis: int, shape: Dims) -> Value:
    geometry: Geometry | None = geometry_of(call.path, tensor)
    for other in range(len(shape)):
        if geometry is not None and (other != axis or not call.path.facts(tensor).shape):
            geometry = views.unsqueeze(geometry, other)
    expanded = None if geometry is None else views.expand(geometry, shape)
    return view_of(call.path, tensor, expanded, call.node, "is expanded here")


@function("torch.broadcast_tensors")
def broadcast_tensors(call: Call) -> Value:
    """`torch.broadcast_tensors(a, b)`."""
    tensors = _tensors(call)
    if tensors is None:
        return Unknown("broadcast_tensors")
    known = [call.path.facts(each).shape for each in tensors]
    sizes = [shape for shape in known if shape is not None]
    common = broadcast_shapes(*sizes) if len(sizes) == len(known) else None
    views_: list[Value] = []
    for tensor in tensors:
        base = geometry_of(call.path, tensor)
        geometry = None if base is None or common is None else views.expand(base, common)
        views_.append(view_of(call.path, tensor, geometry, call.node, "is expanded here"))
    return Sequence(views_)
