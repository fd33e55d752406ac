"""A run that finds no tensor code imports little, and no run needs torch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

WITHOUT_TORCH = "import os\n\n\ndef view(x):\n    return x.view(-1)\n"


# As for a user: modules are compiled once, when the package is installed or first used.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def python(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=ENVIRONMENT)


MAIN = "import sys; from stridelint.linter.cli import main; status = main(sys.argv[1:]); "


def test_a_file_without_torch_imports_little(tmp_path: Path) -> None:
    """How long it takes is measured by benchmarks/compare.py."""
    path = tmp_path / "x.py"
    path.write_text(WITHOUT_TORCH)
    result = python(MAIN + "print(*sorted(name for name in sys.modules if 'stridelint.' in name))", "check", path)
    ours = {name.removeprefix("stridelint.") for name in result.stdout.splitlines()[-1].split()}
    rules = {name for name in ours if name.startswith("rules")}
    assert rules == {"rules", "rules.contract", "rules.contract.answers"}
    assert not {name for name in ours if name.startswith(("linter.inference", "linter.project", "runtime_probe"))}


@pytest.mark.parametrize("text", [WITHOUT_TORCH, "import torch\n"])
def test_libcst_is_imported_only_for_a_file_that_passes(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.py"
    path.write_text(text)
    heavy = (
        "{'libcst', 'torch', 'dataclasses', 'subprocess', 'tokenize'}"
        if text == WITHOUT_TORCH
        else "{'libcst', 'torch'}"
    )
    result = python(MAIN + f"print({heavy} & set(sys.modules))", "check", path)
    assert result.stdout.splitlines()[-1] == "set()"


def test_the_rules_are_imported_without_libcst_and_torch() -> None:
    code = "import sys; from stridelint.rules.registry import all_rules; all_rules(); "
    result = python(code + "print({'libcst', 'torch', 'numpy'} & set(sys.modules))")
    assert (result.stdout, result.stderr) == ("set()\n", "")


def test_the_linter_runs_without_torch() -> None:
    """As in a hook's own environment: torch, numpy and flake8 are not there."""
    block = "import sys; sys.modules.update(torch=None, numpy=None, flake8=None); "
    fixtures = Path(__file__).parent.parent / "fixtures"
    result = python(block + MAIN + "sys.exit(status)", "check", "--isolated", "--min-confidence", "possible", fixtures)
    assert result.stderr == ""
    assert "internal error" not in result.stdout
    assert result.returncode == 1
