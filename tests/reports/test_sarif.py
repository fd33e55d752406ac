"""SARIF: valid by the published schema, complete by GitHub's documentation, cut at its limits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from stridelint.linter import cli, config
from stridelint.linter.findings import Patch, Remark, Replacement
from stridelint.linter.fingerprints import Sources
from stridelint.linter.reports import rule_help, sarif
from stridelint.linter.reports.context import Context
from stridelint.rules.registry import by_code

# The schema that OASIS published, as schemastore.org has it.
SCHEMA = json.loads((Path(__file__).parent / "sarif-2.1.0.schema.json").read_text(encoding="utf-8"))


def document(whole: Any, **changes: Any) -> dict[str, Any]:
    text = sarif.render(whole.report, whole.context._replace(**changes))
    found: dict[str, Any] = json.loads(text)
    jsonschema.Draft4Validator(SCHEMA).validate(found)
    return found


def results(whole: Any, **changes: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = document(whole, **changes)["runs"][0]["results"]
    return found


def test_the_schema_refuses_what_is_wrong(whole: Any) -> None:
    wrong = document(whole)
    wrong["runs"][0]["results"][0]["level"] = "fatal"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft4Validator(SCHEMA).validate(wrong)


def test_all_that_github_asks_for(whole: Any) -> None:
    found = document(whole, show_suppressed=True)
    assert found["$schema"] and found["version"] == "2.1.0"
    (run,) = found["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "stridelint" and driver["semanticVersion"]
    for rule in driver["rules"]:
        for text in ("shortDescription", "fullDescription"):
            assert 0 < len(rule[text]["text"]) <= 1024
        assert rule["help"]["text"] and rule["help"]["markdown"].startswith(f"# {rule['id']} ")
        assert rule["helpUri"].endswith(f"/{rule['id']}.md")
        assert rule["defaultConfiguration"]["level"] in ("error", "warning", "note")
        assert rule["properties"]["precision"] in ("very-high", "high", "medium", "low")
        assert rule["properties"]["problem.severity"] in ("error", "warning", "recommendation")
        assert 0 < len(rule["properties"]["tags"]) <= 10
    assert run["automationDetails"]["id"].endswith("/")
    for result in run["results"]:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["message"]["text"]
        (location,) = result["locations"]
        physical = location["physicalLocation"]
        assert physical["artifactLocation"]["uriBaseId"] in run["originalUriBaseIds"]
        assert not physical["artifactLocation"]["uri"].startswith(("/", "file:"))
        assert set(physical["region"]) >= {"startLine", "startColumn", "endLine", "endColumn"}
        assert set(result["partialFingerprints"]) == {"primaryLocationLineHash", "stridelint/v1"}


@pytest.mark.parametrize("code", sorted(by_code()))
def test_every_rule_has_help(code: str) -> None:
    rule = rule_help.of(code, "", "")
    assert 0 < len(rule.what) <= 1024 and rule.severity in ("error", "warning", "note")
    titles = [title for title, _, _ in rule.parts]
    assert titles[:4] == ["What it does", "Why is this bad?", "Example", "Use instead"]
    assert "```" not in "".join(text for _, text, is_code in rule.parts if is_code)
    assert not [text for _, text, is_code in rule.parts if not is_code and "\n " in text]
    assert rule.markdown().count("```") == 4


def test_the_indentation_of_the_docstring_is_gone_and_that_of_code_is_not() -> None:
    (example,) = [text for title, text, _ in rule_help.of("TLC103", "", "").parts if title == "Example"]
    lines = example.split("\n")
    assert [len(line) - len(line.lstrip()) for line in lines] == [0, 4, 4]


def test_a_rule_that_is_not_known_still_has_metadata() -> None:
    rule = rule_help.of("XYZ001", "my-rule", "warning")
    assert (rule.what, rule.severity, rule.plain()) == ("my-rule", "warning", "my-rule")


def test_columns_count_utf_16_units(whole: Any) -> None:
    (result,) = [
        each for each in results(whole) if each["locations"][0]["physicalLocation"]["region"]["startLine"] == 8
    ]
    assert document(whole)["runs"][0]["columnKind"] == "utf16CodeUnits"
    region = result["locations"][0]["physicalLocation"]["region"]
    assert (region["startColumn"], region["endColumn"]) == (21, 29)  # the emoji before them counts twice
    line = region["snippet"]["text"].encode("utf-16-le")
    assert line[2 * 20 : 2 * 28].decode("utf-16-le") == "mask * y"
    (replacement,) = result["fixes"][0]["artifactChanges"][0]["replacements"]
    assert (replacement["deletedRegion"]["startColumn"], replacement["deletedRegion"]["endColumn"]) == (21, 25)


def test_the_story_is_a_flow_and_related_locations(whole: Any) -> None:
    (result,) = [each for each in results(whole) if each["ruleId"] == "TLC306"]
    steps = result["codeFlows"][0]["threadFlows"][0]["locations"]
    places = [
        (
            step["location"]["physicalLocation"]["artifactLocation"]["uri"],
            step["location"]["physicalLocation"]["region"]["startLine"],
        )
        for step in steps
    ]
    assert places == [("model.py", 6), ("model.py", 7), ("lib/other.py", 2), ("model.py", 9)]
    assert steps[0]["location"]["message"]["text"] == "'mask' is made here"
    assert [each["id"] for each in result["relatedLocations"]] == [1, 2, 3]


def test_the_probe_s_verdict(whole: Any) -> None:
    told = [each["properties"]["probe"] for each in results(whole) if each["properties"].get("runtime") == "confirmed"]
    assert [(each["observed"], each["device"]) for each in told] == [("the result has strides (60, 20, 5, 1)", "cpu")]


def test_states_and_suppressions(whole: Any) -> None:
    assert {each["baselineState"] for each in results(whole)} == {"new"}
    marked = results(whole, show_suppressed=True)
    assert [each["ruleId"] for each in marked if each.get("baselineState") == "unchanged"] == ["TLC101"]
    assert [each["ruleId"] for each in marked if each.get("suppressions")] == ["TLC107"]
    without = whole._replace(report=whole.report._replace(has_baseline=False, known=()))
    assert not any("baselineState" in each for each in results(without))


def test_files_that_were_skipped(whole: Any) -> None:
    (invocation,) = document(whole)["runs"][0]["invocations"]
    (told,) = invocation["toolExecutionNotifications"]
    assert invocation["executionSuccessful"] is True
    assert told["descriptor"]["id"] == "TLC901" and "invalid syntax" in told["message"]["text"]
    assert told["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "broken.py"
    hushed = document(whole, show_skipped=False)["runs"][0]["invocations"][0]
    assert hushed["toolExecutionNotifications"] == []


def test_fingerprints_are_those_of_the_file(whole: Any) -> None:
    same = [each["partialFingerprints"] for each in results(whole) if each["ruleId"] == "TLC104"]
    assert [each["stridelint/v1"].split(":")[1] for each in same] == ["1", "2"]
    assert same[0]["primaryLocationLineHash"] == whole.context.sources.line_hash("lib/other.py", 3)


def test_paths(tmp_path: Path, whole: Any) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a b#.py").write_text("x\n")
    (tmp_path / "link").symlink_to("real")
    context = Context(Sources(), str(tmp_path))
    places = sarif._Places(context)
    assert places.artifact(str(tmp_path / "link" / "a b#.py")) == {"uri": "real/a%20b%23.py", "uriBaseId": "%SRCROOT%"}
    assert places.artifact(str(tmp_path / "\udcff:x.py"))["uri"] == "%FF%3Ax.py"
    assert places.artifact("/elsewhere/x.py") == {"uri": "file:///elsewhere/x.py"}


def test_a_link_out_of_the_repository_keeps_its_name(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x.py").write_text("")
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "x.py").symlink_to(tmp_path / "outside" / "x.py")
    assert Context(Sources(), str(tmp_path / "inside")).relative(str(tmp_path / "inside" / "x.py")) == "x.py"


def test_what_github_limits_is_cut_and_told(whole: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sarif, "MOST_RESULTS", 3)
    monkeypatch.setattr(sarif, "SHOWN_RESULTS", 2)
    found = document(whole)["runs"][0]
    assert [each["level"] for each in found["results"]] == ["error", "error", "warning"]
    remarks = ["2 of 5 results are left out: GitHub takes 3 of a run", "GitHub shows the 2 gravest of 3 results"]
    assert whole.remarks == remarks
    assert [each["message"]["text"] for each in found["invocations"][0]["toolExecutionNotifications"]][1:] == remarks


def test_the_end_of_a_long_story_is_kept(whole: Any) -> None:
    notes = tuple(Remark("model.py", 1, f"step {number}") for number in range(3000))
    (finding,) = [each for each in whole.report.findings if each.code == "TLC306"]
    (result,) = results(whole._replace(report=whole.report._replace(findings=(finding._replace(notes=notes),))))
    steps = result["codeFlows"][0]["threadFlows"][0]["locations"]
    assert len(steps) == 100 and len(result["relatedLocations"]) == 99
    assert steps[-2]["location"]["message"]["text"] == "step 2999"


def test_a_file_that_is_too_large_for_github_is_told(whole: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sarif, "MOST_BYTES", 2000)
    document(whole)
    assert len(whole.remarks) == 1 and "bytes when compressed, and GitHub takes 2,000" in whole.remarks[0]


def test_an_edit_over_several_lines(whole: Any) -> None:
    patch = Patch("", False, (Replacement(9, 9, 12, 10, "torch.add(mask, 1)"),))
    (finding,) = [each for each in whole.report.findings if each.code == "TLC306"]
    (result,) = results(whole._replace(report=whole.report._replace(findings=(finding._replace(patch=patch),))))
    (fix,) = result["fixes"]
    assert fix["description"]["text"]
    (replacement,) = fix["artifactChanges"][0]["replacements"]
    assert replacement["deletedRegion"] == {"startLine": 9, "startColumn": 9, "endLine": 12, "endColumn": 10}


@pytest.mark.parametrize(("options", "level"), [([], "error"), (["--severity", "TLC3=note"], "note")])
def test_a_severity_that_settings_give_holds_for_the_rule_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], options: list[str], level: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.py").write_text("import torch\n\ntorch.add(torch.ones(3), 1, out=torch.ones(3, dtype=torch.int64))\n")
    cli.main(["check", "--isolated", "--no-cache", "--format", "sarif", *options, "x.py"])
    found = json.loads(capsys.readouterr().out)
    jsonschema.Draft4Validator(SCHEMA).validate(found)
    (run,) = found["runs"]
    (rule,), (result,) = run["tool"]["driver"]["rules"], run["results"]
    problem = {"error": "error", "note": "recommendation"}[level]
    assert (result["level"], rule["defaultConfiguration"]["level"]) == (level, level)
    assert rule["properties"]["problem.severity"] == problem


def test_a_severity_in_a_folder_found_on_the_way_holds_for_the_rule_unless_an_outer_one_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sub").mkdir()
    Path("sub/x.py").write_text("import torch\n\ntorch.add(torch.ones(3), 1, out=torch.ones(3, dtype=torch.int64))\n")
    Path("sub/stridelint.toml").write_text('severity = {TLC301 = "warning"}\n')

    def levels(outer: str) -> tuple[str, str]:
        Path("stridelint.toml").write_text(outer)
        config.forget()
        cli.main(["check", "--no-cache", "--format", "sarif", "."])
        (run,) = json.loads(capsys.readouterr().out)["runs"]
        return run["tool"]["driver"]["rules"][0]["defaultConfiguration"]["level"], run["results"][0]["level"]

    assert levels("") == ("warning", "warning")
    assert levels('severity = {TLC301 = "note"}\n') == ("note", "warning")
