"""What each format looks like, as files: STRIDELINT_UPDATE_SNAPSHOTS=1 writes them anew, and the diff is to be read."""

from __future__ import annotations

import importlib
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from stridelint.linter.reports import outputs

SNAPSHOTS = Path(__file__).parent / "snapshots"


def rendered(form: str, whole: Any, **changes: Any) -> str:
    module = importlib.import_module(f"stridelint.linter.reports.{form}")
    text: str = module.render(whole.report, whole.context._replace(**changes))
    return text


def without_what_changes(form: str, text: str) -> str:
    """The report without the version, what rules' documentation says, and the page's style and script."""
    if form == "sarif":
        document = json.loads(text)
        driver = document["runs"][0]["tool"]["driver"]
        driver["version"] = driver["semanticVersion"] = "VERSION"
        for rule in driver["rules"]:
            rule["fullDescription"]["text"] = rule["help"]["text"] = rule["help"]["markdown"] = "..."
        return json.dumps(document, indent=2) + "\n"
    text = re.sub(r"(?s)<(style|script)>.*?</\1>", r"<\1>...</\1>", text)
    text = re.sub(r"sha256-[^']*", "sha256-...", text)
    text = re.sub(r"(?s)(<article id=\"rule-\w+\">).*?</article>", r"\1...</article>", text)
    return re.sub(r"stridelint \d[\w.]*", "stridelint VERSION", text)


@pytest.mark.parametrize("form", outputs.FORMATS)
@pytest.mark.parametrize("show_suppressed", [False, True])
def test_as_it_was(whole: Any, form: str, show_suppressed: bool) -> None:
    text = without_what_changes(form, rendered(form, whole, show_suppressed=show_suppressed))
    path = SNAPSHOTS / f"report{'-with-suppressed' * show_suppressed}.{form}"
    if show_suppressed and form in ("text", "github", "gitlab", "junit"):
        assert text == without_what_changes(form, rendered(form, whole))
        return
    if os.environ.get("STRIDELINT_UPDATE_SNAPSHOTS"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("form", outputs.FORMATS)
def test_without_findings(whole: Any, form: str) -> None:
    empty = whole._replace(report=whole.report._replace(findings=(), known=(), hidden=(), skipped=()))
    text = rendered(form, empty)
    expected = {
        "text": "No findings (12 files checked, 1 suppressed, 0 in the baseline, 2 files excluded).\n",
        "github": "stridelint: No findings (12 files checked, 1 suppressed, 0 in the baseline, 2 files excluded).\n",
        "gitlab": "[]\n",
    }
    assert text == expected.get(form, text)
    if form == "sarif":
        assert json.loads(text)["runs"][0]["results"] == []
    if form == "html":
        assert '<p class="none">No findings.</p>' in text
    if form == "junit":
        assert '<testcase classname="stridelint" name="no findings" time="0"/>' in text
