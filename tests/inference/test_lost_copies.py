"""When nothing reads a copy after a write to it: TLC109, by the ways in which a name is used."""

from __future__ import annotations

import libcst
import pytest
from libcst.metadata import MetadataWrapper, PositionProvider

from stridelint.linter.inference import analyse
from stridelint.rules.registry import all_rules

HEAD = "import torch\n\ndef f(n, keep):\n    x = torch.rand(4, 6)\n    rows = x[torch.tensor([0, 1])]\n"
FIRST = len(HEAD.splitlines()) + 1


def lost(body: list[str]) -> list[int]:
    """Numbers of the lines of the body in which a write is lost."""
    module = libcst.parse_module(HEAD + "".join(f"    {line}\n" for line in body))
    places = MetadataWrapper(module, unsafe_skip_copy=True).resolve(PositionProvider)
    found = analyse(module, all_rules()).findings
    return sorted(places[each.site.node].start.line - FIRST for each in found if each.rule.code == "TLC109")  # type: ignore[index]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (["rows.mul_(2)"], [0]),
        (["print(rows.mean(), rows.shape)", "rows.mul_(2)"], [1]),
        (["rows.mul_(2)", "print(rows)", "rows.add_(1)"], [2]),
        (["rows.mul_(2)", "rows.add_(1)"], [0, 1]),
        (["rows.div_(rows.sum())"], [0]),
        (["assert (rows > 0).all()", "rows[rows > 0.5] = 0"], [1]),
        (["total = rows * 2", "rows[0] += 1", "return total"], [1]),
        (["print(f'{rows}')", "torch.mul(rows, 2, out=rows)"], [1]),
        (["if rows[0].max() > 1:", "    rows.zero_()"], [1]),
        (["while rows.max() > 1:", "    rows.mul_(0.5)"], []),
        (["for _ in range(n):", "    rows.mul_(rows.sum())"], []),
        (["for _ in range(n):", "    rows.mul_(2)"], [1]),
        (["for _ in range(n):", "    print(x)", "print(rows)", "rows.mul_(2)"], [3]),
        (["rows.mul_(2)", "return rows.sum()"], []),
        (["rows.mul_(2)", "if n:", "    print(rows)"], []),
        # Something else may go on with the memory, or with the result.
        (["first = rows[0]", "rows.mul_(2)", "return first"], []),
        (["keep.append(rows)", "rows.mul_(2)"], []),
        (["keep(rows)", "rows.mul_(2)"], []),
        (["keep.rows = rows", "rows.mul_(2)"], []),
        (["flat = rows.view(-1)", "rows.mul_(2)", "return flat"], []),
        (["def show():", "    print(rows)", "rows.mul_(2)", "return show"], []),
        (["keep(lambda: rows)", "rows.mul_(2)"], []),
        (["return rows.mul_(2)"], []),
        (["other = rows.mul_(2)", "return other"], []),
        (["[rows.mul_(2) for _ in range(3)]"], []),
    ],
)
def test_writes(body: list[str], expected: list[int]) -> None:
    assert lost(body) == expected


def test_a_copy_made_in_each_turn_may_be_read_before() -> None:
    body = ["for _ in range(n):", "    part = x[torch.tensor([1])]", "    if part.max() > 0:", "        part.mul_(2)"]
    assert lost(body) == [3]
    assert lost([body[0], "    if n > 1:", "        print(part)", *body[1:2], "    part.mul_(2)"]) == []
