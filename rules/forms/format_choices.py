"""What code makes of a question about strides: the memory format that it returns, assigns or speaks of.

Imports LibCST, so rules import this module only when they judge a file.
"""

from __future__ import annotations

import re

import libcst as cst

from stridelint.rules.forms.layout_questions import format_of, is_method
from stridelint.rules.forms.walking import below, children

_FORMAT_WORD = re.compile(r"channels?_?last|nhwc|memory_?format|channels?_?first", re.IGNORECASE)


def format_given(block: cst.CSTNode | None) -> str:
    """The format that a block returns or assigns, where it does nothing else."""
    if isinstance(block, cst.Else):
        block = block.body
    if isinstance(block, cst.If):
        return format_given(block.body)
    statements = block.body if isinstance(block, cst.BaseSuite) else [block] if block is not None else []
    small = [
        each for line in statements for each in (line.body if isinstance(line, cst.SimpleStatementLine) else [line])
    ]
    if len(small) != 1 or not isinstance(small[0], (cst.Return, cst.Assign)):
        return ""
    return format_of(small[0].value)


def format_after(node: cst.If, around: tuple[cst.CSTNode, ...]) -> str:
    """The format that is returned after the `if`, or was assigned before it."""
    block = next((each for each in reversed(around) if isinstance(each, (cst.IndentedBlock, cst.Module))), None)
    if block is None or node not in block.body:
        return ""
    position = list(block.body).index(node)
    if position + 1 < len(block.body) and (found := format_given(block.body[position + 1])):
        return found
    return next((found for each in reversed(block.body[:position]) if (found := format_given(each))), "")


def is_put_right(node: cst.CSTNode, around: tuple[cst.CSTNode, ...]) -> bool:
    """`if x.stride(1) == 1: return x`, then `return x.transpose(1, 2).contiguous().transpose(1, 2)`: whoever asks wants that
    stride, and gets it."""
    test = next((each for each in reversed(around) if isinstance(each, cst.If)), None)
    block = next((each for each in reversed(around) if isinstance(each, cst.IndentedBlock)), None)
    if test is None or block is None or test not in block.body:
        return False
    kept = _returned(test.body.body[0])
    following = list(block.body)[list(block.body).index(test) + 1 :]
    made = _returned(following[0]) if following else None
    return (
        isinstance(kept, cst.Name)
        and made is not None
        and any(isinstance(each, cst.Name) and each.value == kept.value for each in below(node))
        and any(isinstance(each, cst.Call) and is_method(each, "contiguous") and not each.args for each in below(made))
        and any(isinstance(each, cst.Name) and each.value == kept.value for each in below(made))
    )


def _returned(statement: cst.CSTNode) -> cst.BaseExpression | None:
    small = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else statement
    return small.value if isinstance(small, cst.Return) else None


def is_given(around: tuple[cst.CSTNode, ...], loop: cst.CSTNode, name: str) -> bool:
    """What a loop tries is what comes out of it: returned, assigned, or the elements of a comprehension."""
    inside = around[around.index(loop) + 1 :]
    if isinstance(loop, cst.CompFor):
        owner = around[around.index(loop) - 1]
        return isinstance(getattr(owner, "elt", None), cst.Name) and getattr(owner, "elt").value == name  # noqa: B009
    guard = next((each for each in inside if isinstance(each, cst.If)), None)
    return guard is not None and any(
        isinstance(each, (cst.Return, cst.Assign)) and isinstance(each.value, cst.Name) and each.value.value == name
        for each in below(guard.body)
    )


def means_format(around: tuple[cst.CSTNode, ...]) -> bool:
    """The function's or target's name, or what is done if the test holds, speaks of a memory format."""
    for each in reversed(around):
        if isinstance(each, cst.FunctionDef):
            return bool(_FORMAT_WORD.search(each.name.value))
        if isinstance(each, cst.Assign) and any(_speaks(target.target) for target in each.targets):
            return True
        if isinstance(each, cst.If) and _speaks(each.body):
            return True
        if isinstance(each, cst.IfExp) and (_speaks(each.body) or _speaks(each.orelse)):
            return True
        if isinstance(each, cst.Arg) and each.keyword is not None and _FORMAT_WORD.search(each.keyword.value):
            return True
    return False


def _speaks(node: cst.CSTNode) -> bool:
    """It names a format, other than to ask for the row-major one: some memory has to be dense, whatever it was."""
    if isinstance(node, cst.Arg) and format_of(node.value) in ("contiguous_format", "preserve_format"):
        return False
    if isinstance(node, cst.Name):
        return bool(_FORMAT_WORD.search(node.value))
    return any(map(_speaks, children(node)))
