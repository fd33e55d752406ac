"""The cache never stands in the way: where its files lie, what damages them or keeps them from being written, and how they go."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from caching import BAD, GOOD, OLD, Known, Run, configure, the_cache, write

from stridelint.linter import cache_file, config


def test_no_cache(project: Path, known: Known, run: Run, stubs: None) -> None:
    run("check", "--no-cache", ".")
    assert not (project / ".stridelint_cache").exists()
    run("check", ".")
    before = the_cache(project).read_bytes()
    the_cache(project).write_bytes(before.replace(b"calls view", b"forged!!!!"))
    assert "forged" in run("check", ".").out
    assert "forged" not in run("check", "--no-cache", ".").out
    assert "forged" in the_cache(project).read_text()


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
