"""Draws a tensor's layout as SVG: its axes from the outermost to the innermost, and its first places in memory."""

from __future__ import annotations

from collections.abc import Iterator

from stridelint.linter.reports.escaping import line, markup
from stridelint.linter.reports.layouts import Axis, Place, Tensor

_WIDTH = 400
_IN_A_ROW = 8
_CELL = _WIDTH / _IN_A_ROW
_CELL_HEIGHT = 30
_ROW_HEIGHT = _CELL_HEIGHT + 16
_AXES_HEIGHT = 40
_COLOURS = 6


class Drawings:
    """The drawings of a page. Each layout is drawn once, however many findings show it."""

    def __init__(self) -> None:
        self._symbols: dict[Tensor, tuple[str, str, str]] = {}  # name, size, drawing

    def draw(self, tensor: Tensor) -> str:
        """A drawing, as an element that grows to the width it is given."""
        plain = tensor._replace(text="", role="", dtype="")
        if plain not in self._symbols:
            places = plain.places()
            rows = -(-len(places) // _IN_A_ROW)
            box = f"0 0 {_WIDTH} {_AXES_HEIGHT + 22 + rows * _ROW_HEIGHT}"
            drawn = "".join((*_axes(plain), *_memory(plain, places, _AXES_HEIGHT + 22)))
            self._symbols[plain] = f"layout-{len(self._symbols) + 1}", box, drawn
        identity, box, _ = self._symbols[plain]
        described = markup(line(_described(plain)))
        return (
            f'<svg class="layout" viewBox="{box}" role="img" aria-label="{described}"><use href="#{identity}"/></svg>'
        )

    def symbols(self) -> str:
        """What the drawings refer to, to be put anywhere on the page."""
        every = self._symbols.values()
        inside = "".join(f'<symbol id="{name}" viewBox="{box}">{drawn}</symbol>' for name, box, drawn in every)
        return f'<svg class="symbols" width="0" height="0" aria-hidden="true">{inside}</svg>'


def _described(tensor: Tensor) -> str:
    order = ", ".join(f"{axis.name} (size {axis.size}, stride {axis.stride})" for axis in tensor.axes)
    return f"{tensor.kind}; axes from the outermost to the innermost: {order}"


def _axes(tensor: Tensor) -> Iterator[str]:
    """A box for each axis, the innermost on the right and marked."""
    axes = tensor.axes
    gap = 14
    width = (_WIDTH - gap * (len(axes) - 1)) / len(axes)
    for index, axis in enumerate(axes):
        left = index * (width + gap)
        kind = "axis inner" if axis == tensor.innermost else "axis repeated" if axis.stride == 0 else "axis"
        yield f'<rect class="{kind}" x="{left + 1:.1f}" y="1" width="{width - 2:.1f}" height="{_AXES_HEIGHT - 6}" rx="5"/>'
        middle = left + width / 2
        yield _text(middle, 16, f"{_named(axis)}: {axis.size}", "axis-name")
        yield _text(middle, 29, f"stride {axis.stride}", "axis-stride")
        if index:
            yield _text(left - gap / 2, 22, "›", "arrow")


def _named(axis: Axis) -> str:
    return f"axis {axis.name}" if axis.name.isdecimal() else axis.name


def _memory(tensor: Tensor, places: list[Place], top: float) -> Iterator[str]:
    """A cell for each place, with the index of the element there, coloured by channel or row."""
    yield _text(0, top - 6, "first places in memory, with the index of what lies there", "label")
    colour_axis = {1: None, 2: 0, 3: 0}.get(len(tensor.shape), 1)
    for number, place in enumerate(places):
        left = number % _IN_A_ROW * _CELL
        y = top + number // _IN_A_ROW * _ROW_HEIGHT
        if not place.indices:
            kind, text = "gap", ""
        else:
            index = place.indices[0]
            colour = 0 if colour_axis is None else index[colour_axis] % _COLOURS
            kind, text = f"c{colour}", ",".join(map(str, index))
        shared = len(place.indices) * tensor.repeats
        yield f'<rect class="cell {kind}" x="{left + 1:g}" y="{y:g}" width="{_CELL - 2:g}" height="{_CELL_HEIGHT}" rx="3"/>'
        if text:
            size = "cell-text" + (" long" if len(text) > 5 else "") + (" longer" if len(text) > 7 else "")
            yield _text(left + _CELL / 2, y + (18.5 if shared < 2 else 14), text, size)
        if shared > 1:
            yield _text(left + _CELL / 2, y + 25, f"× {shared}", "cell-more")
        yield _text(left + _CELL / 2, y + _CELL_HEIGHT + 11, str(place.address), "address")
    if tensor.is_cut:
        row, column = divmod(len(places), _IN_A_ROW)
        if column:
            yield _text(column * _CELL + 10, top + row * _ROW_HEIGHT + 18, "…", "label")


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text class="in-layout {kind}" x="{x:g}" y="{y:g}">{markup(text)}</text>'
