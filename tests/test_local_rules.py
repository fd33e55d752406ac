"""Rules of a project's own: that they take part in everything, when they are imported, and what broken ones do."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stridelint.linter import config

pytestmark = pytest.mark.usefixtures("no_rules_stay")
Run = Callable[..., Any]
PAGE = (Path(__file__).parent.parent / "docs" / "local_rules.md").read_text(encoding="utf-8")
(EXAMPLE,) = re.findall(r"(?ms)^```python file=[^\n]*\n(.*?)^```", PAGE)
BAD = "import torch\n\nscale = torch.ones(3).double()\nloss = torch.ones(3) * scale\n"
CONFIG = '[tool.stridelint]\nlocal-rules = ["tools/lint_rules"]\n'
DOCS = "What it does:\n        a\n    Why is this bad?\n        b\n    Example:\n        c\n    Use instead:\n        d\n    "
RULE = '''\
from stridelint.rules.findings import found
from stridelint.rules.rule import Invalid, Rule, Severity

class Other(Rule):
    """An other.

    {docs}"""
    code, name, severity = "{code}", "{name}", Severity.WARNING
    {more}
    def check(self, event):
        {check}
'''


def rule(
    check: str = 'yield found(self, event, "seen")',
    more: str = "",
    code: str = "LOC002",
    name: str = "other-rule",
    docs: str = DOCS,
) -> str:
    return RULE.format(check=check, more=more, code=code, name=name, docs=docs)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pyproject.toml").write_text(CONFIG)
    (tmp_path / "tools" / "lint_rules").mkdir(parents=True)
    (tmp_path / "tools" / "lint_rules" / "silent_float64.py").write_text(EXAMPLE)
    (tmp_path / "train.py").write_text(BAD)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def add(project: Path, text: str, name: str = "other.py") -> None:
    config.forget()
    (project / "tools" / "lint_rules" / name).write_text(text)


def found(run: Run, *arguments: str) -> list[tuple[str, str, int]]:
    findings = json.loads(run("check", "--format", "json", *arguments).out)["findings"]
    return [(each["path"], each["code"], each["line"]) for each in findings]


def skipped(run: Run, *arguments: str) -> list[tuple[str, str]]:
    result = run("check", "--format", "json", *arguments)
    assert "Traceback" not in result.err
    return [(each["path"], each["reason"]) for each in json.loads(result.out)["skipped"]]


def test_the_commands_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text(CONFIG)
    (shown,) = re.findall(r"(?ms)^```sh\n(.*?)^```", PAGE)
    for command in shown.splitlines():
        if "check" in command:
            (tmp_path / "model.py").write_text("import torch\n\nx = torch.ones(2, 3).t()\ny = torch.relu(x)\n")
        result = run(*command.partition("#")[0].split()[1:])
        assert result.status == int("check" in command), result
    assert "model.py:4:5: LOC001 [silent-float64] message about 'x'" in result.out
    assert run("new-rule", "LOC001", "another-name", "--local", "tools/lint_rules").status == 2
    assert run("new-rule", "TLC101", "another-name", "--local", "tools").status == 2


def test_what_it_takes_part_in(project: Path, run: Run) -> None:
    assert found(run, ".") == [("train.py", "LOC001", 4)]
    assert found(run, "--ignore", "LOC", ".") == []
    assert found(run, "--select", "TLC", ".") == []
    assert found(run, "--select", "silent-float64", ".") == [("train.py", "LOC001", 4)]
    assert found(run, "--per-file-ignores", "train.py:LOC001", ".") == []
    assert run("check", "--severity", "LOC001=note", "--fail-on", "warning", ".").status == 0
    assert "silent-float64" in run("rules").out
    assert {"code": "LOC001", "local": "tools/lint_rules/silent_float64.py"}.items() <= json.loads(
        run("rules", "--format", "json").out
    )[-1].items()
    assert "A local rule, from tools/lint_rules/silent_float64.py" in run("explain", "loc001").out
    (sarif,) = json.loads(run("check", "--format", "sarif", ".").out)["runs"]
    (described,) = sarif["tool"]["driver"]["rules"]
    assert described["id"] == "LOC001"
    assert "helpUri" not in described
    assert "local" in described["properties"]["tags"]
    assert run("check", "--output", "html:audit.html", ".").status == 1
    assert run("docs", "--local", "docs/lint").status == 0
    assert "silent-float64" in (project / "docs" / "lint" / "rules.md").read_text()
    assert (project / "docs" / "lint" / "LOC001.md").exists()
    (project / "train.py").write_text(BAD.replace("* scale", "* scale  # noqa: LOC001"))
    assert found(run, ".") == []


def test_baselines(project: Path, run: Run) -> None:
    assert run("check", "--baseline", "known.json", "--update-baseline", ".").status == 0
    checked = ("check", "--baseline", "known.json", "--error-stale-baseline", ".")
    assert run(*checked).status == 0
    # Where the rule does not run, nobody knows whether the finding is gone.
    assert run(*checked, "--isolated").status == 0
    add(project, "import absent_module\n")
    add(project, "= broken", "silent_float64.py")
    assert run(*checked).status == 0
    add(project, "", "other.py")
    add(project, EXAMPLE.replace('"LOC001"', '"LOC003"'), "silent_float64.py")
    assert "gone" in run(*checked).err


def test_the_probe_and_the_trace_leave_them_alone(project: Path, run: Run) -> None:
    pytest.importorskip("torch")
    claiming = "about=(double[0],), claim=Claim(Kind.RAISES))"
    imports = "from stridelint.rules.claims import Claim, Kind\nfrom stridelint.rules.events"
    text = EXAMPLE.replace("about=(double[0],))", claiming).replace("from stridelint.rules.events", imports)
    add(project, text, "silent_float64.py")
    document = json.loads(run("check", "--probe", "cpu", "--format", "json", "train.py").out)
    assert [(each["code"], each["probe"]["verdict"]) for each in document["findings"]] == [("LOC001", "inconclusive")]
    assert "local rule" in document["findings"][0]["probe"]["reason"]
    command = [sys.executable, "-m", "stridelint", "trace", "--format", "json", "--", "train.py"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0
    (traced,) = json.loads(result.stderr)["findings"]
    assert (traced["code"], traced["trace"]["verdict"]) == ("LOC001", "unjudged")


def test_worker_processes(project: Path, run: Run) -> None:
    for number in range(24):
        (project / f"m{number:02}.py").write_text(BAD)
    assert len(found(run, "--jobs", "2", "--no-cache", ".")) == 25


def test_flake8(project: Path) -> None:
    def lines(*options: str) -> list[str]:
        command = [sys.executable, "-m", "flake8", "--max-line-length", "200", *options, "train.py"]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()

    assert lines() == ["train.py:4:8: LOC001 'torch.ones(3) * scale' is float64 because 'scale' is"]
    assert lines("--stridelint-isolated") == []


def test_a_changed_rule_is_taken_up(project: Path, run: Run) -> None:
    """Also by a process that has imported it before, and past what a cache remembers."""
    assert len(found(run, ".")) == 1
    add(project, EXAMPLE.replace('frozenset({"add"', 'frozenset({"fmod"').replace('"mul", ', ""), "silent_float64.py")
    assert found(run, ".") == []


def test_a_folder_that_is_merely_checked_runs_nothing(
    project: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    here = tmp_path_factory.mktemp("here")
    monkeypatch.chdir(here)
    add(project, "from pathlib import Path\nPath('was_run').touch()\n")
    result = run("check", project)
    assert f"the local-rules of {project / 'pyproject.toml'} are not run" in result.err
    assert not (here / "was_run").exists()
    assert run("check", "--isolated", project).err == ""
    assert not (here / "was_run").exists()
    assert found(run, "--config", str(project / "pyproject.toml"), str(project))
    assert (here / "was_run").exists()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("import absent_module\n", r"ModuleNotFoundError: No module named 'absent_module'; .* \(line 1\)"),
        ("\nclass (:\n", r"SyntaxError: invalid syntax; .* \(line 2\)"),
        ("raise SystemExit(3)\n", r"RuntimeError: ends the program when it is imported: SystemExit; .* \(line 1\)"),
        (
            rule(docs="\n    "),
            r"LOC002: its docstring lacks 'What it does', .*; the rule 'Other' is left out \(line 4\)",
        ),
        (rule(more='words = ("relu")'), r"LOC002: words must hold strings, with a comma"),
        (rule(more='since = "new"'), r'LOC002: ConfigError: must be a version of torch, like "2.3"'),
        (
            rule(code="LOCAL1"),
            r"its code must be one to three capital letters and three digits, like LOC001, not 'LOCAL1'",
        ),
        (rule(name="Other"), r"LOC002: its name must be words in lower case"),
        (rule(more="def __init__(self): raise ValueError('no')"), r"LOC002: ValueError: no"),
    ],
)
def test_a_broken_rule_is_told_and_stops_nothing(project: Path, run: Run, text: str, reason: str) -> None:
    add(project, text)
    ((path, told),) = skipped(run, ".")
    assert path == "tools/lint_rules/other.py"
    assert re.match(reason, told), told
    assert found(run, "--select", "LOC001,LOC002", ".") == [("train.py", "LOC001", 4)]
    result = run("test-rules")
    assert result.status == 1
    assert result.out.startswith("tools/lint_rules/other.py:")


@pytest.mark.parametrize(
    ("check", "more", "reason"),
    [
        ("return 1 / 0", "", r"the local rule LOC002 failed and is left out here: ZeroDivisionError: division by zero at tools/lint_rules/other.py:19"),
        ("return None", "", r"the local rule LOC002 failed .*: TypeError"),
        ("yield 'text'", "", r"the local rule LOC002 failed .*: TypeError: check must yield findings, not 'text'"),
        ("return ()", "places = classmethod(lambda cls, nodes: 1 / 0)", r"the local rule LOC002 failed .*: ZeroDivisionError"),
        ("return ()", "def check_module(self, module): raise KeyError", r"the local rule LOC002 failed .*: KeyError"),
    ],
)  # fmt: skip
def test_an_exception_costs_that_rule_for_that_file(
    project: Path, run: Run, check: str, more: str, reason: str
) -> None:
    add(project, rule(check, more))
    ((path, told),) = skipped(run, "train.py")
    assert path == "train.py"
    assert re.match(reason, told), told
    assert found(run, "train.py") == [("train.py", "LOC001", 4)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (rule(code="LOC001"), "silent_float64.py:12: the rule LOC001 exists already: tools/lint_rules/other.py:4"),
        (rule(name="silent-float64"), "the rule silent-float64 exists already"),
        (rule(name="layout-dropped"), "the rule layout-dropped exists already: built in"),
        (rule(code="TLC999"), "TLC999 is a code of stridelint's own"),
    ],
)
def test_clashes_are_wrong_usage(project: Path, run: Run, text: str, words: str) -> None:
    add(project, text)
    result = run("check", ".")
    assert (result.status, len(result.err.splitlines())) == (2, 1)
    assert words in result.err
    (project / "pyproject.toml").write_text('[tool.stridelint]\nlocal-rules = ["absent"]\n')
    config.forget()
    assert "absent, which does not exist" in run("check", ".").err


def test_a_rule_without_words_concerns_every_file_that_uses_torch(project: Path, run: Run) -> None:
    add(project, rule(more='ops = frozenset({"sigmoid"})'))
    (project / "train.py").write_text(
        "import torch\n\ndef f(x):\n    if x.any():\n        torch.sigmoid(torch.ones(3))\n"
    )
    assert found(run, ".") == [("train.py", "LOC002", 5)]
    (project / "train.py").write_text("def f(x):\n    return x.sigmoid()\n")
    assert found(run, ".") == []


def test_helpers_and_standard_output(project: Path, run: Run) -> None:
    add(project, "print('loud')\nMESSAGE = 'from the helper'\n", "_helper.py")
    add(project, "from ._helper import MESSAGE\n" + rule("yield found(self, event, MESSAGE)"))
    (project / "train.py").write_text("import torch\ntorch.relu(torch.ones(3))\n")
    assert [each["message"] for each in json.loads(run("check", "--format", "json", ".").out)["findings"]] == [
        "from the helper"
    ]


def test_examples_that_do_not_hold(project: Path, run: Run) -> None:
    add(
        project,
        EXAMPLE.replace("((4, 8,", "((4, 9,").replace("scale * scale\n", "torch.ones(3) * scale\n"),
        "silent_float64.py",
    )
    result = run("test-rules", "tools/lint_rules")
    assert result.status == 1
    assert "LOC001 VALID[0]: the findings are not those that are expected\n    unexpected 4:8: " in result.out
    assert (
        "    missing    4:9: 'torch.ones(3) * scale' is float64 because 'scale' is\n    unexpected 4:8: " in result.out
    )
    assert result.out.endswith("1 rule, 3 examples: 2 failures\n")
    assert run("test-rules", "absent").status == 2
    assert run("test-rules", "--isolated").status == 2


def test_fixes_are_tested(project: Path, run: Run) -> None:
    fixing = (
        "VALID = ('import torch',)\n"
        "    INVALID = (Invalid('import torch\\ntorch.relu(torch.ones(3))\\n', ((2, 1, 'seen'),), fixed='import torch\\n'),)"
    )
    add(project, rule(more=fixing))
    result = run("test-rules", "tools/lint_rules/other.py")
    assert result.status == 1
    assert "LOC002 INVALID[0]: --fix makes of it" in result.out
