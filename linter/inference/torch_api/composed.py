"""Functions of torch that are made of others, or that the operator table cannot hold: no out=, no one layout."""

from __future__ import annotations

from stridelint.linter.inference.attributes import as_tensor
from stridelint.linter.inference.objects import Arguments
from stridelint.linter.inference.torch_api.apply import apply_call
from stridelint.linter.inference.torch_api.registry import Call, function, method
from stridelint.linter.inference.values import (
    Constant,
    Dtype,
    Sequence,
    TensorValue,
    Unknown,
    Value,
    as_dims,
    as_int,
    is_none,
    shape_value,
)
from stridelint.rules.contract import dtypes, elementwise, shapes, sizes
from stridelint.rules.contract.facts import Dims, TensorFacts
from stridelint.rules.contract.generic import strides_in_order
from stridelint.rules.events import Form


def _row_major(shape: Dims | None) -> Dims | None:
    return None if shape is None else strides_in_order(shape, range(len(shape)))


def _result(call: Call, tensors: list[TensorValue], shape: Dims | None, strides: Dims | None) -> TensorValue:
    """A new tensor computed from tensors of one dtype."""
    facts = [call.path.facts(each) for each in tensors]
    kinds = {(each.dtype, each.kind) for each in facts}
    dtype, kind = kinds.pop() if len(kinds) == 1 and not call.path.autocast else (None, None)
    devices = {each.device for each in facts}
    wanted = [each.requires_grad for each in facts]
    grad = False if call.path.grad_mode is False or all(each is False for each in wanted) else None
    if True in wanted and call.path.grad_mode:
        grad = True
    return call.path.tensor(
        TensorFacts(shape, strides, 0, dtype, kind, devices.pop() if len(devices) == 1 else None, grad, None),
        story=next((each.story for each in tensors), ()),
    )


def _tensor(call: Call, value: Value | None) -> TensorValue | None:
    if isinstance(value, Unknown):
        value = as_tensor(call.path, value)
    if isinstance(value, TensorValue):
        value.prove()
        return value
    return None


@function("torch.einsum")
def einsum(call: Call) -> Value:
    """`torch.einsum(equation, *operands)`: the order of the result's axes in memory depends on the contraction."""
    equation, *given = call.args.positional or [Unknown()]
    if len(given) == 1 and isinstance(given[0], Sequence):
        given = given[0].items or []
    tensors = [each for each in (_tensor(call, value) for value in given) if each is not None]
    if not tensors or len(tensors) < len(given) or call.args.unknown_star:
        return call.path.tensor(TensorFacts(), call.node, "")
    known = [call.path.facts(each).shape for each in tensors]
    text = equation.value if isinstance(equation, Constant) else None
    shape = None
    if isinstance(text, str) and None not in known:
        shape = shapes.einsum(text, [dims for dims in known if dims is not None])
    return _result(call, tensors, shape, _row_major(shape) if shape is not None and len(shape) < 2 else None)


@function("torch.nn.functional.scaled_dot_product_attention")
def attention(call: Call) -> Value:
    """`F.scaled_dot_product_attention(query, key, value)`: which kernel runs decides the layout."""
    tensors = [_tensor(call, call.get(index, name)) for index, name in enumerate(("query", "key", "value"))]
    found = [each for each in tensors if each is not None]
    if len(found) < 3:
        return call.path.tensor(TensorFacts(), call.node, "")
    query, value = call.path.facts(found[0]).shape, call.path.facts(found[2]).shape
    shape = None if query is None or value is None else (*query[:-1], value[-1])
    return _result(call, found, shape, None)


@function("torch.nn.functional.logsigmoid")
def logsigmoid(call: Call) -> Value:
    """`F.logsigmoid(x)`: always row-major."""
    tensor = _tensor(call, call.get(0, "input"))
    if tensor is None:
        return Unknown("logsigmoid")
    shape = call.path.facts(tensor).shape
    return _result(call, [tensor], shape, _row_major(shape))


@function(
    "torch.nn.functional.upsample",
    "torch.nn.functional.upsample_bilinear",
    "torch.nn.functional.upsample_nearest",
)
def upsample(call: Call) -> Value:
    """Older names of `F.interpolate`."""
    return apply_call(call.path, "nn.functional.interpolate", call.args, call.node, Form.FUNCTION)


@function("torch.where")
def where(call: Call) -> Value:
    """`torch.where(condition)` gives one index per axis; with values it is an operator like others."""
    condition = _tensor(call, call.get(0, "condition"))
    if len(call.args.positional) + len(call.args.keywords) != 1 or call.args.unknown_star or condition is None:
        return apply_call(call.path, "where", call.args, call.node, Form.FUNCTION)
    shape = call.path.facts(condition).shape
    if shape is None:
        return Sequence(None, "tuple", lambda: call.path.tensor(_index(call, sizes.Size.fresh("count"))))
    count = sizes.Size.fresh("count")
    return Sequence([call.path.tensor(_index(call, count)) for _ in shape], "tuple")


@method("unique", "unique_consecutive")
def unique(call: Call) -> Value:
    """`x.unique(return_inverse=True, return_counts=True)`: with the indices and counts that are asked for."""
    first = 0 if call.name.endswith("unique_consecutive") else 1  # `unique` takes `sorted` before
    asked = call.get(first, "return_inverse"), call.get(first + 1, "return_counts")
    inverse, counts = (False if each is None else call.path.known_truth(each) for each in asked)
    values = _of_table(call)
    if inverse is None or counts is None or call.args.unknown_star:
        return Unknown(call.name)
    if not (inverse or counts):
        return values
    given = call.path.facts(call.tensor)
    each = _index(call, sizes.Size.fresh("count")).but(device=given.device)
    found = [values]
    if inverse:
        whole = is_none(call.get(first + 2, "dim"))
        found.append(call.path.tensor(each.but(shape=given.shape if whole else None, strides=None)))
    if counts:
        found.append(call.path.tensor(each))
    return Sequence(found, "tuple")


@method("nonzero")
def nonzero(call: Call) -> Value:
    """`x.nonzero(as_tuple=True)`: one index for each axis."""
    asked = call.args.keywords.get("as_tuple")
    if asked is None or call.path.known_truth(asked) is False:
        return _of_table(call)
    if call.path.known_truth(asked) is None:
        return Unknown("nonzero")
    return where(Call(call.path, call.node, "torch.where", Arguments([call.tensor])))


def _of_table(call: Call) -> Value:
    args = call.args.with_first(call.tensor, call.args.nodes.get("receiver"))
    return apply_call(call.path, call.name.rpartition(".")[2], args, call.node, call.form)


def _index(call: Call, count: sizes.Size) -> TensorFacts:
    return TensorFacts((count,), (1,), 0, "int64", "integer", call.path.default_device, False, True)


@function("torch.nn.utils.rnn.pad_sequence")
def pad_sequence(call: Call) -> Value:
    """`pad_sequence(sequences, batch_first)`: a new row-major tensor as long as the longest."""
    given, first = call.get(0, "sequences"), call.get(1, "batch_first")
    items = given.items if isinstance(given, Sequence) else None
    tensors = [each for each in items or [] if isinstance(each, TensorValue)]
    if not tensors or len(tensors) != len(items or []):
        return call.path.tensor(TensorFacts(), call.node, "")
    known = call.path.facts(tensors[0]).shape
    batch_first = False if first is None else call.path.known_truth(first)
    shape: Dims | None = None
    if known and batch_first is not None:
        lengths = {(call.path.facts(each).shape or (None,))[0] for each in tensors}
        length = lengths.pop() if len(lengths) == 1 else None
        longest = sizes.Size.fresh("length") if length is None else length
        shape = (len(tensors), longest, *known[1:]) if batch_first else (longest, len(tensors), *known[1:])
    return _result(call, tensors, shape, _row_major(shape))


@function("torch.nn.utils.parameters_to_vector")
def parameters_to_vector(call: Call) -> Value:
    """All parameters in one row."""
    return call.path.tensor(TensorFacts((sizes.Size.fresh("count"),), (1,), 0, None, "float"), call.node)


@function("torch.empty_permuted")
def empty_permuted(call: Call) -> Value:
    """`torch.empty_permuted(size, physical_layout)`: dense, its axes in memory in that order."""
    shape, order = as_dims(call.get(0, "size")), as_dims(call.get(1, "physical_layout"))
    axes = [axis for axis in order or () if isinstance(axis, int)]
    dtype = call.args.keywords.get("dtype")
    name = (
        call.path.default_dtype if dtype is None or is_none(dtype) else dtype.name if isinstance(dtype, Dtype) else None
    )
    strides = None if shape is None or sorted(axes) != list(range(len(shape))) else strides_in_order(shape, axes)
    kind = dtypes.kind_of(name) if name is not None else None
    device = call.path.default_device if "device" not in call.args.keywords else None
    return call.path.tensor(TensorFacts(shape, strides, 0, name, kind, device, False, True), call.node)


@function("torch.stft")
def stft(call: Call) -> Value:
    """`torch.stft(signal, n_fft)`: its bins and frames, as a transposed view."""
    tensor = _tensor(call, call.get(0, "input"))
    if tensor is None:
        return Unknown("stft")
    base, points = call.path.facts(tensor).shape, as_int(call.get(1, "n_fft"))
    onesided = call.args.keywords.get("onesided")
    halved = True if onesided is None or is_none(onesided) else call.path.known_truth(onesided)
    complex_ = call.args.keywords.get("return_complex")
    result = _result(call, [tensor], None, None)
    facts = result.facts.but(dtype=None, kind=None)
    if complex_ is not None and call.path.known_truth(complex_) is True:
        dtype = dtypes.complex_of(tensor.facts.dtype) if tensor.facts.dtype is not None else None
        facts = facts.but(dtype=dtype, kind="complex")
        if base is not None and points is not None and halved is not None and tensor.facts.kind == "float":
            shape = (*base[:-1], points // 2 + 1 if halved else points, sizes.Size.fresh("frames"))
            rank = len(shape)
            facts = facts.but(shape=shape, strides=strides_in_order(shape, (*range(rank - 2), rank - 1, rank - 2)))
    result.facts = facts
    return result


@function("torch.broadcast_shapes")
def broadcast_shapes(call: Call) -> Value:
    """`torch.broadcast_shapes(*shapes)`."""
    known = [as_dims(each) for each in call.args.positional]
    if None in known or call.args.unknown_star:
        return Unknown("shape")
    found = elementwise.broadcast_shapes(*[each for each in known if each is not None])
    return Unknown("shape") if found is None else shape_value(found)


@function("torch.autograd.grad")
def gradients(call: Call) -> Value:
    """`torch.autograd.grad(outputs, inputs)`: as many tensors, each of its input's shape and dtype; laid out as they are computed."""
    inputs = call.get(1, "inputs")
    wanted = [inputs] if isinstance(inputs, TensorValue) else inputs.items if isinstance(inputs, Sequence) else None
    odd = (call.get(6, "allow_unused"), call.get(7, "is_grads_batched"), call.get(8, "materialize_grads"))
    if wanted is None or any(each is not None for each in odd):
        return Unknown("gradients")
    create = call.get(4, "create_graph")
    tracked = False if create is None else call.path.known_truth(create)
    found: list[Value] = []
    for each in wanted:
        if not isinstance(each, TensorValue):
            return Unknown("gradients")
        facts = call.path.facts(each)
        made = TensorFacts(
            facts.shape, None, 0, facts.dtype, facts.kind, facts.device, None if tracked else tracked, None
        )
        found.append(call.path.tensor(made, story=each.story))
    return Sequence(found, "tuple")
