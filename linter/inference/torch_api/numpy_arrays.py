"""Arrays of numpy, as far as they reach torch: the dtype, shape and strides of their parts, attributes and methods."""

from __future__ import annotations

import libcst as cst

from stridelint.linter.inference.objects import Arguments, BoundMethod
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.torch_api import numpy_dtypes, numpy_elementwise, numpy_reductions, queries, raw_memory
from stridelint.linter.inference.torch_api.emit import emit, operand
from stridelint.linter.inference.torch_api.numpy_dtypes import numpy_dtype
from stridelint.linter.inference.torch_api.registry import Call, functions
from stridelint.linter.inference.values import (
    ArrayValue,
    Constant,
    Number,
    Sequence,
    SizeValue,
    Slice,
    TensorValue,
    Unknown,
    Value,
    as_dims,
    as_int,
    is_none,
    shape_value,
)
from stridelint.rules.contract import questions, sizes, views
from stridelint.rules.contract.dtypes import kind_of
from stridelint.rules.contract.facts import Dims, TensorFacts
from stridelint.rules.contract.generic import strides_in_order
from stridelint.rules.contract.views import Geometry
from stridelint.rules.events import Form


def array_item(path: Path, owner: ArrayValue, index: Value, node: cst.CSTNode) -> Value:
    """`array[index]`: slices may have negative steps."""
    parts = (
        list(index.items)
        if isinstance(index, Sequence) and index.kind == "tuple" and index.items is not None
        else [index]
    )
    negative = any(isinstance(part, Slice) and (as_int(part.step) or 1) < 0 for part in parts)
    facts = owner.facts.but(shape=None, strides=None, storage_offset=None)
    if negative:
        return backwards(owner, node, facts.but(strides=_negative_strides(owner.facts, parts), shape=owner.facts.shape))
    return _part(owner, parts)


def _part(owner: ArrayValue, parts: list[Value]) -> ArrayValue:
    """What an index without negative steps picks."""
    from stridelint.linter.inference.subscripts import _is_basic, basic_geometry

    facts = owner.facts.but(shape=None, strides=None, storage_offset=None)
    if owner.facts.shape is not None and all(_is_basic(part) for part in parts):
        geometry = basic_geometry(Geometry(owner.facts.shape, owner.facts.strides, owner.facts.storage_offset), parts)
        if geometry is not None:
            strides = _new_axes_are_zero(geometry.strides, parts, len(owner.facts.shape))
            cut = facts.but(shape=geometry.shape, strides=strides, storage_offset=geometry.offset)
            return _same_way(owner, ArrayValue(cut, owner.story))
    basic = all(_is_basic(part) for part in parts)
    if basic:
        return _same_way(owner, ArrayValue(facts, owner.story))
    return ArrayValue(facts.but(storage=None), owner.story)


def _new_axes_are_zero(strides: Dims | None, parts: list[Value], rank: int) -> Dims | None:
    """numpy gives axes that `None` adds the stride 0."""
    if strides is None:
        return None
    changed = list(strides)
    dots = [isinstance(part, Constant) and part.value is ... for part in parts]
    taken = sum(1 for part, is_dots in zip(parts, dots) if not is_none(part) and not is_dots)
    axis = 0
    for part, is_dots in zip(parts, dots):
        if is_none(part):
            changed[axis] = 0
        kept = is_none(part) or as_int(part) is None and not isinstance(part, SizeValue)
        axis += rank - taken if is_dots else 1 if kept else 0
    return tuple(changed)


def _same_way(owner: ArrayValue, view: ArrayValue) -> ArrayValue:
    """A view that moves or cuts axes keeps the direction of the others."""
    view.backwards, view.turned = owner.backwards, owner.turned and None
    return view


def backwards(owner: ArrayValue, node: cst.CSTNode, facts: TensorFacts) -> ArrayValue:
    """A view of an array that walks an axis from its end; of one that was turned before it may be the right way round again."""
    view = ArrayValue(facts, (*owner.story, ("gets a negative stride here", node)))
    numbers = [stride for stride in facts.strides or () if isinstance(stride, int)]
    view.backwards, view.turned = not owner.backwards or any(stride < 0 for stride in numbers), None
    return view


def flipped(owner: ArrayValue, axes: tuple[int, ...] | None, node: cst.CSTNode) -> ArrayValue:
    """`np.flip(a, axes)`: a view that runs backwards along these axes, or forwards again; None for axes that are not known."""
    facts, rank = owner.facts.but(storage_offset=None), owner.facts.rank
    if rank is not None and axes is not None:
        axes = tuple(axis % rank for axis in axes) if all(-rank <= axis < rank for axis in axes) else None
    if axes is None or owner.turned is None or (rank is None and any(axis < 0 for axis in (*axes, *owner.turned))):
        return backwards(owner, node, facts.but(shape=None, strides=None) if axes is None else facts.but(strides=None))
    view = ArrayValue(facts, (*owner.story, ("gets a negative stride here", node)))
    if facts.strides is not None:
        strides = tuple(
            sizes.multiply(stride, -1) if axis in axes else stride for axis, stride in enumerate(facts.strides)
        )
        view.facts = facts.but(strides=strides)
    view.turned = owner.turned ^ frozenset(axes)
    view.backwards = bool(view.turned)
    return view


def rows_of(owner: ArrayValue, count: int) -> list[Value]:
    """The first parts of an array along its first axis; numbers if it has no other, which may be whole."""
    if owner.facts.rank == 1 and owner.facts.kind == "float":
        return [Number("float") for _ in range(count)]
    if owner.facts.rank is None or owner.facts.rank < 2:
        return [Unknown("row") for _ in range(count)]
    return [_part(owner, [Constant(row)]) for row in range(count)]


def _negative_strides(facts: TensorFacts, parts: list[Value]) -> Dims | None:
    if facts.shape is None or facts.strides is None:
        return None
    strides = list(facts.strides)
    dots = next((index for index, part in enumerate(parts) if isinstance(part, Constant) and part.value is ...), None)
    for index, part in enumerate(parts):
        axis = index if dots is None or index < dots else len(strides) - (len(parts) - index)
        if isinstance(part, Slice):
            strides[axis] = sizes.multiply(strides[axis], as_int(part.step) or 1)
        elif not (isinstance(part, Constant) and part.value is ...):
            return None
    return tuple(strides)


def array_attribute(owner: ArrayValue, name: str, node: cst.CSTNode | None) -> Value:
    """`array.name`; methods are bound."""
    facts = owner.facts
    if name == "shape" and facts.shape is not None:
        return shape_value(facts.shape, owner)
    if name == "ndim" and facts.shape is not None:
        return Constant(len(facts.shape))
    if name == "T" and facts.shape is not None:
        moved = views.reversed_axes(Geometry(facts.shape, facts.strides, facts.storage_offset))
        if moved is not None:
            return _same_way(owner, ArrayValue(facts.but(shape=moved.shape, strides=moved.strides), owner.story))
    if name == "T":
        return _same_way(owner, ArrayValue(facts.but(strides=None), owner.story))
    if name == "dtype" and facts.dtype is not None:
        return numpy_dtypes.named(facts.dtype)
    if name == "ctypes" and node is not None:
        return raw_memory.handle(raw_memory.POINTER, owner, node)
    return BoundMethod(owner, name)


def array_method(path: Path, node: cst.CSTNode, callee: BoundMethod, args: Arguments) -> Value:
    """A method or attribute of an array."""
    owner = callee.receiver
    assert isinstance(owner, ArrayValue)
    facts = owner.facts
    raw_memory.flattened(path, owner, callee.name, args, node)
    if callee.name == "astype":
        dtype, asked = numpy_dtype(args.get(0, "dtype")), args.get(1, "order")
        strides = numpy_elementwise.laid_out(facts) if asked is None else None
        changed = facts.but(
            dtype=dtype,
            kind=kind_of(dtype) if dtype else None,
            strides=strides,
            storage=None if "copy" in args.keywords else path.new_storage(),
            storage_offset=0,
        )
        return ArrayValue(changed, owner.story)
    if callee.name == "copy":
        shape = facts.shape
        strides = None if shape is None else strides_in_order(shape, range(len(shape)))
        return ArrayValue(facts.but(strides=strides, storage=path.new_storage(), storage_offset=0), owner.story)
    if callee.name == "transpose" and facts.shape is not None:
        order = [as_int(value) for value in args.positional]
        axes = [axis for axis in order if axis is not None]
        geometry = views.permute(
            Geometry(facts.shape, facts.strides, facts.storage_offset), axes or tuple(reversed(range(len(facts.shape))))
        )
        if geometry is not None and len(axes) == len(order):
            return _same_way(owner, ArrayValue(facts.but(shape=geometry.shape, strides=geometry.strides), owner.story))
    if callee.name in ("transpose", "swapaxes"):
        return _same_way(owner, ArrayValue(facts.but(shape=None, strides=None), owner.story))
    if callee.name == "reshape" and facts.shape is not None:
        result = _reshaped(path, owner, args)
        _regrouped(path, node, owner, args)
        return result
    if callee.name in ("reshape", "squeeze", "view", "ravel", "flatten"):
        return ArrayValue(facts.but(shape=None, strides=None), owner.story)
    if callee.name == "tolist":
        return queries.nested(facts, True)
    if callee.name in numpy_elementwise.METHODS | numpy_reductions.METHODS:
        name = f"numpy.{callee.name}"
        return functions[name](Call(path, node, name, args.with_first(owner)))
    return Unknown(callee.name)


def _regrouped(path: Path, node: cst.CSTNode, owner: ArrayValue, args: Arguments) -> None:
    """An event of a reshape whose sizes are known."""
    given = args.positional
    listed = given[0] if len(given) == 1 and isinstance(given[0], Sequence) else Sequence(list(given))
    asked = as_dims(listed)
    if asked is None or len(args.keywords) or args.unknown_star:
        return
    origins = [each.origin if isinstance(each, Constant) else None for each in listed.items or ()]
    axes = tuple(None if each is None or each[0] is not owner else each[1] for each in origins)
    receiver = node.func.value if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) else None
    source = operand(path, TensorValue(owner.facts, owner.story), receiver)
    emit(path, "numpy.reshape", Form.METHOD, node, {"input": source, "shape": asked, "axes": axes}, (source,))


def _reshaped(path: Path, owner: ArrayValue, args: Arguments) -> ArrayValue:
    """`a.reshape(shape)`: of an array in C order it is a view in C order."""
    given = as_dims(args.get(0, "shape")) if len(args.positional) <= 1 else as_dims(Sequence(args.positional))
    number = as_int(args.get(0, "shape")) if given is None else None
    asked = (number,) if number is not None else given
    facts = owner.facts
    shape = (
        None
        if asked is None or facts.shape is None or "order" in args.keywords
        else questions.resolve_view_shape(facts.shape, asked)
    )
    row_major = None if facts.shape is None else strides_in_order(facts.shape, range(len(facts.shape)))
    if shape is None or facts.strides != row_major:
        return ArrayValue(facts.but(shape=shape, strides=None), owner.story)
    return ArrayValue(facts.but(shape=shape, strides=strides_in_order(shape, range(len(shape)))), owner.story)
