"""Outcomes as JSON and back. What is read is not trusted: only plain values of the right kind are accepted."""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Hashable
from typing import Any, TypeVar

from stridelint.linter.findings import Outcome

T = TypeVar("T")


class Malformed(Exception):
    """A document is not what was written."""


def plain(outcome: Outcome) -> object:
    """An outcome as lists, numbers and strings; 0 if nothing came of the file."""
    return outcome if outcome != Outcome() else 0  # json writes named tuples as lists


def outcome(document: object) -> Outcome:
    """The outcome that `plain` was given. Raises Malformed."""
    return Outcome() if document == 0 else _built(Outcome, document)


def _built(kind: type[T], document: object) -> T:
    """A named tuple of this kind, from the list of its fields."""
    hints = _hints(typing.cast(Hashable, kind))
    if not isinstance(document, list) or len(document) != len(hints):
        raise Malformed
    return kind(*(_value(hint, each) for hint, each in zip(hints, document)))


@functools.cache
def _hints(kind: Hashable) -> tuple[Any, ...]:
    return tuple(typing.get_type_hints(kind).values())


def _value(hint: Any, document: object) -> object:
    if isinstance(hint, type) and hint in (str, int, bool, float):
        if type(document) is not hint:
            raise Malformed
        return document
    if typing.get_origin(hint) is tuple:
        kinds = typing.get_args(hint)
        if not isinstance(document, list):
            raise Malformed
        if kinds[-1] is Ellipsis:
            return tuple(_value(kinds[0], each) for each in document)
        if len(kinds) != len(document):
            raise Malformed
        return tuple(map(_value, kinds, document))
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        if document is None:
            return None
        (hint,) = (each for each in typing.get_args(hint) if each is not types.NoneType)
        return _value(hint, document)
    return _built(hint, document)
