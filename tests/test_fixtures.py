"""The sample programs: each line says which findings it has (`# expect: TLC103`), and there are no others."""

from __future__ import annotations

import io
import json
import re
import tokenize
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

FIXTURES = Path(__file__).parent.parent / "fixtures"
FILES = sorted(path for folder in ("bad", "clean") for path in (FIXTURES / folder).glob("*.py"))
# Small programs as users write them, by hazard; each says in its first line what torch does there (see test_variants).
VARIANTS = sorted((FIXTURES / "variants").rglob("*.py"))


def expected(path: Path) -> list[tuple[int, str]]:
    found = []
    for token in tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline):
        if token.type == tokenize.COMMENT and (match := re.search(r"# expect: (TLC\d+(?:, TLC\d+)*)", token.string)):
            found += [(token.start[0], code) for code in match[1].split(", ")]
    return found


@pytest.mark.parametrize("path", FILES, ids=[f"{path.parent.name}-{path.stem}" for path in FILES])
def test_fixture(path: Path, run: Callable[..., Any]) -> None:
    report = json.loads(run("check", "--format", "json", "--isolated", path).out)
    assert report["skipped"] == []
    found = [(finding["line"], finding["code"]) for finding in report["findings"]]
    assert sorted(found) == sorted(expected(path))


def test_variants(run: Callable[..., Any]) -> None:
    report = json.loads(run("check", "--format", "json", "--isolated", FIXTURES / "variants").out)
    assert report["skipped"] == []
    found: dict[Path, list[tuple[int, str]]] = {path: [] for path in VARIANTS}
    for finding in report["findings"]:
        found[Path(finding["path"]).resolve()].append((finding["line"], finding["code"]))
    wrong = {
        path.name: (sorted(found[path]), expected(path))
        for path in VARIANTS
        if sorted(found[path]) != sorted(expected(path))
    }
    assert not wrong


def test_bad_files_expect_something_and_clean_ones_nothing() -> None:
    assert FILES and VARIANTS
    for path in FILES:
        assert bool(expected(path)) is (path.parent.name == "bad"), path
    for path in VARIANTS:
        assert bool(expected(path)) is ("bad" in path.relative_to(FIXTURES).parts), path
