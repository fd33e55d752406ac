"""Findings stand where they are in the file, also where LibCST does not keep all of its text."""

from __future__ import annotations

from pathlib import Path

import libcst
import pytest

from stridelint.linter import engine, source
from stridelint.linter.config import Settings
from stridelint.linter.fixing_command import fixes_of
from stridelint.linter.resolve import moved
from stridelint.linter.selection import select

CALL = "x = torch.ones(2, 3, 4, 5) * torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)"
PLACE = "torch.ones(2, 3, 4, 5) * torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)"


@pytest.mark.parametrize(
    "text",
    [
        f"import torch\n\\\n{CALL}\n",
        f"import torch\n\n\\\n\\\n{CALL}\n\\\ny = 1\n",
        f"import torch\n\\\ny = \\\n\\\n  1\n{CALL}\n",
        f"\\\nimport torch\n'''\n\\\n'''\n{CALL}\n",
        f"import torch\n\\\r\n\\\r{CALL}\r\n",
        f"import torch\n\x0c{CALL}\n",
        f"import torch\n\x0c\n  \x0c\n{CALL}\n",
        f"import torch\nif torch:\n  \x0c  y = 1\n  {CALL}\n",
        f"import torch\nif torch:\n \x0c  {CALL}\n  y = 1\n",
        f"import torch\n\x0cdef f():\n    a\n    b\n    c\n{CALL}\n\\\ny = 1\n",
        f"import torch\ndef f():\n    a\n    '''\n\\\n'''\n    c\ny = 1\n\\\n{CALL}",
    ],
)
def test_places(text: str) -> None:
    file = source.from_bytes("x.py", text.encode())
    outcome = engine.check(file, select(Settings()))
    assert outcome.skipped == ()
    (finding,) = outcome.findings
    line = source.lines(text)[finding.line - 1]
    assert (finding.excerpt, line[finding.column - 1 : finding.end_column - 1]) == (line, PLACE)
    fixed = fixes_of(file, Settings(), unsafe=True).data.decode()
    before, after = PLACE.split(" * ")
    assert fixed == text.replace(PLACE, f"{after} * {before}")


def test_all_that_torch_is_written_in() -> None:
    """Where LibCST keeps the text no line moves."""
    for path in sorted(Path(__file__).parent.parent.rglob("fixtures/**/*.py"))[::10]:
        text = source.read(str(path)).text
        lines = source.lines(text)
        assert moved(source.lines(libcst.parse_module(text).code), lines) == [
            (index + 1, 0) for index in range(len(lines))
        ]


def test_what_cannot_be_matched_is_told() -> None:
    with pytest.raises(ValueError, match="writes 1 lines for 2"):
        moved(["a"], ["a", "b"])
    with pytest.raises(ValueError, match="writes 2 lines for 1"):
        moved(["a", "b"], ["a"])
