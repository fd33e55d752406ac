"""The cache changes no finding: whatever an outcome depends on, a change of it is seen."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from caching import BAD, GOOD, OLD, Known, Run, configure, the_cache, write

from stridelint.linter import cache_file, identity


def test_a_second_run_reads_no_file(
    project: Path, run: Run, known: Known, stubs: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    cold = run("check", "--format", "json", ".")
    monkeypatch.setattr("stridelint.linter.source.read", lambda *arguments: pytest.fail("a file was read"))
    warm = run("check", "--format", "json", ".")
    assert (warm.status, warm.out, warm.err) == (1, cold.out, "")
    assert known(".")[0] == 2


@pytest.mark.parametrize("form", ["text", "json", "sarif", "html", "github", "gitlab", "junit"])
def test_all_of_a_finding_is_kept(project: Path, run: Run, form: str) -> None:
    """Story, witness, fix, and what noqa hides."""
    text = (Path(__file__).parents[2] / "fixtures/bad/argument_order.py").read_text()
    write(
        project / "real.py",
        text + "\n\nx = torch.rand(2, 3, 4, 5)\nx.to(memory_format=torch.channels_last)  # noqa: TLC103\n",
    )
    arguments = ["check", "--format", form, "--show-suppressed", "--min-confidence", "possible", "."]
    cold = run(*arguments)
    assert (project / ".stridelint_cache").exists()
    warm = run(*arguments)
    assert (cold.status, cold.err) == (1, "")
    assert (warm.status, warm.out, warm.err) == (cold.status, cold.out, "")


def test_changed_contents_are_checked_again(project: Path, known: Known, stubs: None) -> None:
    assert len(known(".")[1]["findings"]) == 1
    write(project / "good.py", BAD, OLD + 1)
    count, report = known(".")
    assert (count, [each["path"] for each in report["findings"]]) == (1, ["bad.py", "good.py"])


def test_a_touched_file_is_read_but_not_checked_again(project: Path, known: Known, stubs: None) -> None:
    known(".")
    os.utime(project / "bad.py", (OLD + 5, OLD + 5))
    assert known(".")[0] == 2
    state = cache_file.state_of("bad.py")
    assert state is not None
    assert json.loads(the_cache(project).read_text())["files"]["bad.py"][0] == list(state)


def test_a_change_that_leaves_time_and_size_alone_is_seen(
    project: Path, known: Known, stubs: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shortly after a change the times of a file do not tell whether it is the last one."""
    monkeypatch.setattr("stridelint.linter.cache._SETTLED", 2.0)
    now = int(1e9 * time.time())
    monkeypatch.setattr("stridelint.linter.cache.state_of", lambda path: (now, now, 55))
    known(".")
    assert known(".")[0] == 2
    (project / "bad.py").write_text(GOOD)
    count, report = known(".")
    assert (count, report["findings"]) == (1, [])


@pytest.mark.parametrize(
    "options",
    [
        ["--select", "TLC104"],
        ["--min-confidence", "possible"],
        ["--assume", "channels_last"],
        ["--extend-select", "TLC203"],
        ["--ignore", "TLC3"],
        ["--target-torch", "2.1"],
        ["--severity", "TLC104=note"],
        ["--per-file-ignores", "x.py:TLC104"],
    ],
)
def test_another_way_of_checking_is_another_entry(project: Path, known: Known, stubs: None, options: list[str]) -> None:
    known(".")
    assert known(*options, ".")[0] == 0
    assert known(*options, ".")[0] == 2
    assert known(".")[0] == 2


def test_settings_that_choose_files_leave_entries_alone(project: Path, known: Known, stubs: None) -> None:
    known(".")
    configure(project, 'extend-exclude = ["other"]\njobs = 3')
    assert known(".")[0] == 2


def test_a_setting_in_a_file(project: Path, known: Known, stubs: None) -> None:
    known(".")
    configure(project, 'ignore = ["TLC104"]')
    count, report = known(".")
    assert (count, report["findings"]) == (0, [])


def test_another_operator_table(project: Path, known: Known, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the environment names it, and where only its contents change."""
    from stridelint.rules.contract import operators

    shipped = Path(operators.__file__).with_name("operators.json").read_text()
    write(project / "table.json", shipped)
    known(".")
    assert known("--operators", "table.json", ".")[0] == 0
    assert known("--operators", "table.json", ".")[0] == 2
    write(project / "table.json", shipped + " ")
    assert known("--operators", "table.json", ".")[0] == 0
    monkeypatch.setenv(operators.VARIABLE, "table.json")
    assert known(".")[0] == 2
    write(project / "table.json", shipped + "  ")
    assert known(".")[0] == 0


def test_the_environment_variable_is_that_of_the_table() -> None:
    from stridelint.linter import cache
    from stridelint.rules.contract import operators

    assert cache.OPERATORS == operators.VARIABLE


def test_another_linter(project: Path, known: Known, stubs: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A developer's change counts; the same linter installed anew is the same."""
    known(".")
    monkeypatch.setattr(identity, "mark", lambda: 1)
    assert known(".")[0] == 2
    monkeypatch.setattr(identity, "digest", lambda: "other")
    assert known(".")[0] == 2  # its mark was written with the entries
    monkeypatch.setattr(identity, "mark", lambda: 2)
    assert known(".")[0] == 0


def test_what_makes_a_linter_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from stridelint import rules

    write(tmp_path / "layout" / "rule.py", "x = 1\n")
    monkeypatch.setattr(rules, "__path__", [str(tmp_path)])
    seen = set()
    for text, changed in (("x = 1\n", OLD), ("x = 1\n", OLD + 1), ("x = 2\n", OLD + 1), ("x = 22\n", OLD + 1)):
        write(tmp_path / "layout" / "rule.py", text, changed)
        identity.mark.cache_clear()
        identity.digest.cache_clear()
        seen.add((identity.mark(), identity.digest()))
    monkeypatch.setattr(identity, "_libcst", lambda: "0.0.0")
    identity.mark.cache_clear()
    identity.digest.cache_clear()
    seen.add((identity.mark(), identity.digest()))
    monkeypatch.undo()
    identity.mark.cache_clear()
    identity.digest.cache_clear()
    assert len({mark for mark, _ in seen}) == 4
    assert len({digest for _, digest in seen}) == 4


def test_a_file_named_by_the_user_is_another_entry(project: Path, known: Known, stubs: None) -> None:
    """A broken file without torch is told only to who names it."""
    write(project / "broken.py", "def f(:\n")
    assert known(".")[1]["skipped"] == []
    for _ in range(2):
        assert len(known("broken.py")[1]["skipped"]) == 1
        assert known(".")[1]["skipped"] == []


def test_what_may_have_passed_is_tried_again(project: Path, known: Known, stubs: None) -> None:
    write(project / "failing.py", "import torch\nx.die().view(1)\n")
    for expected in (0, 2):
        count, report = known(".")
        assert (count, [each["path"] for each in report["skipped"]]) == (expected, ["failing.py"])


def test_our_own_mistakes_are_kept(project: Path, known: Known, stubs: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """They come again, and may take long; who looks for them sees them."""
    write(project / "failing.py", "import torch\nx.raise_error().view(1)\n")
    for expected in (0, 3):
        count, report = known(".")
        assert (count, [each["path"] for each in report["skipped"]]) == (expected, ["failing.py"])
    monkeypatch.setenv("STRIDELINT_TRACEBACK", "1")
    assert known(".")[0] == 0


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (MemoryError(), True),
        (OSError(24, "Too many open files"), True),
        (KeyError("x"), False),
        (RecursionError(), False),
    ],
)
def test_which_mistakes_may_pass(error: Exception, passes: bool) -> None:
    from stridelint.linter.errors import internal_error, may_pass

    assert may_pass(internal_error(error)) is passes


def test_an_early_stop_is_kept(project: Path, known: Known, stubs: None) -> None:
    write(project / "long.py", BAD + "x.exhaust()\n")
    cold = known(".")[1]
    assert known(".") == (3, cold)
    assert len(cold["skipped"]) == 1


def test_standard_input_is_not_kept(project: Path, run: Run, stubs: None, monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(BAD.encode())))
    assert run("check", "--stdin-filename", "bad.py", "-").status == 1
    assert not (project / ".stridelint_cache").exists()


def test_from_another_folder(
    project: Path, run: Run, known: Known, stubs: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The project's cache serves, and files of one name are not mixed up."""
    configure(project, "")
    write(project / "sub" / "bad.py", GOOD)
    write(project / "sub" / "good.py", BAD)
    for _ in range(2):
        monkeypatch.chdir(project)
        assert {each["path"] for each in known(".")[1]["findings"]} == {"bad.py", "sub/good.py"}
        monkeypatch.chdir(project / "sub")
        assert {each["path"] for each in known(".")[1]["findings"]} == {"good.py"}
    assert known(".")[0] == 2
    assert not (project / "sub/.stridelint_cache").exists()


def test_a_project_may_move(project: Path, known: Known, stubs: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a build machine that unpacks the cache of another: all times differ, and the folder does."""
    known(".")
    project.rename(project.parent / "moved")
    monkeypatch.chdir(project.parent / "moved")
    os.utime("bad.py")
    assert known(".")[0] == 2


def test_fixes(project: Path, run: Run) -> None:
    """Fixing asks the files, not the cache; what is left is what the next run finds."""
    text = (Path(__file__).parents[2] / "fixtures/bad/argument_order.py").read_text()
    write(project / "real.py", text)
    run("check", ".")
    diff = run("check", "--diff", "--unsafe-fixes", ".")
    assert diff.out
    fixed = run("check", "--fix", "--unsafe-fixes", ".")
    assert " fixed" in fixed.out
    assert run("check", "--diff", "--unsafe-fixes", ".").out == ""
    assert run("check", ".").out == run("check", "--no-cache", ".").out


def test_a_baseline(project: Path, run: Run, stubs: None) -> None:
    run("check", ".")
    assert run("check", "--baseline", "known.json", "--update-baseline", ".").status == 0
    for _ in range(2):
        assert run("check", "--baseline", "known.json", ".").status == 0
    assert run("check", ".").status == 1


def test_wrong_codes_are_told_however_often(project: Path, run: Run, stubs: None) -> None:
    run("check", ".")
    for _ in range(2):
        assert run("check", "--select", "TLC999", ".").status == 2


def test_a_warm_run_imports_little(project: Path) -> None:
    """Neither LibCST nor rules nor the operator table, whatever the settings are."""
    configure(project, 'select = ["TLC1", "TLC4"]\nmin-confidence = "possible"')
    write(project / "a.py", (Path(__file__).parents[2] / "fixtures/bad/argument_order.py").read_text())
    settled = "from stridelint.linter import cache; cache._SETTLED = -1000; "
    code = (
        "import sys; "
        + settled
        + "from stridelint.linter.cli import main; print(main(sys.argv[1:])); print(*sys.modules)"
    )
    for _ in range(2):
        result = subprocess.run(
            [sys.executable, "-c", code, "check", "."],
            capture_output=True,
            text=True,
            env={**os.environ, "STRIDELINT_CACHE_DIR": ""},
        )
        assert result.stderr == ""
    *report, status, modules = result.stdout.splitlines()
    loaded = set(modules.split())
    assert (status, "TLC101" in "\n".join(report)) == ("1", True)
    assert not loaded & {"libcst", "torch", "subprocess", "hashlib", "sqlite3", "tempfile", "multiprocessing", "ast"}
    ours = {name.removeprefix("stridelint.") for name in loaded if name.startswith("stridelint.")}
    assert {name for name in ours if name.startswith("rules")} == {"rules", "rules.contract", "rules.contract.answers"}
    assert not {name for name in ours if name.startswith(("linter.inference.", "linter.selection", "linter.workers"))}
