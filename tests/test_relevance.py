"""Blanking out what does not matter keeps every line in place and every finding."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Callable
from pathlib import Path

import libcst
import pytest

from stridelint.linter import blanking, engine, reachability, relevance, screen, source
from stridelint.linter.config import Settings
from stridelint.linter.deep import run_deep
from stridelint.linter.inference import analyse
from stridelint.linter.selection import select
from stridelint.rules.registry import all_rules
from stridelint.rules.rule import Finding
from stridelint.rules.screening import nodes_of

FIXTURES = Path(__file__).parent.parent / "fixtures"

CODE = '''\
import torch


def helper(x):
    """Makes rows of x.

    At length.
    """
    return x.reshape(-1)


def unrelated(x):
    @torch.no_grad()
    def inner():
        return x + 1

    return inner


class Head:
    def forward(self, x):
        y = x.transpose(0, 1)
        return y.view(-1)

    def other(self):
        total = 0
        total += 1
        return total


def main():
    return Head().forward(helper(torch.zeros(2, 3)))
'''


def planned(text: str) -> relevance.Plan:
    tree = screen.parse(text)
    rules = screen.Code(tree).rules(all_rules())
    return relevance.plan(text, tree, nodes_of(tree), rules)


def blanked_text(text: str, functions: list[ast.FunctionDef | ast.AsyncFunctionDef]) -> str:
    lines = text.splitlines(keepends=True)
    return blanking.blanked(lines, [node for node in functions if blanking.can_be_blanked(lines, node)])


def test_only_what_leads_to_a_rule_is_kept() -> None:
    plan = planned(CODE)
    assert plan.text.count("\n") == CODE.count("\n")
    assert "def inner" not in plan.text
    assert "return y.view(-1)" in plan.text
    names = [node.name for node, _ in reachability.functions_of(ast.parse(CODE).body)]
    assert {names[index] for index, thorough in plan.roots.items() if thorough} >= {"forward"}
    assert "unrelated" not in {names[index] for index in plan.roots}


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_blanked_text_is_python_of_as_many_lines(ending: str) -> None:
    text = CODE.replace("\n", ending)
    functions = [node for node, _ in reachability.functions_of(ast.parse(text).body)]
    blanked = blanked_text(text, functions)
    ast.parse(blanked)
    assert blanked.count(ending) == text.count(ending)
    assert blanking.UNKNOWN_RESULT in blanked


def torch_files() -> list[Path]:
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return []
    return sorted(Path(spec.origin).parent.rglob("*.py"))[::12]


def test_any_file_can_be_blanked() -> None:
    for path in [*torch_files(), *FIXTURES.rglob("*.py")]:
        text = source.read(str(path)).text
        try:
            tree = screen.parse(text)
        except screen.Unparsable:
            continue
        blanked = blanked_text(text, [node for node, _ in reachability.functions_of(tree.body)])
        assert blanked.count("\n") == text.count("\n"), path
        screen.parse(blanked)


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("bad/*.py")), ids=lambda path: path.stem)
def test_the_whole_file_has_no_other_findings(path: Path, run: Callable[..., object]) -> None:
    text = path.read_text(encoding="utf-8")
    tree = screen.parse(text)
    rules = screen.Code(tree).rules(all_rules())
    plan = relevance.plan(text, tree, nodes_of(tree), rules)

    def codes(findings: list[Finding]) -> set[tuple[str, str]]:
        return {(finding.rule.code, finding.message) for finding in findings}

    reduced = run_deep(
        lambda: (
            analyse(
                libcst.parse_module(plan.text),
                rules,
                wanted=plan.roots,
                firing=plan.rules,
                body=plan.body,
                telling=plan.telling,
            ).findings
        )
    )
    whole = run_deep(lambda: analyse(libcst.parse_module(text), all_rules(), budget=3_000_000).findings)
    assert codes(whole) <= codes(reduced)


def test_methods_that_hand_on_attributes_are_read() -> None:
    code = """\
import torch

class Base:
    def __init__(self):
        self.hits = torch.zeros(4, dtype=torch.int64)
        self.name = "hits"

class Counter(Base):
    def step(self):
        self._add(self.hits)

    def later(self, index):
        values = self.hits[index].view(-1)
        self._add(values)

    def rename(self, values):
        self.other(self.name)
        self._add(values)

    def _add(self, values):
        values += 0.5

class Plain:
    def __init__(self, hits):
        self.hits = hits

    def step(self):
        self._add(self.hits)

    def _add(self, values):
        values += 0.5
"""
    plan = planned(code)
    units = [
        (node.name, owner.name if owner else "") for node, owner in reachability.functions_of(ast.parse(code).body)
    ]
    roots = {units[index] for index in plan.roots}
    assert {("step", "Counter"), ("later", "Counter")} <= roots
    assert not roots & {("rename", "Counter"), ("step", "Plain")}


@pytest.mark.parametrize(
    "odd", ["\x0c\n", "# \x0c\n", "# \u2028\n", "s = '\x85'\n", "s = '\x0b\x1c\x1d\x1e\u2029'\n", "# \r\n\n", "# \r"]
)
def test_lines_are_those_of_python(odd: str) -> None:
    """Characters at which only `str.splitlines` ends a line: form feeds stand between the parts of many old files."""
    unrelated = "".join(f"def f{number}(a):\n    b = 1\n    c = 2\n    d = 3\n    return d\n" for number in range(3))
    before, call = (
        f"import torch\n{odd}{unrelated}",
        "x = torch.ones(2, 3, 4, 5) * torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)\n",
    )
    outcome = engine.check(source.from_bytes("x.py", (before + call).encode()), select(Settings()))
    assert outcome.skipped == ()
    assert [(each.line, each.excerpt) for each in outcome.findings] == [(len(source.lines(before)), call.rstrip())]


@pytest.mark.parametrize(
    ("head", "body", "is_root"),
    [
        ("def fill(x, keep)", "flat(x.bool())", True),
        ("def fill(x, keep)", "flat(x, dtype=torch.long)", True),
        ("def fill(x, keep: bool)", "flat(x)", False),
        ("def fill(x: torch.BoolTensor) -> bool", "flat(x)", False),
        ("def fill()", "flat(torch.zeros(2, 3))", True),
        ("def fill(x: torch.Tensor = None) -> torch.Tensor", "flat(x)", False),
    ],
)
def test_what_an_annotation_names_makes_no_tensor(head: str, body: str, is_root: bool) -> None:
    text = f"import torch\n\ndef flat(x, dtype=None):\n    return x.t().view(-1)\n\n{head}:\n    return {body}\n"
    assert (1 in planned(text).roots) is is_root


@pytest.mark.parametrize(
    ("annotation", "is_root"),
    [("torch.Tensor", True), ("'Tensor'", True), ("torch.Tensor | None", False), ("object | None", False)],
)
def test_callers_tell_more_than_an_annotation_that_the_code_doubts(annotation: str, is_root: bool) -> None:
    text = f"""\
import torch

def clip(x, limits: {annotation}):
    if limits is None:
        boxes = torch.softmax(x, dim=1)
        boxes[:, [0, 2]].clamp_(min=0, max=1)

def run(outputs):
    clip(outputs[0], outputs[1])
"""
    assert (1 in planned(text).roots) is is_root
    found = analyse(libcst.parse_module(text), all_rules(), wanted=planned(text).roots).findings
    assert [each.rule.code for each in found] == ["TLC109"]
