"""Baselines: the findings that a project has decided to live with, as a file that is made to be read and merged.

An entry has no line numbers, so that a file that moves its code does not change the baseline. Paths are relative to the
baseline's folder. Equal findings (one fingerprint, one file) are counted.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

from stridelint.linter.config import ConfigError

VERSION = 1
_MOST_SOURCE = 100  # characters of code that an entry shows; only people read them


class Entry(NamedTuple):
    """Findings to live with: `times` as many in a file. `scope` and `source` tell people which."""

    path: str
    code: str
    scope: str
    source: str
    fingerprint: str
    severity: str
    confidence: str
    times: int = 1


class Compared(NamedTuple):
    """How findings stand to a baseline.

    known: for each finding, whether it is in the baseline. stale: entries without their findings, `times` is how many are
    missing. kept: entries that this run cannot judge, since their file or rule was not looked at.
    """

    known: list[bool]
    stale: list[Entry]
    kept: list[Entry]


def compare(entries: Sequence[Entry], found: Sequence[Entry], would_report: Callable[[Entry], bool]) -> Compared:
    """Match findings with entries: those in the same file first, then those whose code came from another file.

    found: the findings as entries, in order. would_report: whether this run would have found an entry if it was still there.
    """
    left: Counter[tuple[str, str]] = Counter()
    for entry in entries:
        left[entry.path, entry.fingerprint] += entry.times
    known = [_take(left, finding.path, finding.fingerprint) for finding in found]
    gone = [entry for entry in merged(entries) if left[entry.path, entry.fingerprint] and would_report(entry)]
    before: dict[str, list[str]] = {}
    for entry in gone:
        before.setdefault(entry.fingerprint, []).append(entry.path)
    for index, finding in enumerate(found):
        paths = () if known[index] else before.get(finding.fingerprint, ())
        known[index] = known[index] or any(_take(left, path, finding.fingerprint) for path in paths)
    rest = [
        entry._replace(times=left[entry.path, entry.fingerprint])
        for entry in merged(entries)
        if left[entry.path, entry.fingerprint]
    ]
    over = {(entry.path, entry.fingerprint) for entry in gone}
    stale = [entry for entry in rest if (entry.path, entry.fingerprint) in over]
    return Compared(known, stale, [entry for entry in rest if (entry.path, entry.fingerprint) not in over])


def _take(left: Counter[tuple[str, str]], path: str, fingerprint: str) -> bool:
    if left[path, fingerprint] <= 0:
        return False
    left[path, fingerprint] -= 1
    return True


def merged(entries: Iterable[Entry]) -> list[Entry]:
    """Equal entries as one with their sum, in the order of the file."""
    counts: Counter[tuple[str, str]] = Counter()
    first: dict[tuple[str, str], Entry] = {}
    for entry in entries:
        key = entry.path, entry.fingerprint
        counts[key] += entry.times
        first.setdefault(key, entry)
    return sorted(entry._replace(times=counts[key]) for key, entry in first.items())


def render(entries: Iterable[Entry]) -> str:
    """The text of a baseline: a heading for each file, then one line for each entry, sorted."""
    files: dict[str, list[Entry]] = {}
    for entry in merged(entries):
        files.setdefault(entry.path, []).append(entry)
    parts = []
    for path, inside in files.items():
        lines = ",\n".join(f"      {json.dumps(_line(entry))}" for entry in inside)
        parts.append(f"    {json.dumps(path)}: [\n{lines}\n    ]")
    body = "{\n" + ",\n".join(parts) + "\n  }" if parts else "{}"
    return f'{{\n  "version": {VERSION},\n  "files": {body}\n}}\n'


def _line(entry: Entry) -> dict[str, object]:
    line: dict[str, object] = {"code": entry.code}
    if entry.scope:
        line["in"] = entry.scope
    source = entry.source if len(entry.source) <= _MOST_SOURCE else entry.source[: _MOST_SOURCE - 3] + "..."
    line |= {"source": source, "severity": entry.severity, "confidence": entry.confidence}
    if entry.times > 1:
        line["count"] = entry.times
    line["fingerprint"] = entry.fingerprint
    return line


def read(path: str) -> list[Entry]:
    """The entries of a baseline. Raises ConfigError for what is none, and FileNotFoundError."""
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file, object_pairs_hook=_together)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ConfigError(f"cannot read the baseline {path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        hint = " (a merge conflict?)" if _has_conflict(path) else ""
        raise ConfigError(f"the baseline {path} is not valid JSON{hint}: {error}") from None
    if not isinstance(document, dict) or not isinstance(document.get("files"), dict):
        raise ConfigError(f"{path} is no baseline: make one with --baseline {path} --update-baseline")
    if document.get("version") != VERSION:
        raise ConfigError(f"the baseline {path} has version {document.get('version')}, this stridelint reads {VERSION}")
    return [
        _entry(path, name, line) for name, lines in document["files"].items() for line in _listed(path, name, lines)
    ]


def _together(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; lists of one name are joined, as a merge may leave a file's entries in two places."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        before = found.get(key)
        found[key] = [*before, *value] if isinstance(before, list) and isinstance(value, list) else value
    return found


def _listed(baseline: str, name: str, lines: object) -> Collection[Any]:
    if not isinstance(lines, list):
        raise ConfigError(f"the baseline {baseline} has no list of entries for {name!r}")
    return lines


def _entry(baseline: str, name: str, line: Any) -> Entry:
    texts: dict[str, Any] = {key: line.get(key, "") for key in _KEYS} if isinstance(line, dict) else {"": None}
    times = line.get("count", 1) if isinstance(line, dict) else 1
    if not all(isinstance(text, str) for text in texts.values()) or not isinstance(times, int) or times < 1:
        raise ConfigError(f"the baseline {baseline} has a broken entry for {name!r}: {json.dumps(line)[:200]}")
    if not texts["fingerprint"] or not texts["code"]:
        raise ConfigError(f"the baseline {baseline} has an entry for {name!r} without a code or a fingerprint")
    scope = str(texts.pop("in"))
    return Entry(path=name, scope=scope, times=times, **texts)


_KEYS = ("code", "in", "source", "fingerprint", "severity", "confidence")


def _has_conflict(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return b"\n<<<<<<< " in file.read()
    except OSError:
        return False


def relative(path: str, baseline: str) -> str:
    """A path as a baseline has it."""
    folder = os.path.dirname(os.path.realpath(baseline))
    return os.path.relpath(os.path.realpath(path), folder).replace(os.sep, "/")
