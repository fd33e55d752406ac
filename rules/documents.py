"""Events as JSON and back: what a probe needs to make a call again, in another process and at another time.

A document has no source: sites are lost, and with them whatever a rule reads from the code itself.
"""

from __future__ import annotations

import dataclasses
import enum
import math
from collections.abc import Callable, Mapping
from typing import Any

from stridelint.rules.claims import Claim, Kind
from stridelint.rules.contract.answers import Answer
from stridelint.rules.contract.dtypes import kind_of
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.events import Copy, Form, Note, Operand, Site, TensorEvent

Document = dict[str, Any]


class Unwritable(Exception):
    """An event holds something that cannot be told; the text says what, as a fact about the code."""


def operands_of(event: TensorEvent) -> list[Operand]:
    """All tensors of an event, each of them once (see `same`): arguments first, then outs."""
    found: list[Operand] = []

    def note(operand: Operand) -> Operand:
        if not any(same(operand.facts, each.facts) for each in found):
            found.append(operand)
        return operand

    for value in (event.arguments, event.tensors, event.out):
        mapped(value, note)
    return found


def same(left: TensorFacts, right: TensorFacts) -> bool:
    """Whether two facts are of one tensor, or of two that nothing tells apart."""
    return left is right or (left.storage is not None and left == right)


def mapped(value: object, change: Callable[[Operand], object]) -> Any:
    """A value of an event with its operands replaced, also inside tuples and mappings."""
    if isinstance(value, Operand):
        return change(value)
    if isinstance(value, (tuple, list)):
        return tuple(mapped(each, change) for each in value)
    if isinstance(value, Mapping):
        return {name: mapped(each, change) for name, each in value.items()}
    return value


def event_document(event: TensorEvent) -> Document:
    """The event as plain data; all its facts are numbers. Raises Unwritable."""
    operands = operands_of(event)

    def number_of(operand: Operand) -> Document:
        return {"tensor": next(index for index, each in enumerate(operands) if same(operand.facts, each.facts))}

    return {
        "op": event.op,
        "form": event.form.value,
        "text": event.text,
        "grad_mode": event.grad_mode is not Answer.NO,
        "discarded": event.discarded,
        "tensors": [_tensor(operand) for operand in operands],
        "arguments": {name: _plain(name, mapped(value, number_of)) for name, value in event.arguments.items()},
        "operands": [number_of(operand)["tensor"] for operand in event.tensors],
        "out": _plain("out", mapped(event.out, number_of)),
        "result": _facts(event.result),
    }


def _tensor(operand: Operand) -> Document:
    facts = operand.facts
    document = _facts(facts)
    document["text"] = operand.text
    document["story"] = [note.message for note in operand.story]
    document["fresh"] = operand.fresh
    document["whole"] = operand.whole
    if operand.unread is not None:
        document["unread"] = [operand.unread.text, operand.unread.source]
    return document


def _facts(facts: TensorFacts) -> Document:
    document = {field.name: getattr(facts, field.name) for field in dataclasses.fields(facts)}
    for name in ("shape", "strides"):
        dims = document[name]
        document[name] = list(dims) if dims is not None and all(isinstance(dim, int) for dim in dims) else None
    if not isinstance(document["storage_offset"], int):
        document["storage_offset"] = None
    return {name: value for name, value in document.items() if value is not None}


def _plain(name: str, value: object) -> Any:
    if isinstance(value, dict):
        return (
            value if set(value) == {"tensor"} else {"mapping": {key: _plain(key, each) for key, each in value.items()}}
        )
    if isinstance(value, tuple):
        return [_plain(name, each) for each in value]
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if isinstance(value, enum.Enum) or not isinstance(value, (str, int, float, bool, type(None))):
        raise Unwritable(f"the value of '{name}' is not known")
    return value


def event_of(document: Document) -> TensorEvent:
    """The event of a document."""
    tensors = [_operand(each) for each in document["tensors"]]
    arguments = {name: value_of(value, tensors) for name, value in document["arguments"].items()}
    return TensorEvent(
        document["op"],
        Form(document["form"]),
        arguments,
        tuple(tensors[index] for index in document["operands"]),
        Site(),
        value_of(document["out"], tensors),
        facts_of(document["result"]),
        Answer.of(document["grad_mode"]),
        Site() if document["discarded"] else None,
        wording=document["text"],
    )


def value_of(value: Any, tensors: list[Any]) -> Any:
    """A value of a document, with `tensors` in the places where it names them."""
    if isinstance(value, list):
        return tuple(value_of(each, tensors) for each in value)
    if isinstance(value, dict):
        ((kind, inner),) = value.items()
        if kind == "tensor":
            return tensors[inner]
        if kind == "mapping":
            return {name: value_of(each, tensors) for name, each in inner.items()}
        return complex(*inner) if kind == "complex" else float(inner)
    return value


def facts_of(document: Document) -> TensorFacts:
    """The facts in a document."""
    known = {field.name for field in dataclasses.fields(TensorFacts)}
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in document.items() if name in known
    }
    fields.setdefault("kind", kind_of(fields.get("dtype")))
    return TensorFacts(**fields)


def _operand(document: Document) -> Operand:
    story = tuple(Note(Site(), message) for message in document["story"])
    copy = document.get("unread")
    unread = None if copy is None else Copy(copy[0], copy[1], Site())
    facts, text = facts_of(document), document["text"]
    return Operand(facts, text, story, fresh=document["fresh"], unread=unread, whole=document["whole"])


def claim_document(claim: Claim | None) -> Document | None:
    """A claim as plain data; its events are calls of their own."""
    return None if claim is None else {"kind": claim.kind.name, "exception": claim.exception, "text": claim.text}


def claim_of(document: Document | None) -> Claim | None:
    """The claim of a document."""
    return None if document is None else Claim(Kind[document["kind"]], document["exception"], document["text"])
