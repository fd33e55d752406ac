"""LibCST nodes without white space, made from the stdlib tree.

LibCST takes most of its time to keep every space, and only a file with findings needs those: to find out whether there
are any, these nodes do. They hold what code means (names, operators, values, in LibCST's classes and fields) and nothing
else; asking them for a space or a comment fails.
"""

from __future__ import annotations

import ast
import functools
import math
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any

import libcst as cst

from stridelint.linter.inference.syntax import fields_of

_set = object.__setattr__


class Unsupported(Exception):
    """Syntax that is left to LibCST's own parser."""


def _maker(kind: type[cst.CSTNode], *given: str) -> Callable[..., Any]:
    """A function that makes nodes of a kind from the values of these fields; its other fields are None."""
    names = (*given, *(name for name in fields_of(kind) or () if name not in given))
    rest = (None,) * (len(names) - len(given))

    def make(*values: object) -> cst.CSTNode:
        node = kind.__new__(kind)
        for name, value in zip(names, values + rest):
            _set(node, name, value)
        return node

    return make


_name = _maker(cst.Name, "value")
_integer = _maker(cst.Integer, "value")
_float = _maker(cst.Float, "value")
_imaginary = _maker(cst.Imaginary, "value")
_string = _maker(cst.SimpleString, "value")
_ellipsis = _maker(cst.Ellipsis)
_attribute = _maker(cst.Attribute, "value", "attr")
_call = _maker(cst.Call, "func", "args")
_arg = _maker(cst.Arg, "value", "keyword", "star")
_subscript = _maker(cst.Subscript, "value", "slice")
_subscript_element = _maker(cst.SubscriptElement, "slice", "comma")
_index = _maker(cst.Index, "value", "star")
_slice = _maker(cst.Slice, "lower", "upper", "step")
_binary = _maker(cst.BinaryOperation, "left", "operator", "right")
_boolean = _maker(cst.BooleanOperation, "left", "operator", "right")
_unary = _maker(cst.UnaryOperation, "operator", "expression")
_comparison = _maker(cst.Comparison, "left", "comparisons")
_comparison_target = _maker(cst.ComparisonTarget, "operator", "comparator")
_if_expression = _maker(cst.IfExp, "test", "body", "orelse")
_lambda = _maker(cst.Lambda, "params", "body")
_element = _maker(cst.Element, "value")
_starred_element = _maker(cst.StarredElement, "value")
_dict_element = _maker(cst.DictElement, "key", "value")
_starred_dict_element = _maker(cst.StarredDictElement, "value")
_dict = _maker(cst.Dict, "elements")
_dict_comprehension = _maker(cst.DictComp, "key", "value", "for_in")
_for_in = _maker(cst.CompFor, "target", "iter", "ifs", "inner_for_in", "asynchronous")
_comprehension_if = _maker(cst.CompIf, "test")
_named = _maker(cst.NamedExpr, "target", "value")
_await = _maker(cst.Await, "expression")
_yield = _maker(cst.Yield, "value")
_from = _maker(cst.From, "item")
_formatted = _maker(cst.FormattedString, "parts")
_formatted_text = _maker(cst.FormattedStringText, "value")
_formatted_expression = _maker(cst.FormattedStringExpression, "expression", "format_spec")
_parameters = _maker(cst.Parameters, "params", "star_arg", "kwonly_params", "star_kwarg", "posonly_params")
_parameter = _maker(cst.Param, "name", "annotation", "default", "star")
_star_parameter = _maker(cst.ParamStar)
_annotation = _maker(cst.Annotation, "annotation")
_as_name = _maker(cst.AsName, "name")
_asynchronous = _maker(cst.Asynchronous)
_comma = _maker(cst.Comma)
_dot = _maker(cst.Dot)

_line = _maker(cst.SimpleStatementLine, "body")
_block = _maker(cst.IndentedBlock, "body")
_expression = _maker(cst.Expr, "value")
_assign = _maker(cst.Assign, "targets", "value")
_assign_target = _maker(cst.AssignTarget, "target")
_annotated_assign = _maker(cst.AnnAssign, "target", "annotation", "value")
_augmented_assign = _maker(cst.AugAssign, "target", "operator", "value")
_return = _maker(cst.Return, "value")
_raise = _maker(cst.Raise, "exc", "cause")
_assert = _maker(cst.Assert, "test", "msg")
_delete = _maker(cst.Del, "target")
_name_item = _maker(cst.NameItem, "name")
_import = _maker(cst.Import, "names")
_import_from = _maker(cst.ImportFrom, "module", "names", "relative")
_import_alias = _maker(cst.ImportAlias, "name", "asname")
_import_star = _maker(cst.ImportStar)
_function = _maker(cst.FunctionDef, "name", "params", "body", "decorators", "returns", "asynchronous")
_class = _maker(cst.ClassDef, "name", "body", "bases", "keywords", "decorators")
_decorator = _maker(cst.Decorator, "decorator")
_if = _maker(cst.If, "test", "body", "orelse")
_else = _maker(cst.Else, "body")
_while = _maker(cst.While, "test", "body", "orelse")
_for = _maker(cst.For, "target", "iter", "body", "orelse", "asynchronous")
_with = _maker(cst.With, "items", "body", "asynchronous")
_with_item = _maker(cst.WithItem, "item", "asname")
_finally = _maker(cst.Finally, "body")
_module = _maker(cst.Module, "body")

_BINARY = {
    ast.Add: cst.Add, ast.Sub: cst.Subtract, ast.Mult: cst.Multiply, ast.Div: cst.Divide, ast.FloorDiv: cst.FloorDivide,
    ast.Mod: cst.Modulo, ast.Pow: cst.Power, ast.LShift: cst.LeftShift, ast.RShift: cst.RightShift, ast.BitAnd: cst.BitAnd,
    ast.BitOr: cst.BitOr, ast.BitXor: cst.BitXor, ast.MatMult: cst.MatrixMultiply,
}  # fmt: skip
_AUGMENTED = {
    ast.Add: cst.AddAssign, ast.Sub: cst.SubtractAssign, ast.Mult: cst.MultiplyAssign, ast.Div: cst.DivideAssign,
    ast.FloorDiv: cst.FloorDivideAssign, ast.Mod: cst.ModuloAssign, ast.Pow: cst.PowerAssign, ast.LShift: cst.LeftShiftAssign,
    ast.RShift: cst.RightShiftAssign, ast.BitAnd: cst.BitAndAssign, ast.BitOr: cst.BitOrAssign, ast.BitXor: cst.BitXorAssign,
    ast.MatMult: cst.MatrixMultiplyAssign,
}  # fmt: skip
_OTHER_OPERATORS = {
    ast.And: cst.And, ast.Or: cst.Or, ast.Not: cst.Not, ast.Invert: cst.BitInvert, ast.UAdd: cst.Plus, ast.USub: cst.Minus,
    ast.Eq: cst.Equal, ast.Lt: cst.LessThan, ast.LtE: cst.LessThanEqual, ast.Gt: cst.GreaterThan,
    ast.GtE: cst.GreaterThanEqual, ast.Is: cst.Is, ast.IsNot: cst.IsNot, ast.In: cst.In, ast.NotIn: cst.NotIn,
}  # fmt: skip


@functools.cache
def _operator(kind: type) -> Callable[[], Any]:
    if kind is ast.NotEq:
        return functools.partial(_maker(cst.NotEqual, "value"), "!=")
    return _maker(_BINARY.get(kind) or _OTHER_OPERATORS[kind])


@functools.cache
def _augmented_operator(kind: type) -> Callable[[], Any]:
    return _maker(_AUGMENTED[kind])


class BareTree:
    """The module as LibCST nodes. The bodies of functions in `left_out` return an unknown name.

    Raises:
        Unsupported: the module holds syntax that only LibCST's parser handles.
    """

    def __init__(self, tree: ast.Module, left_out: Container[ast.AST] = ()) -> None:
        converter = _Converter(left_out)
        self.module: cst.Module = _module(converter.statements(tree.body))
        self._sources = converter.sources

    def source(self, node: cst.CSTNode) -> str:
        """How an expression may be written: in the usual spacing, not in its author's.

        Raises:
            Unsupported: it is none of the expressions and simple statements whose text is ever asked for.
        """
        if isinstance(node, cst.Name):
            return node.value
        if id(node) not in self._sources:
            raise Unsupported(f"the text of a {type(node).__name__}")
        return ast.unparse(self._sources[id(node)])


class _Converter:
    def __init__(self, left_out: Container[ast.AST]) -> None:
        self._left_out = left_out
        self.sources: dict[int, ast.AST] = {}

    def statements(self, nodes: Iterable[ast.stmt]) -> list[cst.BaseStatement]:
        return [self._statement(node) for node in nodes]

    def _statement(self, node: ast.stmt) -> Any:
        convert = _COMPOUND.get(type(node))
        if convert is not None:
            return convert(self, node)
        convert = _SIMPLE.get(type(node))
        if convert is None:
            raise Unsupported(type(node).__name__)
        made = convert(self, node)
        self.sources[id(made)] = node
        return _line([made])

    def _body(self, nodes: Iterable[ast.stmt]) -> Any:
        return _block(self.statements(nodes))

    def _or_else(self, nodes: Sequence[ast.stmt]) -> Any:
        return _else(self._body(nodes)) if nodes else None

    def expression(self, node: ast.expr | None) -> Any:
        """An expression; None for None."""
        if node is None:
            return None
        convert = _EXPRESSIONS.get(type(node))
        if convert is None:
            raise Unsupported(type(node).__name__)
        made = convert(self, node)
        self.sources[id(made)] = node
        return made

    # Statements

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Any:
        if getattr(node, "type_params", None):
            raise Unsupported("type parameters")
        body = _block([_line([_return(_name("__unknown__"))])]) if node in self._left_out else self._body(node.body)
        returns = None if node.returns is None else _annotation(self.expression(node.returns))
        asynchronous = _asynchronous() if isinstance(node, ast.AsyncFunctionDef) else None
        return _function(
            _name(node.name),
            self._parameters(node.args),
            body,
            self._decorators(node.decorator_list),
            returns,
            asynchronous,
        )

    def _decorators(self, nodes: Iterable[ast.expr]) -> list[Any]:
        return [_decorator(self.expression(each)) for each in nodes]

    def _class(self, node: ast.ClassDef) -> Any:
        if getattr(node, "type_params", None):
            raise Unsupported("type parameters")
        bases = [self._argument(each) for each in node.bases]
        keywords = [self._keyword(each) for each in node.keywords]
        return _class(_name(node.name), self._body(node.body), bases, keywords, self._decorators(node.decorator_list))

    def _if(self, node: ast.If) -> Any:
        rest = node.orelse
        is_elif = len(rest) == 1 and isinstance(rest[0], ast.If) and rest[0].col_offset == node.col_offset
        return _if(
            self.expression(node.test),
            self._body(node.body),
            self._statement(rest[0]) if is_elif else self._or_else(rest),
        )

    def _while(self, node: ast.While) -> Any:
        return _while(self.expression(node.test), self._body(node.body), self._or_else(node.orelse))

    def _for(self, node: ast.For | ast.AsyncFor) -> Any:
        asynchronous = _asynchronous() if isinstance(node, ast.AsyncFor) else None
        target, items = self.expression(node.target), self.expression(node.iter)
        return _for(target, items, self._body(node.body), self._or_else(node.orelse), asynchronous)

    def _with(self, node: ast.With | ast.AsyncWith) -> Any:
        items = [
            _with_item(
                self.expression(each.context_expr),
                None if each.optional_vars is None else _as_name(self.expression(each.optional_vars)),
            )
            for each in node.items
        ]
        return _with(items, self._body(node.body), _asynchronous() if isinstance(node, ast.AsyncWith) else None)

    def _try(self, node: Any) -> Any:
        kinds = (cst.TryStar, cst.ExceptStarHandler) if type(node) is not ast.Try else (cst.Try, cst.ExceptHandler)
        handler = _maker(kinds[1], "body", "type", "name")
        handlers = [
            handler(
                self._body(each.body),
                self.expression(each.type),
                None if each.name is None else _as_name(_name(each.name)),
            )
            for each in node.handlers
        ]
        last = _finally(self._body(node.finalbody)) if node.finalbody else None
        return _maker(kinds[0], "body", "handlers", "orelse", "finalbody")(
            self._body(node.body), handlers, self._or_else(node.orelse), last
        )

    def _assign(self, node: ast.Assign) -> Any:
        targets = [_assign_target(self.expression(each)) for each in node.targets]
        return _assign(targets, self.expression(node.value))

    def _annotated_assign(self, node: ast.AnnAssign) -> Any:
        annotation = _annotation(self.expression(node.annotation))
        return _annotated_assign(self.expression(node.target), annotation, self.expression(node.value))

    def _augmented_assign(self, node: ast.AugAssign) -> Any:
        operator = _augmented_operator(type(node.op))()
        return _augmented_assign(self.expression(node.target), operator, self.expression(node.value))

    def _raise(self, node: ast.Raise) -> Any:
        return _raise(self.expression(node.exc), None if node.cause is None else _from(self.expression(node.cause)))

    def _delete(self, node: ast.Delete) -> Any:
        if len(node.targets) == 1:
            return _delete(self.expression(node.targets[0]))
        return _delete(_maker(cst.Tuple, "elements")([_element(self.expression(each)) for each in node.targets]))

    def _import_from(self, node: ast.ImportFrom) -> Any:
        module = None if node.module is None else _dotted(node.module)
        names = _import_star() if node.names[0].name == "*" else _aliases(node.names)
        return _import_from(module, names, [_dot() for _ in range(node.level or 0)])

    # Expressions

    def _elements(self, nodes: Iterable[ast.expr]) -> list[Any]:
        return [
            _starred_element(self.expression(each.value))
            if isinstance(each, ast.Starred)
            else _element(self.expression(each))
            for each in nodes
        ]

    def _argument(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Starred):
            return _arg(self.expression(node.value), None, "*")
        return _arg(self.expression(node), None, "")

    def _keyword(self, node: ast.keyword) -> Any:
        value = self.expression(node.value)
        return _arg(value, None, "**") if node.arg is None else _arg(value, _name(node.arg), "")

    def _call(self, node: ast.Call) -> Any:
        function = self.expression(node.func)
        if not node.keywords:
            return _call(function, [self._argument(each) for each in node.args])
        given = [(each.lineno, each.col_offset, self._argument(each)) for each in node.args]
        given += [(each.lineno, each.col_offset, self._keyword(each)) for each in node.keywords]
        given.sort(key=lambda item: item[:2])
        return _call(function, [each for _, _, each in given])

    def _subscript(self, node: ast.Subscript) -> Any:
        inside = node.slice
        parts: Sequence[ast.expr] = (inside,)
        if isinstance(inside, ast.Tuple) and inside.elts and _position(inside) == _position(inside.elts[0]):
            parts = inside.elts  # without parentheses
        slices = [self._slice(each) for each in parts]
        commas = [_comma()] * (len(slices) - 1) + [_comma() if len(slices) == 1 and parts is not (inside,) else None]
        if parts[0] is inside:
            commas = [None]
        return _subscript(self.expression(node.value), [_subscript_element(*each) for each in zip(slices, commas)])

    def _slice(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Slice):
            return _slice(self.expression(node.lower), self.expression(node.upper), self.expression(node.step))
        if isinstance(node, ast.Starred):
            return _index(self.expression(node.value), "*")
        return _index(self.expression(node), None)

    def _boolean(self, node: ast.BoolOp) -> Any:
        make = _operator(type(node.op))
        return functools.reduce(
            lambda left, right: _boolean(left, make(), right), (self.expression(each) for each in node.values)
        )

    def _comparison(self, node: ast.Compare) -> Any:
        targets = [
            _comparison_target(_operator(type(operator))(), self.expression(each))
            for operator, each in zip(node.ops, node.comparators)
        ]
        return _comparison(self.expression(node.left), targets)

    def _dict(self, node: ast.Dict) -> Any:
        return _dict(
            [
                _starred_dict_element(self.expression(value))
                if key is None
                else _dict_element(self.expression(key), self.expression(value))
                for key, value in zip(node.keys, node.values)
            ]
        )

    def _generators(self, nodes: Sequence[ast.comprehension]) -> Any:
        inner = None
        for node in reversed(nodes):
            tests = [_comprehension_if(self.expression(each)) for each in node.ifs]
            asynchronous = _asynchronous() if node.is_async else None
            inner = _for_in(self.expression(node.target), self.expression(node.iter), tests, inner, asynchronous)
        return inner

    def _parameters(self, node: ast.arguments) -> Any:
        positional = [*node.posonlyargs, *node.args]
        defaults: list[ast.expr | None] = [*[None] * (len(positional) - len(node.defaults)), *node.defaults]
        made = [self._parameter(each, default) for each, default in zip(positional, defaults)]
        keyword_only = [self._parameter(each, default) for each, default in zip(node.kwonlyargs, node.kw_defaults)]
        rest = self._parameter(node.vararg, star="*") if node.vararg else _star_parameter() if keyword_only else None
        others = self._parameter(node.kwarg, star="**") if node.kwarg else None
        count = len(node.posonlyargs)
        return _parameters(made[count:], rest, keyword_only, others, made[:count])

    def _parameter(self, node: ast.arg, default: ast.expr | None = None, star: str = "") -> Any:
        annotation = None if node.annotation is None else _annotation(self.expression(node.annotation))
        return _parameter(_name(node.arg), annotation, self.expression(default), star)

    def _formatted(self, node: ast.JoinedStr) -> Any:
        return _formatted([self._formatted_part(each) for each in node.values])

    def _formatted_part(self, node: ast.expr) -> Any:
        if not isinstance(node, ast.FormattedValue):
            return _formatted_text("")
        spec = node.format_spec
        inner = [self._formatted_part(each) for each in spec.values] if isinstance(spec, ast.JoinedStr) else None
        return _formatted_expression(self.expression(node.value), inner)


def _position(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _constant(_: _Converter, node: ast.Constant) -> Any:
    value = node.value
    kind = type(value)
    if kind is str or kind is bytes:
        return _string(repr(value))
    if kind is int:
        return _integer(str(value))
    if kind is bool or value is None:
        return _name(str(value))
    if kind is float and math.isfinite(value):
        return _float(repr(value))
    if kind is complex and math.isfinite(value.imag):
        return _imaginary(repr(value))
    if value is ...:
        return _ellipsis()
    raise Unsupported(f"the constant {value}")


def _dotted(name: str) -> Any:
    first, *rest = name.split(".")
    return functools.reduce(lambda left, part: _attribute(left, _name(part)), rest, _name(first))


def _aliases(nodes: Iterable[ast.alias]) -> list[Any]:
    return [
        _import_alias(_dotted(each.name), None if each.asname is None else _as_name(_name(each.asname)))
        for each in nodes
    ]


def _names(kind: type[cst.CSTNode]) -> Callable[[_Converter, Any], Any]:
    make = _maker(kind, "names")
    return lambda _, node: make([_name_item(_name(each)) for each in node.names])


def _bare(kind: type[cst.CSTNode]) -> Callable[[_Converter, Any], Any]:
    make = _maker(kind)
    return lambda _, node: make()


def _collection(kind: type[cst.CSTNode]) -> Callable[[_Converter, Any], Any]:
    make = _maker(kind, "elements")
    return lambda self, node: make(self._elements(node.elts))


def _comprehension(kind: type[cst.CSTNode]) -> Callable[[_Converter, Any], Any]:
    make = _maker(kind, "elt", "for_in")
    return lambda self, node: make(self.expression(node.elt), self._generators(node.generators))


_Convert = Callable[[_Converter, Any], Any]
_COMPOUND: dict[type[ast.AST], _Convert] = {
    ast.FunctionDef: _Converter._function,
    ast.AsyncFunctionDef: _Converter._function,
    ast.ClassDef: _Converter._class,
    ast.If: _Converter._if,
    ast.While: _Converter._while,
    ast.For: _Converter._for,
    ast.AsyncFor: _Converter._for,
    ast.With: _Converter._with,
    ast.AsyncWith: _Converter._with,
    ast.Try: _Converter._try,
}
if hasattr(ast, "TryStar"):
    _COMPOUND[ast.TryStar] = _Converter._try
_SIMPLE: dict[type[ast.AST], _Convert] = {
    ast.Expr: lambda self, node: _expression(self.expression(node.value)),
    ast.Assign: _Converter._assign,
    ast.AnnAssign: _Converter._annotated_assign,
    ast.AugAssign: _Converter._augmented_assign,
    ast.Return: lambda self, node: _return(self.expression(node.value)),
    ast.Raise: _Converter._raise,
    ast.Assert: lambda self, node: _assert(self.expression(node.test), self.expression(node.msg)),
    ast.Delete: _Converter._delete,
    ast.Pass: _bare(cst.Pass),
    ast.Break: _bare(cst.Break),
    ast.Continue: _bare(cst.Continue),
    ast.Global: _names(cst.Global),
    ast.Nonlocal: _names(cst.Nonlocal),
    ast.Import: lambda self, node: _import(_aliases(node.names)),
    ast.ImportFrom: _Converter._import_from,
}
_EXPRESSIONS: dict[type[ast.AST], _Convert] = {
    ast.Name: lambda self, node: _name(node.id),
    ast.Constant: _constant,
    ast.Attribute: lambda self, node: _attribute(self.expression(node.value), _name(node.attr)),
    ast.Call: _Converter._call,
    ast.Subscript: _Converter._subscript,
    ast.BinOp: lambda self, node: _binary(
        self.expression(node.left), _operator(type(node.op))(), self.expression(node.right)
    ),
    ast.BoolOp: _Converter._boolean,
    ast.UnaryOp: lambda self, node: _unary(_operator(type(node.op))(), self.expression(node.operand)),
    ast.Compare: _Converter._comparison,
    ast.IfExp: lambda self, node: _if_expression(
        self.expression(node.test), self.expression(node.body), self.expression(node.orelse)
    ),
    ast.Lambda: lambda self, node: _lambda(self._parameters(node.args), self.expression(node.body)),
    ast.Tuple: _collection(cst.Tuple),
    ast.List: _collection(cst.List),
    ast.Set: _collection(cst.Set),
    ast.Dict: _Converter._dict,
    ast.ListComp: _comprehension(cst.ListComp),
    ast.SetComp: _comprehension(cst.SetComp),
    ast.GeneratorExp: _comprehension(cst.GeneratorExp),
    ast.DictComp: lambda self, node: _dict_comprehension(
        self.expression(node.key), self.expression(node.value), self._generators(node.generators)
    ),
    ast.NamedExpr: lambda self, node: _named(self.expression(node.target), self.expression(node.value)),
    ast.Await: lambda self, node: _await(self.expression(node.value)),
    ast.Yield: lambda self, node: _yield(self.expression(node.value)),
    ast.YieldFrom: lambda self, node: _yield(_from(self.expression(node.value))),
    ast.JoinedStr: _Converter._formatted,
}
