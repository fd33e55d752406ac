"""The screen lets pass what a rule can fire on, and little else."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import pytest

from stridelint.linter import screen
from stridelint.rules.inplace.inplace_lower_kind import InplaceLowerKind
from stridelint.rules.inplace.inplace_on_expanded import InplaceOnExpanded
from stridelint.rules.inplace.silent_store_cast import SilentStoreCast
from stridelint.rules.layout.lost_write import LostWrite
from stridelint.rules.layout.screening import mixes_formats
from stridelint.rules.layout.view_of_incompatible_strides import ViewOfIncompatibleStrides
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


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("def f(data):\n    d = dict(data)\n    for key in keys:\n        d[key] = x.long() * 0.5", False),
        ("def f(d):\n    for key in keys:\n        d[key] = 0.5", True),
        ("def f(d):\n    d = dict(d)\n    d[key] = 0.5", True),
        ("def f(d: int):\n    rows = [None] * 3 + [0]\n    rows[i] = 0.5", False),
        ("def f():\n    rows = [0] * 3\n    rows[i][0] = 0.5", True),
        ("def f(other):\n    rows, n = [], 1\n    rows[i] = 0.5", True),
        ("def f():\n    rows = []\n    for rows in table:\n        rows[i] = 0.5", True),
        ("def f():\n    rows = []\n    with open(p) as rows:\n        rows[i] = 0.5", True),
        ("def f():\n    rows = []\n    rows += x\n    rows[i] = 0.5", True),
        ("def f(x):\n    rows = {}\n    match x:\n        case Box(inner=rows):\n            rows[i] = 0.5", True),
        ("try:\n    from table import rows\nexcept ImportError:\n    rows = {}\nrows[i] = 0.5", True),
        ("rows = {}\ndef f():\n    global rows\n    rows = x\ndef g():\n    rows[i] = 0.5", True),
        ("rows = {}\ndef g():\n    rows[i] = 0.5", False),
        ("def dict(x):\n    return x\ndef f():\n    rows = dict(x)\n    rows[i] = 0.5", True),
        ("def f(model, new):\n    new = model.state_dict()\n    new[f'{block}.weight'] = 0.5", False),
        ("def f(model, prefix):\n    state = model.state_dict()\n    state[prefix] = 0.5", False),
        ("def f(new, old):\n    new[old + '.weight'] = 0.5\n    key = 'layer%d' % old\n    new[key] = 0.5", False),
        ("def f(new, old):\n    key = 'layer%d' % old\n    for key in old:\n        new[key] = 0.5", True),
        ("def f(new, old):\n    new[old + 1] = 0.5", True),
        ("def f():\n    image = np.zeros((3, 4), dtype=np.int64)\n    image[mask] = 0.5", False),
        ("def f():\n    image = torch.zeros((3, 4), dtype=torch.int64)\n    image[mask] = 0.5", True),
    ],
)
def test_dicts_and_lists_hold_any_value(text: str, found: bool) -> None:
    """Only where all that the name is bound to is one."""
    nodes = Nodes(ast.parse(text))
    stores = [
        (target, unit)
        for node, unit in nodes.bindings
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Subscript)
    ]
    target, unit = max(stores, key=lambda store: store[0].lineno)
    assert nodes.certain.stores_elsewhere(target, unit) is not found


@pytest.mark.parametrize(("made", "found"), [("dict(x)", False), ("x.long()", True)])
def test_no_dict_is_an_integer_tensor(made: str, found: bool) -> None:
    text = f"def f(x):\n    held = {made}\n    held[x.argmax()] = 0.5"
    assert may_fire(SilentStoreCast, text) is found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("def f(d):\n    d[mask][0] = 1", True),
        ("def f(d):\n    held = dict(d)\n    held[mask][0] = 1", False),
        ("def f(d):\n    held = dict(d)\n    held[name][mask][0] = 1", True),
    ],
)
def test_what_a_dict_holds_is_not_lost(text: str, found: bool) -> None:
    assert may_fire(LostWrite, text) is found


FLOAT_AND_MASK = "    return x.mean(1), x > 0\n"
ROWS_AND_COLUMNS = "    return torch.zeros(3, 4), x.t()\n"


@pytest.mark.parametrize(
    ("function", "use", "found"),
    [
        ("def f(x):\n", "first, second = f(x)\n    first", False),
        ("def f(x):\n", "first, second = f(x)\n    second", True),
        ("def f(x):\n", "f(x)[0]", False),
        ("def f(x):\n", "f(x)[-1]", True),
        ("def f(x):\n", "first, *rest = f(x)\n    rest", True),
        ("def f(x):\n", "*rest, first = f(x)\n    rest", True),
        ("def f(x):\n", "both = f(x)\n    both", True),
        ("def f(x):\n", "first, second = g(x)\n    second", True),
        ("def f(x):\n", "for pair, other in f(x):\n        pair.view(-1)\n        pair", True),
        ("def f(x):\n", "(first, last), second = f(x), 1\n    last", True),
        ("@swapped\ndef f(x):\n", "first, second = f(x)\n    first", True),
        ("def f(x):\n    yield 1, 2\n", "first, second = f(x)\n    first", True),
        ("def f(x):\n    if x:\n        return other(x), f(x)[1]\n", "first, second = f(x)\n    second", True),
        (
            "class Model:\n  def f(x):\n    return *x.t(), 1\n  def f(x):\n",
            "first, second = self.f(1)\n    first",
            True,
        ),
        ("class Model:\n  def f(x):\n", "first, second = self.f(1)\n    first", False),
        ("class Model:\n  def f(x):\n", "first, second = self.f(1)\n    second", True),
    ],
)
def test_parts_of_what_functions_return(function: str, use: str, found: bool) -> None:
    """A function that returns a tuple tells which part is which, unless something comes between."""
    after = "def g(x):\n    return f(x)\ndef h(self, x):\n    "
    assert may_fire(ViewOfIncompatibleStrides, f"{function}{ROWS_AND_COLUMNS}{after}{use}.view(-1)") is found
    if "pair" not in use and "x.t()" not in function:
        text = f"{function}{FLOAT_AND_MASK}{after}{use}[i] = 0.5"
        assert may_fire(SilentStoreCast, text) is found


@pytest.mark.parametrize("use", ["with Held() as one:\n    one", "for one in Held():\n    one", "Held()(3)"])
def test_what_an_object_gives_that_is_entered_or_looped_over(use: str) -> None:
    """Also where its class has no constructor."""
    methods = "".join(
        f"    def {name}(self):\n        self.kept = MADE\n        return self.kept\n"
        for name in ("__enter__", "__iter__", "__call__")
    )
    text = f"class Held:\n{methods}{use}"
    assert may_fire(ViewOfIncompatibleStrides, text.replace("MADE", "x.t()") + ".view(-1)")
    assert may_fire(InplaceLowerKind, text.replace("MADE", "x.long()") + ".add_(0.5)")
