"""Containers at the top of a module that other statements fill, as a function sees them that is read on its own."""

from __future__ import annotations

import pytest

from stridelint.linter import engine, source
from stridelint.linter.config import Settings
from stridelint.linter.selection import select

HEAD = """import torch

REGISTRY, ORDER, TABLE = {}, [], {}


class Registry:
    def __init__(self):
        self.known = {}

    def register(self, thing):
        self.known[thing.__name__] = thing
        return thing

    def add(self, name, thing):
        self.known[name] = thing

    def build(self, name, *args):
        return self.known[name](*args)


MAKERS = Registry()


def register(name):
    def keep(thing):
        REGISTRY[name] = thing
        ORDER.append(name)
        return thing

    return keep


@register("counts")
def counts():
    size = 3
    print(size)
    return torch.zeros(size, dtype=torch.int32)


@register("table")
class Table:
    def __init__(self):
        self.rows = torch.zeros(3, dtype=torch.int32)


@MAKERS.register
def whole(size):
    print(size)
    print(size)
    return torch.zeros(size, dtype=torch.int64)


def halves(size):
    return torch.zeros(size)


MAKERS.add("halves", halves)
TABLE["whole"] = whole
TABLE.update(halves=halves)


def use(x):
"""


def found(*body: str) -> list[str]:
    code = HEAD + "".join(f"    {line}\n" for line in body)
    outcome = engine.check(source.from_bytes("registry.py", code.encode(), explicit=True), select(Settings()))
    assert not outcome.skipped
    return [each.code for each in outcome.findings]


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        (["REGISTRY['counts']().add_(0.5)"], ["TLC401"]),
        (["make = REGISTRY.get('counts')", "make().add_(0.5)"], ["TLC401"]),
        (["REGISTRY['table']().rows.add_(0.5)"], ["TLC401"]),
        (["MAKERS.build('whole', 3).add_(0.5)"], ["TLC401"]),
        (["MAKERS.known['whole'](3).add_(0.5)"], ["TLC401"]),
        (["TABLE['whole'](3).add_(0.5)"], ["TLC401"]),
        (["if 'counts' in REGISTRY:", "    REGISTRY['counts']().add_(0.5)"], ["TLC401"]),
        # Of another name, or one that nobody registers, nothing is known.
        (["MAKERS.build('halves', 3).add_(0.5)"], []),
        (["TABLE['halves'](3).add_(0.5)"], []),
        (["REGISTRY['others']().add_(0.5)"], []),
        (["REGISTRY[x]().add_(0.5)"], []),
        # That a container is still empty is not known either.
        (["torch.zeros(3, dtype=torch.int32 if 'others' not in REGISTRY else torch.float32).add_(0.5)"], ["TLC401"]),
        (["for name in ORDER:", "    torch.zeros(3, dtype=torch.int32).add_(0.5)"], ["TLC401"]),
    ],
)
def test_what_is_registered(body: list[str], codes: list[str]) -> None:
    assert found(*body) == codes


def test_a_registration_that_asks_for_another() -> None:
    code = """import torch

KNOWN = {}


def register(name, like=None):
    def keep(thing):
        KNOWN[name] = KNOWN[like] if like is not None else thing
        return thing

    return keep


@register("alias", like="counts")
def alias():
    return torch.zeros(3)


@register("counts")
def counts():
    return torch.zeros(3, dtype=torch.int32)


def use():
    KNOWN["counts"]().add_(0.5)
"""
    outcome = engine.check(source.from_bytes("registry.py", code.encode(), explicit=True), select(Settings()))
    assert not outcome.skipped
    assert [each.code for each in outcome.findings] == ["TLC401"]
