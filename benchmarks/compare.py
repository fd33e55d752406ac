"""Times `stridelint check` beside flake8, ruff and TorchFix on the same files, cold and warm, in one run.

    python benchmarks/compare.py [FOLDER ...] [--rounds N] [--skip TOOL] [--growth] [--cold-at-most R] [--warm-at-most R]

FOLDER is the installed torch package unless given. The other tools are installed, at pinned versions, into environments
under build/benchmark at the first run (TorchFix into its own: it pins LibCST); stridelint runs from the Python that runs this.
Each round runs all tools in turn, so that a busy machine disturbs all, and the best round of each counts: seconds on the
clock, and of processor time with that of child processes. Each tool runs with its default number of processes.

cold: nothing is remembered. warm: a run before has filled the cache, and nothing has changed.
--growth: how the time grows with the number of files (every 8th of the folder, every 4th, and so on) and with the length of a file
(made of functions and classes of the folder that use torch, renamed so that none hides another).
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ENVIRONMENTS = Path(__file__).parent.parent / "build" / "benchmark"
PINNED = {"others": ("flake8==7.5.0", "ruff==0.17.6"), "torchfix": ("torchfix==0.7.0",)}
CHECK = (sys.executable, "-m", "stridelint", "check", "--isolated", "--exit-zero", "--quiet")
LENGTHS = (1000, 2000, 4000, 8000, 16000)  # of lines, of the files that --growth makes
SHOWN = {"others": ("flake8", "ruff"), "torchfix": ("torchfix", "libcst")}


class Took(NamedTuple):
    """Seconds: on the clock, and of processors."""

    clock: float
    processors: float


class Tool(NamedTuple):
    """A command; `fills`: run once before, to fill its cache. accepted: its exit statuses with findings and without."""

    name: str
    command: tuple[str, ...]
    fills: bool = False
    accepted: tuple[int, ...] = (0,)


def took(command: Sequence[str], accepted: Sequence[int] = (0,)) -> Took:
    """How long a command takes. Ends the benchmark if it fails."""
    with tempfile.TemporaryFile("w+") as errors:
        start = time.perf_counter()
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        _, status, used = os.wait4(child.pid, 0)
        clock = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode not in accepted:
            errors.seek(0)
            sys.exit(f"{' '.join(command)} ended with {child.returncode}:\n{errors.read()[-2000:]}")
    return Took(clock, used.ru_utime + used.ru_stime)


def best(times: Sequence[Took]) -> Took:
    return Took(min(each.clock for each in times), min(each.processors for each in times))


def environment(name: str) -> Path:
    """The folder with the programs of an environment, which is made if it is not there or has other versions."""
    folder = ENVIRONMENTS / name
    stamp = folder / "pinned.txt"
    wanted = "\n".join(PINNED[name])
    if not stamp.exists() or stamp.read_text() != wanted:
        print(f"installing {', '.join(PINNED[name])} into {folder} ...", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(folder / "bin" / "pip"), "install", "--quiet", *PINNED[name]], check=True)
        stamp.write_text(wanted)
    return folder / "bin"


def tools(folder: str, caches: str, skipped: Sequence[str]) -> list[Tool]:
    """All commands to time on a folder; stridelint's come first."""
    ours = os.path.join(caches, "stridelint")
    found = [
        Tool("stridelint cold", (*CHECK, "--no-cache", folder)),
        Tool("stridelint warm", (*CHECK, "--cache-dir", ours, folder), fills=True),
    ]
    others = environment("others") if not {"flake8", "ruff"} <= set(skipped) else Path()
    if "ruff" not in skipped:
        ruff = (str(others / "ruff"), "check", "--isolated", "--exit-zero", "--quiet")
        found += [
            Tool("ruff cold", (*ruff, "--no-cache", folder)),
            Tool("ruff warm", (*ruff, "--cache-dir", os.path.join(caches, "ruff"), folder), fills=True),
        ]
    if "flake8" not in skipped:
        flake8 = (str(others / "flake8"), "--isolated", "--select", "F", "--exit-zero", "--disable-noqa")
        found.append(Tool("flake8 --select F", (*flake8, folder)))
    if "torchfix" not in skipped:
        found.append(Tool("TorchFix", (str(environment("torchfix") / "torchfix"), folder), accepted=(0, 1)))
    return found


def compare(folder: str, rounds: int, skipped: Sequence[str]) -> dict[str, Took]:
    """The best time of each tool."""
    with tempfile.TemporaryDirectory() as caches:
        every = tools(folder, caches, skipped)
        for tool in every:
            if tool.fills:
                took(tool.command, tool.accepted)
        times: dict[str, list[Took]] = {tool.name: [] for tool in every}
        for round_ in range(rounds):
            for tool in every:
                if tool.name == "TorchFix" and round_:
                    continue  # it takes minutes, and hundredths of that do not matter
                times[tool.name].append(took(tool.command, tool.accepted))
    return {name: best(each) for name, each in times.items()}


def show(times: Mapping[str, Took]) -> None:
    """A table of the times, and what stridelint's are of the others'."""
    cold, warm = times["stridelint cold"], times["stridelint warm"]
    print(f"{'':20}{'seconds':>9}{'cpu':>9}{'cold / it':>12}{'warm / it':>12}")
    for name, each in times.items():
        print(
            f"{name:20}{each.clock:9.2f}{each.processors:9.2f}{cold.clock / each.clock:12.3f}{warm.clock / each.clock:12.3f}"
        )


def show_growth(folder: Path) -> None:
    """How processor time, without start-up, grows with the number of files and with the length of one; 1 is as the code does."""
    files = sorted(path for path in folder.rglob("*.py") if path.is_file())
    with tempfile.TemporaryDirectory() as scratch:
        empty = Path(scratch) / "empty.py"
        empty.write_text("import torch\n")
        start = min(took([*CHECK, "--no-cache", str(empty)]).processors for _ in range(5))
        print("\nfiles           cpu seconds   ms a file   growth")
        before = 0.0
        for part in (8, 4, 2, 1):
            chosen = files[::part]
            copies = Path(scratch) / f"part{part}"
            for path in chosen:
                target = copies / path.relative_to(folder)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(path.read_bytes())
            used = took([*CHECK, "--no-cache", str(copies)]).processors - start
            print(f"{len(chosen):12,}{used:15.2f}{1000 * used / len(chosen):12.2f}{_growth(used, before)}")
            before = used
        print("\nlines           cpu seconds   ms a 1000   growth")
        before = 0.0
        for length in LENGTHS:
            path = Path(scratch) / f"long{length}.py"
            path.write_text(long_file(files, length))
            lines = path.read_text().count("\n")
            if lines < length:
                print(f"{lines:12,}   is all that this folder has")
                return
            used = took([*CHECK, "--no-cache", str(path)]).processors - start
            print(f"{lines:12,}{used:15.2f}{1000 * used / (lines / 1000):12.1f}{_growth(used, before)}")
            before = used


def _growth(used: float, before: float) -> str:
    return f"{used / before / 2:9.2f}" if before > 0.01 else " " * 9


def long_file(files: list[Path], length: int) -> str:
    """A module of about so many lines."""
    parts = ["import math\nimport torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"]
    lines = 0
    for number, text in enumerate(pieces(files)):
        name = f"_{number}"
        parts.append(re.sub(r"^((?:async )?def|class) (\w+)", rf"\1 \2{name}", text, count=1, flags=re.MULTILINE))
        lines += parts[-1].count("\n") + 2
        if lines >= length:
            break
    return "\n\n".join(parts)


def pieces(files: list[Path]) -> Iterator[str]:
    """Functions and classes of files that use torch."""
    for path in files:
        try:
            text = path.read_text("utf-8")
            if "import torch" not in text:
                continue
            tree = ast.parse(text)
        except (OSError, ValueError, SyntaxError, RecursionError):
            continue
        for node in tree.body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.decorator_list:
                piece = ast.get_source_segment(text, node)
                if piece:
                    yield piece + "\n"


def start_up() -> None:
    """What a run costs on a file that does not concern it, over the start of Python itself."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "without_torch.py"
        path.write_text("import os\n\n\ndef view(x):\n    return x.view(-1)\n")
        bare = min(took([sys.executable, "-c", "pass"]).clock for _ in range(15))
        command = [sys.executable, "-m", "stridelint", "check", "--isolated", "--no-cache", str(path)]
        start = min(took(command).clock for _ in range(15))
    print(f"\nstart-up: {1000 * (start - bare):.1f} ms on a file without torch, over Python's {1000 * bare:.1f} ms")


def machine() -> str:
    """The name of the machine, its processors, and what is compared."""
    name = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return (
        f"{platform.node()}: {name}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}; {platform.platform()}"
    )


def versions(skipped: Sequence[str]) -> str:
    """What is compared."""
    from importlib.metadata import version

    found = [
        f"Python {platform.python_version()}",
        f"stridelint {version('stridelint')}",
        f"libcst {version('libcst')}",
    ]
    for name, packages in SHOWN.items():
        if not set(packages[:2] if name == "others" else packages[:1]) <= set(skipped):
            listed = subprocess.run(
                [str(environment(name) / "pip"), "list", "--format", "freeze"],
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            ).stdout.lower()
            told = [line.replace("==", " ") for line in listed.split() if line.partition("==")[0] in packages]
            found.append(" with ".join(sorted(told, reverse=True)) if name == "torchfix" else ", ".join(told))
    return "; ".join(found)


def installed_torch() -> str | None:
    spec = importlib.util.find_spec("torch")
    return str(Path(spec.origin).parent) if spec is not None and spec.origin else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", metavar="FOLDER")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--skip", action="append", default=[], choices=("flake8", "ruff", "torchfix"))
    parser.add_argument("--growth", action="store_true", help="also how the time grows")
    parser.add_argument(
        "--cold-at-most", type=float, metavar="R", help="exit 1 if cold is more than R of flake8's time"
    )
    parser.add_argument(
        "--warm-at-most", type=float, metavar="R", help="exit 1 if warm is more than R of ruff's time without cache"
    )
    options = parser.parse_args()
    folders = options.folders or [each for each in [installed_torch()] if each]
    if not folders:
        parser.error("torch is not installed: name a folder")
    print(machine(), versions(options.skip), sep="\n")
    failed = False
    for folder in folders:
        files = [path for path in Path(folder).rglob("*.py") if path.is_file()]
        print(f"\n{folder}: {len(files):,} files, {sum(path.stat().st_size for path in files) / 1e6:.1f} MB")
        times = compare(folder, options.rounds, options.skip)
        show(times)
        for limit, ours, theirs in (
            (options.cold_at_most, "stridelint cold", "flake8 --select F"),
            (options.warm_at_most, "stridelint warm", "ruff cold"),
        ):
            failed |= limit is not None and times[ours].clock > limit * times[theirs].clock
        if options.growth:
            show_growth(Path(folder))
    start_up()
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
