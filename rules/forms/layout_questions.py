"""Questions that code asks about a tensor's strides, by their form.

Imports LibCST, so rules import this module only when they judge a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import libcst as cst

from stridelint.rules.forms.walking import below

CHANNELS_LAST = ("channels_last", "channels_last_3d", "nhwc", "ndhwc")
_SIZES = frozenset({"shape", "size", "numel"})
ROW_MAJOR = ("contiguous_format", "preserve_format", "channels_first", "nchw", "ncdhw", "contiguous")


def question(node: cst.CSTNode, known: dict[str, str]) -> str:
    """What a test asks: "channels_last", "row_major" (`is_contiguous()`), "stride"; "" for anything else."""
    if isinstance(node, cst.Name):
        return known.get(node.value, "")
    if isinstance(node, cst.Comparison) and len(node.comparisons) == 1:
        axis = stride_axis(node.left, known)
        one = node.comparisons[0].comparator
        if axis in (1, -3) and isinstance(one, cst.Integer) and one.value == "1":
            return "stride"
    if not isinstance(node, cst.Call):
        return ""
    if isinstance(node.func, cst.Name):
        return known.get(node.func.value, "")
    if not isinstance(node.func, cst.Attribute) or node.func.attr.value != "is_contiguous" or len(node.args) > 1:
        return ""
    asked = format_of(node.args[0].value) if node.args else "contiguous_format"
    return "channels_last" if asked in CHANNELS_LAST else "row_major" if asked in ROW_MAJOR else ""


def stride_axis(node: cst.CSTNode, known: Mapping[str, str] = MappingProxyType({})) -> int | None:
    """The axis of `x.stride(1)` or `x.stride()[1]`, or of a name known to stand for "strides"."""
    if isinstance(node, cst.Call) and len(node.args) == 1 and is_method(node, "stride"):
        return integer(node.args[0].value)
    named = (
        isinstance(node, cst.Subscript)
        and isinstance(node.value, cst.Name)
        and known.get(node.value.value) == "strides"
    )
    if isinstance(node, cst.Subscript) and len(node.slice) == 1 and (named or is_strides(node.value)):
        index = node.slice[0].slice
        return integer(index.value) if isinstance(index, cst.Index) else None
    return None


def is_strides(node: cst.CSTNode) -> bool:
    """`x.stride()`, also as a list or tuple."""
    if (
        isinstance(node, cst.Call)
        and isinstance(node.func, cst.Name)
        and node.func.value in ("tuple", "list")
        and len(node.args) == 1
    ):
        return is_strides(node.args[0].value)
    return isinstance(node, cst.Call) and not node.args and is_method(node, "stride")


def is_method(node: cst.Call, name: str) -> bool:
    """A call of a method of this name."""
    return isinstance(node.func, cst.Attribute) and node.func.attr.value == name


def integer(node: cst.CSTNode) -> int | None:
    """A number as written, if it is a whole one."""
    negative = isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus)
    if isinstance(node, cst.UnaryOperation):
        node = node.expression
    return (-1 if negative else 1) * int(node.value) if isinstance(node, cst.Integer) and node.value.isdigit() else None


def asked_format(node: cst.Call) -> str | None:
    """The name of the variable in `x.is_contiguous(memory_format=name)`."""
    if not is_method(node, "is_contiguous") or len(node.args) != 1:
        return None
    value = node.args[0].value
    return value.value if isinstance(value, cst.Name) else None


def format_of(node: cst.CSTNode | None) -> str:
    """The memory format that an expression names: `torch.channels_last`, "nhwc"; "" for anything else."""
    name = ""
    if isinstance(node, cst.Attribute):
        name = node.attr.value
    elif isinstance(node, cst.Name):
        name = node.value
    elif isinstance(node, cst.SimpleString):
        name = str(node.evaluated_value)
    name = name.lower()
    return name if name in CHANNELS_LAST or name in ROW_MAJOR else ""


def is_of_one_shape(strides: cst.Tuple | cst.List) -> bool:
    """Several numbers in it: the tensor's sizes are known, and the memory of that one shape is asked for."""
    return sum((integer(each.value) or 0) > 1 for each in strides.elements) > 1


def asks_of_permuted(condition: cst.CSTNode) -> bool:
    """`x.permute(0, 2, 3, 1).is_contiguous()` as well: that is the question to be asked."""
    for each in below(condition):
        if isinstance(each, cst.Call) and is_method(each, "is_contiguous") and isinstance(each.func, cst.Attribute):
            asked = each.func.value
            if isinstance(asked, cst.Call) and any(
                is_method(asked, name) for name in ("permute", "movedim", "transpose")
            ):
                return True
    return False


def in_channels_last(strides: cst.CSTNode) -> bool:
    """Strides of a tensor that is made channels_last for the comparison."""
    return any(
        isinstance(each, cst.Arg) and each.keyword is not None and format_of(each.value) in CHANNELS_LAST
        for each in below(strides)
    )


def asks_for_sizes(test: cst.CSTNode, but: cst.CSTNode | None = None) -> bool:
    """Sizes are looked at, too (`but` for one comparison): the ambiguous shapes are taken care of."""
    own = set(below(but)) if but is not None else set()
    return any(isinstance(each, cst.Name) and each.value in _SIZES and each not in own for each in below(test))
