"""The options of each command, and what its --help says. Made for one command at a time: argparse is slow."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from stridelint.linter import config

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
Settings are read from [tool.stridelint] in the nearest pyproject.toml, or a stridelint.toml; options given here win, and
`stridelint config` shows what holds:
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
    output.add_argument(
        "--statistics", action="store_true", help="count findings by rule, and tell where the time went (text, json)"
    )
    output.add_argument("--exit-zero", action="store_true", help="exit 0 even with findings")
    known = parser.add_argument_group("baseline: findings to live with (see docs/baseline.md)")
    known.add_argument("--baseline", metavar="FILE", help="report only findings that are not in this file")
    known.add_argument(
        "--no-baseline", action="store_true", help="report all findings, whatever baseline the configuration names"
    )
    known.add_argument(
        "--update-baseline", action="store_true", help="write all present findings into the baseline, and exit 0"
    )
    known.add_argument(
        "--prune-baseline", action="store_true", help="take entries out of the baseline whose findings are gone"
    )
    known.add_argument("--error-stale-baseline", action="store_true", help="exit 1 if the baseline has such entries")
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
        "code",
        metavar="CODE",
        help="TLC and three digits, the first chooses the folder; with --local a prefix of your own",
    )
    parser.add_argument("name", metavar="NAME", help='kebab-case, reads as "allow NAME"')
    parser.add_argument(
        "--local", metavar="DIR", help="a rule of your project's own, in this folder (docs/local_rules.md)"
    )


def _add_test_rules(parser: argparse.ArgumentParser) -> None:
    from stridelint.linter.setting_options import add_configuration

    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="*",
        help="files or folders of rules (default: `local-rules` of the configuration)",
    )
    add_configuration(parser)


def _add_docs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if they are out of date")
    parser.add_argument("--local", metavar="DIR", help="write the pages of your project's own rules into this folder")


# What --help says of a command, and what declares its options.
COMMANDS: dict[str, tuple[str, Callable[[argparse.ArgumentParser], None]]] = {
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

_CONFIG_EPILOG = """\
examples:
  stridelint config                            what holds in the current folder
  stridelint config tests/test_conv.py         for a file: also what per-file-ignores leaves out there
  stridelint config --select TLC1 --target-torch 2.5 src
  stridelint config --format json src

Each setting is shown with where it is from: default, file and line, or command line; each rule with why it runs or does
not. docs/configuration.md tells what the settings mean.
"""

_NEW_RULE_EPILOG = """\
examples:
  stridelint new-rule LOC001 silent-float64 --local tools/lint_rules
  stridelint test-rules tools/lint_rules

and in pyproject.toml, so that `check` runs it (docs/local_rules.md has a complete example):
  [tool.stridelint]
  local-rules = ["tools/lint_rules"]

Without --local the rule is one of stridelint's own, in a checkout of it: stridelint new-rule TLC314 name-of-the-hazard
"""

_TEST_RULES_EPILOG = """\
A VALID example must have no finding; an INVALID one exactly those that it lists, at their lines and columns and with their
messages, and `fixed` must be what the fixes make of it.

exit status:
  0  all examples hold        1  some do not, or a rule is broken        2  wrong usage
"""

EPILOGS = {
    "check": _CHECK_EPILOG,
    "trace": _TRACE_EPILOG,
    "config": _CONFIG_EPILOG,
    "new-rule": _NEW_RULE_EPILOG,
    "test-rules": _TEST_RULES_EPILOG,
}
