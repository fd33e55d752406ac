"""One file of the cache: what came of the files that were checked in one way, as JSON.

Nothing in it is trusted: what is not as it was written counts as not there. It is replaced at once or not at all, so that
runs at the same time never see half of it; entries that another run added meanwhile stay.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time
from typing import Any, NamedTuple, TypeAlias

from stridelint.linter import identity, writing

NAME = re.compile(r"outcomes-[0-9a-f]{8}\.json")
_LEFT_OVER = re.compile(r"\.outcomes-[0-9a-f]{8}\.json\..*\.tmp")
_OWN = {
    ".gitignore": "# Made by stridelint.\n*\n",
    "CACHEDIR.TAG": "Signature: 8a477f597d28d172789f06886806bc55\n# This is the cache of stridelint, which may be deleted.\n",
}
FORMAT = 1
MAX_BYTES = 256_000_000  # of a file, and of all in a folder
MAX_AGE = 30 * 24 * 3600
_DAY = 24 * 3600
_HOUR = 3600

# When a file was changed, in two ways, and its size.
State: TypeAlias = "tuple[int, int, int]"


class Entry(NamedTuple):
    """What came of a file. explicit: it was named by the user. outcome, asked: JSON of `findings_json`, of `project.Asked`; 0: none."""

    state: State
    digest: str
    explicit: bool
    outcome: Any
    asked: Any


class CacheFile:
    """The entries of one way of checking, by the path of the file."""

    def __init__(self, path: str, context: str) -> None:
        """context: all that outcomes depend on besides the files and the linter itself."""
        self.path = path
        self.is_changed = False
        self._context = context
        self._touched: set[str] = set()
        self._seen = state_of(path)
        self.entries = self._read()

    def put(self, path: str, entry: Entry) -> None:
        """Keep what came of a file."""
        self.entries[path] = entry
        self._touched.add(path)
        self.is_changed = True

    def save(self) -> None:
        """Write what is new, together with what other runs have written. Raises OSError."""
        import json

        if not self.is_changed:
            return
        if state_of(self.path) != self._seen:
            theirs = self._read()
            self.entries = {**theirs, **{path: self.entries[path] for path in self._touched}}
        gone = [
            path for path in self.entries if path not in self._touched and not os.path.exists(path.rpartition("\0")[2])
        ]
        for path in gone:
            del self.entries[path]
        document = {
            "format": FORMAT,
            "context": self._context,
            "tool": [identity.mark(), identity.digest()],
            "files": self.entries,
        }
        text = json.dumps(document, separators=(",", ":"))
        if len(text) > MAX_BYTES:
            return
        folder = os.path.dirname(self.path)
        prepare(folder)
        writing.replace(self.path, text.encode("ascii"))
        self._seen, self.is_changed = state_of(self.path), False
        tidy(folder)

    def keep_fresh(self) -> None:
        """Tell that the file is in use, at most once a day."""
        if self._seen is not None and time.time() - self._seen[0] / 1e9 > _DAY:
            with contextlib.suppress(OSError):
                os.utime(self.path)

    def _read(self) -> dict[str, Entry]:
        import json

        try:
            state = os.stat(self.path)
            if not stat.S_ISREG(state.st_mode) or state.st_size > MAX_BYTES:
                return {}
            with open(self.path, "rb") as file:
                document = json.loads(file.read())
            return self._entries(document)
        except (OSError, ValueError, TypeError, AttributeError, LookupError, RecursionError, MemoryError):
            return {}  # none, or damaged: it is made anew

    def _entries(self, document: Any) -> dict[str, Entry]:
        if not isinstance(document, dict) or (document.get("format"), document.get("context")) != (
            FORMAT,
            self._context,
        ):
            return {}
        mark, digest = document["tool"]
        if mark != identity.mark():
            if digest != identity.digest():
                return {}
            self.is_changed = True  # the same linter, installed anew
        return {path: Entry(tuple(state), *rest) for path, (state, *rest) in document["files"].items()}


def prepare(folder: str) -> None:
    """Make a folder for the cache, which tells tools for versions and backups to leave it alone. Raises OSError."""
    os.makedirs(folder, exist_ok=True)
    for name, text in _OWN.items():
        path = os.path.join(folder, name)
        if not os.path.lexists(path):
            writing.replace(path, text.encode())


def files_in(folder: str) -> list[os.DirEntry[str]]:
    """The cache's files in a folder, those of runs that were killed included."""
    try:
        with os.scandir(folder) as entries:
            return [each for each in entries if NAME.fullmatch(each.name) or _LEFT_OVER.fullmatch(each.name)]
    except OSError:
        return []


def tidy(folder: str) -> None:
    """Delete files that no run has used for long, and the oldest if all together are too large."""
    total, now = 0, time.time()
    for state, path, name in sorted(
        ((state_of(each.path) or (0, 0, 0), each.path, each.name) for each in files_in(folder)), reverse=True
    ):
        total += state[2]
        age = now - state[0] / 1e9
        if age > (MAX_AGE if NAME.fullmatch(name) else _HOUR) or total > MAX_BYTES:
            with contextlib.suppress(OSError):
                os.unlink(path)


def clean(folder: str) -> int:
    """Delete what the cache has written into a folder, and the folder if nothing else is in it; how many files of outcomes that was.

    Raises OSError.
    """
    found = files_in(folder)
    for each in found:
        os.unlink(each.path)
    for name, text in _OWN.items():
        path = os.path.join(folder, name)
        with contextlib.suppress(OSError, ValueError):
            with open(path, encoding="utf-8") as file:
                is_ours = file.read(len(text) + 1) == text
            if is_ours:
                os.unlink(path)
    with contextlib.suppress(OSError):
        os.rmdir(folder)
    return len(found)


def state_of(path: str) -> State | None:
    """When a regular file was changed, and its size."""
    try:
        state = os.stat(path)
    except (OSError, ValueError):
        return None
    return (state.st_mtime_ns, state.st_ctime_ns, state.st_size) if stat.S_ISREG(state.st_mode) else None
