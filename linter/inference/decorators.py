"""What a function's decorators tell without being run: that they keep what it does, or in which mode and contexts it runs.

`calls.decorated` runs those of the file.
"""

from __future__ import annotations

import libcst as cst

from stridelint.linter.inference import contexts
from stridelint.linter.inference.attributes import decorator_names
from stridelint.linter.inference.bindings import dotted_name
from stridelint.linter.inference.dispatch import evaluate
from stridelint.linter.inference.objects import Function, GradMode
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.values import Value
from stridelint.rules.forms.walking import walk

# Names of decorators under which a function does what it says, wherever they come from.
TRANSPARENT = frozenset(
    """staticmethod classmethod abstractmethod overload override wraps lru_cache cache compile script unused ignore export fixture parametrize
    mark skipif skipIf skipUnless slow contextmanager final setter property cached_property custom_fwd custom_bwd once_differentiable jit
    is_scripting disable allow_in_graph dataclass run_and_save_rng_state skip xfail usefixtures filterwarnings timeout patch torch_compile
    require_torch require_torch_gpu require_torch_accelerator typechecked beartype jaxtyped no_type_check record autocast parameterized
    given settings instantiate_parametrized_tests dtypes onlyCPU onlyCUDA ops expand""".split()
)


def grad_mode_of(path: Path, function: Function) -> GradMode | None:
    """The grad mode in which a function runs, where a decorator or its class decides it."""
    if function.grad_mode is not None:
        return function.grad_mode
    node = function.node
    if not isinstance(node, cst.FunctionDef):
        return None
    if function.owner is not None and any(
        name.startswith("torch.autograd.Function") or name == "torch.autograd.function.Function"
        for name in function.owner.externals()
    ):
        return GradMode(False)
    for decorator in node.decorators:
        name = dotted_name(
            decorator.decorator.func if isinstance(decorator.decorator, cst.Call) else decorator.decorator
        ).split(".")[-1]
        if "grad" in name or "inference_mode" in name:
            with path.mute():
                mode = contexts.grad_mode_of(path, evaluate(path, function.scope, decorator.decorator))
            if mode is not None:
                return mode
    return None


def contexts_around(path: Path, function: Function) -> list[Value]:
    """The contexts in which a function's decorators run it, the outermost first."""
    node = function.node
    names = (
        path.program.once(node, decorator_names, node) if isinstance(node, cst.FunctionDef) and node.decorators else ()
    )
    found = []
    for decorator, name in zip(node.decorators if isinstance(node, cst.FunctionDef) else (), names):
        if name.split(".")[-1] not in TRANSPARENT and path.program.once(node, _runs_when_called, node):
            with path.mute():
                value = evaluate(path, function.scope, decorator.decorator)
            found += [value] if contexts.decorates(value) else []
    return found


def _runs_when_called(node: cst.FunctionDef | cst.Lambda) -> bool:
    return not any(walk(node, cst.Yield))
