"""Statements and patterns of the stdlib tree as LibCST nodes without white space."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any

import libcst as cst

from stridelint.linter.inference import bare_nodes as bare
from stridelint.linter.inference.bare_expressions import ExpressionConverter
from stridelint.linter.inference.bare_nodes import Unsupported


class StatementConverter(ExpressionConverter):
    """Makes nodes of statements and of the expressions in them. The bodies of functions in `left_out` return an unknown name."""

    def __init__(self, left_out: Container[ast.AST]) -> None:
        super().__init__()
        self._left_out = left_out

    def statements(self, nodes: Iterable[ast.stmt]) -> list[cst.BaseStatement]:
        """The statements of a module or block."""
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


def _named(name: str | None) -> Any:
    return None if name is None else bare.name(name)


def _dotted(name: str) -> Any:
    first, *rest = name.split(".")
    return functools.reduce(lambda left, part: bare.attribute(left, bare.name(part)), rest, bare.name(first))


def _aliases(nodes: Iterable[ast.alias]) -> list[Any]:
    return [
        bare.import_alias(_dotted(each.name), None if each.asname is None else bare.as_name(bare.name(each.asname)))
        for each in nodes
    ]


def _names(kind: type[cst.CSTNode]) -> Callable[[StatementConverter, Any], Any]:
    make = bare.maker(kind, "names")
    return lambda _, node: make([bare.name_item(bare.name(each)) for each in node.names])


def _bare(kind: type[cst.CSTNode]) -> Callable[[StatementConverter, Any], Any]:
    make = bare.maker(kind)
    return lambda _, node: make()


_Convert = Callable[[StatementConverter, Any], Any]
_COMPOUND: dict[type[ast.AST], _Convert] = {
    ast.FunctionDef: StatementConverter._function,
    ast.AsyncFunctionDef: StatementConverter._function,
    ast.ClassDef: StatementConverter._class,
    ast.If: StatementConverter._if,
    ast.While: StatementConverter._while,
    ast.For: StatementConverter._for,
    ast.AsyncFor: StatementConverter._for,
    ast.With: StatementConverter._with,
    ast.AsyncWith: StatementConverter._with,
    ast.Try: StatementConverter._try,
    ast.Match: StatementConverter._match,
}
if hasattr(ast, "TryStar"):
    _COMPOUND[ast.TryStar] = StatementConverter._try
_SIMPLE: dict[type[ast.AST], _Convert] = {
    ast.Expr: lambda self, node: bare.expression(self.expression(node.value)),
    ast.Assign: StatementConverter._assign,
    ast.AnnAssign: StatementConverter._annotated_assign,
    ast.AugAssign: StatementConverter._augmented_assign,
    ast.Return: lambda self, node: bare.return_(self.expression(node.value)),
    ast.Raise: StatementConverter._raise,
    ast.Assert: lambda self, node: bare.assert_(self.expression(node.test), self.expression(node.msg)),
    ast.Delete: StatementConverter._delete,
    ast.Pass: _bare(cst.Pass),
    ast.Break: _bare(cst.Break),
    ast.Continue: _bare(cst.Continue),
    ast.Global: _names(cst.Global),
    ast.Nonlocal: _names(cst.Nonlocal),
    ast.Import: lambda self, node: bare.import_(_aliases(node.names)),
    ast.ImportFrom: StatementConverter._import_from,
}
