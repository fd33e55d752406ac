"""`tensor[index] = value`."""

from __future__ import annotations

import libcst as cst

from stridelint.linter.inference import number_ranges
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.subscripts import index_parts, is_advanced, tensor_item
from stridelint.linter.inference.torch_api import whole_numbers
from stridelint.linter.inference.torch_api.emit import emit, operand, plain
from stridelint.linter.inference.torch_api.writes import stored
from stridelint.linter.inference.values import ArrayValue, Constant, Sequence, Slice, TensorValue, Value, as_dim, as_int
from stridelint.rules.events import Form, Operand


def tensor_store(
    path: Path, tensor: TensorValue, index: Value, value: Value, target: cst.Subscript, node: cst.CSTNode
) -> None:
    """A store through an index: the event is called "setitem".

    `region` is the view that plain indices select; `indexed` tells that tensors or lists pick elements of it, `masked` that
    these are masks, `numbered` that at least one holds positions.
    """
    resized, path.resized = path.resized, {}
    indexed = index_parts(index)
    picks = any(is_advanced(part) and not _is_lone_position(path, part) for part in indexed)
    region = _picked_from(path, tensor, indexed) if picks else tensor_item(path, tensor, index, None)
    receiver = operand(path, tensor, target.value)
    assigned = node.value if isinstance(node, (cst.Assign, cst.AnnAssign)) else None
    stored_value = plain(path, value, assigned)
    arguments: dict[str, object] = {"input": receiver, "value": stored_value, "indexed": picks}
    arguments["masked"] = picks and all(_is_mask(part) for part in indexed if is_advanced(part))
    arguments["numbered"] = picks and any(_holds_positions(path, part) for part in indexed)
    if isinstance(region, TensorValue):
        arguments["region"] = operand(path, region, target.value if picks and region is tensor else target)
    tensors = (receiver, stored_value) if isinstance(stored_value, Operand) else (receiver,)
    emit(path, "setitem", Form.INPLACE, node, arguments, tensors, waits_for=tensor)
    path.resized = resized
    numbers = number_ranges.of_data(path, value)
    if picks or not isinstance(region, TensorValue):
        number_ranges.written(path, tensor, numbers, partly=True)
    else:
        number_ranges.written(path, region, numbers)
    whole_numbers.partly_written(tensor, whole_numbers.listed(value))
    if path.resized and not _is_beyond(path, tensor, indexed):
        path.overwrites(tensor)
    if isinstance(value, TensorValue):
        stored(path, tensor, value)


def _is_beyond(path: Path, tensor: TensorValue, parts: list[Value]) -> bool:
    """Whether a resized tensor is only written to where it had no elements before: what it had is taken to be in its place."""
    resized = path.resized.get(tensor.identity)
    if resized is None or resized.before is None:
        return False
    for before, part in zip(resized.before, parts):
        start = as_dim(part.start) if isinstance(part, Slice) else as_dim(part)
        if start == before or start == -1:
            return True
    return False


def _is_mask(part: Value) -> bool:
    return isinstance(part, TensorValue) and part.facts.kind == "bool"


def _is_lone_position(path: Path, part: Value) -> bool:
    """A tensor of one integer stands for that integer."""
    if not isinstance(part, TensorValue):
        return False
    facts = path.facts(part)
    return facts.rank == 0 and facts.kind == "integer" and facts.dtype not in (None, "uint8")


def _holds_positions(path: Path, part: Value) -> bool:
    """An index of several positions, no truth values; torch takes uint8 for these."""
    if isinstance(part, (TensorValue, ArrayValue)):
        facts = path.facts(part) if isinstance(part, TensorValue) else part.facts
        return bool(facts.rank) and facts.kind == "integer" and facts.dtype not in (None, "uint8")
    if not isinstance(part, Sequence) or part.kind != "list" or not part.items:
        return False
    return all(as_int(each) is not None and not _is_truth(each) for each in part.items)


def _is_truth(part: Value) -> bool:
    return isinstance(part, Constant) and isinstance(part.value, bool)


def _picked_from(path: Path, tensor: TensorValue, parts: list[Value]) -> Value | None:
    """The view whose elements tensors or lists pick; None where a mask may stand for several axes."""
    if len(parts) == 1:
        return tensor
    whole = Slice(None, None, None)
    for part in parts:
        if isinstance(part, TensorValue) and path.facts(part).kind != "integer":
            return None
    return tensor_item(path, tensor, Sequence([whole if is_advanced(part) else part for part in parts]), None)
