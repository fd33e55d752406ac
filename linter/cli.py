"""The command `stridelint`. Imports little: most runs of a hook find no file with tensor code and must end at once."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from stridelint.linter import config
from stridelint.linter.command_options import COMMANDS, EPILOGS
from stridelint.linter.telling import tell

_DESCRIPTION = """\
Finds the places where a tensor's memory layout or an out= argument breaks PyTorch's contract.
"""

_EPILOG = """\
examples:
  stridelint check                          check the current folder
  stridelint check src tests/test_conv.py   check folders and files
  stridelint check --select TLC3 src        only the out= rules
  stridelint check --min-confidence possible src
                                            audit: also what only a caller decides, and advice
  stridelint check --diff src               what --fix would change
  stridelint explain TLC101                 what a rule finds, why, and what to do

exit status:
  0  no findings        1  findings        2  wrong usage or internal error
"""


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """argparse makes a formatter for each argument; measuring the terminal itself saves importing shutil."""

    def __init__(self, prog: str) -> None:
        try:
            columns = int(os.environ.get("COLUMNS") or os.get_terminal_size().columns)
        except (OSError, ValueError):
            columns = 100
        super().__init__(prog, width=min(max(columns, 40), 120) - 2)


class _Parser(argparse.ArgumentParser):
    """Errors are one line; the usage is what --help is for."""

    def __init__(self, prog: str, **more: Any) -> None:
        super().__init__(prog, formatter_class=_Formatter, allow_abbrev=False, **more)

    def error(self, message: str) -> NoReturn:
        raise config.ConfigError(f"{message} (see {self.prog} --help)")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    # A program that closes them before it starts us leaves Python without.
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # odd file names, and terminals without Unicode
    try:
        status = _dispatch(arguments)
        sys.stdout.flush()
        return status
    except config.ConfigError as error:
        tell(str(error))
        return 2
    except BrokenPipeError:  # the reader (`head`, a pager) has seen enough
        _close_output()
        return 1
    except KeyboardInterrupt as error:
        tell(str(error) or "interrupted")
        return 143 if str(error) else 130
    except Exception as error:
        from stridelint.linter.errors import internal_error

        tell(_obstacle(error) or internal_error(error))
        return 2


def _close_output() -> None:
    """Without this Python complains when it flushes at exit."""
    with contextlib.suppress(OSError):  # it may be none of the system's
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _obstacle(error: Exception) -> str:
    """What the system does not let us do; "" if the error is another one."""
    import errno

    if not isinstance(error, OSError):
        return ""
    try:
        os.getcwd()
    except OSError:
        return "the current folder is gone"
    if error.filename is None and error.errno in (errno.ENOSPC, errno.EIO, errno.EBADF, errno.EFBIG, errno.EDQUOT):
        _close_output()
        return f"cannot write standard output: {error.strerror}"
    return ""


def _dispatch(arguments: list[str]) -> int:
    name = arguments[0] if arguments else ""
    if name == "probe":
        from stridelint.linter.commands import probe

        return probe(arguments[1:])
    if name == "trace":
        from stridelint.linter import trace_command

        own, program = trace_command.split(arguments[1:])
        parser = _Parser("stridelint trace", **_described(name))
        COMMANDS[name][1](parser)
        return trace_command.run(trace_command.parsed(parser, own), program)
    if name in COMMANDS:
        # Only this command's parser: argparse takes as long to make all of them as to start Python.
        parser = _Parser(f"stridelint {name}", **_described(name))
        COMMANDS[name][1](parser)
        return _run(name, parser.parse_args(arguments[1:]))
    parser = _Parser("stridelint", description=_DESCRIPTION, epilog=_EPILOG)
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, prog="stridelint")
    for name in COMMANDS:
        commands.add_parser(name, help=COMMANDS[name][0])
    if not arguments:
        parser.print_help(sys.stderr)
        return 2
    if os.path.exists(arguments[0]):
        raise config.ConfigError(f"'{arguments[0]}' is no command; to check it: stridelint check {arguments[0]}")
    parser.parse_args(arguments)
    raise AssertionError("a known command has its own parser")


def _described(name: str) -> dict[str, str]:
    text = COMMANDS[name][0]
    return {"description": text[0].upper() + text[1:] + ".", "epilog": EPILOGS.get(name, "")}


def check_options(arguments: Sequence[str]) -> argparse.Namespace:
    """The options of `stridelint check`, for commands that check as part of what they do."""
    parser = _Parser("stridelint check")
    COMMANDS["check"][1](parser)
    return parser.parse_args(list(arguments))


# Where the commands are that have a module of their own; the others are functions of `commands`.
_MODULES = {
    "check": "check_command",
    "cache": "cache_command",
    "config": "config_command",
    "test-rules": "rule_examples",
}


def _run(name: str, options: argparse.Namespace) -> int:
    """Run a command; its module is imported only now."""
    if name == "server":
        from stridelint.linter import server

        return server.serve()
    import importlib

    if name in _MODULES:
        return int(importlib.import_module(f"stridelint.linter.{_MODULES[name]}").run(options))
    commands = importlib.import_module("stridelint.linter.commands")
    return int(getattr(commands, name.replace("-", "_"))(options))


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from stridelint import __version__

        print(f"stridelint {__version__}")
        parser.exit()
