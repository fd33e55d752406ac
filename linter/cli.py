"""The command `stridelint`. Imports little: most runs of a hook find no file with tensor code and must end at once."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from stridelint.linter import config

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

_CHECK_EPILOG = """\
examples:
  stridelint check .
  stridelint check --output html:audit.html --output sarif:audit.sarif src
  stridelint check --baseline stridelint-baseline.json --update-baseline .
  stridelint check --select TLC1,TLC301 --ignore TLC103 src
  stridelint check --diff src               what --fix would change
  git show :model.py | stridelint check --stdin-filename model.py -

A finding is hidden by `# noqa` or `# noqa: TLC101` on any line of its statement, or above it by a line with
`# stridelint: ignore[TLC101]`; docs/suppression.md tells more.
Settings are read from [tool.stridelint] in the nearest pyproject.toml; options given here win:
  [tool.stridelint]
  extend-exclude = ["third_party"]
  ignore = ["TLC204"]

A file that cannot be analysed is named with the reason (TLC901) and does not change the exit status.

exit status:
  0  no findings        1  findings        2  wrong usage or internal error
"""


_TRACE_EPILOG = """\
examples:
  stridelint trace -- python train.py --epochs 1
  stridelint trace --output trace.txt -- train.py --epochs 1
  stridelint trace --watch src --select TLC1 --format json --output trace.json -m package.train

The program's output, exit status and errors are those it has without the trace. Of each finding of `check` in the watched
files the report says: confirmed, refuted (in this run), unreached, or unjudged (a run cannot show it). It adds hazards
that only the run shows, and the places where channels_last tensors become row-major. docs/trace.md tells more.

exit status:
  the program's; 1 if --fail-on asks for it; 2 for wrong usage
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
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # odd file names, and terminals without Unicode
    try:
        status = _dispatch(arguments)
        sys.stdout.flush()
        return status
    except config.ConfigError as error:
        print(f"stridelint: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader (`head`, a pager) has seen enough; without this Python complains when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print("stridelint: interrupted", file=sys.stderr)
        return 130
    except Exception as error:
        from stridelint.linter.errors import internal_error

        print(f"stridelint: {internal_error(error)}", file=sys.stderr)
        return 2


def _dispatch(arguments: list[str]) -> int:
    name = arguments[0] if arguments else ""
    if name == "probe":
        from stridelint.linter.commands import probe

        return probe(arguments[1:])
    if name == "trace":
        from stridelint.linter import trace_command

        own, program = trace_command.split(arguments[1:])
        parser = _Parser("stridelint trace", **_described(name))
        _add_trace(parser)
        return trace_command.run(parser.parse_args(own), program)
    if name in _COMMANDS:
        # Only this command's parser: argparse takes as long to make all of them as to start Python.
        parser = _Parser(f"stridelint {name}", **_described(name))
        _COMMANDS[name][1](parser)
        return _run(name, parser.parse_args(arguments[1:]))
    parser = _Parser("stridelint", description=_DESCRIPTION, epilog=_EPILOG)
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, prog="stridelint")
    for name in _COMMANDS:
        commands.add_parser(name, help=_COMMANDS[name][0])
    if not arguments:
        parser.print_help(sys.stderr)
        return 2
    if os.path.exists(arguments[0]):
        raise config.ConfigError(f"'{arguments[0]}' is no command; to check it: stridelint check {arguments[0]}")
    parser.parse_args(arguments)
    raise AssertionError("a known command has its own parser")


def _described(name: str) -> dict[str, str]:
    text = _COMMANDS[name][0]
    epilog = {"check": _CHECK_EPILOG, "trace": _TRACE_EPILOG}.get(name, "")
    return {"description": text[0].upper() + text[1:] + ".", "epilog": epilog}


def check_options(arguments: Sequence[str]) -> argparse.Namespace:
    """The options of `stridelint check`, for commands that check as part of what they do."""
    parser = _Parser("stridelint check")
    _add_check(parser)
    return parser.parse_args(list(arguments))


def _run(name: str, options: argparse.Namespace) -> int:
    """Run a command; its module is imported only now."""
    if name == "check":
        from stridelint.linter import check_command

        return check_command.run(options)
    if name == "server":
        from stridelint.linter import server

        return server.serve()
    if name == "cache":
        from stridelint.linter import cache_command

        return cache_command.run(options)
    if name == "config":
        from stridelint.linter import config_command

        return config_command.run(options)
    if name == "test-rules":
        from stridelint.linter import rule_examples

        return rule_examples.run(options)
    from stridelint.linter import commands

    return int(getattr(commands, name.replace("-", "_"))(options))


def _add_check(parser: argparse.ArgumentParser) -> None:
    from stridelint.linter import run_helpers, setting_options
    from stridelint.linter.reports import outputs

    parser.add_argument("paths", metavar="PATH", nargs="*", help="files, folders, or - for standard input (default: .)")
    parser.add_argument(
        "--stdin-filename", metavar="NAME", help="what to call standard input, also to find its settings"
    )
    setting_options.add_choosing(parser.add_argument_group("what to report"))
    fixes = parser.add_argument_group("fixes (checked before they are written; see docs/fixes.md)")
    fixes.add_argument("--fix", action="store_true", help="make the safe fixes; with '-' print the fixed text")
    fixes.add_argument("--unsafe-fixes", action="store_true", help="take in fixes that change more than the hazard")
    fixes.add_argument("--diff", action="store_true", help="only show what would be fixed; exit 1 if that is anything")
    fixes.add_argument(
        "--add-noqa",
        action="store_true",
        help="write `# noqa: CODE` to each line with a finding instead (see docs/suppression.md)",
    )
    probe = parser.add_argument_group("confirmation (needs torch; no code of yours is run)")
    probe.add_argument(
        "--probe",
        choices=("auto", "cpu", "cuda"),
        help="replay each finding on real tensors: auto takes a GPU if there is one",
    )
    probe.add_argument(
        "--fail-on",
        choices=(*config.FAIL_ON, "confirmed"),
        help="which findings make the exit status 1: all (default), those of a severity and graver, or those that the "
        "probe confirms",
    )
    output = parser.add_argument_group("output")
    output.add_argument(
        "--format",
        choices=outputs.FORMATS,
        help="how to report on standard output, or in a plain --output FILE (default: text)",
    )
    output.add_argument(
        "--output",
        metavar="[FORMAT:]FILE",
        action="append",
        help="write a report there; several of them from one run: --output html:audit.html --output sarif:audit.sarif",
    )
    output.add_argument(
        "--show-suppressed",
        action="store_true",
        help="in json, sarif and html also findings that noqa hides or that are in the baseline, marked so",
    )
    output.add_argument("--statistics", action="store_true", help="count findings by rule, and tell where the time went (text, json)")
    output.add_argument("--exit-zero", action="store_true", help="exit 0 even with findings")
    known = parser.add_argument_group("baseline: findings to live with (see docs/baseline.md)")
    known.add_argument("--baseline", metavar="FILE", help="report only findings that are not in this file")
    known.add_argument("--no-baseline", action="store_true", help="report all findings, whatever baseline the configuration names")
    known.add_argument(
        "--update-baseline", action="store_true", help="write all present findings into the baseline, and exit 0"
    )
    known.add_argument(
        "--prune-baseline", action="store_true", help="take entries out of the baseline whose findings are gone"
    )
    known.add_argument(
        "--error-stale-baseline", action="store_true", help="exit 1 if the baseline has such entries"
    )
    files = parser.add_argument_group("configuration and files")
    setting_options.add_configuration(files)
    setting_options.add_files(files)
    run_helpers.add_options(parser.add_argument_group("the run (see docs/cache.md)"))


def _add_trace(parser: argparse.ArgumentParser) -> None:
    parser.usage = "stridelint trace [OPTIONS] (-- [python] FILE | -m MODULE) [ARGS ...]"
    parser.add_argument(
        "--watch",
        metavar="PATH",
        action="append",
        help="judge calls in this folder or file (default: .); installed packages only where they are named",
    )
    for name, text in (
        ("--select", "ask these rules only: codes, prefixes, names, or ALL; commas between them"),
        ("--ignore", "but not these; the longer prefix wins"),
        ("--extend-select", "ask these as well"),
    ):
        parser.add_argument(name, metavar="CODES", action="append", help=text)
    parser.add_argument("--min-confidence", metavar="LEVEL", help="as in `check`")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    parser.add_argument("--output", metavar="FILE", help="write the report there (default: standard error)")
    parser.add_argument(
        "--fail-on",
        choices=("none", "confirmed", "any"),
        default="none",
        help="exit 1 after a program that exits 0: never (default), for what the run confirms or shows, for any finding",
    )


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from stridelint import __version__

        print(f"stridelint {__version__}")
        parser.exit()


def _add_config(parser: argparse.ArgumentParser) -> None:
    from stridelint.linter import setting_options

    parser.add_argument("path", metavar="PATH", nargs="?", default=".", help="a file or folder (default: .)")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    options = parser.add_argument_group("as in `check`, to see what they would change")
    setting_options.add_configuration(options)
    setting_options.add_choosing(options)
    setting_options.add_files(options)


def _add_cache(parser: argparse.ArgumentParser) -> None:
    from stridelint.linter import cache_command

    cache_command.add_options(parser)


def _add_rules(parser: argparse.ArgumentParser) -> None:
    from stridelint.linter.setting_options import add_configuration

    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    add_configuration(parser)


def _add_server(parser: argparse.ArgumentParser) -> None:
    # Editors pass it; there is no other way to talk.
    parser.add_argument("--stdio", action="store_true", help="accepted, and without effect: there is no other way")


def _add_explain(parser: argparse.ArgumentParser) -> None:
    from stridelint.linter.setting_options import add_configuration

    parser.add_argument("code", metavar="CODE", help="a code or a name: TLC101, argument-order-layout")
    add_configuration(parser)


def _add_new_rule(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "code", metavar="CODE", help="TLC and three digits, the first chooses the folder; with --local a prefix of your own"
    )
    parser.add_argument("name", metavar="NAME", help='kebab-case, reads as "allow NAME"')
    parser.add_argument("--local", metavar="DIR", help="a rule of your project's own, in this folder (docs/local_rules.md)")


def _add_test_rules(parser: argparse.ArgumentParser) -> None:
    from stridelint.linter.setting_options import add_configuration

    parser.add_argument(
        "paths", metavar="PATH", nargs="*", help="files or folders of rules (default: `local-rules` of the configuration)"
    )
    add_configuration(parser)


def _add_docs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if they are out of date")
    parser.add_argument("--local", metavar="DIR", help="write the pages of your project's own rules into this folder")


# What --help says of a command, and what declares its options.
_COMMANDS: dict[str, tuple[str, Callable[[argparse.ArgumentParser], None]]] = {
    "check": ("check files and folders", _add_check),
    "trace": ("run a program and say which findings its calls of torch bear out", _add_trace),
    "config": ("show the settings and rules that hold for a path, and where they are from", _add_config),
    "cache": ("tell where the cache is, or delete it", _add_cache),
    "rules": ("list all rules", _add_rules),
    "explain": ("explain a rule", _add_explain),
    "server": ("serve an editor (Language Server Protocol on standard input and output)", _add_server),
    "new-rule": ("start a rule: one file with documentation, examples and a check", _add_new_rule),
    "test-rules": ("run the examples of your project's own rules", _add_test_rules),
    "docs": ("write docs/rules.md and docs/rules/ from the rules", _add_docs),
    "probe": ("replay findings on a real torch, or measure it: FINDINGS.json, verify, harvest", lambda parser: None),
}
