"""LibCST nodes without white space, made from the stdlib tree.

LibCST takes most of its time to keep every space, and only a file with findings needs those: to find out whether there
are any, these nodes do. They hold what code means (names, operators, values, in LibCST's classes and fields) and nothing
else; asking them for a space or a comment fails.
"""

from __future__ import annotations

import ast
import functools
import math
import re
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any

import libcst as cst

from stridelint.linter import source
from stridelint.linter.inference import bare_nodes as bare

# Text in formatted strings that is written as it is; and what stands for other text, of which nothing is asked.
PLAIN_TEXT = re.compile(r"[\w .:/+-]{0,100}")
_ESCAPED = "\\"


class Unsupported(Exception):
    """Syntax that is left to LibCST's own parser."""


class BareTree:
    """The module as LibCST nodes. The bodies of functions in `left_out` return an unknown name.

    text: the module's own.

    Raises:
        Unsupported: the module holds syntax that only LibCST's parser handles.
    """

    def __init__(self, tree: ast.Module, left_out: Container[ast.AST] = (), text: str = "") -> None:
        self._text = text
        converter = _Converter(left_out)
        self.module: cst.Module = bare.module_(converter.statements(tree.body))
        self._sources = converter.sources

    def knows(self, node: cst.CSTNode) -> bool:
        """Whether it is a node of this tree whose text can be told."""
        return id(node) in self._sources

    def origin(self, node: cst.CSTNode) -> ast.AST | None:
        """The stdlib node of an expression, a simple statement or the name of a parameter."""
        return self._sources.get(id(node))

    def source(self, node: cst.CSTNode) -> str:
        """How an expression may be written: in the usual spacing, not in its author's.

        Raises:
            Unsupported: it is none of the expressions and simple statements whose text is ever asked for.
        """
        if isinstance(node, cst.Name):
            return node.value
        return ast.unparse(self._known(node))

    def written(self, node: cst.CSTNode) -> str:
        """How an expression or a function is written, with the comments in it and above it.

        Raises:
            Unsupported: as `source` does.
        """
        origin: Any = self._known(node)
        first, last = source.first_line(origin) - 1, origin.end_lineno
        lines = self._lines
        if isinstance(origin, ast.expr):
            # As ast.get_source_segment, which takes the whole text apart each time.
            part = [line.encode() for line in lines[first:last]]
            part[-1] = part[-1][: origin.end_col_offset]
            part[0] = part[0][origin.col_offset :]
            return b"\n".join(part).decode()
        while first and _is_comment(lines[first - 1]):
            first -= 1
        while last < len(lines) and _is_comment(lines[last]) and _indent(lines[last]) > origin.col_offset:
            last += 1
        return "\n".join(lines[first:last])

    def _known(self, node: cst.CSTNode) -> ast.AST:
        if id(node) not in self._sources:
            raise Unsupported(f"the text of a {type(node).__name__}")
        return self._sources[id(node)]

    @functools.cached_property
    def _lines(self) -> list[str]:
        return source.lines(self._text)


def _is_comment(line: str) -> bool:
    return line.lstrip()[:1] in ("", "#")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


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
        return bare.line([made])

    def _body(self, nodes: Iterable[ast.stmt]) -> Any:
        return bare.block(self.statements(nodes))

    def _or_else(self, nodes: Sequence[ast.stmt]) -> Any:
        return bare.else_(self._body(nodes)) if nodes else None

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
        body = (
            bare.block([bare.line([bare.return_(bare.name("__unknown__"))])])
            if node in self._left_out
            else self._body(node.body)
        )
        returns = None if node.returns is None else bare.annotation(self.expression(node.returns))
        asynchronous = bare.asynchronous() if isinstance(node, ast.AsyncFunctionDef) else None
        made = bare.function(
            bare.name(node.name),
            self._parameters(node.args),
            body,
            self._decorators(node.decorator_list),
            returns,
            asynchronous,
        )
        self.sources[id(made)] = node
        return made

    def _decorators(self, nodes: Iterable[ast.expr]) -> list[Any]:
        return [bare.decorator(self.expression(each)) for each in nodes]

    def _class(self, node: ast.ClassDef) -> Any:
        if getattr(node, "type_params", None):
            raise Unsupported("type parameters")
        bases = [self._argument(each) for each in node.bases]
        keywords = [self._keyword(each) for each in node.keywords]
        return bare.class_(
            bare.name(node.name), self._body(node.body), bases, keywords, self._decorators(node.decorator_list)
        )

    def _if(self, node: ast.If) -> Any:
        rest = node.orelse
        is_elif = len(rest) == 1 and isinstance(rest[0], ast.If) and rest[0].col_offset == node.col_offset
        return bare.if_(
            self.expression(node.test),
            self._body(node.body),
            self._statement(rest[0]) if is_elif else self._or_else(rest),
        )

    def _while(self, node: ast.While) -> Any:
        return bare.while_(self.expression(node.test), self._body(node.body), self._or_else(node.orelse))

    def _for(self, node: ast.For | ast.AsyncFor) -> Any:
        asynchronous = bare.asynchronous() if isinstance(node, ast.AsyncFor) else None
        target, items = self.expression(node.target), self.expression(node.iter)
        return bare.for_(target, items, self._body(node.body), self._or_else(node.orelse), asynchronous)

    def _with(self, node: ast.With | ast.AsyncWith) -> Any:
        items = [
            bare.with_item(
                self.expression(each.context_expr),
                None if each.optional_vars is None else bare.as_name(self.expression(each.optional_vars)),
            )
            for each in node.items
        ]
        return bare.with_(
            items, self._body(node.body), bare.asynchronous() if isinstance(node, ast.AsyncWith) else None
        )

    def _try(self, node: Any) -> Any:
        kinds = (cst.TryStar, cst.ExceptStarHandler) if type(node) is not ast.Try else (cst.Try, cst.ExceptHandler)
        handler = bare.maker(kinds[1], "body", "type", "name")
        handlers = [
            handler(
                self._body(each.body),
                self.expression(each.type),
                None if each.name is None else bare.as_name(bare.name(each.name)),
            )
            for each in node.handlers
        ]
        last = bare.finally_(self._body(node.finalbody)) if node.finalbody else None
        return bare.maker(kinds[0], "body", "handlers", "orelse", "finalbody")(
            self._body(node.body), handlers, self._or_else(node.orelse), last
        )

    def _match(self, node: ast.Match) -> Any:
        cases = [
            bare.match_case(self._pattern(each.pattern), self._body(each.body), self.expression(each.guard))
            for each in node.cases
        ]
        return bare.match(self.expression(node.subject), cases)

    def _pattern(self, node: ast.pattern) -> Any:
        if isinstance(node, ast.MatchValue):
            return bare.match_value(self.expression(node.value))
        if isinstance(node, ast.MatchSingleton):
            return bare.match_singleton(bare.name(str(node.value)))
        if isinstance(node, ast.MatchOr):
            return bare.match_or([bare.match_or_element(self._pattern(each)) for each in node.patterns])
        if isinstance(node, ast.MatchAs):
            inner = None if node.pattern is None else self._pattern(node.pattern)
            return bare.match_as(inner, _named(node.name))
        if isinstance(node, ast.MatchSequence):
            return bare.match_list([self._part_of_pattern(each) for each in node.patterns])
        if isinstance(node, ast.MatchMapping):
            pairs = [
                bare.match_pair(self.expression(key), self._pattern(each))
                for key, each in zip(node.keys, node.patterns)
            ]
            return bare.match_mapping(pairs, _named(node.rest))
        if not isinstance(node, ast.MatchClass):
            raise Unsupported(type(node).__name__)
        told = zip(node.kwd_attrs, node.kwd_patterns)
        keywords = [bare.match_keyword(bare.name(name), self._pattern(each)) for name, each in told]
        parts = [bare.match_element(self._pattern(each)) for each in node.patterns]
        return bare.match_class(self.expression(node.cls), parts, keywords)

    def _part_of_pattern(self, node: ast.pattern) -> Any:
        if isinstance(node, ast.MatchStar):
            return bare.match_star(_named(node.name))
        return bare.match_element(self._pattern(node))

    def _assign(self, node: ast.Assign) -> Any:
        targets = [bare.assign_target(self.expression(each)) for each in node.targets]
        return bare.assign(targets, self.expression(node.value))

    def _annotated_assign(self, node: ast.AnnAssign) -> Any:
        annotation = bare.annotation(self.expression(node.annotation))
        return bare.annotated_assign(self.expression(node.target), annotation, self.expression(node.value))

    def _augmented_assign(self, node: ast.AugAssign) -> Any:
        operator = bare.AUGMENTED[type(node.op)]()
        return bare.augmented_assign(self.expression(node.target), operator, self.expression(node.value))

    def _raise(self, node: ast.Raise) -> Any:
        return bare.raise_(
            self.expression(node.exc), None if node.cause is None else bare.from_(self.expression(node.cause))
        )

    def _delete(self, node: ast.Delete) -> Any:
        if len(node.targets) == 1:
            return bare.delete(self.expression(node.targets[0]))
        return bare.delete(
            bare.maker(cst.Tuple, "elements")([bare.element(self.expression(each)) for each in node.targets])
        )

    def _import_from(self, node: ast.ImportFrom) -> Any:
        module = None if node.module is None else _dotted(node.module)
        names = bare.import_star() if node.names[0].name == "*" else _aliases(node.names)
        return bare.import_from(module, names, [bare.dot() for _ in range(node.level or 0)])

    # Expressions

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
            last_comma = bare.comma() if len(parts) == 1 else None
        commas = [*(bare.comma() for _ in parts[1:]), last_comma]
        elements = [bare.subscript_element(self._slice(each), comma) for each, comma in zip(parts, commas)]
        return bare.subscript(self.expression(node.value), elements)

    def _slice(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Slice):
            return bare.slice_(self.expression(node.lower), self.expression(node.upper), self.expression(node.step))
        if isinstance(node, ast.Starred):
            return bare.index(self.expression(node.value), "*")
        return bare.index(self.expression(node), None)

    def _boolean(self, node: ast.BoolOp) -> Any:
        make = bare.OPERATORS[type(node.op)]
        return functools.reduce(
            lambda left, right: bare.boolean(left, make(), right), (self.expression(each) for each in node.values)
        )

    def _comparison(self, node: ast.Compare) -> Any:
        targets = [
            bare.comparison_target(bare.OPERATORS[type(operator)](), self.expression(each))
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


def _named(name: str | None) -> Any:
    return None if name is None else bare.name(name)


def _position(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _constant(_: _Converter, node: ast.Constant) -> Any:
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


def _dotted(name: str) -> Any:
    first, *rest = name.split(".")
    return functools.reduce(lambda left, part: bare.attribute(left, bare.name(part)), rest, bare.name(first))


def _aliases(nodes: Iterable[ast.alias]) -> list[Any]:
    return [
        bare.import_alias(_dotted(each.name), None if each.asname is None else bare.as_name(bare.name(each.asname)))
        for each in nodes
    ]


def _names(kind: type[cst.CSTNode]) -> Callable[[_Converter, Any], Any]:
    make = bare.maker(kind, "names")
    return lambda _, node: make([bare.name_item(bare.name(each)) for each in node.names])


def _bare(kind: type[cst.CSTNode]) -> Callable[[_Converter, Any], Any]:
    make = bare.maker(kind)
    return lambda _, node: make()


def _collection(kind: type[cst.CSTNode]) -> Callable[[_Converter, Any], Any]:
    make = bare.maker(kind, "elements")
    return lambda self, node: make(self._elements(node.elts))


def _comprehension(kind: type[cst.CSTNode]) -> Callable[[_Converter, Any], Any]:
    make = bare.maker(kind, "elt", "for_in")
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
    ast.Match: _Converter._match,
}
if hasattr(ast, "TryStar"):
    _COMPOUND[ast.TryStar] = _Converter._try
_SIMPLE: dict[type[ast.AST], _Convert] = {
    ast.Expr: lambda self, node: bare.expression(self.expression(node.value)),
    ast.Assign: _Converter._assign,
    ast.AnnAssign: _Converter._annotated_assign,
    ast.AugAssign: _Converter._augmented_assign,
    ast.Return: lambda self, node: bare.return_(self.expression(node.value)),
    ast.Raise: _Converter._raise,
    ast.Assert: lambda self, node: bare.assert_(self.expression(node.test), self.expression(node.msg)),
    ast.Delete: _Converter._delete,
    ast.Pass: _bare(cst.Pass),
    ast.Break: _bare(cst.Break),
    ast.Continue: _bare(cst.Continue),
    ast.Global: _names(cst.Global),
    ast.Nonlocal: _names(cst.Nonlocal),
    ast.Import: lambda self, node: bare.import_(_aliases(node.names)),
    ast.ImportFrom: _Converter._import_from,
}
_EXPRESSIONS: dict[type[ast.AST], _Convert] = {
    ast.Name: lambda self, node: bare.name(node.id),
    ast.Constant: _constant,
    ast.Attribute: lambda self, node: bare.attribute(self.expression(node.value), bare.name(node.attr)),
    ast.Call: _Converter._call,
    ast.Subscript: _Converter._subscript,
    ast.BinOp: lambda self, node: bare.binary(
        self.expression(node.left), bare.OPERATORS[type(node.op)](), self.expression(node.right)
    ),
    ast.BoolOp: _Converter._boolean,
    ast.UnaryOp: lambda self, node: bare.unary(bare.OPERATORS[type(node.op)](), self.expression(node.operand)),
    ast.Compare: _Converter._comparison,
    ast.IfExp: lambda self, node: bare.if_expression(
        self.expression(node.test), self.expression(node.body), self.expression(node.orelse)
    ),
    ast.Lambda: lambda self, node: bare.lambda_(self._parameters(node.args), self.expression(node.body)),
    ast.Tuple: _collection(cst.Tuple),
    ast.List: _collection(cst.List),
    ast.Set: _collection(cst.Set),
    ast.Dict: _Converter._dict,
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
    ast.JoinedStr: _Converter._formatted,
}
