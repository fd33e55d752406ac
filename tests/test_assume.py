"""`--assume channels_last`: what would happen if the inputs and weights of models were channels_last."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from stridelint.linter import engine, source
from stridelint.linter.config import ConfigError, Settings, assumptions
from stridelint.linter.selection import select

CODE = """import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(self.conv(x))
        return torch.ones(2, 4, 8, 8) * y


class Head(nn.Module):
    def forward(self, x, scale=2):
        return x.view(x.shape[0], -1) * scale


class Tokens(nn.Module):
    def forward(self, x):
        b, n, c = x.shape
        return x.view(b, n * c)


class Weights(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(4, 4, 3)

    def forward(self, x):
        return self.conv.weight.view(-1)


def pool(images):
    return images.view(images.size(0), -1)
"""


def found(*assume: str) -> list[tuple[int, str]]:
    file = source.from_bytes("models.py", CODE.encode(), explicit=True)
    outcome = engine.check(file, select(Settings(assume=assume)))
    assert not outcome.skipped
    return [(finding.line, finding.code) for finding in outcome.findings]


@pytest.mark.parametrize(
    ("assume", "expected"),
    [
        ((), []),
        (("channels_last",), [(13, "TLC101"), (18, "TLC104"), (33, "TLC104")]),
        (("channels_last:Head",), [(18, "TLC104")]),
        (("channels_last:H*", "channels_last:Block.forward"), [(13, "TLC101"), (18, "TLC104")]),
        (("channels_last:pool",), [(37, "TLC104")]),
        (("channels_last:Other",), []),
    ],
)
def test_findings(assume: tuple[str, ...], expected: list[tuple[int, str]]) -> None:
    assert found(*assume) == expected


def test_the_story_says_so() -> None:
    file = source.from_bytes("models.py", CODE.encode(), explicit=True)
    (finding,) = engine.check(file, select(Settings(assume=("channels_last:Head",)))).findings
    assert [(note.line, note.message) for note in finding.notes] == [(17, "'x' is assumed to be channels_last")]


@pytest.mark.parametrize(
    ("layer", "is_found"),
    [
        ("nn.Conv2d(3, 8, 3)", True),
        ("nn.Conv2d(8, 8, 3, padding=1, groups=8)", True),
        ("nn.ConvTranspose2d(8, 4, 2, 2)", True),
        ("nn.Conv2d(1, 8, 3)", False),  # one channel: both formats are the same bytes
        ("nn.Conv2d(8, 1, 3)", False),
    ],
)
def test_layers_whose_channels_are_numbers(layer: str, is_found: bool) -> None:
    code = f"""from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = {layer}

    def forward(self, x):
        y = self.layer(x)
        return y.view(y.shape[0], -1)
"""
    file = source.from_bytes("models.py", code.encode(), explicit=True)
    found = engine.check(file, select(Settings(assume=("channels_last",)))).findings
    assert [(finding.line, finding.code) for finding in found] == ([(11, "TLC104")] if is_found else [])
    if is_found and importlib.util.find_spec("torch"):
        import torch

        names: dict[str, object] = {}
        exec(code, names)
        net = names["Net"]().to(memory_format=torch.channels_last)  # type: ignore[operator]
        image = torch.rand(2, 3 if "(3" in layer else 8, 6, 6).to(memory_format=torch.channels_last)
        with pytest.raises(RuntimeError, match="view size is not compatible"):
            net(image)


def test_imports_between_files_are_followed(tmp_path: Path) -> None:
    (tmp_path / "parts.py").write_text("def head(y):\n    return y.view(y.size(0), -1)\n", encoding="utf-8")
    code = "from torch import nn\n\nfrom parts import head\n\n\nclass Net(nn.Module):\n    def forward(self, x):\n        return head(x)\n"
    (tmp_path / "net.py").write_text(code, encoding="utf-8")
    command = [sys.executable, "-m", "stridelint", "check", "--assume", "channels_last", "."]
    printed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    assert "parts.py:2:12: TLC104" in printed
    assert "net.py:7: note: 'y' is assumed to be channels_last" in printed


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (["nhwc"], "knows channels_last"),
        (["channels_lst:Net"], "did you mean 'channels_last'"),
        (["channels_last:"], "lacks the name"),
        ("channels_last", "must be a list"),
    ],
)
def test_wrong_assumptions(wrong: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        assumptions(wrong)


def test_on_the_command_line_and_in_the_settings(tmp_path: Path) -> None:
    (tmp_path / "models.py").write_text(CODE, encoding="utf-8")

    def check(*options: str) -> str:
        command = [sys.executable, "-m", "stridelint", "check", *options, "."]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout

    assert "No findings" in check()
    assert "models.py:18:16: TLC104" in check("--assume", "channels_last:Head")
    (tmp_path / "pyproject.toml").write_text('[tool.stridelint]\nassume = ["channels_last:pool"]\n', encoding="utf-8")
    assert "models.py:37:12: TLC104" in check()


def checked(folder: Path, *arguments: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "stridelint", "check", *arguments]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return result.returncode, result.stderr


@pytest.mark.parametrize(
    ("assume", "status", "told"),
    [
        ("Head", 1, ""),
        ("H*d", 1, ""),
        ("Head.forward", 1, ""),
        ("pool", 1, ""),
        ("Tokens", 0, ""),
        ("Haed", 2, "nothing is called 'Haed' in the files read (assume: channels_last:Haed); did you mean 'Head'?"),
        (
            "forward",
            2,
            "nothing is called 'forward' in the files read (assume: channels_last:forward); did you mean 'Head.forward'?",
        ),
        ("Zz*", 2, "nothing is called 'Zz*' in the files read (assume: channels_last:Zz*)"),
    ],
)
def test_names_that_are_nowhere_are_told(tmp_path: Path, assume: str, status: int, told: str) -> None:
    (tmp_path / "models.py").write_text(CODE, encoding="utf-8")
    (tmp_path / "broken.py").write_text("class Haed(:\n", encoding="utf-8")
    (tmp_path / "notebook.ipynb").write_text(
        '{"nbformat": 4, "metadata": {}, "cells": [{"cell_type": "code", "source": "class Cell:\\n    pass"}]}',
        encoding="utf-8",
    )
    for _ in range(2):  # what is in the cache is told again
        got, said = checked(tmp_path, "--assume", f"channels_last:{assume}", ".")
        assert got == status
        assert said == (f"stridelint: {told}\n" if told else "")
    found = checked(tmp_path, "--assume", f"channels_last:{assume}", "models.py")
    assert found == (status % 2, said)  # as if it had been said of files: told, and no error
    assert checked(tmp_path, "--assume", "channels_last:Cell", ".") == (0, "")


def test_names_in_a_configuration_are_expected_where_all_of_it_is_checked(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.stridelint]\nassume = ["channels_last:Haed"]\n', encoding="utf-8")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "models.py").write_text(CODE, encoding="utf-8")
    told = "stridelint: nothing is called 'Haed' in the files read (assume: channels_last:Haed); did you mean 'Head'?\n"
    assert checked(tmp_path, ".") == (2, told)
    assert checked(tmp_path) == (2, told)
    assert checked(tmp_path, "src") == (0, "")
    assert checked(tmp_path, "src/models.py") == (0, "")
