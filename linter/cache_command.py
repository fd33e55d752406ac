"""`stridelint cache`: what the cache holds, and deleting it."""

from __future__ import annotations

import argparse
import os

from stridelint.linter import cache, cache_file, config
from stridelint.linter.config import ConfigError


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "action", metavar="ACTION", choices=("info", "clean"), help="info: where and how large it is; clean: delete it"
    )
    parser.add_argument(
        "path", metavar="PATH", nargs="?", default=".", help="whose cache: of a project, a folder in it (default: .)"
    )
    parser.add_argument("--cache-dir", metavar="DIR", help="the folder, if it is not the usual one")


def run(options: argparse.Namespace) -> int:
    """Tell or delete, and return the exit status."""
    folder = cache.folder_for(config.find(options.path), options.cache_dir)
    shown = folder if os.path.relpath(folder).startswith(os.pardir) else os.path.relpath(folder)
    if options.action == "clean":
        try:
            number = cache_file.clean(folder)
        except OSError as error:
            raise ConfigError(f"cannot delete {error.filename or shown}: {error.strerror or error}") from None
        print(f"{shown}: {_files(number)} deleted." if number else f"{shown}: nothing to delete.")
        return 0
    found = cache_file.files_in(folder)
    size = sum(state[2] for state in map(cache_file.state_of, (each.path for each in found)) if state)
    print(f"{shown}: {_files(len(found))}, {size / 1e6:.1f} MB.")
    return 0


def _files(number: int) -> str:
    return f"{number} file{'s' * (number != 1)} of outcomes"
