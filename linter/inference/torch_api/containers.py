"""Methods of lists, tuples, dicts and strings."""

from __future__ import annotations

from collections.abc import Callable

from stridelint.linter.inference import elements
from stridelint.linter.inference.iteration import items_of, key_value
from stridelint.linter.inference.objects import Arguments, BoundMethod, Instance
from stridelint.linter.inference.operators import hashable
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.values import (
    NONE,
    Constant,
    Mapping,
    Number,
    Sequence,
    TensorValue,
    Unknown,
    Value,
    as_dim,
    as_int,
    is_none,
    number,
)
from stridelint.rules.contract import sizes

_REORDERING = frozenset({"insert", "remove", "sort", "reverse", "clear", "extendleft", "rotate"})


_POSITIONS = frozenset({"index", "rindex", "find", "rfind", "count"})


def container_method(path: Path, callee: BoundMethod, args: Arguments) -> Value:
    """A method of a list, tuple, dict or string."""
    handler = _CONTAINER.get((type(callee.receiver), callee.name))
    if handler is not None:
        return handler(path, callee.receiver, args)
    if isinstance(callee.receiver, Constant) and isinstance(callee.receiver.value, str):
        return _string_method(callee.receiver.value, callee.name, args)
    if isinstance(callee.receiver, Sequence) and callee.name in _REORDERING:
        callee.receiver.items, callee.receiver.element = None, None
    return Unknown(callee.name)


def _string_method(text: str, name: str, args: Arguments) -> Value:
    plain = [value.value for value in map(_plain, args.positional) if isinstance(value, Constant)]
    if len(plain) == len(args.positional) and name in (
        "lower",
        "upper",
        "strip",
        "startswith",
        "endswith",
        "replace",
        "split",
        "lstrip",
        "rstrip",
        "removeprefix",
        "removesuffix",
        "capitalize",
        *_POSITIONS,
    ):
        try:
            result = getattr(text, name)(*plain)
        except (TypeError, ValueError):
            return Unknown()
        return Sequence([Constant(each) for each in result], "list") if isinstance(result, list) else Constant(result)
    return Number("integer") if name in _POSITIONS else Unknown("string")


def _plain(value: Value) -> Value:
    """The choices of `name.endswith(("weight", "bias"))` as one constant."""
    if isinstance(value, Sequence) and value.kind == "tuple" and value.items is not None:
        parts = [each.value for each in value.items if isinstance(each, Constant)]
        return Constant(tuple(parts)) if len(parts) == len(value.items) else value
    return value


def _index(path: Path, owner: Value, args: Arguments) -> Value:
    found = _places(owner, args)
    return Constant(found[0]) if found else Number("integer")


def _count(path: Path, owner: Value, args: Arguments) -> Value:
    found = _places(owner, args)
    return Number("integer") if found is None else Constant(len(found))


def _places(owner: Value, args: Arguments) -> list[int] | None:
    """Where an item stands in a list; None where that is not known."""
    assert isinstance(owner, Sequence)
    if owner.items is None or len(args.positional) != 1:
        return None
    values = [*owner.items, args.positional[0]]
    *keys, wanted = [None if isinstance(each, (TensorValue, Instance)) else hashable(each) for each in values]
    if wanted is None or None in keys:  # objects may be equal to others
        return None
    return [place for place, key in enumerate(keys) if key == wanted]


def _append(path: Path, owner: Value, args: Arguments) -> Value:
    assert isinstance(owner, Sequence)
    value = args.get(0)
    if owner.items is not None and value is not None:
        owner.items.append(elements.put(owner, value))
        _drop_first(owner)
        _grows(path, owner)
    elif value is not None:
        elements.added(path, owner, [elements.put(owner, value)])
    return NONE


def _append_left(path: Path, owner: Value, args: Arguments) -> Value:
    assert isinstance(owner, Sequence)
    value = args.get(0)
    if owner.items is not None and value is not None:
        owner.items.insert(0, elements.put(owner, value))
        if owner.limit is not None:
            del owner.items[owner.limit :]
        _grows(path, owner)
    elif value is not None:
        elements.added(path, owner, [elements.put(owner, value)])
    return NONE


def _pop_left(path: Path, owner: Value, args: Arguments) -> Value:
    return _pop(path, owner, Arguments([Constant(0)]))


def _drop_first(owner: Sequence) -> None:
    """A deque that is full drops what it got first."""
    if owner.items is not None and owner.limit is not None:
        del owner.items[: -owner.limit]


def _grows(path: Path, owner: Sequence) -> None:
    """In a loop of unknown length, a list ends up with an unknown number of items."""
    if path.grown is not None and owner not in path.grown:
        path.grown.append(owner)


def _extend(path: Path, owner: Value, args: Arguments) -> Value:
    assert isinstance(owner, Sequence)
    value = args.get(0)
    items, exhaustive = items_of(path, value) if value is not None else ([], False)
    items = [elements.put(owner, each) for each in items]
    if owner.items is None:
        elements.added(path, owner, items)
    owner.items = [*owner.items, *items] if exhaustive and owner.items is not None else None
    _drop_first(owner)
    _grows(path, owner)
    return NONE


def _pop(path: Path, owner: Value, args: Arguments) -> Value:
    if isinstance(owner, Sequence):
        position = -1 if args.get(0) is None else as_int(args.get(0))
        if owner.items is not None and position is not None and -len(owner.items) <= position < len(owner.items):
            return owner.items.pop(position)
        if owner.items is not None and position is None:
            owner.items = None
        return Unknown("pop") if owner.items is not None else owner.fresh_element()
    return _get(path, owner, args)


def _get(path: Path, owner: Value, args: Arguments) -> Value:
    assert isinstance(owner, Mapping)
    first = args.get(0)
    key = None if first is None else hashable(first)
    if owner.has(key):
        return owner.entries[key]
    default = args.get(1, "default")
    if key is not None and not owner.open:
        return default or NONE
    others = [] if default is None or is_none(default) else [default]
    made = elements.of_mapping(path, owner, *others) if key is None else elements.of_other_keys(path, owner, *others)
    return Unknown("get") if made is None else made()


def _setdefault(path: Path, owner: Value, args: Arguments) -> Value:
    assert isinstance(owner, Mapping)
    first, default = args.get(0), elements.put(owner, args.get(1) or NONE)
    key = None if first is None else hashable(first)
    if key is None or owner.open:
        elements.stored(path, owner, default)
        made = elements.of_mapping(path, owner)
        return Unknown("setdefault") if made is None else made()
    return owner.entries.setdefault(key, default)


def _update(path: Path, owner: Value, args: Arguments) -> Value:
    assert isinstance(owner, Mapping)
    other = args.get(0)
    if isinstance(other, Mapping):
        owner.entries.update({key: elements.put(owner, each) for key, each in other.entries.items()})
        if other.open and other.element is not None:
            elements.stored(path, owner, other.element())
        elif other.open:
            owner.open, owner.element = True, None
    elif other is not None:
        owner.open, owner.element = True, None
        owner.entries.clear()
    owner.entries.update({key: elements.put(owner, each) for key, each in args.keywords.items()})
    return NONE


def _values(path: Path, owner: Value, args: Arguments) -> Value:
    assert isinstance(owner, Mapping)
    return (
        Sequence(list(owner.entries.values()), "list")
        if not owner.open
        else Sequence(None, "list", elements.of_mapping(path, owner))
    )


def _clear(path: Path, owner: Value, args: Arguments) -> Value:
    assert isinstance(owner, Mapping)
    owner.entries.clear()
    owner.open, owner.element = False, None
    return NONE


def _keys(path: Path, owner: Value, args: Arguments) -> Value:
    assert isinstance(owner, Mapping)
    return Sequence([key_value(key) for key in owner.entries], "list") if not owner.open else Sequence(None)


def _items(path: Path, owner: Value, args: Arguments) -> Value:
    assert isinstance(owner, Mapping)
    pairs: list[Value] = [Sequence([key_value(key), value]) for key, value in owner.entries.items()]
    made = elements.of_mapping(path, owner) if owner.open else None
    if made is not None:
        return Sequence(None, "list", lambda: Sequence([Unknown("key"), made()]))
    return Sequence(pairs, "list") if not owner.open else Sequence(None)


def _copy(path: Path, owner: Value, args: Arguments) -> Value:
    if isinstance(owner, Sequence):
        return Sequence(None if owner.items is None else list(owner.items), owner.kind, owner.element)
    assert isinstance(owner, Mapping)
    copied = Mapping(dict(owner.entries), owner.open)
    copied.factory, copied.element = owner.factory, owner.element
    return copied


def _numel(path: Path, owner: Value, args: Arguments) -> Value:
    assert isinstance(owner, Sequence)
    dims = [as_dim(each) for each in owner.items or []]
    return (
        Unknown()
        if owner.items is None or None in dims
        else number(sizes.product(tuple(dim for dim in dims if dim is not None)))
    )


_CONTAINER: dict[tuple[type[Value], str], Callable[[Path, Value, Arguments], Value]] = {
    (Sequence, "append"): _append,
    (Sequence, "extend"): _extend,
    (Sequence, "pop"): _pop,
    (Sequence, "appendleft"): _append_left,
    (Sequence, "popleft"): _pop_left,
    (Sequence, "copy"): _copy,
    (Sequence, "numel"): _numel,
    (Sequence, "index"): _index,
    (Sequence, "count"): _count,
    (Mapping, "get"): _get,
    (Mapping, "pop"): _pop,
    (Mapping, "setdefault"): _setdefault,
    (Mapping, "update"): _update,
    (Mapping, "clear"): _clear,
    (Mapping, "values"): _values,
    (Mapping, "keys"): _keys,
    (Mapping, "items"): _items,
    (Mapping, "copy"): _copy,
}
