"""What the first path through a function does not reach must be found all the same, with the screen and the plan before it.

No path may be left out because its places were seen before, or because neither branch speaks of a rule: what a name stands for
may differ there only, and what follows depends on that.
"""

from __future__ import annotations

import pytest

from stridelint.linter import engine, source
from stridelint.linter.config import Settings
from stridelint.linter.selection import select
from stridelint.rules.contract.answers import Confidence

ONLY_A_FACT = {
    "an operand": """
def read(given):
    x = torch.zeros(2, 3, 4, 5)
    x = given or x.permute(0, 2, 3, 1)
    return x.view(-1)  # here
""",
    "a handler": """
def read(given):
    x = torch.zeros(2, 3, 4, 5)
    try:
        given()
    except ValueError:
        x = x.permute(0, 2, 3, 1)
    return x.view(-1)  # here
""",
    "a truth value with a name": """
def read(given, fast):
    x = torch.zeros(2, 3, 4, 5).permute(0, 2, 3, 1)
    whole = given is None and fast
    if whole:
        x = x.contiguous()
    return x.view(-1)  # here
""",
    "an alternative that is asserted": """
def read(x: torch.Tensor, given):
    assert given or x.dtype == torch.int64
    x.mul_(0.5)  # here
""",
    "two decisions at once": """
def read(given, fast):
    x = torch.zeros(2, 3, 4, 5).permute(0, 2, 3, 1)
    if given:
        x = x.contiguous()
    if fast:
        return x.reshape(-1)
    return x.view(-1)  # here
""",
    "a second round of a loop": """
def read(items):
    x = torch.zeros(2, 3, 4, 5)
    for each in items:
        if each:
            x = x.permute(0, 2, 3, 1)
        else:
            print(x.view(-1))  # here
""",
}

ONLY_A_PLACE = {
    "an operand": """
def read(given):
    x = torch.zeros(2, 3, 4, 5).permute(0, 2, 3, 1)
    return given or x.view(-1)  # here
""",
    "a handler": """
def read(given):
    x = torch.zeros(2, 3, 4, 5).permute(0, 2, 3, 1)
    try:
        return given()
    except ValueError:
        return x.view(-1)  # here
""",
    "behind what leaves the function": """
def read(given):
    x = torch.zeros(2, 3, 4, 5).permute(0, 2, 3, 1)
    if given:
        return x.reshape(-1).view(-1)
    return x.view(-1)  # here
""",
    "after the last place of the first path": """
def read(given):
    x = torch.zeros(2, 3, 4, 5).permute(0, 2, 3, 1)
    y = x.contiguous().view(-1)
    if given:
        print(y)
    else:
        y = rows(x)
    return y

def rows(x):
    return x.view(-1)  # here
""",
}


@pytest.mark.parametrize(
    "body",
    [*ONLY_A_FACT.values(), *ONLY_A_PLACE.values()],
    ids=[*ONLY_A_FACT, *(f"{name} (place)" for name in ONLY_A_PLACE)],
)
def test_what_only_another_path_shows_is_found(body: str) -> None:
    """One finding, where the code says so; those that rest on more assumptions are possible ones."""
    text = "import torch\n" + body
    outcome = engine.check(
        source.from_bytes("read.py", text.encode()), select(Settings(min_confidence=Confidence.POSSIBLE))
    )
    expected = [number for number, line in enumerate(text.splitlines(), 1) if line.endswith("# here")]
    assert [finding.line for finding in outcome.findings] == expected
