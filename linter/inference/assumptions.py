"""What the user asks to assume: "what happens if the inputs of this model are channels_last?"."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import libcst as cst

from stridelint.linter.inference.objects import Arguments, Class, Instance
from stridelint.linter.inference.torch_api.module_members import named_tensors
from stridelint.linter.inference.values import TensorValue, Unknown
from stridelint.rules.contract import questions
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.contract.generic import strides_in_order
from stridelint.rules.contract.sizes import Size

if TYPE_CHECKING:
    from stridelint.linter.inference.path import Path

_NHWC = (0, 2, 3, 1)
STORY = "is assumed to be channels_last"


def applies(path: Path, node: cst.FunctionDef, cls: Class | None) -> bool:
    """Whether something is assumed of a function: `forward` of a module, or what a pattern names (Class, Class.method, function)."""
    name = node.name.value if cls is None else f"{cls.name}.{node.name.value}"
    is_forward = cls is not None and cls.is_module and node.name.value == "forward"
    for each in path.program.assume:
        pattern = each.partition(":")[2]
        if (is_forward and (not pattern or fnmatchcase(cls.name if cls else "", pattern))) or (
            pattern and fnmatchcase(name, pattern)
        ):
            return True
    return False


def assumed(path: Path, node: cst.FunctionDef, args: Arguments, skip: int) -> Arguments:
    """The arguments with those that may be images taken for 4-D float32 tensors in channels_last."""
    params = [*node.params.posonly_params, *node.params.params][skip:]
    args.positional = [
        _image(path, param) if param.default is None and isinstance(value, (Unknown, TensorValue)) else value
        for param, value in zip(params, args.positional, strict=True)
    ]
    return args


def _image(path: Path, param: cst.Param) -> TensorValue:
    shape = tuple(Size.fresh(f"{param.name.value}.size({axis})") for axis in range(4))
    facts = TensorFacts(shape, strides_in_order(shape, _NHWC), 0, "float32", "float", requires_grad=False)
    tensor = path.tensor(facts, param.name, STORY)
    tensor.name = param.name.value
    return tensor


def converted(path: Path, instance: Instance) -> None:
    """The parameters and buffers of a module, as `module.to(memory_format=torch.channels_last)` leaves them."""
    for _, tensor in named_tensors(instance):
        if tensor.facts.rank == 4:
            made, _ = questions.converted(tensor.facts, memory_format="channels_last")
            tensor.facts = tensor.facts.but(strides=made.strides)
