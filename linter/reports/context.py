"""What the reports share besides the findings: where files lie, what they hold, and what the user wants to see."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple

from stridelint.linter.fingerprints import Sources

SEVERITIES = ("error", "warning", "note")


def ignore(remark: str) -> None:
    """Where remarks go that nobody asked for."""


def unchanged(code: str) -> str:
    """What settings say of a rule's severity that say nothing."""
    return ""


class Context(NamedTuple):
    """root: the folder that paths in reports for platforms are relative to, that of the repository.

    show_skipped: name the files that were not analysed. show_suppressed: also findings that are hidden or in a baseline,
    in formats that can mark them. quiet: no summary, in text. remark: tells the user what a report leaves out. paths: what was checked, as the user
    named it. day: when, as text. severity_of: the severity that the settings give a rule, by its code; "" for its own.
    """

    sources: Sources
    root: str
    show_skipped: bool = True
    show_suppressed: bool = False
    statistics: bool = False
    unsafe_fixes: bool = False
    colour: bool = False
    quiet: bool = False
    remark: Callable[[str], None] = ignore
    paths: tuple[str, ...] = ()
    day: str = ""
    severity_of: Callable[[str], str] = unchanged

    def relative(self, path: str) -> str | None:
        """A path as platforms want it: from the root, links resolved, with `/`; None for a file outside of the root."""
        root = os.path.realpath(self.root)
        for candidate in (os.path.realpath(path), os.path.abspath(path)):
            inside = os.path.relpath(candidate, root)
            if inside != os.pardir and not inside.startswith(os.pardir + os.sep) and not os.path.isabs(inside):
                return inside.replace(os.sep, "/")
        return None

    def place(self, path: str) -> str:
        """A path as platforms want it, or as it is if the file lies elsewhere."""
        return self.relative(path) or path.replace(os.sep, "/")

    def where(self, path: str, line: int) -> str:
        """A line of a file, in words: "line 3", in a notebook "cell 4, line 3"."""
        cell, number = self.sources.cell(path, line)
        return f"cell {cell}, line {number}" if cell else f"line {number}"

    def at(self, path: str, line: int, column: int | None = None) -> str:
        """A line of a file as it follows the path: ":3", in a notebook ":cell 4:3"; with a column ":3:6"."""
        cell, number = self.sources.cell(path, line)
        return (f":cell {cell}:" if cell else ":") + str(number) + ("" if column is None else f":{column}")

    def told(self, path: str, line: int, message: str) -> str:
        """A message for a report that names lines of the very file: in a notebook it begins with the cell."""
        return f"{self.where(path, line)}: {message}" if self.sources.cell(path, line)[0] else message


def root_of(folder: str) -> str:
    """The folder of the repository that a folder belongs to, or the folder itself."""
    here = os.path.abspath(folder)
    while not os.path.exists(os.path.join(here, ".git")):
        here, below = os.path.dirname(here), here
        if here == below:
            return os.path.abspath(folder)
    return here
