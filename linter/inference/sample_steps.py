"""Steps from sample to sample that a batch of one never takes: `flat[i * step : i * step + length]` for i in range(1)."""

from __future__ import annotations

from collections.abc import Iterable

from stridelint.linter.inference.path import Path
from stridelint.linter.inference.torch_api.emit import operand
from stridelint.linter.inference.values import Constant, Slice, TensorValue, Value, as_int, is_none
from stridelint.rules.contract import sizes
from stridelint.rules.contract.facts import Dims
from stridelint.rules.events import SampleStep


def indices(counted: Value | None, numbers: Iterable[int]) -> list[Value]:
    """The numbers of a `range(n)`, which may be the indices of the samples of a batch: of the only one."""
    found: list[Value] = [Constant(each) for each in numbers]
    if isinstance(counted, Constant) and counted.value == 1 and counted.origin is not None and counted.origin[1] == 0:
        for each in found:
            if isinstance(each, Constant):
                each.along = (counted.origin[0], 1)
    return found


def index_of(batch: Value | None, index: int) -> Constant:
    """The index that `enumerate(batch)` gives a sample."""
    found = Constant(index)
    if isinstance(batch, TensorValue) and batch.facts.shape is not None and batch.facts.shape[:1] == (1,):
        found.along = (batch, 1)
    return found


def computed(name: str, left: Constant, right: Constant, result: Value) -> Value:
    """What an operator makes of two numbers, one of which may hang on the index or the number of samples."""
    if isinstance(result, Constant) and type(result.value) is int:
        one, other = _along(left), _along(right)
        if one is not None or other is not None:
            result.along = _combined(name, (left, one), (right, other))
    return result


def negated(value: Value, result: Value) -> Value:
    """`-n` hangs on the number of samples as n does."""
    along = _along(value) if isinstance(value, Constant) else None
    if along is not None and isinstance(result, Constant):
        result.along = (along[0], None)
    return result


def _along(number: Constant) -> tuple[Value, int | None] | None:
    origin = number.origin
    return (origin[0], None) if number.along is None and origin is not None and origin[1] == 0 else number.along


def _combined(
    name: str,
    left: tuple[Constant, tuple[Value, int | None] | None],
    right: tuple[Constant, tuple[Value, int | None] | None],
) -> tuple[Value, int | None]:
    (first, one), (second, other) = left, right
    batch = (one or other or (first, None))[0]
    if one is not None and other is not None:
        alike = name == "add" and one[0] is other[0] and one[1] is not None and other[1] is not None
        return batch, (one[1] or 0) + (other[1] or 0) if alike else None
    step, plain = (one or other or (first, None))[1], second.value if one is not None else first.value
    if step is None or type(plain) is not int or not (name in ("add", "mul") or (name == "sub" and one is not None)):
        return batch, None
    return batch, step * plain if name == "mul" else step


def sliced(path: Path, whole: TensorValue, parts: list[Value]) -> None:
    """`rows[i * step : i * step + length]`: each sample takes so many rows."""
    part = parts[0] if len(parts) == 1 else None
    if path.recorded is not None and isinstance(part, Slice) and is_none(part.step):
        _taken_between(path, whole, part.start, part.stop)


def _taken_between(path: Path, whole: TensorValue, start: Value | None, stop: Value | None) -> None:
    first, last = getattr(start, "along", None), getattr(stop, "along", None)
    begin, end = as_int(start), as_int(stop)
    if first is None or last is None or first[0] is not last[0] or last[1] is None or begin is None or end is None:
        return
    _record(path, whole, first, end - begin)


def strided(path: Path, whole: TensorValue, offset: Value | None) -> None:
    """`batch.as_strided(size, stride, i * step)`: each sample takes the memory of a whole one."""
    along = getattr(offset, "along", None)
    if path.recorded is None or along is None or not isinstance(along[0], TensorValue):
        return
    shape: Dims | None = path.facts(along[0]).shape
    taken = None if shape is None else sizes.product(shape[1:])
    if isinstance(taken, int) and path.facts(along[0]).storage == path.facts(whole).storage is not None:
        strides = path.facts(along[0]).strides
        if strides is not None and strides[0] != along[1]:
            _record(path, whole, along, taken, exactly=True)


def _record(path: Path, whole: TensorValue, along: tuple[Value, int | None], taken: int, exactly: bool = False) -> None:
    batch, step = along
    if (
        isinstance(batch, TensorValue)
        and step is not None
        and step > 0
        and (step != taken if exactly else step < taken)
    ):
        path.sample_steps.append(SampleStep(operand(path, batch), step, taken, path.facts(whole).storage))
