"""Code of the file that demands a contiguous tensor and gets another."""

from __future__ import annotations

import libcst as cst

from stridelint.linter.inference.path import Path
from stridelint.linter.inference.torch_api.emit import emit, operand
from stridelint.linter.inference.values import TensorValue
from stridelint.rules.events import Form
from stridelint.rules.forms.walking import walk


def refused(path: Path, node: cst.CSTNode, test: cst.BaseExpression) -> None:
    """An `assert` fails, or an exception is raised, because of what `is_contiguous()` answered: the event "refused".

    What a test asserts about its own results is no demand.
    """
    if path.denied is None or any(_is_test(frame.function.node) for frame in path.frames[-1:]):
        return
    tensor, query, written = path.denied
    if any(each is query for each in walk(test)):
        source = operand(path, tensor, written)
        passed = _passing_call(path, tensor)
        sites = {} if passed is None else {"passed": passed}
        call = path.program.text(passed)
        emit(path, "refused", Form.METHOD, node, {"input": source, "call": call}, (source,), sites=sites)


def _passing_call(path: Path, tensor: TensorValue) -> cst.CSTNode | None:
    """The call that hands on the tensor from where its layout was decided."""
    decided = tensor.story[-1][1] if tensor.story else None
    for frame, inner in zip(reversed(path.frames[:-1]), reversed(path.frames[1:])):
        if any(each is decided for each in walk(frame.function.node)):
            return inner.call
    return path.frames[0].call if path.frames else None


def _is_test(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.FunctionDef) and node.name.value.startswith("test")
