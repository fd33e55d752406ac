"""Which modules can change a tensor of too low a kind in place: `+=` is everywhere, mostly on numbers and float tensors.

By name, regardless of order, this looks for the calls from which bool, integer and complex tensors may have come, through
what is computed from them and the parameters of the module's own functions.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TypeGuard

from stridelint.rules.screening import ANY_NAME, PROTOCOL, Flow, Key, Nodes, Steps, TensorFlow, of_torch

_COMPLEX = frozenset(
    """complex complex32 complex64 complex128 cfloat cdouble chalf polar view_as_complex rfft rfft2 rfftn fft fft2 fftn
    ifft ifft2 ifftn ihfft ihfft2 ihfftn stft eig eigvals""".split()
)
_LOW_DTYPES = frozenset(
    """int8 int16 int32 int64 uint8 uint16 uint32 uint64 short int long byte char bool IntTensor LongTensor ByteTensor
    BoolTensor ShortTensor CharTensor""".split()
)
# Calls that make a tensor of bool or integer dtype whatever they are given.
_LOW_RESULTS = frozenset(
    """arange randint randint_like randperm integers permutation argmax argmin argsort
    argwhere nonzero nonzero_static searchsorted bucketize bincount unique unique_consecutive unravel_index one_hot tril_indices triu_indices
    multinomial count_nonzero matrix_rank isin isnan isinf isfinite isclose isneginf isposinf
    isreal signbit eq ne lt le gt ge less greater less_equal greater_equal not_equal logical_and logical_or logical_xor
    logical_not bitwise_not from_numpy frexp all any""".split()
)
# What such calls give holds the counters of normalisation layers.
_WITH_COUNTERS = frozenset({"state_dict", "buffers", "named_buffers"})
_LOW = _LOW_DTYPES | _LOW_RESULTS | _WITH_COUNTERS
# Calls that give values of the tensor's own dtype, and indices with them; the latter only along an axis.
_PAIRS = frozenset({"topk", "kthvalue", "cummax", "cummin", "sort", "mode"})
_PAIRS_OF_AN_AXIS = frozenset({"max", "min", "median", "nanmedian"})
# Functions whose result has the dtype of the first tensor, and of those that it takes values of.
_OF_FIRST = frozenset(
    """masked_fill gather index_select take take_along_dim masked_select index_fill select narrow full_like zeros_like ones_like
    empty_like rand_like grid_sample scatter index_put repeat_interleave roll flip pad unfold""".split()
)
_FLOATS = frozenset({"float16", "float32", "float64", "bfloat16", "half", "float", "double", "get_default_dtype"})
_WIDTHS = frozenset(
    {"half", "double", "float16", "float64", "bfloat16", "HalfTensor", "DoubleTensor", "BFloat16Tensor"}
)
_FLOAT_RESULTS = _FLOATS | frozenset(
    """mean std var softmax log_softmax softplus exp log log2 log10 sqrt rsqrt sin cos tan tanh sigmoid norm div true_divide
    rand randn rand_like randn_like linspace logspace embedding cross_entropy linear item tolist numpy len size numel dim
    isinstance cdist erf""".split()
)
_DEFAULT_FLOAT = frozenset({"zeros", "ones", "empty", "eye", "normal", "range"})
_FROM_DATA = frozenset({"tensor", "as_tensor", "asarray", "array", "scalar_tensor", "full", "new_tensor", "new_full"})
# Calls whose result holds what they are given.
_HOLDERS = frozenset(
    """nullcontext defaultdict deque partial closing OrderedDict chain cycle repeat islice _make _replace setdefault
    TensorDataset ConcatDataset Subset random_split""".split()
)
_SAME_TENSOR = frozenset({"T", "mT", "data", "values", "indices", "real", "value", "tensors", "dataset"})
_IDENTITY = (ast.Is, ast.IsNot, ast.In, ast.NotIn)
_DISPLAYS = (ast.List, ast.Tuple, ast.Set, ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.Dict, ast.DictComp)


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
    low, may_be_complex = nodes.flow(Low), _complex_values(nodes)
    found = {unit for node, unit in augmented if low.holds(node.target, unit) or may_be_complex(node.value, unit)}
    for call, unit in calls:
        receiver = call.func.value if isinstance(call.func, ast.Attribute) else call
        if unit not in found and (low.holds(receiver, unit) or may_be_complex(call, unit)):
            found.add(unit)
    return frozenset(found)


_SMALL = frozenset("uint8 int8 int16 byte char short ByteTensor CharTensor ShortTensor".split())


def changes_small(nodes: Nodes, methods: frozenset[str]) -> frozenset[str]:
    """The same in a module that names a dtype of small integers; others hardly hold large numbers in one."""
    return frozenset() if _SMALL.isdisjoint(nodes.names) else changes_low(nodes, methods)


def _complex_values(nodes: Nodes) -> Callable[[ast.expr, str], bool]:
    """Whether an expression may be complex; in most modules nothing is."""
    if not nodes.has_complex_number and _COMPLEX.isdisjoint(nodes.names):
        return lambda node, unit: False
    return nodes.flow(Complex).holds


STORING = frozenset(
    "copy_ fill_ masked_fill masked_fill_ index_fill index_fill_ scatter scatter_ full full_like new_full".split()
)
_WHOLE = frozenset("len int argmax argmin arange randint randperm numel round floor ceil long bool size".split())


# Methods that want values of the tensor's own dtype -> the position of these, and their names.
SCATTERING = {
    **dict.fromkeys(("index_put_", "put_", "masked_scatter_"), 1),
    **dict.fromkeys(("index_copy_", "index_add_", "index_reduce_", "scatter_", "scatter_add_", "scatter_reduce_"), 2),
}
_SCATTERED = frozenset({"values", "source", "src"})


def stores_into_low(nodes: Nodes) -> frozenset[str]:
    """Where something that need not be a whole number may be stored into a bool or integer tensor, or a complex one into a real
    one; or one of another kind where torch wants the same."""
    stores: list[tuple[ast.expr, ast.expr | None, str]] = []
    strict: list[tuple[ast.expr, ast.expr, ast.expr | None, str]] = []  # target, value, index
    for node, unit in nodes.bindings:
        if isinstance(node, ast.Assign):
            subscripts = [each for each in node.targets if isinstance(each, ast.Subscript)]
            targets = [each for each in subscripts if not nodes.certain.stores_elsewhere(each, unit)]
            stores += [(each.value, node.value, unit) for each in targets]
            if not _is_number(node.value):
                strict += [(each.value, node.value, each.slice, unit) for each in targets if _may_pick(each.slice)]
    for call, unit in nodes.calls:
        name = _name(call.func)
        if name in STORING and isinstance(call.func, ast.Attribute):
            value = call.args[-1] if call.args else None
            receiver = call if call.func.attr in ("full", "full_like") else call.func.value
            if not _keeps(call):
                stores.append((receiver, value, unit))
        at = SCATTERING.get(name)
        if at is not None and isinstance(call.func, ast.Attribute):
            named = (each.value for each in call.keywords if each.arg in _SCATTERED)
            scattered = next(named, None) or (call.args[at] if len(call.args) > at else None)
            if scattered is not None and not _is_number(scattered):
                strict.append((call.func.value, scattered, None, unit))
    stores = [(target, value, unit) for target, value, unit in stores if value is None or not _is_surely_whole(value)]
    if not stores and not strict:
        return frozenset()
    low, wide, may_be_complex = nodes.flow(Low), nodes.flow(Wide), _complex_values(nodes)
    found: set[str] = set()
    for target, value, unit in stores:
        if unit not in found and (low.holds(target, unit) or (value is not None and may_be_complex(value, unit))):
            found.add(unit)
    for target, value, index, unit in strict:
        if unit not in found and (index is None or low.holds(index, unit)):
            kept = isinstance(value, ast.Compare) or may_be_complex(target, unit)
            if (
                kept
                or low.holds(target, unit) != low.holds(value, unit)
                or wide.holds(target, unit) != wide.holds(value, unit)
            ):
                found.add(unit)
    return frozenset(found)


def _may_pick(index: ast.expr) -> bool:
    """Whether an index may hold a tensor or a list, which pick elements."""
    if isinstance(index, ast.Tuple):
        return any(map(_may_pick, index.elts))
    return not isinstance(index, (ast.Constant, ast.Slice, ast.UnaryOp, ast.JoinedStr))


def _is_number(node: ast.expr) -> bool:
    """What is no tensor at first sight."""
    if isinstance(node, ast.UnaryOp):
        return _is_number(node.operand)
    return isinstance(node, (ast.Constant, ast.JoinedStr, ast.Dict, ast.List, ast.Tuple, ast.ListComp))


def _keeps(call: ast.Call) -> bool:
    """`full` without a dtype takes that of its value; a whole number is lost in bool only."""
    if _name(call.func) not in ("full", "new_full"):
        return False
    told = next((keyword.value for keyword in call.keywords if keyword.arg == "dtype"), None)
    if told is None:
        return _name(call.func) == "full" and len(call.args) < 3
    value = call.args[1] if len(call.args) > 1 else call
    return _name(told) in _LOW_DTYPES - {"bool", "BoolTensor"} and _is_integer(value)


_BITS = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift)


def _is_surely_whole(node: ast.expr) -> bool:
    """Values that a store into an integer tensor keeps."""
    if isinstance(node, ast.Constant):
        return node.value in (0, 1, None) or isinstance(node.value, str)
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, (ast.Not, ast.Invert))
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, _BITS)  # of integers and truth values only
    if isinstance(node, ast.Subscript):
        return _name(node.value) == "shape"
    if isinstance(node, ast.Call):
        return _name(node.func) in _WHOLE and not any(keyword.arg == "dtype" for keyword in node.keywords)
    return isinstance(node, (ast.Compare, ast.List, ast.Tuple, ast.Dict, ast.JoinedStr))


class Complex(Flow):
    """Follows complex tensors and numbers."""

    def follow(self, node: ast.expr, unit: str) -> Steps:
        """Whatever is computed from one, or looked up in it, may be one."""
        name = _name(node)
        if name:
            return True if name in _COMPLEX else super().follow(node, unit)
        if isinstance(node, ast.Constant):
            return isinstance(node.value, complex)
        return super().follow(node, unit)

    def starts(self, node: ast.expr, unit: str) -> bool | None:
        """See `follow`."""
        return None


class Wide(TensorFlow):
    """Follows tensors of a float dtype that is named, and is not the usual one."""

    def begins(self) -> bool:
        """Whether the module names such a dtype."""
        return not _WIDTHS.isdisjoint(self._nodes.names)

    def starts(self, node: ast.expr, unit: str) -> bool | None:
        """By its name."""
        return True if _name(node) in _WIDTHS else None


class Low(Flow):
    """Follows tensors (and what holds some) of bool or integer dtype."""

    def __init__(self, nodes: Nodes) -> None:
        super().__init__(nodes)
        self._functions = nodes.definitions.functions
        self._told = nodes.definitions.told
        self._classes = nodes.definitions.classes
        self._asked = 0

    def starts(self, node: ast.expr, unit: str) -> bool | None:
        """See `follow`."""
        return None

    def follow(self, node: ast.expr, unit: str) -> Steps:
        """By the names of dtypes and functions; arithmetic keeps the kind where both sides have it."""
        if isinstance(node, ast.Name):
            return node.id in _TENSOR_TYPES or [(unit, node.id), ("", node.id), *self._told.get((unit, node.id), ())]
        if isinstance(node, ast.Attribute):
            steps: list[ast.expr | Key] = [("", node.attr), ("", ANY_NAME), *self._told.get(("", node.attr), ())]
            if node.attr in _LOW_DTYPES or (node.attr in _LOW and of_torch(node)):
                return True
            if node.attr == "values" and _is_pair(node.value):
                return _operands(node.value)
            return steps + [node.value] if node.attr in _SAME_TENSOR else steps
        if isinstance(node, ast.Subscript) and _is_pair(node.value) and isinstance(node.slice, ast.Constant):
            return node.slice.value != 0 or _operands(node.value)
        if isinstance(node, ast.Subscript):
            made = self._call(node.value) if isinstance(node.value, ast.Call) else None
            part = None if isinstance(made, bool) else self._defined.part_of_result(node)
            return [node.value if part is None else part]
        if isinstance(node, (ast.Starred, ast.Await)):
            return [node.value]
        if isinstance(node, ast.Call):
            made = self._call(node)
            if isinstance(made, bool):
                return made
            return [*made, *(("", name + "()") for name in self._nodes.definitions.picked(node.func, unit))]
        if isinstance(node, ast.BinOp):
            return self._operation(node, unit)
        if isinstance(node, ast.UnaryOp):
            return [node.operand]
        if isinstance(node, ast.Compare):
            return not any(isinstance(operator, _IDENTITY) for operator in node.ops)
        return [node.body] if isinstance(node, ast.Lambda) else list(_parts(node))

    def _operation(self, node: ast.BinOp, unit: str) -> Steps:
        if isinstance(node.op, ast.Div):
            return False
        if _is_integer(node.right):
            return [node.left]
        if _is_integer(node.left):
            return [node.right]
        if isinstance(node.left, _DISPLAYS) or isinstance(node.right, _DISPLAYS):
            return [node.left, node.right]  # lists are joined
        if self._asked >= _MOST_ASKED:
            return [node.left]
        self._asked += 1
        is_low = self.holds(node.left, unit)
        self._asked -= 1
        return [node.right] if is_low else False

    def _call(self, call: ast.Call) -> Steps:
        name = _name(call.func)
        given = (*call.args, *(keyword.value for keyword in call.keywords))
        dtypes = {_name(each) for each in given} | {
            each.value for each in given if isinstance(each, ast.Constant) and isinstance(each.value, str)
        }
        if dtypes & _FLOATS or name in _FLOAT_RESULTS:
            return False
        if dtypes & _LOW_DTYPES or (name in _LOW and isinstance(call.func, ast.Attribute)):
            return True
        if name == "DataLoader":
            return True  # of the integers that a data set gives it makes tensors
        if _is_pair(call):
            return name in _PAIRS or _has_axis(call) or _operands(call)
        if name == "getattr" and len(call.args) > 1:
            return self._looked_up(call)
        if name in self._functions or name in self._classes:
            found: list[ast.expr | Key] = [("", name + "()")]
            if name in self._nodes.definitions.tuples or name not in self._functions:
                found += given
            return found + [("", each) for each in PROTOCOL] if name in self._classes else found
        spread = [keyword.value for keyword in call.keywords if keyword.arg is None]
        if spread:
            return list(spread)
        told = [keyword.value for keyword in call.keywords if keyword.arg == "dtype"]
        if told:
            return list(told)
        if name in _DEFAULT_FLOAT:
            return False
        if name in _FROM_DATA and call.args and _is_float(call.args[0]):
            return False
        if name in _FROM_DATA:
            return not any(isinstance(each, ast.Constant) and isinstance(each.value, float) for each in ast.walk(call))
        if isinstance(call.func, ast.Attribute) and not of_torch(call.func):
            return [("", name + "()"), call.func.value, *(given if name in _HOLDERS else ())]
        if isinstance(call.func, ast.Name):  # a partial, a lambda
            return [("", name + "()"), call.func, *given]
        if not name:  # looked up in a table of functions
            return [call.func, *(("", each + "()") for each in self._functions)]
        if name == "where" and len(call.args) == 3:
            return [*call.args[1:]]
        return [("", name + "()"), *(given[:1] if name in _OF_FIRST else given)]

    def _looked_up(self, call: ast.Call) -> Steps:
        owner, name = call.args[0], call.args[1]
        if isinstance(owner, ast.Name) and owner.id == "torch":
            return True
        known = isinstance(name, ast.Constant) and isinstance(name.value, str)
        return [("", name.value if known else ANY_NAME), ("", ANY_NAME)]  # type: ignore[attr-defined]


_TENSOR_TYPES = frozenset({"LongTensor", "IntTensor", "BoolTensor", "ByteTensor"})
# How deeply questions about the sides of operations may be nested.
_MOST_ASKED = 3


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
    if isinstance(node, ast.UnaryOp):
        return _is_integer(node.operand)
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int)
    return isinstance(node, ast.Call) and _name(node.func) in ("int", "len", "size", "numel") or _name(node).isupper()


def _is_pair(node: ast.expr) -> TypeGuard[ast.Call]:
    """A call that may give values and indices."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _PAIRS | _PAIRS_OF_AN_AXIS
    )


def _has_axis(call: ast.Call) -> bool:
    """Whether `x.max(...)` or `torch.max(x, ...)` may be along an axis, and not of two tensors."""
    rest = call.args[1:] if of_torch(call.func) else call.args
    return any(keyword.arg in ("dim", "axis", "keepdim", None) for keyword in call.keywords) or any(
        not isinstance(each, (ast.Call, ast.BinOp, ast.Subscript)) for each in rest
    )


def _operands(call: ast.Call) -> list[ast.expr | Key]:
    """The tensors whose values such a call gives."""
    if isinstance(call.func, ast.Attribute) and not of_torch(call.func):
        return [call.func.value, *call.args[:1]]
    return [*call.args[:2], *(keyword.value for keyword in call.keywords if keyword.arg in ("input", "other"))]


def _is_float(node: ast.expr) -> bool:
    """A Python float for certain."""
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Div) or _is_float(node.left) or _is_float(node.right)
    if isinstance(node, ast.Call):
        return _name(node.func) == "float"
    return isinstance(node, ast.Constant) and isinstance(node.value, float)


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
