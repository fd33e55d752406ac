"""Small questions about expressions of the stdlib tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stridelint.rules.contract.operand_kinds import Demand

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# What torch and numpy are usually called.
_MODULES = frozenset({"torch", "F", "np", "nn", "numpy", "math"})


def parameter_names(arguments: ast.arguments) -> Iterator[str]:
    """Those of a function, but for `*args` and `**kwargs`."""
    for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        yield each.arg


def name_of(node: ast.AST) -> str:
    """The last identifier of a name, attribute or call ("" for anything else)."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    return name_of(node.func) if isinstance(node, ast.Call) else ""


def of_torch(node: ast.expr) -> bool:
    """Whether it is looked up in a module of torch or numpy, by the usual names."""
    return root_of(node) in _MODULES


def root_of(node: ast.expr) -> str:
    """The first name in `torch.nn.functional`; "" for what does not begin with a name."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def beginning_of(node: ast.expr) -> str:
    """The first name in `a.b[c](d)`, through calls and subscripts; "" for what does not begin with a name."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def is_text(node: ast.expr) -> bool:
    """A string literal."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def arguments_of(call: ast.Call) -> Iterator[ast.expr]:
    """The values passed to a call."""
    for each in call.args:
        yield each.value if isinstance(each, ast.Starred) else each
    for keyword in call.keywords:
        yield keyword.value


# Fields that hold no nodes, or only such as tell nothing.
_LEAVES = frozenset(
    """ctx op ops arg name names asname module level rest kwd_attrs id attr type_comment kind simple conversion is_async
    type_ignores str""".split()
)


# What was found so far; these hold no node, and nodes that `_LEAVES` would leave out.
_fields: dict[type[ast.AST], tuple[str, ...]] = {
    ast.MatchSingleton: (),
    ast.Import: ("names",),
    ast.ImportFrom: ("names",),
}


def fields_of(kind: type[ast.AST]) -> tuple[str, ...]:
    """The fields of a kind of node that may hold nodes."""
    found = _fields.get(kind)
    if found is None:
        found = _fields[kind] = tuple(field for field in kind._fields if field not in _LEAVES)
    return found


def expressions_in(node: ast.AST) -> list[ast.expr]:
    """The expressions directly below a node."""
    found: list[ast.expr] = []
    for field in fields_of(type(node)):
        value = getattr(node, field, None)
        for child in value if type(value) is list else (value,):
            if isinstance(child, ast.expr):
                found.append(child)
            elif isinstance(child, (ast.comprehension, ast.keyword)):
                found += expressions_in(child)
    return found


def integer_of(node: ast.expr) -> int | None:
    """The value of an integer literal, which may be negative."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = integer_of(node.operand)
        return None if inner is None else -inner
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int) else None


def is_of_axes(index: ast.expr) -> bool:
    """`x[:, i]`: only tensors and arrays have such parts, and what is stored there changes neither their dtype nor their layout."""
    return isinstance(index, ast.Tuple) and any(
        isinstance(each, ast.Slice) or (isinstance(each, ast.Constant) and each.value is ...) for each in index.elts
    )


def part_of(value: ast.expr, index: int) -> ast.expr:
    """One part of what a function returns."""
    if isinstance(value, ast.Tuple) and not any(isinstance(each, ast.Starred) for each in value.elts[: index + 1]):
        return value.elts[index] if index < len(value.elts) else ast.Constant(None)
    return ast.Subscript(value, ast.Constant(index))


def item_of(value: ast.expr, index: int) -> ast.expr:
    """One of the things that a call gives: `values` in `values, indices = x.max(1)`."""
    return ast.Subscript(value, ast.Constant(index)) if isinstance(value, ast.Call) else value


def captured(pattern: ast.pattern, subject: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """The names that a pattern binds, each with the subject, or the attribute of it, that it stands for, or a part of."""
    waiting: list[tuple[ast.AST, ast.expr]] = [(pattern, subject)]
    while waiting:
        node, value = waiting.pop()
        for name in (getattr(node, "name", None), getattr(node, "rest", None)):
            if isinstance(name, str):
                yield name, value
        named = zip(getattr(node, "kwd_attrs", ()), getattr(node, "kwd_patterns", ()))
        attributes: dict[int, ast.expr] = {id(part): ast.Attribute(value, name) for name, part in named}
        waiting += [(part, attributes.get(id(part), value)) for part in ast.iter_child_nodes(node)]


def operands_of(call: ast.Call, demand: Demand) -> list[ast.expr]:
    """What is passed where torch takes one kind of dtype only: the mask of `x.masked_fill(mask, 0)`."""
    position = demand.position - (not of_torch(call.func))
    given = [keyword.value for keyword in call.keywords if keyword.arg == demand.name]
    return given or call.args[position : position + 1]
