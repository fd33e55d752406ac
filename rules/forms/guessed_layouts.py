"""Code that takes the answer to a question about strides for a tensor's memory format, found by its form.

    for guess in guesses(module):
        guess.node, guess.kind, guess.text

Imports LibCST, so rules import this module only when they judge a file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from stridelint.rules.forms.format_choices import format_after, format_given, is_given, is_put_right, means_format
from stridelint.rules.forms.known_ranks import has_other_rank
from stridelint.rules.forms.layout_questions import (
    CHANNELS_LAST,
    asked_format,
    asks_for_sizes,
    asks_of_permuted,
    format_of,
    in_channels_last,
    integer,
    is_method,
    is_of_one_shape,
    is_strides,
    question,
    stride_axis,
)
from stridelint.rules.forms.walking import below, children, path_to

_SHOWING = frozenset({"print", "debug", "info", "warning"})


@dataclass(frozen=True)
class Guess:
    """A guess at `node`. kind: "channels_last", "row_major", "stride", "strides", "order" or "weight"."""

    node: cst.CSTNode
    kind: str
    text: str


def guesses(module: cst.Module) -> Iterator[Guess]:
    """All guesses of a module, in no particular order."""
    helpers = {
        node.name.value: kind
        for node in below(module)
        if isinstance(node, cst.FunctionDef)
        for kind in [_only_asks(node)]
        if kind
    }
    yield from _Finder(module, helpers).block(module, ())


def _only_asks(function: cst.FunctionDef) -> str:
    """The kind of question that a helper only passes on."""
    statements = [each for each in function.body.body if not _is_docstring(each)]
    if len(statements) != 1 or not isinstance(statements[0], cst.SimpleStatementLine):
        return ""
    small = statements[0].body[0]
    return question(small.value, {}) if isinstance(small, cst.Return) and small.value is not None else ""


def _is_docstring(statement: cst.CSTNode) -> bool:
    small = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else None
    return isinstance(small, cst.Expr) and isinstance(small.value, (cst.SimpleString, cst.ConcatenatedString))


class _Finder:
    """Walks a module with the functions and statements around each node."""

    def __init__(self, module: cst.Module, helpers: dict[str, str]) -> None:
        self.module = module
        self.helpers = helpers
        self.known = dict(helpers)
        self.questions: dict[str, tuple[cst.BaseExpression, tuple[cst.CSTNode, ...]]] = {}
        self.reported: set[cst.CSTNode] = set()

    def block(self, node: cst.CSTNode, around: tuple[cst.CSTNode, ...]) -> Iterator[Guess]:
        if isinstance(node, cst.FunctionDef):
            self.known, self.questions = dict(self.helpers), {}
        if isinstance(node, (cst.Assign, cst.AnnAssign, cst.NamedExpr)) and node.value is not None:
            self.learn(node, node.value, (*around, node))
        for guess in self.judge(node, around):
            if guess.node not in self.reported:
                self.reported.add(guess.node)
                yield guess
        for child in children(node):
            yield from self.block(child, (*around, node))

    def learn(
        self,
        node: cst.Assign | cst.AnnAssign | cst.NamedExpr,
        value: cst.BaseExpression,
        around: tuple[cst.CSTNode, ...],
    ) -> None:
        """What a name stands for from now on."""
        name = node.targets[0].target if isinstance(node, cst.Assign) else node.target
        if not isinstance(name, cst.Name):
            return
        asked = "strides" if is_strides(value) else question(value, self.helpers)
        self.known.pop(name.value, None)
        self.questions.pop(name.value, None)
        if asked:
            self.known[name.value] = asked
            self.questions[name.value] = (value, around)

    def judge(self, node: cst.CSTNode, around: tuple[cst.CSTNode, ...]) -> Iterator[Guess]:
        """The guesses that a node itself makes."""
        if isinstance(node, cst.IfExp):
            if _is_only_shown(around):
                return
            yield from self.chosen(node.test, format_of(node.body), format_of(node.orelse), (*around, node))
        elif isinstance(node, cst.If):
            yield from self.chosen(
                node.test,
                format_given(node.body),
                format_given(node.orelse) or format_after(node, around),
                (*around, node),
            )
        elif isinstance(node, cst.Comparison):
            yield from self.compared(node, around)
        elif isinstance(node, cst.Call):
            yield from self.sorted(node)
            yield from self.tried(node, around)
        elif isinstance(node, cst.Subscript):
            yield from self.looked_up(node)
        elif isinstance(node, (cst.Assign, cst.Return)):
            if not _is_test(around):
                yield from self.flagged(node)

    def chosen(
        self, test: cst.BaseExpression, first: str, second: str, around: tuple[cst.CSTNode, ...]
    ) -> Iterator[Guess]:
        """One format if a question is answered yes, the other if not."""
        formats = {first in CHANNELS_LAST, second in CHANNELS_LAST}
        if not first or not second or len(formats) != 2:
            return
        asked = [
            (each, kind) for each in below(test) for kind in [question(each, self.known)] if kind not in ("", "strides")
        ]
        kinds = {kind for _, kind in asked}
        if not asked or kinds >= {"channels_last", "row_major"} or asks_for_sizes(test):
            return
        node, kind = asked[0]
        around = (*around, *path_to(test, node))
        if isinstance(node, cst.Name):  # reported where it is asked, not where the answer is used
            node, around = self.questions.get(node.value, (node, around))
        if not (kind == "stride" and self.has_other_rank(node, around)):
            yield Guess(node, kind, self.text(node))

    def compared(self, node: cst.Comparison, around: tuple[cst.CSTNode, ...]) -> Iterator[Guess]:
        """`x.stride() == (...)`, and `x.stride(1) == 1` where a memory format is meant."""
        if len(node.comparisons) != 1 or isinstance(
            node.comparisons[0].operator, (cst.Is, cst.IsNot, cst.In, cst.NotIn)
        ):
            return
        if any(isinstance(each, cst.Assert) for each in around) or _is_test(around):
            return
        sides = (node.left, node.comparisons[0].comparator)
        for strides, other in (sides, sides[::-1]):
            listed = (
                isinstance(other, (cst.Tuple, cst.List)) and len(other.elements) >= 4 and not is_of_one_shape(other)
            )
            if self.is_strides(strides) and (listed or (is_strides(other) and in_channels_last(other))):
                yield Guess(node, "strides", self.text(node))
                return
        if not _is_about_strides(*sides, self.known) or not means_format(around):
            return
        condition = _condition(node, around)
        first = next(each for each in below(condition) if each is node or self.is_about_strides(each))
        if first is not node or asks_for_sizes(condition, but=node) or asks_of_permuted(condition):
            return
        if not self.has_other_rank(node, around) and not is_put_right(node, around):
            yield Guess(node, "stride", self.text(node))

    def has_other_rank(self, asked: cst.CSTNode, around: tuple[cst.CSTNode, ...]) -> bool:
        """The tensor whose stride is asked for has a rank for which there are no formats."""
        tensors = [each for each in below(asked) if isinstance(each, cst.Call) and is_method(each, "stride")]
        return any(
            isinstance(each.func, cst.Attribute) and has_other_rank(each.func.value, around, asked) for each in tensors
        )

    def is_about_strides(self, node: cst.CSTNode) -> bool:
        """A comparison of one stride."""
        return (
            isinstance(node, cst.Comparison)
            and len(node.comparisons) == 1
            and _is_about_strides(node.left, node.comparisons[0].comparator, self.known)
        )

    def is_strides(self, node: cst.CSTNode) -> bool:
        """`x.stride()`, or a name for it."""
        return is_strides(node) or (isinstance(node, cst.Name) and self.known.get(node.value) == "strides")

    def tried(self, node: cst.Call, around: tuple[cst.CSTNode, ...]) -> Iterator[Guess]:
        """`for fmt in (channels_last, contiguous_format): if x.is_contiguous(memory_format=fmt): return fmt`, or a
        comprehension that does so: the first format that fits is taken."""
        if asked_format(node) is None or _is_test(around):
            return
        name = asked_format(node)
        for each in reversed(around):
            if isinstance(each, cst.FunctionDef):
                return
            if (
                isinstance(each, (cst.For, cst.CompFor))
                and isinstance(each.target, cst.Name)
                and each.target.value == name
            ):
                formats = [format_of(part) for part in below(each.iter)]
                if any(found in CHANNELS_LAST for found in formats) and is_given(around, each, name):
                    yield Guess(node, "channels_last", self.text(node))
                return

    def looked_up(self, node: cst.Subscript) -> Iterator[Guess]:
        """`{True: channels_last, False: contiguous_format}[x.is_contiguous(...)]`, or the same with a tuple."""
        if len(node.slice) != 1 or not isinstance(node.slice[0].slice, cst.Index):
            return
        asked = node.slice[0].slice.value
        kind = question(asked, self.known)
        if kind not in ("channels_last", "row_major"):
            return
        if isinstance(node.value, (cst.Dict, cst.Tuple, cst.List)):
            formats = [format_of(element.value) for element in node.value.elements]
            if any(found in CHANNELS_LAST for found in formats):
                if isinstance(asked, cst.Name):
                    asked = self.questions.get(asked.value, (asked, ()))[0]
                yield Guess(asked, kind, self.text(asked))

    def sorted(self, node: cst.Call) -> Iterator[Guess]:
        """Axes sorted by their strides, or the one with the smallest."""
        if isinstance(node.func, cst.Name) and node.func.value in ("sorted", "min", "max") and len(node.args) >= 2:
            key = next((arg.value for arg in node.args if arg.keyword is not None and arg.keyword.value == "key"), None)
            indices = node.args[0].value
            over_axes = (
                isinstance(indices, cst.Call)
                and isinstance(indices.func, cst.Name)
                and indices.func.value in ("range", "enumerate")
            )
            if (
                key is not None
                and over_axes
                and (self.by_stride(key) or self.by_stride(indices))
                and not asks_for_sizes(key)
            ):
                yield Guess(node, "order", self.text(node))
        elif isinstance(node.func, cst.Attribute) and node.func.attr.value == "argsort":
            arguments = [arg.value for arg in node.args] + [node.func.value]
            if any(
                is_strides(each) or (isinstance(each, cst.Call) and any(is_strides(arg.value) for arg in each.args))
                for each in arguments
            ):
                yield Guess(node, "order", self.text(node))

    def by_stride(self, node: cst.CSTNode) -> bool:
        """`lambda i: x.stride(i)`, `x.stride`, `strides.__getitem__` of a tensor's strides."""
        return any(
            (isinstance(each, cst.Attribute) and each.attr.value == "stride")
            or (isinstance(each, cst.Name) and self.known.get(each.value) == "strides")
            for each in below(node)
        )

    def flagged(self, node: cst.Assign | cst.Return) -> Iterator[Guess]:
        """A weight's layout as a flag for something else."""
        for value in _claims(node.value):
            if (
                question(value, {}) == "channels_last"
                and isinstance(value, cst.Call)
                and isinstance(value.func, cst.Attribute)
            ):
                owner = value.func.value.attr if isinstance(value.func.value, cst.Attribute) else value.func.value
                if isinstance(owner, cst.Name) and ("weight" in owner.value or "kernel" in owner.value):
                    yield Guess(value, "weight", self.text(value))

    def text(self, node: cst.CSTNode) -> str:
        """How a node is written, on one line."""
        text = " ".join(self.module.code_for_node(node).split())
        return text if len(text) <= 60 else text[:57] + "..."


def _claims(node: cst.CSTNode | None) -> Iterator[cst.CSTNode]:
    """What a truth value is made of: the parts of `and`, `or` and `not`, and what `all` and `any` go through."""
    if isinstance(node, cst.BooleanOperation):
        yield from _claims(node.left)
        yield from _claims(node.right)
    elif isinstance(node, cst.UnaryOperation):
        yield from _claims(node.expression)
    elif (
        isinstance(node, cst.Call)
        and isinstance(node.func, cst.Name)
        and node.func.value in ("all", "any")
        and len(node.args) == 1
    ):
        each = node.args[0].value
        yield from _claims(each.elt if isinstance(each, (cst.GeneratorExp, cst.ListComp)) else None)
    elif node is not None:
        yield node


def _is_about_strides(left: cst.CSTNode, right: cst.CSTNode, known: dict[str, str]) -> bool:
    """A stride compared with a number, a size or another one; a last axis that is dense says nothing about formats."""
    if stride_axis(left, known) is None:
        left, right = right, left
    axis = stride_axis(left, known)
    return axis is not None and (axis != -1 or integer(right) != 1)


def _is_only_shown(around: tuple[cst.CSTNode, ...]) -> bool:
    """A part of what is printed or logged: nothing depends on it."""
    for each in reversed(around):
        if isinstance(each, cst.Call):
            name = each.func.attr.value if isinstance(each.func, cst.Attribute) else getattr(each.func, "value", "")
            if name != "format":
                return name in _SHOWING
        elif not isinstance(each, (cst.Arg, cst.FormattedString, cst.FormattedStringExpression, cst.Attribute)):
            return False
    return False


def _is_test(around: tuple[cst.CSTNode, ...]) -> bool:
    return any(isinstance(each, cst.FunctionDef) and each.name.value.startswith("test") for each in around)


def _condition(node: cst.CSTNode, around: tuple[cst.CSTNode, ...]) -> cst.CSTNode:
    """The whole condition that a comparison is part of, joined by words or by `&` and `|`."""
    for each in reversed(around):
        if not isinstance(each, (cst.BooleanOperation, cst.BinaryOperation, cst.UnaryOperation)):
            break
        node = each
    return node
