"""What the interpreter knows at certain calls."""

from __future__ import annotations

from collections.abc import Iterator

import libcst

from stridelint.linter.inference import analyse
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.events import TensorEvent
from stridelint.rules.rule import Finding, Rule


def facts_at_strides(code: str, assume: tuple[str, ...] = ()) -> list[TensorFacts]:
    """Facts of the receiver of each `.stride()` call, on all paths, the module's body first."""
    seen: list[TensorFacts] = []

    class Probe(Rule):
        code, name, words, ops = "TLC999", "probe", (".stride(",), frozenset({"stride"})

        def check(self, event: TensorEvent) -> Iterator[Finding]:
            seen.append(event.tensors[0].facts)
            return iter(())

    assert analyse(libcst.parse_module(code), [Probe], assume=assume).exhausted is None
    return seen
