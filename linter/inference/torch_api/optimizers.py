"""torch.optim: the groups of parameters that an optimizer gets, and the tensors that it keeps for each of them after a step."""

from __future__ import annotations

from stridelint.linter.inference.objects import Arguments, Instance
from stridelint.linter.inference.operators import hashable
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.torch_api.registry import Call, function
from stridelint.linter.inference.values import Constant, External, Mapping, Sequence, TensorValue, Unknown, Value
from stridelint.rules.contract import questions
from stridelint.rules.contract.facts import TensorFacts

PREFIX = "torch.optim."
# What is kept for a parameter: lone numbers, and tensors like the parameter. Measured.
_KEPT: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "SGD": ((), ()),
    "Adam": (("step",), ("exp_avg", "exp_avg_sq")),
    "AdamW": (("step",), ("exp_avg", "exp_avg_sq")),
    "NAdam": (("step", "mu_product"), ("exp_avg", "exp_avg_sq")),
    "RAdam": (("step",), ("exp_avg", "exp_avg_sq")),
    "Adamax": (("step",), ("exp_avg", "exp_inf")),
    "Adadelta": (("step",), ("square_avg", "acc_delta")),
    "Adagrad": (("step",), ("sum",)),
    "RMSprop": (("step",), ("square_avg",)),
    "Rprop": (("step",), ("prev", "step_size")),
    "ASGD": (("step", "eta", "mu"), ("ax",)),
    "Muon": ((), ("momentum_buffer",)),
}
# Options that add a tensor like the parameter; the place of each among the arguments, -1 where it is named only.
_ASKED_FOR: dict[str, tuple[tuple[str, int, str], ...]] = {
    "SGD": (("momentum", 2, "momentum_buffer"),),
    "RMSprop": (("momentum", 5, "momentum_buffer"), ("centered", 6, "grad_avg")),
    "Adam": (("amsgrad", 5, "max_exp_avg_sq"),),
    "AdamW": (("amsgrad", 5, "max_exp_avg_sq"),),
}


@function(*(f"{PREFIX}{name}" for name in _KEPT))
def optimizer(call: Call) -> Value:
    """`torch.optim.SGD(params, lr, momentum)`."""
    made = Instance(None, call.name)
    build(made, call.get(0, "params"), Mapping(open=True))
    made.attributes["state"] = Mapping(open=True)
    kept: list[str] = []
    for option, place, name in _ASKED_FOR.get(call.name.removeprefix(PREFIX), ()):
        given = call.get(place, option)
        asked = False if given is None else call.path.known_truth(given)
        if asked or asked is None:
            kept.append(name if asked else "")
    made.config["asked"] = Sequence([Constant(name) for name in kept])
    return made


def build(instance: Instance, params: Value | None, defaults: Value | None) -> None:
    """What every optimizer is made with: its groups, and no state yet."""
    groups = params.items if isinstance(params, Sequence) else None
    if not groups or not all(isinstance(each, Mapping) for each in groups):
        groups = [Mapping({"params": params or Sequence(None, "list")}, open=True)]
    for group in groups:
        if isinstance(group, Mapping):
            group.open = True
            if isinstance(defaults, Mapping):
                group.entries = {**defaults.entries, **group.entries}
    instance.attributes["param_groups"] = Sequence(list(groups), "list")
    instance.attributes["defaults"] = defaults or Mapping(open=True)
    state = Mapping()
    state.factory = External("builtins.dict")
    instance.attributes["state"] = state


def method(path: Path, receiver: Instance, name: str, args: Arguments) -> Value:
    """A method of an optimizer of torch's."""
    state, groups = receiver.attributes["state"], receiver.attributes["param_groups"]
    if not isinstance(state, Mapping) or not isinstance(groups, Sequence):
        return Unknown(name)
    if name == "step":
        _step(path, receiver, state, groups)
    elif name == "load_state_dict":
        receiver.attributes["state"] = Mapping(open=True)
    elif name == "add_param_group" and groups.items is not None:
        group = args.get(0, "param_group")
        groups.items.append(group if group is not None else Unknown("group"))
    elif name == "state_dict":
        packed = Mapping(dict(enumerate(state.entries.values())), state.open)
        return Mapping({"state": packed, "param_groups": Unknown("param_groups")})
    return Unknown(name)


def _step(path: Path, receiver: Instance, state: Mapping, groups: Sequence) -> None:
    """The first step makes what is kept of each parameter; nothing is known where the parameters or options are not."""
    asked = receiver.config["asked"]
    names = [
        each.value
        for each in (asked.items if isinstance(asked, Sequence) else None) or ()
        if isinstance(each, Constant)
    ]
    parameters = _parameters(groups)
    if parameters is None or "" in names:
        return
    scalars, tensors = _KEPT[receiver.external.removeprefix(PREFIX)]
    for parameter in parameters:
        facts = path.facts(parameter)
        key = hashable(parameter)
        if key in state.entries or facts.requires_grad is False or not (scalars or tensors or names):
            continue
        like = questions.like(facts, "preserve_format", None).but(requires_grad=False, is_leaf=True, storage=None)
        lone = TensorFacts((), (), 0, "float32", "float", "cpu", False, True)
        made: dict[object, Value] = {name: path.tensor(lone, story=parameter.story) for name in scalars}
        made |= {name: path.tensor(like, story=parameter.story) for name in (*tensors, *names)}
        state.entries[key] = Mapping(made)
    state.open = False


def _parameters(groups: Sequence) -> list[TensorValue] | None:
    found: list[TensorValue] = []
    for group in groups.items or ():
        params = group.entries.get("params") if isinstance(group, Mapping) else None
        items = [params] if isinstance(params, TensorValue) else params.items if isinstance(params, Sequence) else None
        if items is None:
            return None
        for each in items:
            named = isinstance(each, Sequence) and each.items is not None and len(each.items) == 2
            tensor = each.items[1] if named and isinstance(each, Sequence) and each.items else each
            if not isinstance(tensor, TensorValue):
                return None
            found.append(tensor)
    return found
