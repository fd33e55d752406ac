"""Edits that put findings right, as data, and the makers that rules share.

Imports LibCST, so rules import this module only inside `fix`, which is asked for findings that are shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import libcst as cst

from stridelint.rules.events import Operand, Site
from stridelint.rules.forms.walking import Parents

Node = cst.BaseExpression | cst.BaseSmallStatement
Function = cst.FunctionDef | cst.Lambda
NO_SPACE = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))


@dataclass(frozen=True, slots=True)
class Edit:
    """`text` in place of the code of `node`, without the parentheses around that."""

    node: Node
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that belong together, and what they do, as a command ("swap the operands").

    safe: nothing changes but the hazard that was reported: the same values, and no error that was not there.
    cause: it changes a tensor that others are made of, so that their findings may go with this one.
    """

    description: str
    edits: tuple[Edit, ...]
    safe: bool = False
    cause: bool = False


class Code:
    """A module's code, asked how its nodes are written and where they stand."""

    def __init__(self, module: cst.Module) -> None:
        self.module = module
        self._parents = Parents(module)

    def text(self, node: Node, at: cst.CSTNode | None = None) -> str:
        """The code of a node, without parentheses around it and without a semicolon behind it.

        at: the place it is meant for, if it is not in the module.
        """
        statement: cst.BaseSmallStatement
        if isinstance(node, cst.BaseSmallStatement):
            statement = node.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)
        else:
            statement = cst.Expr(node.with_changes(lpar=(), rpar=()))
        indent = self.indent_of(at or node)
        if not indent:
            return self.module.code_for_node(statement)
        # Only in a block does LibCST indent the lines that an expression goes on in.
        block = cst.IndentedBlock([cst.SimpleStatementLine([statement])], indent=indent)
        newline = self.module.default_newline
        return self.module.code_for_node(block).removeprefix(newline + indent).removesuffix(newline)

    def parent(self, node: object) -> cst.CSTNode | None:
        """What a node is a part of; None for what is not in this module."""
        return self._parents.of(node)

    def above(self, node: object) -> Iterator[cst.CSTNode]:
        """What a node is a part of, innermost first."""
        return self._parents.above(node)

    def function_of(self, node: object) -> Function | cst.Module | None:
        """The function whose code a node is, or the module."""
        return next(
            (each for each in self.above(node) if isinstance(each, (cst.FunctionDef, cst.Lambda, cst.Module))), None
        )

    def statement_of(self, node: object) -> cst.SimpleStatementLine | None:
        """The line of simple statements that a node stands in."""
        return next((each for each in self.above(node) if isinstance(each, cst.SimpleStatementLine)), None)

    def expression(self, site: Site) -> cst.BaseExpression | None:
        """The expression at a site, if it is one of this module."""
        node = site.node
        return (
            node
            if site.path is None and isinstance(node, cst.BaseExpression) and self.parent(node) is not None
            else None
        )

    def call(self, site: Site) -> cst.Call | None:
        """The call at a site."""
        node = self.expression(site)
        return node if isinstance(node, cst.Call) else None

    def indent_of(self, node: object) -> str:
        """The white space in front of a statement."""
        blocks = [each for each in self.above(node) if isinstance(each, cst.IndentedBlock)]
        return "".join(self.module.default_indent if each.indent is None else each.indent for each in reversed(blocks))

    def torch(self) -> str | None:
        """How the module names torch."""
        for node in below(self.module):
            if isinstance(node, cst.ImportAlias) and node.evaluated_name == "torch":
                return node.evaluated_alias or "torch"
        return None

    def together(self, node: cst.CSTNode, operands: Iterable[Operand]) -> bool:
        """Whether all that decided the operands' facts is code of the function that `node` stands in."""
        here = self.function_of(node)
        return all(
            note.site.path is None and self.function_of(note.site.node) is here
            for operand in operands
            for note in operand.story
        ) and all(operand.story for operand in operands)


def below(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A node and all that is part of it, in order."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        yield each
        waiting.extend(reversed(each.children))


def replaced(code: Code, old: Node, new: Node) -> Edit:
    """An edit that puts one node in another's place."""
    return Edit(old, code.text(new, old))


def method(call: cst.Call) -> str:
    """The name of the attribute that is called; "" for other calls."""
    return call.func.attr.value if isinstance(call.func, cst.Attribute) else ""


def renamed(node: cst.BaseExpression, name: str) -> Edit | None:
    """Another attribute of the same object, or the same call of another method."""
    attribute = node.func if isinstance(node, cst.Call) else node
    return Edit(attribute.attr, name) if isinstance(attribute, cst.Attribute) else None


def keyword(call: cst.Call, name: str) -> cst.Arg | None:
    """The keyword argument of that name."""
    return next((each for each in call.args if each.keyword is not None and each.keyword.value == name), None)


def with_keyword(call: cst.Call, name: str, value: cst.BaseExpression) -> cst.Call:
    """The call with one more keyword argument, set like the others."""
    new = cst.Arg(value, cst.Name(name), equal=NO_SPACE)
    if not call.args:
        return call.with_changes(args=(new,))
    *others, last = call.args
    before = others[-1].comma if others else None
    space = before.whitespace_after if isinstance(before, cst.Comma) else call.whitespace_before_args
    if isinstance(last.comma, cst.Comma):  # the comments behind the last argument and its comma stay with it
        after = last.comma.whitespace_after
        if isinstance(after, cst.ParenthesizedWhitespace) and isinstance(space, cst.ParenthesizedWhitespace):
            between: cst.BaseParenthesizableWhitespace = after.with_changes(
                last_line=space.last_line, indent=space.indent
            )
        else:
            between = cst.SimpleWhitespace(" ")
        new = new.with_changes(comma=last.comma.with_changes(whitespace_after=_without_comments(after)))
        last = last.with_changes(comma=last.comma.with_changes(whitespace_after=between))
        return call.with_changes(args=(*others, last, new))
    end = last.whitespace_after_arg
    own_line = isinstance(space, cst.ParenthesizedWhitespace) and bool(others) and not _has_comment(end)
    comma = cst.Comma(whitespace_after=_without_comments(space) if own_line else cst.SimpleWhitespace(" "))
    new = new.with_changes(whitespace_after_arg=end)
    return call.with_changes(
        args=(*others, last.with_changes(comma=comma, whitespace_after_arg=cst.SimpleWhitespace("")), new)
    )


def _has_comment(space: cst.BaseParenthesizableWhitespace) -> bool:
    return any(isinstance(each, cst.Comment) for each in below(space))


def _without_comments(space: cst.BaseParenthesizableWhitespace) -> cst.BaseParenthesizableWhitespace:
    """The same line break, without what else stands in it."""
    if not isinstance(space, cst.ParenthesizedWhitespace):
        return space
    line = space.first_line.with_changes(comment=None, whitespace=cst.SimpleWhitespace(""))
    return space.with_changes(first_line=line, empty_lines=())


def without(call: cst.Call, gone: cst.Arg) -> cst.Call:
    """The call without one of its arguments."""
    left = [each for each in call.args if each is not gone]
    if left and call.args[-1] is gone:
        left[-1] = left[-1].with_changes(comma=gone.comma, whitespace_after_arg=gone.whitespace_after_arg)
    return call.with_changes(args=left)


def with_value(call: cst.Call, old: cst.Arg, value: cst.BaseExpression) -> cst.Call:
    """The call with another value for one of its arguments."""
    return call.with_changes(args=[each.with_changes(value=value) if each is old else each for each in call.args])


def dotted(text: str) -> cst.BaseExpression:
    """The expression of a dotted name."""
    return cst.parse_expression(text)


def is_quiet(node: cst.CSTNode) -> bool:
    """Evaluating it does nothing and calls nothing: names, attributes, literals, operators."""
    return not any(isinstance(each, (cst.Call, cst.Await, cst.Yield, cst.NamedExpr)) for each in below(node))


def is_atom(node: cst.BaseExpression) -> bool:
    """A method can be called on it as it is written."""
    simple = (cst.Name, cst.Attribute, cst.Call, cst.Subscript)
    return isinstance(node, simple) or bool(node.lpar)


def method_of(receiver: cst.BaseExpression, name: str, args: Sequence[cst.Arg] = ()) -> cst.Call:
    """A method call on an expression, in parentheses where they are needed."""
    if not is_atom(receiver):
        receiver = receiver.with_changes(lpar=(cst.LeftParen(),), rpar=(cst.RightParen(),))
    return cst.Call(cst.Attribute(receiver, cst.Name(name)), args)


def called(code: Code, receiver: cst.BaseExpression, name: str, args: Sequence[cst.Arg] = ()) -> Edit:
    """Calls a method on an expression where that stands, inside the parentheses that it may have."""
    inside = receiver.with_changes(lpar=(), rpar=())
    return replaced(code, receiver, method_of(inside, name, args))


def own_line(code: Code, node: cst.CSTNode) -> cst.Expr | None:
    """The statement that consists of this expression; it can become another one."""
    parent = code.parent(node)
    return parent if isinstance(parent, cst.Expr) and not getattr(node, "lpar", ()) else None


def swapped(code: Code, node: cst.BaseExpression) -> Edit | None:
    """The same operator with its two operands in the other order."""
    pair = operands(node)
    if pair is None:
        return None
    first, second = pair
    if isinstance(node, cst.Call):
        if len(node.args) == 1:
            assert isinstance(node.func, cst.Attribute)
            call = method_of(second, node.func.attr.value, [node.args[0].with_changes(value=first)])
            return replaced(code, node, call)
        one, two = node.args
        return replaced(
            code, node, node.with_changes(args=[one.with_changes(value=second), two.with_changes(value=first)])
        )
    if isinstance(first, (cst.BinaryOperation, cst.BooleanOperation, cst.Comparison)) and not first.lpar:
        first = first.with_changes(lpar=(cst.LeftParen(),), rpar=(cst.RightParen(),))  # `a * b * c` groups to the left
    if isinstance(node, cst.Comparison):
        target = node.comparisons[0].with_changes(comparator=first)
        return replaced(code, node, node.with_changes(left=second, comparisons=[target]))
    return replaced(code, node, node.with_changes(left=second, right=first))


def operands(node: cst.BaseExpression | None) -> tuple[cst.BaseExpression, cst.BaseExpression] | None:
    """The two operands of an operator, a function call or a method call without other arguments."""
    if isinstance(node, cst.BinaryOperation):
        return node.left, node.right
    if isinstance(node, cst.Comparison) and len(node.comparisons) == 1:
        return node.left, node.comparisons[0].comparator
    if isinstance(node, cst.Call) and all(each.keyword is None and not each.star for each in node.args):
        values = [each.value for each in node.args]
        if len(values) == 1 and isinstance(node.func, cst.Attribute):
            return node.func.value, values[0]
        return (values[0], values[1]) if len(values) == 2 else None
    return None


def any_order(first: cst.BaseExpression, second: cst.BaseExpression) -> bool:
    """Whether it makes no difference which of two expressions is evaluated first."""
    if any(isinstance(each, cst.NamedExpr) for one in (first, second) for each in below(one)):
        return False
    if is_quiet(first) and is_quiet(second):
        return True
    return isinstance(first, cst.Name) or isinstance(second, cst.Name)
