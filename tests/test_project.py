"""Imports between the files of a project are followed when a folder is checked, and only then."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from stridelint.linter import discover, run
from stridelint.linter.config import Settings
from stridelint.linter.findings import Reported
from stridelint.linter.makers import imported_names
from stridelint.linter.project import Project, project_of
from stridelint.linter.screen import parse

HELPERS = """import torch
from . import constants


def nhwc_batch():
    return torch.zeros(2, 3, 4, 5).to(memory_format=torch.channels_last)


def counts():
    return torch.zeros(4, dtype=constants.INDEX)


def flatten(x):
    return x.view(x.shape[0], -1)
"""
CONSTANTS = "import torch\n\nINDEX = torch.int64\n"
MODEL = """import torch
from torch import nn

from .helpers import counts, flatten


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)

    def forward(self, x):
        return flatten(self.conv(x))


def histogram():
    total = counts()
    total += torch.rand(4)
    return total
"""
TRAIN = """import torch

import pkg.model as models
from pkg import nhwc_batch


def main():
    mask = torch.ones(2, 3, 4, 5)
    x = nhwc_batch()
    net = models.Net().to(memory_format=torch.channels_last)
    return mask * x, net(torch.rand(2, 3, 8, 8).to(memory_format=torch.channels_last))


if __name__ == "__main__":
    main()
"""
FILES = {
    "pkg/__init__.py": "from .helpers import nhwc_batch\n",
    "pkg/helpers.py": HELPERS,
    "pkg/constants.py": CONSTANTS,
    "pkg/model.py": MODEL,
    "train.py": TRAIN,
}
Write = Callable[[dict[str, str]], None]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    monkeypatch.chdir(tmp_path)

    def write_files(files: dict[str, str]) -> None:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    return write_files


def in_folders(targets: list[discover.Target]) -> list[str]:
    return [target.path for target in targets if not target.explicit]


def checked(*arguments: str, processes: int = 1) -> tuple[Reported, ...]:
    settings = Settings()
    targets = discover.unique(each for argument in arguments for each in discover.discover(argument, settings).targets)
    jobs = [(target, settings) for target in targets]
    report = run.check_all(jobs, processes, 0, project_of(in_folders(targets), arguments))
    assert not report.skipped
    return report.findings


def places(findings: tuple[Reported, ...]) -> set[tuple[str, int, str]]:
    return {(finding.path, finding.line, finding.code) for finding in findings}


EXPECTED = {("pkg/helpers.py", 14, "TLC104"), ("pkg/model.py", 18, "TLC401"), ("train.py", 11, "TLC101")}


def test_hazards_across_files(write: Write) -> None:
    write(FILES)
    assert places(checked(".")) == EXPECTED


def test_the_story_tells_the_way(write: Write) -> None:
    write(FILES)
    finding = next(each for each in checked(".") if each.code == "TLC104")
    assert ("train.py", 11, "this call leads there") in finding.notes
    assert finding.excerpt == "    return x.view(x.shape[0], -1)"
    made = next(each for each in checked(".") if each.code == "TLC101").notes
    assert ("pkg/helpers.py", 6, "'x' becomes channels_last here") in made


def test_the_folder_may_be_named_from_elsewhere(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(FILES)
    monkeypatch.chdir("/")
    found = {
        (Path(path).relative_to(tmp_path).as_posix(), line, code) for path, line, code in places(checked(str(tmp_path)))
    }
    assert found == EXPECTED


def test_in_several_processes(write: Write) -> None:
    write({**FILES, **{f"more/copy{number}.py": TRAIN for number in range(run.SERIAL_BELOW)}})
    found = places(checked(".", processes=2))
    assert found >= EXPECTED
    assert {path for path, _, code in found if code == "TLC101"} >= {
        f"more/copy{n}.py" for n in range(run.SERIAL_BELOW)
    }


def test_single_files_are_read_alone(write: Write) -> None:
    write(FILES)
    assert checked("train.py", "pkg/helpers.py") == ()


def test_noqa_in_the_other_file_counts(write: Write) -> None:
    write({**FILES, "pkg/helpers.py": HELPERS.replace("-1)", "-1)  # noqa: TLC104")})
    assert places(checked(".")) == {place for place in EXPECTED if place[2] != "TLC104"}


def test_torch_itself_is_known_by_name(write: Write) -> None:
    kernel = "import torch\n\n\ndef make():\n    return torch.empty(2, 3, 4, memory_format=torch.channels_last)\n"
    body = "def empty(*size, memory_format=None):\n    return unknown(size)\n\n\nchannels_last = object()\n"
    write({"torch/__init__.py": body, "torch/kernels.py": kernel})
    assert places(checked(".")) == {("torch/kernels.py", 5, "TLC102")}


def test_imports_in_a_circle(write: Write) -> None:
    write(
        {
            "a.py": "import torch\nfrom b import *\nfrom b import back\n\n\ndef make():\n    return torch.ones(2, 3).t()\n\n\nback().view(-1)\n",
            "b.py": "from a import *\nfrom a import make\n\n\ndef back():\n    x = make()\n    return x\n",
        }
    )
    assert places(checked(".")) == set()  # `a` runs while it is imported: nothing is claimed about that


def test_a_broken_module_costs_only_what_comes_from_it(write: Write) -> None:
    write({**FILES, "pkg/constants.py": "INDEX = (\n"})
    settings = Settings()
    targets = discover.discover(".", settings).targets
    report = run.check_all([(target, settings) for target in targets], 1, 0, project_of(in_folders(targets), ["."]))
    assert places(report.findings) == {place for place in EXPECTED if place[2] != "TLC401"}


def test_modules_are_found_as_python_finds_them() -> None:
    files = {
        "src/app/__init__.py",
        "src/app/net/__init__.py",
        "src/app/net/layers.py",
        "tools/run.py",
        "tools/common.py",
        "common.py",
    }
    project = Project(frozenset(files), (".", "src"))
    assert project.find("app.net.layers", "tools/run.py") == "src/app/net/layers.py"
    assert project.find("app.net", "src/app/net/layers.py") == "src/app/net/__init__.py"
    assert project.find("common", "tools/run.py") == "tools/common.py"
    assert project.find("common", "src/app/__init__.py") == "common.py"
    assert project.find("torch", "tools/run.py") is None
    assert project.package("src/app/net/layers.py") == "app.net"
    assert project.package("src/app/net/__init__.py") == "app.net"
    assert project.package("tools/run.py") == ""


def test_a_package_does_not_hide_other_packages_from_its_own_files(write: Write) -> None:
    shadow = "import torch\n\n\ndef eye(n):\n    return torch.empty(3, 4, 5).permute(2, 0, 1)\n"
    user = "import torch\n\n\ndef flat():\n    return torch.eye(12).view(-1)\n"
    write({"pkg/__init__.py": "", "pkg/torch.py": shadow, "pkg/user.py": user})
    assert places(checked(".")) == places(checked("pkg")) == set()
    write({"pkg/user.py": user.replace("import torch", "from .torch import eye").replace("torch.eye", "eye")})
    assert places(checked(".")) == places(checked("pkg")) == {("pkg/user.py", 5, "TLC104")}


def test_names_that_come_from_the_project(write: Write) -> None:
    write(FILES)
    project = Project(frozenset(FILES), (".",))
    names = imported_names(project, parse(MODEL), "pkg/model.py")
    assert names.every == {"counts", "flatten"}
    assert names.makers == {"counts", "flatten"}
    assert imported_names(project, parse(TRAIN), "train.py").every == {"models", "nhwc_batch"}


@pytest.mark.parametrize(
    "imports",
    [
        "from helpers import batch",
        "from helpers import (\n    plain,\n    batch,\n)",
        "from helpers import plain, batch as batch",
    ],
)
def test_a_caller_without_a_word_of_layouts(write: Write, imports: str) -> None:
    batch = "import torch\n\n\ndef plain():\n    return torch.rand(2, 3, 4, 5)\n\n\ndef batch():\n    return plain().to(memory_format=torch.channels_last)\n"
    use = f"import torch\n{imports}\n\n\ndef f():\n    x = batch()\n    return torch.ones(2, 3, 4, 5) * x\n"
    write({"helpers.py": batch, "use.py": use})
    assert places(checked(".")) == {("use.py", len(use.splitlines()), "TLC101")}
    write({"use.py": use.replace("x = batch()", "x = plain()")})
    assert places(checked(".")) == set()
    write({"use.py": use, "helpers.py": batch.replace("channels_last", "contiguous_format")})
    assert places(checked(".")) == set()


@pytest.mark.parametrize(
    ("imports", "call"),
    [
        ("from pkg import batch", "batch()"),
        ("from pkg import batch as made", "made()"),
        ("from pkg.inner import batch", "batch()"),
        ("from pkg import inner", "inner.batch()"),
        ("import pkg", "pkg.batch()"),
        ("import pkg.inner", "pkg.inner.batch()"),
        ("import pkg.inner.helpers as h", "h.batch()"),
    ],
)
def test_what_a_package_hands_on(write: Write, imports: str, call: str) -> None:
    helpers = "import torch\n\n\ndef batch():\n    return torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)\n\n\ndef plain():\n    return 1\n"
    use = f"import torch\n{imports}\n\n\ndef f():\n    x = {call}\n    return torch.ones(2, 3, 4, 5) * x\n"
    files = {
        "pkg/__init__.py": "from .inner import *  # all of it\n",
        "pkg/inner/__init__.py": "from .helpers import (\n    batch,  # (the loader)\n    plain as usual,\n)\n",
        "pkg/inner/helpers.py": helpers,
        "use.py": use,
    }
    write(files)
    assert places(checked(".")) == {("use.py", 7, "TLC101")}
    write({"pkg/inner/helpers.py": helpers.replace("channels_last", "contiguous_format")})
    assert places(checked(".")) == set()
    write({"pkg/inner/helpers.py": helpers, "pkg/inner/__init__.py": "from .others import batch\n"})
    assert places(checked(".")) == (set() if "helpers" not in imports else {("use.py", 7, "TLC101")})


def test_imports_that_lead_in_a_circle_end(write: Write) -> None:
    write({"pkg/__init__.py": "from .a import *\n", "pkg/a.py": "from .b import *\n", "pkg/b.py": "from .a import *\n"})
    write({"use.py": "import torch\nfrom pkg import batch\n\n\ndef f(x):\n    return batch().view(-1), x.t()\n"})
    assert places(checked(".")) == set()
