"""The cache changes no finding: whatever an outcome depends on, a change of it is seen; and it never stands in the way."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stridelint.linter import cache_file, config, identity

Run = Callable[..., Any]
BAD = "import torch\n\n\ndef f(x):\n    return x.view(1)\n"
GOOD = "import torch\n\n\ndef f(x):\n    return x.kept(1)\n"
OLD = time.time() - 1000


def configure(project: Path, text: str) -> None:
    (project / "pyproject.toml").write_text(f"[tool.stridelint]\n{text}\n")
    config.forget()


def write(path: Path, text: str, changed: float = OLD) -> None:
    """A file that was last changed long ago, so that its times are trusted."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (changed, changed))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose files can be old in every respect: the time of a file's creation is not looked at in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STRIDELINT_CACHE_DIR")
    monkeypatch.setattr("stridelint.linter.cache._SETTLED", -1000.0)
    write(tmp_path / "bad.py", BAD)
    write(tmp_path / "good.py", GOOD)
    return tmp_path


@pytest.fixture
def known(run: Run) -> Callable[..., tuple[int, Any]]:
    """Runs `check`, and tells of how many files the outcome was known, and the report."""

    def known(*arguments: object) -> tuple[int, Any]:
        result = run("check", "--format", "json", "--verbose", *arguments)
        told = re.search(r"the outcome of (\d+) files? was known", result.err)
        return int(told[1]) if told else 0, json.loads(result.out)

    return known


Known = Callable[..., tuple[int, Any]]


def the_cache(project: Path) -> Path:
    (path,) = (project / ".stridelint_cache").glob("outcomes-*.json")
    return path


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
    text = (Path(__file__).parent.parent / "fixtures/bad/argument_order.py").read_text()
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


def test_no_cache(project: Path, known: Known, run: Run, stubs: None) -> None:
    run("check", "--no-cache", ".")
    assert not (project / ".stridelint_cache").exists()
    run("check", ".")
    before = the_cache(project).read_bytes()
    the_cache(project).write_bytes(before.replace(b"calls view", b"forged!!!!"))
    assert "forged" in run("check", ".").out
    assert "forged" not in run("check", "--no-cache", ".").out
    assert "forged" in the_cache(project).read_text()


def test_standard_input_is_not_kept(project: Path, run: Run, stubs: None, monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(BAD.encode())))
    assert run("check", "--stdin-filename", "bad.py", "-").status == 1
    assert not (project / ".stridelint_cache").exists()


def test_where_it_lies(project: Path, run: Run, stubs: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def made(*arguments: str) -> set[str]:
        run("check", *arguments, "bad.py")
        return {str(path.parent.relative_to(project)) for path in project.rglob("outcomes-*.json")}

    assert made() == {".stridelint_cache"}
    assert (project / ".stridelint_cache/.gitignore").read_text().splitlines()[-1] == "*"
    assert (
        (project / ".stridelint_cache/CACHEDIR.TAG")
        .read_text()
        .startswith("Signature: 8a477f597d28d172789f06886806bc55")
    )
    configure(project, 'cache-dir = "configured"')
    assert made() == {".stridelint_cache", "configured"}
    monkeypatch.setenv("STRIDELINT_CACHE_DIR", "environment")
    assert made() == {".stridelint_cache", "configured", "environment"}
    assert made("--cache-dir", "option") == {".stridelint_cache", "configured", "environment", "option"}


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


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\0" * 100,
        b"{",
        b"[]",
        b"null",
        b'"x"',
        b"[" * 100_000,
        b'{"format": 1}',
        b'{"format": 1, "context": null, "tool": [], "files": []}',
    ],
)
def test_a_damaged_cache_is_made_anew(project: Path, run: Run, known: Known, stubs: None, text: bytes) -> None:
    cold = run("check", ".")
    the_cache(project).write_bytes(text)
    assert run("check", ".") == cold
    assert known(".")[0] == 2


def _damaged(document: Any) -> list[Any]:
    """The document with each part of it replaced, one at a time."""
    found: list[Any] = []
    if isinstance(document, dict):
        for key in document:
            found += [{**document, key: each} for each in _damaged(document[key])]
            found.append({name: value for name, value in document.items() if name != key})
    elif isinstance(document, list):
        for index in range(len(document)):
            found += [[*document[:index], each, *document[index + 1 :]] for each in _damaged(document[index])]
        found += [document[:-1], [*document, 1]]
    return [*found, None, {"a": 1}, ["x"], -1 if document != -1 else "x", {}, []]


def test_whatever_is_in_the_cache(project: Path, run: Run, stubs: None, capsys: pytest.CaptureFixture[str]) -> None:
    """Each value in it replaced by one of another kind: the run ends as usual, and a value of the right kind is all that is believed."""
    (project / "pkg").mkdir()
    for name, text in {
        "pkg/__init__.py": "",
        "pkg/a.py": "def f(): pass\n",
        "pkg/b.py": "import torch\nfrom .a import f\nx.view(1)\n",
    }.items():
        write(project / name, text)
    cold = run("check", "--isolated", ".")
    document = json.loads(the_cache(project).read_text())
    cases = _damaged(document)
    assert len(cases) > 500
    for case in cases[::5]:
        the_cache(project).write_text(json.dumps(case))
        result = run("check", "--isolated", ".")
        assert (result.status, result.err) in ((0, ""), (1, "")), case
        assert len(result.out.splitlines()) <= len(cold.out.splitlines()), case


def test_a_hostile_cache(project: Path, run: Run, stubs: None) -> None:
    """A repository may bring a cache: links, devices and large files are passed over, and nothing outside is touched."""
    run("check", ".")
    path = the_cache(project)
    path.unlink()
    path.symlink_to("/dev/zero")
    assert run("check", ".").status == 1
    assert not path.is_symlink()
    path.unlink()
    os.mkfifo(path)
    assert run("check", ".").status == 1
    path.unlink()
    path.mkdir()
    assert run("check", ".").status == 1
    path.rmdir()
    (project / "precious").write_text("precious")
    path.symlink_to(project / "precious")
    assert run("check", ".").status == 1
    assert (project / "precious").read_text() == "precious"


def test_a_file_in_place_of_the_folder(project: Path, run: Run, stubs: None) -> None:
    (project / ".stridelint_cache").write_text("mine")
    result = run("check", "--verbose", ".")
    assert result.status == 1
    assert "stridelint: the cache is not kept: cannot write" in result.err
    assert run("check", ".").err == ""
    assert (project / ".stridelint_cache").read_text() == "mine"


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), PermissionError(13, "Permission denied")])
def test_nothing_can_be_written(
    project: Path, run: Run, stubs: None, monkeypatch: pytest.MonkeyPatch, error: OSError
) -> None:
    def fail(*arguments: object) -> None:
        raise error

    monkeypatch.setattr("stridelint.linter.writing.replace", fail)
    result = run("check", "--verbose", ".")
    assert (result.status, result.err.count("\n")) == (1, 2)
    assert "the cache is not kept: cannot write" in result.err
    assert error.strerror in result.err
    assert (run("check", ".").status, run("check", ".").err) == (1, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux")
def test_a_full_disk(project: Path, run: Run, known: Known, stubs: None) -> None:
    """No half of a file is left behind."""
    import resource

    known(".")
    before = the_cache(project).read_bytes()
    write(project / "third.py", BAD)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    import signal

    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        result = run("check", ".")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert (result.status, result.err) == (1, "")
    assert the_cache(project).read_bytes() == before
    assert [each.name for each in (project / ".stridelint_cache").glob(".outcomes*")] == []


def test_files_that_are_gone_are_forgotten(project: Path, known: Known, stubs: None) -> None:
    known(".")
    (project / "bad.py").unlink()
    write(project / "new.py", GOOD)
    known(".")
    assert set(json.loads(the_cache(project).read_text())["files"]) == {"good.py", "new.py"}


def test_old_files_of_the_cache_are_deleted(
    project: Path, run: Run, stubs: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = project / ".stridelint_cache"
    write(folder / "outcomes-00000001.json", "old", time.time() - cache_file.MAX_AGE - 10)
    write(folder / "outcomes-00000002.json", "not so old", time.time() - cache_file.MAX_AGE + 1000)
    write(folder / ".outcomes-00000003.json.abc.tmp", "of a run that was killed", time.time() - 7200)
    write(folder / ".outcomes-00000004.json.abc.tmp", "of a run at the same time", time.time())
    write(folder / "notes.txt", "the user's", 0)
    run("check", ".")
    left = {path.name for path in folder.iterdir()} - {
        the_name for the_name in os.listdir(folder) if the_name.startswith("outcomes-")
    }
    assert left == {".outcomes-00000004.json.abc.tmp", "notes.txt", ".gitignore", "CACHEDIR.TAG"}
    assert not (folder / "outcomes-00000001.json").exists()
    assert (folder / "outcomes-00000002.json").exists()
    monkeypatch.setattr(cache_file, "MAX_BYTES", 2000)
    write(folder / "outcomes-00000005.json", "x" * 2000, time.time() - 5000)
    write(project / "new.py", GOOD)
    run("check", ".")
    assert not (folder / "outcomes-00000005.json").exists()


def test_use_keeps_a_file_of_the_cache_young(project: Path, run: Run, stubs: None) -> None:
    run("check", ".")
    os.utime(the_cache(project), (OLD - 1_000_000, OLD - 1_000_000))
    run("check", ".")
    assert time.time() - the_cache(project).stat().st_mtime < 100


def test_clean_and_info(project: Path, run: Run, stubs: None) -> None:
    folder = project / ".stridelint_cache"
    assert run("cache", "clean").out == ".stridelint_cache: nothing to delete.\n"
    run("check", ".")
    run("check", "--select", "TLC1", ".")
    assert run("cache", "info").out.startswith(".stridelint_cache: 2 files of outcomes, 0.0 MB.")
    (folder / "notes.txt").write_text("the user's")
    assert run("cache", "clean").out == ".stridelint_cache: 2 files of outcomes deleted.\n"
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]
    (folder / "notes.txt").unlink()
    run("check", ".")
    assert run("cache", "clean", "bad.py", "--cache-dir", ".stridelint_cache").status == 0
    assert not folder.exists()


def test_two_runs_at_once(project: Path) -> None:
    """Each writes what it found out, and neither loses what the other wrote before."""
    for number in range(60):
        write(project / f"{'ab'[number % 2]}{number}.py", BAD.replace("view", f"view_{number}"))
    command = [sys.executable, "-m", "stridelint", "check", "--jobs", "1", "--verbose"]
    for _ in range(3):
        running = [
            subprocess.Popen(
                [*command, *(path.name for path in project.glob(f"{letter}*.py"))], stderr=subprocess.PIPE, text=True
            )
            for letter in "ab"
        ]
        for each in running:
            assert each.communicate()[1].count("\n") == 1
            assert each.returncode == 0
        json.loads(the_cache(project).read_text())
    last = subprocess.run(
        [*command, *(path.name for path in project.glob("[ab][0-9]*.py"))], stderr=subprocess.PIPE, text=True
    )
    told = re.search(r"the outcome of (\d+) files", last.stderr)
    assert told and int(told[1]) > 30


def test_what_another_run_wrote_meanwhile_stays(project: Path, run: Run, known: Known, stubs: None) -> None:
    from stridelint.linter import run as runner
    from stridelint.linter.cache import Cache
    from stridelint.linter.discover import Target

    settings = config.find("bad.py")
    ours = Cache(None)
    runner.check_all([(Target("bad.py", True), settings)], helpers=runner.Helpers(ours))
    known("good.py")
    ours.save()
    assert known("bad.py", "good.py")[0] == 2


def test_fixes(project: Path, run: Run) -> None:
    """Fixing asks the files, not the cache; what is left is what the next run finds."""
    text = (Path(__file__).parent.parent / "fixtures/bad/argument_order.py").read_text()
    write(project / "real.py", text)
    run("check", ".")
    diff = run("check", "--diff", ".")
    assert diff.out
    fixed = run("check", "--fix", ".")
    assert " fixed" in fixed.out
    assert run("check", "--diff", ".").out == ""
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
    write(project / "a.py", (Path(__file__).parent.parent / "fixtures/bad/argument_order.py").read_text())
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
