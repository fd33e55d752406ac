"""The verdict on one finding: its call is made on real tensors, and the rule that reported it judges their facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stridelint.rules import documents
from stridelint.rules.claims import Claim
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.events import Form
from stridelint.rules.registry import by_code
from stridelint.rules.witness import VERSION
from stridelint.runtime_probe.facts_of_tensor import facts_of
from stridelint.runtime_probe.observe import observe
from stridelint.runtime_probe.operate import NoCall
from stridelint.runtime_probe.replayed import Call, mode, prepared
from stridelint.runtime_probe.seen import Seen

CONFIRMED, REFUTED, INCONCLUSIVE = "confirmed", "refuted", "inconclusive"
# What a verdict says of a finding that no call shows.
REASKED = "no more than that the rule reports the same"


@dataclass(frozen=True)
class Verdict:
    """What a replay came to. `observed`: what torch did. `device`: where, "fake" where a device was missing."""

    verdict: str
    reason: str
    observed: str = ""
    device: str = ""


def replay(witness: Mapping[str, Any], device: str) -> Verdict:
    """Replay a witness (see `rules.witness`) in this process."""
    if "reason" in witness:
        return Verdict(INCONCLUSIVE, str(witness["reason"]))
    if not str(witness.get("rule", "TLC")).startswith("TLC"):
        return Verdict(INCONCLUSIVE, "the finding is of a local rule, which the probe does not run")
    if witness.get("version") != VERSION or witness.get("rule") not in by_code():
        return Verdict(INCONCLUSIVE, "the witness was written by another version of stridelint")
    verdicts = [_call(alternatives, witness, device) for alternatives in witness["calls"]]
    for kind in (REFUTED, INCONCLUSIVE):
        for verdict in verdicts:
            if verdict.verdict == kind:
                return verdict
    return verdicts[0]


def _call(alternatives: list[Mapping[str, Any]], witness: Mapping[str, Any], device: str) -> Verdict:
    """The first filling of a call that torch gives an answer on."""
    verdict = Verdict(INCONCLUSIVE, "there is no call to make")
    for document in alternatives:
        call = prepared(document, device)
        claim = documents.claim_of(document.get("claim", witness["claim"]))
        with mode(call):
            verdict = _filled(call, claim, str(witness["rule"]))
        if verdict.verdict != INCONCLUSIVE:
            break
    return verdict


def _filled(call: Call, claim: Claim | None, rule: str) -> Verdict:
    device = "fake" if call.fake else call.device
    try:
        tensors = call.made().every
        facts = [facts_of(tensor) for tensor in tensors]
        wrong = None if call.fake else _misbuilt(call, facts)
        if wrong:
            return Verdict(INCONCLUSIVE, f"torch has no such tensor: {wrong}", device=device)
        seen = _prediction(call) if claim is None else observe(call, claim)
    except NoCall as error:
        return Verdict(INCONCLUSIVE, str(error), device=device)
    where = "on fake tensors, since a device is missing" if call.fake else "on real tensors"
    if seen.holds is False:
        return Verdict(REFUTED, f"torch does not do what is claimed: {seen.what}", seen.what, device)
    if call.document.get("judged") and not call.fake and not _reported(call, facts, rule):
        return Verdict(REFUTED, "the rule reports nothing when it judges the real tensors", seen.what, device)
    if seen.holds is None:
        return Verdict(INCONCLUSIVE, seen.what, seen.what, device)
    if claim is None:
        return Verdict(CONFIRMED, f"{REASKED} {where}", f"{REASKED} {where}: {seen.what}", device)
    return Verdict(CONFIRMED, f"torch does what is claimed {where}", seen.what, device)


def _misbuilt(call: Call, facts: list[TensorFacts]) -> str:
    """How a tensor differs from what was asked for."""
    for wanted, real in zip(call.document["tensors"], facts, strict=True):
        for name in ("shape", "strides", "storage_offset", "dtype", "requires_grad"):
            value = getattr(documents.facts_of(wanted), name)
            if value is not None and value != getattr(real, name):
                return f"{name} {value} became {getattr(real, name)}"
    return ""


def _reported(call: Call, facts: list[TensorFacts], rule: str) -> bool:
    """Whether the rule reports the event that the real tensors make."""
    real: list[dict[str, Any]] = []
    for document, each in zip(call.document["tensors"], facts, strict=True):
        real.append({**document, **{name: getattr(each, name) for name in TensorFacts.__dataclass_fields__}})
    event = documents.event_of({**call.document, "tensors": real})
    return any(True for _ in by_code()[rule]().check(event))


def _prediction(call: Call) -> Seen:
    """Without a claim: the rule judges the real tensors, and the result is what the engine says, where it says something."""
    if not call.document.get("judged"):
        return Seen(None, "it is about how the code is written, which no call shows")
    predicted = documents.facts_of(call.document["result"])
    try:
        outcome = call.run(call.made())
    except NoCall as error:
        return Seen(True, f"the tensors are as the code makes them; {error}")
    if isinstance(outcome.error, TypeError):
        return Seen(True, "the tensors are as the code makes them; the other arguments are not known")
    if outcome.error is not None:
        return Seen(True, f"raises {outcome.text()}")
    if not outcome.results:
        return Seen(True, f"the answer is {outcome.value}")
    real = facts_of(outcome.results[0])
    # What is written into an out or in place keeps the facts of that tensor.
    told = () if call.document["out"] is not None or call.form is Form.INPLACE else ("shape", "strides", "dtype")
    for name in told:
        value = getattr(predicted, name)
        if value is not None and value != getattr(real, name):
            return Seen(False, f"the result has {name} {getattr(real, name)}, not {value}")
    return Seen(True, f"result {real.dtype} {real.shape} strides {real.strides}")
