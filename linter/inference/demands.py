"""Code of the file that demands a contiguous tensor and gets another."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from stridelint.linter.inference.objects import Arguments, Function
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.torch_api.emit import emit, operand
from stridelint.linter.inference.values import Sequence, TensorValue
from stridelint.rules.events import Form
from stridelint.rules.forms.walking import beginning_of, walk


def refused(path: Path, node: cst.CSTNode, test: cst.BaseExpression) -> None:
    """An `assert` fails, or an exception is raised, because of what `is_contiguous()` answered: the event "refused".

    What a test asserts about its own results is no demand, nor is one after whose failure something else is done.
    """
    if path.denied is None or any(_is_test(frame.function.node) for frame in path.frames[-1:]):
        return
    if any(frame.falls_back for frame in path.frames):
        return
    tensor, query, written = path.denied
    if any(each is query for each in walk(_meant(path, test))):
        source = operand(path, tensor, written)
        passed = _passing_call(path, tensor, written)
        sites = {} if passed is None else {"passed": passed}
        call = path.program.text(passed)
        emit(path, "refused", Form.METHOD, node, {"input": source, "call": call}, (source,), sites=sites)


def _meant(path: Path, test: cst.BaseExpression) -> cst.BaseExpression:
    """The condition; of one that is a name (`if not ok:`) what the function assigns to it, if it does so once."""
    name = test.expression if isinstance(test, cst.UnaryOperation) else test
    if not isinstance(name, cst.Name) or not path.frames:
        return test
    assigned = [
        each.value
        for each in walk(path.frames[-1].function.node, cst.Assign)
        if isinstance(each, cst.Assign)
        and any(isinstance(target.target, cst.Name) and target.target.value == name.value for target in each.targets)
    ]
    return assigned[0] if len(assigned) == 1 else test


def _passing_call(path: Path, tensor: TensorValue, written: cst.CSTNode | None) -> cst.CSTNode | None:
    """The call that hands on the tensor from where its layout was decided; else the first that was given it, or from where it is
    no parameter."""
    decided = _deciding(tensor)
    for frame, inner in zip(reversed(path.frames[:-1]), reversed(path.frames[1:])):
        if any(each is decided for each in walk(frame.function.node)):
            return inner.call
    alike = list(_alike(tensor))
    for frame in path.frames:
        if frame.call is not None and frame.arguments is not None and _holds(frame.arguments, alike):
            return frame.call
    passed = None
    for frame in reversed(path.frames):
        if not isinstance(frame.call, cst.Call):
            break
        argument = _argument(frame.function, frame.call, beginning_of(written))
        if passed is not None and argument is None:
            break
        passed, written = frame.call, argument
    return passed


def _deciding(tensor: TensorValue) -> cst.CSTNode | None:
    """What gave a tensor its layout, where the story tells more than where it, or what it was computed from, is made."""
    step, node = tensor.story[-1] if tensor.story else ("", None)
    return None if step == "is made here" else node


def _alike(tensor: TensorValue) -> Iterator[TensorValue]:
    """A tensor, and those of which it is a view with the same strides."""
    part: TensorValue | None = tensor
    while part is not None and part.facts.strides == tensor.facts.strides:
        yield part
        part = part.base


def _holds(arguments: Arguments, tensors: list[TensorValue]) -> bool:
    given = [*arguments.positional, *arguments.keywords.values()]
    inside = [each for value in given for each in ((value.items or ()) if isinstance(value, Sequence) else (value,))]
    return any(each is tensor for each in inside for tensor in tensors)


def _argument(function: Function, call: cst.Call, name: str) -> cst.CSTNode | None:
    """What a call passes for a parameter of its function."""
    params = function.node.params
    names = [each.name.value for each in (*params.posonly_params, *params.params)]
    if function.owner is not None and names[:1] in (["self"], ["cls"]):
        del names[0]
    for index, arg in enumerate(call.args):
        if (
            arg.keyword.value == name
            if arg.keyword is not None
            else names[index : index + 1] == [name] and not arg.star
        ):
            return arg.value
    return None


def _is_test(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.FunctionDef) and node.name.value.startswith("test")
