"""`pytest --stridelint`: runs tests under the trace. Loaded by every pytest, so it imports nothing until it is asked for.

Under xdist the workers send what they saw to the controller, which reports once.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from stridelint.linter.tracing import Document

_NAME = "stridelint-trace"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options, all of them without effect unless `--stridelint` is given."""
    group = parser.getgroup("stridelint", "tensor layouts and out= (stridelint)")
    group.addoption(
        "--stridelint",
        action="store_true",
        help="judge the calls of torch that tests make, and say which findings of `stridelint check` they bear out",
    )
    group.addoption(
        "--stridelint-watch", metavar="PATH", action="append", help="judge calls there (default: the root folder)"
    )
    group.addoption(
        "--stridelint-select", metavar="CODES", action="append", help="ask these rules only: codes, names, ALL"
    )
    group.addoption("--stridelint-ignore", metavar="CODES", action="append", help="but not these")
    group.addoption("--stridelint-output", metavar="FILE", help="write the report there, as JSON if the name ends so")


def pytest_configure(config: pytest.Config) -> None:
    """Start the trace where it was asked for."""
    if config.getoption("stridelint"):
        config.pluginmanager.register(TracePlugin(config), _NAME)


class TracePlugin:
    """The trace of one pytest process."""

    def __init__(self, config: pytest.Config) -> None:
        import importlib
        import importlib.util
        import os

        from stridelint.linter import tracing
        from stridelint.linter.config import ConfigError

        if importlib.util.find_spec("torch") is None:
            raise pytest.UsageError("--stridelint needs torch: pip install 'stridelint[probe]'")
        self.config = config
        self.watch = config.getoption("stridelint_watch") or [str(config.rootpath)]
        self.arguments = []
        for name in ("select", "ignore"):
            for codes in config.getoption(f"stridelint_{name}") or ():
                self.arguments += [f"--{name}", codes]
        for path in self.watch:
            if not os.path.exists(path):
                raise pytest.UsageError(f"--stridelint-watch: no such file or folder: {path}")
        try:
            self.selection = tracing.selection_of(self.arguments)
        except ConfigError as error:
            raise pytest.UsageError(f"--stridelint: {error}") from None
        # By name: how code is read does not depend on how it is run.
        records = importlib.import_module("stridelint.runtime_probe.trace_record")
        self._frames = importlib.import_module("stridelint.runtime_probe.trace_frames")
        rules = importlib.import_module("stridelint.runtime_probe.trace_rules")
        start = importlib.import_module("stridelint.runtime_probe.trace_start")
        self.recorder: Any = records.Recorder(rules.judging(rule.code for rule in self.selection.rules))
        self.tracer: Any = start.Tracer(self.recorder, [os.path.abspath(path) for path in self.watch])
        self.tracer.spare_compiled_code()
        self.received: list[Document] = []

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, None]:
        """Watch a test with its fixtures."""
        entered = self.tracer.enter()
        yield
        if entered:
            self.tracer.leave()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
        """What fails a test is an error that nobody handles; its traceback shows the test's own frames."""
        if call.excinfo is not None:
            error = call.excinfo.value
            self._frames.strip(error)
            if error.__traceback__ is not None:
                call.excinfo = pytest.ExceptionInfo.from_exc_info((type(error), error, error.__traceback__))
        outcome = yield
        if call.excinfo is not None and outcome.get_result().failed:
            self.recorder.escaped(call.excinfo.value)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """A worker hands over what it saw."""
        self.recorder.finish()
        if hasattr(self.config, "workeroutput"):
            self.config.workeroutput["stridelint"] = self.recorder.documents

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """The controller takes what a worker saw; one that crashed hands over nothing."""
        self.received += getattr(node, "workeroutput", {}).get("stridelint", [])

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Report."""
        from stridelint.linter import tracing
        from stridelint.linter.config import ConfigError
        from stridelint.linter.reports import trace

        terminalreporter.section("stridelint")
        try:
            report = tracing.checked([*self.arguments, *map(tracing.relative, self.watch)])
        except ConfigError as error:
            terminalreporter.write_line(f"stridelint: {error}")
            report = {"findings": [], "skipped": []}
        traced = tracing.traced(report, [*self.recorder.documents, *self.received], self.selection)
        path = self.config.getoption("stridelint_output")
        if path is None:
            lines = list(trace.render_text(traced))
            for line in lines:
                terminalreporter.write_line(line)
            return
        if path.endswith(".json"):
            text = trace.render_json(traced, ["pytest", *map(str, self.config.invocation_params.args)], None)
        else:
            text = "\n".join(trace.render_text(traced))
        try:
            with open(path, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text + "\n")
            terminalreporter.write_line(f"report written to {path}")
        except OSError as error:
            terminalreporter.write_line(f"stridelint: cannot write {path}: {error.strerror}")
