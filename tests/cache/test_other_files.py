"""In a project an outcome depends on other files, also on those that are not there: the cache must see each change of them."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from stridelint.linter import discover, run
from stridelint.linter.cache import Cache
from stridelint.linter.config import Settings
from stridelint.linter.findings import Report
from stridelint.linter.project import project_of

HELPERS = """import torch


def batch():
    return torch.zeros(2, 3, 4, 5).to(memory_format=torch.channels_last)


def flatten(x):
    return x.view(x.shape[0], -1)
"""
USER = """import torch

from pkg.helpers import batch
from pkg import deep


def main():
    mask = torch.ones(2, 3, 4, 5)
    x = batch()
    return mask * x, deep.flat(torch.rand(2, 3, 8, 8).to(memory_format=torch.channels_last))


if __name__ == "__main__":
    main()
"""
DEEP = "import torch\nfrom .helpers import flatten\n\n\ndef flat(x):\n    return flatten(x)\n"
FILES = {
    "pkg/__init__.py": "",
    "pkg/helpers.py": HELPERS,
    "pkg/deep.py": DEEP,
    "user.py": USER,
    "alone.py": "import torch\ntorch.x\n",
}
EXPECTED = {("user.py", "TLC101"), ("pkg/helpers.py", "TLC104")}

Checked = Callable[..., tuple[set[tuple[str, str]], int]]


def write(files: dict[str, str]) -> None:
    for name, text in files.items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def report(cache: bool, *arguments: str) -> tuple[Report, int]:
    settings = Settings(root=os.getcwd())
    targets = discover.unique(each for argument in arguments for each in discover.discover(argument, settings).targets)
    project = project_of([target.path for target in targets if not target.explicit], arguments)
    kept = Cache(project) if cache else None
    found = run.check_all([(target, settings) for target in targets], 1, 0, project, run.Helpers(kept))
    if kept is not None:
        kept.save()
    return found, kept.hits if kept is not None else 0


@pytest.fixture
def checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checked:
    """Checks with the cache: what is found, of how many files that was known. It must be what is found without it."""
    monkeypatch.chdir(tmp_path)
    write(FILES)

    def checked(*arguments: str) -> tuple[set[tuple[str, str]], int]:
        found, hits = report(True, *(arguments or (".",)))
        assert found == report(False, *(arguments or (".",)))[0]
        return {(each.path, each.code) for each in found.findings}, hits

    return checked


def test_nothing_changed(checked: Checked) -> None:
    assert checked() == (EXPECTED, 0)
    assert checked() == (EXPECTED, 5)


def test_the_helper_changes(checked: Checked) -> None:
    checked()
    write({"pkg/helpers.py": HELPERS.replace(".to(memory_format=torch.channels_last)", "")})
    assert checked() == ({("pkg/helpers.py", "TLC104")}, 3)  # `user.py` has a channels_last tensor of its own
    write({"pkg/helpers.py": HELPERS.replace("x.view(x.shape[0], -1)", "x")})
    assert checked()[0] == {("user.py", "TLC101")}


def test_what_the_helper_imports_changes(checked: Checked) -> None:
    checked()
    write({"pkg/deep.py": DEEP.replace("flatten(x)", "x")})
    assert checked() == ({("user.py", "TLC101")}, 3)


def test_a_change_that_answers_all_questions_alike_costs_its_file_only(checked: Checked) -> None:
    """Who only asks whether the helper makes odd tensors is not read again if that stays so."""
    write({"asks.py": "import torch\nfrom pkg.helpers import batch\n\n\ndef f(x, y):\n    return x.view(-1), y.t()\n"})
    checked()
    write({"pkg/helpers.py": HELPERS + "\n\ndef more():\n    return 1\n"})
    assert checked() == (EXPECTED, 4)  # `user.py` follows it


def test_a_missing_module_appears(checked: Checked) -> None:
    (Path("pkg/helpers.py")).unlink()
    assert checked() == (set(), 0)
    assert checked() == (set(), 4)
    write({"pkg/helpers.py": HELPERS})
    assert checked()[0] == EXPECTED


def test_a_missing_package_appears(checked: Checked) -> None:
    write({"user.py": USER.replace("pkg.helpers", "lib.makers")})
    assert ("user.py", "TLC101") not in checked()[0]
    write({"lib/makers.py": HELPERS})
    found, hits = checked()
    assert ("user.py", "TLC101") in found
    assert hits == 4  # all but `user.py`, which asked for it


def test_a_module_goes(checked: Checked) -> None:
    checked()
    Path("pkg/helpers.py").unlink()
    assert checked()[0] == set()
    assert checked()[1] == 4


def test_another_module_takes_its_place(checked: Checked) -> None:
    """A module of the same name in a folder that is searched before."""
    write({"src/pkg2.py": HELPERS, "user.py": USER.replace("pkg.helpers", "pkg2")})
    assert ("user.py", "TLC101") in checked()[0]
    write({"pkg2.py": "import torch\n\n\ndef batch():\n    return torch.zeros(2, 3, 4, 5)\n"})
    assert ("user.py", "TLC101") not in checked()[0]


def test_a_package_ends(checked: Checked) -> None:
    """Without its `__init__.py` a folder's files are scripts, whose relative imports lead nowhere."""
    assert checked()[0] == EXPECTED
    Path("pkg/__init__.py").unlink()
    checked()
    write({"pkg/__init__.py": "from .helpers import batch\n", "user.py": USER.replace("pkg.helpers", "pkg")})
    assert ("user.py", "TLC101") in checked()[0]


def test_another_part_of_the_project_is_checked(checked: Checked) -> None:
    """What is not checked is not followed, so that a run of one folder knows less."""
    assert checked(".")[0] == EXPECTED
    assert checked("pkg") == (set(), 0)
    assert checked("pkg", "user.py") == (EXPECTED, 3)
    assert checked("user.py") == (set(), 0)
    assert checked(".") == (EXPECTED, 5)


def test_noqa_in_the_helper(checked: Checked) -> None:
    checked()
    write({"pkg/helpers.py": HELPERS.replace("-1)", "-1)  # noqa: TLC104")})
    assert checked()[0] == {("user.py", "TLC101")}


@pytest.mark.parametrize("seed", range(6))
def test_any_history_of_changes(checked: Checked, seed: int) -> None:
    """After each of many changes the cache tells what a run without it finds (`checked` compares them)."""
    draw = random.Random(seed)
    plain = HELPERS.replace(".to(memory_format=torch.channels_last)", "")
    texts = {
        "pkg/__init__.py": ["", "from .helpers import *\n", "from pkg.helpers import batch\n", "from . import deep\n"],
        "pkg/helpers.py": [
            HELPERS,
            plain,
            HELPERS.replace("view", "reshape"),
            "from .deep import batch, flatten\n",
            "def f(:\n",
        ],
        "pkg/deep.py": [DEEP, HELPERS, plain, DEEP.replace("flatten(x)", "x")],
        "helpers.py": [HELPERS, plain],
        "pkg/sub/__init__.py": [""],
        "src/pkg/helpers.py": [plain, HELPERS],
        "user.py": [
            USER,
            USER.replace("pkg.helpers", "pkg"),
            USER.replace("pkg.helpers", "helpers"),
            USER.replace("from pkg import deep", "import pkg.deep as deep"),
        ],
        "pkg/user.py": [USER, USER.replace("pkg.helpers", ".helpers").replace("from pkg ", "from . ")],
    }
    found = set()
    for _ in range(12):
        name = draw.choice(list(texts))
        if os.path.exists(name) and draw.random() < 0.35:
            os.unlink(name)
        else:
            write({name: draw.choice(texts[name])})
        found |= checked()[0]
    assert found


def test_a_package_hands_on_something_else(checked: Checked) -> None:
    """What an `__init__` imports decides, as does what the file there holds."""
    plain = HELPERS.replace(".to(memory_format=torch.channels_last)", "")
    write({"pkg/plain.py": plain, "pkg/__init__.py": "from .plain import batch\n"})
    write({"user.py": USER.replace("pkg.helpers", "pkg")})
    assert ("user.py", "TLC101") not in checked()[0]
    write({"pkg/__init__.py": "from .helpers import batch\n"})
    assert ("user.py", "TLC101") in checked()[0]
    write({"pkg/helpers.py": plain})
    assert ("user.py", "TLC101") not in checked()[0]
    write({"pkg/helpers.py": HELPERS})
    assert ("user.py", "TLC101") in checked()[0]
