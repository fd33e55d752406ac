"""`--format` and `--output`: which reports a run writes, and where."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TextIO

from stridelint.linter import writing
from stridelint.linter.config import ConfigError, suggestion
from stridelint.linter.telling import tell

if TYPE_CHECKING:
    from stridelint.linter.findings import Report
    from stridelint.linter.reports.context import Context

FORMATS = ("text", "json", "sarif", "github", "gitlab", "junit", "html")
STDOUT = "-"
_LOOKS_LIKE_A_FORMAT = re.compile(r"([A-Za-z][A-Za-z0-9_-]+):(.*)", re.DOTALL)  # one letter is a drive of Windows


class Output(NamedTuple):
    """A report to write: its format, and a file or `STDOUT`. is_plain: `--output` did not name the format."""

    format: str
    file: str
    is_plain: bool = False


def wanted(form: str | None, outputs: Sequence[str] | None) -> list[Output]:
    """The reports that the options ask for: each `--output` is FORMAT:FILE, or a FILE for the report of `--format`.

    Without a plain FILE, `--format` means standard output, and so does no option at all. Raises ConfigError.
    """
    found = [_output(written, form) for written in outputs or ()]
    if not found or (form is not None and not any(each.is_plain for each in found)):
        found.insert(0, Output(form or "text", STDOUT, True))
    for index, each in enumerate(found):
        for other in found[:index]:
            if each.file == other.file == STDOUT:
                raise ConfigError(f"both the {other.format} and the {each.format} report would go to standard output")
            if each.file != STDOUT and os.path.realpath(each.file) == os.path.realpath(other.file):
                raise ConfigError(f"both the {other.format} and the {each.format} report would go to {each.file}")
    for each in found:
        obstacle = "" if each.file == STDOUT else writing.obstacle(each.file)
        if obstacle:
            # Before the work, so that a wrong path does not cost a long run.
            raise ConfigError(f"cannot write {each.file}: {obstacle}")
    return found


def _output(written: str, form: str | None) -> Output:
    if written in FORMATS:
        raise ConfigError(
            f"--output {written}: name a file ({written}:FILE), or write ./{written} for a file of that name"
        )
    match = _LOOKS_LIKE_A_FORMAT.fullmatch(written)
    if match is None:
        return Output(form or "text", written or STDOUT, True)
    name, file = match.groups()
    if name not in FORMATS:
        hint = suggestion(name, FORMATS) or f"; a file of that name is ./{written}"
        raise ConfigError(f"--output {written}: unknown format '{name}', known are {', '.join(FORMATS)}{hint}")
    return Output(name, file or STDOUT)


def write_all(outputs: Sequence[Output], report: Report, context: Context, stdout: TextIO) -> bool:
    """Write all reports; False if one of them could not be written, which stops no other.

    Who has named a format for each file is told in a line what they hold.
    """
    is_complete = True
    for output in outputs:
        remarks: list[str] = []
        try:
            text = _rendered(output, report, context._replace(remark=remarks.append), stdout)
            if output.file == STDOUT:
                stdout.write(text)
                stdout.flush()
            else:
                writing.write(output.file, text)
            if output.format == "github":
                _summarise(report, context)
        except BrokenPipeError:
            raise
        except Exception as error:
            is_complete = False
            tell(f"the {output.format} report is not written: {_reason(error, output)}")
        for remark in remarks:
            tell(f"{output.format}: {remark}")
    if is_complete and not any(output.is_plain or output.file == STDOUT for output in outputs):
        from stridelint.linter.reports.text import summary

        stdout.write(f"{summary(report)} Written to {', '.join(output.file for output in outputs)}.\n")
    return is_complete


def _summarise(report: Report, context: Context) -> None:
    """Show the findings on the page of a GitHub Actions run, too. The annotations are out: failing here fails nothing."""
    from stridelint.linter.reports import step_summary

    try:
        step_summary.append(report, context, dict(os.environ))
    except OSError as error:
        tell(f"the step summary is not written: {error.strerror or error}")


def _rendered(output: Output, report: Report, context: Context, stdout: TextIO) -> str:
    if output.format == "text" and output.file == STDOUT:
        context = context._replace(colour=_has_colour(stdout))
    module = importlib.import_module(f"stridelint.linter.reports.{output.format}")
    text: str = module.render(report, context)
    return text


def _has_colour(stream: TextIO) -> bool:
    """Colour for a terminal, unless the user says no (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _reason(error: Exception, output: Output) -> str:
    if isinstance(error, OSError):
        place = "standard output" if output.file == STDOUT else output.file
        return f"cannot write {place}: {error.strerror or error}"
    from stridelint.linter.errors import internal_error

    return internal_error(error)
