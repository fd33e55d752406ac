"""A report that has everything a report can have, and where it may look for the code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from stridelint.linter.findings import Patch, Remark, Replacement, Report, Reported, Skipped, Verdict
from stridelint.linter.fingerprints import Sources
from stridelint.linter.reports.context import Context

MODEL = """\
import torch


class Model:
    def forward(self, x):
        mask = torch.ones(2, 3, 4, 5)
        y = x.to(memory_format=torch.channels_last)
        print("😀", mask * y)
        torch.add(
            mask, 1,
            out=y,
        )
        return mask * y
"""
OTHER = "import torch\nx = torch.rand(4, 6).t()\nx.view(-1)\nx.view(-1)\n"


def event(*tensors: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A call of a witness."""
    return {
        "op": "mul",
        "text": "mask * y",
        "tensors": list(tensors),
        "arguments": {},
        "out": None,
        "result": {},
        **more,
    }


def tensor(text: str, shape: list[int], strides: list[int], **more: Any) -> dict[str, Any]:
    return {"text": text, "shape": shape, "strides": strides, "dtype": "float32", **more}


ORDER = event(
    tensor("mask", [2, 3, 4, 5], [60, 20, 5, 1]),
    tensor("y", [2, 3, 4, 5], [60, 1, 15, 3]),
    arguments={"input": {"tensor": 0}, "other": {"tensor": 1}},
    result={"shape": [2, 3, 4, 5], "strides": [60, 20, 5, 1]},
)
NOTES = (Remark("model.py", 6, "'mask' is made here"), Remark("model.py", 7, "'y' becomes channels_last here"))


def finding(path: str, text: str, line: int, code: str, *more: Any, **fields: Any) -> Reported:
    """A finding of `code` in the text of a file; its name, message, severity and confidence follow."""
    lines = text.split("\n")
    end_line = fields.pop("end_line", line)
    column = fields.pop("column", lines[line - 1].index(code) + 1)
    end_column = fields.pop("end_column", column + len(code))
    notes = fields.pop("notes", ())
    rule, name, message, severity, confidence = more
    return Reported(
        path,
        line,
        column,
        end_line,
        end_column,
        rule,
        name,
        message,
        severity,
        confidence,
        notes,
        lines[line - 1],
        **fields,
    )


ORDERED = "result of 'mask * y' is row-major because 'mask' comes first"


def sample() -> Report:
    """The report itself."""
    replay = Verdict(
        "confirmed", "torch does what is claimed", "the result has strides (60, 20, 5, 1)", "2.13.0", "cpu"
    )
    unknown = Verdict("inconclusive", "a value that the code does not tell", "", "2.13.0", "cpu")
    swap = Patch("swap the operands", True, (Replacement(13, 16, 13, 20, "y"), Replacement(13, 23, 13, 24, "mask")))
    convert = Patch("convert 'mask' first", False, (Replacement(8, 20, 8, 24, "mask.contiguous()"),))
    order = ("TLC101", "argument-order-layout", ORDERED, "warning", "likely")
    view = ("TLC104", "view-of-incompatible-strides", "'x.view(-1)' raises", "error", "certain")
    witness = json.dumps({"calls": [[ORDER]]})
    nothing = json.dumps({"reason": "it is about how the code is written, and names no call to make"})
    return Report(
        findings=tuple(
            sorted(
                (
                    finding("model.py", MODEL, 8, "mask * y", *order, notes=NOTES, witness=witness, patch=convert),
                    finding(
                        "model.py",
                        MODEL,
                        13,
                        "mask * y",
                        *order,
                        notes=NOTES,
                        witness=witness,
                        patch=swap,
                        probe=replay,
                    ),
                    finding(
                        "model.py",
                        MODEL,
                        9,
                        "torch.add(",
                        "TLC306",
                        "out-keeps-strides",
                        "add() keeps the strides of 'y'",
                        "note",
                        "possible",
                        end_line=12,
                        end_column=10,
                        notes=(*NOTES, Remark("lib/other.py", 2, "'x' is transposed here")),
                        witness=nothing,
                        probe=unknown,
                    ),
                    finding("lib/other.py", OTHER, 3, "x.view(-1)", *view),
                    finding("lib/other.py", OTHER, 4, "x.view(-1)", *view),
                )
            )
        ),
        skipped=(Skipped("broken.py", "is not valid Python: invalid syntax on line 1"),),
        suppressed=1,
        checked=12,
        excluded=2,
        hidden=(
            finding(
                "lib/other.py", OTHER, 2, "torch.rand(4, 6).t()", "TLC107", "layout-dropped", "m", "warning", "certain"
            ),
        ),
        known=(
            finding("model.py", MODEL, 6, "mask", "TLC101", "argument-order-layout", "known", "warning", "certain"),
        ),
        has_baseline=True,
    )


class Sample(NamedTuple):
    report: Report
    context: Context
    remarks: list[str]


@pytest.fixture
def whole(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Sample:
    """The sample report in a folder of its own."""
    folder = tmp_path_factory.mktemp("repository")
    monkeypatch.chdir(folder)
    sources = Sources({"model.py": MODEL.encode(), "lib/other.py": OTHER.encode()})
    remarks: list[str] = []
    context = Context(sources, str(folder), remark=remarks.append, paths=("src",), day="2026-11-30")
    return Sample(sample(), context, remarks)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stubs: None) -> Path:
    """A folder with one file, in which there is one finding."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.py").write_text("import torch\n\n\ndef f(x):\n    return x.view(1)\n")
    return tmp_path
