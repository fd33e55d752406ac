"""What the hover says, and that torch agrees: the programs here are run, and each shape, stride and dtype is compared."""

from __future__ import annotations

import re
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from stridelint.linter.server.answers import hover
from stridelint.linter.server.hovering import MAX_VARIANTS

torch = pytest.importorskip("torch")

CURSOR = "§"


def told(code: str) -> str | None:
    """The hover where the cursor stands in the code."""
    before, after = code.split(CURSOR)
    found = hover(before + after, before.count("\n") + 1, len(before) - before.rfind("\n") - 1)
    return None if found is None else found.text


def cells(text: str) -> dict[str, list[str]]:
    """The rows of a hover's table."""
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in text.splitlines() if line.startswith("|")]
    return {row[0].strip(): [cell.strip() for cell in row[1:]] for row in rows}


PROGRAM = """
import torch
from torch import nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self, channels=8):
        super().__init__()
        self.conv = nn.Conv2d(3, channels, 3, padding=1)
        self.register_buffer("scale", torch.ones(1, channels, 1, 1))
        self.head = nn.Linear(channels, 10)

    def forward(self, images):
        kept = self.conv(images)
        active = F.relu(kept) * self.scale
        flat = active.flatten(2)
        first, second = flat.chunk(2, dim=1)
        moved = flat.permute(0, 2, 1)
        wide = active.mean(dim=(2, 3))
        half = wide.half()
        return self.head(wide)


def run():
    net = Net().to(memory_format=torch.channels_last)
    made = torch.rand(4, 3, 16, 16)
    last = made.to(memory_format=torch.channels_last)
    out = net(last)
    weight = net.conv.weight
    big = torch.zeros(1, 3).expand(4, 3)
    index = torch.arange(6).reshape(2, 3).t()
    parts = 0
    for part in out.split(2):
        parts = parts + part
    rows = [each.sum() for each in index]
    return out
"""


NAMES = "kept active flat first second moved wide half made last out weight big index part each".split()


def _observed() -> dict[str, list[Any]]:
    """What the names of the program are when it runs."""
    import sys

    seen: dict[str, list[Any]] = {}

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        if frame.f_code.co_filename == "<program>":
            for name, value in frame.f_locals.items():
                if isinstance(value, torch.Tensor):
                    seen.setdefault(name, []).append(value)
        return trace

    space: dict[str, object] = {}
    exec(compile(PROGRAM, "<program>", "exec"), space)
    run = space["run"]
    assert callable(run)
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(None)
    return seen


@pytest.fixture(scope="module")
def observed() -> dict[str, list[Any]]:
    return _observed()


@pytest.mark.parametrize("name", NAMES)
def test_what_is_told_is_what_torch_does(name: str, observed: dict[str, list[Any]]) -> None:
    code = re.sub(rf"\b{name}\b", f"{CURSOR}{name}", PROGRAM, count=1)
    text = told(code)
    assert text is not None
    rows = cells(text)
    value = observed[name][-1]
    assert rows["shape"][-1] == f"`{tuple(value.shape)}`"
    assert rows["strides"][-1] == f"`{value.stride()}`"
    assert rows["dtype"][-1] == f"`{str(value.dtype).removeprefix('torch.')}`"
    said = rows["layout"][-1]
    assert said.startswith("row-major") == value.is_contiguous()
    if value.dim() == 4:
        assert ("channels_last" in said) == value.is_contiguous(memory_format=torch.channels_last)
    if "memory" in rows:
        assert "view" in rows["memory"][-1]
        assert value._is_view()


def test_a_function_on_its_own_speaks_in_the_names_of_the_code() -> None:
    text = told("import torch\ndef f(x):\n    n, c, h, w = x.shape\n    §y = x.permute(0, 2, 3, 1)\n    return y\n")
    assert text is not None
    assert cells(text)["shape"] == ["`(n, h, w, c)`"]
    assert "Not known here: strides, layout, dtype, device, requires grad." in text


def test_the_shape_that_a_line_tells_is_known_on_that_line() -> None:
    text = told("import torch\ndef f(x):\n    n, c, h, w = §x.shape\n    return x.flatten(2)\n")
    assert text is not None
    assert cells(text)["shape"] == ["`(n, c, h, w)`"]


def test_a_tensor_that_is_written_into_is_not_described_by_what_it_becomes() -> None:
    text = told(
        "import torch\ndef f(x: torch.Tensor):\n    print(§x)\n    torch.add(torch.ones(2), 1, out=x)\n    return x\n"
    )
    assert text == "`x`: Tensor, of which nothing more is known here"


def test_symbols_without_a_name_are_told_apart() -> None:
    text = told("import torch\ndef f(x):\n    return §x.contiguous(memory_format=torch.channels_last)\n")
    found = told("import torch\ndef f(x):\n    return x.§contiguous(memory_format=torch.channels_last)\n")
    assert text is not None and found is not None
    rows = cells(found)
    assert rows["shape"] == ["`(d0, d1, d2, d3)`"]
    assert rows["strides"] == ["`(d1*d2*d3, 1, d1*d3, d1)`"]
    assert rows["layout"] == ["channels_last"]


CALLED = "import torch\ndef f(x):\n    §y = x * 2\n    return y\n"


def test_a_caller_tells_what_the_function_does_not_know() -> None:
    text = told(CALLED + "def g():\n    f(torch.ones(2, 3))\n")
    assert text is not None
    assert cells(text)["shape"] == ["`(2, 3)`"]
    assert "As called by `g`, line 6." in text


def test_two_callers_are_told_apart() -> None:
    text = told(CALLED + "def g():\n    f(torch.ones(2, 3))\nclass A:\n    def h(self):\n        f(torch.ones(4))\n")
    assert text is not None
    assert cells(text)["`y`"] == ["Tensor, called by `g`, line 6", "Tensor, called by `A.h`, line 9"]
    assert cells(text)["shape"] == ["`(2, 3)`", "`(4,)`"]


def test_many_callers_are_told_together() -> None:
    calls = "".join(f"def g{number}():\n    f(torch.ones({number + 2}, 3))\n" for number in range(MAX_VARIANTS + 2))
    text = told(CALLED + calls)
    assert text is not None
    rows = cells(text)
    assert rows["dtype"] == ["`float32`"]
    assert "shape" not in rows
    assert f"in {MAX_VARIANTS + 2} calls" in text


def test_paths_that_differ_are_both_told() -> None:
    text = told(
        "import torch\ndef f(flag):\n    if flag:\n        x = torch.ones(2)\n    else:\n        x = torch.ones(2).half()\n    return §x\n"
    )
    assert text is not None
    assert cells(text)["dtype"] == ["`float32` or `float16`, by the path taken"]


def test_a_branch_teaches_nothing_about_the_other() -> None:
    text = told(
        "import torch\ndef f(x):\n    print(§x)\n    if x.dim() == 3:\n        return x[0, 0, 0]\n    return x.flatten(2)\n"
    )
    assert text is None or "shape" not in cells(text)


def test_a_test_function_is_read_with_its_parameters() -> None:
    text = told(
        "import pytest\nimport torch\n@pytest.mark.parametrize('size', [2, 3])\n"
        "def test_f(size):  # a comment\n    §x = torch.ones(size)\n    assert x.sum()\n"
    )
    assert text is not None
    assert cells(text)["shape"] == ["`(2,)` or `(3,)`, by the path taken"]


def test_what_may_be_none_says_so() -> None:
    text = told("import torch\ndef f(flag):\n    x = None\n    if flag:\n        x = torch.ones(2)\n    return §x\n")
    assert text is not None
    assert "Tensor or None" in text


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("§F.relu(torch.ones(2))", "`F.relu(torch.ones(2))`"),
        ("F.§relu(torch.ones(2))", "`F.relu(torch.ones(2))`"),
        ("torch.ones(2).§shape", "`torch.ones(2)`"),
        ("torch.ones(2) §+ 1", "`torch.ones(2) + 1`"),
        ("torch.ones(2§) + 1", "`torch.ones(2)`"),
    ],
)
def test_a_part_that_is_no_tensor_stands_for_what_it_is_a_part_of(code: str, said: str) -> None:
    text = told(f"import torch\nimport torch.nn.functional as F\ndef f():\n    return {code}\n")
    assert text is not None
    assert said in text.splitlines()[0]


@pytest.mark.parametrize(
    "code",
    [
        "x = §1\n",
        "import torch\n§\n",
        "import torch\ndef f(:\n    return §x\n",
        "import torch\ndef f():\n    return f'{torch.ones(2)§}'\n",
        "import §torch\n",
        "import torch\ndef f(§x):\n    return x\n",
        "import torch\nx = " + "(" * 3000 + "§1" + ")" * 3000,
        "import torch\nx = " + "-" * 3000 + "§1",
        "import torch\nx = [" + "[" * 80 + "§1" + "]" * 80 + "]\n",
    ],
)
def test_where_nothing_is_known_nothing_is_told(code: str) -> None:
    assert told(code) is None


def test_places_before_which_wide_characters_stand() -> None:
    text = told("import torch\ndef f():\n    a = '😀値é'; x = torch.ones(2); return ('😀', §x)\n")
    assert text is not None
    assert text.startswith("| `x` ")


def test_newer_syntax_is_read_with_the_slower_parser() -> None:
    text = (
        told("import torch\ndef f[T](x: T) -> T:\n    §y = torch.ones(2)\n    return y\n")
        if _has_type_parameters()
        else ""
    )
    assert text == "" or (text is not None and cells(text)["shape"] == ["`(2,)`"])


def _has_type_parameters() -> bool:
    import sys

    return sys.version_info >= (3, 12)


def test_code_in_a_hover_cannot_break_out_of_it() -> None:
    text = told("import torch\ndef f():\n    return §torch.ones(2 | len('` | <script>\\n](x)'))\n")
    assert text is None or "|" not in re.sub(r"\\\|", "", "".join(cells(text)))
    found = told("import torch\ndef f():\n    return torch.cat([torch.ones(2), torch.ones(3)]§, len('`|`') | 0)\n")
    for line in (found or "").splitlines():
        assert not line.startswith("|") or len(re.split(r"(?<!\\)\|", line)) == 4


def test_the_interpreter_is_left_as_it_was() -> None:
    from stridelint.linter.inference import expressions, statements

    before = dict(expressions.HANDLERS), dict(statements.HANDLERS)
    assert told(CALLED + "f(torch.ones(1))\n") is not None
    assert (dict(expressions.HANDLERS), dict(statements.HANDLERS)) == before


def test_every_place_of_real_programs_can_be_asked() -> None:
    asked = answered = 0
    for path in sorted((Path(__file__).parents[2] / "fixtures" / "bad").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        for number, line in enumerate(text.split("\n"), 1):
            for match in re.finditer(r"\b[a-z_]\w*", line):
                asked += 1
                if asked % 11 == 0:
                    answered += hover(text, number, match.start()) is not None
    assert answered > asked / 11 / 4


def test_the_hover_in_the_documentation_is_what_is_shown() -> None:
    page = (Path(__file__).parents[2] / "docs" / "editor.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"(?ms)^```python\n(.*?)^```", page)
    (shown,) = re.findall(r"(?ms)^```text\n(.*?)^```", page)
    assert told(program.replace("y = self", f"{CURSOR}y = self")) == shown.rstrip("\n")
