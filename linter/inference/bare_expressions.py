"""Expressions of the stdlib tree as LibCST nodes without white space."""

from __future__ import annotations

import ast
import functools
import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import libcst as cst

from stridelint.linter.inference import bare_nodes as bare
from stridelint.linter.inference.bare_nodes import Unsupported

# Text in formatted strings that is written as it is; and what stands for other text, of which nothing is asked.
PLAIN_TEXT = re.compile(r"[\w .:/+-]{0,100}")
_ESCAPED = "\\"


class ExpressionConverter:
    """Makes nodes of expressions. sources: by identity of a node, what it was made from."""

    def __init__(self) -> None:
        self.sources: dict[int, ast.AST] = {}

    def expression(self, node: ast.expr | None) -> Any:
        """An expression; None for None."""
        if node is None:
            return None
        kind = type(node)
        if kind is ast.Name:  # every third node
            made = bare.name(node.id)  # type: ignore[attr-defined]
        else:
            convert = _EXPRESSIONS.get(kind)
            if convert is None:
                raise Unsupported(kind.__name__)
            made = convert(self, node)
        self.sources[id(made)] = node
        return made

    def _elements(self, nodes: Iterable[ast.expr]) -> list[Any]:
        return [
            bare.starred_element(self.expression(each.value))
            if isinstance(each, ast.Starred)
            else bare.element(self.expression(each))
            for each in nodes
        ]

    def _argument(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Starred):
            return bare.arg(self.expression(node.value), None, "*")
        return bare.arg(self.expression(node), None, "")

    def _keyword(self, node: ast.keyword) -> Any:
        value = self.expression(node.value)
        return bare.arg(value, None, "**") if node.arg is None else bare.arg(value, bare.name(node.arg), "")

    def _call(self, node: ast.Call) -> Any:
        function = self.expression(node.func)
        if not node.keywords:
            return bare.call(function, [self._argument(each) for each in node.args])
        given = [(each.lineno, each.col_offset, self._argument(each)) for each in node.args]
        given += [(each.lineno, each.col_offset, self._keyword(each)) for each in node.keywords]
        given.sort(key=lambda item: item[:2])
        return bare.call(function, [each for _, _, each in given])

    def _subscript(self, node: ast.Subscript) -> Any:
        inside = node.slice
        parts, last_comma = [inside], None
        if isinstance(inside, ast.Tuple) and inside.elts and _position(inside) == _position(inside.elts[0]):
            parts = inside.elts  # without parentheses
            last_comma = bare.COMMA if len(parts) == 1 else None
        commas = [*[bare.COMMA] * (len(parts) - 1), last_comma]
        elements = [bare.subscript_element(self._slice(each), comma) for each, comma in zip(parts, commas)]
        return bare.subscript(self.expression(node.value), elements)

    def _slice(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Slice):
            return bare.slice_(self.expression(node.lower), self.expression(node.upper), self.expression(node.step))
        if isinstance(node, ast.Starred):
            return bare.index(self.expression(node.value), "*")
        return bare.index(self.expression(node), None)

    def _boolean(self, node: ast.BoolOp) -> Any:
        operator = bare.OPERATORS[type(node.op)]
        return functools.reduce(
            lambda left, right: bare.boolean(left, operator, right), (self.expression(each) for each in node.values)
        )

    def _comparison(self, node: ast.Compare) -> Any:
        targets = [
            bare.comparison_target(bare.OPERATORS[type(operator)], self.expression(each))
            for operator, each in zip(node.ops, node.comparators)
        ]
        return bare.comparison(self.expression(node.left), targets)

    def _dict(self, node: ast.Dict) -> Any:
        return bare.dict_(
            [
                bare.starred_dict_element(self.expression(value))
                if key is None
                else bare.dict_element(self.expression(key), self.expression(value))
                for key, value in zip(node.keys, node.values)
            ]
        )

    def _generators(self, nodes: Sequence[ast.comprehension]) -> Any:
        inner = None
        for node in reversed(nodes):
            tests = [bare.comprehension_if(self.expression(each)) for each in node.ifs]
            asynchronous = bare.asynchronous() if node.is_async else None
            inner = bare.for_in(self.expression(node.target), self.expression(node.iter), tests, inner, asynchronous)
        return inner

    def _parameters(self, node: ast.arguments) -> Any:
        positional = [*node.posonlyargs, *node.args]
        defaults: list[ast.expr | None] = [*[None] * (len(positional) - len(node.defaults)), *node.defaults]
        made = [self._parameter(each, default) for each, default in zip(positional, defaults)]
        keyword_only = [self._parameter(each, default) for each, default in zip(node.kwonlyargs, node.kw_defaults)]
        rest = (
            self._parameter(node.vararg, star="*") if node.vararg else bare.star_parameter() if keyword_only else None
        )
        others = self._parameter(node.kwarg, star="**") if node.kwarg else None
        count = len(node.posonlyargs)
        return bare.parameters(made[count:], rest, keyword_only, others, made[:count])

    def _parameter(self, node: ast.arg, default: ast.expr | None = None, star: str = "") -> Any:
        annotation = None if node.annotation is None else bare.annotation(self.expression(node.annotation))
        name = bare.name(node.arg)
        self.sources[id(name)] = node
        return bare.parameter(name, annotation, self.expression(default), star)

    def _formatted(self, node: ast.JoinedStr) -> Any:
        return bare.formatted([self._formatted_part(each) for each in node.values])

    def _formatted_part(self, node: ast.expr) -> Any:
        if not isinstance(node, ast.FormattedValue):
            text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else _ESCAPED
            return bare.formatted_text(text if PLAIN_TEXT.fullmatch(text) else _ESCAPED)
        spec = node.format_spec
        inner = [self._formatted_part(each) for each in spec.values] if isinstance(spec, ast.JoinedStr) else None
        return bare.formatted_expression(
            self.expression(node.value), inner, "r" if node.conversion != -1 else None, None
        )


def _position(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _constant(_: ExpressionConverter, node: ast.Constant) -> Any:
    value: Any = node.value
    kind = type(value)
    if kind is str or kind is bytes:
        return bare.string(repr(value))
    if kind is int:
        return bare.integer(str(value))
    if kind is bool or value is None:
        return bare.name(str(value))
    if kind is float and math.isfinite(value):
        return bare.float(repr(value))
    if kind is complex and math.isfinite(value.imag):
        return bare.imaginary(repr(value))
    if value is ...:
        return bare.ellipsis()
    raise Unsupported(f"the constant {value!r}")


def _collection(kind: type[cst.CSTNode]) -> Callable[[ExpressionConverter, Any], Any]:
    make = bare.maker(kind, "elements")
    return lambda self, node: make(self._elements(node.elts))


def _comprehension(kind: type[cst.CSTNode]) -> Callable[[ExpressionConverter, Any], Any]:
    make = bare.maker(kind, "elt", "for_in")
    return lambda self, node: make(self.expression(node.elt), self._generators(node.generators))


_EXPRESSIONS: dict[type[ast.AST], Callable[[ExpressionConverter, Any], Any]] = {
    ast.Name: lambda self, node: bare.name(node.id),
    ast.Constant: _constant,
    ast.Attribute: lambda self, node: bare.attribute(self.expression(node.value), bare.name(node.attr)),
    ast.Call: ExpressionConverter._call,
    ast.Subscript: ExpressionConverter._subscript,
    ast.BinOp: lambda self, node: bare.binary(
        self.expression(node.left), bare.OPERATORS[type(node.op)], self.expression(node.right)
    ),
    ast.BoolOp: ExpressionConverter._boolean,
    ast.UnaryOp: lambda self, node: bare.unary(bare.OPERATORS[type(node.op)], self.expression(node.operand)),
    ast.Compare: ExpressionConverter._comparison,
    ast.IfExp: lambda self, node: bare.if_expression(
        self.expression(node.test), self.expression(node.body), self.expression(node.orelse)
    ),
    ast.Lambda: lambda self, node: bare.lambda_(self._parameters(node.args), self.expression(node.body)),
    ast.Tuple: _collection(cst.Tuple),
    ast.List: _collection(cst.List),
    ast.Set: _collection(cst.Set),
    ast.Dict: ExpressionConverter._dict,
    ast.ListComp: _comprehension(cst.ListComp),
    ast.SetComp: _comprehension(cst.SetComp),
    ast.GeneratorExp: _comprehension(cst.GeneratorExp),
    ast.DictComp: lambda self, node: bare.dict_comprehension(
        self.expression(node.key), self.expression(node.value), self._generators(node.generators)
    ),
    ast.NamedExpr: lambda self, node: bare.named(self.expression(node.target), self.expression(node.value)),
    ast.Await: lambda self, node: bare.await_(self.expression(node.value)),
    ast.Yield: lambda self, node: bare.yield_(self.expression(node.value)),
    ast.YieldFrom: lambda self, node: bare.yield_(bare.from_(self.expression(node.value))),
    ast.JoinedStr: ExpressionConverter._formatted,
}
