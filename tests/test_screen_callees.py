"""What the screen takes to run where something is called, and what names it thinks that gives values to."""

from __future__ import annotations

import ast

import pytest

from stridelint.rules.inplace.inplace_lower_kind import InplaceLowerKind
from stridelint.rules.inplace.inplace_on_expanded import InplaceOnExpanded
from stridelint.rules.layout.view_of_incompatible_strides import ViewOfIncompatibleStrides
from stridelint.rules.rule import Rule
from stridelint.rules.screening import Nodes


def may_fire(rule: type[Rule], text: str) -> bool:
    return bool(rule.places_in(Nodes(ast.parse(f"import torch\n{text}\n"))))


@pytest.mark.parametrize("given, found", [("torch.arange(3)", True), ("torch.rand(3)", False)])
@pytest.mark.parametrize(
    "text",
    [
        "class Add:\n    def __call__(self, x): x += 0.5\nAdd()({})",
        "class Add(torch.nn.Module):\n    def forward(self, x): x += 0.5\nAdd(2)({})",
        "def make(n):\n    def add(x): x += n\n    return add\nmake(0.5)({})",
        "def checked(f):\n    def inner(x):\n        x += 0.5\n        return f(x)\n    return inner\n@checked\ndef g(x): return x\ng({})",
        "def checked(f):\n    def inner(owner, x): x += 0.5\n    return inner\nclass A:\n    @checked\n    def g(self, x): return x\nA().g({})",
        "def with_given(f):\n    def inner(): return f({})\n    return inner\n@with_given\ndef g(x): x += 0.5",
        "def add(n, x): x += n\ndef run(*steps, x): return [step(x) for step in steps]\nrun(partial(add, 0.5), x={})",
        "match {}:\n    case x if x.numel():\n        x += 0.5",
        "match {{'x': {}}}:\n    case {{'x': x, **rest}}:\n        x += 0.5",
        "class A: pass\na = A()\na.part = {}\nmatch a:\n    case A(part=[x, *_]):\n        x += 0.5",
    ],
)
def test_what_is_called_gets_the_arguments(text: str, given: str, found: bool) -> None:
    assert may_fire(InplaceLowerKind, text.format(given)) is found


@pytest.mark.parametrize(
    "text, found",
    [
        (
            "class A:\n    def __init__(self, n, x): self.register_buffer(n, x.expand(3, 4))\n    def f(self): self.a += 1",
            True,
        ),
        (
            "class A:\n    def __init__(self, n, x): setattr(self, n, x.expand(3, 4))\n    def f(self): self.a.add_(1)",
            True,
        ),
        (
            "class A:\n    def __init__(self, n, x): self.register_buffer(n, x.clone())\n    def f(self): self.a += 1",
            False,
        ),
        (
            "class A:\n    def __init__(self, n, x): self.register_buffer('b', x.expand(3, 4))\n    def f(self): self.a += 1",
            False,
        ),
    ],
)
def test_buffers_whose_names_are_computed(text: str, found: bool) -> None:
    assert may_fire(InplaceOnExpanded, text) is found


@pytest.mark.parametrize(
    "stored",
    ["self[key] = value.long()", "super().__setitem__(key, value.long())", "dict.__setitem__(self, key, value.long())"],
)
def test_what_a_dict_of_its_own_stores(stored: str) -> None:
    text = f"class Votes(dict):\n    def put(self, key, value): {stored}\nclass A:\n    def __init__(self): self.votes = Votes()\n"
    assert may_fire(InplaceLowerKind, f"{text}    def f(self):\n        self.votes[0] += 0.5")
    assert may_fire(InplaceLowerKind, f"{text}    def f(self):\n        for each in self.votes.values(): each += 0.5")
    assert not may_fire(InplaceLowerKind, f"{text}    def f(self):\n        self.other[0] += 0.5")


def test_stages_hand_on_what_the_others_gave() -> None:
    stages = (
        "def turned(axis, x): return x.{}(axis, -1)\ndef flat(x): return x.view(-1)\nrun([partial(turned, 0), flat])"
    )
    assert may_fire(ViewOfIncompatibleStrides, stages.format("transpose"))
    assert not may_fire(ViewOfIncompatibleStrides, stages.format("sum"))
