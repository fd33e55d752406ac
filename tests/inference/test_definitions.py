"""What Python evaluates where it comes to a `def` or a `class` is read there, once."""

from __future__ import annotations

import libcst
import pytest
from libcst.metadata import MetadataWrapper, PositionProvider

from stridelint.linter.inference import analyse
from stridelint.rules.registry import all_rules

RAISES = "torch.zeros(4, dtype=torch.int32).add_(0.5)"


def lines(code: str) -> list[int]:
    module = libcst.parse_module(code)
    places = MetadataWrapper(module, unsafe_skip_copy=True).resolve(PositionProvider)
    found = analyse(module, all_rules()).findings
    return sorted(places[each.site.node].start.line for each in found if each.rule.code in ("TLC401", "TLC104"))  # type: ignore[index]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (f"def f(x={RAISES}):\n    return x\n", [3]),
        (f"def f(*, x={RAISES}):\n    return x\n", [3]),
        (f"def f(x={RAISES}, /):\n    return x\n\nf()\nf()\n", [3]),
        (f"f = lambda x={RAISES}: x\n", [3]),
        (f"def f():\n    def g(x={RAISES}):\n        return x\n    return g\n", [4]),
        (f"class A:\n    def f(self, x={RAISES}):\n        return x\n", [4]),
        (
            "class A:\n    N = torch.int32\n    def f(self, x=torch.zeros(4, dtype=N).add_(0.5)):\n        return x\n",
            [5],
        ),
        (f"class A:\n    x = {RAISES}\n", [4]),
        (f"class A:\n    print({RAISES})\n", [4]),
        (f"class A(object, size={RAISES}):\n    pass\n", [3]),
        (f"@mark({RAISES})\ndef f():\n    pass\n", [3]),
        (f"@mark({RAISES})\nclass A:\n    pass\n", [3]),
        ("@mark.parametrize('x', [torch.randn(2, 3, 4).mT.view(-1)])\ndef test_f(x):\n    assert x.sum()\n", [3]),
        ("def f(x=torch.zeros(4, dtype=KIND).add_(0.5)):\n    return x\n\nKIND = torch.int32\n", [3]),
        # What is given is not the default, and a default that is right stays silent.
        ("def f(x=torch.zeros(4, dtype=torch.int32).add_(2)):\n    return x\n\nf(0.5)\n", []),
        ("def f(x=lambda y: y.add_(0.5)):\n    return x\n", []),
    ],
)
def test_findings_in_definitions(code: str, expected: list[int]) -> None:
    assert lines("import torch\n\n" + code) == expected


def test_the_default_is_what_it_was_at_the_definition() -> None:
    code = "size = 4\ndef f(x, size=size):\n    return x.view(size)\nsize = 5\nf(torch.zeros(2, 2))\nf(torch.zeros(2, 2).t())\n"
    assert lines("import torch\n" + code) == [4]


def test_methods_do_not_see_the_names_of_their_class() -> None:
    code = "KIND = torch.float32\nclass A:\n    KIND = torch.int32\n    def f(self):\n        return torch.zeros(4, dtype=KIND).add_(0.5)\n"
    assert lines("import torch\n" + code) == []
