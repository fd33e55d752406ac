"""Between which numbers those of tensors lie: of literals and fills, of what is computed from them, until something else is written.

A path knows this by the memory that tensors lie in, so views share it. What may have written there without being followed
makes it forget: code that is not known, a test of numbers, code that runs some number of times.
"""

from __future__ import annotations

import math
from collections.abc import Mapping as Dict
from typing import NamedTuple

from stridelint.linter.inference.path import Path
from stridelint.linter.inference.values import Constant, Sequence, TensorValue, Value
from stridelint.rules.contract import questions, ranges
from stridelint.rules.contract.answers import Answer
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.contract.ranges import Range
from stridelint.rules.events import Operand


class Known(NamedTuple):
    """What the numbers in some memory are, all of which are those of a tensor with these facts."""

    numbers: Range
    facts: TensorFacts


def of(path: Path, facts: TensorFacts) -> Range | None:
    """That of a tensor with these facts."""
    known = None if facts.storage is None else path.numbers.get(facts.storage)
    if known is None or known.facts.dtype != facts.dtype:
        return None
    return known.numbers if _covers(known.facts, facts) else known.numbers.part()


def _covers(all_: TensorFacts, facts: TensorFacts) -> bool:
    """Whether a tensor has all the numbers that another in the same memory has."""
    if (facts.shape, facts.strides, facts.storage_offset) == (all_.shape, all_.strides, all_.storage_offset):
        return True
    shape, whole = facts.concrete_shape, all_.concrete_shape
    if shape is None or whole is None or math.prod(shape) != math.prod(whole):
        return False
    return questions.is_dense(facts).answer is Answer.YES


def record(path: Path, value: Value, numbers: Range | None) -> None:
    """A new tensor has these numbers, if its dtype holds them."""
    if numbers is None or not isinstance(value, TensorValue):
        return
    facts = path.facts(value)
    kept = ranges.held(numbers, facts.dtype)
    if kept is not None and facts.storage is not None and facts.storage not in path.exposed:
        path.numbers[facts.storage] = Known(kept, facts)


def written(path: Path, tensor: TensorValue, numbers: Range | None, partly: bool = False) -> None:
    """The numbers of a tensor, or some of them, are replaced."""
    facts = path.facts(tensor)
    if facts.storage is None:
        path.numbers.clear()  # it may lie in any memory
        return
    known = path.numbers.pop(facts.storage, None)
    new = ranges.held(numbers, facts.dtype)
    if new is None or facts.storage in path.exposed:
        return
    whole = _whole(path, tensor, facts) if known is None else known.facts
    if not partly and _covers(whole, facts):
        path.numbers[facts.storage] = Known(new, whole)
    elif known is not None and whole.dtype == facts.dtype:
        new = Range(new.low, new.high) if partly else new  # perhaps nothing is replaced
        path.numbers[facts.storage] = Known(ranges.either(known.numbers, new), whole)


def _whole(path: Path, tensor: TensorValue, facts: TensorFacts) -> TensorFacts:
    """Those of the tensor that a view is a view of in the end."""
    while tensor.base is not None and tensor.base.facts.storage == facts.storage:
        tensor = tensor.base
    return path.facts(tensor)


def exposed(path: Path, facts: TensorFacts) -> None:
    """Something that is not followed writes to the memory of a tensor from now on."""
    if facts.storage is not None:
        path.exposed.add(facts.storage)
        path.numbers.pop(facts.storage, None)


def of_data(path: Path, data: Value | None) -> Range | None:
    """That of a number, of nested lists of numbers, of a tensor."""
    if isinstance(data, Constant):
        return ranges.number_of(data.value)
    if isinstance(data, TensorValue):
        return of(path, path.facts(data)) if path.numbers else None
    if not isinstance(data, Sequence) or not data.items:
        return None
    found = []
    for each in data.items:
        part = of_data(path, each)
        if part is None:
            return None
        found.append(part)
    return ranges.joined(found)


def of_result(path: Path, name: str, bound: Dict[str, object], dtype: str | None, turned: bool = False) -> Range | None:
    """That of an operator's result, before a dtype has to hold it; `turned` tells that the first argument stands second."""
    if not path.numbers or name not in ranges.OPERATORS:
        return None
    arguments = {key: _argument(path, value) for key, value in bound.items()}
    if turned and "other" in arguments:
        arguments["input"], arguments["other"] = arguments["other"], arguments.get("input")
    arguments["same"] = _is_same(bound.get("input"), bound.get("other"))
    return ranges.of_result(name, arguments, dtype)


def _is_same(one: object, other: object) -> bool:
    return isinstance(one, Operand) and isinstance(other, Operand) and one.facts == other.facts


def _argument(path: Path, value: object) -> object:
    if isinstance(value, Operand):
        return of(path, value.facts) or value
    if isinstance(value, tuple):
        return tuple(_argument(path, each) for each in value)
    return value
