"""A parameter that is used as a mask is bool, one that is used as an index is of integers."""

from __future__ import annotations

import pytest

from stridelint.linter.config import Settings
from stridelint.linter.engine import check
from stridelint.linter.selection import select
from stridelint.linter.source import Source


def codes(body: str) -> list[str]:
    code = f"import torch\n\ndef f(x, part, i):\n    best = i.argmax()\n    {body}\n    return x, part, i, best\n"
    outcome = check(Source("a.py", code.encode()), select(Settings()))
    assert not outcome.skipped
    return [finding.code for finding in outcome.findings]


@pytest.mark.parametrize(
    "body",
    [
        "x = part.masked_fill(part, -1e9)",
        "x = x.masked_select(part); part[0] = 0.5",
        "x.masked_fill_(mask=part, value=0); part.fill_(0.5)",
        "x = torch.gather(x, 1, part); part[0] = 0.5",
        "x = x.scatter(1, part, 1.0); part[:, 0] = 0.5",
    ],
)
def test_what_is_stored_into_it(body: str) -> None:
    assert codes(body) == ["TLC403"]


def test_what_changes_it_in_place() -> None:
    assert codes("x.masked_fill_(part, 0); part += 0.5") == ["TLC401"]
    assert codes("x.masked_fill_(part, 0); part.mul_(0.5)") == ["TLC401"]


@pytest.mark.parametrize(
    "body",
    [
        "x = x.masked_fill(part.bool(), 0); part[0] = 0.5",
        "x = x.masked_fill(part > 0, 0); part += 0.5",
        "x = torch.where(part, x, 0.0); part[0] = 0.5",
        "x = x.take(part); part += 0.5",  # x may be an array of numpy, or a table of pandas
        "x = x.index_select(0, part[0]); part[0] = 0.5",
        "part = part.float() if x.masked_fill(part, 0) is i else part.double(); part += 0.5",
        "x.masked_fill(part, 0) if part.dtype == torch.bool else part.add_(0.5)",
        "x = x.masked_fill(part, 0); part[i] = 1; part |= i",
    ],
)
def test_what_may_be_of_another_kind(body: str) -> None:
    assert codes(body) == []
