"""How rules word findings: sites, notes, strides and shapes as text."""

from __future__ import annotations

from stridelint.rules.claims import Claim
from stridelint.rules.contract.answers import Confidence
from stridelint.rules.contract.facts import Dims
from stridelint.rules.events import Note, Operand, Site, TensorEvent
from stridelint.rules.rule import Finding, Rule, Severity

# How the story of a tensor words a conversion that did nothing.
NO_OP = "stays as it is here"


def found(
    rule: Rule,
    event: TensorEvent,
    message: str,
    *,
    confidence: Confidence = Confidence.CERTAIN,
    site: Site | None = None,
    about: tuple[Operand, ...] = (),
    severity: Severity | None = None,
    claim: Claim | None = None,
    explained: tuple[Site, ...] = (),
) -> Finding:
    """A finding of `rule` at an event (or another `site`), no surer than the path it lies on.

    about: operands whose stories become the finding's notes.
    claim: what torch does there (see `claims`), for the probe to check.
    explained: sites of findings that this one already tells.
    """
    notes = tuple(note for operand in about for note in story(operand))
    explained = (*explained, *(note.site for note in notes if note.message.endswith(NO_OP)))
    return Finding(
        type(rule),
        site or event.site,
        message,
        min(confidence, event.confidence),
        notes,
        severity,
        claim,
        event,
        explained,
    )


def story(operand: Operand) -> tuple[Note, ...]:
    """Notes on what made a tensor what it is."""
    name = operand.text or "the tensor"
    return tuple(Note(note.site, f"'{name}' {note.message}") for note in operand.story)


def tuple_text(dims: Dims | None) -> str:
    """A shape or strides as torch writes it; symbols by name."""
    if dims is None:
        return "unknown"
    inner = ", ".join(str(dim) for dim in dims)
    return f"({inner},)" if len(dims) == 1 else f"({inner})"


def quoted(operand: Operand, default: str = "the tensor") -> str:
    """How the code names a tensor, in quotes."""
    return f"'{operand.text}'" if operand.text else default
