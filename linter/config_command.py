"""`stridelint config`: the settings and rules that hold for a path, each with where it is from."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from stridelint.linter import config, discover, selection, setting_options
from stridelint.linter.config import ConfigError, Settings
from stridelint.linter.local_rules import shown

if TYPE_CHECKING:
    import argparse

DEFAULT = "default"


class Setting(NamedTuple):
    """A key, its value as a TOML file would have it (None: not set), and where it is from."""

    key: str
    value: object
    origin: str


class RuleState(NamedTuple):
    """Whether a rule runs for a path, and why; its severity there."""

    code: str
    name: str
    severity: str
    is_on: bool
    why: str


def run(options: argparse.Namespace) -> int:
    """Print what holds for the path."""
    if not os.path.exists(options.path):
        raise ConfigError(f"no such file or folder: {options.path}")
    settings = setting_options.settings_for(options)(options.path)
    every, rules = settings_of(settings, options), list(rules_of(settings, options.path))
    remarks = list(_remarks(settings, options.path))
    if options.format == "json":
        document = {
            "version": 1,
            "path": options.path,
            "file": settings.file or None,
            "settings": [each._asdict() for each in every],
            "rules": [
                {"code": each.code, "name": each.name, "severity": each.severity, "on": each.is_on, "why": each.why}
                for each in rules
            ],
            "remarks": remarks,
        }
        print(json.dumps(document, indent=2))
        return 0
    print(f"settings for {options.path}, from {shown(settings.file) if settings.file else 'no file'}")
    _table((each.key, each.origin, _written(each.value)) for each in every)
    print(f"\nrules: {sum(each.is_on for each in rules)} of {len(rules)} run")
    _table((each.code, each.name, each.severity, "on" if each.is_on else "off", each.why) for each in rules)
    for remark in remarks:
        print(f"note: {remark}", file=sys.stderr)
    return 0


def settings_of(settings: Settings, options: argparse.Namespace) -> list[Setting]:
    """All settings, in the order of `config.KEYS`."""
    given = setting_options.given(options)
    lines = _lines(settings.file) if settings.file else {}
    found = []
    for key in config.KEYS:
        field = config.field_of(key)
        if field in given:
            origin = f"command line ({given[field].option})"
        elif key in lines:
            origin = f"{shown(settings.file)}:{lines[key]}" if lines[key] else shown(settings.file)
        else:
            origin = DEFAULT
        found.append(Setting(key, _plain(key, getattr(settings, field)), origin))
    return found


def rules_of(settings: Settings, path: str) -> Iterator[RuleState]:
    """All rules about tensors."""
    selected = selection.select(settings)
    for rule, choice in selection.choices(settings):
        severity = selected.severity_of(rule.code) or rule.severity.value
        pattern = selected.ignores(path, rule.code) if choice.is_on else ""
        why = f"ignored here by '{pattern}' in per-file-ignores" if pattern else choice.why
        yield RuleState(rule.code, rule.name, severity, choice.is_on and not pattern, why)


def _remarks(settings: Settings, path: str) -> Iterator[str]:
    """What else a user should know of these settings."""
    from stridelint.rules.contract import operators, torch_versions

    if discover.is_excluded(path, settings):
        named = "also" if settings.force_exclude else "unless it is"
        yield f"{path} is left out by an exclude pattern, {named} named on the command line"
    if settings.distrusted:
        yield "local-rules are not run: this is not the configuration of the current folder (--config would name it)"
    for problem in selection.loaded(settings).problems:
        yield f"{problem}"
    try:
        table = operators.load(settings.operators) if settings.operators else operators.shipped()
    except (OSError, ValueError) as error:
        raise ConfigError(f"operators: cannot use {settings.operators}: {error}") from None
    target = settings.target_torch
    if target is None:
        return
    unsure = sorted(name for name in torch_versions.CHANGED if not torch_versions.holds(name, table.torch, target))
    if unsure:
        yield (
            f"the operators were measured with torch {table.torch}; for torch {selection.dotted(target)} nothing is said of "
            f"{', '.join(unsure)}"
        )
    if target < torch_versions.OLDEST:
        yield f"no torch before {selection.dotted(torch_versions.OLDEST)} was measured: what is said of others may be wrong there"


def _lines(path: str) -> Mapping[str, int]:
    """The keys that a configuration file has, with their lines (0: not found, it is written in an unusual way)."""
    keys = config.table_of(path) or {}
    with open(path, encoding="utf-8-sig") as file:
        text = file.read().splitlines()
    found = dict.fromkeys(keys, 0)
    # Keys of a file of our own may stand right at its beginning.
    table = "" if os.path.basename(path) == "pyproject.toml" else "tool.stridelint"
    for number, line in enumerate(text, 1):
        if header := re.match(r"\s*\[\[?\s*([^\]]+?)\s*\]", line):
            table = re.sub(r"[\s\"']", "", header[1])
            table = table if table.startswith("tool.") else f"tool.stridelint.{table}"
            key = table.removeprefix("tool.stridelint.").split(".")[0]
        elif match := re.match(r"\s*[\"']?([\w-]+)[\"']?\s*[.=]", line):
            key = match[1] if table == "tool.stridelint" else ""
        else:
            continue
        if found.get(key) == 0:
            found[key] = number
    return found


def _plain(key: str, value: Any) -> object:
    """A value as it would stand in the file; None where nothing is set."""
    if key == "min-confidence":
        return value.name.lower()
    if key == "jobs":
        return value or "auto"
    if key == "target-torch":
        return None if value is None else selection.dotted(value)
    if key in ("per-file-ignores", "severity"):
        return {name: list(each) if isinstance(each, tuple) else each for name, each in value}
    if key == "exclude" and value is None:
        return list(discover.DEFAULT_EXCLUDE)
    if isinstance(value, tuple):
        return list(value)
    return None if value == "" else value


def _written(value: object) -> str:
    """A value on one line, as in TOML."""
    if value is None:
        return "-"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(name)} = {json.dumps(each)}" for name, each in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False)


def _table(rows: Iterator[tuple[str, ...]]) -> None:
    every = list(rows)
    widths = [max(len(row[column]) for row in every) for column in range(len(every[0]) - 1)]
    for row in every:
        print("  " + "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths)) + "  " + row[-1])
