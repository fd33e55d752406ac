"""Finds the Python files and notebooks under what the user named: as git sees the folder, or else by walking it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from stridelint.linter.config import Settings

SUFFIXES = (".py", ".pyi", ".ipynb")
# Only what is never the user's own code. "build" and "dist" are not here: people do name packages so.
DEFAULT_EXCLUDE = (
    ".bzr",
    ".eggs",
    ".git",
    ".hg",
    ".ipynb_checkpoints",
    ".mypy_cache",
    ".nox",
    ".pytest_cache",
    ".ruff_cache",
    ".svn",
    ".tox",
    ".venv",
    "__pycache__",
    "__pypackages__",
    "node_modules",
    "site-packages",
    "venv",
)


class Target(NamedTuple):
    """A file to check. `explicit`: named by the user rather than found in a folder."""

    path: str
    explicit: bool


class Found(NamedTuple):
    """The files under one argument, sorted; `excluded` counts those that patterns took out."""

    targets: list[Target]
    excluded: int


def discover(argument: str, settings: Settings) -> Found:
    """The files that a path on the command line stands for. A file is checked whatever its name, unless force-exclude."""
    if not os.path.isdir(argument):
        if settings.force_exclude and is_excluded(argument, settings):
            return Found([], 1)
        return Found([Target(argument, True)], 0)
    found, excluded = [], 0
    for relative in sorted(set(_in_folder(argument, settings))):
        path = os.path.normpath(os.path.join(argument, relative))
        if _is_excluded(relative, path, settings):
            excluded += 1
        else:
            found.append(Target(path, False))
    return Found(found, excluded)


def is_excluded(path: str, settings: Settings) -> bool:
    """Whether patterns take out a file that is named explicitly, as a hook does."""
    return _is_excluded(os.path.relpath(path, settings.root or None), path, settings)


def unique(targets: Iterable[Target]) -> list[Target]:
    """Each file once, whatever links and overlapping arguments lead to it; a path without links is preferred."""
    best: dict[str, Target] = {}
    folders: dict[str, str] = {}  # asking the disk for each part of each path takes long
    for is_link, path, _, target in sorted(
        (os.path.islink(target.path), target.path, not target.explicit, target) for target in targets
    ):
        folder, name = os.path.split(path)
        if folder not in folders:
            folders[folder] = os.path.realpath(folder)
        real = os.path.realpath(path) if is_link else os.path.join(folders[folder], name)
        best.setdefault(real, target)
    return sorted(best.values())


def _in_folder(folder: str, settings: Settings) -> Iterator[str]:
    """Paths of Python files and notebooks, relative to the folder."""
    listed = _git_files(folder)
    if listed is None:
        yield from _walk(folder, settings)
        return
    for relative in listed:
        path = os.path.join(folder, relative)
        if os.path.isdir(path):
            # git names a submodule, or another repository inside this one, as one entry.
            if not os.path.islink(path):
                inner = (os.path.join(relative, deeper) for deeper in _in_folder(path, settings))
                yield from (os.path.normpath(deeper) for deeper in inner)
        elif relative.endswith(SUFFIXES) and os.path.isfile(path):
            yield relative


def _git_files(folder: str) -> list[str] | None:
    """What git tracks or would track here; None where git does not say: no work tree, no git, or an ignored folder."""
    if not _in_work_tree(folder):
        return None
    listed = _git(folder, "ls-files", "-co", "--exclude-standard", "-z")
    if listed is None:
        return None
    # Who names an ignored folder (an installed package, a build) wants it checked.
    if not listed and _git(folder, "check-ignore", "-q", ".") is not None:
        return None
    return [os.fsdecode(name) for name in listed.split(b"\0") if name]


def _in_work_tree(folder: str) -> bool:
    """Whether a .git lies here or above; saves starting git where there is nothing for it."""
    here = os.path.abspath(folder)
    while not os.path.exists(os.path.join(here, ".git")):
        here, below = os.path.dirname(here), here
        if here == below:
            return False
    return True


def _git(folder: str, *arguments: str) -> bytes | None:
    """What a git command prints, or None if it fails."""
    import subprocess

    # In a git hook these point to the repository that is being committed to, whatever folder is asked about.
    ours = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        run = subprocess.run(
            ["git", *arguments], cwd=folder, env=ours, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False
        )
    except OSError:
        return None
    return run.stdout if run.returncode == 0 else None


def _walk(folder: str, settings: Settings) -> Iterator[str]:
    """As git would, but without .gitignore; links to folders are not followed, so loops cannot happen."""
    for here, folders, files in os.walk(folder):
        relative = os.path.relpath(here, folder)
        folders[:] = [
            name
            for name in folders
            if not _matches_defaults(name, settings) and not os.path.exists(os.path.join(here, name, "pyvenv.cfg"))
        ]
        for name in files:
            # A link that leads nowhere is no file, nor is a pipe; a file that cannot be read is reported later.
            if name.endswith(SUFFIXES) and os.path.isfile(os.path.join(here, name)):
                yield os.path.normpath(os.path.join(relative, name))


def _matches_defaults(name: str, settings: Settings) -> bool:
    return settings.exclude is None and name in DEFAULT_EXCLUDE


def _is_excluded(relative: str, path: str, settings: Settings) -> bool:
    """Whether a pattern takes the file out; `relative` to the argument: a default never excludes what the user named."""
    if any(_matches_defaults(part, settings) for part in relative.split(os.sep)[:-1]):
        return True
    patterns = (*(settings.exclude or ()), *settings.extend_exclude)
    if not patterns:
        return False
    return matches(path, settings.root, patterns)


def matches(path: str, root: str, patterns: Iterable[str]) -> bool:
    """Whether a file, or a folder it lies in, matches one of the patterns; those with a `/` are relative to `root`."""
    from fnmatch import fnmatch

    inside = os.path.relpath(path, root or None).replace(os.sep, "/")
    parts = inside.split("/")
    parents = ["/".join(parts[: count + 1]) for count in range(len(parts))]
    for pattern in patterns:
        pattern = pattern.removeprefix("./").rstrip("/")
        candidates = parents if "/" in pattern else parts
        if any(fnmatch(candidate, pattern) for candidate in candidates):
            return True
    return False
