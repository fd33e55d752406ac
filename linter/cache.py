"""Remembers what came of each file, so that a file is read again only if something changed that it depends on.

That is: its contents; what its analysis asked of other files (`project.Asked`), also which modules are not there; the settings,
the operator table, this linter, LibCST and Python. A file whose times and size are as they were is not even read.
Nothing here is needed: where the folder cannot be used, the run goes on without.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from stridelint.linter import findings_json, source
from stridelint.linter.cache_file import CacheFile, Entry, State, state_of
from stridelint.linter.config import Settings

if TYPE_CHECKING:
    from stridelint.linter.discover import Target
    from stridelint.linter.findings import Outcome
    from stridelint.linter.project import Asked, Project

FOLDER = ".stridelint_cache"
VARIABLE = "STRIDELINT_CACHE_DIR"
OPERATORS = "STRIDELINT_OPERATORS"  # as in `rules.contract.operators`, which takes longer to import
# Settings that say which files are checked, and what is made of the findings, but not what is found in a file.
_ELSEWHERE = (
    "exclude", "extend_exclude", "force_exclude", "jobs", "root", "file", "baseline", "error_stale_baseline", "fail_on",
    "operators", "local_rules", "distrusted", "cache_dir",
)  # fmt: skip
# A file that was changed so shortly before may have been changed again without its times telling.
_SETTLED = 2.0


def folder_for(settings: Settings, given: str | None = None) -> str:
    """Where the cache lies: as the option says, or the environment, or the configuration, or in a folder of its own beside that."""
    named = given or os.environ.get(VARIABLE)
    return os.path.abspath(named) if named else os.path.join(settings.root or os.getcwd(), settings.cache_dir or FOLDER)


class Cache:
    """The cache of one run. project: of the run. folder: as the user named it, for all settings."""

    def __init__(self, project: Project | None, folder: str | None = None) -> None:
        self.folders: set[str] = set()
        self.hits = 0
        self.problem = ""
        self._project = project
        self._folder = folder
        self._files: dict[Settings, CacheFile] = {}
        self._states: dict[str, State | None] = {}
        self._digests: dict[str, str] = {}

    def knows(self, settings: Settings) -> bool:
        """Whether anything was remembered for these settings, which then were right."""
        return bool(self._file(settings).entries)

    def lookup(self, target: Target, settings: Settings) -> Outcome | None:
        """What came of a file, if that holds; None if it must be examined."""
        file = self._file(settings)
        entry = file.entries.get(_key(target.path, settings))
        state = self._state(target.path)
        if entry is None or state is None or entry.explicit is not target.explicit:
            return None
        if entry.state == state:
            self._digests.setdefault(target.path, entry.digest)
        elif self._digest(target.path) != entry.digest:
            return None
        try:
            if entry.asked and not self._holds(entry.asked):
                return None
            outcome = findings_json.outcome(entry.outcome)
        except (findings_json.Malformed, TypeError, ValueError, AttributeError):
            return None
        if entry.state != state:
            file.put(_key(target.path, settings), entry._replace(state=_settled(state)))
        self.hits += 1
        return outcome

    def _holds(self, asked: Any) -> bool:
        from stridelint.linter.project import still

        return self._project is not None and still(asked, self._project, self._digest)

    def remember(
        self, target: Target, settings: Settings, outcome: Outcome, digest: str, asked: Asked | None = None
    ) -> None:
        """Keep what came of a file, which must have been looked up before it was read. digest: of what was read then."""
        state = self._states.get(target.path)
        if state is not None:
            plain = findings_json.plain(outcome)
            entry = Entry(_settled(state), digest, target.explicit, plain, asked.as_json() if asked else 0)
            self._file(settings).put(_key(target.path, settings), entry)

    def save(self) -> None:
        """Write what is new; what cannot be written is lost, and `problem` says why."""
        for file in self._files.values():
            try:
                file.save()
            except OSError as error:
                self.problem = f"cannot write {file.path}: {error.strerror or error}"
            file.keep_fresh()

    def _file(self, settings: Settings) -> CacheFile:
        if settings not in self._files:
            import zlib

            folder = folder_for(settings, self._folder)
            context = context_of(settings, self._project)
            name = f"outcomes-{zlib.crc32(context.encode('utf-8', 'surrogatepass')):08x}.json"
            self.folders.add(folder)
            self._files[settings] = CacheFile(os.path.join(folder, name), context)
        return self._files[settings]

    def _state(self, path: str) -> State | None:
        if path not in self._states:
            self._states[path] = state_of(path)
        return self._states[path]

    def _digest(self, path: str) -> str:
        """The digest of a file as it is now; it is read only if it may have changed."""
        if path not in self._digests:
            state = self._state(path)
            entries = (file.entries.get(_key(path, settings)) for settings, file in self._files.items())
            known = (entry.digest for entry in entries if entry is not None and entry.state == state)
            self._digests[path] = next(known, None) or _digest_of(path)
        return self._digests[path]


def _key(path: str, settings: Settings) -> str:
    """The name of an entry: the path as it is reported. What holds for an absolute one may depend on where the project is."""
    return f"{settings.root}\0{path}" if os.path.isabs(path) else path


def _settled(state: State) -> State:
    """The state to remember: one that no file has, if a further change may not show in it."""
    return state if time.time() - max(state[:2]) / 1e9 > _SETTLED else (0, 0, 0)


def _digest_of(path: str) -> str:
    try:
        return source.digest(source.read(path).data)
    except source.Unreadable:
        return ""


def context_of(settings: Settings, project: Project | None) -> str:
    """All that outcomes depend on besides the files and the linter, as text."""
    defaults = Settings()
    deciding = settings._replace(**{name: getattr(defaults, name) for name in _ELSEWHERE})
    tables = [_digest_of_any(path) for path in (settings.operators, os.environ.get(OPERATORS)) if path]
    place = os.path.relpath(os.getcwd(), settings.root or None)
    return repr((tuple(deciding), tables, place, None if project is None else project.folders))


def _digest_of_any(path: str) -> str:
    """The digest of a file; of one that cannot be read, what no other has."""
    try:
        with open(path, "rb") as file:
            return source.digest(file.read())
    except OSError:
        return f"{os.getpid()} {time.time()}"
