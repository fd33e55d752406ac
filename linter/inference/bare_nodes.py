"""Makers of LibCST nodes without white space: one for each kind of node that code is made of."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

import libcst as cst

from stridelint.rules.forms.walking import fields_of


class Unsupported(Exception):
    """Syntax that is left to LibCST's own parser."""


def maker(kind: type[cst.CSTNode], *given: str) -> Callable[..., Any]:
    """A function that makes nodes of a kind from the values of these fields; its other fields are None.

    Each field is a slot, which its descriptor sets also in a node that is frozen. Most nodes have one field or two.
    """
    names = (*given, *(name for name in fields_of(kind) if name not in given))
    setters = [getattr(kind, name).__set__ for name in names]
    rest = (None,) * (len(names) - len(given))
    new = object.__new__

    def make(*values: object) -> cst.CSTNode:
        node = new(kind)
        for set_field, value in zip(setters, values + rest):
            set_field(node, value)
        return node

    if rest or len(setters) not in (1, 2):
        return make
    set_first, set_last = setters[0], setters[-1]

    def make_of_one(value: object) -> cst.CSTNode:
        node = new(kind)
        set_first(node, value)
        return node

    def make_of_two(first: object, last: object) -> cst.CSTNode:
        node = new(kind)
        set_first(node, first)
        set_last(node, last)
        return node

    return make_of_one if len(setters) == 1 else make_of_two


name = maker(cst.Name, "value")
integer = maker(cst.Integer, "value")
float = maker(cst.Float, "value")
imaginary = maker(cst.Imaginary, "value")
string = maker(cst.SimpleString, "value")
ellipsis = maker(cst.Ellipsis)
attribute = maker(cst.Attribute, "value", "attr")
call = maker(cst.Call, "func", "args")
arg = maker(cst.Arg, "value", "keyword", "star")
subscript = maker(cst.Subscript, "value", "slice")
subscript_element = maker(cst.SubscriptElement, "slice", "comma")
index = maker(cst.Index, "value", "star")
slice_ = maker(cst.Slice, "lower", "upper", "step")
binary = maker(cst.BinaryOperation, "left", "operator", "right")
boolean = maker(cst.BooleanOperation, "left", "operator", "right")
unary = maker(cst.UnaryOperation, "operator", "expression")
comparison = maker(cst.Comparison, "left", "comparisons")
comparison_target = maker(cst.ComparisonTarget, "operator", "comparator")
if_expression = maker(cst.IfExp, "test", "body", "orelse")
lambda_ = maker(cst.Lambda, "params", "body")
element = maker(cst.Element, "value")
starred_element = maker(cst.StarredElement, "value")
dict_element = maker(cst.DictElement, "key", "value")
starred_dict_element = maker(cst.StarredDictElement, "value")
dict_ = maker(cst.Dict, "elements")
dict_comprehension = maker(cst.DictComp, "key", "value", "for_in")
for_in = maker(cst.CompFor, "target", "iter", "ifs", "inner_for_in", "asynchronous")
comprehension_if = maker(cst.CompIf, "test")
named = maker(cst.NamedExpr, "target", "value")
await_ = maker(cst.Await, "expression")
yield_ = maker(cst.Yield, "value")
from_ = maker(cst.From, "item")
formatted = maker(cst.FormattedString, "parts")
formatted_text = maker(cst.FormattedStringText, "value")
formatted_expression = maker(cst.FormattedStringExpression, "expression", "format_spec", "conversion", "equal")
parameters = maker(cst.Parameters, "params", "star_arg", "kwonly_params", "star_kwarg", "posonly_params")
parameter = maker(cst.Param, "name", "annotation", "default", "star")
star_parameter = maker(cst.ParamStar)
annotation = maker(cst.Annotation, "annotation")
as_name = maker(cst.AsName, "name")
asynchronous = maker(cst.Asynchronous)
COMMA = maker(cst.Comma)()
dot = maker(cst.Dot)

line = maker(cst.SimpleStatementLine, "body")
block = maker(cst.IndentedBlock, "body")
expression = maker(cst.Expr, "value")
assign = maker(cst.Assign, "targets", "value")
assign_target = maker(cst.AssignTarget, "target")
annotated_assign = maker(cst.AnnAssign, "target", "annotation", "value")
augmented_assign = maker(cst.AugAssign, "target", "operator", "value")
return_ = maker(cst.Return, "value")
raise_ = maker(cst.Raise, "exc", "cause")
assert_ = maker(cst.Assert, "test", "msg")
delete = maker(cst.Del, "target")
name_item = maker(cst.NameItem, "name")
import_ = maker(cst.Import, "names")
import_from = maker(cst.ImportFrom, "module", "names", "relative")
import_alias = maker(cst.ImportAlias, "name", "asname")
import_star = maker(cst.ImportStar)
function = maker(cst.FunctionDef, "name", "params", "body", "decorators", "returns", "asynchronous")
class_ = maker(cst.ClassDef, "name", "body", "bases", "keywords", "decorators")
decorator = maker(cst.Decorator, "decorator")
if_ = maker(cst.If, "test", "body", "orelse")
else_ = maker(cst.Else, "body")
while_ = maker(cst.While, "test", "body", "orelse")
for_ = maker(cst.For, "target", "iter", "body", "orelse", "asynchronous")
with_ = maker(cst.With, "items", "body", "asynchronous")
with_item = maker(cst.WithItem, "item", "asname")
finally_ = maker(cst.Finally, "body")
match = maker(cst.Match, "subject", "cases")
match_case = maker(cst.MatchCase, "pattern", "body", "guard")
match_value = maker(cst.MatchValue, "value")
match_singleton = maker(cst.MatchSingleton, "value")
match_or = maker(cst.MatchOr, "patterns")
match_or_element = maker(cst.MatchOrElement, "pattern")
match_as = maker(cst.MatchAs, "pattern", "name")
match_list = maker(cst.MatchList, "patterns")
match_star = maker(cst.MatchStar, "name")
match_element = maker(cst.MatchSequenceElement, "value")
match_pair = maker(cst.MatchMappingElement, "key", "pattern")
match_mapping = maker(cst.MatchMapping, "elements", "rest")
match_class = maker(cst.MatchClass, "cls", "patterns", "kwds")
match_keyword = maker(cst.MatchKeywordElement, "key", "pattern")
module_ = maker(cst.Module, "body")

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


def _by_kind(kinds: Mapping[Any, Any]) -> dict[type[ast.AST], Callable[[], Any]]:
    return {kind: maker(made) for kind, made in kinds.items()}


# Operators, by the kind that the stdlib has for them. One node stands for all of a kind: nothing tells them apart.
OPERATORS: dict[type[ast.AST], Any] = {kind: make() for kind, make in _by_kind({**_BINARY, **_OTHER_OPERATORS}).items()}
OPERATORS[ast.NotEq] = maker(cst.NotEqual, "value")("!=")
AUGMENTED = _by_kind(_AUGMENTED)
