"""What the user wants: `[tool.stridelint]` in pyproject.toml, and the command line on top of it.

This module runs before anything is known to be worth reading, so it imports little: no TOML reader unless a
pyproject.toml mentions stridelint.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from stridelint.rules.contract.answers import Confidence

CONFIDENCES = {level.name.lower(): level for level in Confidence}


class ConfigError(Exception):
    """A mistake of the user's: one clear line, exit status 2."""


class Settings(NamedTuple):
    """How to check. `select` empty means all rules; `exclude` None means the built-in list; `jobs` 0 means auto.

    `root` is the folder that `exclude` patterns and `baseline` are relative to: that of the configuration file.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    min_confidence: Confidence = Confidence.LIKELY
    exclude: tuple[str, ...] | None = None
    extend_exclude: tuple[str, ...] = ()
    force_exclude: bool = False
    jobs: int = 0
    root: str = ""
    baseline: str = ""
    error_stale_baseline: bool = False
    assume: tuple[str, ...] = ()


def assumptions(value: object) -> tuple[str, ...]:
    """What to assume of the inputs of models: "channels_last", or "channels_last:PATTERN" for some classes and functions."""
    for each in _strings(value):
        fact, colon, pattern = each.partition(":")
        if fact != "channels_last":
            raise ConfigError(f"knows channels_last and channels_last:PATTERN, not '{each}'{suggestion(fact, ['channels_last'])}")
        if colon and not pattern:
            raise ConfigError(f"lacks the name of a class or function after the colon of '{each}'")
    return _strings(value)


def _strings(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ConfigError("must be a list of strings")
    return tuple(value)


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise ConfigError("must be true or false")
    return value


def _path(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ConfigError("must be a path, relative to this file")
    return value


def confidence(value: object) -> Confidence:
    """The confidence of that name."""
    if not isinstance(value, str) or value not in CONFIDENCES:
        raise ConfigError("must be one of " + ", ".join(CONFIDENCES) + suggestion(value, CONFIDENCES))
    return CONFIDENCES[value]


def jobs(value: object) -> int:
    """A number of processes; 0 for "auto"."""
    if value == "auto":
        return 0
    if isinstance(value, str) and value.isdecimal():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ConfigError('must be a number from 1, or "auto"')
    return value


# The key in the file, with what checks and converts its value; the field of Settings is named alike, with underscores.
KEYS: Mapping[str, Callable[[object], object]] = {
    "select": _strings,
    "ignore": _strings,
    "extend-select": _strings,
    "min-confidence": confidence,
    "exclude": _strings,
    "extend-exclude": _strings,
    "force-exclude": _truth,
    "jobs": jobs,
    "baseline": _path,
    "error-stale-baseline": _truth,
    "assume": assumptions,
}


def suggestion(wrong: object, known: object) -> str:
    """`; did you mean 'x'?` when something known is close, else nothing."""
    from difflib import get_close_matches

    names = [str(name) for name in known] if hasattr(known, "__iter__") else []
    close = get_close_matches(str(wrong), names, n=1)
    return f"; did you mean '{close[0]}'?" if close else ""


def find(start: str) -> Settings:
    """The settings that hold for a file or folder: those of the nearest pyproject.toml upward that has some."""
    folder = os.path.abspath(start)
    if not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    while True:
        settings = _settings_in(folder)
        if settings is not None:
            return settings
        parent = os.path.dirname(folder)
        if parent == folder:
            return Settings(root=os.getcwd())
        folder = parent


# One run asks for the same folders again and again (every explicit file of a hook).
_seen: dict[str, Settings | None] = {}


def _settings_in(folder: str) -> Settings | None:
    if folder not in _seen:
        path = os.path.join(folder, "pyproject.toml")
        _seen[folder] = read(path, optional=True) if os.path.isfile(path) else None
    return _seen[folder]


def read(path: str, optional: bool = False) -> Settings | None:
    """The settings in a TOML file: its `[tool.stridelint]`, or for a file of its own (not pyproject.toml) all of it.

    optional: the file may have nothing for us, or be unreadable, and then the answer is None.
    """
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        if optional:
            return None
        raise ConfigError(f"cannot read {path}: {error.strerror}") from None
    if optional and b"stridelint" not in data:
        return None
    table = _table(path, data)
    if table is None:
        if optional:
            return None
        raise ConfigError(f"{path} has no [tool.stridelint]")
    values: dict[str, Any] = {"root": os.path.dirname(os.path.abspath(path))}
    for key, value in table.items():
        if key not in KEYS:
            raise ConfigError(f"{path}: unknown key '{key}' in [tool.stridelint]{suggestion(key, KEYS)}")
        try:
            values[key.replace("-", "_")] = KEYS[key](value)
        except ConfigError as error:
            raise ConfigError(f"{path}: '{key}' in [tool.stridelint] {error}") from None
    return Settings()._replace(**values)


def _table(path: str, data: bytes) -> dict[str, object] | None:
    import sys

    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        parsed = tomllib.loads(data.decode("utf-8-sig"))
    except ValueError as error:  # TOMLDecodeError and UnicodeDecodeError both are
        raise ConfigError(f"{path} is not valid TOML: {error}") from None
    tool = parsed.get("tool")
    table = tool.get("stridelint") if isinstance(tool, dict) else None
    if table is None and os.path.basename(path) != "pyproject.toml" and tool is None:
        table = parsed
    if table is not None and not isinstance(table, dict):
        raise ConfigError(f"{path}: 'stridelint' in [tool] must be a table")
    return table
