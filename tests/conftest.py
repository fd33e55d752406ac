"""Stand-ins for the rules and the interpreter, so that the front ends are tested on their own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import libcst
import pytest

from stridelint.linter import cli, inference, selection
from stridelint.rules import registry
from stridelint.rules.contract.answers import Confidence
from stridelint.rules.could_not_analyse import CouldNotAnalyse
from stridelint.rules.events import Note, Site
from stridelint.rules.rule import Finding, Rule, Severity
from stridelint.rules.unused_suppression import UnusedSuppression


class Viewed(Rule):
    """Any call of `view`."""

    code, name, severity, words = "TLC104", "viewed", Severity.ERROR, (".view(",)


class Stored(Rule):
    """Any call of `store`; `store(1)` is possible only."""

    code, name, severity, words = "TLC303", "stored", Severity.WARNING, ("store",)


class Hushed(Rule):
    """Any call of `hush`."""

    code, name, severity, words, quiet = "TLC203", "hushed", Severity.NOTE, ("hush",), True


STUBS: tuple[type[Rule], ...] = (Viewed, Hushed, Stored)


def stub_analyse(module: libcst.Module, rules: Sequence[type[Rule]], **_: object) -> Any:
    """Find calls of the stub rules' methods; other methods make it fail in each way that an interpreter can."""
    findings: list[Finding] = []
    exhausted = None

    class Visitor(libcst.CSTVisitor):
        def visit_Call(self, node: libcst.Call) -> None:
            nonlocal exhausted
            name = node.func.attr.value if isinstance(node.func, libcst.Attribute) else ""
            by_name = {"view": Viewed, "store": Stored, "hush": Hushed}
            rule = by_name.get(name)
            if rule in rules and rule is not None:
                sure = Confidence.POSSIBLE if name == "store" and node.args else Confidence.CERTAIN
                notes = (Note(Site(node=node.func), f"'{name}' is here"),)
                findings.append(Finding(rule, Site(node=node), f"calls {name}", sure, notes))
            elif name == "raise_error":
                raise KeyError("a mistake")
            elif name == "recurse":
                raise RecursionError
            elif name == "exhaust":
                exhausted = "1000 steps"
            elif name == "die":
                os._exit(9)

    module.visit(Visitor())
    return SimpleNamespace(findings=findings, exhausted=exhausted, failures=())


@pytest.fixture
def no_rules_stay() -> Iterator[None]:
    """Local rules that a test has loaded are gone after it."""
    yield
    registry.adopt(())


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of the test's own, and no page of a run: what stands in for rules must not reach those of this repository."""
    monkeypatch.setenv("STRIDELINT_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)  # where the tests themselves run


@pytest.fixture
def stubs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The stub rules and the stub interpreter instead of the real ones."""
    every: tuple[type[Rule], ...] = (*STUBS, CouldNotAnalyse, UnusedSuppression)
    known = {rule.code: rule for rule in every}
    monkeypatch.setattr(selection, "all_rules", lambda: STUBS)
    monkeypatch.setattr(selection, "by_code", lambda: known)
    monkeypatch.setattr(inference, "analyse", stub_analyse, raising=False)
    selection.select.cache_clear()
    yield
    selection.select.cache_clear()


class Result(SimpleNamespace):
    status: int
    out: str
    err: str


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """Runs the command in this process."""

    def run(*arguments: object) -> Result:
        capsys.readouterr()
        status = cli.main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Result(status=status, out=captured.out, err=captured.err)

    return run
