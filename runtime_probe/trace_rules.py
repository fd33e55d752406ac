"""Which rules can judge one call of a running program, and why the others cannot."""

from __future__ import annotations

from collections.abc import Iterable

from stridelint.rules.registry import all_rules
from stridelint.rules.rule import Rule

# What these rules judge is in the code, not in the tensors of a call.
NEEDS_SOURCE = {
    "TLC105": "it is about how the code is written",
    "TLC106": "it is about what becomes of an address, which torch does not see",
    "TLC109": "it is about whether the code uses a copy again",
    "TLC110": "it is about what other code demands of a tensor",
    "TLC111": "it is about what sizes mean, and a run has numbers only",
    "TLC201": "it is about a whole test",
    "TLC202": "it is about a whole test",
    "TLC203": "it is about a whole test",
    "TLC204": "it is about a whole test",
    "TLC309": "it is about what a function does with its parameter",
    "TLC310": "it is about the transform around a call",
    "TLC313": "it is about whether the code uses a result again",
}


def judging(codes: Iterable[str]) -> tuple[type[Rule], ...]:
    """Those of the rules with these codes that a call can be shown to."""
    wanted = frozenset(codes) - NEEDS_SOURCE.keys()
    return tuple(rule for rule in all_rules() if rule.code in wanted)
