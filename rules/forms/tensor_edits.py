"""Edits of code that makes, converts, compares and writes tensors: what several rules' fixes are made of."""

from __future__ import annotations

import libcst as cst

from stridelint.rules.events import Operand
from stridelint.rules.forms.edits import (
    NO_SPACE,
    Code,
    Edit,
    called,
    dotted,
    is_quiet,
    keyword,
    method,
    own_line,
    replaced,
    with_keyword,
    with_value,
)


def to_format(code: Code, operand: Operand, wanted: str) -> Edit | None:
    """The operand, converted where it is used."""
    source, torch = code.expression(operand.site), code.torch()
    if source is None or torch is None:
        return None
    return called(code, source, "to", [memory_format(torch, wanted)])


def memory_format(torch: str, name: str) -> cst.Arg:
    """The keyword argument memory_format=torch.NAME."""
    return cst.Arg(dotted(f"{torch}.{name}"), cst.Name("memory_format"), equal=NO_SPACE)


def made_like(code: Code, call: cst.Call, torch: str) -> Edit | None:
    """`torch.zeros_like(x)` in place of `x.new_zeros(x.shape)`, or of `torch.zeros(x.shape, dtype=x.dtype, device=x.device)`."""
    given = [keyword(call, each) for each in ("dtype", "device")]
    if (
        is_function(call, torch)
        and method(call) in ("zeros", "ones", "empty")
        and len(call.args) == 3
        and None not in given
    ):
        texts = {code.text(each.value, call) for each in call.args}
        tensor = code.text(call.args[0].value, call).removesuffix(".shape")
        same = texts == {f"{tensor}.{each}" for each in ("shape", "dtype", "device")} and tensor.isidentifier()
        return Edit(call, f"{torch}.{method(call)}_like({tensor})") if same else None
    name = method(call)
    if (
        name not in ("new_zeros", "new_ones", "new_empty")
        or len(call.args) != 1
        or not isinstance(call.func, cst.Attribute)
    ):
        return None
    source, argument = call.func.value, call.args[0]
    shape = argument.value.func if isinstance(argument.value, cst.Call) and not argument.value.args else argument.value
    if not isinstance(shape, cst.Attribute) or shape.attr.value not in ("shape", "size") or not is_quiet(source):
        return None
    if isinstance(argument.value, cst.Call) is not (shape.attr.value == "size") or not shape.value.deep_equals(source):
        return None
    return Edit(call, f"{torch}.{name.removeprefix('new_')}_like({code.text(source)})")


def made_in_format(code: Code, call: cst.Call, torch: str, wanted: str) -> Edit | None:
    """A tensor that a function of torch makes, in a memory format: asked of `empty`, a conversion of what others return."""
    format_ = memory_format(torch, wanted)
    if (
        not is_function(call, torch)
        or keyword(call, "memory_format") is not None
        or any(each.star == "**" for each in call.args)
    ):
        return None
    if method(call) == "empty":
        return replaced(code, call, with_keyword(call, "memory_format", format_.value))
    return called(code, call, "to", [format_]) if method(call) in _FACTORIES else None


_FACTORIES = frozenset({"zeros", "ones", "full", "rand", "randn"})


def is_function(call: cst.Call, module: str) -> bool:
    """A function of the module of that name is called, such as `torch.empty`."""
    return (
        isinstance(call.func, cst.Attribute)
        and isinstance(call.func.value, cst.Name)
        and call.func.value.value == module
    )


_VIEWS = frozenset({"is sliced here", "is transposed here", "is permuted here"})


def factory_dtype(code: Code, operand: Operand, dtype: str) -> Edit | None:
    """Makes a tensor with another dtype, where it is made by a function of torch with a literal dtype, or without one."""
    made, *views = [note.message for note in operand.story] or [""]
    call = code.call(operand.story[0].site) if made == "is made here" and _VIEWS.issuperset(views) else None
    if call is None or not isinstance(call.func, cst.Attribute) or not isinstance(call.func.value, cst.Name):
        return None
    module = call.func.value.value
    if module != code.torch() or method(call) not in ("zeros", "ones", "empty", "rand", "randn"):
        return None
    given = keyword(call, "dtype")
    if any(each.star == "**" for each in call.args):
        return None
    value = dotted(f"{module}.{dtype}")
    if given is None:
        return replaced(code, call, with_keyword(call, "dtype", value))
    if not isinstance(given.value, cst.Attribute) or not isinstance(given.value.value, cst.Name):
        return None
    return replaced(code, given.value, value) if given.value.value.value == module else None


def as_function(code: Code, call: cst.Call, torch: str) -> Edit | None:
    """`torch.add(x, y)` in place of `x.add(y)`."""
    if not isinstance(call.func, cst.Attribute):
        return None
    comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    receiver = cst.Arg(call.func.value, comma=comma if call.args else cst.MaybeSentinel.DEFAULT)
    name = cst.Attribute(dotted(torch), call.func.attr)
    return replaced(code, call, call.with_changes(func=name, args=[receiver, *call.args]))


def unpacked(code: Code, call: cst.Call, name: str) -> Edit | None:
    """`name=x` in place of `name=(x,)`."""
    arg = keyword(call, name)
    value = None if arg is None else arg.value
    if arg is None or not isinstance(value, (cst.Tuple, cst.List)) or len(value.elements) != 1:
        return None
    element = value.elements[0]
    return (
        None if isinstance(element, cst.StarredElement) else replaced(code, call, with_value(call, arg, element.value))
    )


def written_into(code: Code, call: cst.Call, torch: str) -> Edit | None:
    """`torch.mm(a, b, out=x)` in place of `x.copy_(torch.mm(a, b))`."""
    source = call.args[0].value if len(call.args) == 1 and call.args[0].keyword is None else None
    if not isinstance(call.func, cst.Attribute) or not is_quiet(call.func.value) or not isinstance(source, cst.Call):
        return None
    if not code.text(source.func).startswith(f"{torch}.") or keyword(source, "out") is not None:
        return None
    return replaced(code, call, with_keyword(source, "out", call.func.value))


# In-place methods that have a twin which returns its result.
_OUT_OF_PLACE = frozenset(
    """add_ sub_ mul_ div_ clamp_ clip_ abs_ neg_ exp_ log_ sqrt_ rsqrt_ square_ pow_ round_ floor_ ceil_ trunc_ sigmoid_ tanh_ relu_
    masked_fill_ lerp_ addcmul_ addcdiv_ fmod_ remainder_ nan_to_num_ reciprocal_ sin_ cos_ clamp_min_ clamp_max_""".split()
)


def stored(call: cst.Call, target: cst.BaseExpression) -> cst.BaseExpression | None:
    """What is to be assigned to a target in place of `target.name_(...)`."""
    name, func = method(call), call.func
    if not isinstance(func, cst.Attribute) or func.value is not target or not isinstance(target, cst.Subscript):
        return None
    if not is_quiet(target):
        return None
    if name in ("copy_", "fill_"):
        return call.args[0].value if len(call.args) == 1 and call.args[0].keyword is None else None
    if name == "zero_":
        return cst.Integer("0")
    if name not in _OUT_OF_PLACE:
        return None
    return call.with_changes(func=func.with_changes(attr=cst.Name(name.removesuffix("_"))))


def asserted_before(code: Code, call: cst.Call, name: str, condition: str) -> Edit | None:
    """An assertion about a variable on a line of its own before that of `call`, written as the test's others are."""
    statement = own_line(code, call)
    line = code.parent(statement)
    if statement is None or not isinstance(line, cst.SimpleStatementLine) or line.body[0] is not statement:
        return None
    if not all(part.isidentifier() for part in name.split(".")):
        return None
    own = code.text(call.func)
    text = f"self.assertTrue({condition})" if own.startswith("self.assert") else f"assert {condition}"
    return Edit(statement, f"{text}{code.module.default_newline}{code.indent_of(line)}{code.text(statement)}")
