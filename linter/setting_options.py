"""The options that say on the command line what configuration says in a file, and what both together come to."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

from stridelint.linter import config
from stridelint.linter.config import ConfigError, Settings

T = TypeVar("T")


def add_choosing(parser: argparse._ActionsContainer) -> None:
    """Declare the options about what to report."""
    for name, text in (
        ("--select", "run these rules only: codes, prefixes, names, or ALL; commas between them"),
        ("--ignore", "but not these; the longer prefix wins"),
        ("--extend-select", "run these as well"),
    ):
        parser.add_argument(name, metavar="CODES", action="append", help=text)
    parser.add_argument(
        "--per-file-ignores",
        metavar="PATTERN:CODE",
        action="append",
        help="ignore a rule in some files: 'tests/*:TLC2'; may be repeated, commas between several",
    )
    parser.add_argument(
        "--severity",
        metavar="CODE=LEVEL",
        action="append",
        help="report findings of a rule as error, warning or note: TLC204=error; commas between several",
    )
    parser.add_argument(
        "--min-confidence",
        metavar="LEVEL",
        help="certain: all is proven; likely (default): but for sizes almost surely > 1; possible: up to a caller",
    )
    parser.add_argument(
        "--assume",
        metavar="channels_last[:NAME]",
        action="append",
        help="what if the 4-D inputs and weights of models (or of the classes and functions NAME, with * and ?) were "
        "channels_last? shows where that breaks or is dropped; may be repeated",
    )
    parser.add_argument(
        "--target-torch", metavar="VERSION", help="the torch that the code is for: 2.3; rules about others do not run"
    )
    parser.add_argument(
        "--operators",
        metavar="FILE",
        help="judge by this table of operators, which `stridelint probe harvest --output FILE` measured",
    )


def add_configuration(parser: argparse._ActionsContainer) -> None:
    """Declare which file the settings are read from."""
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--config", metavar="FILE", help="read settings from this file")
    which.add_argument("--isolated", action="store_true", help="read no configuration file")


def add_files(parser: argparse._ActionsContainer) -> None:
    """Declare the options about files."""
    parser.add_argument("--exclude", metavar="PATTERN", action="append", help="leave these out, not the usual ones")
    parser.add_argument("--extend-exclude", metavar="PATTERN", action="append", help="leave these out, too")
    parser.add_argument("--force-exclude", action="store_true", help="exclude patterns hold for files named here, too")
    parser.add_argument("--jobs", metavar="N", help="processes: a number, or auto (default)")


class Given(NamedTuple):
    """A setting from the command line: its value, and what the user wrote to get it."""

    value: Any
    option: str


def given(options: argparse.Namespace) -> dict[str, Given]:
    """The settings on the command line, by the field of Settings; patterns as they are written. Raises ConfigError."""
    found: dict[str, Given] = {}

    def note(name: str, convert: Callable[[object], object], value: object) -> None:
        if value is not None:
            option = "--" + name.replace("_", "-")
            found[name] = Given(converted(option, convert, value), option)

    if options.select is not None:
        # A selection on the command line starts afresh: what the file ignores may be just what is asked for.
        found["ignore"] = found["extend_select"] = Given((), "--select")
    for name in ("select", "ignore", "extend_select", "exclude", "extend_exclude"):
        note(name, lambda value: tuple(_parts(value)), getattr(options, name))
    if options.select is not None and not found["select"].value:
        raise ConfigError("--select names no rule (see stridelint rules; ALL stands for all of them)")
    note("min_confidence", config.confidence, options.min_confidence)
    note("assume", config.assumptions, options.assume)
    note("per_file_ignores", _per_file, options.per_file_ignores)
    note("severity", lambda value: config.severities(dict(_pairs(value, "=", "TLC204=error"))), options.severity)
    note("target_torch", config.torch_version, options.target_torch)
    if options.operators is not None:
        check_table(options.operators, "--operators")
        found["operators"] = Given(os.path.abspath(options.operators), "--operators")
    note("jobs", config.jobs, options.jobs)
    note("fail_on", str, getattr(options, "fail_on", None))
    if options.force_exclude:
        found["force_exclude"] = Given(True, "--force-exclude")
    return found


def _parts(written: Any) -> list[str]:
    return [part.strip() for each in written for part in each.split(",") if part.strip()]


def _pairs(written: Any, separator: str, example: str) -> list[tuple[str, str]]:
    pairs = []
    for part in _parts(written):
        left, found, right = part.rpartition(separator)
        if not left or not found or not right:
            raise ConfigError(f"needs {example}, not '{part}'")
        pairs.append((left.strip(), right.strip()))
    return pairs


def _per_file(written: object) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple((pattern, (code,)) for pattern, code in _pairs(written, ":", "PATTERN:CODE"))


def check_table(path: str, option: str) -> None:
    """ConfigError, in words of the option, if a file is no table of operators."""
    from stridelint.rules.contract import operators

    try:
        operators.load(path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"{option}: cannot use {path}: {reason}") from None


def converted(name: str, convert: Callable[[object], T], value: object) -> T:
    """The value of an option; ConfigError names the option."""
    try:
        return convert(value)
    except ConfigError as error:
        raise ConfigError(f"{name} {error}") from None


def settings_for(options: argparse.Namespace) -> Callable[[str], Settings]:
    """How a path gets its settings: from configuration, with the options on top."""
    changes = {name: each.value for name, each in given(options).items()}
    made: dict[Settings, Settings] = {}

    def changed(settings: Settings) -> Settings:
        if settings not in made:
            made[settings] = settings._replace(**_from_here(changes, settings.root))
        return made[settings]

    if options.isolated:
        isolated = changed(Settings(root=os.getcwd()))
        return lambda path: isolated
    if options.config is not None:
        read = config.read(options.config)
        assert read is not None
        configured = changed(read)
        return lambda path: configured
    return lambda path: changed(config.find(path))


def _from_here(changes: dict[str, Any], root: str) -> dict[str, Any]:
    """The changes with patterns made relative to the folder of the configuration, as those in it are."""

    def moved(pattern: str) -> str:
        if "/" not in pattern or pattern.startswith("*"):
            return pattern
        return os.path.relpath(pattern, root or None).replace(os.sep, "/")

    def all_moved(patterns: Iterable[str]) -> tuple[str, ...]:
        return tuple(moved(pattern) for pattern in patterns)

    found = dict(changes)
    for name in ("exclude", "extend_exclude"):
        if name in found:
            found[name] = all_moved(found[name])
    if "per_file_ignores" in found:
        found["per_file_ignores"] = tuple((moved(pattern), codes) for pattern, codes in found["per_file_ignores"])
    return found
