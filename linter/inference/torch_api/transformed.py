"""torch.compile, vmap and grad, and calls of modules with other parameters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import libcst as cst

from stridelint.linter.inference.dispatch import call_value
from stridelint.linter.inference.objects import Arguments, Instance, Transform, Transformer
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.torch_api.module_members import descendants, named_tensors
from stridelint.linter.inference.torch_api.registry import Call, function
from stridelint.linter.inference.transforms import transformed
from stridelint.linter.inference.values import Constant, Mapping, Sequence, TensorValue, Unknown, Value, is_none
from stridelint.rules.contract.facts import TensorFacts

COMPILE = "torch.compile"
_HOMES = ("torch.func", "functorch")
VMAP = ("torch.vmap", *(f"{home}.vmap" for home in _HOMES))
# These differentiate backwards, as the operators with out= notice.
GRAD = tuple(f"{home}.{name}" for home in _HOMES for name in ("grad", "grad_and_value", "jacrev", "hessian"))
TRANSFORMS = frozenset({COMPILE, *VMAP, *GRAD})


@function(COMPILE)
def compile_(call: Call) -> Value:
    """`torch.compile(f, fullgraph=True)`; without fullgraph, what cannot be compiled runs as it is."""
    whole = call.args.keywords.get("fullgraph")
    transform = Transform("compile") if whole is not None and call.path.known_truth(whole) else None
    target = call.get(0, "model")
    if target is None and transform is not None:
        return Transformer(transform)
    return transformed(target, transform)


@function(*VMAP)
def vmap(call: Call) -> Value:
    """`torch.vmap(f, in_dims=0)`."""
    return transformed(call.get(0, "func"), Transform("vmap", call.get(1, "in_dims")))


@function(*GRAD)
def grad(call: Call) -> Value:
    """`torch.func.grad(f, argnums=0)`."""
    return transformed(call.get(0, "func"), Transform("grad", call.get(1, "argnums")))


@function(*(f"{home}.vjp" for home in _HOMES))
def vjp(call: Call) -> Value:
    """`torch.func.vjp(f, *primals)`: calls the function at once."""
    return _differentiated(call, call.args.positional[1:])


@function(*(f"torch.autograd.functional.{name}" for name in ("jacobian", "hessian", "vjp", "jvp", "vhp", "hvp")))
def jacobian(call: Call) -> Value:
    """`torch.autograd.functional.jacobian(f, inputs)`: calls the function at once."""
    inputs = call.get(1, "inputs")
    given = inputs.items if isinstance(inputs, Sequence) else [inputs or Unknown("inputs")]
    return Unknown("jacobian") if given is None else _differentiated(call, given)


def _differentiated(call: Call, inputs: list[Value]) -> Value:
    target = call.get(0, "func")
    everything = Sequence([Constant(index) for index in range(len(inputs))])
    if isinstance(call.node, cst.Call) and not call.args.unknown_star:
        call_value(call.path, call.node, transformed(target, Transform("grad", everything)), Arguments(inputs))
    return Unknown("derivative")


@function("torch.func.functional_call", "torch.nn.utils.stateless.functional_call")
def functional_call(call: Call) -> Value:
    """`functional_call(module, state, args, kwargs)`: the module with these parameters and buffers."""
    module, args, kwargs = call.get(0, "module"), call.get(2, "args"), call.get(3, "kwargs")
    given: list[Value] | None = [] if args is None or is_none(args) else [args]
    if isinstance(args, Sequence):
        given = args.items
    if kwargs is None or is_none(kwargs):
        kwargs = Mapping()
    if not isinstance(module, Instance) or not isinstance(call.node, cst.Call) or given is None:
        return Unknown("functional_call")
    if not isinstance(kwargs, Mapping) or kwargs.open:
        return Unknown("functional_call")
    keywords = {str(key): value for key, value in kwargs.entries.items()}
    with _holding(call.path, module, call.get(1, "parameter_and_buffer_dicts", "parameters_and_buffers")):
        return call_value(call.path, call.node, module, Arguments(list(given), keywords))


@contextmanager
def _holding(path: Path, module: Instance, state: Value | None) -> Iterator[None]:
    """A module holds other tensors for a while: those of a dict, by name, or of several dicts."""
    owners = {"": module, **dict(descendants(module))}
    before: list[tuple[Instance, str, Value]] = []
    for name, tensor in named_tensors(module):
        prefix, _, last = name.rpartition(".")
        owner = owners.get(prefix)
        if owner is not None and last in owner.attributes:
            before.append((owner, last, tensor))
            owner.attributes[last] = _replacement(path, state, name, tensor)
    try:
        yield
    finally:
        for owner, last, kept in before:
            owner.attributes[last] = kept


def _replacement(path: Path, state: Value | None, name: str, own: TensorValue) -> Value:
    found: Value = own
    for each in (state.items or [Unknown()]) if isinstance(state, Sequence) else [state]:
        if not isinstance(each, Mapping):
            found = path.tensor(TensorFacts())
        elif each.has(name):
            found = each.entries[name]
        elif each.open:
            found = path.tensor(TensorFacts())
    return found
