"""Tries whether anything breaks the linter: real files by the ten thousand, and odd programs by the hundred thousand.

    python -m benchmarks.reliability files [FOLDER...]               every Python file of these folders
    python -m benchmarks.reliability programs [--count N] [FOLDER...]  programs made of pieces of the files there
    python -m benchmarks.reliability add FILE...                     the sum of what `--json FILE` has kept

Without folders: the standard library and all that is installed beside it; for programs, `fixtures`. Each file and each program
is checked in a process that is watched: one that takes longer than `--limit` counts as a hang. `--only NUMBER` prints a program
and what is wrong with it. Exit status 1 if anything was wrong.

Of a file it is asked that the check ends without an internal error. Of a program also that
- findings, notes and fixes stand inside the file, and all reports can be written, without a control character in the text;
- the quick way, on nodes made from Python's own tree, comes to the same findings as LibCST's (every second program);
- fixes leave a program that parses, with no finding that was not there (whenever there are some).
"""

from __future__ import annotations

import argparse
import collections
import functools
import hashlib
import json
import os
import random
import re
import site
import sys
import sysconfig
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.mutation import Seeds, program, seeds_of
from benchmarks.watching import Watched, watched
from stridelint.linter import engine, fixing_command, screen, source
from stridelint.linter.config import Settings
from stridelint.linter.findings import Outcome, Report, Reported
from stridelint.linter.selection import select
from stridelint.rules.contract.answers import Confidence

ROOT = Path(__file__).resolve().parent.parent
# Each program is checked in one of these ways.
WAYS = (
    Settings(min_confidence=Confidence.POSSIBLE),
    Settings(),
    Settings(min_confidence=Confidence.POSSIBLE, assume=("channels_last",)),
    Settings(min_confidence=Confidence.POSSIBLE, extend_select=("TLC902",)),
)
FORMATS = ("text", "json", "sarif", "github", "gitlab", "junit", "html")
SLOW = 10.0  # seconds of CPU time that no short program should take
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class Told(NamedTuple):
    """What came of a file or program: why it was not read to its end, how many findings, how many fixed, and what is wrong."""

    skipped: tuple[str, ...] = ()
    findings: int = 0
    fixed: int = 0
    wrong: tuple[str, ...] = ()


def kind_of(reason: str) -> str:
    """The reason without what differs from file to file."""
    return re.sub(r"'[^']*'|\b\d[\d,.]*\b|0x\w+", "*", reason.partition(": ")[0])


def faults(outcome: Outcome) -> list[str]:
    return [
        each.reason
        for each in outcome.skipped
        if "internal error" in each.reason or "failed and is left out" in each.reason
    ]


def file_told(path: str) -> Told:
    """A file as `stridelint check FILE` reads it."""
    try:
        file = source.read(path, explicit=True)
    except source.Unreadable as error:
        return Told((str(error),))
    outcome = engine.check(file, select(WAYS[0]))
    return Told(tuple(each.reason for each in outcome.skipped), len(outcome.findings), 0, tuple(faults(outcome)))


def program_told(number: int, seeds: Seeds, seed: str) -> Told:
    """One program, by its number."""
    data = program(seeds, random.Random(f"{seed} {number}"))
    try:
        return examined(data, WAYS[number % len(WAYS)], number)
    except Exception as error:
        import traceback

        where = traceback.extract_tb(error.__traceback__)[-1]
        return Told(wrong=(f"{type(error).__name__}: {error} at {Path(where.filename).name}:{where.lineno}",))


def examined(data: bytes, settings: Settings, number: int) -> Told:
    """All that is asked of a program."""
    try:
        file = source.from_bytes("program.py", data, explicit=True)
        text = file.text
    except source.Unreadable as error:
        return Told((str(error),))
    outcome = engine.check(file, select(settings))
    wrong = faults(outcome) + [told for finding in outcome.findings for told in misplaced(finding, text)]
    if number % 2 and is_parsed(text):
        wrong += differences(file, settings, outcome)
    if outcome.findings:
        wrong += unprintable(outcome, data)
    fixable = [each for each in outcome.findings if each.is_fixable(unsafe=True)]
    fixed = 0
    if fixable and not settings.assume:
        fixed, more = harm(file, settings, outcome)
        wrong += more
    return Told(tuple(each.reason for each in outcome.skipped), len(outcome.findings), fixed, tuple(wrong))


def is_parsed(text: str) -> bool:
    try:
        screen.parse(text)
    except screen.Unparsable:
        return False
    return True


def misplaced(finding: Reported, text: str) -> Iterator[str]:
    """Places outside the file."""
    lines = source.lines(text)

    def is_inside(line: int, column: int) -> bool:
        return 1 <= line <= len(lines) and 1 <= column <= len(lines[line - 1]) + 1

    name = f"{finding.code} at {finding.line}:{finding.column}"
    start, stop = (finding.line, finding.column), (finding.end_line, finding.end_column)
    if not (is_inside(*start) and is_inside(*stop) and start <= stop):
        yield f"{name} is outside of the file, or ends before it starts: {stop}"
    elif finding.excerpt != lines[finding.line - 1]:
        yield f"{name} does not show its line"
    for note in finding.notes:
        if not 1 <= note.line <= len(lines):
            yield f"{name} has a note outside of the file"
    for edit in finding.patch.edits:
        if not (is_inside(edit.line, edit.column) and is_inside(edit.end_line, edit.end_column)):
            yield f"{name} has a fix outside of the file"


def differences(file: source.Source, settings: Settings, outcome: Outcome) -> Iterator[str]:
    """What LibCST's own tree leads to and the quick way does not."""
    quick = engine._nothing_found
    try:
        engine._nothing_found = lambda *_: None
        other = engine.check(file, select(settings))
    finally:
        engine._nothing_found = quick
    if [each[:8] for each in other.findings] != [each[:8] for each in outcome.findings] and not other.skipped:
        yield f"the quick way finds {summary(outcome)}, LibCST's {summary(other)}"
    yield from faults(other)


def summary(outcome: Outcome) -> list[str]:
    return [f"{each.code} at {each.line}:{each.column}" for each in outcome.findings]


def unprintable(outcome: Outcome, data: bytes) -> Iterator[str]:
    """Reports that cannot be written, or that pass on what moves a cursor."""
    import importlib

    from stridelint.linter.fingerprints import Sources
    from stridelint.linter.reports.context import Context

    report = Report(outcome.findings, outcome.skipped, 0, 1, 0)
    for form in FORMATS:
        context = Context(Sources({"program.py": data}), "/", paths=(".",))
        text = importlib.import_module(f"stridelint.linter.reports.{form}").render(report, context)
        text.encode("utf-8")
        found = CONTROLS.search(text)
        if found:
            yield f"the {form} report has a {found.group()!r}"
        if form == "json":
            json.loads(text)


def harm(file: source.Source, settings: Settings, before: Outcome) -> tuple[int, list[str]]:
    """How many findings fixes put right, and what is wrong with the text after that."""
    fixes = fixing_command.fixes_of(file, settings, unsafe=True)
    after = file._replace(data=fixes.data)
    wrong = [] if is_parsed(after.text) else ["the fixed program does not parse"]
    outcome = engine.check(after, select(settings))
    count, was = (collections.Counter(each.code for each in some.findings) for some in (outcome, before))
    wrong += [
        f"the fixed program has {count[code]} findings {code}, not {was[code]}"
        for code in count
        if count[code] > was[code]
    ]
    return len(fixes.fixed), wrong + faults(outcome)


class Figures:
    """What is counted; `add` takes what came of one more."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.number = self.findings = self.fixed = self.memory = self.bytes = 0
        self.seconds = 0.0
        self.skipped: collections.Counter[str] = collections.Counter()
        self.wrong: list[tuple[str, str]] = []
        self.slowest: list[tuple[float, str]] = []
        self.largest: list[tuple[int, str]] = []

    def add(self, name: str, watched: Watched) -> None:
        """One more file or program."""
        self.number += 1
        told: Told = watched.result or Told()
        wrong = [watched.trouble] if watched.trouble else list(told.wrong)
        if self.kind == "programs" and watched.seconds > SLOW:
            wrong.append(f"it takes {watched.seconds:.1f} s of CPU time")
        self.wrong += [(name, each) for each in wrong]
        for each in wrong:
            print(f"{name}: {each}", file=sys.stderr, flush=True)
        self.skipped.update({kind_of(reason) for reason in told.skipped})
        self.findings += told.findings
        self.fixed += told.fixed
        self.seconds += watched.seconds
        self.memory = max(self.memory, watched.memory)
        self.slowest = sorted([*self.slowest, (watched.seconds, name)], reverse=True)[:8]
        if watched.grown:
            self.largest = sorted([*self.largest, (watched.grown, name)], reverse=True)[:4]

    def merge(self, other: dict[str, Any]) -> None:
        """What another run has counted."""
        self.kind = other["kind"]
        for name in ("number", "findings", "fixed", "bytes", "seconds"):
            setattr(self, name, getattr(self, name) + other[name])
        self.memory = max(self.memory, other["memory"])
        self.skipped.update(other["skipped"])
        self.wrong += [(name, what) for name, what in other["wrong"]]
        self.slowest = sorted([*self.slowest, *map(tuple, other["slowest"])], reverse=True)[:8]
        self.largest = sorted([*self.largest, *map(tuple, other["largest"])], reverse=True)[:4]

    def keep(self, path: str | None) -> None:
        """Write it into a file, so that a run that is ended counts as far as it got."""
        if path:
            Path(path).write_text(json.dumps(vars(self)))

    def show(self) -> None:
        """Print it."""
        size = f" ({self.bytes / 1e6:.0f} MB)" if self.bytes else ""
        print(
            f"{self.number:,} {self.kind}{size}, {self.seconds:.0f} s of CPU time, {self.memory / 1e6:.0f} MB of memory at most"
        )
        print(f"{self.findings:,} findings, {self.fixed:,} fixed; not read to the end: {sum(self.skipped.values()):,}")
        for reason, count in self.skipped.most_common():
            print(f"{count:9,} {reason}")
        print("slowest: " + ", ".join(f"{seconds:.1f} s {name}" for seconds, name in self.slowest))
        print("memory:  " + ", ".join(f"+{grown / 1e6:.0f} MB {name}" for grown, name in self.largest))
        print(f"wrong:   {len(self.wrong)}")
        for name, what in self.wrong[:40]:
            print(f"  {name}: {what}")


def installed() -> list[str]:
    """The standard library, and what is installed."""
    return [sysconfig.get_path("stdlib"), *site.getsitepackages()]


def distinct(folders: Sequence[str]) -> Iterator[Path]:
    """The Python files of some folders, one of those with the same contents."""
    seen: set[bytes] = set()
    for folder in folders:
        for here, below, names in os.walk(folder):
            below.sort()
            for name in sorted(names):
                path = Path(here, name)
                if name.endswith((".py", ".pyi")) and path.is_file():
                    digest = hashlib.blake2b(path.read_bytes(), digest_size=16).digest()
                    if digest not in seen:
                        seen.add(digest)
                        yield path


def count(
    items: Sequence[Any], work: Callable[[Any], Told], name: Callable[[Any], str], options: argparse.Namespace
) -> Figures:
    figures = Figures(options.command)
    for item, result in watched(items, work, options.limit):
        figures.add(name(item), result)
        if options.command == "files":
            figures.bytes += os.path.getsize(item)
        if figures.number % 200 == 0:
            figures.keep(options.json)
        if sys.stderr.isatty() and figures.number % 100 == 0:
            print(f"\r{figures.number} of {len(items)}, {len(figures.wrong)} wrong", end="", file=sys.stderr)
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("files", "programs", "add"))
    parser.add_argument("paths", nargs="*")
    parser.add_argument("--count", type=int, default=1000, help="how many programs (default: %(default)s)")
    parser.add_argument("--first", type=int, default=0, help="the number of the first program")
    parser.add_argument("--seed", default="0", help="another seed makes other programs")
    parser.add_argument("--only", type=int, help="print this program, and what is wrong with it")
    parser.add_argument(
        "--limit", type=float, default=120.0, help="seconds for one file or program (default: %(default)s)"
    )
    parser.add_argument("--json", metavar="FILE", help="keep the figures, for `add`")
    options = parser.parse_intermixed_args()
    warnings.simplefilter("ignore")  # what Python says of odd code
    figures = Figures(options.command)
    if options.command == "add":
        for path in options.paths:
            figures.merge(json.loads(Path(path).read_text()))
    elif options.command == "files":
        figures = count(list(distinct(options.paths or installed())), lambda path: file_told(str(path)), str, options)
    else:
        seeds = seeds_of(sorted(distinct(options.paths or [str(ROOT / "fixtures")])))
        if options.only is not None:
            sys.stdout.buffer.write(program(seeds, random.Random(f"{options.seed} {options.only}")) + b"\n")
            print(program_told(options.only, seeds, options.seed))
            return 0
        numbers = range(options.first, options.first + options.count)
        work = functools.partial(program_told, seeds=seeds, seed=options.seed)
        figures = count(numbers, work, str, options)
    figures.show()
    figures.keep(options.json)
    return int(bool(figures.wrong))


if __name__ == "__main__":
    sys.exit(main())
