"""Objects of `typing.NamedTuple` classes and of `collections.namedtuple`, where they are used as the tuples they are."""

from __future__ import annotations

from collections.abc import Sequence as Items

import libcst as cst

from stridelint.linter.inference.objects import Arguments, Class, Instance
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.values import Constant, Mapping, Sequence, Unknown, Value

METHODS = frozenset({"_make", "_replace", "_asdict"})


def is_one(cls: Class | None) -> bool:
    """A class of the file that derives from `typing.NamedTuple`."""
    return cls is not None and bool(cls.bases) and "typing.NamedTuple" in cls.externals()


def fields_of(cls: Class) -> tuple[str, ...]:
    """The names of its fields, in order."""
    return tuple(
        small.target.value
        for owner in reversed(cls.linearized())
        for statement in owner.node.body.body
        for small in (statement.body if isinstance(statement, cst.SimpleStatementLine) else ())
        if isinstance(small, cst.AnnAssign) and isinstance(small.target, cst.Name)
    )


def as_sequence(value: Value) -> Sequence | None:
    """The tuple that an object is; None for other objects."""
    if not isinstance(value, Instance) or value.cls is None or not is_one(value.cls):
        return None
    names = fields_of(value.cls)
    made = Sequence([value.attributes.get(name) or Unknown(name) for name in names])
    made.fields = names
    return made


def names_value(names: Items[str]) -> Value:
    """`_fields`."""
    return Sequence([Constant(name) for name in names])


def method(path: Path, node: cst.Call, receiver: Value, name: str, args: Arguments) -> Value:
    """`Point._make(items)`, `point._replace(x=1)`, `point._asdict()`."""
    from stridelint.linter.inference.calls import instantiate
    from stridelint.linter.inference.iteration import items_of

    if isinstance(receiver, Class):
        given = args.get(0, "iterable")
        items, complete = items_of(path, given) if given is not None else ([], False)
        return instantiate(path, node, receiver, Arguments(items if complete else [], unknown_star=not complete))
    parts = receiver if isinstance(receiver, Sequence) else as_sequence(receiver)
    if parts is None or parts.items is None:
        return Unknown(name)
    values = dict(zip(parts.fields, parts.items))
    if name == "_asdict":
        return Mapping(dict(values))
    if name != "_replace" or not args.keywords.keys() <= values.keys():
        return Unknown(name)
    values.update({key: Unknown(key) for key in values} if args.unknown_star else args.keywords)
    if isinstance(receiver, Instance):
        made = Instance(receiver.cls)
        made.attributes.update(values)
        return made
    changed = Sequence(list(values.values()))
    changed.fields = parts.fields
    return changed
