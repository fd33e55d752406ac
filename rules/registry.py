"""All rules, found by walking the four rule folders; a new rule is a new file and nothing else."""

from __future__ import annotations

import functools
import importlib
import operator
import pkgutil

from stridelint.rules import could_not_analyse
from stridelint.rules.rule import Rule

FOLDERS = ("layout", "tests_of_layout", "out", "inplace")


@functools.cache
def all_rules() -> tuple[type[Rule], ...]:
    """The rules about tensors, sorted by code."""
    found: list[type[Rule]] = []
    for folder in FOLDERS:
        package = importlib.import_module(f"stridelint.rules.{folder}")
        for info in pkgutil.iter_modules(package.__path__):
            if info.name.startswith("_"):
                continue
            module = importlib.import_module(f"{package.__name__}.{info.name}")
            found += [
                value
                for value in vars(module).values()
                if isinstance(value, type)
                and issubclass(value, Rule)
                and value.__module__ == module.__name__
                and "code" in vars(value)
            ]
    return tuple(sorted(found, key=operator.attrgetter("code")))


@functools.cache
def by_code() -> dict[str, type[Rule]]:
    """Every rule by its code, with TLC901, which is about the run and judges no tensors."""
    every: tuple[type[Rule], ...] = (*all_rules(), could_not_analyse.CouldNotAnalyse)
    return {rule.code: rule for rule in every}
