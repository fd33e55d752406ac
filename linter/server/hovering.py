"""The hover on an expression: what the interpreter knows of the tensor there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import libcst as cst

from stridelint.linter.inference.values import (
    ArrayValue,
    Constant,
    Sequence as SequenceValue,
    SizeValue,
    TensorValue,
    Value,
)
from stridelint.linter.server import describing
from stridelint.linter.server.looking import Sighting, sightings, tensor_of
from stridelint.linter.server.markdown import code, prose, table
from stridelint.linter.server.tree import Place, Tree
from stridelint.rules.contract.facts import TensorFacts

MAX_VARIANTS = 3
MAX_ITEMS = 4
MAX_STEPS = 4


class Hover(NamedTuple):
    """Markdown about the expression at a place."""

    text: str
    place: Place


class Story(NamedTuple):
    """One step of what a tensor went through: the line, what happened, the code that did it."""

    line: int
    what: str
    code: str


class Variant(NamedTuple):
    """What a value is where the calls of one origin led.

    origin: "" for the function read on its own. borrowed: the rows that only the call tells.
    """

    origin: str
    kind: str
    rows: Mapping[str, str]
    story: tuple[Story, ...]
    assumed: bool
    borrowed: tuple[str, ...] = ()


def hover(tree: Tree, line: int, column: int) -> Hover | None:
    """What is known at a character (line from 1, column from 0); None where nothing can be told of a tensor."""
    node = tree.at(line, column)
    nodes = [] if node is None else list(_candidates(tree, node))
    for each, seen in zip(nodes, sightings(tree, nodes) if nodes else ()):
        place, variants = tree.place(each), _variants(tree, seen)
        if variants and place is not None:
            return Hover(_text(tree, each, variants), place)
    return None


def _candidates(tree: Tree, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A node, then what it is a part of if it is no tensor itself (`F` of `F.relu(x)`: the call), then whose attribute it is."""
    yield node
    below = node
    for above in tree.above(node)[1:]:
        if not (isinstance(above, cst.Attribute) or (isinstance(above, cst.Call) and above.func is below)):
            break
        yield above
        below = above
    if isinstance(node, cst.Attribute):
        yield node.value


def _variants(tree: Tree, seen: Iterable[Sighting]) -> list[Variant]:
    """One description for each origin; the paths of one origin are put together, and so are origins that agree."""
    by_origin: dict[str, list[Sighting]] = {}
    for sighting in seen:
        by_origin.setdefault(_origin(tree, sighting), []).append(sighting)
    variants = [one for origin, found in by_origin.items() if (one := _variant(tree, origin, found)) is not None]
    informed = [each for each in variants if each.rows]
    if informed and len(informed) < len(variants):
        variants = informed  # what a caller passes says more than the function on its own
    distinct: dict[object, Variant] = {}
    for variant in variants:
        distinct.setdefault((variant.kind, tuple(sorted(variant.rows.items()))), variant)
    return _few(list(distinct.values()))


def _few(variants: list[Variant]) -> list[Variant]:
    """Not more than can be shown: what only a caller adds joins what the function says itself; many callers are one."""
    own = [each for each in variants if not each.origin]
    called = [each for each in variants if each.origin]
    if len(own) == len(called) == 1 and own[0].rows.items() <= called[0].rows.items():
        return [called[0]._replace(borrowed=tuple(row for row in called[0].rows if row not in own[0].rows))]
    if len(variants) <= MAX_VARIANTS:
        return variants
    kinds = {each.kind for each in called}
    together = describing.joined([each.rows for each in called])
    kind = kinds.pop() if len(kinds) == 1 else "differs"
    return [*own, Variant(f"in {len(called)} calls", kind, together, (), any(each.assumed for each in called))]


def _origin(tree: Tree, seen: Sighting) -> str:
    if seen.caller is None:
        return ""
    call, caller = seen.caller
    place = tree.place(call)
    return f"called by {_name(tree, caller)}" + (f", line {place.line}" if place is not None else "")


def _name(tree: Tree, caller: cst.CSTNode) -> str:
    if not isinstance(caller, cst.FunctionDef):
        return "the module" if isinstance(caller, cst.Module) else "a lambda"
    around = [each.name.value for each in tree.above(caller) if isinstance(each, (cst.FunctionDef, cst.ClassDef))]
    return code(".".join(reversed(around)))


def _variant(tree: Tree, origin: str, seen: Sequence[Sighting]) -> Variant | None:
    told = [_told(tree, each) for each in seen]
    kinds = list(dict.fromkeys(kind for kind, _, _ in told))
    if not set(kinds) - _NOT_TOLD:
        return None
    something = [each for each in told if each[0] != "None"]
    alike = len({kind for kind, _, _ in something}) == 1
    rows = describing.joined([rows for _, rows, _ in something]) if alike else {}
    stories = {story for _, _, story in something}
    kind = " or ".join(kinds) if len(kinds) < 4 else "differs"
    return Variant(origin, kind, rows, stories.pop() if len(stories) == 1 else (), any(each.assumed for each in seen))


# Kinds of which nothing is shown by themselves.
_NOT_TOLD = frozenset({"None", "something else"})
_Told = tuple[str, dict[str, str], tuple[Story, ...]]


def _told(tree: Tree, seen: Sighting) -> _Told:
    """What kind of thing a value is, its rows, its story."""
    value = seen.value
    tensor = tensor_of(value)
    if tensor is not None:
        rows = describing.rows(_learnt(seen.facts, tensor))
        if not tensor.proven and not rows:
            return "something else", {}, ()
        owner = _memory(tensor)
        if owner:
            rows[describing.MEMORY] = owner
        kind = "Parameter" if tensor.is_parameter else "Tensor"
        return kind if tensor.proven else f"{kind}, if it is one", rows, _story(tree, tensor)
    if isinstance(value, ArrayValue):
        rows = describing.rows(value.facts.but(requires_grad=None))
        return "numpy array, strides in elements", rows, _story(tree, value)
    if isinstance(value, SizeValue):
        return "int", {"value": code(str(value.size))} if value.size.symbol is None else {}, ()
    if isinstance(value, Constant) and value.origin is not None:
        return "int", {"value": code(str(value.value))}, ()
    if isinstance(value, SequenceValue) and value.items and any(tensor_of(each) for each in value.items):
        return value.kind, {str(index): _short(each) for index, each in enumerate(value.items[:MAX_ITEMS])}, ()
    return ("None" if isinstance(value, Constant) and value.value is None else "something else"), {}, ()


def _learnt(facts: TensorFacts, tensor: TensorValue) -> TensorFacts:
    """The facts with a shape that the code told only after they were seen, such as by `n, c, h, w = x.shape`.

    A shape alone is learnt; what changes a tensor in place says something of its strides as well, or that it was written.
    """
    now = tensor.facts
    rest = now.but(shape=None, storage=None) == facts.but(storage=None)
    return now if facts.shape is None and tensor.written_by is None and rest else facts


def _memory(tensor: TensorValue) -> str:
    """Whose memory it shares."""
    base = tensor.base
    if base is None or base.facts.storage is None or base.facts.storage != tensor.facts.storage:
        return "a buffer of the module" if tensor.is_buffer else ""
    while not _is_named(base) and base.base is not None and base.base.facts.storage == tensor.facts.storage:
        base = base.base
    if not _is_named(base):
        return "a view of another tensor"
    return f"a view of {'an earlier ' * (base.name == tensor.name)}{code(base.name or '')}"


def _is_named(tensor: TensorValue) -> bool:
    return tensor.name is not None and not describing.NAMELESS.fullmatch(tensor.name)


def _short(value: Value) -> str:
    tensor = tensor_of(value)
    if tensor is None:
        return "something else"
    rows = describing.rows(tensor.facts)
    told = (describing.SHAPE, describing.LAYOUT, describing.DTYPE)
    return ", ".join(rows[name] for name in told if name in rows) or "a tensor"


def _story(tree: Tree, tensor: TensorValue | ArrayValue) -> tuple[Story, ...]:
    steps = []
    for what, node in tensor.story[-MAX_STEPS:]:
        place = tree.place(node)
        if place is not None:
            steps.append(Story(place.line, what.removesuffix(" here"), tree.text(node)))
    return tuple(dict.fromkeys(steps))


def _text(tree: Tree, node: cst.CSTNode, variants: Sequence[Variant]) -> str:
    """The Markdown of a hover."""
    name = code(tree.text(node))
    first = variants[0]
    kinds = list(dict.fromkeys(each.kind for each in variants))
    header = [name, *(_heading(each, len(variants) > 1) for each in variants)]
    names = list(dict.fromkeys(row for each in variants for row in each.rows))
    names.sort(key=lambda row: describing.ROWS.index(row) if row in describing.ROWS else len(describing.ROWS))
    parts = []
    if names:
        parts.append(table(header, [[row, *(each.rows.get(row, "–") for each in variants)] for row in names]))
    else:
        nothing = kinds == ["Tensor"] and not first.story
        parts.append(f"{name}: {prose(' or '.join(kinds))}{', of which nothing more is known here' * nothing}")
    if len(variants) == 1 and first.origin:
        whose = f"{', '.join(first.borrowed)}: as" if 0 < len(first.borrowed) < len(first.rows) else "As"
        parts.append(f"{whose[0].upper()}{whose[1:]} {first.origin}.")
    steps = list(dict.fromkeys(step for each in variants for step in each.story))
    if steps:
        parts.append(
            "\n".join(
                f"- line {step.line}: {prose(step.what)}: {code(step.code)}"
                for step in sorted(steps, key=lambda step: step.line)[:MAX_STEPS]
            )
        )
    if names and all(each.kind.startswith(("Tensor", "Parameter")) for each in variants):
        unknown = [row for row in describing.ROWS[:-1] if not any(row in each.rows for each in variants)]
        if unknown and unknown != [describing.GRAD]:
            parts.append(f"Not known here: {', '.join(unknown)}.")
    own = [each for each in variants if not each.origin]
    if any(each.assumed for each in variants):
        parts.append("Assumes the default of a parameter.")
    elif own and _rests_on_a_constructor(tree, node, own[0].rows):
        parts.append("Takes `self` to be made with the defaults of its constructor.")
    return "\n\n".join(parts)


def _rests_on_a_constructor(tree: Tree, node: cst.CSTNode, rows: Mapping[str, str]) -> bool:
    """Whether sizes in a method may come from defaults of the class's constructor."""
    around = tree.above(node)
    cls = next((each for each in around if isinstance(each, cst.ClassDef)), None)
    if cls is None or not re.search(r"\b\d+\b", rows.get(describing.SHAPE, "")):
        return False
    methods = [each for each in cls.body.body if isinstance(each, cst.FunctionDef)]
    made = next((each for each in methods if each.name.value == "__init__"), None)
    if made is None or made in around:
        return False
    numbers = (cst.Integer, cst.Float, cst.Tuple)
    return any(isinstance(each.default, numbers) for each in (*made.params.params, *made.params.kwonly_params))


def _heading(variant: Variant, several: bool) -> str:
    if not several:
        return prose(variant.kind)
    return f"{prose(variant.kind)}, {variant.origin or 'on its own'}"
