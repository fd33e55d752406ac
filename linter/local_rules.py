"""Rules of a project's own: Python files that its configuration names (`local-rules`), imported from where they are.

What is broken in them is told and left out; the other rules and all files go on. The linted code is never imported, these
files are: so only a configuration that the user works under may name them (see `config.find`).
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import sys
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from stridelint.linter.config import ConfigError

if TYPE_CHECKING:
    from stridelint.rules.rule import Rule

CODE = re.compile(r"[A-Z]{1,3}[0-9]{3}")
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+")
_OURS = "TLC"


class Problem(NamedTuple):
    """What is wrong with a file of local rules, and on which line (0: none in particular)."""

    path: str
    line: int
    reason: str

    def __str__(self) -> str:
        place = f"{shown(self.path)}:{self.line}" if self.line else shown(self.path)
        return f"{place}: {self.reason}"


class Loaded(NamedTuple):
    """The rules that can be used, sorted by code, and what is wrong with others."""

    rules: tuple[type[Rule], ...]
    problems: tuple[Problem, ...]


NONE = Loaded((), ())


def files_of(paths: Iterable[str]) -> list[str]:
    """The files of rules: those named, and those right in a folder, but for what starts with `_` or `test_`."""
    found: list[str] = []
    for path in paths:
        if os.path.isdir(path):
            try:
                names = sorted(name for name in os.listdir(path) if name.endswith(".py"))
            except OSError as error:
                raise ConfigError(f"cannot read the local rules in {shown(path)}: {error.strerror}") from None
            found += [os.path.join(path, name) for name in names if not name.startswith(("_", "test_", "conftest."))]
        else:
            found.append(path)
    return list(dict.fromkeys(map(os.path.abspath, found)))


def stamp(paths: Iterable[str]) -> str:
    """A short text that changes with what these files, and all Python files in these folders, hold."""
    import hashlib

    digest = hashlib.sha256()
    for path in paths:
        for file in sorted(_python_files(path)):
            try:
                with open(file, "rb") as opened:
                    content = opened.read()
            except OSError:
                continue  # that is told where it is imported
            digest.update(os.fsencode(file) + b"\0" + content + b"\0")
    return digest.hexdigest()[:16]


def _python_files(path: str) -> Iterator[str]:
    if not os.path.isdir(path):
        yield path
    for here, _, names in os.walk(path):
        yield from (os.path.join(here, name) for name in names if name.endswith(".py"))


def load(paths: tuple[str, ...], stamp: str = "") -> Loaded:
    """Import the rules in these files and folders, and make them known to the registry.

    Raises ConfigError where two rules have one code or name, or a code is not the project's to give.
    """
    from stridelint.rules.registry import adopt

    loaded = _loaded(paths, stamp)
    adopt(loaded.rules)
    return loaded


@functools.lru_cache(maxsize=4)
def _loaded(paths: tuple[str, ...], stamp: str) -> Loaded:
    from stridelint.linter import rule_limits
    from stridelint.rules.registry import all_rules

    known = {word: "built in" for rule in all_rules() for word in (rule.code, rule.name)}
    rules: list[type[Rule]] = []
    problems: list[Problem] = []
    for path in files_of(paths):
        try:
            module = rule_limits.alone(functools.partial(_imported, path, stamp))
        except Exception as error:
            problems.append(Problem(path, line_of(error, path), f"{_told(error)}; its rules are left out"))
            continue
        for rule, line in _candidates(module):
            reason = _fault(rule)
            if reason:
                problems.append(Problem(path, line, f"{reason}; the rule '{rule.__name__}' is left out"))
                continue
            if _OURS.startswith(rule.code.rstrip("0123456789")):
                raise ConfigError(
                    f"{shown(path)}:{line}: {rule.code} is a code of stridelint's own; take another prefix, like LOC"
                )
            for word in (rule.code, rule.name):
                if word in known:
                    raise ConfigError(f"{shown(path)}:{line}: the rule {word} exists already: {known[word]}")
                known[word] = f"{shown(path)}:{line}"
            rule_limits.limit(rule)
            rules.append(rule)
    return Loaded(tuple(sorted(rules, key=lambda rule: rule.code)), tuple(problems))


def _imported(path: str, stamp: str) -> ModuleType:
    """The module in a file, under a name that nothing else has; its neighbours are `from . import`."""
    from stridelint.linter.rule_limits import Stop

    folder, name = os.path.split(path)
    package = f"stridelint_local_rules_{abs(hash((folder, stamp))):x}"
    if package not in sys.modules:
        sys.modules[package] = ModuleType(package)
        sys.modules[package].__path__ = [folder]
    module = ModuleType(f"{package}.{name.removesuffix('.py')}")
    module.__file__, module.__package__ = path, package
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)
    sys.modules[module.__name__] = module
    try:
        # Standard output is for the report.
        with contextlib.redirect_stdout(sys.stderr):
            exec(code, module.__dict__)
    except BaseException as error:
        del sys.modules[module.__name__]
        if isinstance(error, (Exception, KeyboardInterrupt, Stop)):
            raise
        raise RuntimeError(f"ends the program when it is imported: {type(error).__name__}") from error
    return module


def _candidates(module: ModuleType) -> Iterator[tuple[type[Rule], int]]:
    """The rules that a module defines, with their lines; also those that lack a code, but are no base of others."""
    from stridelint.rules.rule import Rule

    classes = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Rule) and value.__module__ == module.__name__
    ]
    for each in dict.fromkeys(classes):
        if "code" in vars(each) or not any(other is not each and issubclass(other, each) for other in classes):
            yield each, _line(each)


def _line(rule: type[Rule]) -> int:
    import inspect

    try:
        return inspect.getsourcelines(rule)[1]
    except (OSError, TypeError):
        return 0


def _fault(rule: type[Rule]) -> str:
    """Why a class cannot be used as a rule; "" if it can."""
    from stridelint.linter import documentation
    from stridelint.linter.config import torch_version
    from stridelint.rules.rule import Invalid, Rule, Severity

    code, name = getattr(rule, "code", None), getattr(rule, "name", None)
    if not isinstance(code, str) or not CODE.fullmatch(code):
        return f"its code must be one to three capital letters and three digits, like LOC001, not {code!r}"
    if not isinstance(name, str) or not NAME.fullmatch(name):
        return f"{code}: its name must be words in lower case with '-' between them, not {name!r}"
    if not isinstance(getattr(rule, "severity", None), Severity):
        return f"{code}: its severity must be one of Severity.ERROR, WARNING, NOTE"
    if not hasattr(rule, "words"):
        rule.words = ()  # any file that uses torch concerns it
    for field, kind in (("words", str), ("ops", str), ("VALID", str), ("INVALID", Invalid)):
        value = getattr(rule, field)
        if not isinstance(value, (tuple, list, set, frozenset)) or not all(isinstance(each, kind) for each in value):
            return f"{code}: {field} must hold {'strings' if kind is str else 'Invalid(...)'}, with a comma after a single one"
    asked = ("check", "check_test", "check_module")
    if all(getattr(rule, each) is getattr(Rule, each) for each in asked):
        return f"{code}: it defines none of {', '.join(asked)}"
    missing = [title for title in documentation.HEADINGS[:4] if not documentation.sections(rule).get(title)]
    if missing:
        return f"{code}: its docstring lacks {', '.join(repr(title) for title in missing)}"
    try:
        for version in (rule.since, rule.until):
            if version is not None:
                torch_version(version)
        rule()
    except Exception as error:
        return f"{code}: {_told(error)}"
    return ""


def line_of(error: BaseException, path: str) -> int:
    """The line of a file on which an error arose; 0 if none of it took part."""
    import traceback

    if isinstance(error, SyntaxError) and error.filename == path:
        return error.lineno or 0
    first = error.__cause__ or error
    lines = [frame.lineno or 0 for frame in traceback.extract_tb(first.__traceback__) if frame.filename == path]
    return lines[-1] if lines else 0


def _told(error: BaseException) -> str:
    text = error.msg if isinstance(error, SyntaxError) else " ".join(str(error).split())[:200]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def shown(path: str) -> str:
    """A path as people write it: from the current folder if it lies there."""
    inside = os.path.relpath(path)
    return path if inside.startswith(os.pardir) else inside
