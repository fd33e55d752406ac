"""Custom operators whose fake kernel promises other strides than the real one returns, found by their form.

Imports LibCST, so rules import this module only when they judge a file.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from stridelint.rules.forms.walking import below

# Methods and functions of torch whose result has the strides of their (first) tensor.
ELEMENTWISE = frozenset(
    """abs acos asin atan ceil clamp clamp_max clamp_min clip clone cos cosh double empty_like erf exp expm1 float floor frac gelu
    hardtanh half leaky_relu log log1p log2 mul neg pow reciprocal relu round rsqrt sigmoid sign silu sin sinh softplus sqrt square sub
    add div tan tanh to trunc zeros_like ones_like full_like rand_like elu mish hardswish nan_to_num where""".split()
)
ROW_MAJOR = frozenset({"new_empty", "new_zeros", "empty", "zeros"})
LIKE = frozenset({"empty_like", "zeros_like", "clone"})


def mismatches(module: cst.Module) -> Iterator[tuple[cst.CSTNode, str]]:
    """What a fake kernel returns, and what is wrong about it."""
    functions = [each for each in below(module) if isinstance(each, cst.FunctionDef)]
    real = {key: each for each in functions for key in _registered(each, "custom_op")}
    for fake in functions:
        for key in (*_registered(fake, "register_fake"), *_registered(fake, "impl_abstract")):
            if key in real and real[key] is not fake:
                yield from _compared(module, real[key], fake)


def _registered(function: cst.FunctionDef, how: str) -> Iterator[str]:
    """By which names a decorator makes a function known: its own, and that of the operator."""
    for each in function.decorators:
        call = each.decorator
        name = call.func if isinstance(call, cst.Call) else call
        if not isinstance(name, cst.Attribute) and not isinstance(name, cst.Name):
            continue
        last = name.attr.value if isinstance(name, cst.Attribute) else name.value
        if last != how:
            continue
        if how == "custom_op":
            yield function.name.value
        elif isinstance(name, cst.Attribute) and isinstance(name.value, cst.Name) and name.value.value != "library":
            yield name.value.value
        if isinstance(call, cst.Call) and call.args and isinstance(call.args[0].value, cst.SimpleString):
            yield str(call.args[0].value.evaluated_value)


def _compared(module: cst.Module, real: cst.FunctionDef, fake: cst.FunctionDef) -> Iterator[tuple[cst.CSTNode, str]]:
    outcome, promise = _returned(real), _returned(fake)
    if isinstance(promise, cst.Name):
        promise = _assigned(fake).get(promise.value)
    first = real.params.params[0].name.value if real.params.params else ""
    own = fake.params.params[0].name.value if fake.params.params else ""
    if outcome is None or promise is None or not first:
        return
    if _keeps(outcome, first, _assigned(real)) and _is_row_major(promise, own):
        yield (
            promise,
            f"the fake kernel's '{_text(module, promise)}' is row-major, but '{real.name.value}' returns the strides of '{first}'; use torch.empty_like({own})",
        )
    elif _ends_contiguous(outcome) and _is_like(promise):
        yield (
            promise,
            f"the fake kernel's '{_text(module, promise)}' has the strides of '{own}', but '{real.name.value}' returns a row-major tensor",
        )


def _text(module: cst.Module, node: cst.CSTNode) -> str:
    return module.code_for_node(node).strip()


def _returned(function: cst.FunctionDef) -> cst.BaseExpression | None:
    """What a function returns, where there is one `return`."""
    found = [each for each in below(function.body) if isinstance(each, cst.Return)]
    return found[0].value if len(found) == 1 else None


def _assigned(function: cst.FunctionDef) -> dict[str, cst.BaseExpression]:
    """Names assigned once."""
    values: dict[str, list[cst.BaseExpression]] = {}
    for each in below(function.body):
        if isinstance(each, cst.Assign) and isinstance(each.targets[0].target, cst.Name):
            values.setdefault(each.targets[0].target.value, []).append(each.value)
    return {name: found[0] for name, found in values.items() if len(found) == 1}


def _keeps(node: cst.BaseExpression, name: str, values: dict[str, cst.BaseExpression], depth: int = 0) -> bool:
    """An elementwise expression whose first operand is the tensor."""
    if isinstance(node, cst.Name):
        return (node.value == name and depth > 0) or (
            node.value in values and depth < 8 and _keeps(values[node.value], name, values, depth + 1)
        )
    if isinstance(node, cst.BinaryOperation):
        sides = [side for side in (node.left, node.right) if not isinstance(side, (cst.Integer, cst.Float))]
        return (
            not isinstance(node.operator, cst.MatrixMultiply) and _keeps(sides[0], name, values, depth + 1)
            if sides
            else False
        )
    if isinstance(node, cst.Comparison):
        return _keeps(node.left, name, values, depth + 1)
    if isinstance(node, cst.UnaryOperation):
        return _keeps(node.expression, name, values, depth + 1)
    if (
        not isinstance(node, cst.Call)
        or not isinstance(node.func, cst.Attribute)
        or node.func.attr.value not in ELEMENTWISE
    ):
        return False
    if any(arg.keyword is not None and arg.keyword.value == "memory_format" for arg in node.args):
        return False
    owner = node.func.value
    is_function = isinstance(owner, cst.Name) and owner.value in ("torch", "F") or isinstance(owner, cst.Attribute)
    target = node.args[0].value if is_function and node.args else owner
    return _keeps(target, name, values, depth + 1)


def _is_row_major(node: cst.BaseExpression, name: str) -> bool:
    """`x.new_empty(x.shape)`, `torch.empty(x.size(), ...)`."""
    if (
        not isinstance(node, cst.Call)
        or not isinstance(node.func, cst.Attribute)
        or node.func.attr.value not in ROW_MAJOR
        or not node.args
    ):
        return False
    shape = node.args[0].value
    asked = shape.func if isinstance(shape, cst.Call) and not shape.args else shape
    plain = (
        isinstance(asked, cst.Attribute)
        and asked.attr.value in ("shape", "size")
        and isinstance(asked.value, cst.Name)
        and asked.value.value == name
    )
    return plain and not any(arg.keyword is not None and arg.keyword.value == "memory_format" for arg in node.args)


def _is_like(node: cst.BaseExpression) -> bool:
    return (
        isinstance(node, cst.Call)
        and isinstance(node.func, cst.Attribute)
        and node.func.attr.value in LIKE
        and len(node.args) <= 1
    )


def _ends_contiguous(node: cst.BaseExpression) -> bool:
    return (
        isinstance(node, cst.Call)
        and not node.args
        and isinstance(node.func, cst.Attribute)
        and node.func.attr.value == "contiguous"
    )
