"""Objects of classes of the file that derive from dict, which hold entries like one."""

from __future__ import annotations

from stridelint.linter.inference import elements
from stridelint.linter.inference.attributes import find_method
from stridelint.linter.inference.bindings import bound_names
from stridelint.linter.inference.dispatch import call_function
from stridelint.linter.inference.objects import Arguments, Instance
from stridelint.linter.inference.operators import hashable
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.values import ENTRIES, Mapping, Unknown, Value, forget_items
from stridelint.rules.forms.walking import walk

DICTS = frozenset({"builtins.dict", "collections.OrderedDict", "collections.defaultdict"})
_OF_ATTRIBUTES = frozenset({"__getattr__", "__getattribute__", "__setattr__"})
METHODS = frozenset({"clear", "get", "pop", "setdefault", "update", "values", "keys", "items", "copy"})


def entries(value: Value) -> Mapping | None:
    """The dict that an object is; None for other objects."""
    if not isinstance(value, Instance) or value.cls is None:
        return None
    found = value.attributes.get(ENTRIES)
    if found is None and not DICTS.isdisjoint(value.cls.externals()):
        hold(value, Mapping(open=not value.complete))
        return entries(value)
    if not isinstance(found, Mapping):
        return None
    if "__dict__" in value.attributes:  # `self.__dict__ = self`
        forget_items(found)
    return found


def hold(instance: Instance, kept: Mapping) -> None:
    """An object is this dict. One whose attributes may be its entries may hold anything."""
    instance.attributes[ENTRIES] = kept
    classes = instance.cls.linearized() if instance.cls is not None else []
    bound = {name for owner in classes for part in walk(owner.node.body) for name in bound_names(part)}
    if not bound.isdisjoint(_OF_ATTRIBUTES):
        forget_items(kept)


def put(path: Path, kept: Mapping, index: Value, value: Value) -> None:
    """A dict gets a value under a key."""
    key = hashable(index)
    if key is None:
        elements.stored(path, kept, value)
    else:
        kept.entries[key] = value


def look_up(path: Path, kept: Mapping, index: Value) -> Value:
    """What a dict holds under a key, as its own `__getitem__` finds it."""
    key = hashable(index)
    if kept.has(key):
        return kept.entries[key]
    made = elements.of_mapping(path, kept) if key is None else kept.element if kept.open else None
    return Unknown("item") if made is None else made()


def opened(instance: Instance) -> None:
    """Methods that are read later may have stored something in an object, or in those that it holds: what `__missing__` does not make."""
    forget_items(instance)
    for each in instance.attributes.values():
        if isinstance(each, Instance) and find_method(each, "__missing__") is None:
            forget_items(each)


def missing(path: Path, owner: Instance, kept: Mapping, index: Value) -> Value | None:
    """What its `__missing__` makes for a key that it may not hold; None if it holds it, or nothing is made."""
    key = hashable(index)
    method = None if kept.has(key) or kept.open else find_method(owner, "__missing__")
    if method is None:
        return None
    before = list(kept.entries.values()) if key is None else []
    made = call_function(path, None, method, Arguments([owner, index]))
    return elements.one_of(path, [*before, made])
