"""Which modules can hold findings of the layout rules."""

from __future__ import annotations

import ast
import functools

from stridelint.rules.screening import Flow, name_of, nodes_of

_CHANGERS = frozenset(
    """T mT H mH transpose permute t swapaxes swapdims movedim moveaxis expand expand_as broadcast_to unfold narrow select diagonal chunk
    split tensor_split split_with_sizes unbind as_strided real imag view_as_real empty_strided einsum flip fliplr rot90 adjoint""".split()
)
_CLEAN = frozenset({"contiguous", "zeros", "ones", "empty", "rand", "randn", "randint", "arange", "linspace", "eye", "full", "tensor", "size", "len"})
_COPYING_WORDS = frozenset({"flatten", "reshape", "ravel", "reshape_as"})


class Strided(Flow):
    """Follows tensors that may not be row-major."""

    def starts(self, node: ast.expr, unit: str) -> bool | None:
        """Views that move or cut axes start it, `.contiguous()` and factories end it."""
        if isinstance(node, ast.Constant):
            return False
        if isinstance(node, ast.Attribute):
            return True if node.attr in _CHANGERS else False if node.attr in ("shape", "dtype", "device", "ndim") else None
        if isinstance(node, ast.Call):
            name = name_of(node.func)
            if any(keyword.arg == "memory_format" for keyword in node.keywords):
                return True
            if name in _CHANGERS:
                return True
            return False if name in _CLEAN else None
        if isinstance(node, ast.Subscript):
            return True if _cuts(node.slice) else self.holds(node.value, unit)
        return None


def _cuts(index: ast.expr) -> bool:
    """An index that may leave gaps: anything but whole numbers and plain slices of the first axis."""
    if isinstance(index, ast.Tuple):
        return any(not (isinstance(each, ast.Constant) and each.value in (None, ...)) for each in index.elts)
    return isinstance(index, ast.Slice) and index.step is not None


@functools.lru_cache(maxsize=1)
def views_of_strided(tree: ast.Module) -> bool:
    """Whether `view` may be called on a tensor that is not row-major, or channels_last be merged away."""
    nodes = nodes_of(tree)
    views = [(call, unit) for call, unit in nodes.calls if name_of(call.func) in ("view", "view_as", "view_as_complex")]
    if "channels_last" in nodes.names and (views or any(name_of(call.func) in _COPYING_WORDS for call, _ in nodes.calls)):
        return True
    if not views:
        return False
    flow = Strided(nodes)
    return any(flow.holds(_receiver(call), unit) for call, unit in views)


def _receiver(call: ast.Call) -> ast.expr:
    if name_of(call.func) != "view_as_complex" and isinstance(call.func, ast.Attribute):
        return call.func.value
    return call.args[0] if call.args else call


def discards(tree: ast.Module, methods: frozenset[str]) -> bool:
    """Whether a call of one of the methods stands as a statement, itself or behind a helper that only returns it."""
    nodes = nodes_of(tree)
    calls = {name_of(value) for value, _ in nodes.statements if isinstance(value, ast.Call)}
    if calls & methods:
        return True
    return any(_only_returns(function, methods) and function.name in calls for function, _ in nodes.functions)


def _only_returns(function: ast.FunctionDef | ast.AsyncFunctionDef, methods: frozenset[str]) -> bool:
    returned = [each.value for each in ast.walk(function) if isinstance(each, ast.Return)]
    return any(isinstance(value, ast.Call) and name_of(value) in methods for value in returned)


def mixes_formats(tree: ast.Module) -> bool:
    """Whether something may be channels_last: converted to it, or permuted from NHWC."""
    nodes = nodes_of(tree)
    if "channels_last" in nodes.names or "channels_last_3d" in nodes.names:
        return True
    return any(_is_nhwc_permutation(call) for call, _ in nodes.calls if name_of(call.func) in ("permute", "movedim", "moveaxis"))


def _is_nhwc_permutation(call: ast.Call) -> bool:
    """`permute(0, 3, 1, 2)`, or one whose numbers are not written out."""
    name = name_of(call.func)
    values = call.args
    if len(values) in (1, 2) and isinstance(values[-1], (ast.Tuple, ast.List)):
        values = values[-1].elts
    numbers = [each.value if isinstance(each, ast.Constant) else -each.operand.value if _is_negative(each) else None for each in values]  # type: ignore[attr-defined]
    if None in numbers or not numbers or call.keywords:
        return True
    if name != "permute":
        return numbers[-2:] in ([-1, 1], [3, 1], [4, 1])
    rank = len(numbers)
    return rank in (4, 5) and [number % rank for number in numbers] == [0, rank - 1, *range(1, rank - 1)]


def _is_negative(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant)
