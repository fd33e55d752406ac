"""What the pages show is so: their commands are run, with the output that stands there; settings, code and links are good.

A page's commands run one after the other in a copy of `fixtures/recipe`, a small model (`src/model.py`) with its training
script. A block that names a file (```python file=demo.py), or a comment `<!-- file=demo.py ... -->`, is written there first.

- `sh`: each command is run, and must not fail (1 is for findings).
- `console`: lines with `$ ` are run, and print what follows; `...` stands for anything, on its own line for any lines.
- `yaml`: likewise the commands in it; hooks must be in the manifest. `toml`: settings must be valid. `python`: must be valid,
  and is run where it says so (```python run).
"""

from __future__ import annotations

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from stridelint import __version__
from stridelint.linter import cli, config
from stridelint.linter.command_options import COMMANDS
from stridelint.linter.flake8_plugin import Plugin
from stridelint.rules.registry import all_rules

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])
EVERY = [*PAGES, ROOT / "CHANGELOG.md", *sorted((ROOT / "docs" / "rules").glob("*.md"))]

# Commands that are only checked to have valid options, and why.
NOT_RUN = {
    r"(python3 -m venv|pip install) ": "needs a package index",
    r"\.venv/bin/|\.ci/|benchmarks/|pytest -n": "the checks of this repository themselves, and its own virtual environment",
    r"stridelint check --watch": "runs until it is stopped",
    r"stridelint probe (harvest|verify)": "takes minutes",
    r"stridelint .*(--probe|--device) cuda": "needs a GPU",
    r"stridelint check --operators": "needs a table that harvest has measured",
    r"pre-commit ": "fetches hooks from the network",
}
# Options in the text that are those of other programs.
FOREIGN = {"--disable-noqa": "flake8", "--jobs": "flake8", "--help": "all", "--exclude": "flake8"}


class Block(NamedTuple):
    """A block of code: its language, what else stands behind it, and the text."""

    language: str
    more: str
    text: str

    @property
    def file(self) -> str:
        return self.more.removeprefix("file=") if self.more.startswith("file=") else ""


class Command(NamedTuple):
    """A command, and what it prints; None: that does not matter."""

    line: str
    printed: str | None


def blocks(page: Path) -> list[Block]:
    fence = r"^( *)```(\w+) ?([^\n]*)\n(.*?)^\1```$|^<!-- (file=\S+)\n(.*?)^-->$"
    found = re.finditer(fence, page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [Block(each[2] or "hidden", each[3] or each[5] or "", each[4] or each[6] or "") for each in found]


def prose(page: Path) -> str:
    return re.sub(r"(?ms)^( *)```.*?^\1```$|<!--.*?-->", "", page.read_text(encoding="utf-8"))


def steps(page: Path) -> Iterator[Block | Command]:
    """What a reader does, in the order of the page: files to write, commands to run."""
    for block in blocks(page):
        if block.file:
            yield block
        elif block.language == "sh":
            joined = block.text.replace("\\\n", " ")
            yield from (Command(each, None) for each in joined.split("\n") if each.strip() and not each.startswith("#"))
        elif block.language == "console":
            for part in re.split(r"(?m)^\$ ", block.text)[1:]:
                line, _, printed = part.partition("\n")
                yield Command(line, printed)
        elif block.language == "yaml":
            for line in block.text.split("\n"):
                if match := re.match(r"[\s-]*(?:run|script): (stridelint .*)", line):
                    yield Command(match[1], None)


def why_not_run(line: str) -> str:
    return next((reason for pattern, reason in NOT_RUN.items() if re.match(pattern, line)), "")


def matches(shown: str, printed: str) -> bool:
    """Whether that was printed, with `...` for anything."""
    parts = re.split(r"(?m)(^\.\.\.\n|\.\.\.)", re.sub(r"(\d\.\d+\.\d+)\+\w+", r"\1", shown.rstrip() + "\n"))
    pattern = "".join({"...\n": "(?:.*\n)*?", "...": ".*"}.get(part, re.escape(part)) for part in parts)
    printed = re.sub(
        r"(\d\.\d+\.\d+)\+\w+", r"\1", "\n".join(line.rstrip() for line in printed.rstrip().split("\n")) + "\n"
    )
    return re.fullmatch(pattern, printed) is not None


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    shutil.copytree(ROOT / "fixtures" / "recipe", folder, ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    return folder


@pytest.fixture
def shell(project: Path, tmp_path: Path) -> Callable[[str], tuple[int, str]]:
    """Runs a command as a reader would who has stridelint installed."""
    environment = {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "HOME": str(tmp_path),
        "COLUMNS": "100",
        "PYTHONWARNINGS": "ignore",
        **{name: value for name, value in os.environ.items() if name in ("LANG", "TMPDIR", "OMP_NUM_THREADS")},
    }
    statuses = [0]

    def run(line: str) -> tuple[int, str]:
        script = f"(exit {statuses[-1]}); {line}"
        result = subprocess.run(
            ["bash", "-c", script], cwd=project, env=environment, text=True, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300,
        )  # fmt: skip
        statuses.append(result.returncode)
        return result.returncode, result.stdout

    return run


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands(page: Path, project: Path, shell: Callable[[str], tuple[int, str]]) -> None:
    for step in steps(page):
        if isinstance(step, Block):
            (project / step.file).parent.mkdir(parents=True, exist_ok=True)
            (project / step.file).write_text(step.text, encoding="utf-8")
            continue
        line, shown = step
        if why_not_run(line):
            valid(line)
            continue
        if re.search(r"--probe|stridelint (probe|trace)|--stridelint|python ", line):
            pytest.importorskip("torch")
        status, printed = shell(line)
        if shown is not None:
            assert matches(shown, printed), f"$ {line}\n{printed}"
        else:
            assert status in (0, 1), f"$ {line}\n{printed}"
            assert "Traceback" not in printed, printed
        assert "internal error" not in printed


def valid(line: str) -> None:
    """Fails unless the options of stridelint's commands in a line, and the extras to install, are there."""
    for extras in re.findall(r"(?:stridelint|\.)\[([\w,]+)\]", line):
        text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
        assert all(re.search(rf"(?m)^{extra} = \[", text) for extra in extras.split(",")), line
    for command in re.findall(
        r"\bstridelint ((?:check|cache|config|rules|explain|server|docs|new-rule|test-rules|probe|trace)\b.*)", line
    ):
        words = shlex.split(command, comments=True)
        words = words[: words.index("&&")] if "&&" in words else words
        name, rest = words[0], words[1:]
        if name in ("probe", "trace"):
            known = options_of(ROOT / "runtime_probe", ROOT / "linter")
            own = rest[: rest.index("--")] if "--" in rest else rest
            assert {word for word in own if word.startswith("--")} <= known, line
        else:
            parser = cli._Parser(f"stridelint {name}")
            COMMANDS[name][1](parser)
            parser.parse_args(rest)


def options_of(*folders: Path) -> set[str]:
    """What looks like an option in the code of these folders."""
    quoted = (
        re.findall(r"\"(--[a-z][a-z-]+)\"", path.read_text("utf-8"))
        for folder in folders
        for path in folder.rglob("*.py")
    )
    return {option for found in quoted for option in found}


def test_each_reason_not_to_run_a_command_is_needed() -> None:
    lines = [step.line for page in PAGES for step in steps(page) if isinstance(step, Command)]
    assert not [pattern for pattern in NOT_RUN if not any(re.match(pattern, line) for line in lines)]


@pytest.mark.parametrize("page", EVERY, ids=lambda page: page.stem)
def test_what_the_text_names(page: Path) -> None:
    """Commands and options in a sentence are those that exist."""
    inline = re.findall(r"`([^`\n]+)`", prose(page))
    for code in inline:
        if re.match(r"stridelint [a-z-]+", code):
            valid(code.replace("...", "x"))
    known = (
        options_of(ROOT / "linter", ROOT / "runtime_probe", ROOT / "benchmarks") | set(FOREIGN) | set(flake8_options())
    )
    assert not {option for code in inline for option in re.findall(r"(?<![\w-])--[a-z][\w-]+", code)} - known


def flake8_options() -> list[str]:
    names: list[str] = []
    manager = SimpleNamespace(add_option=lambda name, **_: names.append(name))
    Plugin.add_options(manager)
    return names


@pytest.mark.parametrize("page", EVERY, ids=lambda page: page.stem)
def test_code(page: Path, project: Path) -> None:
    for block in blocks(page):
        if block.language == "python" and page in PAGES:
            ast.parse(block.text)
        if block.language == "toml" and "[tool.stridelint" in block.text:
            path = project / "pyproject.toml"
            path.write_text(block.text)
            (project / "tools" / "lint_rules").mkdir(parents=True, exist_ok=True)
            config.forget()
            assert config.read(str(path)) is not None
        if block.language == "python" and block.more == "run":
            result = subprocess.run(
                [sys.executable, "-c", block.text], cwd=project, capture_output=True, text=True, check=False
            )
            assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_yaml(page: Path) -> None:
    yaml: Any = pytest.importorskip("yaml")
    hooks = {hook["id"]: hook["entry"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    for block in blocks(page):
        if block.language != "yaml":
            continue
        document = yaml.safe_load(block.text)
        for repository in document.get("repos", ()) if isinstance(document, dict) else ():
            assert {hook["id"] for hook in repository["hooks"]} <= set(hooks)
            for hook in repository["hooks"]:
                valid(f"{hooks[hook['id']]} {shlex.join(hook.get('args', ()))}")
            assert repository["rev"] == f"v{__version__}"


def slug(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower().replace("`", "")).strip().replace(" ", "-")


def links(page: Path) -> list[tuple[Path, str]]:
    """The pages and files that a page links to, with the anchor."""
    found = [each.partition("#") for each in re.findall(r"\]\(([^()\s]+)\)", prose(page)) if "://" not in each]
    return [((page.parent / path).resolve() if path else page, anchor) for path, _, anchor in found]


def test_links() -> None:
    wrong = []
    for page in EVERY:
        for target, anchor in links(page):
            headings = re.findall(r"(?m)^#+ (.*)$", prose(target)) if target.suffix == ".md" and target.exists() else []
            if not target.exists() or (anchor and anchor not in map(slug, headings)):
                wrong.append(f"{page.relative_to(ROOT)}: {target.name}#{anchor}")
    assert not wrong


def test_pages_named_in_help_and_in_the_text_exist() -> None:
    files = [*EVERY, *(ROOT / "linter").rglob("*.py"), *(ROOT / "runtime_probe").rglob("*.py")]
    named = {name for file in files for name in re.findall(r"\bdocs/[\w-]+\.md", file.read_text(encoding="utf-8"))}
    assert len(named) > 10
    assert not [name for name in sorted(named) if not (ROOT / name).exists()]


def test_every_page_is_linked_and_every_rule_has_one() -> None:
    linked = {target for page in EVERY for target, _ in links(page) if target != page}
    assert not {page.name for page in (ROOT / "docs").rglob("*.md")} - {page.name for page in linked}
    listed = {target for target, _ in links(ROOT / "docs" / "rules.md")}
    assert {ROOT / "docs" / "rules" / f"{rule.code}.md" for rule in all_rules()} <= listed


def test_output_is_compared() -> None:
    """The comparison tells apart what it is to tell apart."""
    assert matches("a\n...\nd\n", "a\nb\nc\nd\n")
    assert matches("a ... d\n", "a b c d\n")
    assert matches("torch 2.13.0: a\n", "torch 2.13.0+cpu: a\n")
    assert not matches("a\n", "a\nb\n")
    assert not matches("a ... d\n", "a b\nc d\n")
    assert not matches("", "a\n")
    assert matches("", "")
