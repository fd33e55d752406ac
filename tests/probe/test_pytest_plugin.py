"""`pytest --stridelint`, alone and under xdist."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

pytest.importorskip("torch")
pytest_plugins = ("pytester",)

TESTS = """\
import pytest
import torch

@pytest.fixture
def images():
    return torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)

def test_fused(images):
    assert fused(images, torch.ones(2, 3, 4, 5)).shape == images.shape

def fused(images, mask):
    return mask * images

@pytest.mark.parametrize("dim", range(4))
def test_softmax(images, dim):
    torch.cumsum(images, dim)

def flat(images):
    return images.view(2, -1).sum()

def test_expected(images):
    with pytest.raises(RuntimeError):
        flat(images)
"""
FAILING = """
def test_failing(images):
    assert flat([images][0]) == 0
"""


@pytest.fixture(params=["alone", "xdist"])
def many(request: pytest.FixtureRequest) -> list[str]:
    if request.param == "xdist":
        pytest.importorskip("xdist")
        return ["-n", "2"]
    return ["-p", "no:xdist"] if request.param == "none" else []


def report(pytester: pytest.Pytester, *arguments: str) -> tuple[pytest.RunResult, dict[str, Any]]:
    result = pytester.runpytest_subprocess("--stridelint", "--stridelint-output", "report.json", *arguments)
    found: dict[str, Any] = json.loads((pytester.path / "report.json").read_text())
    assert not found["failures"], found["failure"]
    return result, found


def test_findings_and_layout(pytester: pytest.Pytester, many: list[str]) -> None:
    pytester.makepyfile(test_one=TESTS)
    result, found = report(pytester, *many)
    result.assert_outcomes(passed=6)
    told = {(each["line"], each["code"]) for each in (*found["hazards"], *found["findings"])}
    assert (12, "TLC101") in told
    assert not [each for each in found["hazards"] if each["code"] == "TLC104"]
    assert {(each["line"], each["operator"]): each["calls"] for each in found["layout"]} == {
        (12, "mul"): 1,
        (16, "cumsum"): 4,
    }


def test_an_error_that_fails_a_test(pytester: pytest.Pytester, many: list[str]) -> None:
    pytester.makepyfile(test_one=TESTS + FAILING)
    result, found = report(pytester, "--stridelint-select", "TLC104", *many)
    result.assert_outcomes(passed=6, failed=1)
    verdicts = [each["trace"]["verdict"] for each in found["findings"] if each["line"] == 19]
    assert verdicts == ["confirmed"] or [(each["line"], each["code"]) for each in found["hazards"]] == [(19, "TLC104")]
    assert "trace_mode" not in result.stdout.str()
    result.stdout.fnmatch_lines(["*return images.view(2, -1).sum()", "test_one.py:19: RuntimeError"])


def test_the_section_of_the_summary(pytester: pytest.Pytester, many: list[str]) -> None:
    pytester.makepyfile(test_one=TESTS)
    result = pytester.runpytest_subprocess("--stridelint", *many)
    result.stdout.fnmatch_lines(
        [
            "*= stridelint =*",
            "*test_one.py:12:12: TLC101 [[]argument-order-layout[]] result of 'mask * images' is row-major*",
            "channels_last goes in and row-major comes out, by number of calls:",
            "*4  test_one.py:16:5  cumsum",
            "*hazard* only in this run; * calls of torch at * places, * judged.",
        ]
    )


def test_only_what_is_watched(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_one="import helper\nimport torch\n\n" + "def test_it():\n    helper.drop(torch.rand(2, 3, 4, 5))\n"
    )
    text = "import torch\n\ndef drop(x):\n    torch.tril(x.contiguous(memory_format=torch.channels_last))\n"
    pytester.makepyfile(helper=text)
    assert report(pytester, "--stridelint-watch", "test_one.py")[1]["layout"] == []
    assert [each["path"] for each in report(pytester, "--stridelint-watch", "helper.py")[1]["layout"]] == ["helper.py"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--stridelint-select", "TLC999"], "unknown rule 'TLC999'"),
        (["--stridelint-watch", "nowhere"], "no such file or folder: nowhere"),
    ],
)
def test_wrong_usage(pytester: pytest.Pytester, arguments: list[str], message: str) -> None:
    result = pytester.runpytest_subprocess("--stridelint", *arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert message in result.stderr.str()


def test_without_the_option_nothing_is_imported(pytester: pytest.Pytester) -> None:
    code = """\
import sys

def test_it():
    names = {name.partition(".")[2].partition(".")[0] for name in sys.modules if name.startswith("stridelint.")}
    assert names <= {"linter"}
    assert "stridelint.linter.pytest_plugin" in sys.modules
    assert not {"torch", "libcst"} & set(sys.modules)
"""
    pytester.makepyfile(test_one=code)
    pytester.runpytest_subprocess().assert_outcomes(passed=1)


def test_it_explains_what_to_install(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        "import importlib.util\nfind = importlib.util.find_spec\nimportlib.util.find_spec = lambda name: None if name == 'torch' else find(name)\n"
    )
    result = pytester.runpytest_subprocess("--stridelint", "-p", "no:cacheprovider")
    assert result.ret == pytest.ExitCode.USAGE_ERROR, sys.version
    assert "pip install 'stridelint[probe]'" in result.stderr.str()
