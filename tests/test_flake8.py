"""The plugin inside a real flake8."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("flake8")

from flake8.main import application

from stridelint.linter.findings import Outcome
from stridelint.linter.flake8_plugin import Plugin
from stridelint.rules.contract import operators

TEXT = "import torch\n\nx = 1\nx.view(2)\nprint('日本é', x.view(\n    2,\n))\nx.hush()\n"


@pytest.fixture
def flake8(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], stubs: None
) -> Iterator[Callable[..., list[str]]]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.py").write_text(TEXT, encoding="utf-8")

    def run(*arguments: str) -> list[str]:
        app = application.Application()
        # One process: the stand-ins of the tests live in this one.
        app.run(["-j1", *arguments])
        captured = capsys.readouterr()
        lines = [*captured.out.splitlines(), *captured.err.splitlines()]
        return [line for line in lines if ": F" not in line]  # pyflakes has its say about these files, too

    yield run
    Plugin.given, Plugin.config_file, Plugin.isolated, Plugin.disable_noqa, Plugin.by_name = {}, None, False, False, ()
    Plugin.idle = False


def test_lines_and_columns(flake8: Callable[..., list[str]]) -> None:
    assert flake8("x.py") == ["x.py:4:1: TLC104 calls view", "x.py:5:14: TLC104 calls view"]


@pytest.mark.parametrize("options", [["--ignore=E501"], ["--select=TLC"], ["--extend-select=TLC"], ["--ignore=W"]])
def test_quiet_rules_stay_quiet(flake8: Callable[..., list[str]], options: list[str]) -> None:
    assert not [line for line in flake8(*options, "x.py") if "TLC203" in line]


@pytest.mark.parametrize(
    "options",
    [
        ["--extend-select=TLC203"],
        ["--stridelint-extend-select=TLC203"],
        ["--stridelint-select=TLC203"],
        ["--stridelint-min-confidence=possible"],
    ],
)
def test_quiet_rules_can_be_asked_for(flake8: Callable[..., list[str]], options: list[str]) -> None:
    assert "x.py:8:1: TLC203 calls hush" in flake8(*options, "x.py")


@pytest.mark.parametrize(
    ("options", "files"), [(["--select=F"], 0), (["--ignore=TLC"], 0), (["--select=F,TLC104"], 1), ([], 1)]
)
def test_nothing_is_analysed_in_vain(
    flake8: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch, options: list[str], files: int
) -> None:
    """flake8 runs all plugins, also those of which it shows nothing."""
    analysed: list[str] = []
    check = Plugin._check

    def counted(self: Plugin) -> Outcome:
        analysed.append(self.filename)
        return check(self)

    monkeypatch.setattr(Plugin, "_check", counted)
    flake8(*options, "x.py")
    assert len(analysed) == files


def test_configuration_files(flake8: Callable[..., list[str]], tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.stridelint]\nignore = ["TLC104"]\nextend-select = ["TLC203"]\n')
    assert flake8("x.py") == ["x.py:8:1: TLC203 calls hush"]
    assert len(flake8("--stridelint-isolated", "x.py")) == 2
    (tmp_path / "setup.cfg").write_text("[flake8]\nstridelint-select = TLC104\n")
    assert len(flake8("x.py")) == 2


def test_excluded_files(flake8: Callable[..., list[str]], tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.stridelint]\nextend-exclude = ["gen"]\n')
    (tmp_path / "gen").mkdir()
    (tmp_path / "gen" / "y.py").write_text(TEXT, encoding="utf-8")
    assert {line[:4] for line in flake8(".")} == {"./x."}


def test_a_wrong_configuration_is_one_line(flake8: Callable[..., list[str]], tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.stridelint]\nselct = []\n")
    lines = flake8("x.py")
    assert len(lines) == 2
    assert "unknown key 'selct'" in lines[1]


def test_noqa(flake8: Callable[..., list[str]], tmp_path: Path) -> None:
    text = (
        "import torch\nx.view(2)  # noqa: TLC104\nx.view(\n    2,\n)  # noqa: TLC104\nx.view(\n    2)  # noqa: TLC2\n"
    )
    (tmp_path / "x.py").write_text(text)
    assert flake8("x.py") == ["x.py:6:1: TLC104 calls view"]
    # flake8 (and flake8-noqa) must be able to see what comments hide.
    assert len(flake8("--disable-noqa", "x.py")) == 3
    (tmp_path / "x.py").write_text("# flake8: noqa\n" + text)
    assert flake8("x.py") == []


def test_comments_of_our_own(flake8: Callable[..., list[str]], tmp_path: Path) -> None:
    text = (
        "import torch\n# stridelint: ignore[TLC104]\nx.view(2)\nx.view(\n    2,  # stridelint: ignore\n)\n"
        "# stridelint: off\nx.view(3)\n# stridelint: on\nx.view(4)\n@d\n@e(x.view(\n    5,\n))\ndef f(): x.view(6)  # noqa: TLC104\n"
    )
    (tmp_path / "x.py").write_text(text)
    assert flake8("--select=TLC", "x.py") == ["x.py:10:1: TLC104 calls view"]
    assert len(flake8("--select=TLC", "--disable-noqa", "x.py")) == 6
    (tmp_path / "x.py").write_text("# stridelint: ignore-file[viewed]\n" + text)
    assert flake8("--select=TLC", "x.py") == []


def test_comments_that_hide_nothing(flake8: Callable[..., list[str]], tmp_path: Path) -> None:
    text = "import torch\nx.view(2)  # noqa: TLC104\nx.run(1)  # noqa: TLC104, E501\n\n\ndef f(x):\n    x.run()  # noqa: TLC104\n"
    (tmp_path / "x.py").write_text(text)
    assert flake8("--select=TLC", "x.py") == []
    assert flake8("--select=TLC,TLC902", "x.py") == ["x.py:3:19: TLC902 'TLC104' hides nothing here"]
    (tmp_path / "x.py").write_text("x = 1  # noqa: TLC104\ny = 1  # noqa: TLC104, TLC902\n")
    assert flake8("--extend-select=TLC902", "x.py") == ["x.py:1:16: TLC902 'TLC104' hides nothing here"]


@pytest.mark.parametrize("text", ["x.raise_error()", "x.recurse()", "() if 0 else(lambda: ())"])
def test_one_file_never_aborts_the_run(flake8: Callable[..., list[str]], tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.py").write_text(f"import torch\nx.view(1)\n{text}\n")
    lines = flake8("--select=TLC", "bad.py", "x.py")
    assert lines[0].startswith("bad.py:1:1: TLC901 ")
    assert len(lines) == 3


def test_standard_input(flake8: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    from flake8 import utils

    monkeypatch.setattr(utils, "stdin_get_value", lambda: TEXT)
    monkeypatch.setattr(utils, "stdin_get_lines", lambda: TEXT.splitlines(keepends=True))
    assert flake8("--stdin-display-name=new.py", "-")[0] == "new.py:4:1: TLC104 calls view"


def test_byte_order_mark(flake8: Callable[..., list[str]], tmp_path: Path) -> None:
    (tmp_path / "x.py").write_bytes(b"\xef\xbb\xbf" + b"import torch; torch.x.view(1)\r\n")
    assert "x.py:1:15: TLC104 calls view" in flake8("x.py")


VIEWED = (
    "import torch\n\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return x.view(x.shape[0], -1)\n\n\n"
    "torch.addcmul(torch.ones(3), torch.ones(3), torch.ones(3), out=torch.ones(3, dtype=torch.int64))\n"
)


@pytest.fixture
def real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """flake8 in a process of its own, with the real rules: what it says of x.py, and of its own mistakes."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.py").write_text(VIEWED)

    def run(*arguments: str) -> list[str]:
        command = [sys.executable, "-m", "flake8", "--select=TLC", *arguments, "x.py"]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        assert not result.stderr
        return [line.split(" ")[1] if line.startswith("x.py") else line for line in result.stdout.splitlines()]

    return run


def test_settings_as_options(real: Callable[..., list[str]], tmp_path: Path) -> None:
    assert real() == ["TLC301"]
    assert real("--stridelint-target-torch=2.5") == []
    assert real("--stridelint-assume=channels_last:Model") == ["TLC104", "TLC301"]
    (tmp_path / "setup.cfg").write_text("[flake8]\nstridelint-assume = channels_last\nstridelint-target-torch = 2.5\n")
    assert real() == ["TLC104"]
    (tmp_path / "stridelint.toml").write_text('target-torch = "2.13"\nper-file-ignores = {"x.py" = ["TLC104"]}\n')
    assert real() == []
    (tmp_path / "setup.cfg").unlink()
    assert real() == ["TLC301"]
    table = tmp_path / "table.json"
    table.write_text(
        (Path(operators.__file__).parent / "operators.json").read_text().replace('"addcmul"', '"addcmul_"', 1)
    )
    assert real("--stridelint-operators=table.json") == []


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (
            "--stridelint-target-torch=new",
            'stridelint: --stridelint-target-torch must be a version of torch, like "2.3"',
        ),
        ("--stridelint-assume=channels", "stridelint: --stridelint-assume knows channels_last and"),
        ("--stridelint-min-confidence=sure", "stridelint: --stridelint-min-confidence must be one of"),
        ("--stridelint-operators=absent", "stridelint: --stridelint-operators: cannot use"),
        ("--stridelint-select=TLC999", "stridelint: unknown rule 'TLC999'"),
        ("--stridelint-config=absent", "stridelint: cannot read"),
    ],
)
def test_wrong_options_are_one_line(real: Callable[..., list[str]], option: str, words: str) -> None:
    heading, line = real(option)
    assert heading == "There was a critical error during execution of Flake8:"
    assert line.startswith(words)
