"""Which modules can change a tensor of too low a kind in place: `+=` is everywhere, mostly on numbers and float tensors.

By name, regardless of order and scope, this follows bool, integer and complex tensors from the calls that make them,
through what is computed from them, into the parameters of the module's own functions.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeGuard

if TYPE_CHECKING:
    from stridelint.rules.screening import Nodes

_COMPLEX = frozenset(
    """complex complex32 complex64 complex128 cfloat cdouble chalf polar view_as_complex rfft rfft2 rfftn fft fft2 fftn
    ifft ifft2 ifftn ihfft ihfft2 ihfftn stft eig eigvals""".split()
)
# Dtypes, and calls that make a tensor of bool or integer dtype whatever they are given.
_LOW = frozenset(
    """int8 int16 int32 int64 uint8 uint16 uint32 uint64 short int long byte char bool IntTensor LongTensor ByteTensor
    BoolTensor ShortTensor CharTensor arange randint randint_like randperm integers permutation argmax argmin argsort
    argwhere nonzero nonzero_static searchsorted bucketize bincount unique unravel_index one_hot tril_indices triu_indices
    topk kthvalue cummax cummin multinomial count_nonzero matrix_rank isin isnan isinf isfinite isclose isneginf isposinf
    isreal signbit eq ne lt le gt ge less greater less_equal greater_equal not_equal logical_and logical_or logical_xor
    logical_not bitwise_not from_numpy max min sort median mode frexp all any""".split()
)
_FLOATS = frozenset({"float16", "float32", "float64", "bfloat16", "half", "float", "double", "get_default_dtype"})
_FLOAT_RESULTS = _FLOATS | frozenset(
    """mean std var softmax log_softmax softplus exp log log2 log10 sqrt rsqrt sin cos tan tanh sigmoid norm div true_divide
    rand randn rand_like randn_like linspace logspace embedding cross_entropy linear item tolist numpy len size numel dim
    isinstance cdist erf""".split()
)
_DEFAULT_FLOAT = frozenset({"zeros", "ones", "empty", "eye", "normal", "range"})
_FROM_DATA = frozenset({"tensor", "as_tensor", "asarray", "array", "scalar_tensor", "full", "new_tensor", "new_full"})
_SAME_TENSOR = frozenset({"T", "mT", "data", "values", "indices", "real"})
_IDENTITY = (ast.Is, ast.IsNot, ast.In, ast.NotIn)
_DISPLAYS = (ast.List, ast.Tuple, ast.Set, ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.Dict, ast.DictComp)


_BINDING = frozenset(
    {ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr, ast.For, ast.AsyncFor, ast.comprehension, ast.withitem}
    | {ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Compare}
)


def changes_low(nodes: Nodes, methods: frozenset[str]) -> frozenset[str]:
    """Where one of the in-place `methods`, or an augmented assignment, may meet a tensor of too low a kind."""
    augmented = [
        (node, unit)
        for node, unit in nodes.bindings
        if isinstance(node, ast.AugAssign) and not isinstance(node.value, _DISPLAYS)
    ]
    calls = [(call, unit) for call, unit in nodes.calls if _name(call.func) in methods]
    if not augmented and not calls:
        return frozenset()
    flow = flow_of(nodes.tree)
    found = {unit for node, unit in augmented if flow.is_low(node.target) or flow.is_complex(node.value)}
    for call, unit in calls:
        receiver = call.func.value if isinstance(call.func, ast.Attribute) else call
        if flow.is_low(receiver) or flow.is_complex(call):
            found.add(unit)
    return frozenset(found)


STORING = frozenset("copy_ fill_ masked_fill masked_fill_ index_fill index_fill_ scatter scatter_ full full_like new_full".split())
_WHOLE = frozenset("len int argmax argmin arange randint randperm numel round floor ceil long bool size".split())


def stores_into_low(nodes: Nodes) -> frozenset[str]:
    """Where something that need not be a whole number may be stored into a bool or integer tensor, or a complex one into a real one."""
    stores: list[tuple[ast.expr, ast.expr | None, str]] = []
    for node, unit in nodes.bindings:
        if isinstance(node, ast.Assign):
            stores += [(each.value, node.value, unit) for each in node.targets if _is_store(each)]
    for call, unit in nodes.calls:
        if _name(call.func) in STORING and isinstance(call.func, ast.Attribute):
            value = call.args[-1] if call.args else None
            receiver = call if call.func.attr in ("full", "full_like") else call.func.value
            stores.append((receiver, value, unit))
    stores = [(target, value, unit) for target, value, unit in stores if value is None or not _is_surely_whole(value)]
    if not stores:
        return frozenset()
    flow = flow_of(nodes.tree)
    return frozenset(
        unit for target, value, unit in stores if flow.is_low(target) or (value is not None and flow.is_complex(value))
    )


def _is_store(target: ast.expr) -> TypeGuard[ast.Subscript]:
    """`x[i] = ...`, but not that of a dict's text key."""
    if not isinstance(target, ast.Subscript):
        return False
    return not (isinstance(target.slice, ast.Constant) and isinstance(target.slice.value, str))


def _is_surely_whole(node: ast.expr) -> bool:
    """Values that a store into an integer tensor keeps."""
    if isinstance(node, ast.Constant):
        return node.value in (0, 1, None) or isinstance(node.value, str)
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not)
    if isinstance(node, ast.Call):
        return _name(node.func) in _WHOLE and not any(keyword.arg == "dtype" for keyword in node.keywords)
    return isinstance(node, (ast.Compare, ast.List, ast.Tuple, ast.Dict, ast.JoinedStr))


@functools.lru_cache(maxsize=1)
def flow_of(tree: ast.Module) -> _Flow:
    """Where tensors of a low kind may get to in a module; asked by several rules in a row."""
    return _Flow(_Nodes(tree))


class _Nodes:
    """The nodes of a module that matter here, from one walk; `returned` are the results of functions by name."""

    def __init__(self, tree: ast.Module) -> None:
        self.augmented: list[ast.AugAssign] = []
        self.calls: list[ast.Call] = []
        self.others: list[ast.AST] = []
        self.returned: list[tuple[str, ast.expr]] = []
        self.has_complex = False
        waiting: list[tuple[ast.AST, str]] = [(tree, "")]
        while waiting:
            node, function = waiting.pop()
            kind = type(node)
            if kind in (ast.FunctionDef, ast.AsyncFunctionDef):
                function = node.name  # type: ignore[attr-defined]
            if kind is ast.Call:
                self.calls.append(node)  # type: ignore[arg-type]
            elif kind in _BINDING:
                self.others.append(node)
                if kind is ast.AugAssign:
                    self.augmented.append(node)  # type: ignore[arg-type]
            elif kind in (ast.Return, ast.Yield) and node.value is not None:  # type: ignore[attr-defined]
                self.returned.append((function, node.value))  # type: ignore[attr-defined]
            elif not self.has_complex:
                self.has_complex = _name(node) in _COMPLEX or (kind is ast.Constant and type(node.value) is complex)  # type: ignore[attr-defined]
            if kind not in (ast.Name, ast.Constant, ast.alias):
                waiting.extend((child, function) for child in ast.iter_child_nodes(node))


class _Flow:
    """Identifiers (of names and attributes alike) that such tensors may get to."""

    def __init__(self, nodes: _Nodes) -> None:
        self.low: set[str] = set()
        self.complex: set[str] = set()
        self._values: list[tuple[str, ast.expr]] = nodes.returned
        self._functions: dict[str, list[ast.arguments]] = {}
        self._modules = {"torch", "F", "np", "nn", "numpy"}
        self._has_complex = nodes.has_complex
        for node in nodes.others:
            self._assigned(node)
        for call in nodes.calls:
            self._passed(call)
        _settle(self._values, self.low, self.is_low)
        if self._has_complex:
            _settle(self._values, self.complex, self.is_complex)

    def _bind(self, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            parts = (
                value.elts if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts) else None
            )
            for index, each in enumerate(target.elts):
                self._bind(each, value if parts is None else parts[index])
            return
        while isinstance(target, (ast.Subscript, ast.Starred)):
            target = target.value
        if value is not None and (name := _name(target)):
            self._values.append((name, value))

    def _assigned(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._bind(target, node.value)
        elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)):
            self._bind(node.target, node.value)
        elif isinstance(node, ast.AugAssign):
            # A number grows into a tensor by what is added to it.
            self._bind(node.target, node.value)
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
            self._bind(node.target, node.iter)
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            self._bind(node.optional_vars, node.context_expr)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            self._functions.setdefault(node.name, []).append(node.args)
            parameters = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
            self._values += [
                (each.arg, value) for each in parameters for value in (each.annotation, *node.decorator_list) if value
            ]
            positional = (*node.args.posonlyargs, *node.args.args)
            defaults: list[tuple[ast.arg, ast.expr | None]] = [
                *zip(reversed(positional), reversed(node.args.defaults), strict=False),
                *zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True),
            ]
            self._values += [(each.arg, value) for each, value in defaults if value is not None]
        elif isinstance(node, ast.ClassDef):
            inits = [each.args for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"]
            fields = [ast.arg(_name(each.target)) for each in node.body if isinstance(each, ast.AnnAssign)]
            self._functions.setdefault(node.name, []).extend(
                inits or [ast.arguments([], fields, None, [], [], None, [])]
            )
        elif isinstance(node, ast.Compare) and any(_name(each) == "dtype" for each in (node.left, *node.comparators)):
            for side in (node.left, *node.comparators):
                if isinstance(side, ast.Attribute) and side.attr == "dtype":
                    self._values += [
                        (_name(side.value), other) for other in (node.left, *node.comparators) if other is not side
                    ]

    def _passed(self, call: ast.Call) -> None:
        """What gets into parameters, and under a name given as text (`register_buffer("votes", ...)`)."""
        name = _name(call.func)
        known = self._functions.get(name)
        if known is None and not self._of_module(call.func):
            known = [each for kind in ("forward", "__call__") for each in self._functions.get(kind, [])]
        for arguments in known or []:
            parameters = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
            if parameters[:1] in (["self"], ["cls"]):
                del parameters[0]
            for index, value in enumerate(call.args):
                starred = isinstance(value, ast.Starred)
                self._values += [
                    (each, value) for each in (parameters[index:] if starred else parameters[index : index + 1])
                ]
        if known:
            self._values += [(each.arg, each.value) for each in call.keywords if each.arg]
        if call.args and isinstance(call.args[0], ast.Constant) and isinstance(call.args[0].value, str):
            self._values += [(call.args[0].value, value) for value in call.args[1:]]

    def _of_module(self, node: ast.expr) -> bool:
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and node.id in self._modules

    def is_low(self, node: ast.expr) -> bool:
        """Whether an expression may be a tensor (or hold tensors) of bool or integer dtype."""
        if isinstance(node, ast.Name):
            return node.id in self.low or node.id in ("LongTensor", "IntTensor", "BoolTensor", "ByteTensor")
        if isinstance(node, ast.Attribute):
            return node.attr in self.low or node.attr in _LOW or (node.attr in _SAME_TENSOR and self.is_low(node.value))
        if isinstance(node, (ast.Subscript, ast.Starred, ast.Await)):
            return self.is_low(node.value)
        if isinstance(node, ast.Call):
            return self._call_is_low(node)
        if isinstance(node, ast.BinOp):
            if isinstance(node.op, ast.Div):
                return False
            left, right = self.is_low(node.left), self.is_low(node.right)
            return (left and (right or _is_integer(node.right))) or (right and _is_integer(node.left))
        if isinstance(node, ast.UnaryOp):
            return self.is_low(node.operand)
        if isinstance(node, ast.Compare):
            return not any(isinstance(operator, _IDENTITY) for operator in node.ops)
        return any(self.is_low(each) for each in _parts(node))

    def _call_is_low(self, call: ast.Call) -> bool:
        name = _name(call.func)
        given = (*call.args, *(keyword.value for keyword in call.keywords))
        dtypes = {_name(each) for each in given} | {
            each.value for each in given if isinstance(each, ast.Constant) and isinstance(each.value, str)
        }
        if dtypes & _FLOATS or name in _FLOAT_RESULTS:
            return False
        if dtypes & _LOW or (name in _LOW and isinstance(call.func, ast.Attribute)):
            return True
        if name in self._functions:
            return name in self.low
        if any(keyword.arg == "dtype" for keyword in call.keywords):
            return any(self.is_low(keyword.value) for keyword in call.keywords if keyword.arg == "dtype")
        if name in _DEFAULT_FLOAT:
            return False
        if name in _FROM_DATA:
            return not any(isinstance(each, ast.Constant) and isinstance(each.value, float) for each in ast.walk(call))
        if isinstance(call.func, ast.Attribute) and not self._of_module(call.func):
            return self.is_low(call.func.value)
        return any(self.is_low(each) for each in given)

    def is_complex(self, node: ast.expr) -> bool:
        """Whether an expression may be a complex tensor or number."""
        if not self._has_complex:
            return False
        name = _name(node)
        if name:
            return (
                name in self.complex
                or name in _COMPLEX
                or (isinstance(node, ast.Attribute) and self.is_complex(node.value))
            )
        if isinstance(node, ast.Constant):
            return isinstance(node.value, complex)
        children = [each.value if isinstance(each, ast.keyword) else each for each in ast.iter_child_nodes(node)]
        return any(self.is_complex(each) for each in children if isinstance(each, ast.expr))


def _settle(values: list[tuple[str, ast.expr]], found: set[str], holds: Callable[[ast.expr], bool]) -> None:
    """Add the names of all values for which `holds` is true, which may depend on `found`."""
    rest = values
    while True:
        known, later = len(found), []
        for name, value in rest:
            if name not in found:
                if holds(value):
                    found.add(name)
                elif not isinstance(value, ast.Constant):
                    later.append((name, value))
        if known == len(found):
            return
        rest = later


def _parts(node: ast.expr) -> list[ast.expr]:
    """Of what the value may be one, or hold some."""
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        return node.elts
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
        return [node.elt]
    if isinstance(node, ast.Dict):
        return node.values
    if isinstance(node, ast.DictComp):
        return [node.value]
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    return node.values if isinstance(node, ast.BoolOp) else []


def _is_integer(node: ast.expr) -> bool:
    """A Python integer for certain, or a name in capitals that may be one."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int)
    return isinstance(node, ast.Call) and _name(node.func) in ("int", "len", "size", "numel") or _name(node).isupper()


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
