"""The benchmark that tries to break the linter, in small: it finds nothing, and it would."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def run(*arguments: str, code: str = "") -> subprocess.CompletedProcess[str]:
    start = ["-c", code] if code else ["-m", "benchmarks.reliability"]
    return subprocess.run([sys.executable, *start, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=600)


def test_odd_programs(tmp_path: Path) -> None:
    files = [tmp_path / "one.json", tmp_path / "two.json"]
    for first, file in zip(("0", "40"), files, strict=True):
        result = run(
            "programs", "--count", "40", "--first", first, "--seed", "tests", "--json", str(file), "fixtures/bad"
        )
        assert (result.returncode, result.stderr) == (0, ""), result.stdout
    added = run("add", *map(str, files))
    assert added.stdout.startswith("80 programs, ")
    assert sum(json.loads(file.read_text())["findings"] for file in files) > 5


def test_real_files() -> None:
    result = run("files", "fixtures/variants", "linter/reports")
    assert (result.returncode, "wrong:   0" in result.stdout) == (0, True), result.stdout


def test_programs_are_the_same_each_time() -> None:
    shown = [run("programs", "--only", "7", "fixtures/bad").stdout for _ in range(2)]
    assert shown[0] == shown[1] and shown[0].count("\n") > 3


FAULTY = """
import sys
from benchmarks import reliability
from stridelint.linter import engine
check = engine.check

def faulty(file, *rest):
    outcome = check(file, *rest)
    return outcome._replace(findings=tuple(each._replace(line=each.line + 1000) for each in outcome.findings))

engine.check = faulty
sys.argv[1:] = ["programs", "--count", "60", "fixtures/bad"]
sys.exit(reliability.main())
"""
HANGING = """
import os, time
from benchmarks.watching import watched

def work(item):
    if item == 3:
        time.sleep(600)
    if item == 5:
        os.abort()
    return "x" * 1_000_000 * item

for item, found in watched(range(8), work, 3.0, renew=4):
    print(item, found.trouble or len(found.result))
"""


def test_mistakes_are_found() -> None:
    result = run(code=FAULTY)
    assert result.returncode == 1
    assert "is outside of the file" in result.stdout


def test_what_hangs_or_dies_costs_one() -> None:
    told = run(code=HANGING).stdout.splitlines()
    assert told == ["0 0", "1 1000000", "2 2000000", "3 hang", "4 4000000", "5 died: -6", "6 6000000", "7 7000000"]
