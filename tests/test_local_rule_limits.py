"""A local rule that does not come back is stopped and told; whatever it does, the run goes on."""

from __future__ import annotations

import json
import os
import re
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stridelint.linter import rule_limits

pytestmark = pytest.mark.usefixtures("no_rules_stay")
Run = Callable[..., Any]
CODE = "import torch\n\nx = torch.ones(3, 4).t()\ny = x.view(-1)\n"
HEAD = '''\
import os, time
from stridelint.rules.findings import found
from stridelint.rules.rule import Rule, Severity

class Slow(Rule):
    """Slow.

    What it does:
        a
    Why is this bad?
        b
    Example:
        c
    Use instead:
        d
    """
    code, name, severity = "LOC001", "slow-rule", Severity.WARNING

'''


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "stridelint.toml").write_text('local-rules = ["rules.py"]\n')
    (tmp_path / "x.py").write_text(CODE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(rule_limits, "SECONDS", 0.6)
    monkeypatch.setattr(rule_limits, "GRACE", 60)  # a machine that halts for a moment must not end the process
    return tmp_path


def write(body: str) -> None:
    Path("rules.py").write_text(HEAD + textwrap.indent(textwrap.dedent(body), "    "))


def report(run: Run, *arguments: str) -> tuple[list[str], list[str]]:
    """The codes of the findings, and what is told of files that were skipped."""
    result = run("check", "--format", "json", *(arguments or ("x.py",)))
    document = json.loads(result.out)
    return [each["code"] for each in document["findings"]], [each["reason"] for each in document["skipped"]]


@pytest.mark.parametrize(
    "body",
    [
        "def check(self, event):\n    while True:\n        pass\n",
        "def check(self, event):\n    while True:\n        yield from ()\n",
        "def check(self, event):\n    while True:\n        try:\n            time.sleep(0.01)\n        except Exception:\n            pass\n",
        "def check_module(self, module):\n    while True:\n        pass\n",
        "@classmethod\ndef places(cls, nodes):\n    while True:\n        pass\ndef check(self, event):\n    return ()\n",
        "def check(self, event):\n    time.sleep(0.25)\n    return ()\ndef check_module(self, module):\n    time.sleep(0.5)\n    return ()\n",
    ],
)
def test_python_code_is_stopped(project: Path, run: Run, body: str) -> None:
    write(body)
    found, (told,) = report(run)
    assert found == ["TLC104"]
    expected = r"the local rule LOC001 failed and is left out here: TimeoutError: it takes more than 0.6 seconds at rules.py:\d+"
    assert re.fullmatch(expected, told), told


def test_it_is_left_out_of_that_file_alone(project: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rule_limits, "SECONDS", 3)  # of which the other file needs next to nothing
    write(
        "def check(self, event):\n    while event.op == 'view':\n        pass\n    yield found(self, event, 'seen')\n"
    )
    Path("y.py").write_text("import torch\n\nx = torch.ones(3)\n")
    found, told = report(run, "x.py", "y.py")
    assert sorted(found) == ["LOC001", "TLC104"]
    assert len(told) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no process that may end")
@pytest.mark.parametrize(
    "body",
    [
        "def check(self, event):\n    time.sleep(1000)\n",
        "def check(self, event):\n    import re\n    re.match('(a+)+$', 'a' * 60 + 'b')\n",  # keeps the interpreter's lock
        "def check(self, event):\n    while True:\n        try:\n            while True:\n                pass\n        except:\n            pass\n",
        "def check(self, event):\n    os._exit(0)\n",
    ],
)
@pytest.mark.parametrize("many", [False, True])
def test_what_cannot_be_stopped_costs_the_local_rules_of_that_file(
    project: Path, run: Run, body: str, many: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rule_limits, "GRACE", 0.6)
    write(body)
    if many:
        for number in range(25):
            Path(f"more{number}.py").write_text("import torch\n")
    found, (told,) = report(run, "--jobs", "2", ".")
    assert found == ["TLC104"]
    assert "the local rules are left out here" in told


def test_an_end_of_the_program_is_an_error_of_the_rule(project: Path, run: Run) -> None:
    write("def check(self, event):\n    raise SystemExit(0)\n")
    found, (told,) = report(run)
    assert found == ["TLC104"]
    assert "RuntimeError: it ends the program: SystemExit at rules.py:20" in told


def test_findings_without_end(project: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rule_limits, "SECONDS", 60)
    write("def check(self, event):\n    while True:\n        yield found(self, event, 'seen')\n")
    found, (told,) = report(run)
    assert found == ["TLC104"]
    assert "it yields more than 10,000 findings for one place" in told


def test_a_file_of_rules_that_never_ends_is_left_out(project: Path, run: Run) -> None:
    Path("rules.py").write_text("while True:\n    pass\n")
    found, (told,) = report(run)
    assert found == ["TLC104"]
    assert told.startswith("TimeoutError: it takes more than 0.6 seconds; its rules are left out (line ")


def test_the_outcome_is_not_remembered(project: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    write("def check(self, event):\n    while not os.path.exists('go'):\n        pass\n    return ()\n")
    assert len(report(run)[1]) == 1
    Path("go").touch()
    monkeypatch.setattr(rule_limits, "SECONDS", 60)
    assert report(run) == (["TLC104"], [])


def test_test_rules_tells_it(project: Path, run: Run) -> None:
    write("VALID = ('import torch; x = torch.ones(3).t()',)\ndef check(self, event):\n    while True:\n        pass\n")
    result = run("test-rules")
    assert result.status == 1
    assert "TimeoutError" in result.out


def test_no_thread_is_left_and_nothing_arrives_late() -> None:
    before = threading.active_count()
    for _ in range(20):
        with rule_limits.one_file():
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(rule_limits, "SECONDS", 0.05)
                patch.setattr(rule_limits, "_LOOK", 0.01)
                (limits,) = rule_limits._current
                try:
                    limits.run("owner", lambda: time.sleep(0.05))  # ends about when it would be stopped
                except TimeoutError:
                    pass
            sum(range(10_000))
    assert threading.active_count() == before
