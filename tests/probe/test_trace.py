"""`stridelint trace`: the program runs as without it, and findings get their verdicts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

STRIDELINT = [sys.executable, "-m", "stridelint"]
FUSE = """\
import torch

def fuse(images, mask):
    x = images.to(memory_format=torch.channels_last)
    return mask * x

mask = getattr(torch, "".join(["on", "es"]))(2, 3, 4, 5)  # the reader does not know what that is
for _ in range(7):
    fuse(torch.rand(2, 3, 4, 5), mask)
"""


def trace(folder: Path, text: str, *options: str, arguments: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    (folder / "train.py").write_text(text)
    command = [
        *STRIDELINT,
        "trace",
        "--output",
        "report.json",
        "--format",
        "json",
        *options,
        "--",
        "train.py",
        *arguments,
    ]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def plain(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "train.py", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )


def report(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "report.json").read_text())
    assert not found["failures"], found["failure"]
    return found


def verdicts(folder: Path) -> dict[tuple[int, str], str]:
    return {(each["line"], each["code"]): each["trace"]["verdict"] for each in report(folder)["findings"]}


def hazards(folder: Path) -> list[tuple[int, int, str]]:
    return [(each["line"], each["column"], each["code"]) for each in report(folder)["hazards"]]


def test_a_hazard_that_only_the_run_shows_at_its_place(tmp_path: Path) -> None:
    result = trace(tmp_path, FUSE)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    (hazard,) = report(tmp_path)["hazards"]
    assert (hazard["path"], hazard["line"], hazard["column"], hazard["end_column"]) == ("train.py", 5, 12, 20)
    assert hazard["code"] == "TLC101"
    assert hazard["message"].startswith("result of 'mask * x' is row-major because 'mask' comes first")
    assert [(note["line"], note["message"]) for note in hazard["notes"]] == [(4, "'x' becomes channels_last here")]


def test_the_layout_report_counts_calls_most_frequent_first(tmp_path: Path) -> None:
    trace(
        tmp_path,
        FUSE
        + "x = torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)\nx.permute(0, 2, 3, 1)\ntorch.softmax(x, 1)\n",
    )
    layout = [(each["line"], each["operator"], each["calls"]) for each in report(tmp_path)["layout"]]
    assert layout == [(5, "mul", 7), (12, "softmax", 1)]


def test_findings_are_confirmed_refuted_unreached_or_unjudged(tmp_path: Path) -> None:
    text = """\
import torch

def reached(x):
    x = x.to(memory_format=torch.channels_last)
    return x.masked_fill(torch.ones(2, 3, 4, 4) > 0, 0.0)

def shallow(flag):
    x = torch.rand(2, 3, 4, 5)
    if flag:
        x = x.to(memory_format=torch.channels_last)
    return x.view(2, -1)

def never(x):
    x.to(torch.float64)

def raw(x):
    return x.as_strided((2, 3), (1, 2)).stride(1) == 1

reached(torch.rand(2, 3, 4, 4))
shallow(False)
"""
    assert trace(tmp_path, text).returncode == 0
    found = verdicts(tmp_path)
    assert found[5, "TLC107"] == "confirmed"
    assert found[11, "TLC104"] == "refuted"
    assert {code: verdict for (line, code), verdict in found.items() if line in (14, 17)}.get(
        "TLC103", "unreached"
    ) == "unreached"


def test_an_error_that_the_program_handles_is_no_hazard(tmp_path: Path) -> None:
    text = """\
import torch

def flat(x):
    return x.view(2, -1)

def tried(x):
    try:
        return flat(x)
    except RuntimeError:
        return x.reshape(2, -1)

x = torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)
tried(x)
"""
    trace(tmp_path, text, "--select", "TLC104", "--min-confidence", "certain")
    assert hazards(tmp_path) == []
    assert set(verdicts(tmp_path).values()) <= {"confirmed"}


HELPER = """\
import torch
import helper

images = getattr(torch, "".join(["ra", "nd"]))(2, 3, 4, 5)  # the reader does not know what that is
helper.run([images.to(memory_format=torch.channels_last)])
"""


def test_an_error_that_ends_the_program_is_one(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("def run(tensors):\n    for each in tensors:\n        each.view(2, -1).sum()\n")
    result = trace(tmp_path, HELPER)
    assert result.returncode == 1
    assert result.stderr == plain(tmp_path).stderr
    assert hazards(tmp_path) == [(3, 9, "TLC104")]


UNCHANGED = {
    "arguments": "import sys\nimport torch\ntorch.ones(2) + 1\nprint(sys.argv, __name__, __file__, __spec__)\n",
    "exit status": "import sys\nimport torch\ntorch.ones(2) + 1\nsys.exit(7)\n",
    "exit text": "import sys\nimport torch\nsys.exit('enough')\n",
    "warnings": """\
import torch

out = torch.zeros(3)
for size in (2, 4):
    torch.add(torch.ones(size), 1, out=out)
torch.add(torch.ones(5), 1, out=out)
torch.nn.functional.softmax(torch.ones(2))
""",
    "warnings as errors": """\
import warnings
import torch

warnings.filterwarnings("error", module="__main__")
torch.add(torch.ones(2), 1, out=torch.ones(3))
""",
    "error": "import torch\n\n\ndef f(x):\n    return torch.nn.functional.linear(x, x[0])\n\n\nf(torch.ones(2, 3) @ torch.ones(2, 2))\n",
    "chain": "import torch\ntry:\n    torch.ones(2).view(3)\nexcept RuntimeError as error:\n    raise ValueError('no') from error\n",
    "module": "import torch\nlayer = torch.nn.Linear(2, 2)\nlayer(torch.ones(3, 5))\n",
    "no torch": "print('nothing here')\n",
    "own hook": "import sys\nimport torch\nsys.excepthook = lambda *error: print(error[0].__name__, error[1])\ntorch.ones(2).view(3)\n",
    "compiled": """\
import torch
import torch._dynamo

@torch.compile(backend="eager", fullgraph=True)
def f(x):
    return (x + 1).relu()

print(f(torch.ones(2)), type(torch.compile(torch.nn.Linear(1, 1), backend="eager")).__name__)
print(dict(torch._dynamo.utils.counters["graph_break"]))
""",
    "other modes": """\
import torch
with torch.device("meta"):
    print(torch.zeros(3).device)
torch.set_default_device("cpu")
print(torch.zeros(2), torch.vmap(lambda x: x.sum() + 1)(torch.ones(3, 4)), torch.func.grad(lambda x: (x * x).sum())(torch.ones(2)))
""",
    "kinds of tensors": """\
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

class Own(torch.Tensor):
    pass

print(type(torch.ones(2).as_subclass(Own) + 1).__name__)
sparse = torch.sparse_coo_tensor(torch.tensor([[0], [1]]), torch.tensor([1.0]), (2, 2))
print((sparse + sparse).to_dense())
with FakeTensorMode():
    print((torch.rand(2, 3) + 1).shape)
print(torch.jit.trace(torch.nn.ReLU(), torch.ones(2))(torch.ones(2)), torch.fx.symbolic_trace(torch.nn.ReLU()).code)
""",
    "workers": """\
import torch
from torch.utils.data import DataLoader

class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, index):
        return torch.ones(2, 3).t() * index

if __name__ == "__main__":
    for context in ("fork", "spawn"):
        for batch in DataLoader(Data(), batch_size=2, num_workers=1, multiprocessing_context=context):
            print(batch.sum())
""",
    "autograd": """\
import torch

class Square(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        context.save_for_backward(x)
        return x * x
    @staticmethod
    def backward(context, gradient):
        return 2 * context.saved_tensors[0] * gradient

x = torch.ones(3, requires_grad=True)
Square.apply(x).sum().backward()
print(x.grad)
x.grad += 1
x.grad[0] += 1
x.grad -= x.grad.mean()
print(x.grad, 1 - x.grad, 2 ** x.grad, ~(x > 1))
""",
}


@pytest.mark.parametrize("name", UNCHANGED)
def test_the_program_runs_as_without_the_trace(tmp_path: Path, name: str) -> None:
    result = trace(tmp_path, UNCHANGED[name], arguments=("one", "--two"))
    without = plain(tmp_path, "one", "--two")
    assert (result.stdout, result.stderr, result.returncode) == (without.stdout, without.stderr, without.returncode)
    assert report(tmp_path)["exit"] == without.returncode


def test_a_module_and_options_of_python(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text(
        "import sys\nimport torch\nfrom . import other\nprint(sys.argv[1:], __package__, __spec__.name)\n"
    )
    (package / "other.py").write_text("import torch\ntorch.ones(2).to(torch.float64)\n")
    for command in (["-m", "package", "-x"], ["--", "python", "-W", "ignore", "-m", "package", "-x"]):
        result = subprocess.run(
            [*STRIDELINT, "trace", *command], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert (result.returncode, result.stdout) == (0, "['-x'] package package.__main__\n")
        assert "package/other.py:2:1: TLC103" in result.stderr
        assert "trace: confirmed" in result.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_signal_ends_it_as_it_ends_the_program(tmp_path: Path, number: signal.Signals) -> None:
    text = FUSE + "import time, sys\nprint('ready', flush=True)\ntime.sleep(60)\n"
    (tmp_path / "train.py").write_text(text)
    command = [*STRIDELINT, "trace", "--output", "report.json", "--format", "json", "--", "train.py"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        if number is signal.SIGKILL:  # the program ends, not the command
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            os.kill(int(children[0]), number)
        else:
            process.send_signal(number)
        assert process.wait(timeout=60) == -number
    assert [each["code"] for each in report(tmp_path)["hazards"]] == ["TLC101"]
    assert report(tmp_path)["ended"] is (number is signal.SIGINT)


def test_fail_on_counts_only_after_a_program_that_succeeds(tmp_path: Path) -> None:
    assert trace(tmp_path, FUSE, "--fail-on", "confirmed").returncode == 1
    assert trace(tmp_path, FUSE, "--fail-on", "confirmed", "--ignore", "TLC101").returncode == 0
    assert trace(tmp_path, FUSE + "raise SystemExit(5)\n", "--fail-on", "any").returncode == 5


def test_comments_and_selections_hold(tmp_path: Path) -> None:
    trace(tmp_path, FUSE.replace("mask * x", "mask * x  # noqa: TLC101"))
    assert hazards(tmp_path) == []
    trace(tmp_path, FUSE, "--select", "TLC3")
    assert hazards(tmp_path) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "trace needs a program"),
        (["--", "python"], "trace needs a program"),
        (["--", "missing.py"], "no such file: missing.py\n"),
        (["--", "python", "missing.py"], "no such file: missing.py\n"),
        (["--", "missing"], "no such file: missing (for a module that is installed: stridelint trace -m missing)"),
        (["train.py", "--epochs", "1"], "to run it: stridelint trace -- train.py --epochs 1\n"),
        (["--select", "TLC1", "train.py"], "to run it: stridelint trace --select TLC1 -- train.py\n"),
        (["--wach", "src", "--", "train.py"], "unrecognized arguments: --wach src"),
        (["--", "python", "-c", "pass"], "trace runs files and modules"),
        (["--watch", "nowhere", "-m", "this"], "--watch: no such file or folder: nowhere"),
        (["--select", "TLC9999", "-m", "this"], "unknown rule 'TLC9999'"),
        (["--output", "no/such/folder", "-m", "this"], "cannot write no/such/folder"),
    ],
)
def test_wrong_usage(tmp_path: Path, arguments: list[str], message: str) -> None:
    result = subprocess.run(
        [*STRIDELINT, "trace", *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert result.returncode == 2
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_failure_of_the_trace_is_told_once_and_breaks_nothing(tmp_path: Path) -> None:
    broken = "import stridelint.runtime_probe.trace_events as events\nevents.facts_of = None\n"
    result = trace(tmp_path, broken + FUSE + "print('done')\n")
    assert (result.returncode, result.stdout, result.stderr) == (0, "done\n", "")
    found = json.loads((tmp_path / "report.json").read_text())
    assert found["failures"] > 1
    assert "NoneType" in found["failure"]


def test_many_steps_take_no_more_memory(tmp_path: Path) -> None:
    """The benchmark runs; the times that it measures are in docs/trace.md."""
    script = Path(__file__).parents[2] / "benchmarks" / "trace_overhead.py"
    command = [sys.executable, str(script), "--steps", "15", "--small-steps", "6000"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "processor time: " in result.stdout
    held = result.stdout.split("Python holds ")[1].split()[0]
    assert int(held) < 100, result.stdout


def test_nothing_is_imported_before_torch_is(tmp_path: Path) -> None:
    assert trace(tmp_path, "import sys\nassert 'torch' not in sys.modules\n").returncode == 0
