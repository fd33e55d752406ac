"""What is done at once with the result of a call, by the way it is written."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import libcst as cst

from stridelint.linter.inference.bindings import dotted_name
from stridelint.linter.inference.program import Program
from stridelint.rules.forms.walking import walk

CONVERTED = "memory_format"
_NO_CONVERSION = frozenset({"contiguous_format", "preserve_format"})


@dataclass(frozen=True, eq=False)
class Follower:
    """The follower of a node, worked out when somebody asks."""

    program: Program
    node: cst.CSTNode

    def __call__(self) -> str:
        """The name of a method, or what else `TensorEvent.then` may be."""
        module = self.program.module
        return self.program.once(module, _followers, module).get(self.node, "")


def _followers(module: cst.Module) -> dict[cst.CSTNode, str]:
    found: dict[cst.CSTNode, str] = {}
    for each in walk(module, cst.Attribute, cst.FunctionDef, cst.Call, cst.IndentedBlock, cst.Module):
        if isinstance(each, cst.Attribute) and isinstance(each.value, cst.Call):
            found.setdefault(each.value, each.attr.value)
        elif isinstance(each, cst.FunctionDef) and each.name.value == "forward":
            for inner in walk(each.body, cst.Return):
                if isinstance(inner, cst.Return) and inner.value is not None:
                    found.setdefault(inner.value, "return")
        elif isinstance(each, cst.Call):
            receiver = _converted(each)
            if receiver is not None:
                found[receiver] = CONVERTED
        elif isinstance(each, (cst.IndentedBlock, cst.Module)):
            found.update(dict.fromkeys(_bound_and_converted(each), CONVERTED))
    return found


def _converted(call: cst.Call) -> cst.BaseExpression | None:
    """`x` of `x.contiguous(memory_format=torch.channels_last)`."""
    function = call.func
    if not isinstance(function, cst.Attribute) or function.attr.value not in ("to", "contiguous", "clone"):
        return None
    formats = [arg.value for arg in call.args if arg.keyword is not None and arg.keyword.value == "memory_format"]
    if not formats or dotted_name(formats[0]).rpartition(".")[2] in _NO_CONVERSION:
        return None
    return function.value


def _bound_and_converted(block: cst.IndentedBlock | cst.Module) -> list[cst.CSTNode]:
    """Values of variables that the next statement converts, and that nothing else sees."""
    found: list[cst.CSTNode] = []
    lines = [
        each.body[0] if isinstance(each, cst.SimpleStatementLine) and len(each.body) == 1 else None
        for each in block.body
    ]
    for small, following in pairwise(lines):
        name = _assigned(small)
        if not isinstance(small, cst.Assign) or not name or not isinstance(following, (cst.Assign, cst.Return)):
            continue
        if following.value is None or not (isinstance(following, cst.Return) or _assigned(following) == name):
            continue
        uses = [each for each in walk(following.value, cst.Name) if isinstance(each, cst.Name) and each.value == name]
        receivers = [_converted(each) for each in walk(following.value, cst.Call) if isinstance(each, cst.Call)]
        if len(uses) == 1 and any(uses[0] is each for each in receivers):
            found.append(small.value)
    return found


def _assigned(small: cst.CSTNode | None) -> str:
    """The one name that a statement assigns to."""
    if not isinstance(small, cst.Assign) or len(small.targets) != 1:
        return ""
    target = small.targets[0].target
    return target.value if isinstance(target, cst.Name) else ""
