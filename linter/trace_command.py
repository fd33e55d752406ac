"""`stridelint trace`: runs a program as it is, and says what of the findings its calls of torch bear out.

The program runs in a process of its own: its exit status, output, errors and signals are those it has without the trace.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from stridelint.linter import tracing
from stridelint.linter.config import ConfigError

if TYPE_CHECKING:
    import argparse

_NEEDS_VALUE = ("-W", "-X", "--check-hash-based-pycs")
NO_TORCH = "the trace needs torch: pip install 'stridelint[probe]'"


class Program(NamedTuple):
    """What to run: options of Python, then `-m MODULE ARGS` or `FILE ARGS`."""

    interpreter: list[str]
    command: list[str]


def split(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """The trace's own options, and the program with its arguments: what follows `--`, or starts with `-m`."""
    for index, each in enumerate(arguments):
        if each == "--":
            return list(arguments[:index]), list(arguments[index + 1 :])
        if each == "-m":
            return list(arguments[:index]), list(arguments[index:])
    return list(arguments), []


def parsed(parser: argparse.ArgumentParser, own: Sequence[str]) -> argparse.Namespace:
    """The trace's own options. Raises ConfigError, also for a program without the `--` in front of it."""
    unknown = parser.parse_known_args(own)[1]
    if unknown and not unknown[0].startswith("-"):
        program = unknown[0]
        start = own.index(program)
        command = shlex.join(["stridelint", "trace", *own[:start], "--", *own[start:]])
        raise ConfigError(f"'{program}' is no option of trace; to run it: {command}")
    return parser.parse_args(own)


def program_of(words: Sequence[str]) -> Program:
    """What the words after `--` run. Raises ConfigError."""
    rest, interpreter = list(words), []
    if rest and (rest[0] == sys.executable or re.fullmatch(r"python(3(\.\d+)?)?(\.exe)?", os.path.basename(rest[0]))):
        del rest[0]
        while rest and rest[0].startswith("-") and rest[0] not in ("-m", "-c", "-"):
            interpreter += rest[: 1 + (rest[0] in _NEEDS_VALUE)]
            del rest[: 1 + (rest[0] in _NEEDS_VALUE)]
    if not rest or rest == ["-m"]:
        raise ConfigError(
            "trace needs a program: stridelint trace -- train.py ARGS, or stridelint trace -m package ARGS"
        )
    if rest[0] in ("-c", "-"):
        raise ConfigError(f"trace runs files and modules, not 'python {rest[0]}': put the code into a file")
    if rest[0] != "-m" and not os.path.exists(rest[0]):
        is_path = rest[0].endswith(".py") or os.path.basename(rest[0]) != rest[0]
        hint = "" if is_path else f" (for a module that is installed: stridelint trace -m {rest[0]})"
        raise ConfigError(f"no such file: {rest[0]}{hint}")
    return Program(interpreter, rest)


def run(options: argparse.Namespace, words: Sequence[str]) -> int:
    """Run a program under the trace, report, and return its exit status."""
    program = program_of(words)
    if importlib.util.find_spec("torch") is None:
        raise ConfigError(NO_TORCH)
    watch = options.watch or ["."]
    for path in watch:
        if not os.path.exists(path):
            raise ConfigError(f"--watch: no such file or folder: {path}")
    chosen = check_arguments(options)
    selection = tracing.selection_of(chosen)
    with _output(options.output) as stream, tempfile.TemporaryDirectory(prefix="stridelint") as folder:
        report = os.path.join(folder, "trace.jsonl")
        asked = {
            "report": report,
            "rules": [rule.code for rule in selection.rules],
            "watch": [os.path.abspath(path) for path in watch],
        }
        # The folder that the program leaves may not be the one it was started in.
        status = _wait(program, json.dumps(asked))
        documents = tracing.read(report) if os.path.exists(report) else []
        traced = tracing.traced(tracing.checked([*chosen, *watch]), documents, selection)
        write(traced, stream, options.format, program.command, status)
    if traced.failing(options.fail_on) and status == 0:
        return 1
    return _end_alike(status)


def check_arguments(options: argparse.Namespace) -> list[str]:
    """The options that `check` takes, too, as it takes them."""
    found = []
    for name in ("select", "ignore", "extend_select"):
        for value in getattr(options, name) or ():
            found += [f"--{name.replace('_', '-')}", value]
    if options.min_confidence:
        found += ["--min-confidence", options.min_confidence]
    return found


def write(traced: tracing.Traced, stream: Any, form: str, program: list[str], status: int | None) -> None:
    """Write the report."""
    from stridelint.linter.reports import trace

    if form == "json":
        stream.write(trace.render_json(traced, program, status) + "\n")
    else:
        for line in trace.render_text(traced):
            stream.write(line + "\n")
    stream.flush()


@contextlib.contextmanager
def _output(path: str | None) -> Iterator[Any]:
    """Where the report goes: not to where the program's own output goes. Opened before the work."""
    if path is None:
        yield sys.stderr
        return
    try:
        stream = open(path, "w", encoding="utf-8", errors="backslashreplace")  # noqa: SIM115
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror}") from None
    with stream:
        yield stream


def _wait(program: Program, asked: str) -> int:
    """Run the child to its end. Signals reach it as if it had been started alone."""
    spec = importlib.util.find_spec("stridelint.runtime_probe.trace_child")
    assert spec is not None and spec.origin is not None
    sys.stdout.flush()
    command = [sys.executable, *program.interpreter, spec.origin, asked, *program.command]
    child = subprocess.Popen(command)

    def forward(number: int, frame: object) -> None:
        if number != signal.SIGINT or not _has_terminal():
            child.send_signal(number)

    names = ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGQUIT")
    before = {number: signal.signal(number, forward) for name in names if (number := getattr(signal, name, None))}
    try:
        return child.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _has_terminal() -> bool:
    """Whether Ctrl-C comes from a terminal, which tells the child as well."""
    try:
        return os.tcgetpgrp(sys.stderr.fileno()) == os.getpgrp()
    except (AttributeError, OSError, ValueError):
        return False


def _end_alike(status: int) -> int:
    """The program's exit status; if a signal ended it, the same signal ends this process."""
    if status >= 0:
        return status
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        signal.signal(-status, signal.SIG_DFL)
    except (OSError, ValueError):  # SIGKILL has no handler to reset
        pass
    os.kill(os.getpid(), -status)
    return 128 - status
