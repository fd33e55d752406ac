"""Objects of classes that derive from dict hold what is stored in them, by whatever method."""

from __future__ import annotations

import libcst
import pytest

from stridelint.linter.inference import analyse
from stridelint.rules.registry import all_rules

HEAD = """
import collections
import torch

INT = torch.int64

class Made(dict):
    def __missing__(self, key):
        self[key] = torch.zeros(2, dtype=INT)
        return self[key]

class Plain(dict):
    pass

class Open(dict):
    def __getattr__(self, name):
        return self[name]

class Grouped(collections.defaultdict):
    def __init__(self):
        super().__init__(lambda: torch.zeros(2, dtype=INT))

class Holder:
    def __init__(self):
        self.plain = Plain(a=torch.zeros(2, dtype=INT))

    def fill(self, key, value):
        self.plain[key] = value

"""


def codes(body: str) -> list[str]:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    analysis = analyse(libcst.parse_module(f"{HEAD}def f(key, x):\n{lines}\n"), all_rules())
    return [finding.rule.code for finding in analysis.findings]


@pytest.mark.parametrize(
    "body",
    [
        "Made()[key] += 0.5",
        "made = Made()\nmade['a'] += 1\nmade['a'].add_(0.5)",
        "made = Made(b=torch.zeros(2, dtype=INT))\nmade[key].add_(0.5)",
        "Grouped()['a'].add_(0.5)",
        "plain = Plain(a=torch.zeros(2, dtype=INT))\nplain['a'].add_(0.5)",
        "plain = Plain({'a': torch.zeros(2, dtype=INT)})\nplain.get('a').add_(0.5)",
        "plain = Plain()\nplain.update(a=torch.zeros(2, dtype=INT))\nfor name in plain: plain[name].add_(0.5)",
        "plain = Plain()\nplain['a'] = torch.ones(2, dtype=INT)\nif len(plain) == 1 and 'a' in plain: plain.pop('a').add_(0.5)",
    ],
)
def test_what_it_holds(body: str) -> None:
    assert codes(body) == ["TLC401"]


@pytest.mark.parametrize(
    "body",
    [
        "made = Made(b=torch.rand(2))\nmade[key].add_(0.5)",
        "made = Made()\nmade['b'] = torch.rand(2)\nmade['b'].add_(0.5)",
        "Made().get('a', torch.zeros(2)).add_(0.5)",
        "opened = Open()\nopened.a = x\nopened.get('a', torch.zeros(2, dtype=INT)).add_(0.5)",
        "linked = Plain()\nlinked.__dict__ = linked\nlinked.a = x\nlinked.get('a', torch.zeros(2, dtype=INT)).add_(0.5)",
        "plain = Plain()\nplain[key] = torch.zeros(2, dtype=INT)\nplain[x] = torch.rand(2)\nplain['a'].add_(0.5)",
        "plain = Plain(a=torch.zeros(2, dtype=INT))\nplain.clear()\nplain.setdefault('a', torch.rand(2)).add_(0.5)",
        "Grouped()['a'].add_(1)",
    ],
)
def test_what_it_may_not_hold(body: str) -> None:
    assert codes(body) == []


def test_other_methods_may_have_stored_something() -> None:
    method = "class More(Holder):\n        def f(self, key):\n            self.plain[{}].add_(0.5)\n"
    assert codes(method.format("key")) == []
    assert codes("holder = Holder()\nholder.plain['a'].add_(0.5)") == ["TLC401"]
    assert codes("holder = Holder()\nholder.fill('a', torch.rand(2))\nholder.plain['a'].add_(0.5)") == []
