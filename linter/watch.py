"""`check --watch`: checks again whenever a file changes. Files are asked for their times; nothing needs to be installed for it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from stridelint.linter import config
from stridelint.linter.config import ConfigError
from stridelint.linter.telling import tell

if TYPE_CHECKING:
    import argparse

_PAUSE = 0.4  # seconds between two looks at the files that are known
_SEARCH = 5  # every so many of them, look for new files in all folders
_CLEAR = "\033[H\033[2J\033[3J"

State = tuple[int, int] | None


def check_options(options: argparse.Namespace) -> None:
    """Raise ConfigError if the options name what can only be done once."""
    for name in ("fix", "diff", "update_baseline", "prune_baseline"):
        if getattr(options, name):
            raise ConfigError(f"--watch does not go with --{name.replace('_', '-')}")
    if "-" in options.paths:
        raise ConfigError("--watch does not go with '-' (standard input)")


def run(options: argparse.Namespace, check: Callable[[argparse.Namespace], int]) -> int:
    """Check, and again at each change, until Ctrl-C; 0."""
    check_options(options)
    try:
        while True:
            before = look(files_of(options))
            _once(options, check)
            _wait(options, before)
    except KeyboardInterrupt:
        return 0


def _once(options: argparse.Namespace, check: Callable[[argparse.Namespace], int]) -> None:
    config.forget()
    if sys.stdout.isatty():
        sys.stdout.write(_CLEAR)
    try:
        check(options)
    except ConfigError as error:  # the next change may put it right
        tell(str(error))
    print(f"{time.strftime('%H:%M:%S')} watching; Ctrl-C ends it", file=sys.stderr, flush=True)


def _wait(options: argparse.Namespace, before: dict[str, State]) -> None:
    """Return when something is not what it was before the last check."""
    while True:
        for _ in range(_SEARCH):
            time.sleep(_PAUSE)
            if look(before) != before:
                return
        if look(files_of(options)).keys() != before.keys():
            return


def look(paths: Iterable[str]) -> dict[str, State]:
    """When files were changed, and their sizes; None for those that are not there."""
    found: dict[str, State] = {}
    for path in paths:
        try:
            state = os.stat(path)
            found[path] = state.st_mtime_ns, state.st_size
        except OSError:
            found[path] = None
    return found


def files_of(options: argparse.Namespace) -> list[str]:
    """All files and folders that a check depends on: those to check, their folders, and the configuration there and above."""
    from stridelint.linter.discover import discover
    from stridelint.linter.setting_options import settings_for

    config.forget()
    found: dict[str, None] = dict.fromkeys(options.paths or ["."])
    try:
        settings_of = settings_for(options)
        for path in options.paths or ["."]:
            for target in discover(path, settings_of(path)).targets:
                found[target.path] = None
                found[os.path.dirname(target.path) or "."] = None
    except ConfigError:
        pass  # the check tells it; what is watched then is the configuration
    found.update(dict.fromkeys(_configurations([os.path.abspath(each) for each in found])))
    named = (options.config, options.baseline, options.operators)
    found.update((name, None) for name in named if name)
    return list(found)


def _configurations(paths: Iterable[str]) -> Iterator[str]:
    """Where the configuration of files and folders may stand. paths: absolute."""
    seen: set[str] = set()
    for path in paths:
        folder = path if os.path.isdir(path) else os.path.dirname(path)
        while folder not in seen:
            seen.add(folder)
            yield from (os.path.join(folder, name) for name in ("pyproject.toml", config.OWN_FILE))
            folder = os.path.dirname(folder)
