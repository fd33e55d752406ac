"""Functions and methods that make tensors."""

from __future__ import annotations

from stridelint.linter.inference import number_ranges
from stridelint.linter.inference.objects import Instance
from stridelint.linter.inference.operators import number_kind
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.torch_api import whole_numbers
from stridelint.linter.inference.torch_api.apply import apply_call, into_out, prepared
from stridelint.linter.inference.torch_api.constants import TENSOR_TYPES, device_name, dtype_name
from stridelint.linter.inference.torch_api.emit import emit, plain
from stridelint.linter.inference.torch_api.registry import Call, function
from stridelint.linter.inference.torch_api.view_ops import dim_arguments
from stridelint.linter.inference.values import (
    ArrayValue,
    Constant,
    MemoryFormat,
    Number,
    Sequence,
    TensorValue,
    Unknown,
    Value,
    as_dim,
    as_dims,
    as_int,
    is_none,
)
from stridelint.rules.contract import operators, questions, ranges, sizes
from stridelint.rules.contract.dtypes import kind_of
from stridelint.rules.contract.facts import Dim, Dims, TensorFacts
from stridelint.rules.contract.generic import strides_in_order
from stridelint.rules.contract.ranges import Range
from stridelint.rules.events import Form, Note, Operand, Site

SIZED = ("empty", "zeros", "ones", "rand", "randn")


def made(
    call: Call,
    shape: Dims | None,
    dtype: str | None,
    kind: str | None = None,
    step: str = "is made here",
    numbers: Range | None = None,
) -> Value:
    """A new row-major tensor of these numbers; dtype=, device=, requires_grad=, memory_format= and out= of the call are
    followed."""
    path, keywords = call.path, call.args.keywords
    given = keywords.get("dtype")
    if given is not None and not is_none(given):
        dtype = dtype_name(given)
        kind = None
    if dtype is None and kind is None and given is None:
        pass
    elif dtype is not None:
        kind = kind_of(dtype)
    strides = None if shape is None else strides_in_order(shape, range(len(shape)))
    facts = TensorFacts(shape, strides, 0, dtype, kind, _device(call), asked_grad(call), True)
    wanted = keywords.get("memory_format")
    if wanted is not None and not is_none(wanted):
        name = wanted.name if isinstance(wanted, MemoryFormat) else None
        facts = facts.but(strides=None) if name is None else questions.like(facts, name, None).but(is_leaf=True)
        step = f"is made here, {name}"
        if name is not None:
            made_in = {"size": shape, "memory_format": name}
            emit(path, call.name.removeprefix("torch."), call.form, call.node, made_in, ())
    out = keywords.get("out")
    if out is not None and not is_none(out):
        return _into_out(call, facts, out, numbers)
    new = path.tensor(facts, call.node, step)
    number_ranges.record(path, new, numbers)
    return new


def _into_out(call: Call, facts: TensorFacts, out: Value, numbers: Range | None) -> Value:
    path = call.path
    name = call.name.removeprefix("torch.")
    arguments = _bound(call, name, facts)
    given = call.args.keywords.get("dtype")
    if isinstance(out, TensorValue):
        path.overwrites(out)
        if given is None:
            facts = facts.but(dtype=out.facts.dtype, kind=out.facts.kind)  # a factory without dtype= takes out's
        facts = facts.but(device=out.facts.device if call.args.keywords.get("device") is None else facts.device)
    sites = {name: each for name, each in call.args.nodes.items() if isinstance(name, str)}
    emit(
        path, name, Form.FUNCTION, call.node, arguments, (), plain(path, out, call.args.nodes.get("out")), facts, sites
    )
    return into_out(path, out, [facts], (name, call.node), False, numbers)


def _bound(call: Call, name: str, facts: TensorFacts) -> dict[str, object]:
    """The arguments by name."""
    operator = operators.lookup(name)
    positional = [prepared(call.path, value, None) for value in call.args.positional]
    keywords = {key: prepared(call.path, value, None) for key, value in call.args.keywords.items() if key != "out"}
    bound = None if operator is None or call.args.unknown_star else operator.bind(positional, keywords)
    return bound if bound is not None else {} if facts.shape is None else {"size": facts.shape}


def _device(call: Call) -> str | None:
    value = call.args.keywords.get("device")
    return call.path.default_device if value is None or is_none(value) else device_name(value)


def asked_grad(call: Call) -> bool | None:
    """Whether `requires_grad=` is asked for; None if it is not known."""
    value = call.args.keywords.get("requires_grad")
    return False if value is None else call.path.known_truth(value)


def size_arguments(call: Call, start: int = 0) -> Dims | None:
    """Sizes given one by one, as one tuple, or as size=."""
    return dim_arguments(call, start, "size")


@function(*(f"torch.{name}" for name in SIZED))
def sized(call: Call) -> Value:
    """`torch.zeros(size)` and its like."""
    filled = {"torch.zeros": 0, "torch.ones": 1}.get(call.name)
    numbers = None if filled is None else ranges.one(filled)
    value = made(call, size_arguments(call), call.path.default_dtype, "float", numbers=numbers)
    return holding(value, filled is not None)


@function("torch.full")
def full(call: Call) -> Value:
    """`torch.full(size, value)`: the value decides the dtype."""
    fill = call.get(1, "fill_value")
    dtype, kind = scalar_dtype(call.path, fill)
    numbers = number_ranges.of_data(call.path, fill)
    value = made(call, as_dims(call.get(0, "size")), dtype, kind, numbers=numbers)
    if isinstance(value, TensorValue):
        filled = plain(call.path, fill, call.args.nodes.get(1, call.args.nodes.get("fill_value")))
        emit(call.path, "full", call.form, call.node, {"fill_value": filled}, (), None, value.facts)
    return holding(value, whole_numbers.listed(fill))


def scalar_dtype(path: Path, value: Value | None) -> tuple[str | None, str | None]:
    """The dtype torch gives a Python number."""
    kind = None if value is None else number_kind(value)
    if kind == "float":
        return path.default_dtype, kind
    return {"bool": "bool", "integer": "int64", "complex": "complex64"}.get(kind or ""), kind


@function("torch.arange", "torch.range")
def arange(call: Call) -> Value:
    """`torch.arange(start, end, step)`; `torch.range` ends with `end`, and makes floats."""
    given = [call.get(index, name) for index, name in enumerate(("start", "end", "step"))]
    if len(call.args.positional) == 1 and "end" not in call.args.keywords:
        given = [Constant(0), call.get(0), None]
    kinds = [scalar_dtype(call.path, value) for value in given if value is not None]
    if call.name == "torch.range":
        kinds = [(None, "float")]
    dtype: str | None = "int64" if all(kind == "integer" or kind == "bool" for _, kind in kinds) else None
    kind = "integer" if dtype else "float" if any(each == "float" for _, each in kinds) else None
    if kind == "float":
        dtype = call.path.default_dtype
    start, end = as_dim(given[0]) if given[0] is not None else 0, as_dim(given[1])
    step = 1 if given[2] is None else as_int(given[2])
    length: Dim = sizes.Size.fresh("length")
    if start is not None and end is not None and step:
        beyond = step if call.name == "torch.range" else step - 1 if step > 0 else step + 1
        count = sizes.floor_divide(sizes.add(sizes.subtract(end, start), beyond), step)
        length = count if count is not None and not (isinstance(count, int) and count < 0) else length
    numbers = None
    if call.name == "torch.arange" and isinstance(start, int) and isinstance(length, int) and length and step:
        numbers = ranges.counted(start, step, length)
    whole = all(whole_numbers.listed(each) for each in given if each is not None)
    return holding(made(call, (length,), dtype, kind, numbers=numbers), whole)


@function(
    "torch.linspace",
    "torch.logspace",
    "torch.hann_window",
    "torch.hamming_window",
    "torch.blackman_window",
    "torch.bartlett_window",
    "torch.kaiser_window",
)
def linspace(call: Call) -> Value:
    """One axis of floats."""
    index = 2 if call.name in ("torch.linspace", "torch.logspace") else 0
    steps = as_dim(call.get(index, "steps", "window_length"))
    return made(call, (steps if steps is not None else sizes.Size.fresh("steps"),), call.path.default_dtype, "float")


@function("torch.eye")
def eye(call: Call) -> Value:
    """`torch.eye(n, m)`."""
    rows = as_dim(call.get(0, "n"))
    columns = as_dim(call.get(1, "m")) if call.get(1, "m") is not None else rows
    shape = None if rows is None or columns is None else (rows, columns)
    return holding(made(call, shape, call.path.default_dtype, "float"), True)


@function("torch.randint")
def randint(call: Call) -> Value:
    """`torch.randint(low, high, size)`."""
    values = call.args.positional
    size = call.args.keywords.get("size") or next((value for value in values if isinstance(value, Sequence)), None)
    limits = [as_int(each) for each in values if not isinstance(each, Sequence)]
    low = as_int(call.args.keywords.get("low")) if "low" in call.args.keywords else limits.pop(0) if limits[1:] else 0
    high = as_int(call.args.keywords.get("high")) if "high" in call.args.keywords else limits[0] if limits else None
    numbers = None if low is None or high is None or low >= high else Range(low, high - 1)
    return holding(made(call, as_dims(size), "int64", numbers=numbers), True)


@function("torch.normal")
def normal(call: Call) -> Value:
    """`torch.normal(mean, std, size)` of numbers; of tensors it is an operator."""
    size = call.get(2, "size")
    if any(isinstance(value, TensorValue) for value in (call.get(0, "mean"), call.get(1, "std"))) or size is None:
        return apply_call(call.path, "normal", call.args, call.node, call.form)
    return made(call, as_dims(size), call.path.default_dtype, "float")


@function("torch.randperm")
def randperm(call: Call) -> Value:
    """`torch.randperm(n)`."""
    count = as_dim(call.get(0, "n"))
    return holding(made(call, None if count is None else (count,), "int64"), True)


@function("torch.empty_strided")
def empty_strided(call: Call) -> Value:
    """`torch.empty_strided(size, stride)`."""
    shape, strides = as_dims(call.get(0, "size")), as_dims(call.get(1, "stride"))
    value = made(call, shape, call.path.default_dtype, "float", "is made here with these strides")
    assert isinstance(value, TensorValue)
    value.facts = value.facts.but(strides=strides)
    return value


@function("torch.tensor", "torch.as_tensor", "torch.asarray", "torch.Tensor", "torch.scalar_tensor")
def tensor(call: Call) -> Value:
    """`torch.tensor(data)`."""
    data = call.get(0, "data", "s")
    if call.name == "torch.Tensor":
        shape = size_arguments(call)
        if shape is not None and not isinstance(data, Sequence):
            return made(call, shape, call.path.default_dtype, "float")
        made_of = made(call, nested(call.path, data)[0], call.path.default_dtype, "float")
        return holding(made_of, whole_numbers.may_be(data))
    if isinstance(data, (ArrayValue, TensorValue)):
        return _from_data(call, data)
    shape, dtype, kind = nested(call.path, data)
    if isinstance(data, (Unknown, Instance)) and call.name in ("torch.as_tensor", "torch.asarray"):
        return made(call, None, None)
    new = made(call, shape, dtype, kind, numbers=number_ranges.of_data(call.path, data))
    return holding(new, whole_numbers.may_be(data) or kind in ("bool", "integer"))


def holding(value: Value, whole: bool) -> Value:
    """A new tensor whose numbers are whole where its dtype tells nothing of it; an out= holds whatever it did."""
    if isinstance(value, TensorValue):
        value.whole = whole
    return value


def _from_data(call: Call, data: ArrayValue | TensorValue) -> Value:
    facts = call.path.facts(data) if isinstance(data, TensorValue) else data.facts
    _emit_from_array(call, data)
    aliases = call.name != "torch.tensor" and call.args.keywords.get("dtype") is None
    value = made(call, facts.shape, facts.dtype, facts.kind, "is made here")
    assert isinstance(value, TensorValue)
    copied = facts if aliases else questions.cloned(facts)
    kept = facts if aliases and isinstance(data, TensorValue) else value.facts
    if isinstance(data, ArrayValue):
        number_ranges.exposed(call.path, facts)
    elif not aliases:
        number_ranges.record(call.path, value, number_ranges.of_data(call.path, data))
    value.facts = value.facts.but(
        strides=copied.strides,
        storage=facts.storage if aliases else value.facts.storage,
        storage_offset=facts.storage_offset if aliases else 0,
        requires_grad=kept.requires_grad,
        is_leaf=kept.is_leaf,
    )
    return value


def _emit_from_array(call: Call, data: ArrayValue | TensorValue) -> None:
    if isinstance(data, ArrayValue):
        given = call.args.nodes.get(0)
        story = tuple(Note(Site(where), what) for what, where in data.story)
        source = Operand(data.facts, call.path.program.text(given), story, Site(given))
        emit(call.path, "from_numpy", call.form, call.node, {"input": source, "backwards": data.backwards}, (source,))


def nested(path: Path, data: Value | None) -> tuple[Dims | None, str | None, str | None]:
    """Shape, dtype and kind of nested lists of numbers."""
    if isinstance(data, Sequence):
        if data.items is None:
            inner = nested(path, data.fresh_element())
            return (None if inner[0] is None else (sizes.Size.fresh("length"), *inner[0])), inner[1], inner[2]
        if not data.items:
            return (0,), path.default_dtype, "float"
        parts = [nested(path, each) for each in data.items]
        shape = parts[0][0] if all(part[0] == parts[0][0] for part in parts) else None
        kinds = [part[2] for part in parts]
        kind = (
            None
            if None in kinds
            else max((each for each in kinds if each is not None), key=("bool", "integer", "float", "complex").index)
        )
        dtype = {"bool": "bool", "integer": "int64", "float": path.default_dtype, "complex": "complex64"}.get(
            kind or ""
        )
        return (None if shape is None else (len(data.items), *shape)), dtype, kind
    if data is None:
        return None, None, None
    if isinstance(data, TensorValue):
        facts = path.facts(data)
        return facts.shape, facts.dtype, facts.kind
    dtype, kind = scalar_dtype(path, data)
    return (() if kind is not None or isinstance(data, Number) else None), dtype, kind


@function("torch.from_numpy")
def from_numpy(call: Call) -> Value:
    """`torch.from_numpy(array)`: shares the array's memory."""
    data = call.get(0)
    if not isinstance(data, ArrayValue):
        shape = call.path.facts(data.tensor).shape if isinstance(data, Unknown) and data.tensor is not None else None
        facts = TensorFacts(shape, device="cpu", requires_grad=False, is_leaf=True)
        return call.path.tensor(facts, call.node, "is made here")
    _emit_from_array(call, data)
    number_ranges.exposed(call.path, data.facts)
    facts = data.facts.but(device="cpu", requires_grad=False, is_leaf=True)
    return TensorValue(facts, (*data.story, ("is made here", call.node)))


@function("torch.frombuffer")
def frombuffer(call: Call) -> Value:
    """`torch.frombuffer(data, dtype=..., count=...)`: one axis over the memory of an object, on the CPU."""
    count = as_dim(call.get(2, "count") or Constant(-1))
    length = sizes.Size.fresh("length") if count is None or count == -1 else count
    value = made(call, (length,), None)
    if isinstance(value, TensorValue):
        value.facts = value.facts.but(device="cpu")
    return value


@function(*(f"torch.{name}" for name in TENSOR_TYPES), *(f"torch.cuda.{name}" for name in TENSOR_TYPES))
def typed(call: Call) -> Value:
    """`torch.LongTensor(...)`."""
    name = call.name.rpartition(".")[2]
    data = call.get(0)
    shape = nested(call.path, data)[0] if isinstance(data, Sequence) else size_arguments(call)
    value = made(call, shape, TENSOR_TYPES[name])
    if isinstance(value, TensorValue) and ".cuda." in call.name:
        value.facts = value.facts.but(device="cuda")
    return value
