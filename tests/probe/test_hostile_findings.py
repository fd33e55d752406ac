"""A document of findings may come from anywhere: what it names as an operator is called only if it is one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CODE = "import torch\n\ny = torch.rand(2, 3).t().view(-1)\n"


@pytest.mark.parametrize(
    ("op", "arguments"),
    [
        ("os.system", {"command": "touch done"}),
        ("os.mkdir", {"path": "done"}),
        ("from_file", {"filename": "done", "shared": True, "size": 4}),
        ("save", {"obj": 1, "f": "done"}),
        ("__class__", {"input": {"tensor": 0}}),
    ],
)
def test_only_operators_are_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable[..., Any], op: str, arguments: dict[str, object]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "view.py").write_text(CODE)
    document = json.loads(run("check", "--format", "json", "view.py").out)
    (finding,) = document["findings"]
    call = finding["witness"]["calls"][0][0]
    finding["witness"]["calls"] = [[{**call, "op": op, "form": "function", "arguments": arguments}]]
    (tmp_path / "findings.json").write_text(json.dumps(document))
    result = run("probe", "findings.json")
    assert "1 inconclusive" in result.out
    assert not (tmp_path / "done").exists()
