"""torch.nn's recurrent and attention layers: the shapes and strides of what they return (measured on CPU).

With batch_first=True the first result is a transposed view of what was computed with the time first.
"""

from __future__ import annotations

from collections.abc import Callable

from stridelint.linter.inference.objects import Arguments, Instance
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.values import FALSE, Constant, Sequence, TensorValue, Value, as_dim
from stridelint.rules.contract import sizes
from stridelint.rules.contract.facts import Dim, Dims, TensorFacts
from stridelint.rules.contract.generic import strides_in_order


def _flag(path: Path, instance: Instance, name: str) -> bool | None:
    return path.known_truth(instance.config.get(name, FALSE))


def _number(instance: Instance, name: str, default: Dim | None = None) -> Dim:
    given = instance.config.get(name)
    found = default if given is None else as_dim(given)
    return sizes.Size.fresh(name) if found is None else found


def _made(
    path: Path, instance: Instance, source: TensorValue, shape: Dims | None, order: tuple[int, ...] | None = None
) -> TensorValue:
    """A result: dense, its axes in memory in this order (row-major if None)."""
    facts = path.facts(source)
    axes = order or (range(len(shape)) if shape is not None else ())
    strides = None if shape is None or len(shape) != len(axes) else strides_in_order(shape, axes)
    parameters = [each.facts.requires_grad for each in instance.attributes.values() if isinstance(each, TensorValue)]
    grad: bool | None = None
    if path.grad_mode is False:
        grad = False
    elif path.grad_mode and (True in parameters or facts.requires_grad):
        grad = True
    dtype = None if path.autocast else facts.dtype
    made = TensorFacts(shape, strides, 0, dtype, facts.kind, facts.device, grad, False)
    return path.tensor(made, story=source.story)


def _recurrent(path: Path, instance: Instance, value: TensorValue, args: Arguments) -> Value:
    name = instance.external.rpartition(".")[2]
    shape = path.facts(value).shape
    first, both = _flag(path, instance, "batch_first"), _flag(path, instance, "bidirectional")
    width, layers = _number(instance, "hidden_size"), _number(instance, "num_layers", 1)
    projected = "proj_size" in instance.config
    outputs: Dims | None = None
    state: Dims | None = None
    order: tuple[int, ...] | None = None
    if shape is not None and len(shape) in (2, 3) and both is not None and first is not None and not projected:
        directions = 2 if both else 1
        outputs = (*shape[:-1], sizes.multiply(width, directions))
        batch = () if len(shape) == 2 else (shape[0],) if first else (shape[1],)
        state = (sizes.multiply(layers, directions), *batch, width)
        order = (1, 0, 2) if first and len(shape) == 3 else None
    hidden = [_made(path, instance, value, state) for _ in range(2 if name == "LSTM" else 1)]
    output = _made(path, instance, value, outputs, order)
    if order is not None and instance.made_by is not None:
        output.story = (*output.story[-3:], ("is transposed by batch_first=True", instance.made_by))
    return Sequence([output, Sequence(list(hidden)) if name == "LSTM" else hidden[0]])


def _cell(path: Path, instance: Instance, value: TensorValue, args: Arguments) -> Value:
    shape = path.facts(value).shape
    state = None if shape is None else (*shape[:-1], _number(instance, "hidden_size"))
    made = [_made(path, instance, value, state) for _ in range(2)]
    return Sequence(list(made)) if instance.external.endswith("LSTMCell") else made[0]


def _attention(path: Path, instance: Instance, value: TensorValue, args: Arguments) -> Value:
    output = _made(path, instance, value, path.facts(value).shape)
    output.facts = output.facts.but(strides=None)  # in evaluation a fused kernel may answer
    weights: Value = Constant(None)
    if path.known_truth(args.keywords.get("need_weights", Constant(True))) is not False:
        weights = _made(path, instance, value, None)
    return Sequence([output, weights])


def _transformer(path: Path, instance: Instance, value: TensorValue, args: Arguments) -> Value:
    result = _made(path, instance, value, path.facts(value).shape)
    result.facts = result.facts.but(strides=None)
    return result


FORWARD: dict[str, Callable[[Path, Instance, TensorValue, Arguments], Value]] = {
    **dict.fromkeys(("LSTM", "GRU", "RNN"), _recurrent),
    **dict.fromkeys(("LSTMCell", "GRUCell", "RNNCell"), _cell),
    "MultiheadAttention": _attention,
    **dict.fromkeys(("TransformerEncoderLayer", "TransformerDecoderLayer"), _transformer),
}
