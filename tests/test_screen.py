"""The screen lets pass what a rule can fire on, and little else."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import pytest

from stridelint.linter import screen
from stridelint.rules.rule import Rule, Severity


class OutRule(Rule):
    code, name, severity, words = "TLC301", "x", Severity.ERROR, ("out=",)


class FormatRule(Rule):
    code, name, severity, words = "TLC102", "y", Severity.ERROR, ("memory_format", "channels_last")


class AugmentedRule(Rule):
    code, name, severity, words = "TLC401", "z", Severity.ERROR, ("+=",)

    @classmethod
    def screen(cls, tree: ast.Module) -> bool:
        return any(isinstance(node, ast.AugAssign) for node in ast.walk(tree))


RULES: Sequence[type[Rule]] = (OutRule, FormatRule, AugmentedRule)


def passes(text: str) -> list[type[Rule]]:
    data = text.encode()
    if not screen.mentions(data, RULES):
        return []
    return screen.Code(screen.parse(text)).rules(RULES, data)


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("import torch\ntorch.add(a, b, out=c)", [OutRule]),
        ("from torch import add as plus\nplus(a, b, out=c)", [OutRule]),
        ("import numpy\nnumpy.add(a, b, out=c)", []),
        ("import torch\n# torch.add(a, b, out=c)", []),
        ('"""Like torch.add(a, b, out=c)."""\nimport torch', []),
        ("import torch\ndef f():\n    'out= is memory_format'\n", []),
        ("# torch\nadd(a, b, out=c)", []),
        ("import torch\nx.to(memory_format=f)", [FormatRule]),
        ("import torch\ndef test_channels_last_3d(): pass", [FormatRule]),
        ("import torch\ngetattr(torch, 'channels_last')", [FormatRule]),
        ("import torch\nx += 1", [AugmentedRule]),
        ("import torch\nx = '+='", []),
        ("import torch\nglobal memory_format", [FormatRule]),
    ],
)
def test_rules_that_can_fire(text: str, rules: list[type[Rule]]) -> None:
    assert passes(text) == rules


def test_depth_is_measured_without_recursion() -> None:
    code = screen.Code(screen.parse("x = " + "-" * 900 + "1"))
    assert code.depth > 900


def test_warnings_of_the_compiler_are_not_ours(capfd: pytest.CaptureFixture[str]) -> None:
    screen.parse("x = '\\d' is 'a'")
    assert capfd.readouterr().err == ""
