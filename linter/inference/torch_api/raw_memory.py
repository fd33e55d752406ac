"""Raw memory: pointers, storages, strides laid over a tensor; and where they are taken for row-major.

A pointer or storage is an object that remembers its tensor. What reads one as if its elements lay in the order of the
shape is an event "raw_memory"; its tensors are those whose memory is read, its site the expression that got at it.
"""

from __future__ import annotations

import re

import libcst as cst

from stridelint.linter.inference import number_ranges
from stridelint.linter.inference.bindings import dotted_name
from stridelint.linter.inference.objects import Arguments, BoundMethod, Function, Instance
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.torch_api.emit import emit, operand, plain
from stridelint.linter.inference.torch_api.registry import Call, method
from stridelint.linter.inference.values import (
    TRUE,
    ArrayValue,
    Constant,
    External,
    Raw,
    Sequence,
    TensorValue,
    Unknown,
    Value,
    as_dims,
)
from stridelint.rules.contract import generic, questions
from stridelint.rules.contract.answers import Answer
from stridelint.rules.contract.facts import Dims, TensorFacts
from stridelint.rules.events import Form, Operand
from stridelint.rules.forms.walking import walk

POINTER, STORAGE = "torch.data_ptr", "torch.storage"
# These wrap a pointer and read nothing.
_WRAPPERS = frozenset(
    "c_void_p c_uint64 c_int64 c_ulonglong c_longlong c_size_t POINTER cast addressof uint64 int64 intp int".split()
)
# What these make of one, `make_ptr(dtype, address)`, gets its strides elsewhere.
_MAKES_POINTER = re.compile(r"(?:^|_)(?:ptr|pointer)$", re.IGNORECASE)
# These compare, print or keep one.
_HARMLESS = frozenset(
    """print hex str repr format hash id bool len max min divmod isinstance append add discard remove get setdefault index count
    info debug warning error log assertEqual assertNotEqual assertTrue assertIs assertIn assertNotIn""".split()
)
_STORAGE_READERS = frozenset(
    "tensor as_tensor frombuffer FloatTensor DoubleTensor HalfTensor ByteTensor list bytes memoryview".split()
)


@method("data_ptr")
def data_ptr(call: Call) -> Value:
    """`x.data_ptr()`."""
    call.tensor.prove()
    number_ranges.exposed(call.path, call.tensor.facts)
    return handle(POINTER, call.tensor, call.node)


@method("untyped_storage", "storage", "typed_storage", "_typed_storage")
def storage(call: Call) -> Value:
    """`x.untyped_storage()`."""
    call.tensor.prove()
    number_ranges.exposed(call.path, call.tensor.facts)
    return handle(STORAGE, call.tensor, call.node)


def handle(kind: str, tensor: Value, node: cst.CSTNode) -> Instance:
    """An object that gives access to the memory of a tensor or array."""
    made = Instance(None, kind)
    made.attributes["tensor"] = tensor
    made.attributes["data"] = made
    made.config["node"] = Constant(node)
    return made


def storage_method(path: Path, node: cst.Call, receiver: Instance, name: str) -> Value:
    """A method of a storage or pointer."""
    tensor = receiver.attributes["tensor"]
    if name in ("data_ptr", "_data_ptr", "data_as"):
        return handle(POINTER, tensor, node)
    if name in ("tolist", "__iter__") and receiver.external == STORAGE:
        _read(path, [receiver])
    if name in ("untyped", "cpu", "clone", "_untyped_storage", "float", "byte", "double", "half", "cuda"):
        return handle(STORAGE, tensor, node)
    return Unknown(name)


def passed(path: Path, node: cst.CSTNode | None, callee: Value, args: Arguments) -> Value | None:
    """A call that gets pointers or storages; what it returns, where it only wraps one."""
    handles = _handles([*args.positional, *args.keywords.values()])
    if not handles or not isinstance(node, cst.Call):
        return None
    name = _called(callee)
    pointers = [each for each in handles if each.external == POINTER]
    if name in _WRAPPERS and pointers:
        return pointers[0]
    if not pointers:
        if isinstance(callee, External) and name in _STORAGE_READERS:
            _read(path, handles)
        return None
    if name in _HARMLESS or not name or _MAKES_POINTER.search(name) or _knows_strides(node):
        return None
    if isinstance(callee, Function) and not _hands_on(callee):
        return None
    if isinstance(callee, External) and callee.dotted.startswith(("torch.", "builtins.")):
        return None
    _read(path, pointers)
    for each in pointers:
        each.config["judged"] = TRUE  # what the called function does with it one by one says less
    return None


def _handles(values: list[Value]) -> list[Instance]:
    found: list[Instance] = []
    for value in values:
        if isinstance(value, Instance) and value.external in (POINTER, STORAGE):
            found.append(value)
        elif isinstance(value, Sequence) and value.items is not None:
            found += _handles(value.items)
    return found


def _called(callee: Value) -> str:
    if isinstance(callee, External):
        return callee.dotted.rpartition(".")[2]
    if isinstance(callee, BoundMethod):
        return callee.name
    if isinstance(callee, Function):
        return callee.node.name.value if isinstance(callee.node, cst.FunctionDef) else ""
    return "call" if isinstance(callee, Unknown) else ""


def _knows_strides(node: cst.Call) -> bool:
    """Strides are handed on as well."""
    return any(
        isinstance(each, cst.Name) and "stride" in each.value for arg in node.args for each in walk(arg, cst.Name)
    )


def _hands_on(function: Function) -> bool:
    """Some parameter gets into another call."""
    names = {param.name.value for param in (*function.node.params.posonly_params, *function.node.params.params)}
    for each in walk(function.node.body, cst.Call):
        if isinstance(each, cst.Call) and dotted_name(each.func).rpartition(".")[2] not in _HARMLESS:
            if any(
                isinstance(part, cst.Name) and part.value in names for arg in each.args for part in walk(arg, cst.Name)
            ):
                return True
    return False


def _read(path: Path, handles: list[Instance]) -> None:
    """Tell the rules that the memory of some tensors is read in one go."""
    tensors: list[Operand] = []
    nodes: list[cst.CSTNode] = []
    for handle in handles:
        tensor, node = handle.attributes["tensor"], handle.config["node"]
        if (
            isinstance(tensor, (TensorValue, ArrayValue))
            and isinstance(node, Constant)
            and "judged" not in handle.config
        ):
            tensors.append(_operand(path, tensor, _receiver(node.value)))
            nodes.append(node.value)
    if not tensors:
        return
    strides = {(each.facts.shape, each.facts.strides) for each in tensors}
    if len(tensors) > 1 and len(strides) == 1:
        return  # tensors of one layout: a kernel over their elements need not know it
    for read, where in zip(tensors, nodes):
        emit(path, "raw_memory", Form.METHOD, where, {"input": read}, (read,))


def _operand(path: Path, tensor: TensorValue | ArrayValue, node: cst.CSTNode | None) -> Operand:
    if isinstance(tensor, ArrayValue):
        tensor = TensorValue(tensor.facts, tensor.story)
    return operand(path, tensor, node)


def _receiver(node: cst.CSTNode) -> cst.CSTNode | None:
    while isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        node = node.func.value
        if not isinstance(node, cst.Call):
            break
    return node


@method("set_")
def set_(call: Call) -> Value:
    """`x.set_(storage, offset, size, stride)`: strides are row-major where none are given."""
    path, tensor = call.path, call.tensor
    source = call.get(0, "source")
    size, stride = as_dims(call.get(2, "size")), as_dims(call.get(3, "stride"))
    given = call.get(3, "stride") is not None
    facts = tensor.facts
    if isinstance(source, TensorValue) and size is None:
        tensor.facts = source.facts.but(dtype=facts.dtype or source.facts.dtype)
        tensor.base = None if source.is_part_of(tensor) else source
        number_ranges.exposed(path, tensor.facts)
        return tensor
    number_ranges.exposed(path, facts)
    strides = stride if given else None if size is None else generic.strides_in_order(size, range(len(size)))
    tensor.facts = facts.but(shape=size, strides=strides, storage_offset=None)
    owner = source.attributes["tensor"] if isinstance(source, Instance) and source.external == STORAGE else source
    if isinstance(owner, TensorValue):
        laid_over(path, owner, size, strides, call, tensor)
    return tensor


def laid_over(
    path: Path, source: TensorValue, size: Dims | None, strides: Dims | None, call: Call, result: TensorValue
) -> None:
    """New strides over a tensor's memory: an event where they are those of a row-major tensor."""
    facts, node = path.facts(source), call.node
    if not may_be_read(facts):
        return
    if size is None or (len(size) == 1 and strides == (1,)):
        result.raw = (Raw(source, node), *result.raw)
    elif facts.shape is not None and _supposes_row_major(facts, size, strides):
        tensor = operand(path, source, call.args.nodes.get("receiver") if source is call.tensor else None)
        emit(path, "raw_memory", Form.METHOD, node, {"input": tensor}, (tensor,))


def _supposes_row_major(facts: TensorFacts, size: Dims, strides: Dims | None) -> bool:
    """The strides are what a row-major tensor of the source's shape has, and not those it really has."""
    if facts.shape is None or facts.strides is None or strides is None:
        return False
    wanted = generic.strides_in_order(facts.shape, range(len(facts.shape)))
    telling = [stride for dim, stride in zip(facts.shape, wanted) if dim != 1]
    real = [stride for dim, stride in zip(facts.shape, facts.strides) if dim != 1]
    return set(telling) <= set(strides) and not set(real) <= set(strides) or (size, strides) == (facts.shape, wanted)


def may_be_read(facts: TensorFacts) -> bool:
    """The memory's order is known, and not that of the shape."""
    return questions.is_contiguous(facts, "contiguous_format").answer is Answer.NO


def shaped(path: Path, tensor: TensorValue, shape: Dims | None) -> None:
    """A flat tensor gets a shape: an event where its numbers were read in the memory order of a tensor of that shape."""
    if shape is None or len(shape) < 2:
        return
    for raw in raw_of(tensor):
        source = path.facts(raw.source)
        if source.shape == shape:
            tensor_read = _operand(path, raw.source, _receiver(raw.node))
            emit(path, "raw_memory", Form.METHOD, raw.node, {"input": tensor_read}, (tensor_read,))
            return


def raw_of(tensor: TensorValue | None) -> tuple[Raw, ...]:
    """The tensors in whose memory order a tensor's numbers stand."""
    while tensor is not None:
        if tensor.raw:
            return tensor.raw
        tensor = tensor.base
    return ()


def joined(args: Arguments) -> tuple[Raw, ...]:
    """What a concatenation holds of its parts."""
    parts = args.get(0, "tensors")
    items = parts.items if isinstance(parts, Sequence) and parts.items is not None else []
    return tuple(raw for each in items if isinstance(each, TensorValue) for raw in raw_of(each))


def flattened(path: Path, owner: ArrayValue, name: str, args: Arguments, node: cst.CSTNode) -> None:
    """`array.ravel(order="K")`: the elements as they lie in memory."""
    order = args.get(0, "order")
    if name not in ("ravel", "flatten") or not isinstance(order, Constant) or order.value != "K":
        return
    if may_be_read(owner.facts) and node not in path.program.once(path.program.module, _reduced, path.program.module):
        tensor = _operand(path, owner, _receiver(node))
        emit(path, "raw_memory", Form.METHOD, node, {"input": tensor, "order": plain(path, order)}, (tensor,))


_REDUCTIONS = frozenset("sum mean max min std var prod any all dot nbytes size".split())


def _reduced(module: cst.Module) -> set[cst.CSTNode]:
    """Expressions of which only a sum, a maximum or the like is taken: the order does not matter."""
    return {
        each.value
        for each in walk(module, cst.Attribute)
        if isinstance(each, cst.Attribute) and each.attr.value in _REDUCTIONS
    }
