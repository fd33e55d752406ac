"""docs/beliefs.md: each program runs on torch, and stridelint finds in it what the page says."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "beliefs.md"
BELIEFS = re.findall(r"(?ms)^### (.*?)\n(.*?)^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"))
NAMES = [re.sub(r"\W+", "-", belief).strip("-")[:50] for belief, *_ in BELIEFS]


def test_each_belief_has_a_program_with_proof_and_a_rule() -> None:
    assert len(BELIEFS) == PAGE.read_text(encoding="utf-8").count("\n### ")
    for _, text, program in BELIEFS:
        assert "assert " in program
        assert bool(re.search(r"\]\(rules/TLC\d+\.md\)", text)) is not ("No rule: " in text)


@pytest.mark.parametrize(("belief", "text", "program"), BELIEFS, ids=NAMES)
def test_torch_agrees(belief: str, text: str, program: str) -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    exec(compile(program, belief, "exec"), {"__name__": "proof"})


@pytest.mark.parametrize(("belief", "text", "program"), BELIEFS, ids=NAMES)
def test_the_linter_finds_it(belief: str, text: str, program: str, tmp_path: Path, run: Callable[..., Any]) -> None:
    path = tmp_path / "test_proof.py"
    path.write_text(program)
    # The proofs state layouts in assertions: a layout that code states is told in audits only.
    report = json.loads(run("check", "--isolated", "--min-confidence", "possible", "--format", "json", path).out)
    assert set(re.findall(r"rules/(TLC\d+)\.md", text)) <= {finding["code"] for finding in report["findings"]}
