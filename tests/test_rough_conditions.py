"""What is no ordinary file, runs that are told to end, and output that cannot be written: each costs a line, never the run."""

from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from processes import children_of, is_gone, needs_proc, wait_for

from stridelint.linter import check_command, fixing_files

Run = Callable[..., Any]
BAD = "import torch\nx.view(1)\n"
COMMAND = [sys.executable, "-m", "stridelint", "check", "--no-cache"]
CONVERTED = "import torch\nx = torch.ones(2, 3, 4, 5) * torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)\n"
# Takes some seconds.
SLOW = "import torch\n" + "".join(
    f"def f{number}(a, b):\n" + "".join(f"    if a[{each}]: b = b.view(-1, {each + 2}).t()\n" for each in range(40))
    for number in range(150)
)
needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.py").write_text(BAD)
    return tmp_path


@needs_pipes
def test_what_is_no_file_is_passed_over_in_folders(folder: Path, run: Run, stubs: None) -> None:
    os.mkfifo("pipe.py")
    os.symlink("pipe.py", "link.py")
    os.symlink("/dev/zero", "device.py")
    os.symlink("loop.py", "loop.py")
    os.symlink(".", "loop")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket.py")
    (folder / "folder.py").mkdir()
    (folder / "folder.py/inside.py").write_text(BAD)
    result = run("check", "--quiet", ".")
    assert [each.split(":")[0] for each in result.out.splitlines() if "TLC" in each] == [
        "bad.py",
        "folder.py/inside.py",
    ]


@needs_pipes
@pytest.mark.parametrize("name", ["pipe.py", "link.py", "device.py", "socket.py", "/dev/null"])
def test_what_is_no_file_is_named_if_it_is_given(folder: Path, run: Run, stubs: None, name: str) -> None:
    os.mkfifo("pipe.py")
    os.symlink("pipe.py", "link.py")
    os.symlink("/dev/zero", "device.py")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket.py")
    result = run("check", name, "bad.py")
    told = [line for line in result.out.splitlines() if line.startswith(f"{name}: TLC901 [could-not-analyse] ")]
    assert len(told) == 1 and ("is no regular file" in told[0] or "cannot be read" in told[0])
    assert (result.status, "bad.py:2:1: TLC104" in result.out) == (1, True)


@needs_pipes
def test_what_comes_from_a_pipe_is_not_taken_for_an_empty_file(folder: Path) -> None:
    reading, writing = os.pipe()
    os.write(writing, BAD.encode())
    os.close(writing)
    result = subprocess.run(
        [*COMMAND, f"/dev/fd/{reading}"], pass_fds=[reading], capture_output=True, text=True, timeout=60
    )
    os.close(reading)
    assert "the way to check what comes from a pipe is 'stridelint check -'" in result.stdout


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root reads everything")
def test_a_folder_that_is_closed(folder: Path, run: Run, stubs: None) -> None:
    (folder / "closed").mkdir()
    (folder / "closed/a.py").write_text(BAD)
    (folder / "closed").chmod(0)
    try:
        assert run("check", ".").out.count("TLC104") == 1
    finally:
        (folder / "closed").chmod(0o755)


@pytest.mark.parametrize("name", ["", " "])
def test_a_path_without_a_name(folder: Path, run: Run, name: str) -> None:
    assert run("check", name).err == f"stridelint: no such file or folder: {name!r}\n"


HOSTILE = "a\x1b[31m\nstridelint: b\u202e.py"


@pytest.mark.parametrize(
    "arguments",
    [
        [HOSTILE],
        ["--config", HOSTILE, "."],
        ["--select", HOSTILE, "."],
        ["--output", HOSTILE + "/x", "."],
        ["--" + HOSTILE],
    ],
)
def test_errors_are_one_line_whatever_they_name(folder: Path, run: Run, arguments: list[str]) -> None:
    result = run("check", *arguments)
    assert (result.status, result.out) == (2, "")
    assert result.err.endswith("\n") and result.err[:-1].isprintable()
    assert r"\x1b[31m\nstridelint: b\u202e" in result.err


def test_flake8_is_handed_nothing_that_moves_a_cursor(folder: Path) -> None:
    (folder / "x.py").write_text("import torch\nx = {}\ntorch.ones(2, 3).t().view(x['\x1b[2J'] or -1)\n# noqa: \x1b\n")
    command = [
        sys.executable,
        "-m",
        "flake8",
        "--isolated",
        "--select",
        "TLC",
        "--stridelint-min-confidence",
        "possible",
        "x.py",
    ]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert "TLC104" in result.stdout
    assert all(each.isprintable() for each in result.stdout.splitlines())


def test_a_diff_moves_no_cursor_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = b"x = '\x1b[2J'\r\n\ty\n", b"x = 1\n\ty\n"
    assert "".join(fixing_files.diff("a\n.py", old, new, plain=False)) == (
        "--- a\\n.py\n+++ a\\n.py\n@@ -1,2 +1,2 @@\n-x = '\\x1b[2J'\\r\n+x = 1\n \ty\n"
    )
    assert "\x1b[2J'\r\n" in "".join(fixing_files.diff("a.py", old, new))


@needs_proc
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("files", [2, 25])
def test_a_run_that_is_told_to_end(folder: Path, files: int, number: signal.Signals) -> None:
    for each in range(files):
        (folder / f"x{each}.py").write_text(SLOW)
    started = subprocess.Popen(
        [*COMMAND, "--jobs", "2", "--output", "report.txt", "."],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    workers = wait_for(lambda: children_of(started.pid), 60)
    time.sleep(0.5)
    started.send_signal(number)
    before = time.monotonic()
    out, err = started.communicate(timeout=60)
    assert time.monotonic() - before < 10
    assert (started.returncode, out, err) == (143, "", "stridelint: terminated\n")
    assert not (folder / "report.txt").exists()
    for each in workers:
        wait_for(lambda: is_gone(each), 60)  # noqa: B023


def test_who_ignores_the_end_of_a_terminal_goes_on_ignoring_it() -> None:
    """As under `nohup`."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with check_command._ending_cleanly():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)


@needs_proc
def test_nobody_reads_the_report(folder: Path) -> None:
    """As with `| head -1`: quick, quiet, and nothing is left behind."""
    for each in range(300):
        (folder / f"x{each}.py").write_text(CONVERTED)
    started = subprocess.Popen(
        [*COMMAND, "--jobs", "2", "."], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert started.stdout is not None and started.stderr is not None
    workers = wait_for(lambda: children_of(started.pid), 60)
    started.stdout.readline()
    started.stdout.close()
    assert started.stderr.read() == ""
    assert started.wait(timeout=60) == 1
    for each in workers:
        wait_for(lambda: is_gone(each), 60)  # noqa: B023


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize(
    "arguments", [["explain", "TLC101"], ["config", "."], ["check", "--no-cache", "--diff", "--unsafe-fixes", "x.py"]]
)
def test_standard_output_on_a_full_disk(folder: Path, arguments: list[str]) -> None:
    (folder / "x.py").write_text(CONVERTED)
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [sys.executable, "-m", "stridelint", *arguments], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60
        )
    assert (result.returncode, result.stderr) == (
        2,
        "stridelint: cannot write standard output: No space left on device\n",
    )


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
@pytest.mark.parametrize(("closing", "status"), [(">&-", 1), ("2>&-", 1), (">&- 2>&-", 1), ("<&-", 1)])
def test_closed_streams(folder: Path, closing: str, status: int) -> None:
    (folder / "x.py").write_text(CONVERTED)
    result = subprocess.run(
        ["sh", "-c", f'exec "$0" "$@" {closing}', *COMMAND, "--quiet", "x.py"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (result.returncode, result.stderr) == (status, "")


@pytest.mark.skipif(os.name != "posix", reason="a folder that is used cannot be deleted")
def test_the_current_folder_is_gone(tmp_path: Path) -> None:
    code = (
        "import os, sys; os.rmdir(os.getcwd()); from stridelint.linter.cli import main; sys.exit(main(['check', '.']))"
    )
    (tmp_path / "here").mkdir()
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path / "here", capture_output=True, text=True, timeout=60
    )
    assert (result.returncode, result.stdout, result.stderr) == (2, "", "stridelint: the current folder is gone\n")


@pytest.mark.parametrize("coding", ["idna", "utf-7", "unicode_escape", "utf-16", "undefined"])
def test_encodings_that_cannot_be_written(folder: Path, run: Run, coding: str) -> None:
    """`idna` reads what it cannot write; what is fixed in such a file stays as it was, byte for byte, and the others go on."""
    odd = f"# coding: {coding}\n" + CONVERTED.replace("x =", "x =" + " " * 80) + "y = '+AGE-\\x41'\n"
    (folder / "x.py").write_text(odd)
    (folder / "y.py").write_text(CONVERTED)
    for arguments in (["--fix", "--unsafe-fixes"], ["--add-noqa"]):
        result = run("check", "--no-cache", *arguments, "x.py", "y.py")
        assert (result.status in (0, 1), "internal error" in result.out + result.err) == (True, False)
        assert (folder / "x.py").read_text() == odd
    assert (folder / "y.py").read_text() != CONVERTED


@pytest.mark.parametrize("arguments", [["--fix"], ["--add-noqa"], ["--baseline", "known.json", "--update-baseline"]])
def test_files_that_cannot_be_written_stay_as_they_are(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    (folder / "x.py").write_text(CONVERTED)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)
    result = run("check", "--no-cache", *arguments, "--unsafe-fixes", "x.py")
    assert "No space left on device" in result.err and result.err.count("\n") <= 2
    assert (folder / "x.py").read_text() == CONVERTED
    assert sorted(os.listdir(folder)) == ["bad.py", "x.py"]
