"""The reader follows facts in the many ways in which they travel through Python: one program in fixtures/ways for each.

What the screens let through does not matter here; that the programs raise where they say is shown by running them.
"""

from __future__ import annotations

import importlib.util
import re
import sys
import traceback
import types
import warnings
from pathlib import Path

import libcst
import pytest
from libcst.metadata import MetadataWrapper, PositionProvider

from stridelint.linter import inference
from stridelint.rules.contract.answers import Confidence
from stridelint.rules.registry import all_rules

FILES = sorted((Path(__file__).parent.parent.parent / "fixtures" / "ways").glob("*.py"))


def marked(text: str) -> list[tuple[int, str]]:
    found = (re.search(r"# expect: (TLC\d+)", line) for line in text.splitlines())
    return [(number, match[1]) for number, match in enumerate(found, 1) if match]


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_facts_arrive(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    module = libcst.parse_module(text)
    analysis = inference.analyse(module, all_rules())
    assert analysis.exhausted is None
    findings = [each for each in analysis.findings if each.confidence > Confidence.POSSIBLE]
    places = MetadataWrapper(module, unsafe_skip_copy=True).resolve(PositionProvider)
    found = sorted((places[each.site.node].start.line, each.rule.code) for each in findings)  # type: ignore[index]
    assert found == marked(text)


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_it_raises_there(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    module = types.ModuleType(f"way_{path.stem}")
    sys.modules[module.__name__] = module
    try:
        exec(compile(text, str(path), "exec"), module.__dict__)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(RuntimeError) as caught:
                module.main()
    finally:
        del sys.modules[module.__name__]
    lines = {frame.lineno for frame in traceback.extract_tb(caught.tb) if frame.filename == str(path)}
    assert {line for line, _ in marked(text)} & lines
