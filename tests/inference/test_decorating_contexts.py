"""Contexts of the file's own as decorators: the function runs within them, and keeps its meaning."""

from __future__ import annotations

import libcst
import pytest

from stridelint.linter.inference import analyse
from stridelint.rules.contract.answers import Confidence
from stridelint.rules.registry import all_rules

BODY = "def f(n):\n    w = torch.ones(3, requires_grad=True)\n    torch.add(w, 1, out=torch.empty(3))\n    {}\n\nf(1)\n"
GENERATOR = "@contextlib.contextmanager\ndef off():\n    with torch.no_grad():\n        yield\n\n"
CLASS = """class off(contextlib.ContextDecorator):
    def __enter__(self):
        self.mode = torch.no_grad()
        self.mode.__enter__()

    def __exit__(self, *exc):
        self.mode.__exit__(*exc)

"""
DERIVED = "class off(torch.no_grad):\n    pass\n\n"
PLAIN = "@contextlib.contextmanager\ndef off():\n    yield\n\n"


def found(code: str) -> list[str]:
    module = libcst.parse_module("import contextlib\nimport torch\n\n" + code)
    return [each.rule.code for each in analyse(module, all_rules()).findings if each.confidence > Confidence.POSSIBLE]


@pytest.mark.parametrize(
    ("context", "codes"),
    [(GENERATOR, []), (CLASS, []), (DERIVED, []), (PLAIN, ["TLC302"])],
    ids=["generator", "class", "derived", "plain"],
)
def test_the_body_runs_within_the_context(context: str, codes: list[str]) -> None:
    assert found(context + "@off()\n" + BODY.format("return w")) == codes


def test_a_generator_runs_after_its_context() -> None:
    assert found(CLASS + "@off()\n" + BODY.format("yield w").replace("f(1)", "list(f(1))")) == ["TLC302"]


def test_the_grad_mode_is_back_after_the_call() -> None:
    after = "torch.add(torch.ones(3, requires_grad=True), 1, out=torch.empty(3))\n"
    assert found(CLASS + "@off()\n" + BODY.format("return w") + after) == ["TLC302"]


def test_an_unknown_decorator_leaves_what_is_returned_open() -> None:
    code = "from somewhere import wrap\n\n@wrap()\ndef make():\n    return torch.zeros(3, dtype=torch.int32)\n\nmake().add_(0.5)\n"
    assert found(code) == []
