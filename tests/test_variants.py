"""What the sample programs in fixtures/variants say of torch is so: they are run.

The first line of each is `# shows: EXPRESSION`, which is true of the program, or `# raises: EXCEPTION`, which its `main()`
raises on the way through a line with a finding.
"""

from __future__ import annotations

import importlib.util
import sys
import traceback
import types
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("torch", "numpy")), reason="torch is not installed"
)
FOLDER = Path(__file__).parent.parent / "fixtures" / "variants"
FILES = sorted(FOLDER.rglob("*.py"))


@pytest.fixture
def program(request: pytest.FixtureRequest) -> Iterator[types.ModuleType]:
    path: Path = request.param
    module = types.ModuleType(f"variant_{path.stem}")
    sys.modules[module.__name__] = module  # dataclasses look their module up
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), module.__dict__)
    yield module
    del sys.modules[module.__name__]


@pytest.mark.parametrize(
    ("program", "path"), [(path, path) for path in FILES], indirect=["program"], ids=[path.stem for path in FILES]
)
def test_variant(program: types.ModuleType, path: Path) -> None:
    text = path.read_text(encoding="utf-8").splitlines()
    kind, _, claim = text[0].removeprefix("# ").partition(": ")
    assert kind in ("shows", "raises")
    with warnings.catch_warnings():
        warnings.simplefilter("error" if "clean" in path.relative_to(FOLDER).parts else "ignore")
        if kind == "shows":
            assert eval(claim, program.__dict__)
            return
        with pytest.raises(Exception) as caught:
            program.main()
    assert caught.type.__name__ == claim
    marked = {number for number, line in enumerate(text, 1) if "# expect:" in line}
    lines = {frame.lineno for frame in traceback.extract_tb(caught.tb) if frame.filename == str(path)}
    assert marked & lines
