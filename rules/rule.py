"""What a rule is: its documentation, its examples, and the check of an event."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from stridelint.rules.claims import Claim
from stridelint.rules.contract.answers import Confidence
from stridelint.rules.events import Note, Site, TensorEvent, TestEvent

if TYPE_CHECKING:
    import ast

    import libcst

    from stridelint.rules.forms.edits import Code, Fix
    from stridelint.rules.screening import Nodes


class Severity(enum.Enum):
    """error: torch raises or computes wrong numbers; warning: silently another layout or a vacuous test; note: advice."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Finding:
    """A hazard at a place. `site` is where a person would edit.

    claim: what torch does there, for the probe to check.
    event: what the finding was judged on.
    explained: sites of findings that this one already tells as part of its story (a no-op that makes a later view raise);
        they are not reported on their own.
    """

    rule: type[Rule]
    site: Site
    message: str
    confidence: Confidence = Confidence.CERTAIN
    notes: tuple[Note, ...] = ()
    severity: Severity | None = None
    claim: Claim | None = None
    event: TensorEvent | TestEvent | None = None
    explained: tuple[Site, ...] = ()


@dataclass(frozen=True, slots=True)
class Invalid:
    """Code with findings of one rule: `expected` lists all of them as (line, column, message), both counted from 1.

    fixed: the code after all fixes; None if there is nothing to fix. safe: whether `--fix` alone makes it so, without
        `--unsafe-fixes`.
    """

    code: str
    expected: tuple[tuple[int, int, str], ...]
    fixed: str | None = None
    safe: bool = True


class Rule:
    """Base of all rules. A subclass is one file: docstring, VALID, INVALID, `check` (or `check_test`), perhaps `fix`.

    code, name: "TLC101", "argument-order-layout" (reads as "allow ...").
    severity: the usual one; a finding may carry its own.
    words: the screen lets a file pass to the interpreter only if it holds one of these (byte strings, cheap to look for);
        the rule cannot fire in a file without any.
    also: words of which the code must hold one, too; no byte strings, see `screening.words`.
    ops: canonical operator names that `check` wants to see; empty means all.
    quiet: reported only in audits (`--min-confidence possible`) or when selected by its code.
    since, until: versions of torch ("2.3") between which what it finds is so, until being the first in which it is not;
        None where no such version is known.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    severity: ClassVar[Severity]
    words: ClassVar[tuple[str, ...]]
    also: ClassVar[tuple[str, ...]] = ()
    ops: ClassVar[frozenset[str]] = frozenset()
    quiet: ClassVar[bool] = False
    since: ClassVar[str | None] = None
    until: ClassVar[str | None] = None
    VALID: ClassVar[tuple[str, ...]] = ()
    INVALID: ClassVar[tuple[Invalid, ...]] = ()

    @classmethod
    def screen(cls, tree: ast.Module) -> bool:
        """Whether the rule can fire in a module at all, by its stdlib tree; asked only when `words` occur in its code."""
        from stridelint.rules.screening import nodes_of

        places = cls.places_in(nodes_of(tree))
        return places is None or bool(places)

    @classmethod
    def places_in(cls, nodes: Nodes) -> frozenset[str] | None:
        """`places`, worked out once per module; nowhere if that fails, see `Nodes.failures`."""
        if cls not in nodes.places:
            try:
                nodes.places[cls] = cls.places(nodes)
            except Exception as error:
                nodes.places[cls], nodes.failures[cls] = frozenset(), error
        return nodes.places[cls]

    @classmethod
    def places(cls, nodes: Nodes) -> frozenset[str] | None:
        """The units (see `Nodes`) in which the rule can fire; None: wherever one of its words occurs."""
        return None

    @classmethod
    def wants(cls, op: str, *, in_place: bool, out: bool) -> bool:
        """Whether `check` can find anything in a call of this operator that changes a tensor in place, or is given an out=.
        Most code does neither: of calls that no rule wants to see no event is made."""
        return not cls.ops or op in cls.ops

    def check(self, event: TensorEvent) -> Iterator[Finding]:
        """Judge one call of an operator."""
        return iter(())

    def check_test(self, test: TestEvent) -> Iterator[Finding]:
        """Judge one test function."""
        return iter(())

    def check_module(self, module: libcst.Module) -> Iterator[Finding]:
        """Judge how a file's code is written, whatever its values are."""
        return iter(())

    def fix(self, finding: Finding, code: Code) -> Fix | None:
        """The edit that puts a finding right, where exactly one is; asked only for findings that are shown."""
        return None
