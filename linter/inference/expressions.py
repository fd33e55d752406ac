"""Evaluating expressions along one path."""

from __future__ import annotations

import ast
import functools
from typing import Any

import libcst as cst

from stridelint.linter.inference import comparisons, comprehensions, definitions, operators, testing
from stridelint.linter.inference.arguments import evaluate_arguments
from stridelint.linter.inference.attributes import attribute
from stridelint.linter.inference.bare_expressions import PLAIN_TEXT
from stridelint.linter.inference.calls import call, special_form
from stridelint.linter.inference.dispatch import EXPRESSIONS, evaluate
from stridelint.linter.inference.iteration import items_of
from stridelint.linter.inference.objects import Function
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.scopes import Comprehension, Scope
from stridelint.linter.inference.stores import assign
from stridelint.linter.inference.subscripts import evaluate_index, item
from stridelint.linter.inference.values import (
    FALSE,
    NONE,
    TRUE,
    Condition,
    Constant,
    Mapping,
    Sequence,
    TensorValue,
    Unknown,
    Value,
)

_MAX_TEXT = 200
_MAX_IN_TEXT = 10**18


def evaluate_call_statement(path: Path, scope: Scope, node: cst.BaseExpression) -> None:
    """An expression statement: the result of a call is thrown away."""
    if type(node) is cst.Call:
        HANDLERS[cst.Call](path, scope, node, True)
    else:
        evaluate(path, scope, node)


def _name(path: Path, scope: Scope, node: cst.Name) -> Value:
    if node.value in _KEYWORDS:
        return _KEYWORDS[node.value]
    return scope.lookup(path, node.value)


_KEYWORDS = {"None": NONE, "True": TRUE, "False": FALSE}


def _attribute(path: Path, scope: Scope, node: cst.Attribute) -> Value:
    return attribute(path, evaluate(path, scope, node.value), node.attr.value, node)


@functools.lru_cache(maxsize=4096)
def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError):
        return None


def _number(path: Path, scope: Scope, node: cst.Integer | cst.Float | cst.Imaginary) -> Value:
    return Constant(_literal(node.value))


def _string(path: Path, scope: Scope, node: cst.SimpleString) -> Value:
    value = _literal(node.value)
    return Unknown("string") if value is None else Constant(value)


def _joined_string(path: Path, scope: Scope, node: cst.ConcatenatedString) -> Value:
    value = node.evaluated_value
    return Unknown("string") if value is None else Constant(value)


def _elements(path: Path, scope: Scope, nodes: Any) -> list[Value] | None:
    items: list[Value] = []
    for element in nodes:
        value = evaluate(path, scope, element.value)
        if type(element) is cst.StarredElement:
            inner, exhaustive = items_of(path, value)
            if not exhaustive:
                return None
            items += inner
        else:
            items.append(value)
    return items


def _tuple(path: Path, scope: Scope, node: cst.Tuple) -> Value:
    return Sequence(_elements(path, scope, node.elements), "tuple")


def _list(path: Path, scope: Scope, node: cst.List | cst.Set) -> Value:
    return Sequence(_elements(path, scope, node.elements), "list")


def _dict(path: Path, scope: Scope, node: cst.Dict) -> Value:
    result = Mapping()
    for element in node.elements:
        value = evaluate(path, scope, element.value)
        if type(element) is cst.StarredDictElement:
            if isinstance(value, Mapping):
                result.entries.update(value.entries)
                result.open |= value.open
            else:
                result.open = True
            continue
        key = evaluate(path, scope, element.key) if type(element) is cst.DictElement else Unknown()
        known = operators.hashable(key)
        if known is None:
            result.open = True
        else:
            result.entries[known] = value
    return result


def _subscript(path: Path, scope: Scope, node: cst.Subscript) -> Value:
    owner, index = evaluate(path, scope, node.value), evaluate_index(path, scope, node)
    testing.subscripted(path, node.value, index)
    return item(path, owner, index, node)


def _unary(path: Path, scope: Scope, node: cst.UnaryOperation) -> Value:
    if type(node.operator) is cst.Not:
        with testing.narrowed(path, negated=True):
            value = evaluate(path, scope, node.expression)
        return comparisons.negation(path, value)
    return operators.unary(path, node, evaluate(path, scope, node.expression))


def _binary(path: Path, scope: Scope, node: cst.BinaryOperation) -> Value:
    left = evaluate(path, scope, node.left)
    return operators.binary(path, node, left, evaluate(path, scope, node.right))


def _boolean(path: Path, scope: Scope, node: cst.BooleanOperation) -> Value:
    stops = type(node.operator) is cst.Or
    with testing.narrowed(path, compared=stops):
        left = evaluate(path, scope, node.left)
        with path.asking(node.left):
            decided = path.truth(left)
        if decided is stops:
            return (TRUE if stops else FALSE) if isinstance(left, Condition) else left
        return evaluate(path, scope, node.right)


def _comparison(path: Path, scope: Scope, node: cst.Comparison) -> Value:
    with testing.comparing(path, node):
        return _compared(path, scope, node)


def _compared(path: Path, scope: Scope, node: cst.Comparison) -> Value:
    left = evaluate(path, scope, node.left)
    result: Value = TRUE
    for target in node.comparisons:
        right = evaluate(path, scope, target.comparator)
        result = comparisons.compare(path, node, target.operator, left, right)
        if len(node.comparisons) > 1 and not isinstance(result, TensorValue) and not path.truth(result):
            return FALSE
        left = right
    return result


def _if_expression(path: Path, scope: Scope, node: cst.IfExp) -> Value:
    with path.considering(node), testing.narrowed(path, nested=True):
        chosen = node.body if path.truth(evaluate(path, scope, node.test)) else node.orelse
    return evaluate(path, scope, chosen)


def _call(path: Path, scope: Scope, node: cst.Call, discarded: bool = False) -> Value:
    special = special_form(path, scope, node)
    if special is not None:
        return special
    if path.claim is None:
        callee = evaluate(path, scope, node.func)
    else:
        with testing.narrowed(path, nested=True):
            callee = evaluate(path, scope, node.func)
    with testing.arguments_of(path, node, discarded):
        args = evaluate_arguments(path, scope, node)
    path.discarded = node if discarded else None
    try:
        return call(path, node, callee, args)
    finally:
        path.discarded = None


def _lambda(path: Path, scope: Scope, node: cst.Lambda) -> Value:
    made = Function(node, scope)
    made.defaults = definitions.defaults(path, scope, node)
    return made


def _named(path: Path, scope: Scope, node: cst.NamedExpr) -> Value:
    value = evaluate(path, scope, node.value)
    while isinstance(scope, Comprehension) and scope.parent is not None:
        scope = scope.parent
    assign(path, scope, node.target, value, node)
    return value


def _await(path: Path, scope: Scope, node: cst.Await) -> Value:
    return evaluate(path, scope, node.expression)  # an asynchronous function gives its result at once


def _yield(path: Path, scope: Scope, node: cst.Yield) -> Value:
    given = (
        NONE
        if node.value is None
        else evaluate(path, scope, node.value.item if isinstance(node.value, cst.From) else node.value)
    )
    if not path.frames:
        return Unknown("yield")
    frame = path.frames[-1]
    at_yield, frame.at_yield = frame.at_yield, None
    if at_yield is not None:
        at_yield(given)
    elif isinstance(node.value, cst.From):
        items, exhaustive = items_of(path, given)
        frame.yielded += items
        frame.repeats |= not exhaustive
    elif node.value is not None:
        frame.yielded.append(given)
    return Unknown("yield")


def _in_text(value: Any) -> str | None:
    """How a text or an integer stands in formatted text; None for others, and for numbers too long for that."""
    if type(value) is int:
        return str(value) if abs(value) < _MAX_IN_TEXT else None
    return value if type(value) is str else None


def _formatted(path: Path, scope: Scope, node: cst.FormattedString) -> Value:
    text: str | None = ""
    for part in node.parts:
        if isinstance(part, cst.FormattedStringExpression):
            value = evaluate(path, scope, part.expression)
            plain = part.conversion is None and part.format_spec is None and part.equal is None
            known = _in_text(value.value) if plain and isinstance(value, Constant) else None
            text = None if text is None or known is None else f"{text}{known}"
        elif isinstance(part, cst.FormattedStringText):
            text = text + part.value if text is not None and PLAIN_TEXT.fullmatch(part.value) else None
        if text is not None and len(text) > _MAX_TEXT:
            text = None  # no name; and in a loop it may double each time
    return Unknown("text") if text is None else Constant(text)


def _ellipsis(path: Path, scope: Scope, node: cst.Ellipsis) -> Value:
    return Constant(...)


HANDLERS = EXPRESSIONS
HANDLERS |= {
    cst.Name: _name,
    cst.Attribute: _attribute,
    cst.Integer: _number,
    cst.Float: _number,
    cst.Imaginary: _number,
    cst.SimpleString: _string,
    cst.ConcatenatedString: _joined_string,
    cst.FormattedString: _formatted,
    cst.Tuple: _tuple,
    cst.List: _list,
    cst.Set: _list,
    cst.Dict: _dict,
    cst.Subscript: _subscript,
    cst.UnaryOperation: _unary,
    cst.BinaryOperation: _binary,
    cst.BooleanOperation: _boolean,
    cst.Comparison: _comparison,
    cst.IfExp: _if_expression,
    cst.Call: _call,
    cst.Lambda: _lambda,
    cst.ListComp: comprehensions.listed,
    cst.GeneratorExp: comprehensions.listed,
    cst.SetComp: comprehensions.listed,
    cst.DictComp: comprehensions.mapped,
    cst.NamedExpr: _named,
    cst.Await: _await,
    cst.Yield: _yield,
    cst.Ellipsis: _ellipsis,
}
