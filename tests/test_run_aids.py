"""Interruption, the progress bar, statistics and --watch."""

from __future__ import annotations

import io
import json
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from processes import children_of, is_gone, needs_proc, wait_for

from stridelint.linter import progress, run as runner, statistics, workers
from stridelint.linter.config import Settings
from stridelint.linter.discover import Target

Run = Callable[..., Any]
BAD = "import torch\n\n\ndef f(x):\n    return x.view(1)\n"
FOUND = "import torch\nx = torch.rand(2, 3, 4, 5)\nx.to(memory_format=torch.channels_last)\n"


def slow(functions: int) -> str:
    """A program whose analysis takes about a tenth of a second for each function."""
    body = "".join(f"    if a[{number}]: b = b.view(-1, {number + 2}).t()\n" for number in range(40))
    return "import torch\n" + "".join(f"def f{number}(a, b):\n{body}    return b\n" for number in range(functions))


SLOW = slow(150)  # so that it needs no luck to be interrupted
COMMAND = [sys.executable, "-m", "stridelint", "check"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@needs_proc
@pytest.mark.parametrize("files", [2, runner.SERIAL_BELOW + 5])
@pytest.mark.parametrize("to_all", [True, False])
def test_ctrl_c_is_quick_and_clean(folder: Path, files: int, to_all: bool) -> None:
    """As from a terminal, which sends it to all processes, and as from a program that sends it to one."""
    for number in range(files):
        (folder / f"x{number}.py").write_text(SLOW)
    started = subprocess.Popen(
        [*COMMAND, "--jobs", "2", "--output", "report.txt", "."],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    workers_of = wait_for(lambda: children_of(started.pid))
    time.sleep(0.5)
    (os.killpg if to_all else os.kill)(started.pid, signal.SIGINT)
    before = time.monotonic()
    out, err = started.communicate(timeout=20)
    assert time.monotonic() - before < 5
    assert (started.returncode, out, err) == (130, "", "stridelint: interrupted\n")
    assert not (folder / "report.txt").exists()
    assert not [name for name in os.listdir(folder) if name.endswith(".tmp")]
    for each in workers_of:
        wait_for(lambda: not Path(f"/proc/{each}").exists())  # noqa: B023


@needs_proc
@pytest.mark.parametrize("files", [2, runner.SERIAL_BELOW + 5])
def test_what_was_found_out_before_ctrl_c_is_kept(folder: Path, files: int, run: Run) -> None:
    (folder / "alone.py").write_text("x = 1\n")
    for number in range(files):
        (folder / f"x{number}.py").write_text(SLOW)
    started = subprocess.Popen([*COMMAND, "."], stderr=subprocess.PIPE)
    wait_for(lambda: children_of(started.pid))
    started.send_signal(signal.SIGINT)
    assert started.wait(timeout=20) == 130
    for number in range(files):
        (folder / f"x{number}.py").unlink()
    assert "the outcome of 1 file was known" in run("check", "--verbose", ".").err


@needs_proc
def test_no_worker_outlives_the_run(folder: Path) -> None:
    for number in range(3):
        (folder / f"x{number}.py").write_text(SLOW)
    started = subprocess.Popen([*COMMAND, "."], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    (worker,) = wait_for(lambda: children_of(started.pid))
    started.kill()
    started.wait()
    wait_for(lambda: is_gone(worker))


def _kill(item: int) -> int:
    if item % 7 == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    if item % 7 == 5:
        os._exit(0)
    if item % 7 == 6:
        os.abort()
    return item * item


@pytest.mark.parametrize("processes", [0, 1, 2, 3])
def test_a_process_that_dies_costs_its_item(processes: int, capfd: pytest.CaptureFixture[str]) -> None:
    """Killed, as when memory is short; ended by the code itself; crashed."""
    items = list(range(20))
    results = dict(workers.each(items, _kill, processes) if processes else workers.in_turn(items, _kill))
    assert sorted(results) == items
    for item, result in results.items():
        if item % 7 in (3, 5, 6):
            assert isinstance(result, workers.Died)
        else:
            assert result == item * item


def test_a_few_files_survive_a_crash_as_well(folder: Path, run: Run, stubs: None) -> None:
    (folder / "bad.py").write_text(BAD)
    (folder / "dies.py").write_text("import torch\nx.die().view(2)\n")
    report = json.loads(run("check", "--format=json", ".").out)
    assert [each["path"] for each in report["findings"]] == ["bad.py"]
    assert [(each["path"], "died" in each["reason"]) for each in report["skipped"]] == [("dies.py", True)]


def test_files_that_change_or_go_during_the_run(
    folder: Path, run: Run, stubs: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the cache keeps is what was read, not what stands there afterwards."""
    for number in range(6):
        (folder / f"x{number}.py").write_text(BAD)
    examine = runner.examine

    def changing(way: runner.Way, job: runner.Job) -> runner.Examined:
        path = Path(job[0].path)
        if path.name == "x1.py":
            path.unlink()
        if path.name == "x2.py":
            path.write_text("import torch\nx.view(2)\n")
        try:
            return examine(way, job)
        finally:
            if path.name == "x3.py":
                path.write_text("import torch\nx.kept(2)\n")
            if path.name == "x4.py":
                path.unlink()
                path.mkdir()

    monkeypatch.setattr(runner, "examine", changing)
    first = json.loads(run("check", "--format=json", ".").out)
    assert len(first["findings"]) == 5
    assert [(each["path"], each["reason"]) for each in first["skipped"]] == [
        ("x1.py", "cannot be read: No such file or directory")
    ]
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    second = run("check", "--format=json", "--no-cache", ".")
    assert run("check", "--format=json", ".").out == second.out


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_bar_waits_and_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    stream = Terminal()
    bar = progress.Progress(stream)
    bar.tell(1, 10)
    assert stream.getvalue() == ""
    now[0] += 1.5
    bar.tell(5, 10)
    bar.tell(6, 10)
    assert stream.getvalue() == "\r\033[K[############............] 5 of 10 files"
    bar.close()
    bar.close()
    assert stream.getvalue().endswith(" files\r\033[K")
    assert progress.line(0, 0) == f"[{'#' * 24}] 0 of 0 files"
    progress.Progress(None).tell(1, 2)


@pytest.mark.parametrize(("variable", "value"), [("TERM", "dumb"), ("CI", "true")])
def test_where_no_bar_is_drawn(monkeypatch: pytest.MonkeyPatch, variable: str, value: str) -> None:
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert progress.suits(Terminal())
    assert not progress.suits(io.StringIO())
    monkeypatch.setenv(variable, value)
    assert not progress.suits(Terminal())


def on_a_terminal(*arguments: str) -> tuple[str, str]:
    """Standard output and error of a run whose standard error is a terminal."""
    inside, outside = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name != "CI"} | {"TERM": "xterm"}
    started = subprocess.Popen(
        [*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=outside, text=True, env=environment
    )
    os.close(outside)
    seen: list[bytes] = []

    def read() -> None:
        try:
            while data := os.read(inside, 10_000):
                seen.append(data)
        except OSError:  # the terminal is closed
            pass

    reader = threading.Thread(target=read)
    reader.start()
    out, _ = started.communicate()
    reader.join()
    os.close(inside)
    return out, b"".join(seen).decode()


def test_the_bar_on_a_terminal(folder: Path) -> None:
    for number in range(4):
        (folder / f"x{number}.py").write_text(slow(6))
    out, err = on_a_terminal("--no-cache", ".")
    assert " of 4 files" in err
    assert err.endswith("\r\x1b[K")
    assert "of 4 files" not in out
    assert on_a_terminal("--no-cache", "--quiet", ".")[1] == ""


def test_quiet(folder: Path, run: Run, stubs: None) -> None:
    (folder / "bad.py").write_text(BAD)
    assert run("check", "-q", "bad.py").out.splitlines()[-1].strip() == "bad.py:5: note: 'view' is here"
    (folder / "bad.py").write_text("")
    assert run("check", "-q", "bad.py").out == ""


def test_statistics_in_text_and_json(folder: Path, run: Run) -> None:
    (folder / "found.py").write_text(FOUND)
    (folder / "alone.py").write_text("x = 1\n")
    lines = run("check", "--statistics", ".").out.splitlines()
    start = lines.index("     1 TLC103 discarded-conversion")
    assert lines[start + 1] == ""
    assert lines[start + 2].endswith(" s in all; the outcome of 0 of 2 files was known")
    assert any(line.endswith(" s interpret") for line in lines)
    told = json.loads(run("check", "--statistics", "--format", "json", ".").out)["statistics"]
    assert (told["findings"], told["files"]) == ({"TLC103": 1}, {"checked": 2, "known": 2, "excluded": 0})
    assert "interpret" not in told["seconds"]["phases"]
    told = json.loads(run("check", "--no-cache", "--statistics", "--format", "json", ".").out)["statistics"]
    assert set(told["seconds"]["phases"]) >= {
        "find",
        "read",
        "screen",
        "parse",
        "interpret",
        "rules",
        "libcst",
        "resolve",
    }
    assert told["seconds"]["rules"]["TLC103"] > 0
    assert "statistics" not in json.loads(run("check", "--format", "json", ".").out)


def test_statistics_of_several_processes(folder: Path, run: Run) -> None:
    for number in range(runner.SERIAL_BELOW + 1):
        (folder / f"x{number}.py").write_text(FOUND)
    told = json.loads(run("check", "--jobs", "2", "--statistics", "--format", "json", ".").out)["statistics"]
    assert told["findings"] == {"TLC103": runner.SERIAL_BELOW + 1}
    assert told["seconds"]["phases"]["libcst"] > 0


def test_a_phase_is_without_what_is_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    def pass_by(seconds: float) -> Iterator[int]:
        now[0] += seconds
        yield 1

    seconds: dict[str, float] = {"read": 1.0}
    with statistics.measured(seconds):
        now[0] += 50
        with statistics.phase("interpret"):
            now[0] += 2
            assert list(statistics.judged("TLC101", pass_by, 4.0)) == [1]
            with pytest.raises(KeyError), statistics.phase("read"):
                now[0] += 8
                raise KeyError
            now[0] += 1
    assert seconds == {"read": 9.0, "interpret": 3.0, "TLC101": 4.0}
    told = statistics.statistics(0.0, seconds, 3)
    assert (told.phases, told.rules) == ({"read": 9.0, "interpret": 3.0, "rules": 4.0}, {"TLC101": 4.0})


def test_nothing_is_measured_unless_asked() -> None:
    report = runner.check_all([(Target(__file__, True), Settings())])
    assert report.statistics is None
    assert statistics._clock is None


class Watched:
    """A run with --watch, and what it has printed so far."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, "--watch", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1
        )
        self.text = ""
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.text += line

    def next(self) -> str:
        """What the next check prints."""
        wait_for(lambda: "watching; Ctrl-C ends it" in self.text, 60)
        text, self.text = self.text, ""
        return text


@pytest.fixture
def watched(folder: Path) -> Iterator[Callable[..., Watched]]:
    started: list[Watched] = []

    def start(*arguments: str) -> Watched:
        started.append(Watched(*arguments))
        return started[-1]

    yield start
    for each in started:
        each.process.kill()
        each.process.wait()


def test_watch(folder: Path, watched: Callable[..., Watched]) -> None:
    """Changed, new and deleted files, and the configuration; a broken one is told, and does not end it."""
    (folder / "found.py").write_text(FOUND)
    watch = watched(".")
    assert "found.py:3:1: TLC103" in watch.next()
    (folder / "found.py").write_text("import torch\n")
    assert "No findings (1 file checked)." in watch.next()
    (folder / "sub").mkdir()
    (folder / "sub" / "new.py").write_text(FOUND)
    assert "new.py:3:1: TLC103" in watch.next()
    (folder / "pyproject.toml").write_text('[tool.stridelint]\nignore = ["TLC999"]\n')
    assert "unknown rule 'TLC999'" in watch.next()
    (folder / "pyproject.toml").write_text('[tool.stridelint]\nignore = ["TLC103"]\n')
    assert "No findings (2 files checked)." in watch.next()
    (folder / "sub" / "new.py").unlink()
    assert "No findings (1 file checked)." in watch.next()
    watch.process.send_signal(signal.SIGINT)
    assert watch.process.wait(timeout=20) == 0
    assert "Traceback" not in watch.text


def test_watch_uses_the_cache(folder: Path, watched: Callable[..., Watched]) -> None:
    for number in range(3):
        (folder / f"x{number}.py").write_text(FOUND)
    watch = watched("--verbose", ".")
    assert "the outcome of 0 files was known" in watch.next()
    (folder / "x1.py").write_text("import torch\n")
    assert "the outcome of 2 files was known" in watch.next()


def test_ctrl_c_while_a_watched_check_runs(folder: Path, watched: Callable[..., Watched]) -> None:
    (folder / "x.py").write_text(SLOW)
    watch = watched(".")
    wait_for(lambda: children_of(watch.process.pid))
    watch.process.send_signal(signal.SIGINT)
    assert watch.process.wait(timeout=20) == 0
    assert watch.text == ""


@pytest.mark.parametrize("option", ["--fix", "--diff", "--update-baseline", "-"])
def test_what_watch_does_not_go_with(folder: Path, run: Run, option: str) -> None:
    result = run("check", "--watch", "--baseline", "x.json", option)
    assert (result.status, "--watch does not go with" in result.err) == (2, True)
