"""The flake8 plugin, codes TLC...: one adapter around the same engine.

flake8 adds 1 to columns, so they are given from 0. It hides findings by `noqa` itself, so those are yielded too, but it
looks at one physical line only, so a comment on another line of the statement is honoured here, and so are comments of
stridelint's own.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from stridelint import __version__
from stridelint.linter import config, discover, engine, errors, screen, selection
from stridelint.linter.config import ConfigError, Settings
from stridelint.linter.findings import Outcome
from stridelint.linter.reports.escaping import line
from stridelint.linter.setting_options import check_table, converted
from stridelint.linter.telling import tell
from stridelint.rules import registry

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
    idle: ClassVar[bool] = False  # flake8 would show nothing of what is found

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
        add("assume", comma_separated_list=True, metavar="FACTS", help="as in `stridelint check`: channels_last[:NAME]")
        add("target-torch", metavar="VERSION", help="the torch that the code is for: 2.3")
        add("operators", metavar="FILE", normalize_paths=True, help="judge by this table of operators")
        add("config", metavar="FILE", normalize_paths=True, help="read [tool.stridelint] from this file")
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
        asked = [*(options.select or ()), *(options.extend_select or ())]
        try:
            cls.given |= cls._converted(options)
            cls.by_name = ()
            settings = cls._settings(os.getcwd())
            own = selection.loaded(settings)
            # Who gives flake8 itself a full code has asked for that rule, quiet or not.
            cls.by_name = tuple(code for code in asked if code in registry.by_code())
            selection.select(cls._settings(os.getcwd()))
        except ConfigError as error:
            # The one exception that flake8 shows as a single line, with exit status 1.
            from flake8.exceptions import ExecutionError

            raise ExecutionError(f"stridelint: {error}") from None
        # flake8 shows by default what begins like a plugin's name; local rules have other prefixes.
        options.extended_default_select.extend(sorted({rule.code[:-3] for rule in own.rules}))
        for problem in own.problems:
            tell(str(problem))
        cls.idle = not _shows_any(options, {*registry.by_code(), *(rule.code for rule in own.rules)})

    @staticmethod
    def _converted(options: Any) -> dict[str, Any]:
        """The options that need to be checked, by the field of Settings. Raises ConfigError."""
        found: dict[str, Any] = {}
        for name, convert in (
            ("min_confidence", config.confidence),
            ("assume", config.assumptions),
            ("target_torch", config.torch_version),
        ):
            value = getattr(options, f"stridelint_{name}")
            if value:
                found[name] = converted("--stridelint-" + name.replace("_", "-"), convert, value)
        if options.stridelint_operators:
            check_table(options.stridelint_operators, "--stridelint-operators")
            found["operators"] = options.stridelint_operators
        return found

    def run(self) -> Iterator[Complaint]:
        """All findings of the file; whatever happens, flake8 goes on to the next one."""
        if self.idle:
            return
        try:
            outcome = self._check()
        except Exception as error:
            outcome = engine.skipped(self.filename, errors.internal_error(error))
        for finding in sorted(outcome.findings + outcome.suppressed):
            yield finding.line, finding.column - 1, f"{finding.code} {line(finding.message)}", type(self)
        for skipped in outcome.skipped:
            yield 1, 0, f"TLC901 {line(skipped.reason)}", type(self)

    def _check(self) -> Outcome:
        text = "".join(self.lines)
        data = text.encode("utf-8", "surrogatepass")
        commented = screen.has_comments(data)
        if not commented and not screen.may_use_torch(data):
            return Outcome()
        settings = self._settings(self.filename)
        if discover.is_excluded(self.filename, settings):
            return Outcome()
        chosen = selection.select(settings)
        outcome = engine.check_decoded(self.filename, text, data, self.tree, chosen)
        if commented and chosen.shows_unused and not outcome.skipped:
            from stridelint.linter.suppress_unused import unused

            idle = unused(self.filename, text, outcome.used, chosen, alone=True)
            outcome = outcome._replace(
                findings=outcome.findings + idle.findings, suppressed=outcome.suppressed + idle.suppressed
            )
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


def _shows_any(options: Any, codes: Iterable[str]) -> bool:
    """Whether flake8, which runs all plugins and then sorts out, shows any of these codes."""
    from flake8.style_guide import Decision, DecisionEngine

    engine = DecisionEngine(options)
    return any(engine.decision_for(code) is Decision.Selected for code in codes)
