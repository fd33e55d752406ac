"""[tool.stridelint]: what it may say, where it is found, and how mistakes are told."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stridelint.linter import config, selection
from stridelint.rules.contract import operators, torch_versions
from stridelint.rules.contract.answers import Confidence
from stridelint.rules.rule import Rule, Severity

Run = Callable[..., Any]


def write(folder: Path, text: str) -> str:
    config.forget()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "pyproject.toml"
    path.write_text(text)
    return str(path)


def test_all_keys(tmp_path: Path) -> None:
    text = """
    [tool.stridelint]
    select = ["TLC1"]
    ignore = ["TLC103"]
    extend-select = ["TLC203"]
    min-confidence = "possible"
    exclude = ["a"]
    extend-exclude = ["b/*.py"]
    force-exclude = true
    jobs = 3
    """
    path = write(tmp_path, text)
    assert config.read(path) == config.Settings(
        ("TLC1",), ("TLC103",), ("TLC203",), Confidence.POSSIBLE, ("a",), ("b/*.py",), True, 3, str(tmp_path), file=path
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("selct = []", ["unknown key 'selct'", "did you mean 'select'"]),
        ('select = "TLC1"', ["'select'", "list of strings"]),
        ("select = [1]", ["'select'", "list of strings"]),
        ("jobs = true", ["'jobs'", "auto"]),
        ("jobs = -1", ["'jobs'"]),
        ('jobs = "many"', ["'jobs'"]),
        ("force-exclude = 1", ["'force-exclude'", "true or false"]),
        ('min-confidence = "sure"', ["'min-confidence'", "certain"]),
        ("= 1", ["not valid TOML"]),
    ],
)
def test_mistakes_name_file_and_key(tmp_path: Path, text: str, words: list[str]) -> None:
    path = write(tmp_path, f"[tool.stridelint]\n{text}\n")
    with pytest.raises(config.ConfigError) as error:
        config.find(str(tmp_path))
    assert all(word in str(error.value) for word in [*words, path]), error.value


def test_the_nearest_file_with_settings_holds(tmp_path: Path) -> None:
    write(tmp_path, '[tool.stridelint]\nselect = ["TLC1"]\n')
    write(tmp_path / "a", "[tool.other]\n")
    write(tmp_path / "a" / "b", '[tool.stridelint]\nselect = ["TLC2"]\n')
    assert config.find(str(tmp_path / "a")).select == ("TLC1",)
    assert config.find(str(tmp_path / "a" / "new.py")).select == ("TLC1",)
    assert config.find(str(tmp_path / "a" / "b" / "c")).select == ("TLC2",)
    assert config.find(str(tmp_path / "a" / "b")).root == str(tmp_path / "a" / "b")


def test_a_broken_file_that_is_not_about_us_is_ignored(tmp_path: Path) -> None:
    write(tmp_path, "= nonsense")
    assert config.find(str(tmp_path)).select == ()


def test_a_named_file(tmp_path: Path) -> None:
    own = tmp_path / "stridelint.toml"
    own.write_text('ignore = ["TLC1"]\n')
    read = config.read(str(own))
    assert read is not None
    assert read.ignore == ("TLC1",)
    with pytest.raises(config.ConfigError, match=r"no \[tool.stridelint\]"):
        config.read(write(tmp_path / "x", "[tool.other]\n"))


LOWER = "import torch\n\ntorch.add(torch.ones(3), 1, out=torch.ones(3, dtype=torch.int64))\n"
DROPPED = "import torch\n\nx = torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)\ny = x.view(-1)\n"
PAGE = (Path(__file__).parent.parent / "docs" / "configuration.md").read_text(encoding="utf-8")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tests").mkdir()
    for name in ("lower.py", "tests/lower.py"):
        (tmp_path / name).write_text(LOWER)
    (tmp_path / "view.py").write_text(DROPPED)
    return tmp_path


def found(run: Run, *arguments: str) -> list[str]:
    document = json.loads(run("check", "--format", "json", *arguments).out)
    return [f"{each['path']} {each['code']} {each['severity']}" for each in document["findings"]]


ALL = ["lower.py TLC301 error", "tests/lower.py TLC301 error", "view.py TLC104 error"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('per-file-ignores = ["TLC1"]', ["'per-file-ignores'", "table of patterns"]),
        ('per-file-ignores = {"a" = "TLC1"}', ["'per-file-ignores'", "table of patterns"]),
        ('severity = "error"', ["'severity'", "table of rules"]),
        ('severity = {TLC204 = "eror"}', ["'severity'", "TLC204", "did you mean 'error'"]),
        ('fail-on = "warnings"', ["'fail-on'", "did you mean 'warning'"]),
        ('fail-on = "confirmed"', ["'fail-on'"]),
        ("target-torch = 2.3", ["'target-torch'", '"2.3"']),
        ('target-torch = "new"', ["'target-torch'"]),
        ('local-rules = "tools"', ["'local-rules'", "list of strings"]),
        ('operators = ""', ["'operators'", "path"]),
    ],
)
def test_mistakes_in_newer_keys(project: Path, run: Run, text: str, words: list[str]) -> None:
    path = write(project, f"[tool.stridelint]\n{text}\n")
    result = run("check", ".")
    assert (result.status, len(result.err.splitlines())) == (2, 1)
    assert all(word in result.err for word in [*words, path]), result.err


@pytest.mark.parametrize(
    "text", ['per-file-ignores = {"a" = ["TLC999"]}', 'severity = {TLC999 = "error"}', 'operators = "absent.json"']
)
def test_unknown_rules_and_tables_are_mistakes_too(project: Path, run: Run, text: str) -> None:
    write(project, f"[tool.stridelint]\n{text}\n")
    result = run("check", ".")
    assert (result.status, len(result.err.splitlines())) == (2, 1)
    assert "TLC999" in result.err or "absent.json" in result.err


def test_per_file_ignores(project: Path, run: Run) -> None:
    assert found(run, ".") == ALL
    assert found(run, "--per-file-ignores", "tests/*:TLC3", ".") == [ALL[0], ALL[2]]
    assert found(run, "--per-file-ignores", "tests:out-lower-kind,view.py:TLC1", ".") == ALL[:1]
    write(project, '[tool.stridelint.per-file-ignores]\n"tests/*" = ["TLC1", "TLC301"]\n')
    assert found(run, ".") == [ALL[0], ALL[2]]
    # Patterns of the file are relative to it, those of the command line to the current folder.
    os.chdir("tests")
    assert found(run, "lower.py") == []
    assert found(run, "--per-file-ignores", "./lower.py:TLC1", "lower.py") == ["lower.py TLC301 error"]
    assert found(run, "--per-file-ignores", "./lower.py:TLC3", "lower.py") == []
    assert "PATTERN:CODE" in run("check", "--per-file-ignores", "lower.py", "lower.py").err


def test_files_that_cannot_be_analysed_can_be_ignored_by_file(project: Path, run: Run) -> None:
    (project / "tests" / "lower.py").write_text("import torch; x.view(\n")
    assert "TLC901" in run("check", "tests").out
    assert "TLC901" not in run("check", "--per-file-ignores", "tests/*:TLC901", "tests").out
    (project / "tests" / "lower.py").write_bytes(b"import torch # \xff\n")
    assert "TLC901" not in run("check", "--per-file-ignores", "tests/*:TLC9", "tests").out


def test_severity_in_every_format(project: Path, run: Run) -> None:
    write(
        project,
        '[tool.stridelint.severity]\nTLC3 = "note"\nout-lower-kind = "warning"\nview-of-incompatible-strides = "note"\n',
    )
    assert found(run, ".") == ["lower.py TLC301 warning", "tests/lower.py TLC301 warning", "view.py TLC104 note"]
    assert "::warning" in run("check", "--format", "github", "lower.py").out
    (results,) = [each["results"] for each in json.loads(run("check", "--format", "sarif", "view.py").out)["runs"]]
    assert [each["level"] for each in results] == ["note"]
    assert [each["severity"] for each in json.loads(run("check", "--format", "gitlab", "view.py").out)] == ["info"]
    assert found(run, "--severity", "TLC1=error,TLC301=note", "view.py", "lower.py") == [
        "lower.py TLC301 note",
        "view.py TLC104 error",
    ]
    assert "TLC204=error" in run("check", "--severity", "TLC204", ".").err


@pytest.mark.parametrize(
    ("severity", "fails_on"),
    [
        ("error", {"any", "error", "warning", "note"}),
        ("warning", {"any", "warning", "note"}),
        ("note", {"any", "note"}),
    ],
)
def test_fail_on(project: Path, run: Run, severity: str, fails_on: set[str]) -> None:
    for level in config.FAIL_ON:
        status = run("check", "--severity", f"TLC104={severity}", "--fail-on", level, "view.py").status
        assert status == int(level in fails_on)
    write(project, '[tool.stridelint]\nfail-on = "error"\nseverity = {TLC104 = "warning"}\n')
    assert run("check", "view.py").status == 0
    assert run("check", "--fail-on", "any", "view.py").status == 1
    assert run("check", "--fail-on", "confirmed", "view.py").status == 2


def test_what_is_excluded_is_counted(project: Path, run: Run) -> None:
    assert "1 file excluded" in run("check", "--extend-exclude", "tests", ".").out
    document = json.loads(run("check", "--format", "json", "--exclude", "tests,view.py", ".").out)
    assert (document["checked"], document["excluded"]) == (1, 2)
    write(project, '[tool.stridelint]\nextend-exclude = ["tests"]\nforce-exclude = true\n')
    assert "1 file excluded" in run("check", "tests/lower.py").out
    os.chdir("tests")
    assert "1 file excluded" in run("check", "lower.py").out
    assert found(run, "--isolated", "--extend-exclude", "../tests/lower.py", "lower.py") == ["lower.py TLC301 error"]
    assert found(run, "--isolated", "--extend-exclude", "../tests/lower.py", "--force-exclude", "lower.py") == []


def test_a_file_of_its_own_wins_in_its_folder(project: Path, run: Run) -> None:
    write(project, '[tool.stridelint]\nignore = ["TLC1"]\n')
    (project / "stridelint.toml").write_text('ignore = ["TLC3"]\n')
    assert found(run, ".") == ALL[2:]
    (project / "stridelint.toml").write_text('selct = ["TLC3"]\n')
    config.forget()
    assert (
        run("check", ".").err
        == f"stridelint: {project / 'stridelint.toml'}: unknown key 'selct'; did you mean 'select'?\n"
    )


def test_a_file_is_judged_alike_alone_and_in_a_folder(project: Path, run: Run) -> None:
    write(project, '[tool.stridelint]\nextend-exclude = ["nothing"]\nfail-on = "warning"\n')
    write(
        project / "tests",
        '[tool.stridelint]\nseverity = {TLC301 = "note"}\nextend-exclude = ["more.py"]\nfail-on = "any"\n',
    )
    (project / "tests" / "more.py").write_text(LOWER)
    assert found(run, "tests/lower.py") == ["tests/lower.py TLC301 note"]
    assert found(run, ".") == [ALL[0], "tests/lower.py TLC301 note", ALL[2]]
    document = json.loads(run("check", "--format", "json", ".").out)
    assert (document["checked"], document["excluded"]) == (3, 1)
    # The run as a whole is as the folder says that was named.
    assert run("check", "--ignore", "TLC104", "--per-file-ignores", "lower.py:TLC302", "tests").status == 1
    assert run("check", "--extend-exclude", "view.py,./lower.py", ".").status == 0


def test_files_are_read_once(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(project, '[tool.stridelint]\nignore = ["TLC1"]\n')
    read: list[str] = []
    really = config.read

    def reading(path: str, optional: bool = False) -> config.Settings | None:
        read.append(path)
        return really(path, optional)

    monkeypatch.setattr(config, "read", reading)
    for number in range(30):
        folder = project / "a" / str(number % 3)
        folder.mkdir(parents=True, exist_ok=True)
        assert config.find(str(folder / f"{number}.py")).ignore == ("TLC1",)
    assert read == [str(project / "pyproject.toml")]


class Newer(Rule):
    """Any event."""

    code, name, severity, words, since, until = "TLC397", "newer", Severity.ERROR, ("view",), "2.4", "2.9"


@pytest.mark.parametrize(
    ("target", "runs"), [(None, True), ((2, 3), False), ((2, 4), True), ((2, 8), True), ((2, 9), False)]
)
def test_rules_by_version_of_torch(monkeypatch: pytest.MonkeyPatch, target: tuple[int, int] | None, runs: bool) -> None:
    monkeypatch.setattr(selection, "all_rules", lambda: (Newer,))
    selection.select.cache_clear()
    settings = config.Settings(target_torch=target)
    try:
        assert (Newer in selection.select(settings).rules) is runs
        (choice,) = [choice for rule, choice in selection.choices(settings) if rule is Newer]
        assert ("torch" in choice.why) is not runs
    finally:
        selection.select.cache_clear()


SQUARED = (
    "import torch\n\ntorch.addcmul(torch.ones(3), torch.ones(3), torch.ones(3), out=torch.ones(3, dtype=torch.int64))\n"
)


def test_operators_that_changed_are_not_judged_for_a_torch_between(project: Path, run: Run) -> None:
    (project / "view.py").write_text(SQUARED)
    for target in ("2.13", "2.13.0+cu128", "2.14"):
        assert found(run, "--target-torch", target, "view.py", "lower.py") == [ALL[0], "view.py TLC301 error"]
    assert found(run, "--target-torch", "2.5", "view.py", "lower.py") == [ALL[0]]
    assert found(run, "view.py") == ["view.py TLC301 error"]
    assert run("check", "--target-torch", "2", ".").status == 2


@pytest.mark.parametrize(
    ("target", "told"), [("1.13", True), ("2.0", True), ("2.1", False), ("2.13", False), ("3.0", True)]
)
def test_a_torch_that_was_not_measured_is_told(project: Path, run: Run, target: str, told: bool) -> None:
    (project / "view.py").write_text(SQUARED)
    result = run("check", "--target-torch", target, "view.py")
    said = f"stridelint: nothing was measured for torch {target}, only for 2.1 and 2.13: findings may not hold there\n"
    assert result.err == (said if told else "")
    assert run("check", "--isolated", "view.py").err == ""


@pytest.mark.parametrize(
    ("measured", "target", "known"),
    [
        ("2.13.0", (2, 13), True),
        ("2.13.0", (2, 12), False),
        ("2.13.0", (2, 1), False),
        ("2.13.0", (3, 0), True),
        ("2.1.2", (2, 1), True),
        ("2.1.2", (2, 0), True),
        ("2.1.2", (2, 2), False),
        ("2.5.1", (2, 5), True),
        ("2.5.1", (2, 6), False),
    ],
)
def test_what_holds_for_which_torch(measured: str, target: tuple[int, int], known: bool) -> None:
    assert torch_versions.holds("addcmul", measured, target) is known
    assert torch_versions.holds("add", measured, target)
    assert set(operators.shipped().rows) >= torch_versions.CHANGED
    assert all(name in PAGE for name in torch_versions.CHANGED)


def test_the_page_and_the_command(project: Path, run: Run) -> None:
    """What docs/configuration.md shows is valid, and `stridelint config` tells where each value is from."""
    (shown,) = re.findall(r"(?ms)^```toml\n(.*?)^```", PAGE)
    path = write(project, shown)
    (project / "src").mkdir()
    (project / "src" / "model.py").write_text("")
    (commands,) = re.findall(r"(?ms)^```sh\n(.*?)^```", PAGE)
    for command in commands.splitlines():
        assert run(*command.partition("#")[0].split()[1:]).status == 0
    document = json.loads(run("config", "--format", "json", "--ignore", "TLC103,TLC104", "tests/lower.py").out)
    assert document["file"] == path
    settings = {each["key"]: each for each in document["settings"]}
    assert set(settings) == set(config.KEYS)
    lines = shown.splitlines()
    for key, each in settings.items():
        place = re.fullmatch(r"pyproject\.toml:(\d+)", each["origin"])
        if place is not None:
            assert key in lines[int(place[1]) - 1]
        else:
            assert each["origin"] in ("default", "command line (--ignore)")
            assert key == "ignore" or f"\n{key} " not in shown
    assert settings["target-torch"]["value"] == "2.5"
    assert settings["severity"]["value"] == {"TLC204": "error", "layout-dropped": "note"}
    rules = {each["code"]: each for each in document["rules"]}
    assert (rules["TLC204"]["on"], rules["TLC204"]["severity"]) == (False, "error")
    assert rules["TLC204"]["why"] == "ignored here by 'tests/*' in per-file-ignores"
    assert (rules["TLC104"]["on"], rules["TLC104"]["why"]) == (False, "ignored by 'TLC104'")
    assert (rules["TLC301"]["on"], rules["TLC301"]["why"]) == (True, "selected by 'TLC3'")
    assert (rules["TLC401"]["on"], rules["TLC401"]["why"]) == (False, "not selected")
    assert any("addcmul" in remark for remark in document["remarks"])
    assert "pyproject.toml:" in run("config").out
    assert run("config", "absent").status == 2
    for key in config.KEYS:
        assert f"`{key}`" in PAGE


def test_what_the_command_says_of_a_path_is_what_runs(project: Path, run: Run) -> None:
    write(project, '[tool.stridelint]\nselect = ["TLC3", "TLC104"]\nignore = ["TLC31"]\nextend-select = ["TLC203"]\n')
    document = json.loads(run("config", "--format", "json", "view.py").out)
    on = {each["code"] for each in document["rules"] if each["on"] and each["code"] < "TLC9"}
    assert on == {rule.code for rule in selection.select(config.find("view.py")).rules}
