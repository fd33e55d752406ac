"""The child process and the command line around it: one witness that crashes or hangs costs one verdict."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stridelint.linter import cli, probing
from stridelint.runtime_probe.probe import Probe, ProbeError

torch = pytest.importorskip("torch")

CODE = """\
import torch

power = torch.rand(3, 3)
torch.mm(power, power, out=power)
"""
# The worker, except that three operators do what an operator of torch may do.
WORKER = """\
import os, sys, time
from stridelint.runtime_probe import operate, worker

right = operate.run

def run(op, *rest, **more):
    if op == "crash":
        os.abort()
    if op == "leave":
        os._exit(3)
    if op == "hang":
        time.sleep(600)
    if op == "devour":
        held = []
        while True:
            held.append(bytearray(os.urandom(1) * (64 << 20)))
    if op == "fill":
        import torch
        held = [torch.ones(1 << 26) for _ in range(1000)]
    if op == "reserve":
        import torch
        torch.empty(1 << 55)
    if op == "shout":
        os.write(1, b"not a verdict")
        print("neither is this")
        return None
    return right(op, *rest, **more)

operate.run = run
sys.exit(worker.main())
"""


def witness_of(op: str) -> dict[str, Any]:
    tensor = {
        "shape": [2],
        "strides": [1],
        "dtype": "float32",
        "storage": 1,
        "text": "",
        "story": [],
        "fresh": False,
        "whole": False,
    }
    call = {
        "op": op, "form": "method", "text": "", "grad_mode": True, "discarded": False, "tensors": [tensor], "operands": [0],
        "arguments": {"input": {"tensor": 0}}, "out": None, "result": {},
    }  # fmt: skip
    claim = {"kind": "RAISES", "exception": "", "text": ""}
    return {"version": 1, "rule": "TLC101", "claim": claim, "calls": [[call]]}


@pytest.fixture
def worker(tmp_path: Path) -> list[str]:
    path = tmp_path / "worker.py"
    path.write_text(WORKER)
    return [sys.executable, str(path)]


def test_crashes_and_hangs_cost_one_verdict(worker: list[str]) -> None:
    with Probe("cpu", limit=4, command=worker) as probe:
        probe.wait()
        seen = {op: probe.verdict(witness_of(op)) for op in ("shout", "crash", "abs", "leave", "hang", "sin")}
        assert seen["shout"]["verdict"] == seen["abs"]["verdict"] == seen["sin"]["verdict"] == "refuted"
        assert seen["abs"]["observed"] == "torch accepts the call; result float32 (2,) strides (1,)"
        reasons = {op: seen[op]["reason"] for op in ("crash", "leave", "hang")}
        assert reasons == {
            "crash": "the call does not come back: the process died of SIGABRT",
            "leave": "the call does not come back: the process ended with status 3",
            "hang": "the call does not come back: it took more than 4 seconds",
        }
        assert {seen[op]["verdict"] for op in reasons} == {"inconclusive"}
        assert {each["device"] for each in seen.values()} == {"cpu"}


def test_memory_is_limited(worker: list[str]) -> None:
    """What is taken, not what is asked for, counts; and what torch cannot get is an answer."""
    with Probe("cpu", limit=60, command=worker) as probe:
        seen = {op: probe.verdict(witness_of(op)) for op in ("devour", "abs", "fill", "reserve", "sin")}
    assert {op: each["verdict"] for op, each in seen.items()} == {
        "devour": "inconclusive", "abs": "refuted", "fill": "inconclusive", "reserve": "inconclusive", "sin": "refuted",
    }  # fmt: skip
    reason = "the call does not come back: it needs more than 2 GiB of memory"
    assert seen["devour"]["reason"] == seen["fill"]["reason"] == reason
    assert seen["reserve"]["reason"] == "there is not enough memory for it"


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux")
def test_no_child_outlives_the_run(worker: list[str], tmp_path: Path) -> None:
    """Not even one in a call that never returns."""
    code = f"""
import json, sys
from stridelint.runtime_probe.probe import Probe
probe = Probe("cpu", limit=600, command={worker!r})
probe.wait()
print(probe._child.pid, flush=True)
probe.verdict({witness_of("hang")!r})
"""
    started = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert started.stdout is not None
    child = Path("/proc") / started.stdout.readline().strip() / "status"
    assert "State" in child.read_text()
    time.sleep(0.5)
    started.kill()
    started.communicate()
    end = time.monotonic() + 20
    while child.exists() and "State:\tZ" not in child.read_text():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_child_that_cannot_start_is_an_error() -> None:
    message = "the probe does not start: the process ended with status 7"
    with (
        Probe("cpu", command=[sys.executable, "-c", "raise SystemExit(7)"]) as probe,
        pytest.raises(ProbeError, match=message),
    ):
        probe.wait()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "power.py").write_text(CODE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


Run = Callable[..., Any]


def test_check_shows_verdicts(project: Path, run: Run) -> None:
    result = run("check", "--isolated", "--probe", "auto", "--format", "json", "--output", "found.json", "power.py")
    assert result.status == 1
    report = json.loads((project / "found.json").read_text())
    (finding,) = report["findings"]
    assert finding["probe"]["verdict"] == "confirmed"
    assert finding["probe"]["torch"] == torch.__version__
    assert finding["probe"]["observed"].startswith("computes [")
    assert set(finding["probe"]) == {"verdict", "reason", "observed", "torch", "device"}
    again = run("probe", "found.json", "--device", "cpu", "--format", "json")
    assert again.status == 1
    assert json.loads(again.out)["findings"][0]["probe"]["verdict"] == "confirmed"


def test_text_and_exit_status(project: Path, run: Run) -> None:
    result = run("check", "--isolated", "--probe", "cpu", "power.py")
    assert f"    probe: confirmed on cpu, torch {torch.__version__}: computes [" in result.out
    assert result.out.endswith("Found 1 finding in 1 file (1 file checked, 1 confirmed).\n")


def test_fail_on_confirmed_ignores_the_rest(project: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Probe, "verdict", lambda self, witness: self._inconclusive("a reason"))
    result = run("check", "--isolated", "--probe", "cpu", "power.py", "--fail-on", "confirmed")
    assert result.status == 0
    assert "probe: inconclusive on cpu" in result.out


def test_wrong_use(project: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run("check", "--fail-on", "confirmed", "power.py")
    assert (result.status, result.err) == (2, "stridelint: --fail-on confirmed needs --probe\n")
    if not torch.cuda.is_available():
        result = run("check", "--probe", "cuda", "power.py")
        assert (result.status, "torch sees no CUDA device" in result.err) == (2, True)
    (project / "empty.json").write_text("{}")
    result = run("probe", "empty.json")
    assert (result.status, "is no report of" in result.err) == (2, True)
    result = run("probe", "absent.json")
    assert (result.status, "cannot read absent.json" in result.err) == (2, True)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    result = run("check", "--isolated", "--probe", "cpu", "power.py")
    assert (result.status, result.err) == (2, f"stridelint: {probing.NO_TORCH}\n")
    assert run("check", "--isolated", "power.py").status == 1


def test_the_linter_does_not_import_torch(project: Path) -> None:
    script = "import sys; from stridelint.linter import cli; cli.main(['check', '--probe', 'cpu', 'power.py']); assert 'torch' not in sys.modules"
    assert importlib.util.find_spec("torch") is not None
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert cli.main(["check", "--exit-zero", "--isolated", "power.py"]) == 0
