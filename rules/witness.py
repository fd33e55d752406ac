"""Witnesses: a finding's event with every unknown filled in, so that a probe can make the call and see what torch does.

Unknown sizes become small numbers >= 2 (see `generic`), and a filling counts only if the same rule, asked again, reports
the filled event: it keeps the facts that the finding turns on. What does not decide the finding gets the plainest value:
row-major strides, float32, no gradient.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping

from stridelint.rules.claims import Kind
from stridelint.rules.contract import generic, operators, sizes
from stridelint.rules.contract.answers import Answer
from stridelint.rules.contract.dtypes import Scalar, kind_of
from stridelint.rules.contract.facts import Dims, TensorFacts
from stridelint.rules.documents import (
    Document,
    Unwritable,
    claim_document,
    event_document,
    event_of,
    mapped,
    operands_of,
    same,
)
from stridelint.rules.events import Operand, TensorEvent, TestEvent, Unknown
from stridelint.rules.rule import Finding

VERSION = 1
_SHAPES: tuple[Dims, ...] = ((2, 3), (3, 3), (2, 3, 4, 5), (3,), (2, 3, 4))
_DTYPES = {"bool": "bool", "integer": "int64", "float": "float32", "complex": "complex64"}
_NUMBERS = {"bool": True, "integer": 2, "float": 2.5, "complex": 2.5 + 1j}
_MOST_ELEMENTS = 1 << 25
_MOST_FILLED_IN = 1 << 20
_MOST_FILLINGS = 48
_ALTERNATIVES = 4


def witness(finding: Finding) -> Document:
    """What a probe needs to replay a finding, or {"reason": why nothing can be replayed, a fact about the code}.

    `calls` lists the calls that the claim is about, each as a list of fillings, the most telling one first. `judged` tells
    whether the rule can judge a call without its source.
    """
    claim = finding.claim
    try:
        if claim is not None and claim.events:
            calls = [_fillings(event, None) for event in claim.events]
        elif isinstance(finding.event, TensorEvent) and finding.event.op == "return":
            return {"reason": "it is about what a function returns, and names no call of torch"}
        elif isinstance(finding.event, TensorEvent):
            calls = [_fillings(finding.event, finding)]
        elif isinstance(finding.event, TestEvent):
            return {"reason": "it is about a whole test, and names no tensor to look at"}
        else:
            return {"reason": "it is about how the code is written, and names no call to make"}
    except Unwritable as error:
        return {"reason": str(error)}
    return {"version": VERSION, "rule": finding.rule.code, "claim": claim_document(claim), "calls": calls}


def _fillings(event: TensorEvent, finding: Finding | None) -> list[Document]:
    found: list[Document] = []
    reason = ""
    for filled in itertools.islice(_filled(event), _MOST_FILLINGS):
        try:
            document = event_document(filled)
        except Unwritable as error:
            reason = reason or str(error)
            continue
        if finding is not None:
            again = refound(finding, filled)
            if again is None:
                continue
            document["claim"] = claim_document(again.claim)
            document["judged"] = _judges(finding, event_of(document))
        found.append(document)
        if len(found) == _ALTERNATIVES or _is_known(event):
            break
    if not found:
        raise Unwritable(reason or "no small sizes were found that keep what is known of its tensors")
    return found


def _judges(finding: Finding, event: TensorEvent) -> bool:
    """Whether the rule reports an event that has lost its source."""
    try:
        return refound(finding, event) is not None
    except (AttributeError, TypeError):
        return False  # It reads the code.


def refound(finding: Finding, event: TensorEvent) -> Finding | None:
    """What the finding's rule says of another event, if it claims the same."""
    kind = None if finding.claim is None else finding.claim.kind
    for each in finding.rule().check(event):
        if (None if each.claim is None else each.claim.kind) in (kind, *_KIN.get(kind, ())):
            return each
    return None


# What an unknown size leaves open: whether torch warns when it resizes.
_RESIZED = (Kind.WARNS, Kind.RESIZES, Kind.KEEPS_SHAPE)
_KIN: Mapping[Kind | None, tuple[Kind, ...]] = dict.fromkeys(_RESIZED, _RESIZED)


def _is_known(event: TensorEvent) -> bool:
    return all(generic.is_concrete(each.facts) for each in operands_of(event))


def _filled(event: TensorEvent) -> Iterator[TensorEvent]:
    """The event with unknowns filled in, in several ways, the plainest first."""
    tensors = [operand.facts for operand in operands_of(event)]
    known_shapes = [facts.shape for facts in (*tensors, event.result) if facts.shape is not None]
    shapes = list(dict.fromkeys([*known_shapes, *_SHAPES])) if any(facts.rank is None for facts in tensors) else [None]
    others = [facts.dtype for facts in tensors if facts.dtype is not None]
    open_dtype = any(facts.dtype is None and facts.kind is None for facts in tensors)
    dtypes = list(dict.fromkeys(["float32", *others, "int64"])) if open_dtype else ["float32"]
    device = next((facts.device for facts in tensors if facts.device is not None), "cpu")
    modes = [Answer.YES, Answer.NO] if event.grad_mode is Answer.UNKNOWN else [event.grad_mode]
    for mode, dtype, shape in itertools.product(modes, dtypes, shapes):
        shaped = [_with_defaults(facts, shape, dtype, device, index) for index, facts in enumerate(tensors)]
        for values, numbers in _instances(event, shaped):
            yield _replaced(dataclasses.replace(event, grad_mode=mode), tensors, numbers, dict(values))


def _with_defaults(facts: TensorFacts, shape: Dims | None, dtype: str, device: str, index: int) -> TensorFacts:
    if facts.shape is None:
        facts = facts.but(shape=shape if facts.strides is None else tuple(sizes.Size.fresh("?") for _ in facts.strides))
    if facts.strides is None and facts.shape is not None:
        facts = facts.but(strides=generic.strides_in_order(facts.shape, range(len(facts.shape))))
    name = facts.dtype or _DTYPES.get(facts.kind or "", dtype)
    needs_grad = bool(facts.requires_grad) and kind_of(name) in ("float", "complex")
    return facts.but(
        dtype=name,
        kind=kind_of(name),
        device=facts.device or device,
        requires_grad=needs_grad,
        is_leaf=True if facts.is_leaf is None and not needs_grad else bool(facts.is_leaf),
        storage_offset=0 if facts.storage_offset is None else facts.storage_offset,
        storage=-1 - index if facts.storage is None else facts.storage,
    )


def _instances(
    event: TensorEvent, tensors: list[TensorFacts]
) -> Iterator[tuple[Mapping[sizes.Atom, int], tuple[TensorFacts, ...]]]:
    operator = operators.lookup(event.op)
    broadcast = operator is not None and all(
        variant.shape == "broadcast" for variant in operator.variants if variant.measured
    )
    asked = [
        value
        for value in event.arguments.values()
        if isinstance(value, tuple) and value and all(isinstance(dim, (int, sizes.Size)) for dim in value)
    ]
    for values, numbers in generic.fillings(tensors, *asked, broadcast=broadcast):
        if any(stride < 0 for facts in numbers for stride in facts.concrete_strides or ()):
            raise Unwritable("it is about a numpy array with negative strides, which no tensor has")
        count = max(map(_extent, numbers), default=0)
        if not values and count > _MOST_ELEMENTS:
            raise Unwritable(f"a tensor of {count} elements is more than a probe builds")
        if not values or count <= _MOST_FILLED_IN:
            yield values, numbers


def _extent(facts: TensorFacts) -> int:
    """How many elements of memory a tensor reaches over."""
    pairs = zip(facts.concrete_shape or (), facts.concrete_strides or ())
    return 1 + sum(max(0, size - 1) * stride for size, stride in pairs)


def _replaced(
    event: TensorEvent, before: list[TensorFacts], after: tuple[TensorFacts, ...], values: dict[sizes.Atom, int]
) -> TensorEvent:
    """The event with other facts, and with numbers for sizes."""

    def number(size: sizes.SizeLike) -> int:
        for atom in sorted(sizes.leaves(size), key=lambda atom: atom.identity):
            values.setdefault(atom, len(values) + 2)
        return sizes.evaluate(size, values)

    def dims(value: Dims | None) -> Dims | None:
        try:
            return None if value is None else tuple(number(dim) for dim in value)
        except ValueError:
            return None

    filled = [facts.but(storage_offset=max(0, number(facts.storage_offset or 0))) for facts in after]

    def operand(value: Operand) -> Operand:
        return dataclasses.replace(value, facts=next(new for old, new in zip(before, filled) if same(value.facts, old)))

    def plain(value: object) -> object:
        if isinstance(value, sizes.Size):
            return number(value)
        kind = getattr(value, "kind", None)
        if isinstance(value, Scalar) or kind in _NUMBERS:
            return _NUMBERS[kind or "float"]
        if isinstance(value, tuple):
            return tuple(plain(each) for each in value)
        return value

    def argument(name: str, value: object) -> object:
        # What is stored does not decide a finding that was made without knowing it.
        return 2 if value is Unknown.UNKNOWN and name in ("value", "other") else plain(mapped(value, operand))

    arguments = {
        name: argument(name, value)
        for name, value in event.arguments.items()
        if value is not Unknown.UNKNOWN or not _is_optional(event.op, name)
    }
    result = event.result.but(shape=dims(event.result.shape), strides=dims(event.result.strides))
    tensors = tuple(operand(each) for each in event.tensors)
    return dataclasses.replace(
        event, arguments=arguments, tensors=tensors, out=mapped(event.out, operand), result=result
    )


def _is_optional(op: str, name: str) -> bool:
    """An argument of unknown value that may be left out."""
    operator = operators.lookup(op)
    parameters = (
        [] if operator is None else [p for variant in operator.variants for p in variant.signature if p.name == name]
    )
    return bool(parameters) and not any(parameter.required for parameter in parameters)
