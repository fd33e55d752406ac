"""What a torch.nn.Module holds: the items of containers, the modules in it, its parameters and buffers."""

from __future__ import annotations

from stridelint.linter.inference.objects import Instance
from stridelint.linter.inference.values import Constant, Mapping, Slice, TensorValue, Unknown, Value, as_int, is_none

# The attribute in which a container keeps its items.
ITEMS = "[items]"
# They hold the module that they call as `module`.
WRAPPERS = frozenset({"DataParallel", "DistributedDataParallel", "FullyShardedDataParallel"})


def entries_of(instance: Instance) -> dict[object, Value] | None:
    """The members of a container by key."""
    found = instance.attributes.get(ITEMS)
    return found.entries if isinstance(found, Mapping) else None


def sliced(instance: Instance, index: Slice) -> Value:
    """`layers[:-1]` of a ModuleList or Sequential: another one with some of its members."""
    entries = entries_of(instance)
    bounds = [None if is_none(each) else as_int(each) for each in (index.start, index.stop, index.step)]
    given = [not is_none(each) for each in (index.start, index.stop, index.step)]
    if (
        entries is None
        or instance.cls is not None
        or bounds[2] == 0
        or any(known is None and there for known, there in zip(bounds, given, strict=True))
    ):
        return Unknown("item")
    made = Instance(None, instance.external)
    made.complete = instance.complete
    made.attributes[ITEMS] = Mapping(dict(enumerate(list(entries.values())[slice(*bounds)])))
    return made


def child_modules(instance: Instance) -> list[Value] | None:
    """The items that iterating over a container gives."""
    entries = entries_of(instance)
    if entries is None:
        return None
    return [Constant(key) for key in entries] if instance.external.endswith("Dict") else list(entries.values())


def submodules(instance: Instance) -> list[tuple[str, Instance]]:
    """Direct children with their names."""
    found = [
        (name, value) for name, value in instance.attributes.items() if isinstance(value, Instance) and value.is_module
    ]
    return found + [
        (str(name), value)
        for name, value in (entries_of(instance) or {}).items()
        if isinstance(value, Instance) and value.is_module
    ]


def named_tensors(instance: Instance, prefix: str = "", seen: set[int] | None = None) -> list[tuple[str, TensorValue]]:
    """Parameters and buffers of a module and its children."""
    seen = set() if seen is None else seen
    if instance.identity in seen:
        return []
    seen.add(instance.identity)
    found = [
        (prefix + name, value)
        for name, value in instance.attributes.items()
        if isinstance(value, TensorValue) and (value.is_parameter or value.is_buffer)
    ]
    for name, child in submodules(instance):
        found += named_tensors(child, f"{prefix}{name}.", seen)
    return found


def descendants(instance: Instance, prefix: str = "", depth: int = 0) -> list[tuple[str, Instance]]:
    """All modules in a module, with their dotted names."""
    found: list[tuple[str, Instance]] = []
    for name, child in submodules(instance) if depth < 8 else []:
        found.append((prefix + name, child))
        found += descendants(child, f"{prefix}{name}.", depth + 1)
    return found
