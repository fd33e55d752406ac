"""The tensors of a finding as a reader should see them: in which order their axes lie in memory, and what lies there first.

They come from the finding's witness, the call that a probe would make.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from stridelint.linter.findings import Reported
from stridelint.rules.contract import layout

_AXES = {4: ("N", "C", "H", "W"), 5: ("N", "C", "D", "H", "W")}
# A drawing shows this many places in memory at most; an even number of rows.
MOST_PLACES = 16
_MOST_RANK = 8


class Axis(NamedTuple):
    """An axis of a tensor; `name` is a letter where its place says what it is for, else its number."""

    name: str
    size: int
    stride: int


class Tensor(NamedTuple):
    """A tensor as the code names it, with the part it plays in the call: "input", "out", "result"."""

    text: str
    role: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0
    dtype: str = ""

    @property
    def axes(self) -> list[Axis]:
        """The axes from the outermost to the innermost in memory."""
        names = _AXES.get(len(self.shape)) or tuple(str(index) for index in range(len(self.shape)))
        axes = [Axis(*each) for each in zip(names, self.shape, self.strides)]
        # What is repeated (stride 0) takes no step in memory and stands first; of equal strides the longer axis is outside.
        return sorted(axes, key=lambda axis: (axis.stride != 0, -axis.stride, -axis.size))

    @property
    def innermost(self) -> Axis | None:
        """The axis along which neighbours in memory lie."""
        moving = [axis for axis in self.axes if axis.stride and axis.size > 1]
        return moving[-1] if moving else None

    @property
    def kind(self) -> str:
        """The memory format, in words."""
        shape, strides = self.shape, self.strides
        if 0 in shape:
            return "empty"
        is_row_major = layout.is_contiguous(shape, strides)
        formats = [each for each in layout.RANK_OF if layout.is_contiguous(shape, strides, each)]
        if is_row_major and formats:
            return f"row-major and {formats[0]} at once"
        if is_row_major or formats:
            return "row-major" if is_row_major else formats[0]
        if any(size > 1 and stride == 0 for size, stride in zip(shape, strides)):
            return "expanded: elements share memory"
        if layout.is_non_overlapping_and_dense(shape, strides):
            return "dense, axes permuted"
        if len(shape) in _AXES and layout.suggest_memory_format(shape, strides) != layout.CONTIGUOUS:
            return f"{layout.suggest_memory_format(shape, strides)}, with gaps"
        return "strided, not dense"

    def places(self) -> list[Place]:
        """The first places in memory, from the tensor's first element on."""
        found: dict[int, list[tuple[int, ...]]] = {}
        for step, index in self._first_elements():
            found.setdefault(step, []).append(index)
        last = min(max(found, default=-1), MOST_PLACES - 1)
        return [Place(self.offset + step, tuple(sorted(found.get(step, ())))) for step in range(last + 1)]

    @property
    def is_cut(self) -> bool:
        """Whether there are more places than are shown."""
        return sum((size - 1) * stride for size, stride in zip(self.shape, self.strides)) >= MOST_PLACES

    @property
    def repeats(self) -> int:
        """How many elements share each place because of axes with stride 0."""
        return layout.product(tuple(size for size, stride in zip(self.shape, self.strides) if stride == 0))

    def _first_elements(self) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Step in memory and index of each element that lies near the first one; of repeated ones only the first."""
        if 0 in self.shape:
            return
        found: list[tuple[int, tuple[int, ...]]] = [(0, ())]
        for size, stride in zip(self.shape, self.strides):
            steps = range(size) if stride else range(1)
            found = [
                (step + index * stride, (*before, index))
                for step, before in found
                for index in steps[:MOST_PLACES]
                if step + index * stride < MOST_PLACES
            ]
        yield from found


class Place(NamedTuple):
    """A place in memory and the indices of the elements there: none in a gap, several where elements overlap."""

    address: int
    indices: tuple[tuple[int, ...], ...]


def tensors_of(finding: Reported) -> list[Tensor]:
    """The tensors of the call that a finding is about, with its result if that is known; none if no call shows it."""
    fillings = _fillings(finding)
    if not fillings:
        return []
    event = fillings[0]
    roles = _roles(event)
    found: list[Tensor] = []
    for index, document in enumerate(event.get("tensors", ())):
        if len({_rank(filling, index) for filling in fillings}) > 1:
            continue  # not even the rank is known: there is no layout to show
        tensor = _tensor(document, document.get("text") or "", roles.get(index, ""))
        if tensor is not None and not any(tensor[:-1] == other[:-1] for other in found):
            found.append(tensor)
    result = _tensor(event.get("result", {}), event.get("text") or "", "result")
    if found and result is not None and event.get("out") is None and not event.get("discarded"):
        found.append(result)
    return found


def is_example(finding: Reported) -> bool:
    """Whether other sizes than the ones shown would do as well."""
    return len(_fillings(finding)) > 1


def reason_of(finding: Reported) -> str:
    """Why no call shows a finding; "" if one does."""
    return str(json.loads(finding.witness).get("reason", ""))


def _fillings(finding: Reported) -> list[dict[str, Any]]:
    """The first call that a finding is about, with what is unknown filled in in several ways."""
    calls = json.loads(finding.witness).get("calls")
    return calls[0] if calls else []


def _rank(event: dict[str, Any], index: int) -> int:
    tensors = event.get("tensors", ())
    return len(tensors[index].get("shape") or ()) if index < len(tensors) else -1


def _roles(event: dict[str, Any]) -> dict[int, str]:
    """What each tensor is in the call, by its number; `out` wins where one tensor is both."""
    found: dict[int, str] = {}

    def note(value: Any, role: str) -> None:
        if isinstance(value, dict) and isinstance(value.get("tensor"), int):
            found[value["tensor"]] = role
        elif isinstance(value, list):
            for each in value:
                note(each, role)

    for name, value in event.get("arguments", {}).items():
        note(value, name)
    note(event.get("out"), "out")
    return found


def _tensor(document: dict[str, Any], text: str, role: str) -> Tensor | None:
    shape, strides = document.get("shape"), document.get("strides")
    if shape is None or strides is None or len(shape) != len(strides) or not 0 < len(shape) <= _MOST_RANK:
        return None
    if any(stride < 0 for stride in strides):
        return None
    offset = document.get("storage_offset") or 0
    return Tensor(text, role, tuple(shape), tuple(strides), offset, document.get("dtype") or "")
