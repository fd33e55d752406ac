"""torch.compile and vmap."""

from __future__ import annotations

from stridelint.linter.inference.objects import Transform, Transformer
from stridelint.linter.inference.torch_api.registry import Call, function
from stridelint.linter.inference.transforms import transformed
from stridelint.linter.inference.values import Value

COMPILE = "torch.compile"
VMAP = ("torch.vmap", "torch.func.vmap", "functorch.vmap")
TRANSFORMS = frozenset({COMPILE, *VMAP})


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
