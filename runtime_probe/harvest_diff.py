"""What changed between two operator tables, clause by clause: `stridelint probe harvest --diff`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from stridelint.rules.contract.operators import Table, Variant, decode

# They tell which variant it is.
_IDENTITY = frozenset({"signature", "when"})


def differences(old: Table, new: Table) -> list[str]:
    """One line for each clause that differs, operators sorted by name."""
    lines = []
    for name in sorted({*old.rows, *new.rows}):
        if name not in old.rows or name not in new.rows:
            only = old if name in old.rows else new
            lines.append(f"{name}: only in torch {only.torch} on {only.device}")
        else:
            lines += [f"{name}{change}" for change in _operator(decode(old, name).variants, decode(new, name).variants)]
    return lines


def _operator(left: tuple[Variant, ...], right: tuple[Variant, ...]) -> Iterator[str]:
    before, after = _by_call(left), _by_call(right)
    for key in dict.fromkeys([*before, *after]):
        label = f"({key})" if len(before) > 1 or len(after) > 1 else ""
        if key not in after or key not in before:
            yield f"{label}: this way to call it is {'gone' if key in before else 'new'}"
            continue
        for field in dataclasses.fields(Variant):
            if field.name not in _IDENTITY:
                was, now = getattr(before[key], field.name), getattr(after[key], field.name)
                yield from (f"{label} {text}" for text in _clause(field.name, was, now))


def _by_call(variants: tuple[Variant, ...]) -> dict[str, Variant]:
    """Variants by how they are called."""
    found = {}
    for variant in variants:
        names = ", ".join(parameter.name for parameter in variant.signature)
        when = "".join(f", {name} {' or '.join(map(repr, values))}" for name, values in sorted(variant.when.items()))
        found[names + when] = variant
    return found


def _clause(name: str, was: Any, now: Any) -> Iterator[str]:
    """One line, or one for each part that differs."""
    if was == now:
        return
    if dataclasses.is_dataclass(was) and dataclasses.is_dataclass(now):
        for field in dataclasses.fields(was):
            yield from _clause(f"{name}.{field.name}", getattr(was, field.name), getattr(now, field.name))
    elif isinstance(was, Mapping) and isinstance(now, Mapping):
        for key in sorted({*was, *now}):
            yield from _clause(f"{name}.{key}", was.get(key), now.get(key))
    elif isinstance(was, tuple) and isinstance(now, tuple) and len(was) == len(now):
        for index, (left, right) in enumerate(zip(was, now)):
            yield from _clause(f"{name}[{index}]", left, right)
    else:
        yield f"{name}: {_told(was)} -> {_told(now)}"


def _told(value: Any) -> str:
    return "not measured" if value in (None, "") else str(value)
