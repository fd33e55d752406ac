"""Baselines: what is known is not reported, wherever its code has moved; what is new is; what is gone is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stridelint.linter import baseline, run as runner, tracing
from stridelint.linter.baseline import Entry
from stridelint.linter.findings import Reported
from stridelint.linter.fingerprints import Sources, line_hashes

Run = Callable[..., Any]
HEAD = "import torch\n\n\n"
BAD = HEAD + "def f(x):\n    return x.view(1)\n"
TWICE = HEAD + "def f(x):\n    x.view(1)\n    x.view(1)\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stubs: None) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.py").write_text(BAD)
    return tmp_path


@pytest.fixture
def accepted(project: Path, run: Run) -> Path:
    assert run("check", "--baseline", "known.json", "--update-baseline", ".").status == 0
    return project


def check(run: Run, *options: str) -> Any:
    return run("check", "--baseline", "known.json", *options, ".")


def entries(project: Path) -> dict[str, list[dict[str, Any]]]:
    document: dict[str, list[dict[str, Any]]] = json.loads((project / "known.json").read_text())["files"]
    return document


def test_the_file_is_made_to_be_read_and_merged(accepted: Path) -> None:
    text = (accepted / "known.json").read_text()
    (entry,) = entries(accepted)["bad.py"]
    assert text == (
        '{\n  "version": 1,\n  "files": {\n    "bad.py": [\n'
        '      {"code": "TLC104", "in": "f", "source": "x.view(1)", "severity": "error", "confidence": "certain", '
        f'"fingerprint": "{entry["fingerprint"]}"}}\n'
        "    ]\n  }\n}\n"
    )


def test_known_findings_are_not_reported(accepted: Path, run: Run) -> None:
    result = check(run)
    assert (result.status, result.err) == (0, "")
    assert result.out == "No findings (1 file checked, 1 in the baseline).\n"


def test_an_update_says_what_changed(project: Path, run: Run) -> None:
    result = check(run, "--update-baseline")
    assert result.err == "stridelint: known.json: 1 finding (1 new, 0 gone)\n"
    (project / "bad.py").write_text(BAD.replace("view(1)", "view(2)"))
    assert check(run, "--update-baseline").err == "stridelint: known.json: 1 finding (1 new, 1 gone)\n"
    assert [entry["source"] for entry in entries(project)["bad.py"]] == ["x.view(2)"]


@pytest.mark.parametrize(
    "changed",
    [
        "# a comment\n\n" + BAD,
        BAD.replace("return x.view(1)", "y = 1\n    return   x.view( 1 )"),
        BAD.replace("x.view(1)", "x.view(\n        1\n    )"),
        BAD.replace("\n", "\r\n"),
        BAD.replace("    return", "\tfoo()\n\treturn"),
    ],
)
def test_code_that_moves_or_is_laid_out_anew_stays_known(accepted: Path, run: Run, changed: str) -> None:
    (accepted / "bad.py").write_bytes(changed.encode())
    assert check(run).status == 0


@pytest.mark.parametrize(
    "changed",
    [BAD.replace("view(1)", "view(2)"), BAD.replace("def f", "def g"), BAD.replace("x.view", "y.view")],
)
def test_other_code_is_new(accepted: Path, run: Run, changed: str) -> None:
    (accepted / "bad.py").write_text(changed)
    result = check(run)
    assert result.status == 1
    assert "bad.py:5:12: TLC104" in result.out


def test_a_renamed_file_stays_known(accepted: Path, run: Run) -> None:
    (accepted / "sub").mkdir()
    (accepted / "bad.py").rename(accepted / "sub" / "better.py")
    result = check(run)
    assert (result.status, result.err) == (0, "")
    check(run, "--prune-baseline")
    assert list(entries(accepted)) == ["sub/better.py"]


def test_a_copied_file_is_new(accepted: Path, run: Run) -> None:
    (accepted / "copy.py").write_text(BAD)
    result = check(run)
    assert result.status == 1
    assert [line for line in result.out.splitlines() if "TLC104" in line] == [
        "copy.py:5:12: TLC104 [viewed] calls view"
    ]


def test_equal_findings_are_counted(project: Path, run: Run) -> None:
    (project / "bad.py").write_text(TWICE)
    check(run, "--update-baseline")
    assert [entry["count"] for entry in entries(project)["bad.py"]] == [2]
    (project / "bad.py").write_text(TWICE + "    x.view(1)\n")
    result = check(run)
    assert [line.split()[0] for line in result.out.splitlines() if "TLC104" in line] == ["bad.py:7:5:"]
    (project / "bad.py").write_text(BAD.replace("return ", ""))
    result = check(run, "--error-stale-baseline")
    assert result.status == 1
    assert "known.json: 1 finding of the baseline is gone" in result.err


def test_stale_entries_are_told_and_pruned(accepted: Path, run: Run) -> None:
    (accepted / "bad.py").write_text(HEAD)
    result = check(run)
    assert (result.status, result.err) == (
        0,
        "stridelint: note: known.json: 1 finding of the baseline is gone; take them out with --prune-baseline\n"
        "stridelint:   bad.py: TLC104 in f: x.view(1)\n",
    )
    assert check(run, "--error-stale-baseline").status == 1
    assert check(run, "--error-stale-baseline", "--exit-zero").status == 0
    assert check(run, "--prune-baseline", "--error-stale-baseline").status == 0
    assert entries(accepted) == {}


def test_pruning_adds_nothing(accepted: Path, run: Run) -> None:
    (accepted / "bad.py").write_text(TWICE)
    before = (accepted / "known.json").read_text()
    result = check(run, "--prune-baseline")
    assert result.status == 1
    assert (accepted / "known.json").read_text() == before


def test_what_a_run_does_not_look_at_is_not_stale(accepted: Path, run: Run) -> None:
    (accepted / "other.py").write_text("import torch\nx.store(1)\nx.hush()\n")
    audit = ("--min-confidence", "possible", "--update-baseline")
    check(run, *audit)
    assert {entry["code"] for inside in entries(accepted).values() for entry in inside} == {
        "TLC104",
        "TLC203",
        "TLC303",
    }
    for options in (("other.py",), ("bad.py",), ("--select", "TLC104", "."), (".",)):
        result = run("check", "--baseline", "known.json", "--error-stale-baseline", *options)
        assert (result.status, result.err) == (0, "")
    before = (accepted / "known.json").read_text()
    run("check", "--baseline", "known.json", "--prune-baseline", "--select", "TLC104", ".")
    run("check", "--baseline", "known.json", "--update-baseline", "bad.py")
    assert (accepted / "known.json").read_text() == before


def test_a_file_that_cannot_be_analysed_makes_nothing_stale(accepted: Path, run: Run) -> None:
    (accepted / "bad.py").write_text("import torch; x.view(\n")
    result = check(run, "--error-stale-baseline")
    assert (result.status, result.err) == (0, "")


def test_the_configuration_names_it_relative_to_its_folder(
    project: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "pyproject.toml").write_text(
        '[tool.stridelint]\nbaseline = "ci/known.json"\nerror-stale-baseline = true\n'
    )
    (project / "ci").mkdir()
    (project / "src").mkdir()
    monkeypatch.chdir(project / "src")
    assert run("check", "--update-baseline", "..").status == 0
    document = json.loads((project / "ci" / "known.json").read_text())
    assert list(document["files"]) == ["../bad.py"]
    assert run("check", "..").status == 0
    assert run("check", "--no-baseline", "..").status == 1
    assert run("check", "--isolated", "..").status == 1
    (project / "bad.py").unlink()
    assert run("check", "..").status == 1


def test_a_trace_judges_all_findings(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.stridelint]\nbaseline = "no-such-file.json"\n')
    assert [each["code"] for each in tracing.checked(["bad.py"])["findings"]] == ["TLC104"]


def test_a_wrong_baseline_does_not_cost_a_run(project: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("the files are checked")

    monkeypatch.setattr(runner, "check_all", fail)
    assert check(run).err == "stridelint: no such baseline: known.json; make it with --update-baseline\n"
    result = run("check", "--baseline", "no/folder/b.json", "--update-baseline", ".")
    assert result.err == "stridelint: cannot write the baseline no/folder/b.json: there is no folder no/folder\n"


def test_each_project_has_its_own(project: Path, run: Run) -> None:
    for name in ("one", "two", "none"):
        (project / name).mkdir()
        (project / name / "bad.py").write_text(BAD)
        setting = "" if name == "none" else 'baseline = "known.json"\n'
        (project / name / "pyproject.toml").write_text(f"[tool.stridelint]\n{setting}")
    assert run("check", "--update-baseline", "one", "two").status == 0
    assert all("bad.py" in json.loads((project / name / "known.json").read_text())["files"] for name in ("one", "two"))
    result = run("check", "one", "two", "none")
    assert [line.split(":")[0] for line in result.out.splitlines() if "TLC104" in line] == ["none/bad.py"]


def test_a_baseline_with_fixes_and_standard_input(accepted: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    import io
    import sys
    from types import SimpleNamespace

    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(("# moved\n" + BAD).encode())))
    result = run("check", "--baseline", "known.json", "--stdin-filename", "bad.py", "-")
    assert result.status == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "no such baseline: known.json; make it with --update-baseline"),
        ("{", "the baseline known.json is not valid JSON: "),
        ("{\n<<<<<<< HEAD\n", "is not valid JSON (a merge conflict?): "),
        ("[]", "known.json is no baseline: make one with --baseline known.json --update-baseline"),
        ('{"version": 9, "files": {}}', "has version 9, this stridelint reads 1"),
        ('{"version": 1, "files": {"a.py": {}}}', "has no list of entries for 'a.py'"),
        ('{"version": 1, "files": {"a.py": [3]}}', "has a broken entry for 'a.py': 3"),
        (
            '{"version": 1, "files": {"a.py": [{"code": "TLC104", "fingerprint": "x", "count": 0}]}}',
            "has a broken entry",
        ),
        ('{"version": 1, "files": {"a.py": [{"code": "TLC104"}]}}', "without a code or a fingerprint"),
        ("\x00" + "[" * 100_000, "is not valid JSON"),
    ],
)
def test_a_broken_baseline_is_an_error(project: Path, run: Run, text: str | None, message: str) -> None:
    if text is not None:
        (project / "known.json").write_text(text)
    result = check(run)
    assert (result.status, result.out) == (2, "")
    assert message in result.err
    assert result.err.startswith("stridelint: ") and result.err.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--update-baseline",), "no baseline to write: name one with --baseline FILE"),
        (
            ("--baseline", "b", "--update-baseline", "--prune-baseline"),
            "--update-baseline does all that --prune-baseline",
        ),
        (("--baseline", "b", "--update-baseline", "--no-baseline"), "does not go with --no-baseline"),
        (("--baseline", "b", "--update-baseline", "--diff"), "does not go with --diff"),
        (("--baseline", "."), "--baseline needs the name of a file, not '.'"),
        (("--baseline", "no/such/folder/b", "--update-baseline"), "cannot write the baseline no/such/folder/b: "),
    ],
)
def test_options_that_cannot_be_followed(project: Path, run: Run, options: tuple[str, ...], message: str) -> None:
    result = run("check", *options)
    assert result.status == 2
    assert message in result.err


def test_standard_input_has_no_place_in_a_baseline(project: Path, run: Run) -> None:
    assert "standard input has no place" in run("check", "--baseline", "b", "--update-baseline", "-").err


def entry(path: str, fingerprint: str, times: int = 1) -> Entry:
    return Entry(path, "TLC104", "", "x", fingerprint, "error", "certain", times)


def test_the_same_file_goes_before_others() -> None:
    known = [entry("a", "f"), entry("b", "f")]
    compared = baseline.compare(known, [entry("b", "f"), entry("c", "f")], lambda each: True)
    assert compared == ([True, True], [], [])
    compared = baseline.compare(known, [entry("c", "f"), entry("b", "f")], lambda each: each.path == "b")
    assert compared == ([False, True], [], [entry("a", "f")])


def test_entries_of_one_finding_are_summed_as_a_merge_may_leave_them() -> None:
    compared = baseline.compare([entry("a", "f"), entry("a", "f", 2)], [entry("a", "f")], lambda each: True)
    assert compared == ([True], [entry("a", "f", 2)], [])


def test_both_sides_of_a_merge_are_kept(accepted: Path, run: Run) -> None:
    line = json.dumps(entries(accepted)["bad.py"][0])
    other = json.dumps({**json.loads(line), "fingerprint": "0" * 32})
    text = f'{{"version": 1, "files": {{"bad.py": [{line}, {line}], "bad.py": [{line}, {other}]}}}}'
    (accepted / "known.json").write_text(text)
    assert check(run).status == 0
    check(run, "--prune-baseline")
    assert [json.dumps(entry) for entry in entries(accepted)["bad.py"]] == [line]


def reported(path: str, line: int, excerpt: str) -> Reported:
    return Reported(path, line, 1, line, len(excerpt) + 1, "TLC104", "n", "m", "error", "certain", (), excerpt)


def test_scopes_of_classes_functions_and_decorators() -> None:
    text = "class A:\n    @deco(\n        1\n    )\n    def f(self):\n        def g():\n            pass\n        return 1\n\nz = 1\n"
    sources = Sources({"a.py": text.encode()})
    assert [sources.scope("a.py", line) for line in (1, 2, 5, 7, 8, 10)] == ["A", "A.f", "A.f", "A.f.g", "A.f", ""]


def test_a_file_that_changed_since_is_known_by_its_line_alone() -> None:
    sources = Sources({"a.py": b"def f():\n    something_else()\n"})
    finding = reported("a.py", 2, "    x.view(1)")
    assert sources.identity(finding)[:2] == ("", "x.view(1)")
    assert Sources({}).identity(reported("missing.py", 2, "x")).code == "x"


# Made with the line hash of GitHub's upload action.
@pytest.mark.parametrize(
    ("data", "hashes"),
    [
        (b"", ["c129715d7a2bc9a3:1"]),
        (b" a\nb\n  \t\tc\n d", ["271789c17abda88f:1", "54703d4cd895b18:1", "180aee12dab6264:1", "a23a3dc5e078b07b:1"]),
        (
            b" hello; \t\nworld!!!\r\n\n\r  \t\tGreetings\r End\r\n",
            [
                "e9496ae3ebfced30:1",
                "fb7c023a8b9ccb3f:1",
                "ce8ba1a563dcdaca:1",
                "e20e36e16fcb0cc8:1",
                "b3edc88f2938467e:1",
                "c8e28b0b4002a3a0:1",
                "c129715d7a2bc9a3:1",
            ],
        ),
        (b"Lorem ipsum dolor sit amet.\n" * 6, ["a7f2ff13bc495cf2:1", "a7f2ff13bc495cf2:2"]),
    ],
)
def test_the_line_hash_is_github_s(data: bytes, hashes: list[str]) -> None:
    assert line_hashes(data)[: len(hashes)] == hashes
