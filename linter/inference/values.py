"""What an expression can evaluate to: data here, what runs code in `objects`.

Values are mutable objects with identity, as in Python: when a condition or a call teaches something about a tensor, its
facts are refined in place and every name that refers to it knows. A path of execution owns all its values.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from stridelint.rules.contract import sizes
from stridelint.rules.contract.answers import Confidence
from stridelint.rules.contract.facts import Dim, Dims, TensorFacts

if TYPE_CHECKING:
    import libcst as cst

_identities = itertools.count(1)

# Numbers of axes that are believed: each axis costs memory.
MAX_RANK = 64


class Value:
    """Base of all values."""

    @functools.cached_property
    def identity(self) -> int:
        """Tells apart values that are not known. Few are ever asked for it."""
        return next(_identities)


class Unknown(Value):
    """Anything. `tensor` is the tensor it would be if it is one: methods that tensors have are followed on it."""

    def __init__(self, why: str = "") -> None:
        self.why = why
        self.tensor: TensorValue | None = None
        self.attributes: dict[str, Value] = {}
        self.none: bool | None = None


class Constant(Value):
    """A Python number, string, bytes, bool, None or Ellipsis.

    origin: the tensor or array whose size it is, and the axis.
    along: it hangs on the index or the number of samples of this batch, which has one; and by how much it grows from one to the
        next, where that is known.
    """

    def __init__(self, value: Any, origin: tuple[Value, int] | None = None) -> None:
        self.value = value
        self.origin = origin
        self.along: tuple[Value, int | None] | None = None


class SizeValue(Value):
    """A Python integer that is a symbolic size."""

    def __init__(self, size: sizes.Size) -> None:
        self.size = size


class Number(Value):
    """A Python number of a known kind ("bool", "integer", "float", "complex") but unknown value.

    fraction: it is computed in a way that gives fractions; a float may well be whole.
    told: a comparison told which number it is.
    origins: the numbers that it is computed from, and those that they are.
    """

    def __init__(self, kind: str, fraction: bool = False, computed_from: tuple[Value, ...] = ()) -> None:
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
        self.key = key
        self.assume = assume
        self.negated = negated


class Dtype(Value):
    """A torch.dtype, by torch's name ("float32")."""

    def __init__(self, name: str) -> None:
        self.name = name


class MemoryFormat(Value):
    """A torch.memory_format, by torch's name ("channels_last")."""

    def __init__(self, name: str) -> None:
        self.name = name


class Device(Value):
    """A torch.device ("cpu", "cuda:1")."""

    def __init__(self, name: str) -> None:
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
    is_persistent: a buffer that is in the state dict.
    """

    def __init__(self, facts: TensorFacts = TensorFacts(), story: tuple[Step, ...] = (), proven: bool = True) -> None:
        self.facts = facts
        self.story = story
        self.proven = proven
        self.known_sizes: dict[int, sizes.Size] = {}
        self.gradient: TensorValue | None = None
        self.is_parameter = False
        self.is_buffer = False
        self.is_persistent = True
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

    def is_part_of(self, whole: Value | None) -> bool:
        """It is a tensor, a view of it or made from it."""
        part: TensorValue | None = self
        while part is not None and part is not whole:
            part = part.base
        return part is not None

    def refine_rank(self, rank: int) -> None:
        """Its rank turns out to be `rank`: sizes asked for earlier keep their symbols. No code means a rank of a million."""
        if self.facts.shape is None and rank <= MAX_RANK:
            shape = tuple(
                self.known_sizes.get(axis) or self.known_sizes.get(axis - rank) or sizes.Size.fresh(f"size{axis}")
                for axis in range(rank)
            )
            self.facts = self.facts.but(shape=shape)


class ArrayValue(Value):
    """A numpy array; `facts` as of the tensor that shares its memory.

    backwards: it has a negative stride. turned: along which axes it runs backwards; None where that is not known.
    tensor: the one whose memory it is, all of it.
    """

    def __init__(
        self, facts: TensorFacts = TensorFacts(), story: tuple[Step, ...] = (), tensor: TensorValue | None = None
    ) -> None:
        self.facts = facts
        self.story = story
        self.tensor = tensor
        self.backwards = False
        self.turned: frozenset[int] | None = frozenset()


class Sequence(Value):
    """A tuple or list. `items` None: unknown length, every element like `element` (made anew for each).

    fields: names of the items of a named tuple, such as torch's (values, indices).
    limit: of a deque, how many items it holds at most.
    """

    def __init__(
        self, items: list[Value] | None, kind: str = "tuple", element: Callable[[], Value] | None = None
    ) -> None:
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
        self.tensor = tensor


class Mapping(Value):
    """A dict. `open`: it may hold other keys too. `factory`: what makes the value of a key that is asked for first; `fill`: what
    puts in the entry of a key that is asked for, if there is one.

    element: makes what is like the values of those other keys, where something is known of all of them.
    """

    def __init__(self, entries: dict[Any, Value] | None = None, open: bool = False) -> None:
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


# The attribute in which an object that is a dict keeps what it holds.
ENTRIES = "[entries]"


def forget_items(container: Value) -> None:
    """What is in a dict under keys that are not known, or in a list, may be anything from now on."""
    container = getattr(container, "attributes", {}).get(ENTRIES, container)
    if isinstance(container, Mapping):
        container.open, container.element = True, None
    elif isinstance(container, Sequence) and container.kind == "list":
        container.items, container.element = None, None


class Slice(Value):
    """`start:stop:step`."""

    def __init__(self, start: Value | None, stop: Value | None, step: Value | None) -> None:
        self.start, self.stop, self.step = start, stop, step


class External(Value):
    """Something from another module, by its dotted name ("torch.nn.functional.relu")."""

    def __init__(self, dotted: str) -> None:
        self.dotted = dotted


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
