"""What can be done about findings: fix one, fix all, or live with one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from stridelint.linter.findings import Reported
from stridelint.linter.server.messages import FIX_ALL, touching

QUICK_FIX = "quickfix"


class Offer(NamedTuple):
    """A change that is offered. question, arguments: what makes it (see `answers`). number: tells it among all of a text."""

    title: str
    kind: str
    question: str
    arguments: tuple[object, ...]
    number: int
    findings: tuple[Reported, ...] = ()
    is_preferred: bool = False


def offered(
    findings: Sequence[Reported], first: tuple[int, int], last: tuple[int, int], only: Sequence[str] | None
) -> list[Offer]:
    """What to offer for a range; `only`: the kinds that are asked for, with those below them."""
    near = touching(findings, first, last)
    return [
        offer
        for offer in _every(findings)
        if _is_wanted(offer.kind, only) and (not offer.findings or offer.findings[0] in near)
    ]


def numbered(findings: Sequence[Reported], number: int) -> Offer | None:
    """The offer of a number."""
    return next((each for each in _every(findings) if each.number == number), None)


def _is_wanted(kind: str, only: Sequence[str] | None) -> bool:
    return only is None or any(kind == each or kind.startswith(f"{each}.") for each in only if each)


def _every(findings: Sequence[Reported]) -> list[Offer]:
    found = []
    for number, finding in enumerate(findings):
        patch = finding.patch
        if patch.edits:
            what = patch.description or f"Fix {finding.code}"
            title = f"{finding.code}: {what}" if patch.safe else f"{finding.code}, changes more than the hazard: {what}"
            found.append(Offer(title, QUICK_FIX, "fix", (finding,), 3 * number, (finding,), patch.safe))
        title = f"Suppress with # noqa: {finding.code}"
        found.append(Offer(title, QUICK_FIX, "suppress", (finding,), 3 * number + 1, (finding,)))
    if any(each.is_fixable() for each in findings):
        found.append(Offer("Fix all that stridelint can fix safely", FIX_ALL, "fix_all", (), -1))
    return found
