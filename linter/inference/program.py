"""One file under analysis: its rules, budgets and findings."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar, cast

import libcst as cst

from stridelint.linter.inference.bindings import ModuleIndex
from stridelint.linter.inference.imports import MAX_MODULES, Imports
from stridelint.linter.inference.objects import Function, Instance
from stridelint.linter.statistics import judged
from stridelint.rules.claims import Kind
from stridelint.rules.events import Note, Site, TensorEvent, TestEvent
from stridelint.rules.forms.walking import children, source_code
from stridelint.rules.rule import Finding, Rule

if TYPE_CHECKING:
    from stridelint.linter.inference.scopes import Scope

MAX_TEXT = 60
_EXITS = frozenset({cst.Return, cst.Raise, cst.Break, cst.Continue})
Argument = TypeVar("Argument")
Result = TypeVar("Result")


class FoundOne(Exception):
    """There is a finding of the kind that was asked for."""


class _Listening:
    """Rules that wait for events; asked: who wants to see those of an operator, by how it writes (see `Rule.wants`).

    words: names in the rules' words. told, exits: what `Program.tells` and `only_exits` found, by node.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.words = {name for rule in rules for word in rule.words for name in re.findall(r"[A-Za-z_]\w*", word)}
        self.rules = [rule for rule in rules if type(rule).check is not Rule.check or rule.ops]
        self.asked: dict[tuple[str, bool, bool], tuple[Rule, ...]] = {}
        self.told: dict[int, int] = {}
        self.exits: dict[int, bool] = {}

    def to(self, op: str, in_place: bool, out: bool) -> tuple[Rule, ...]:
        """The rules that wait for calls of an operator that change a tensor in place, or are given an out=."""
        key = op, in_place, out
        known = self.asked.get(key)
        if known is None:
            known = tuple(rule for rule in self.rules if rule.wants(op, in_place=in_place, out=out))
            self.asked[key] = known
        return known


class Program:
    """What all paths through a file share.

    steps: how much work is left for the file; root_steps: for the function being read.
    telling: names that matter to the rules; None for all.
    imports: where other modules of the project are found, as long as the function being read is followed there; place: the file's path and package.
    source: how a node is written, on its own; written: with the comments in it, and above a function.
    assume: facts of the inputs of models.
    until: the first finding for which this holds ends the reading.
    templates: objects as their constructors leave them, by class; each path takes a copy.
    scopes: of modules, and of functions with functions in them, on all paths.
    """

    def __init__(
        self,
        module: cst.Module,
        rules: Sequence[type[Rule]],
        budget: int,
        telling: frozenset[str] | None = None,
        until: Callable[[Finding], bool] | None = None,
        source: Callable[[cst.CSTNode], str] = source_code,
        place: tuple[str, str] = ("", ""),
        assume: tuple[str, ...] = (),
        written: Callable[[cst.CSTNode], str] = source_code,
    ) -> None:
        self.module = module
        self.imports: Imports | None = None
        self.assume = assume
        self._source = source
        self.written = written
        self.index = ModuleIndex(module, *place)
        self._modules: dict[str, ModuleIndex | None] = {}
        self.steps = budget
        self.root_steps = budget
        self.telling = telling
        self.until = until
        self.rules = [rule() for rule in rules]
        self.findings: dict[tuple[str, int], Finding] = {}
        self.failures: dict[type[Rule], Exception] = {}
        self.storages = itertools.count(1)
        self.templates: dict[int, Instance] = {}
        self.scopes: list[Scope] = []
        self.result_types: dict[object, tuple[str | None, str | None]] = {}
        self._memory: dict[tuple[str, int], object] = {}
        self._names: dict[int, tuple[set[str], bool]] = {}
        self._all = _Listening(self.rules)
        self._some: dict[frozenset[type[Rule]], _Listening] = {}
        self._now = self._all

    def close(self) -> None:
        """Nothing more is read. What names in a scope stand for refers to the scope again: without these circles all that was made,
        the tree included, is freed at once, not when the garbage collector finds it."""
        for scope in self.scopes:
            scope.values.clear()
        self.templates.clear()

    def listen(self, rules: frozenset[type[Rule]] | None) -> None:
        """From now on events matter to these rules only (None: all); no others can fire in what is read."""
        if rules is None:
            self._now = self._all
        else:
            if rules not in self._some:
                self._some[rules] = _Listening([rule for rule in self.rules if type(rule) in rules])
            self._now = self._some[rules]

    def is_foreign(self, function: Function) -> bool:
        """Whether a function stands in another file of the project."""
        return self.imports is not None and function.scope.module.index is not self.index

    def module_index(self, dotted: str, importer: str) -> ModuleIndex | None:
        """The names of another module of the project."""
        if dotted not in self._modules:
            few = self.imports is not None and len(self._modules) < MAX_MODULES
            found = self.imports.load(dotted, importer) if self.imports is not None and few else None
            self._modules[dotted] = None if found is None else ModuleIndex(found.module, found.path, found.package)
        return self._modules[dotted]

    def tells(self, node: cst.CSTNode | None) -> int:
        """How much the branches of a condition differ in what matters: 2 for a word of a rule, 1 for a name that tells
        something or an exit, 0 for nothing."""
        if node is None or self.telling is None:
            return 1
        known = self._now.told.get(id(node))
        if known is None:
            known = self._now.told[id(node)] = self._tells(node, self.telling)
        return known

    def only_exits(self, node: cst.If) -> bool:
        """Whether a branch leaves the block, with no word of a rule on the way: a guard, behind which the code goes on."""
        known = self._now.exits.get(id(node))
        if known is None:
            statements = node.body.body
            last = statements[-1] if statements else None
            ends = type(last.body[-1] if type(last) is cst.SimpleStatementLine else last) in _EXITS
            inside = self._names_and_exits(node.body)[0]
            known = self._now.exits[id(node)] = ends and self._now.words.isdisjoint(inside)
        return known

    def _names_and_exits(self, node: cst.CSTNode) -> tuple[set[str], bool]:
        """The names in a piece of code, and whether something in it leaves a block; of blocks within it remembered."""
        if id(node) not in self._names:
            names: set[str] = set()
            exits = False
            waiting = [node]
            while waiting:
                each = waiting.pop()
                if type(each) is cst.Name:
                    names.add(each.value)
                elif type(each) is cst.IndentedBlock and each is not node:
                    inner = self._names_and_exits(each)
                    names |= inner[0]
                    exits |= inner[1]
                else:
                    exits |= type(each) in _EXITS
                    waiting += children(each)
            self._names[id(node)] = names, exits
        return self._names[id(node)]

    def _tells(self, node: cst.CSTNode, telling: frozenset[str]) -> int:
        names, exits = self._names_and_exits(node)
        if not self._now.words.isdisjoint(names):
            return 2
        exits = exits and not (isinstance(node, cst.If) and self.only_exits(node))
        return int(exits or not telling.isdisjoint(names))

    def once(self, node: cst.CSTNode, compute: Callable[[Argument], Result], argument: Argument) -> Result:
        """What a function of a node gives, computed once per file."""
        key = (compute.__name__, id(node))
        if key not in self._memory:
            self._memory[key] = compute(argument)
        return cast(Result, self._memory[key])

    def text(self, node: cst.CSTNode | None) -> str:
        """How an expression is written, on one line and shortened."""
        if node is None:
            return ""
        return node.value if isinstance(node, cst.Name) else self.once(node, self._text, node)

    def _text(self, node: cst.CSTNode) -> str:
        text = " ".join(self._source(node).split())
        return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 3] + "..."

    def listens(self, op: str, in_place: bool = False, out: bool = False) -> bool:
        """Some rule wants to see events of this operator that change a tensor in place, or are given an out=."""
        return bool(self._now.to(op, in_place, out))

    def judge(self, event: TensorEvent, through: cst.CSTNode | None = None, raising: bool = True) -> None:
        """Show an event to the rules that listen to it.

        through: the call that led to it into another file. raising: errors that torch raises there are worth telling.
        """
        for rule in self._now.to(event.op, event.in_place, event.out is not None):
            for finding in self._asked(rule, rule.check, event):
                if not raising and finding.claim is not None and finding.claim.kind is Kind.RAISES:
                    continue
                if through is not None:
                    note = Note(Site(through), "this call leads there")
                    finding = dataclasses.replace(finding, notes=(*finding.notes, note))
                self.add(finding)

    def judge_test(self, test: TestEvent) -> None:
        """Show a test function to the rules about tests."""
        for rule in self.rules:
            for finding in self._asked(rule, rule.check_test, test):
                self.add(finding)

    def judge_module(self) -> None:
        """Show the file's code to the rules about how it is written."""
        for rule in self.rules:
            for finding in self._asked(rule, rule.check_module, self.module):
                self.add(finding)

    def _asked(self, rule: Rule, check: Callable[[Argument], Iterable[Finding]], about: Argument) -> Sequence[Finding]:
        """What a rule finds. One that fails is heard no more in this file, and the others go on."""
        if type(rule) in self.failures:
            return ()
        try:
            found = tuple(judged(rule.code, check, about))
            if not all(isinstance(each, Finding) for each in found):
                raise TypeError(f"{check.__name__} must yield findings, not {found[0]!r}")
        except Exception as error:
            if self.until is not None:  # what is asked of nodes that cannot answer is asked again of others
                raise
            self.failures[type(rule)] = error
            return ()
        return found

    def reported(self) -> list[Finding]:
        """The findings, without those that another one explains."""
        explained = {
            id(site.node)
            for finding in self.findings.values()
            for site in finding.explained
            if site.node is not finding.site.node
        }
        return [finding for finding in self.findings.values() if id(finding.site.node) not in explained]

    def add(self, finding: Finding) -> None:
        """Keep a finding; of several with one code at one place the surest."""
        if self.until is not None and self.until(finding):
            raise FoundOne
        key = (finding.rule.code, id(finding.site.node))
        known = self.findings.get(key)
        if known is None or known.confidence < finding.confidence:
            self.findings[key] = finding
