"""Fixes: what rules say they do, that they do no harm, and how files are written."""

from __future__ import annotations

import contextlib
import io
import json
import os
import stat
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stridelint.linter import fixing_command, fixing_files, source
from stridelint.linter.config import Settings
from stridelint.rules.contract.answers import Confidence
from stridelint.rules.registry import all_rules
from stridelint.rules.rule import Invalid, Rule

Run = Callable[..., Any]
FIXTURES = Path(__file__).parent.parent / "fixtures" / "bad"
EXAMPLES = [
    pytest.param(rule, example, id=f"{rule.code}-{number}")
    for rule in all_rules()
    for number, example in enumerate(rule.INVALID)
]
FIXED = [each for each in EXAMPLES if each.values[1].fixed is not None]  # type: ignore[union-attr]
VIEW = "import torch\n\nx = torch.rand(3, 4).t()\ny = x.view(-1)  # one row\n"
VIEWED = VIEW.replace("view", "reshape")


def fixed(code: str, unsafe: bool = False, **settings: Any) -> str:
    file = source.from_bytes("example.py", code.encode(), explicit=True)
    fixes = fixing_command.fixes_of(file, Settings()._replace(**settings), unsafe)
    assert not fixes.left_out
    return fixes.data.decode()


@pytest.mark.parametrize(("rule", "example"), EXAMPLES)
def test_examples(rule: type[Rule], example: Invalid) -> None:
    audit: dict[str, Any] = {"select": (rule.code,), "min_confidence": Confidence.POSSIBLE}
    assert fixed(example.code, **audit) == (example.fixed if example.safe and example.fixed else example.code)
    assert fixed(example.code, unsafe=True, **audit) == (example.fixed or example.code)


def ran(code: str) -> dict[str, Any]:
    """The tensors that an example leaves behind, up to where it raises."""
    import torch

    torch.manual_seed(0)
    found: dict[str, Any] = {"__name__": "example"}
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            exec(compile(code, "example.py", "exec"), found)
        except Exception as error:
            found["error"] = error
    return {name: each for name, each in found.items() if isinstance(each, (torch.Tensor, Exception))}


@pytest.mark.parametrize(("rule", "example"), FIXED)
def test_fixed_examples_run_and_safe_ones_compute_the_same(rule: type[Rule], example: Invalid) -> None:
    import torch

    before, after = ran(example.code), ran(example.fixed or "")
    if "error" in after:
        # Each of these has an error more, for which there is no fix.
        assert repr(after["error"]) == repr(before.get("error")) or len(example.expected) > 1
    if example.safe and "error" not in before:
        for name, tensor in before.items():
            assert tensor.isnan().any() or torch.equal(tensor, after[name])


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.py")), ids=lambda path: path.stem)
def test_fixtures_have_no_new_findings(path: Path, tmp_path: Path, run: Run) -> None:
    copy = tmp_path / path.name
    copy.write_bytes(path.read_bytes())
    before = json.loads(run("check", "--isolated", "--format", "json", copy).out)["findings"]
    result = run("check", "--isolated", "--fix", "--unsafe-fixes", "--format", "json", copy)
    after = json.loads(result.out)["findings"]
    compile(copy.read_bytes(), copy.name, "exec")
    assert not Counter(each["code"] for each in after) - Counter(each["code"] for each in before)
    assert len(after) == len(before) or copy.read_bytes() != path.read_bytes()
    assert sum(each["fix"] is not None for each in after) == result.err.count("is left out")
    assert json.loads(run("check", "--isolated", "--format", "json", copy).out)["findings"] == after


def test_swapping_keeps_meaning() -> None:
    code = (
        "import torch\n\n"
        "a, b = torch.ones(2, 3, 4, 5), torch.ones(2, 3, 4, 5)\n"
        "x = torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)\n"
        "y = a * b * x\n"
        "z = torch.add(a, x), a.mul(x), (\n    a  # row-major\n    + x\n)\n"
        "w = a == x, a.add(other=x), torch.add(a, x, alpha=2), (a + b).mul(x)\n"
    )
    assert fixed(code) == code
    assert fixed(code, unsafe=True) == (
        "import torch\n\n"
        "a, b = torch.ones(2, 3, 4, 5), torch.ones(2, 3, 4, 5)\n"
        "x = torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)\n"
        "y = x * (a * b)\n"
        "z = torch.add(x, a), x.mul(a), (\n    x  # row-major\n    + a\n)\n"
        "w = x == a, a.to(memory_format=torch.channels_last).add(other=x), "
        "torch.add(a.to(memory_format=torch.channels_last), x, alpha=2), x.mul((a + b))\n"
    )


def test_the_order_of_calls_is_kept_by_safe_fixes() -> None:
    code = (
        "import torch\n\n"
        "def f():\n"
        "    return torch.ones(2, 3, 4, 5) * torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)\n"
    )
    assert fixed(code) == code
    assert "torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last) * torch.ones" in fixed(code, unsafe=True)


@pytest.mark.parametrize(
    ("used", "safe"),
    [
        ("    return torch.equal(a * x, a)\n", True),
        ("    y = a * x\n    return y.max(), float(y.amin())\n", True),
        ("    return (a * x).tolist()\n", True),
        ("    return (a * x).sum()\n", False),  # rounded in the order in memory
        ("    y = a * x\n    assert y.is_contiguous()\n    return y.max()\n", False),
        ("    return (a * x).view(2, -1).max()\n", False),
        ("    return (a * x).stride()\n", False),
        ("    return (a * x).numpy().max()\n", False),
        ("    y = a * x\n    return y.max(), y\n", False),
        ("    y = a * x\n    KEPT.append(y)\n    return y.max()\n", False),
        ("    y = a * x\n    return y.max(), lambda: y\n", False),
        ("    global y\n    y = a * x\n    return y.max()\n", False),
        ("    return use(a * x)\n", False),
    ],
)
def test_operands_are_swapped_safely_where_only_values_are_used(used: str, safe: bool) -> None:
    code = (
        "import torch\n\n"
        "def f():\n"
        "    a = torch.rand(2, 3, 4, 5)\n"
        "    x = torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)\n"
    ) + used
    swapped = code.replace("a * x", "x * a")
    assert fixed(code, select=("TLC101",), min_confidence=Confidence.POSSIBLE) == (swapped if safe else code)


def test_what_a_caller_decides_is_not_safe() -> None:
    code = (
        "import torch\n\n"
        "def scaled(mask, x):\n"
        "    return mask * x\n\n"
        "scaled(torch.ones(2, 3, 4, 5), torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last))\n"
    )
    assert fixed(code) == code
    assert "return x * mask" in fixed(code, unsafe=True)


@pytest.mark.parametrize(
    ("body", "unsafe", "safe"),
    [
        ("    x.contiguous(memory_format=torch.channels_last)\n    return x + 1\n", True, True),
        ("    x.to(torch.float64)\n    return x + 1\n", True, False),
        ("    x.detach()\n    return x + 1\n", False, False),
        ("    x.contiguous(memory_format=torch.channels_last)\n    return 1\n", False, False),
        ("    x.contiguous(memory_format=torch.channels_last)\n    x.add_(1)\n    return x\n", True, False),
        ("    x.contiguous(memory_format=torch.channels_last)\n    x[0] = 1\n    return x\n", True, False),
        ("    x.contiguous(memory_format=torch.channels_last)\n    x += 1\n    return x\n", True, False),
        ("    x.contiguous(memory_format=torch.channels_last)\n    return torch.add(x, 1, out=x)\n", True, False),
        ("    x.contiguous(memory_format=torch.channels_last)\n    return lambda: x\n", True, False),
        ("    x.contiguous(memory_format=torch.channels_last)\n    return x is x\n", True, False),
        ("    global x\n    x.contiguous(memory_format=torch.channels_last)\n    return x\n", False, False),
        ("    y = [x]\n    y[0].contiguous(memory_format=torch.channels_last)\n    return y\n", False, False),
    ],
)
def test_a_name_is_rebound_only_where_that_is_safe(body: str, unsafe: bool, safe: bool) -> None:
    parameter = "" if "global" in body else "x"
    code = f"import torch\n\nx = torch.rand(2, 3, 4, 5)\n\ndef f({parameter}):\n{body}\nf({parameter})\n"
    result = fixed(code)
    assert ("    x = x." in result) is safe, result
    result = fixed(code, unsafe=True, select=("TLC103",))
    assert ("    x = x." in result) is unsafe, result


def test_a_loop_variable_is_rebound_only_if_the_loop_uses_it() -> None:
    code = (
        "import torch\n\n"
        "for x in [torch.rand(2, 3, 4, 5)]:\n    x.contiguous(memory_format=torch.channels_last)\n"
        "for y in [torch.rand(2, 3, 4, 5)]:\n    y.contiguous(memory_format=torch.channels_last)\n    print(y)\n"
        "print(x)\n"
    )
    assert fixed(code).count(" = ") == 1
    assert "    y = y.contiguous" in fixed(code)


def test_overlapping_fixes_take_a_pass_each() -> None:
    code = (
        "import torch\n\n"
        "a, b = torch.ones(2, 3, 4, 5), torch.ones(2, 3, 4, 5)\n"
        "x = torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)\n"
        "y = a * (b + x.permute(0, 2, 3, 1).permute(0, 3, 1, 2).mul(1))\n"
    )
    result = fixed(code, unsafe=True)
    assert result.splitlines()[-1] == "y = (x.permute(0, 2, 3, 1).permute(0, 3, 1, 2).mul(1) + b) * a"


def test_a_fix_that_brings_another_finding_is_left_out(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "model.py"
    path.write_text("import torch\n\nx = torch.rand(3, 4).t()\nx.view(-1).mul_(2)\ny = x.view(-1)\nprint(x)\n")
    result = run("check", "--isolated", "--select", "TLC104", "--fix", path)
    assert path.read_text().splitlines()[3:5] == ["x.view(-1).mul_(2)", "y = x.reshape(-1)"]
    assert f"{path}:4: the fix of TLC104 is left out: TLC109 on line 4 would appear" in result.err
    assert "Found 1 finding in 1 file (1 fixed, 1 file checked)." in result.out
    assert result.status == 1


def test_functions_that_are_not_read_stay(tmp_path: Path) -> None:
    idle = (
        "def idle(n):\n    total = 0  # nothing\n    for i in range(n):\n        total += i\n\n    return total\n\n\n"
    )
    code = "import torch\n\n\n" + idle + "class A:\n    " + idle.replace("\n", "\n    ").rstrip(" ") + VIEW[14:]
    assert fixed(code) == code.replace(".view(", ".reshape(")


def test_suppressed_findings_are_not_fixed() -> None:
    code = VIEW.replace("# one row", "# noqa: TLC104")
    assert fixed(code) == code


def test_fix(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "model.py"
    path.write_text(VIEW)
    path.chmod(0o750)
    result = run("check", "--isolated", "--fix", path)
    assert path.read_text() == VIEWED
    assert stat.S_IMODE(path.stat().st_mode) == 0o750
    assert (result.status, result.out, result.err) == (0, "No findings (1 fixed, 1 file checked).\n", "")
    assert os.listdir(tmp_path) == ["model.py"]


@pytest.mark.parametrize(
    "data",
    [
        VIEW.replace("\n", "\r\n").encode(),
        VIEW.replace("\n", "\r").encode(),
        b"\xef\xbb\xbf" + VIEW.encode(),
        b"# coding: latin-1\n" + VIEW.replace("one row", "ein Stück, \x0c").encode("latin-1"),
        VIEW.rstrip("\n").encode(),
        VIEW.replace("import torch", "import torch; s = '日本'; é = 1").encode(),
    ],
    ids=["crlf", "cr", "bom", "latin-1", "no newline", "unicode"],
)
def test_bytes_stay_what_they_are(data: bytes, tmp_path: Path, run: Run) -> None:
    path = tmp_path / "model.py"
    path.write_bytes(data)
    assert run("check", "--isolated", "--fix", path).status == 0
    assert path.read_bytes() == data.replace(b".view(", b".reshape(")


def test_inserted_lines_end_like_the_others(tmp_path: Path, run: Run) -> None:
    code = (
        "import torch\r\n\r\ndef test_relu_keeps_channels_last():\r\n\tx = torch.rand(2, 3, 4, 5)\r\n"
        "\ty = torch.relu(x.to(memory_format=torch.channels_last))\r\n\ttorch.testing.assert_close(y, torch.relu(x))\r\n"
    )
    path = tmp_path / "test_model.py"
    path.write_bytes(code.encode())
    run("check", "--isolated", "--fix", "--unsafe-fixes", path)
    assert path.read_bytes().split(b"\r\n")[5:] == [
        b"\tassert y.is_contiguous(memory_format=torch.channels_last)",
        b"\ttorch.testing.assert_close(y, torch.relu(x))",
        b"",
    ]


def test_links_stay_links(tmp_path: Path, run: Run) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "model.py").write_text(VIEW)
    link = tmp_path / "link.py"
    link.symlink_to(tmp_path / "real" / "model.py")
    run("check", "--isolated", "--fix", link)
    assert link.is_symlink()
    assert link.read_text() == VIEWED
    assert os.listdir(tmp_path / "real") == ["model.py"]


def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text("mine = 1\n")
    with pytest.raises(fixing_files.NotWritten, match="changed meanwhile"):
        fixing_files.write(str(path), VIEW.encode(), VIEWED.encode())
    assert path.read_text() == "mine = 1\n"
    assert os.listdir(tmp_path) == ["model.py"]


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.py"
    path.write_text(VIEW)
    monkeypatch.setattr(os, "access", lambda *_: False)
    result = run("check", "--isolated", "--fix", path)
    assert path.read_text() == VIEW
    assert f"stridelint: {path}: not fixed: it is read-only" in result.err
    assert "1 fixable with --fix." in result.out
    assert result.status == 1


def test_diff(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(VIEW.rstrip("\n"))
    (tmp_path / "good.py").write_text("import torch\n")
    result = run("check", "--isolated", "--diff", ".")
    assert result.out.splitlines() == [
        "--- model.py",
        "+++ model.py",
        "@@ -1,4 +1,4 @@",
        " import torch",
        " ",
        " x = torch.rand(3, 4).t()",
        "-y = x.view(-1)  # one row",
        "\\ No newline at end of file",
        "+y = x.reshape(-1)  # one row",
        "\\ No newline at end of file",
    ]
    assert (result.status, result.err) == (1, "1 finding in 1 file would be fixed.\n")
    assert (tmp_path / "model.py").read_text() == VIEW.rstrip("\n")
    assert run("check", "--isolated", "--diff", "--exit-zero", ".").status == 0
    clean = run("check", "--isolated", "--diff", "good.py")
    assert (clean.status, clean.out, clean.err) == (0, "", "No fixes.\n")
    wrong = run("check", "--isolated", "--diff", "--format", "json", ".")
    assert (wrong.status, wrong.err) == (
        2,
        "stridelint: --diff prints a diff: it does not go with --format or --output\n",
    )


class Input:
    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)


@pytest.mark.parametrize(
    ("given", "printed", "status"),
    [(VIEW, VIEWED, 0), ("x = 1\n", "x = 1\n", 0), ("import torch; x.view(\n", "import torch; x.view(\n", 0)],
)
def test_standard_input(given: str, printed: str, status: int, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", Input(given.encode()))
    result = run("check", "--isolated", "--fix", "-")
    assert (result.status, result.out) == (status, printed)
    assert "1 file checked" in result.err


def test_standard_input_as_a_diff(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", Input(VIEW.encode()))
    result = run("check", "--isolated", "--diff", "--stdin-filename", "model.py", "-")
    assert result.out.startswith("--- model.py\n+++ model.py\n")
    assert result.status == 1


def test_reports(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "model.py"
    path.write_text(VIEW + "t = torch.zeros(3, dtype=torch.long)\ntorch.add(t, torch.rand(3), out=t)\n")
    text = run("check", "--isolated", path).out
    assert f"{path}:4:5: TLC104 [view-of-incompatible-strides] [*] " in text
    assert f"{path}:6:1: TLC301 [out-lower-kind] add() raises" in text
    assert text.endswith("1 fixable with --fix, 1 more with --unsafe-fixes.\n")
    text = run("check", "--isolated", "--unsafe-fixes", path).out
    assert f"{path}:6:1: TLC301 [out-lower-kind] [*] " in text
    assert text.endswith("2 fixable with --fix --unsafe-fixes.\n")
    first, second = json.loads(run("check", "--isolated", "--format", "json", path).out)["findings"]
    edit = {"line": 4, "column": 7, "end_line": 4, "end_column": 11, "replacement": "reshape"}
    assert first["fix"] == {"description": "use reshape", "safety": "safe", "edits": [edit]}
    assert second["fix"]["safety"] == "unsafe"
    assert second["fix"]["edits"][0]["line"] == 5
