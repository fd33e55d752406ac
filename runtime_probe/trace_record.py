"""What a trace keeps: calls by their place in the code, judged once for each kind of tensors they get.

Everything here is bounded by the size of the traced code: a place that gets ever new kinds of tensors (sizes that change
with every batch) is judged for the first of them only.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import traceback
from collections.abc import Iterable
from typing import Any, TextIO

from stridelint.rules.claims import Kind
from stridelint.rules.contract.layout import RANK_OF
from stridelint.rules.events import Note, Operand, Site, TensorEvent
from stridelint.rules.rule import Finding, Rule
from stridelint.runtime_probe.trace_events import Call, Story
from stridelint.runtime_probe.trace_source import Place, module

# Kinds of tensors that are judged at one place.
MOST_KINDS = 64
_FORMATS = {rank: name for name, rank in RANK_OF.items()}


class Kept:
    """One kind of tensors at a place. count: calls. drops: channels_last goes in and row-major comes out."""

    __slots__ = ("count", "drops", "step")

    def __init__(self) -> None:
        self.count = 0
        self.drops = False
        # What the call adds to the story of its result; None: nothing, and the result has no story.
        self.step: Story | None = None


class Spot:
    """All calls of one operator at one place.

    kinds: by signature. rest: calls that were not looked at any more. called: some call could be read as an event.
    codes: of rules that reported here; with "?" those that would have, had the tensors been made channels_last on purpose.
    raised: some call raised an error.
    """

    __slots__ = ("called", "codes", "kinds", "op", "place", "raised", "rest")

    def __init__(self, place: Place, op: str) -> None:
        self.place = place
        self.op = op
        self.kinds: dict[Any, Kept] = {}
        self.rest = 0
        self.codes: set[str] = set()
        self.called = self.raised = False


class Recorder:
    """Judges events and writes down what comes of them, at once: a program may end without a word.

    Args:
        rules: those to ask (see `trace_rules.judging`).
        stream: gets one JSON document a line; None: they are kept in `documents`.
    """

    def __init__(self, rules: Iterable[type[Rule]], stream: TextIO | None = None) -> None:
        self.rules = [(rule(), rule.ops) for rule in rules]
        self.stream = stream
        self.documents: list[dict[str, Any]] = []
        self.spots: list[Spot] = []
        self.judged = self.failures = 0
        self.failure = ""
        self._told: set[tuple[Any, ...]] = set()
        self._asked = functools.cache(self._rules_of)

    def _rules_of(self, op: str) -> tuple[Rule, ...]:
        return tuple(rule for rule, ops in self.rules if not ops or op in ops)

    def spot(self, place: Place, op: str) -> Spot:
        """A new place."""
        made = Spot(place, op)
        self.spots.append(made)
        return made

    def judge(self, spot: Spot, call: Call, result: Any, error: BaseException | None) -> None:
        """Show a call to the rules."""
        rules = self._asked(call.called.op)
        if not rules:
            return
        spot.raised = spot.raised or error is not None
        event = call.event(result)
        self.judged += 1
        supposed: set[str] | None = None
        for rule in rules:
            found = [each for each in rule.check(event) if _happened(each, error)]
            for finding in found:
                spot.codes.add(rule.code)
                self._tell(spot, finding, error)
            if not found:
                supposed = supposed or set()
                supposed |= {each.rule.code for each in rule.check(_on_purpose(event)) if _happened(each, error)}
        spot.codes |= {f"{code}?" for code in supposed or ()}

    def _tell(self, spot: Spot, finding: Finding, error: BaseException | None) -> None:
        place = _place(finding.site, spot.place)
        key = (place, finding.rule.code, finding.message)
        if key in self._told:
            return
        self._told.add(key)
        severity = finding.severity or finding.rule.severity
        self.write(
            {
                "kind": "finding",
                "path": place.path,
                "line": place.line,
                "column": place.column or 1,
                "end_line": place.end_line or place.line,
                "end_column": place.end_column or 1,
                "code": finding.rule.code,
                "message": finding.message,
                "severity": severity.value,
                "confidence": finding.confidence.name.lower(),
                "notes": [[note.site.path, note.site.line, note.message] for note in finding.notes],
                "raised": "" if error is None else _text(error),
            }
        )

    def failed(self, error: BaseException) -> None:
        """The tracer itself failed at a call; it says so once."""
        self.failures += 1
        if not self.failure:
            frames = traceback.extract_tb(error.__traceback__)
            where = f" at {os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""
            self.failure = f"{_text(error)}{where}"

    def escaped(self, error: BaseException) -> None:
        """An error left the program (or failed a test): whatever raised it is no longer handled by anybody."""
        seen: set[int] = set()
        errors: list[BaseException | None] = [error]
        for each in errors:
            if each is None or id(each) in seen:
                continue
            seen.add(id(each))
            errors += [each.__cause__, each.__context__]
            lines = [[frame.f_code.co_filename, line] for frame, line in traceback.walk_tb(each.__traceback__)]
            self.write({"kind": "escaped", "error": _text(each), "lines": lines})

    def finish(self) -> None:
        """Write down the places; to be called once, at the end."""
        self.write(
            {
                "kind": "end",
                "calls": sum(spot.rest + sum(kept.count for kept in spot.kinds.values()) for spot in self.spots),
                "judged": self.judged,
                "failures": self.failures,
                "failure": self.failure,
                "spots": [_summary(spot) for spot in self.spots if spot.called],
            }
        )

    def write(self, document: dict[str, Any]) -> None:
        """Keep a document."""
        if self.stream is None:
            self.documents.append(document)
            return
        try:
            self.stream.write(json.dumps(document) + "\n")
            self.stream.flush()
        except (OSError, ValueError):
            self.stream = None  # the file is gone; the program goes on


def _summary(spot: Spot) -> dict[str, Any]:
    return {
        **dataclasses.asdict(spot.place),
        "op": spot.op,
        "calls": spot.rest + sum(kept.count for kept in spot.kinds.values()),
        "unseen": spot.rest,
        "drops": sum(kept.count for kept in spot.kinds.values() if kept.drops),
        "codes": sorted(spot.codes),
        "raised": spot.raised,
    }


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"


def _place(site: Site, otherwise: Place) -> Place:
    """The range of a finding's site."""
    if site.node is None or site.path is None:
        return otherwise
    return module(site.path).place(site.node, site.line or otherwise.line)  # type: ignore[arg-type]  # made in this package


def _happened(finding: Finding, error: BaseException | None) -> bool:
    """Whether torch raised where the finding says so, and only there."""
    kind = None if finding.claim is None else finding.claim.kind
    if kind is Kind.RAISES_OR_WRONG:
        return True
    return (error is not None) == (kind is Kind.RAISES)


def _on_purpose(event: TensorEvent) -> TensorEvent:
    """The event as it is when somebody made its channels_last tensors so, out of sight of the trace."""

    def told(operand: Operand) -> Operand:
        name = _FORMATS.get(operand.facts.rank or 0)
        step = () if name is None else (Note(operand.site, f"becomes {name} here"),)
        return dataclasses.replace(operand, story=(*operand.story, *step))

    arguments = {name: told(value) if isinstance(value, Operand) else value for name, value in event.arguments.items()}
    return dataclasses.replace(event, arguments=arguments, tensors=tuple(map(told, event.tensors)))
