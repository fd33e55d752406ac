"""What Python evaluates where it comes to a `def`, `lambda` or `class`: arguments of decorators, defaults, and the class's body."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from stridelint.linter.inference.arguments import evaluate_arguments
from stridelint.linter.inference.attributes import ClassBody
from stridelint.linter.inference.dispatch import evaluate, execute_small
from stridelint.linter.inference.objects import Class
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.scopes import Scope
from stridelint.linter.inference.values import Value


def parameters_of(node: cst.FunctionDef | cst.Lambda) -> Iterator[cst.Param]:
    """The parameters of a function that may have defaults."""
    params = node.params
    yield from (*params.posonly_params, *params.params, *params.kwonly_params)


def defaults(path: Path, scope: Scope, node: cst.FunctionDef | cst.Lambda) -> dict[str, Value]:
    """The defaults of a function's parameters, by name."""
    return {
        param.name.value: evaluate(path, scope, param.default)
        for param in parameters_of(node)
        if param.default is not None
    }


def of_function(path: Path, scope: Scope, node: cst.FunctionDef) -> dict[str, Value]:
    """Evaluate the arguments of a function's decorators, then its defaults, which it gives."""
    _decorators(path, scope, node)
    return defaults(path, scope, node)


def of_class(path: Path, scope: Scope, cls: Class) -> None:
    """Evaluate the arguments of a class's decorators, the keywords behind its bases, and the statements of its body."""
    _decorators(path, scope, cls.node)
    for keyword in cls.node.keywords:
        evaluate(path, scope, keyword.value)
    inner = ClassBody(cls)
    for statement in cls.node.body.body:
        if isinstance(statement, cst.SimpleStatementLine):
            for small in statement.body:
                if isinstance(small, (cst.Assign, cst.AnnAssign, cst.Expr)):
                    execute_small(path, inner, small)
        elif isinstance(statement, cst.FunctionDef):
            of_function(path, inner, statement)
        elif isinstance(statement, cst.BaseCompoundStatement) and not isinstance(statement, cst.ClassDef):
            execute_small(path, inner, statement)


def _decorators(path: Path, scope: Scope, node: cst.FunctionDef | cst.ClassDef) -> None:

    for decorator in node.decorators:
        if isinstance(decorator.decorator, cst.Call):
            evaluate_arguments(path, scope, decorator.decorator)


def expressions_of(node: cst.FunctionDef) -> Iterator[cst.CSTNode]:
    """What `of_function` evaluates."""
    for decorator in node.decorators:
        if isinstance(decorator.decorator, cst.Call):
            yield from decorator.decorator.args
    for param in parameters_of(node):
        if param.default is not None:
            yield param.default
