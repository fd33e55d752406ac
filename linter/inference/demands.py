"""Code of the file that demands a contiguous tensor and gets another."""

from __future__ import annotations

import libcst as cst

from stridelint.linter.inference.path import Path
from stridelint.linter.inference.syntax import walk
from stridelint.linter.inference.torch_api.emit import emit, operand
from stridelint.rules.events import Form


def refused(path: Path, node: cst.CSTNode, test: cst.BaseExpression) -> None:
    """An `assert` fails, or an exception is raised, because of what `is_contiguous()` answered: the event "refused".

    What a test asserts about its own results is no demand.
    """
    if path.denied is None or any(_is_test(frame.function.node) for frame in path.frames[-1:]):
        return
    tensor, query, written = path.denied
    if any(each is query for each in walk(test)):
        source = operand(path, tensor, written)
        emit(path, "refused", Form.METHOD, node, {"input": source}, (source,))


def _is_test(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.FunctionDef) and node.name.value.startswith("test")
