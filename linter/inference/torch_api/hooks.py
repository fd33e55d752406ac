"""Functions that a torch.nn.Module calls: forward hooks, and what `apply` is given."""

from __future__ import annotations

import libcst as cst

from stridelint.linter.inference.dispatch import call_value
from stridelint.linter.inference.objects import Arguments, Instance
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.values import Constant, Mapping, Sequence, Unknown, Value, is_none

HANDLE = "torch.utils.hooks.RemovableHandle"
BEFORE, AFTER = "[hooks before]", "[hooks after]"
REGISTERING = {"register_forward_pre_hook": BEFORE, "register_forward_hook": AFTER}


def register(path: Path, node: cst.CSTNode, module: Instance, name: str, args: Arguments) -> Value:
    """`module.register_forward_hook(hook)`; the handle removes it."""
    hook = args.get(0, "hook")
    hooks = module.attributes.setdefault(REGISTERING[name], Mapping())
    if hook is None or args.keywords.get("with_kwargs") is not None or not isinstance(hooks, Mapping):
        return Unknown(name)
    handle = Instance(None, HANDLE)
    key = len(hooks.entries)
    hooks.entries[key] = hook
    handle.attributes.update(hooks=hooks, key=Constant(key))
    return handle


def removed(handle: Instance) -> Value:
    """`handle.remove()`, or the end of a `with` block of it."""
    hooks, key = handle.attributes["hooks"], handle.attributes["key"]
    if isinstance(hooks, Mapping) and isinstance(key, Constant):
        hooks.entries[key.value] = Constant(None)
    return Constant(None)


def before(path: Path, node: cst.Call, module: Instance, args: Arguments) -> Arguments:
    """The arguments that `forward` gets: a hook may replace them."""
    for hook in _of(module, BEFORE):
        given = _run(path, node, hook, [module, Sequence(list(args.positional), "tuple")])
        if isinstance(given, Sequence) and given.kind == "tuple" and given.items is not None:
            args = Arguments(list(given.items), args.keywords)
        elif not is_none(given):
            args = Arguments([given, *args.positional[1:]], args.keywords)
    return args


def after(path: Path, node: cst.Call, module: Instance, args: Arguments, result: Value) -> Value:
    """What the call gives: a hook may replace it."""
    for hook in _of(module, AFTER):
        given = _run(path, node, hook, [module, Sequence(list(args.positional), "tuple"), result])
        result = result if is_none(given) else given
    return result


def _of(module: Instance, name: str) -> list[Value]:
    hooks = module.attributes.get(name)
    return [each for each in hooks.entries.values() if not is_none(each)] if isinstance(hooks, Mapping) else []


def _run(path: Path, node: cst.Call, hook: Value, arguments: list[Value]) -> Value:
    return call_value(path, node, hook, Arguments(arguments))
