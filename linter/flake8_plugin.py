"""The flake8 plugin, codes TLC...: one adapter around the same engine.

flake8 adds 1 to columns, so they are given from 0. It hides findings by `noqa` itself, so those are yielded too, but it
looks at one physical line only, so a comment on the other end of a statement is honoured here.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from stridelint import __version__
from stridelint.linter import config, discover, engine, errors, screen, selection
from stridelint.linter.config import ConfigError, Settings
from stridelint.linter.findings import Outcome

if TYPE_CHECKING:
    from flake8.options.manager import OptionManager

Complaint = tuple[int, int, str, type]


class Plugin:
    """What flake8 makes for each file."""

    name = "stridelint"
    version = __version__

    # flake8 parses options once and then checks files, maybe in other processes: what must survive lives on the class.
    given: ClassVar[dict[str, Any]] = {}
    config_file: ClassVar[str | None] = None
    isolated: ClassVar[bool] = False
    disable_noqa: ClassVar[bool] = False
    by_name: ClassVar[tuple[str, ...]] = ()

    def __init__(self, tree: ast.Module, lines: Sequence[str], filename: str) -> None:
        self.tree = tree
        self.lines = lines
        self.filename = filename

    @staticmethod
    def add_options(manager: OptionManager) -> None:
        """Declare the options; their names are common to all plugins, hence the prefix."""

        def add(name: str, **more: Any) -> None:
            manager.add_option(f"--stridelint-{name}", parse_from_config=True, **more)

        add("select", comma_separated_list=True, metavar="CODES", help="run these rules only (codes, prefixes, names)")
        add("extend-select", comma_separated_list=True, metavar="CODES", help="run these rules as well")
        add("min-confidence", metavar="LEVEL", help="certain, likely (default) or possible")
        add("config", metavar="FILE", help="read [tool.stridelint] from this file")
        add("isolated", action="store_true", help="read no [tool.stridelint]")

    @classmethod
    def parse_options(cls, options: Any) -> None:
        """Keep the options; those of flake8 win over [tool.stridelint]."""
        cls.given = {}
        if options.stridelint_select:
            cls.given["select"] = tuple(options.stridelint_select)
            cls.given["extend_select"] = cls.given["ignore"] = ()
        if options.stridelint_extend_select:
            cls.given["extend_select"] = tuple(options.stridelint_extend_select)
        cls.config_file = options.stridelint_config
        cls.isolated = bool(options.stridelint_isolated)
        cls.disable_noqa = bool(options.disable_noqa)
        # Who gives flake8 itself a full code has asked for that rule, quiet or not.
        asked = [*(options.select or ()), *(options.extend_select or ())]
        cls.by_name = tuple(code for code in asked if code.startswith("TLC") and len(code) == 6)
        try:
            if options.stridelint_min_confidence:
                cls.given["min_confidence"] = config.confidence(options.stridelint_min_confidence)
            selection.select(cls._settings(os.getcwd()))
        except ConfigError as error:
            # The one exception that flake8 shows as a single line, with exit status 1.
            from flake8.exceptions import ExecutionError

            raise ExecutionError(f"stridelint: {error}") from None

    def run(self) -> Iterator[Complaint]:
        """All findings of the file; whatever happens, flake8 goes on to the next one."""
        try:
            outcome = self._check()
        except Exception as error:
            outcome = engine.skipped(self.filename, errors.internal_error(error))
        for finding in sorted(outcome.findings + outcome.suppressed):
            yield finding.line, finding.column - 1, f"{finding.code} {finding.message}", type(self)
        for skipped in outcome.skipped:
            yield 1, 0, f"TLC901 {skipped.reason}", type(self)

    def _check(self) -> Outcome:
        text = "".join(self.lines)
        data = text.encode("utf-8", "surrogatepass")
        if not screen.may_use_torch(data):
            return Outcome()
        settings = self._settings(self.filename)
        if discover.is_excluded(self.filename, settings):
            return Outcome()
        outcome = engine.check_decoded(self.filename, text, data, self.tree, selection.select(settings))
        if self.disable_noqa or not outcome.suppressed:
            return outcome
        from stridelint.linter.suppress import Suppressions

        by_flake8 = Suppressions(text).hides_physically
        return outcome._replace(suppressed=tuple(f for f in outcome.suppressed if by_flake8(f.line, f.code)))

    @classmethod
    def _settings(cls, path: str) -> Settings:
        if cls.isolated:
            settings = Settings()
        elif cls.config_file:
            settings = config.read(cls.config_file) or Settings()
        else:
            settings = config.find(path if os.path.exists(path) else ".")
        settings = settings._replace(**cls.given)
        return settings._replace(extend_select=(*settings.extend_select, *cls.by_name))
