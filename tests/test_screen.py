"""The screen lets pass what a rule can fire on, and little else."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import pytest

from stridelint.linter import screen
from stridelint.rules.inplace.inplace_on_expanded import InplaceOnExpanded
from stridelint.rules.inplace.silent_store_cast import SilentStoreCast
from stridelint.rules.layout.screening import mixes_formats
from stridelint.rules.out.out_narrowing import OutNarrowing
from stridelint.rules.rule import Rule, Severity
from stridelint.rules.screening import Nodes, Steps, TensorFlow, nodes_of


class OutRule(Rule):
    code, name, severity, words = "TLC301", "x", Severity.ERROR, ("out=",)


class FormatRule(Rule):
    code, name, severity, words = "TLC102", "y", Severity.ERROR, ("memory_format", "channels_last")


class AugmentedRule(Rule):
    code, name, severity, words = "TLC401", "z", Severity.ERROR, ("+=",)


class MethodRule(Rule):
    code, name, severity, words = "TLC104", "w", Severity.ERROR, (".view(", "add_(")


class StatementRule(Rule):
    code, name, severity, words = "TLC103", "v", Severity.ERROR, (".to(",)

    @classmethod
    def screen(cls, tree: ast.Module) -> bool:
        return any(isinstance(node, ast.Expr) for node in tree.body)


RULES: Sequence[type[Rule]] = (OutRule, FormatRule, AugmentedRule, MethodRule, StatementRule)


def may_fire(rule: type[Rule], text: str) -> bool:
    """Whether a rule's places let code pass."""
    return bool(rule.places(Nodes(ast.parse(f"import torch\n{text}\n"))))


def passes(text: str) -> list[type[Rule]]:
    data = text.encode()
    if not screen.mentions(data, RULES):
        return []
    return screen.Code(screen.parse(text)).rules(RULES)


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
        ("import torch\ny = x.to(memory_format=f)", [FormatRule]),
        ("import torch\ndef test_channels_last_3d(): pass", [FormatRule]),
        ("import torch\ngetattr(torch, 'channels_last')", [FormatRule]),
        ("import torch\nx += 1", [AugmentedRule]),
        ("import torch\nx = 'a += b'", []),
        ("import torch\nglobal memory_format", [FormatRule]),
        ("import torch\nf(a, out = b)", [OutRule]),
        ("import torch\nout = f(a)", []),
        ("import torch\nf(a, dropout=b)", []),
        ("import torch\ndef f(a, out=None): pass", [OutRule]),
        ("import torch\nx -= 1 # +=", []),
        ("import torch\nx.view (1)", [MethodRule]),
        ("import torch\ny = (x\n  .view(1))", [MethodRule]),
        ("import torch\nx.views(1)\nview(1)", []),
        ("import torch\nx.add_(1)", [MethodRule]),
        ("from torch import add_ as plus\nplus(x)  # add_(", [MethodRule]),
        ("import torch\ny = x.to(1)", []),
        ("import torch\nx.to(1)", [StatementRule]),
        ("import torch\nf'{x.view(1)}'", [MethodRule]),
    ],
)
def test_rules_that_can_fire(text: str, rules: list[type[Rule]]) -> None:
    assert passes(text) == rules


@pytest.mark.parametrize(
    ("text", "uses"),
    [
        ("import torch", True),
        ("def f():\n    from torch.nn import functional", True),
        ("import lightning.pytorch as pl", True),
        ("pytest.importorskip('torch')", True),
        ("def f(x: 'torch.Tensor'): pass", True),
        ("backend.torch.zeros(2)", True),
        ("def vector_torch(x, out=None):\n    'For torch.'", False),
        ("if impl == 'pytorch': pass", False),
    ],
)
def test_use_of_torch(text: str, uses: bool) -> None:
    assert screen.Code(ast.parse(text)).uses_torch is uses


def test_depth_is_measured_without_recursion() -> None:
    code = screen.Code(screen.parse("x = " + "-" * 900 + "1"))
    assert code.depth > 900


def test_warnings_of_the_compiler_are_not_ours(capfd: pytest.CaptureFixture[str]) -> None:
    screen.parse("x = '\\d' is 'a'")
    assert capfd.readouterr().err == ""


def test_defaults_named_like_their_parameter() -> None:
    """Looking for what `batch` may be comes back to its own default and annotation; once is enough."""
    code = """import torch

def tasks(batch: Batch):
    def compute(batch: Batch = batch):
        batch[0] = 0.5
    yield compute
"""
    tree = ast.parse(code)
    assert SilentStoreCast.places(Nodes(tree)) is not None


def test_nothing_is_searched_for_what_the_module_does_not_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    """No permutation there makes a tensor channels_last."""
    monkeypatch.setattr(TensorFlow, "follow", lambda *_: pytest.fail("searched"))
    tree = screen.parse("def f(x, y):\n    return x.permute(0, 2, 3, 1) + y\n")
    assert not mixes_formats(nodes_of(tree), frozenset())


def test_long_sums_are_not_searched_again_for_each_of_their_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """With and without a part that decides."""
    steps = 0
    follow = TensorFlow.follow

    def counting(self: TensorFlow, node: ast.expr, unit: str) -> Steps:
        nonlocal steps
        steps += 1
        return follow(self, node, unit)

    monkeypatch.setattr(TensorFlow, "follow", counting)
    for first in ("x.permute(0, 1, 2)", "x.permute(0, 3, 1, 2)"):
        counts = []
        for length in (100, 200):
            steps = 0
            elsewhere = "def g(x):\n    return x.permute(0, 3, 1, 2)\n"
            tree = screen.parse("def f(x, y):\n    return " + first + " + y" * length + "\n" + elsewhere)
            assert bool(mixes_formats(nodes_of(tree), frozenset())) is ("3" in first)
            assert steps > length
            counts.append(steps)
        assert counts[1] < 3 * counts[0]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("torch.add(a, b, out=c)", True),
        ("options = {'out': c}\ntorch.add(a, b, **options)", True),
        ("options = dict(out=c)\ntorch.add(a, b, **options)", True),
        ("def f(**options):\n    x += 1\n    return Model(**options)", False),
        ("def f(outputs, **options):\n    x += 1\n    return Model(**options)", False),
    ],
)
def test_what_may_hold_an_out_is_looked_for_where_the_code_names_it(text: str, found: bool) -> None:
    assert may_fire(OutNarrowing, text) is found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("x.expand(3, 4).add_(1)", True),
        ("torch.nn.functional.relu(x.expand(3, 4), inplace=True)", True),
        ("class Model(Base):\n    def __init__(self):\n        super().__init__(x.expand(3, 4))", False),
    ],
)
def test_a_constructor_writes_to_no_tensor(text: str, found: bool) -> None:
    assert may_fire(InplaceOnExpanded, text) is found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("y = torch.zeros(3, 4)\ny.add_(x.expand(3, 4))", False),
        ("def f(x, y):\n    x.scatter_add_(0, y.expand(3, 4), y)", False),
        ("torch.relu_(x.expand(3, 4))", True),
        ("torch.nn.init.zeros_(x.expand(3, 4))", True),
        ("def f(x):\n    init.zeros_(x.expand(3, 4))", True),
        ("def f(x):\n    y = x.expand(3, 4)\n    y[0].add_(1)", True),
        ("def f(x, y):\n    x = torch.zeros(3)\n    x[:, 0] = y.expand(3)\n    x += 1", False),
        ("def f(x, y):\n    x[..., 0] = y.expand(3)\n    x += 1", False),
        ("def f(rows, y):\n    rows[0] = y.expand(3)\n    rows[0] += 1", True),
        ("def f(rows, y):\n    rows['a', 0] = y.expand(3)\n    rows['a', 0] += 1", True),
    ],
)
def test_only_what_is_written_to_matters(text: str, found: bool) -> None:
    assert may_fire(InplaceOnExpanded, text) is found
