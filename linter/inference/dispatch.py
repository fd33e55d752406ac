"""Reading code along a path: an expression is evaluated, a statement executed, by the handler of its kind of node.

`expressions` and `statements` enter the handlers, `calls` those of calls. What these call, and what meets code again (a function's
body, a default, what fills a container), asks here and so needs to import none of them.

On the way from node to node the kind of one is asked as `type(node) is ...`: LibCST's classes are abstract, so an `isinstance`
that answers no runs Python code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import libcst as cst

from stridelint.linter.inference.values import Unknown, Value

if TYPE_CHECKING:
    from stridelint.linter.inference.objects import Arguments, Function
    from stridelint.linter.inference.path import Path
    from stridelint.linter.inference.scopes import Scope

# The handler of a call takes one more argument: whether its result is thrown away. `observing` wraps these.
EXPRESSIONS: dict[type[cst.CSTNode], Callable[..., Value]] = {}
STATEMENTS: dict[type[cst.CSTNode], Callable[[Path, Scope, Any], None]] = {}
CALLS: dict[str, Callable[[Path, Any, Any, Arguments], Value]] = {}


def evaluate(path: Path, scope: Scope, node: cst.CSTNode) -> Value:
    """The value of an expression."""
    path.step()
    handler = EXPRESSIONS.get(type(node))
    return handler(path, scope, node) if handler is not None else Unknown(type(node).__name__)


def evaluate_discarded(path: Path, scope: Scope, node: cst.BaseExpression, statement: cst.CSTNode) -> Value:
    """What a pure helper returns to a call statement that throws it away: a method of one of its parameters."""
    function = path.frames[-1].function.node
    names = {param.name.value for param in (*function.params.posonly_params, *function.params.params)}
    if not (
        isinstance(node, cst.Call)
        and isinstance(node.func, cst.Attribute)
        and isinstance(node.func.value, cst.Name)
        and node.func.value.value in names
    ):
        return evaluate(path, scope, node)
    previous, path.discard_site = path.discard_site, statement
    try:
        return EXPRESSIONS[cst.Call](path, scope, node, True)
    finally:
        path.discard_site = previous


def execute(
    path: Path, scope: Scope, body: Sequence[cst.BaseStatement | cst.BaseSmallStatement] | cst.BaseSuite
) -> None:
    """Run the statements of a block."""
    statements: Iterable[cst.CSTNode] = body if isinstance(body, (list, tuple)) else body.body  # type: ignore[union-attr]
    for statement in statements:
        if type(statement) is cst.SimpleStatementLine:
            for small in statement.body:
                execute_small(path, scope, small)
        else:
            execute_small(path, scope, statement)


def execute_small(path: Path, scope: Scope, statement: cst.CSTNode) -> None:
    """Run one statement, small or compound."""
    path.step()
    handler = STATEMENTS.get(type(statement))
    if handler is not None:
        handler(path, scope, statement)


def call_value(path: Path, node: cst.Call, callee: Value, args: Arguments) -> Value:
    """The result of calling whatever it is."""
    return CALLS["value"](path, node, callee, args)


def call_function(path: Path, node: cst.CSTNode | None, function: Function, args: Arguments) -> Value:
    """Run a function of the file with these arguments."""
    return CALLS["function"](path, node, function, args)
