"""Which files are checked."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from stridelint.linter.config import Settings
from stridelint.linter.discover import Target, discover, unique

FILES = ["a.py", "b.pyi", "c.txt", "pkg/d.py", "pkg/build/e.py", ".venv/f.py", "node_modules/g.py", "gen/h.py"]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in FILES:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=folder, check=True, capture_output=True
    )


def found(argument: str, settings: Settings | None = None) -> list[str]:
    return [target.path for target in discover(argument, settings or Settings()).targets]


def test_a_folder_is_walked(tree: Path) -> None:
    assert found(".") == ["a.py", "b.pyi", "gen/h.py", "pkg/build/e.py", "pkg/d.py"]
    assert found("pkg") == ["pkg/build/e.py", "pkg/d.py"]
    assert found(str(tree / "pkg")) == [str(tree / "pkg/build/e.py"), str(tree / "pkg/d.py")]


def test_a_virtual_environment_of_any_name_is_skipped(tree: Path) -> None:
    (tree / "gen" / "pyvenv.cfg").write_text("")
    assert "gen/h.py" not in found(".")
    assert found("gen") == ["gen/h.py"]


def test_gitignore_is_respected(tree: Path) -> None:
    git(tree, "init", "-q")
    (tree / ".gitignore").write_text("gen/\n")
    git(tree, "add", "a.py")
    assert found(".") == ["a.py", "b.pyi", "pkg/build/e.py", "pkg/d.py"]
    assert found("pkg") == ["pkg/build/e.py", "pkg/d.py"]
    # A deleted file that git still tracks is no file; an ignored folder is checked if it is named.
    (tree / "a.py").unlink()
    assert "a.py" not in found(".")
    assert found("gen") == ["gen/h.py"]
    assert found("gen/h.py") == ["gen/h.py"]


def test_the_variables_of_a_git_hook_do_not_mislead(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(tree, "init", "-q")
    monkeypatch.setenv("GIT_DIR", "/nowhere/.git")
    (tree / ".gitignore").write_text("gen/\n")
    assert "gen/h.py" not in found(".")


def test_a_repository_inside_a_repository(tree: Path) -> None:
    git(tree, "init", "-q")
    git(tree / "pkg", "init", "-q")
    git(tree / "pkg", "add", "d.py")
    git(tree / "pkg", "commit", "-qm", "x")
    git(tree, "add", "pkg")
    assert "pkg/d.py" in found(".")


def test_an_explicit_file_is_checked_whatever_it_is_called(tree: Path) -> None:
    assert found("c.txt") == ["c.txt"]
    assert found(".venv/f.py") == [".venv/f.py"]


def test_patterns(tree: Path) -> None:
    assert found(".", Settings(extend_exclude=("gen", "pkg/*/e.py"))) == ["a.py", "b.pyi", "pkg/d.py"]
    assert found(".", Settings(extend_exclude=("./pkg/",))) == ["a.py", "b.pyi", "gen/h.py"]
    assert ".venv/f.py" in found(".", Settings(exclude=("*.pyi",)))
    assert discover(".", Settings(extend_exclude=("gen",))).excluded == 1


def test_patterns_are_relative_to_the_configuration(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(extend_exclude=("pkg/build/",), root=str(tree))
    monkeypatch.chdir(tree / "pkg")
    assert found(".", settings) == ["d.py"]


def test_force_exclude(tree: Path) -> None:
    settings = Settings(extend_exclude=("gen",))
    assert found("gen/h.py", settings) == ["gen/h.py"]
    assert found("gen/h.py", settings._replace(force_exclude=True)) == []
    assert found(".venv/f.py", Settings(force_exclude=True)) == []
    assert found("a.py", settings._replace(force_exclude=True)) == ["a.py"]


def test_links(tree: Path) -> None:
    os.symlink(".", tree / "loop")
    os.symlink("nowhere.py", tree / "dangling.py")
    os.symlink("a.py", tree / "Link.py")
    assert found(".") == ["Link.py", "a.py", "b.pyi", "gen/h.py", "pkg/build/e.py", "pkg/d.py"]
    targets = unique([*discover(".", Settings()).targets, Target(str(tree / "a.py"), True)])
    assert len(targets) == 5
    assert "Link.py" not in [target.path for target in targets]
    git(tree, "init", "-q")
    git(tree, "add", "-A")
    assert found("pkg") == ["pkg/build/e.py", "pkg/d.py"]
    assert "dangling.py" not in found(".")
