"""What an expression can evaluate to.

Values are mutable objects with identity, as in Python: when a condition or a call teaches something about a tensor, its
facts are refined in place and every name that refers to it knows. A path of execution owns all its values.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from stridelint.rules.contract import sizes
from stridelint.rules.contract.answers import Confidence
from stridelint.rules.contract.facts import Dim, Dims, TensorFacts

if TYPE_CHECKING:
    import libcst as cst

    from stridelint.linter.inference.scopes import Scope

_identities = itertools.count(1)

# Numbers of axes that are believed: each axis costs memory.
MAX_RANK = 64


class Value:
    """Base of all values. `identity` tells apart values that are not known."""

    def __init__(self) -> None:
        self.identity = next(_identities)


class Unknown(Value):
    """Anything. `tensor` is the tensor it would be if it is one: methods that tensors have are followed on it."""

    def __init__(self, why: str = "") -> None:
        super().__init__()
        self.why = why
        self.tensor: TensorValue | None = None
        self.attributes: dict[str, Value] = {}
        self.none: bool | None = None


class Constant(Value):
    """A Python number, string, bytes, bool, None or Ellipsis.

    origin: the tensor or array whose size it is, and the axis.
    """

    def __init__(self, value: Any, origin: tuple[Value, int] | None = None) -> None:
        super().__init__()
        self.value = value
        self.origin = origin


class SizeValue(Value):
    """A Python integer that is a symbolic size."""

    def __init__(self, size: sizes.Size) -> None:
        super().__init__()
        self.size = size


class Number(Value):
    """A Python number of a known kind ("bool", "integer", "float", "complex") but unknown value.

    fraction: it is computed in a way that gives fractions; a float may well be whole.
    told: a comparison told which number it is.
    origins: the numbers that it is computed from, and those that they are.
    """

    def __init__(self, kind: str, fraction: bool = False, computed_from: tuple[Value, ...] = ()) -> None:
        super().__init__()
        self.kind = kind
        self.fraction = fraction
        self.told = False
        parts = [each for each in computed_from if isinstance(each, Number)]
        self.origins: frozenset[Number] = frozenset().union(parts, *(each.origins for each in parts))

    @property
    def is_settled(self) -> bool:
        """Whether the path is about one number, `smooth == 0`, and this one follows from it: it may well be whole."""
        return self.told or any(each.told for each in self.origins)


class Condition(Value):
    """A truth value that is not known. `assume` refines what it is about once a path decides it."""

    def __init__(self, key: object, assume: Callable[[bool], None] | None = None, negated: bool = False) -> None:
        super().__init__()
        self.key = key
        self.assume = assume
        self.negated = negated


class Dtype(Value):
    """A torch.dtype, by torch's name ("float32")."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


class MemoryFormat(Value):
    """A torch.memory_format, by torch's name ("channels_last")."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


class Device(Value):
    """A torch.device ("cpu", "cuda:1")."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


Step: TypeAlias = "tuple[str, cst.CSTNode]"


@dataclass(frozen=True)
class Copied:
    """How a tensor that shares no memory with `source` came about: a copy made by `node`, so much is sure."""

    source: TensorValue
    node: cst.CSTNode
    confidence: Confidence


@dataclass(frozen=True)
class Raw:
    """A tensor whose memory `node` reads from one end to the other."""

    source: TensorValue
    node: cst.CSTNode


class TensorValue(Value):
    """A tensor.

    proven: it is a tensor for certain, not just used like one.
    story: (what happened, node) pairs, oldest first.
    base: the tensor it is a view of, or was made from; copied: told where it surely is a copy of one.
    raw: told where its numbers stand in the order in which they lie in the memory of others.
    known_sizes: sizes by axis (may be negative) asked for before the rank was known.
    whole: its numbers are whole, whatever its dtype.
    batched: it stands for the slices of a tensor that vmap maps over.
    made_by: the operator of the table whose result it is.
    written_by: the operator whose out= it was, and the call, unless something else was written since.
    """

    def __init__(self, facts: TensorFacts = TensorFacts(), story: tuple[Step, ...] = (), proven: bool = True) -> None:
        super().__init__()
        self.facts = facts
        self.story = story
        self.proven = proven
        self.known_sizes: dict[int, sizes.Size] = {}
        self.gradient: TensorValue | None = None
        self.is_parameter = False
        self.is_buffer = False
        self.base: TensorValue | None = None
        self.copied: Copied | None = None
        self.raw: tuple[Raw, ...] = ()
        self.name: str | None = None
        self.source: str = ""
        self.whole = False
        self.batched = False
        self.made_by = ""
        self.written_by: Step | None = None
        self.pending: list[Callable[[], None]] = []

    def prove(self) -> None:
        """Something happened that only tensors allow: events that waited for it are released."""
        if not self.proven:
            self.proven = True
            if self.base is not None:
                self.base.prove()
            waiting, self.pending = self.pending, []
            for release in waiting:
                release()

    def refine_rank(self, rank: int) -> None:
        """Its rank turns out to be `rank`: sizes asked for earlier keep their symbols. No code means a rank of a million."""
        if self.facts.shape is None and rank <= MAX_RANK:
            shape = tuple(
                self.known_sizes.get(axis) or self.known_sizes.get(axis - rank) or sizes.Size.fresh(f"size{axis}")
                for axis in range(rank)
            )
            self.facts = self.facts.but(shape=shape)


class ArrayValue(Value):
    """A numpy array; `facts` as of the tensor that shares its memory. `backwards`: it has a negative stride."""

    def __init__(self, facts: TensorFacts = TensorFacts(), story: tuple[Step, ...] = ()) -> None:
        super().__init__()
        self.facts = facts
        self.story = story
        self.backwards = False


class Sequence(Value):
    """A tuple or list. `items` None: unknown length, every element like `element` (made anew for each).

    fields: names of the items of a named tuple, such as torch's (values, indices).
    limit: of a deque, how many items it holds at most.
    """

    def __init__(
        self, items: list[Value] | None, kind: str = "tuple", element: Callable[[], Value] | None = None
    ) -> None:
        super().__init__()
        self.items = items
        self.kind = kind
        self.element = element
        self.fields: tuple[str, ...] = ()
        self.limit: int | None = None

    def fresh_element(self) -> Value:
        """An element about which only the kind is known."""
        return self.element() if self.element is not None else Unknown()


class ShapeOf(Value):
    """The shape of a tensor whose rank is not known."""

    def __init__(self, tensor: TensorValue) -> None:
        super().__init__()
        self.tensor = tensor


class Mapping(Value):
    """A dict. `open`: it may hold other keys too. `factory`: what makes the value of a key that is asked for first; `fill`: what
    puts in the entry of a key that is asked for, if there is one.

    element: makes what is like the values of those other keys, where something is known of all of them.
    """

    def __init__(self, entries: dict[Any, Value] | None = None, open: bool = False) -> None:
        super().__init__()
        self.entries = entries if entries is not None else {}
        self.open = open
        self.factory: Value | None = None
        self.element: Callable[[], Value] | None = None
        self.fill: Callable[[object], None] | None = None

    def has(self, key: object) -> bool:
        """Whether there is an entry of a key; not None."""
        if self.fill is not None and key is not None and key not in self.entries:
            self.fill(key)
        return key is not None and key in self.entries


def forget_items(container: Value) -> None:
    """What is in a dict under keys that are not known, or in a list, may be anything from now on."""
    if isinstance(container, Mapping):
        container.open, container.element = True, None
    elif isinstance(container, Sequence) and container.kind == "list":
        container.items, container.element = None, None


class Slice(Value):
    """`start:stop:step`."""

    def __init__(self, start: Value | None, stop: Value | None, step: Value | None) -> None:
        super().__init__()
        self.start, self.stop, self.step = start, stop, step


class External(Value):
    """Something from another module, by its dotted name ("torch.nn.functional.relu")."""

    def __init__(self, dotted: str) -> None:
        super().__init__()
        self.dotted = dotted


@dataclass(frozen=True)
class Transform:
    """What runs a function in another way: "vmap" (over these axes of its arguments) or "compile" (as one graph)."""

    kind: str
    in_dims: Value | None = None


class Transformer(Value):
    """`torch.compile(fullgraph=True)`, to be called with a function."""

    def __init__(self, transform: Transform) -> None:
        super().__init__()
        self.transform = transform


class Function(Value):
    """A function or lambda of the file, with the scope it closes over.

    defaults: of parameters, as they were where it was defined; None where that is not known to have been read.
    """

    def __init__(self, node: cst.FunctionDef | cst.Lambda, scope: Scope, owner: Class | None = None) -> None:
        super().__init__()
        self.node = node
        self.scope = scope
        self.owner = owner
        self.decorated = False
        self.grad_mode: GradMode | None = None
        self.transforms: tuple[Transform, ...] = ()
        self.defaults: dict[str, Value] | None = None

    def copy(self) -> Function:
        """The same function, to be changed."""
        made = Function(self.node, self.scope, self.owner)
        made.decorated, made.grad_mode = self.decorated, self.grad_mode
        made.transforms, made.defaults = self.transforms, self.defaults
        return made


class Partial(Value):
    """functools.partial."""

    def __init__(self, target: Value, args: list[Value], kwargs: dict[str, Value]) -> None:
        super().__init__()
        self.target, self.args, self.kwargs = target, args, kwargs


class Class(Value):
    """A class of the file. pending: names of its body that are being evaluated."""

    def __init__(self, node: cst.ClassDef, scope: Scope, bases: list[Value]) -> None:
        super().__init__()
        self.node = node
        self.scope = scope
        self.bases = bases
        self.attributes: dict[str, Value] = {}
        self.pending: set[str] = set()

    @property
    def name(self) -> str:
        """As written."""
        return self.node.name.value

    def linearized(self) -> list[Class]:
        """The class and its bases in this file, depth first."""
        found: list[Class] = [self]
        for base in self.bases:
            if isinstance(base, Class):
                found += [each for each in base.linearized() if each not in found]
        return found

    def externals(self) -> set[str]:
        """Dotted names of the bases that are not in this file."""
        return {base.dotted for cls in self.linearized() for base in cls.bases if isinstance(base, External)}

    def has_unknown_base(self) -> bool:
        """A base that could not be resolved."""
        return any(not isinstance(base, (Class, External)) for cls in self.linearized() for base in cls.bases)

    @property
    def is_module(self) -> bool:
        """A subclass of torch.nn.Module."""
        return any(name.startswith("torch.nn.") for name in self.externals())


class Instance(Value):
    """An object: of a class of the file, or (`cls` None) of an external class such as a torch.nn layer.

    hazy: attributes that may be something else by now. defaulted: those that rest on the default of a parameter.
    """

    def __init__(self, cls: Class | None, external: str = "") -> None:
        super().__init__()
        self.cls = cls
        self.external = external
        self.attributes: dict[str, Value] = {}
        self.config: dict[str, Value] = {}
        self.complete = True
        self.made_by: cst.CSTNode | None = None
        self.hazy: set[str] = set()
        self.defaulted: set[str] = set()
        self.transforms: tuple[Transform, ...] = ()

    @property
    def is_module(self) -> bool:
        """A torch.nn.Module."""
        return self.cls.is_module if self.cls is not None else self.external.startswith("torch.nn.")


class Context(Value):
    """What a function under @contextmanager returns.

    within: runs the function, and at its `yield` what it is given; that gets the value yielded.
    """

    def __init__(self, within: Callable[[Callable[[Value], None]], None]) -> None:
        super().__init__()
        self.within = within


class BoundMethod(Value):
    """`receiver.name`, to be called.

    function: the user's function it is, if any. beyond: for `super().name`, the external base class it belongs to.
    """

    def __init__(self, receiver: Value, name: str, function: Function | None = None, cls: Class | None = None) -> None:
        super().__init__()
        self.receiver = receiver
        self.name = name
        self.function = function
        self.cls = cls
        self.beyond = ""


class Super(Value):
    """`super()`: attribute look-up goes on after `cls`."""

    def __init__(self, instance: Value, cls: Class) -> None:
        super().__init__()
        self.instance = instance
        self.cls = cls


class GradMode(Value):
    """A context manager or decorator that sets the grad mode (None: unknown); inference mode counts as off."""

    def __init__(self, enabled: bool | None, previous: bool | None = None) -> None:
        super().__init__()
        self.enabled = enabled
        self.previous = previous


NONE = Constant(None)
TRUE = Constant(True)
FALSE = Constant(False)


def number(value: Dim, origin: tuple[Value, int] | None = None) -> Value:
    """A size as a Python integer."""
    return Constant(value, origin) if isinstance(value, int) else SizeValue(value)


def as_dim(value: Value | None) -> Dim | None:
    """A Python integer as a size, symbolic or not."""
    if isinstance(value, SizeValue):
        return value.size
    if isinstance(value, Constant) and isinstance(value.value, int):
        return int(value.value)
    return None


def as_int(value: Value | None) -> int | None:
    """A known Python integer."""
    dim = as_dim(value)
    return dim if isinstance(dim, int) else None


def as_dims(value: Value | None) -> Dims | None:
    """A tuple, list or torch.Size of integers."""
    if isinstance(value, Sequence) and value.items is not None:
        dims = [as_dim(item) for item in value.items]
        return None if any(dim is None for dim in dims) else tuple(dim for dim in dims if dim is not None)
    return None


def as_sizes(value: Value | None) -> Dims | None:
    """Several sizes where the code must mean integers: one that is not known is a symbol, the same each time."""
    if not isinstance(value, Sequence) or value.items is None:
        return None
    return tuple(as_size(item) for item in value.items)


def as_size(value: Value) -> Dim:
    """An integer, which the code must mean: one that is not known is a symbol, the same each time."""
    dim = as_dim(value)
    if dim is None and isinstance(value, Unknown):
        dim = as_dim(value.attributes.setdefault("int()", SizeValue(sizes.Size.fresh(value.why or "size"))))
    return sizes.Size.fresh("size") if dim is None else dim


def shape_value(dims: Dims, owner: Value | None = None) -> Sequence:
    """A torch.Size; of whose shape, if it is one."""
    return Sequence([number(dim, None if owner is None else (owner, axis)) for axis, dim in enumerate(dims)])


def is_none(value: Value | None) -> bool:
    """The constant None, or absent."""
    return value is None or (isinstance(value, Constant) and value.value is None)


@dataclass
class Arguments:
    """The evaluated arguments of a call, with the nodes they were written as.

    unknown_star: there are more, from a starred argument. defaulted: names whose value is a parameter's default.
    """

    positional: list[Value] = field(default_factory=list)
    keywords: dict[str, Value] = field(default_factory=dict)
    nodes: dict[int | str, cst.CSTNode] = field(default_factory=dict)
    unknown_star: bool = False
    defaulted: set[str] = field(default_factory=set)

    def get(self, index: int, *names: str) -> Value | None:
        """By position or keyword; None if not given."""
        if 0 <= index < len(self.positional):
            return self.positional[index]
        return next((self.keywords[name] for name in names if name in self.keywords), None)

    def rest(self, start: int) -> Arguments:
        """The arguments from position `start` on."""
        nodes = {
            (key - start if isinstance(key, int) else key): node
            for key, node in self.nodes.items()
            if not isinstance(key, int) or key >= start
        }
        return Arguments(self.positional[start:], self.keywords, nodes, self.unknown_star, self.defaulted)

    def with_first(self, value: Value, node: cst.CSTNode | None = None) -> Arguments:
        """The same with one more in front (a method's receiver)."""
        nodes: dict[int | str, cst.CSTNode] = {
            (key + 1 if isinstance(key, int) else key): each for key, each in self.nodes.items()
        }
        if node is not None:
            nodes[0] = node
        return Arguments([value, *self.positional], self.keywords, nodes, self.unknown_star, self.defaulted)
