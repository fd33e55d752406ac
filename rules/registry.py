"""All rules, found by walking the four rule folders; a new rule is a new file and nothing else. A project's own are added."""

from __future__ import annotations

import functools
import importlib
import operator
import pkgutil
from collections.abc import Iterable

from stridelint.rules import could_not_analyse, unused_suppression
from stridelint.rules.rule import Rule

FOLDERS = ("layout", "tests_of_layout", "out", "inplace")


@functools.cache
def all_rules() -> tuple[type[Rule], ...]:
    """The rules about tensors that ship with the package, sorted by code."""
    found: list[type[Rule]] = []
    for folder in FOLDERS:
        package = importlib.import_module(f"stridelint.rules.{folder}")
        for info in pkgutil.iter_modules(package.__path__):
            if not info.name.startswith("_"):
                found += rules_in(importlib.import_module(f"{package.__name__}.{info.name}"))
    return tuple(sorted(found, key=operator.attrgetter("code")))


def rules_in(module: object) -> list[type[Rule]]:
    """The rules that a module defines itself."""
    return [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Rule)
        and value.__module__ == module.__name__  # type: ignore[attr-defined]
        and "code" in vars(value)
    ]


_adopted: dict[str, type[Rule]] = {}


def adopt(rules: Iterable[type[Rule]]) -> None:
    """Make a project's own rules known by their codes, in place of those known before."""
    wanted = {rule.code: rule for rule in rules}
    if wanted != _adopted:
        _adopted.clear()
        _adopted.update(wanted)
        by_code.cache_clear()


@functools.cache
def built_in() -> dict[str, type[Rule]]:
    """Every rule that ships with the package by its code, with TLC901 and TLC902, which are about the run and judge no tensors."""
    every: tuple[type[Rule], ...] = (
        *all_rules(),
        could_not_analyse.CouldNotAnalyse,
        unused_suppression.UnusedSuppression,
    )
    return {rule.code: rule for rule in every}


@functools.cache
def by_code() -> dict[str, type[Rule]]:
    """Every rule by its code, also a project's own."""
    return built_in() | _adopted
