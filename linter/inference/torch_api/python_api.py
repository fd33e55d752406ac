"""Python's own functions of containers, attributes and calls (see `python_numbers` for those of numbers)."""

from __future__ import annotations

import libcst as cst

from stridelint.linter.inference import elements, sample_steps
from stridelint.linter.inference.attributes import attribute, hold
from stridelint.linter.inference.dispatch import call_value
from stridelint.linter.inference.iteration import items_of
from stridelint.linter.inference.objects import Arguments, BoundMethod, Class, Function, Instance, Partial
from stridelint.linter.inference.operators import hashable
from stridelint.linter.inference.path import Finished
from stridelint.linter.inference.torch_api.registry import Call, function
from stridelint.linter.inference.values import (
    NONE,
    TRUE,
    Condition,
    Constant,
    External,
    Mapping,
    Sequence,
    ShapeOf,
    SizeValue,
    Slice,
    Unknown,
    Value,
    as_int,
    is_none,
)
from stridelint.rules.contract import sizes

MAX_RANGE = 64
MAX_REPEATED = 4


@function("builtins.range")
def range_(call: Call) -> Value:
    """`range(...)`: its numbers where they are known and few."""
    values = [as_int(value) for value in call.args.positional]
    if values and None not in values:
        numbers = range(*[value for value in values if value is not None][:3]) if 0 not in values[2:3] else range(0)
        if not numbers[MAX_RANGE:]:  # there may be more than `len` can count
            return Sequence(sample_steps.indices(call.args.positional[:2][-1], numbers), "list")
        return Sequence(None, "list", lambda: SizeValue(sizes.Size.fresh("index")))
    return Sequence(None, "list", lambda: SizeValue(sizes.Size.fresh("index")))


@function("builtins.slice")
def slice_(call: Call) -> Value:
    """`slice(stop)`, `slice(start, stop, step)`."""
    given = call.args.positional
    if call.args.unknown_star or not 0 < len(given) <= 3:
        return Unknown("slice")
    return Slice(None, given[0], None) if len(given) == 1 else Slice(*[*given, None][:3])


@function("builtins.enumerate")
def enumerate_(call: Call) -> Value:
    """`enumerate(x)`."""
    value = call.get(0, "iterable")
    items, exhaustive = items_of(call.path, value) if value is not None else ([], False)
    start = as_int(call.get(1, "start") or Constant(0))
    if exhaustive and start is not None:
        numbered = enumerate(items, start)
        return Sequence([Sequence([sample_steps.index_of(value, index), each]) for index, each in numbered], "list")
    if not items:
        return Sequence(None)
    first = items[0]
    return Sequence(
        None, "list", lambda: Sequence([SizeValue(sizes.Size.fresh("index")), elements.renewed(call.path, first)])
    )


@function("builtins.zip", "itertools.product")
def zip_(call: Call) -> Value:
    """`zip(a, b)`, `itertools.product(a, b)`."""
    repeat = call.args.keywords.get("repeat")
    times = 1 if repeat is None or call.name != "itertools.product" else as_int(repeat)
    if times is None or not 0 <= times <= MAX_REPEATED:
        return Sequence(None)
    parts = [items_of(call.path, value) for value in call.args.positional] * times
    if parts and all(exhaustive for _, exhaustive in parts) and not call.args.unknown_star:
        if call.name == "itertools.product":
            return _product(call, [items for items, _ in parts])
        return Sequence([Sequence(list(row)) for row in zip(*(items for items, _ in parts))], "list")
    if not parts or any(not items for items, _ in parts):
        return Sequence(None)
    firsts = [items[0] for items, _ in parts]
    return Sequence(None, "list", lambda: Sequence([elements.renewed(call.path, each) for each in firsts]))


def _product(call: Call, parts: list[list[Value]]) -> Value:
    if any(not items for items in parts):
        return Sequence([], "list")
    alike = [elements.like(call.path, items) for items in parts]
    rows: list[list[Value]] = [[]]
    for items in parts:
        rows = [[*row, each] for row in rows for each in items]
        if len(rows) > MAX_RANGE:
            return Sequence(None, "list", lambda: Sequence([each() for each in alike if each is not None]))
    return Sequence([Sequence(row) for row in rows], "list")


@function(
    "builtins.list",
    "builtins.tuple",
    "builtins.sorted",
    "builtins.reversed",
    "builtins.iter",
    "builtins.set",
    "builtins.frozenset",
    "torch.Size",
    "tqdm.tqdm",
    "tqdm.auto.tqdm",
)
def listed(call: Call) -> Value:
    """`list(x)`, `tuple(x)`: the items, in order where that is known."""
    value = call.get(0)
    kind = "tuple" if call.name in ("builtins.tuple", "torch.Size") else "list"
    if value is None:
        return Sequence([], kind)
    if isinstance(value, ShapeOf):
        return value
    if isinstance(value, Unknown):
        return Sequence(None, kind)
    items, exhaustive = items_of(call.path, value)
    if not exhaustive:
        return Sequence(None, kind, elements.like(call.path, items))
    if call.name == "builtins.reversed":
        items = items[::-1]
    if call.name in ("builtins.sorted", "builtins.set", "builtins.frozenset") and len(items) > 1:
        return _sorted(call, items, kind)
    return Sequence(items, kind)


@function("collections.deque")
def deque(call: Call) -> Value:
    """`deque(items, maxlen=3)`."""
    made, limit = listed(call), call.get(1, "maxlen")
    if not isinstance(made, Sequence) or is_none(limit):
        return made
    made.limit = as_int(limit)
    if made.items is not None and made.limit and made.limit > 0:
        del made.items[: -made.limit]
    elif made.items is not None:
        made.items = None
    return made


def _sorted(call: Call, items: list[Value], kind: str) -> Value:
    known = [each.value for each in items if isinstance(each, Constant)]
    if len(known) == len(items) and not call.args.keywords:
        try:
            return Sequence([Constant(each) for each in sorted(known)], kind)
        except TypeError:
            return Sequence(None, kind)
    if call.name == "builtins.sorted":
        return Sequence([elements.one_of(call.path, items) for _ in items], kind)
    return Sequence(None, kind)


@function("builtins.dict.fromkeys", "collections.OrderedDict.fromkeys")
def dict_of_keys(call: Call) -> Value:
    """`dict.fromkeys(keys, value)`: the same value for each."""
    keys, value = call.get(0, "iterable"), call.get(1, "value") or NONE
    items, exhaustive = items_of(call.path, keys) if keys is not None else ([], False)
    known = [hashable(each) for each in items]
    if not exhaustive or None in known:
        made = Mapping(open=True)
        made.element = lambda: value
        return made
    return Mapping(dict.fromkeys(known, value))


@function("builtins.dict", "collections.OrderedDict")
def dict_(call: Call) -> Value:
    """`dict(...)`."""
    result = Mapping(open=call.args.unknown_star)
    value = call.get(0)
    if isinstance(value, Mapping):
        result.entries.update(value.entries)
        result.open |= value.open
    elif value is not None:
        items, exhaustive = items_of(call.path, value)
        result.open |= not exhaustive
        for each in items if exhaustive else []:
            key = (
                hashable(each.items[0]) if isinstance(each, Sequence) and each.items and len(each.items) == 2 else None
            )
            if key is None or not isinstance(each, Sequence) or each.items is None:
                result.open = True
            else:
                result.entries[key] = each.items[1]
    result.entries.update(call.args.keywords)
    return result


@function("builtins.getattr")
def getattr_(call: Call) -> Value:
    """`getattr(x, "name", default)`."""
    owner, name = call.get(0), call.get(1)
    if owner is None or not isinstance(name, Constant) or not isinstance(name.value, str):
        return Unknown("getattr")
    if isinstance(owner, Instance) and call.get(2) is not None and name.value not in owner.attributes:
        return Unknown("getattr")
    return attribute(call.path, owner, name.value)


@function("builtins.setattr")
def setattr_(call: Call) -> Value:
    """`setattr(x, "name", value)`."""
    owner, name, value = call.get(0), call.get(1), call.get(2)
    if isinstance(owner, Instance) and value is not None:
        if isinstance(name, Constant) and isinstance(name.value, str):
            hold(call.path, owner, name.value, value)
        else:
            owner.complete = False
    return NONE


@function("builtins.hasattr")
def hasattr_(call: Call) -> Value:
    """`hasattr(x, "name")`."""
    owner, name = call.get(0), call.get(1)
    if isinstance(owner, Instance) and isinstance(name, Constant) and name.value in owner.attributes:
        return TRUE
    return Condition(("hasattr", owner.identity if owner else None, name.value if isinstance(name, Constant) else None))


@function("builtins.map")
def map_(call: Call) -> Value:
    """`map(f, items)`."""
    target, source = call.get(0), call.get(1)
    if target is None or source is None or not isinstance(call.node, cst.Call):
        return Sequence(None)
    items, exhaustive = items_of(call.path, source)
    results = [
        call_value(call.path, call.node, target, Arguments([each]))
        for each in (items[:MAX_RANGE] if exhaustive else items[:1])
    ]
    if exhaustive and len(items) <= MAX_RANGE:
        return Sequence(results, "list")
    return Sequence(None, "list", elements.like(call.path, results))


@function("builtins.next")
def next_(call: Call) -> Value:
    """`next(iterator)`: the first item, which the iterator has no more."""
    value = call.get(0)
    if isinstance(value, Sequence) and value.items is None:
        return value.fresh_element()
    return value.items.pop(0) if isinstance(value, Sequence) and value.items else call.get(1) or Unknown("next")


@function("random.choice")
def choice(call: Call) -> Value:
    """`random.choice(transforms)(x)`: of things that can be called the first one, or on a path that takes the other way the last."""
    value = call.get(0, "seq")
    items, exhaustive = items_of(call.path, value) if value is not None else ([], False)
    if not exhaustive or not items or not all(isinstance(each, _CALLABLE) for each in items):
        return Unknown("choice")
    call.path.met_chance |= len(items) > 1
    return items[-1 if call.path.otherwise else 0]


_CALLABLE = (BoundMethod, Class, External, Function, Instance, Partial)


@function("pytest.param")
def pytest_param(call: Call) -> Value:
    """`pytest.param(values, id=...)`."""
    return Sequence(list(call.args.positional), "pytest.param")


@function("torch.testing._internal.common_utils.subtest")
def subtest(call: Call) -> Value:
    """`subtest(values, name=...)` of torch's own parametrize."""
    return Sequence(list(call.args.positional[:1]), "subtest")


@function("functools.partial")
def partial(call: Call) -> Value:
    """`functools.partial(f, ...)`."""
    target = call.get(0)
    return Unknown() if target is None else Partial(target, call.args.positional[1:], call.args.keywords)


@function(
    "builtins.print", "warnings.warn", "builtins.id", "builtins.hash", "logging.info", "logging.warning", "gc.collect"
)
def nothing(call: Call) -> Value:
    """Functions without an effect on tensors."""
    return NONE


@function(
    "sys.exit",
    "builtins.exit",
    "builtins.quit",
    "os._exit",
    "pytest.skip",
    "pytest.fail",
    "pytest.exit",
    "pytest.xfail",
)
def leave(call: Call) -> Value:
    """The path ends here."""
    raise Finished
