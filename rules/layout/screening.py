"""Which modules can hold findings of the layout rules."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from stridelint.rules.screening import Flow, Nodes, Steps, TensorFlow, is_text, name_of
from stridelint.rules.screening.expressions import arguments_of, integer_of, root_of

# Views that cut pieces out of a tensor, in its order, or repeat them: what is computed from those is row-major again.
_CUTTERS = frozenset(
    "expand expand_as broadcast_to narrow select chunk split tensor_split split_with_sizes unbind".split()
)
# What gives the axes another order, which also the results of elementwise operators have.
_PERMUTERS = frozenset(
    """T mT H mH transpose permute t swapaxes swapdims movedim moveaxis unfold diagonal as_strided real imag view_as_real
    empty_strided einsum flip fliplr rot90 adjoint nonzero argwhere inv inverse solve svd qr eigh cholesky stft""".split()
)
# Results of these are row-major whatever goes in, where nothing is channels_last.
_CLEAN = frozenset(
    """contiguous zeros ones empty rand randn randint arange linspace eye full size len stack cat concat matmul mm bmm linear softmax
    log_softmax cumsum cumprod gather index_select sum mean std var amax amin argmax argmin norm topk one_hot masked_select cdist
    meshgrid conv1d conv2d conv3d new_zeros new_ones new_empty new_full pad_sequence isinstance str""".split()
)
# So is what these make of numbers that are written out; of a tensor they keep the order.
_FROM_NUMBERS = frozenset({"tensor", "new_tensor"})
# So are numbers made with these; methods of the same name keep the order (`x.float()`).
_NUMBERS = frozenset({"int", "float", "bool"})
# Elementwise operators of tensors, as methods or functions; those that matter most.
_ELEMENTWISE = frozenset(
    """abs pow sqrt rsqrt exp log log2 log10 sin cos tan tanh sigmoid relu clamp clamp_min clamp_max add sub mul div where square round
    floor ceil neg reciprocal sign isfinite isnan isinf logical_and logical_or logical_not maximum minimum atan2 fmod remainder
    masked_fill eq ne lt le gt ge lerp hypot erf""".split()
)


def _cleans(call: ast.Call) -> bool:
    """What it gives is no tensor in another order, whatever goes in."""
    name = name_of(call.func)
    if name in _FROM_NUMBERS:
        return bool(call.args) and isinstance(call.args[0], (ast.List, ast.Tuple, ast.ListComp, ast.Constant))
    return name in _CLEAN or (name in _NUMBERS and isinstance(call.func, ast.Name))


_COPYING_WORDS = frozenset({"flatten", "reshape", "ravel", "reshape_as"})


class Permuted(TensorFlow):
    """Follows tensors whose axes may stand in another order than the row-major one."""

    def starts(self, node: ast.expr, unit: str) -> bool | None:
        """Permutations start it, `.contiguous()` and factories end it."""
        if isinstance(node, ast.Attribute):
            return True if node.attr in _PERMUTERS else None
        if isinstance(node, ast.Call):
            name = name_of(node.func)
            if name in _PERMUTERS or any(keyword.arg == "memory_format" for keyword in node.keywords):
                return True
            return False if _cleans(node) else None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            return False
        return None

    def follow(self, node: ast.expr, unit: str) -> Steps:
        """What an index is made of does not matter."""
        if isinstance(node, ast.Subscript):
            return self.opens(node.slice) or self.part(node, unit) or [node.value]
        return super().follow(node, unit)

    def opens(self, index: ast.expr) -> bool:
        """Whether a part of a tensor has the property for its index."""
        parts = index.elts if isinstance(index, ast.Tuple) else []
        return any(not isinstance(each, (ast.Slice, ast.Constant, ast.UnaryOp)) for each in parts)  # it may be a tensor


class Cut(Permuted):
    """Follows tensors that may have gaps, or repeat themselves, because they are parts of others."""

    def starts(self, node: ast.expr, unit: str) -> bool | None:
        """Views that cut start it; what is computed elementwise has no gaps."""
        if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare)):
            return False
        if isinstance(node, ast.Attribute):
            return True if node.attr in _CUTTERS else None
        if isinstance(node, ast.Call):
            name = name_of(node.func)
            if name in _CUTTERS:
                return not any(is_text(each) for each in node.args)  # `name.split(".")`
            return False if name in _ELEMENTWISE or _cleans(node) else None
        return None

    def opens(self, index: ast.expr) -> bool:
        """It may leave gaps: anything but whole numbers and plain slices of the first axis."""
        if isinstance(index, ast.Tuple):
            return not all(_keeps_axis(each) for each in index.elts)
        return isinstance(index, ast.Slice) and index.step is not None


def _keeps_axis(index: ast.expr) -> bool:
    """`None`, `...` or a bare `:`."""
    if isinstance(index, ast.Slice):
        return index.lower is index.upper is index.step is None
    return isinstance(index, ast.Constant) and index.value in (None, ...)


def views_of_strided(nodes: Nodes) -> frozenset[str]:
    """Where `view` may be called on a tensor that is not row-major, or channels_last be merged away."""
    views = [(call, unit) for call, unit in nodes.calls if name_of(call.func) in ("view", "view_as", "view_as_complex")]
    if nodes.may_convert:  # It changes modules in place, and their results with them.
        return frozenset(unit for call, unit in nodes.calls if name_of(call.func) in _COPYING_WORDS) | {
            unit for _, unit in views
        }
    if not views or _swaps_batches(nodes):
        return frozenset(unit for _, unit in views)
    return _with_strided(nodes, [(_receiver(call), unit) for call, unit in views])


def _swaps_batches(nodes: Nodes) -> bool:
    """Whether there may be recurrent layers with `batch_first`, whose results are transposed; padding makes new tensors."""
    if "batch_first" not in nodes.names:
        return False
    asked = {name_of(call.func) for call, _ in nodes.calls for each in call.keywords if each.arg == "batch_first"}
    return asked != {"pad_sequence"}


def _with_strided(nodes: Nodes, expressions: Sequence[tuple[ast.expr, str]]) -> frozenset[str]:
    """The units of those expressions that may be tensors which are not row-major."""
    flows = (nodes.flow(Permuted), nodes.flow(Cut))
    return frozenset(unit for node, unit in expressions if any(flow.holds(node, unit) for flow in flows))


def _receiver(call: ast.Call) -> ast.expr:
    if name_of(call.func) != "view_as_complex" and isinstance(call.func, ast.Attribute):
        return call.func.value
    return call.args[0] if call.args else call


class _Backwards(Flow):
    """Follows arrays that may have a negative stride; torch makes no such tensors."""

    def starts(self, node: ast.expr, unit: str) -> bool | None:
        """A slice with a negative step starts it, or numpy's flips; a copy ends it."""
        if isinstance(node, ast.Subscript):
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            steps = [each.step for each in parts if isinstance(each, ast.Slice)]
            return True if any(not isinstance(each, (ast.Constant, type(None))) for each in steps) else None
        if isinstance(node, ast.Call):
            name = name_of(node.func)
            if name in _FLIPS:
                return True if root_of(node.func) != "torch" else None
            return False if name in ("copy", "ascontiguousarray") else None
        return None


_FLIPS = frozenset({"flip", "fliplr", "flipud", "rot90"})
# Only an array with a negative stride is refused by these.
_FROM_ARRAY = frozenset({"from_numpy", "as_tensor", "tensor"})
_DEMANDING = frozenset({"save_file", "save", "DistributedDataParallel"})
EXCHANGING = frozenset({"all_to_all_single", "send", "isend", "recv", "irecv"})


def demands_contiguity(nodes: Nodes) -> frozenset[str]:
    """Where something demands row-major memory, and may get other."""
    found = {unit for call, unit in nodes.calls if name_of(call.func) in _DEMANDING}
    asked: list[tuple[ast.expr, str]]
    asked = [(call, unit) for call, unit in nodes.calls if name_of(call.func) == "is_contiguous"]
    if nodes.words.has_one(("distributed",)):  # generators have `send`, too
        sent = [(call, unit) for call, unit in nodes.calls if name_of(call.func) in EXCHANGING]
        asked += [(value, unit) for call, unit in sent for value in arguments_of(call)]
    if nodes.may_convert:
        found.update(unit for _, unit in asked)
    elif asked:
        found |= _with_strided(nodes, asked)
    if nodes.has_negative_step or _FLIPS & nodes.names:
        flow = nodes.flow(_Backwards)
        found.update(unit for call, unit in nodes.calls if name_of(call.func) in _FROM_ARRAY and flow.holds(call, unit))
    return frozenset(found)


def discards(nodes: Nodes, methods: frozenset[str]) -> frozenset[str]:
    """Where a call of one of the methods stands as a statement, itself or behind a helper that only returns it."""
    helpers = {
        function for function, value, _ in nodes.returned if isinstance(value, ast.Call) and name_of(value) in methods
    }
    helpers |= {
        name_of(node.targets[0])
        for node, _ in nodes.bindings
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda) and name_of(node.value.body) in methods
    }
    return frozenset(
        unit for value, unit in nodes.statements if isinstance(value, ast.Call) and name_of(value) in methods | helpers
    )


class ChannelsLast(TensorFlow):
    """Follows tensors that may be channels_last because they are permuted from NHWC."""

    def starts(self, node: ast.expr, unit: str) -> bool | None:
        """A permutation starts it."""
        if isinstance(node, ast.Call):
            if name_of(node.func) in _PERMUTATIONS:
                return True if _is_nhwc_permutation(node) else None
            return False if _cleans(node) else None
        return None

    def begins(self) -> bool:
        """Most permutations are others."""
        return any(name_of(call.func) in _PERMUTATIONS and _is_nhwc_permutation(call) for call, _ in self._nodes.calls)


_PERMUTATIONS = frozenset({"permute", "movedim", "moveaxis"})


def mixes_formats(nodes: Nodes, operators: frozenset[str]) -> frozenset[str]:
    """Where an operator may get a channels_last tensor as one of several operands."""
    if not nodes.may_convert and _PERMUTATIONS.isdisjoint(nodes.names):
        return frozenset()
    if nodes.may_convert:
        return frozenset(unit for _, unit in (*nodes.operations, *nodes.compared)) | {
            unit for call, unit in nodes.calls if name_of(call.func) in operators
        }
    flow = nodes.flow(ChannelsLast)
    found = {
        unit
        for operation, unit in reversed(nodes.operations)  # what is inside first: the answers are kept
        if flow.holds(operation, unit)
    }
    found |= {unit for call, unit in nodes.calls if name_of(call.func) in operators and flow.holds(call, unit)}
    found |= {
        unit
        for compared, unit in nodes.compared
        if any(flow.holds(each, unit) for each in (compared.left, *compared.comparators))
    }
    return frozenset(found)


def _is_nhwc_permutation(call: ast.Call) -> bool:
    """`permute(0, 3, 1, 2)`, or one whose numbers are not written out."""
    name = name_of(call.func)
    values = call.args
    if len(values) in (1, 2) and isinstance(values[-1], (ast.Tuple, ast.List)):
        values = values[-1].elts
    numbers = [integer_of(each) for each in values]
    known = [number for number in numbers if number is not None]
    if len(known) < len(numbers) or not numbers or call.keywords:
        return True
    if name != "permute":
        return known[-2:] in ([-1, 1], [3, 1], [4, 1])
    rank = len(known)
    return rank in (4, 5) and [number % rank for number in known] == [0, rank - 1, *range(1, rank - 1)]


class _Moved(TensorFlow):
    """Follows tensors whose last axis was moved to the front."""

    def starts(self, node: ast.expr, unit: str) -> bool | None:
        """A permutation starts it."""
        if isinstance(node, ast.Call):
            name = name_of(node.func)
            return True if name in _MOVES and _moves_last_to_front(node) else False if _cleans(node) else None
        return None

    def begins(self) -> bool:
        """Most permutations are others."""
        return any(name_of(call.func) in _MOVES and _moves_last_to_front(call) for call, _ in self._nodes.calls)


_MOVES = frozenset({"permute", "transpose", "movedim", "moveaxis"})


def _moves_last_to_front(call: ast.Call) -> bool:
    """`permute(2, 0, 1)`, `np.transpose(x, (2, 0, 1))`, `movedim(-1, 0)`, or one whose numbers are not written out."""
    values = call.args
    if values and isinstance(values[-1], (ast.Tuple, ast.List)):
        values = values[-1].elts
    numbers = [integer_of(each) for each in values]
    if None in numbers:
        return name_of(call.func) == "permute"
    known = [number for number in numbers if number is not None]
    if name_of(call.func) in ("movedim", "moveaxis"):
        return len(known) == 2 and known[1] == 0
    rank = len(known)
    return rank > 2 and [number % rank for number in known] == [rank - 1, *range(rank - 1)]


class _Batched(Flow):
    """Follows those of them that then got a batch axis in front."""

    def __init__(self, nodes: Nodes) -> None:
        self.moved = nodes.flow(_Moved)
        super().__init__(nodes)

    def starts(self, node: ast.expr, unit: str) -> bool | None:
        """`unsqueeze` of a moved tensor starts it, or an index with None."""
        if isinstance(node, ast.Call) and name_of(node.func) in ("unsqueeze", "unsqueeze_", "expand_dims"):
            return True if self.moved.holds(node, unit) else None
        if isinstance(node, ast.Subscript):
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            adds = any(isinstance(each, ast.Constant) and each.value is None for each in parts)
            return True if adds and self.moved.holds(node.value, unit) else None
        return None

    def begins(self) -> bool:
        """No other tensors matter."""
        return self.moved.is_possible


def batches_of_one(nodes: Nodes) -> frozenset[str]:
    """Where a tensor that got a batch axis after its axes were moved may be passed on."""
    if nodes.may_convert:
        return frozenset(unit for call, unit in nodes.calls if name_of(call.func) in ("unsqueeze", "expand_dims")) | {
            unit for _, unit in nodes.bindings
        }
    if not _MOVES & nodes.names:
        return frozenset()
    flow = nodes.flow(_Batched)
    return frozenset(unit for call, unit in nodes.calls if flow.holds(call, unit))


_KERNELS = frozenset({"custom_op", "triton_op", "register_kernel", "impl"})
_FAKES = frozenset({"register_fake", "impl_abstract", "_register_fake", "impl"})


def kernels(nodes: Nodes) -> set[str]:
    """Functions that are registered as kernels of custom operators, where there are fake ones."""
    if not (_FAKES & nodes.names and _KERNELS & nodes.names):
        return set()
    handed = {
        part.id
        for call, _ in nodes.calls
        if name_of(call.func if not isinstance(call.func, ast.Call) else call.func.func) in _KERNELS | _FAKES
        for part in call.args
        if isinstance(part, ast.Name)
    }
    return {
        unit
        for function, unit in nodes.functions
        if function.name in handed or (_KERNELS | _FAKES) & nodes.names_below(ast.List(function.decorator_list))
    }
