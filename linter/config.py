"""What the user wants: `[tool.stridelint]` in pyproject.toml, or a stridelint.toml.

This module runs before anything is known to be worth reading, so it imports little: no TOML reader unless a
pyproject.toml mentions stridelint.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from stridelint.rules.contract.answers import Confidence

CONFIDENCES = {level.name.lower(): level for level in Confidence}
SEVERITIES = ("error", "warning", "note")  # as `rules.rule.Severity`, which takes longer to import; the gravest first
FAIL_ON = ("any", *SEVERITIES)
OWN_FILE = "stridelint.toml"


class ConfigError(Exception):
    """A mistake of the user's: one clear line, exit status 2."""


class Settings(NamedTuple):
    """How to check. `select` empty means all rules; `exclude` None means the built-in list; `jobs` 0 means auto.

    root: the folder that patterns and `baseline` are relative to, that of `file`, the configuration file.
    per_file_ignores: patterns with the rules that they ignore. severity: rules (as in `select`) with what they are to be.
    fail_on: which findings make the exit status 1. target_torch: the version of torch the code is for, None for the
    one the operator table was measured with. operators: another such table.
    local_rules: files and folders with rules of the project's own; `local_rules_stamp` changes with what they hold, and
    `distrusted` tells that the configuration names some which are not to be run.
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
    file: str = ""
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    severity: tuple[tuple[str, str], ...] = ()
    fail_on: str = "any"
    target_torch: tuple[int, int] | None = None
    operators: str = ""
    local_rules: tuple[str, ...] = ()
    local_rules_stamp: str = ""
    distrusted: bool = False
    cache_dir: str = ""


def assumptions(value: object) -> tuple[str, ...]:
    """What to assume of the inputs of models: "channels_last", or "channels_last:PATTERN" for some classes and functions."""
    for each in _strings(value):
        fact, colon, pattern = each.partition(":")
        if fact != "channels_last":
            raise ConfigError(
                f"knows channels_last and channels_last:PATTERN, not '{each}'{suggestion(fact, ['channels_last'])}"
            )
        if colon and not pattern:
            raise ConfigError(f"lacks the name of a class or function after the colon of '{each}'")
    return _strings(value)


def _strings(value: object) -> tuple[str, ...]:
    if not _is_strings(value):
        raise ConfigError("must be a list of strings")
    assert isinstance(value, list)
    return tuple(value)


def _is_strings(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


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


def per_file_ignores(value: object) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Patterns of paths, each with the rules to ignore there."""
    if not isinstance(value, dict) or not all(_is_strings(codes) for codes in value.values()):
        raise ConfigError('must be a table of patterns with lists of rules, like {"tests/*" = ["TLC2"]}')
    return tuple((pattern, tuple(codes)) for pattern, codes in value.items())


def severities(value: object) -> tuple[tuple[str, str], ...]:
    """Rules, each with the severity that its findings are to have."""
    if not isinstance(value, dict):
        raise ConfigError('must be a table of rules with severities, like {TLC204 = "error"}')
    for rule, wanted in value.items():
        if wanted not in SEVERITIES:
            raise ConfigError(
                f"gives '{rule}' the severity {wanted!r}, known are {', '.join(SEVERITIES)}{suggestion(wanted, SEVERITIES)}"
            )
    return tuple(value.items())


def fail_on(value: object) -> str:
    """Which findings make the exit status 1: all, or those of a severity and graver."""
    if not isinstance(value, str) or value not in FAIL_ON:
        raise ConfigError("must be one of " + ", ".join(FAIL_ON) + suggestion(value, FAIL_ON))
    return value


def torch_version(value: object) -> tuple[int, int]:
    """A version of torch, as two numbers; a third one, and what follows it, is of no account."""
    parts = value.partition("+")[0].split(".") if isinstance(value, str) else []
    if not 2 <= len(parts) <= 3 or not all(part.isdecimal() for part in parts[:2]):
        raise ConfigError('must be a version of torch, like "2.3"')
    return int(parts[0]), int(parts[1])


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
    "per-file-ignores": per_file_ignores,
    "severity": severities,
    "fail-on": fail_on,
    "target-torch": torch_version,
    "operators": _path,
    "local-rules": _strings,
    "cache-dir": _path,
}


def suggestion(wrong: object, known: object) -> str:
    """`; did you mean 'x'?` when something known is close, else nothing."""
    from difflib import get_close_matches

    names = [str(name) for name in known] if hasattr(known, "__iter__") else []
    close = get_close_matches(str(wrong), names, n=1)
    return f"; did you mean '{close[0]}'?" if close else ""


def find(start: str) -> Settings:
    """The settings that hold for a file or folder: those of the nearest folder upward whose configuration has some.

    Only the configuration of the current folder may name local rules, which are code that is run: that of a folder which
    is merely checked may be anybody's.
    """
    folder = os.path.abspath(start)
    settings = _settings_for(folder if os.path.isdir(folder) else os.path.dirname(folder))
    if settings.local_rules and settings.file != _settings_for(os.getcwd()).file:
        return settings._replace(local_rules=(), local_rules_stamp="", distrusted=True)
    return settings


# One run asks for the same folders again and again. Two caches: what stands in a folder, and what holds for it.
_written: dict[str, Settings | None] = {}
_holding: dict[tuple[str, str], Settings] = {}


def _settings_for(folder: str) -> Settings:
    here = os.getcwd()
    passed: list[str] = []
    settings: Settings | None = None
    while settings is None:
        settings = _holding.get((folder, here)) or _settings_in(folder)
        passed.append(folder)
        parent = os.path.dirname(folder)
        if settings is None and parent == folder:
            settings = Settings(root=here)
        folder = parent
    _holding.update(dict.fromkeys(((each, here) for each in passed), settings))
    return settings


def forget() -> None:
    """Read configuration anew from now on, for a process that outlives its files."""
    _written.clear()
    _holding.clear()


def _settings_in(folder: str) -> Settings | None:
    if folder not in _written:
        own, shared = os.path.join(folder, OWN_FILE), os.path.join(folder, "pyproject.toml")
        if os.path.isfile(own):
            _written[folder] = read(own)
        else:
            _written[folder] = read(shared, optional=True) if os.path.isfile(shared) else None
    return _written[folder]


def read(path: str, optional: bool = False) -> Settings | None:
    """The settings in a TOML file: its `[tool.stridelint]`, or for a file of its own (not pyproject.toml) all of it.

    optional: the file may have nothing for us, or be unreadable, and then the answer is None.
    """
    table = table_of(path, optional)
    if table is None:
        return None
    where = " in [tool.stridelint]" if os.path.basename(path) == "pyproject.toml" else ""
    file = os.path.abspath(path)
    values: dict[str, Any] = {"root": os.path.dirname(file), "file": file}
    for key, value in table.items():
        if key not in KEYS:
            raise ConfigError(f"{path}: unknown key '{key}'{where}{suggestion(key, KEYS)}")
        try:
            values[field_of(key)] = KEYS[key](value)
        except ConfigError as error:
            raise ConfigError(f"{path}: '{key}'{where} {error}") from None
    if "operators" in values:
        values["operators"] = os.path.join(values["root"], values["operators"])
    if values.get("local_rules"):
        from stridelint.linter.local_rules import stamp

        named = tuple(os.path.normpath(os.path.join(values["root"], each)) for each in values["local_rules"])
        for each in named:
            if not os.path.exists(each):
                raise ConfigError(f"{path}: 'local-rules' names {each}, which does not exist")
        values.update(local_rules=named, local_rules_stamp=stamp(named))
    return Settings()._replace(**values)


def field_of(key: str) -> str:
    """The field of Settings for a key of the file."""
    return key.replace("-", "_")


def table_of(path: str, optional: bool = False) -> dict[str, object] | None:
    """What a TOML file says to us, as it stands there; see `read`."""
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
    if table is None and not optional:
        raise ConfigError(f"{path} has no [tool.stridelint]")
    return table


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
