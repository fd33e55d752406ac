"""Names and contents that are written to deceive: no report is broken by them, and none says what they want it to say."""

from __future__ import annotations

import importlib
import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import pytest

from stridelint.linter.findings import Patch, Remark, Replacement, Report, Reported, Skipped, Verdict
from stridelint.linter.fingerprints import Sources
from stridelint.linter.reports import outputs, step_summary
from stridelint.linter.reports.context import Context
from stridelint.linter.reports.escaping import line, markup, visible

Run = Callable[..., Any]

HOSTILE = [
    "a\nb",
    "a\r\n::error::b",
    "::error file=x,line=1::b",
    "##[error]b",
    "%0A::error::b",
    "a,line=1:b",
    "a]]>b",
    "</pre></script><script>alert(1)</script>",
    "\" onmouseover='alert(1)' x=\"",
    "<img src=x onerror=alert(1)>",
    "&lt;&#60;",
    "\x1b[31mred\x1b[0m\x07\x08",
    "\x00\x01\x0b\x0c\x7f\x85",
    "\u202egnp.exe\u2066\u200b",
    "not utf-8 \udcff\udc80",
    "half \ud83d",
    "\ufffe\uffff",
    "{{x}} ${x} %s {0}",
    "",
    " ",
    "\u2028a\u2029",
    "日本 é 😀",
]
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff]")


def path_with(text: str) -> str:
    """A path as an operating system may have it."""
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        text = line(text)
    return f"p{text}.py".replace("\x00", "")


def report(text: str) -> tuple[Report, Context]:
    """A report that holds a text wherever it can."""
    # What is code has no line ends, and files have names.
    code = line(text) or "x"
    path = path_with(text)
    finding = Reported(
        path,
        1,
        1,
        1,
        len(code) + 1,
        "TLC101",
        f"n{text}",
        f"m{text}",
        "error",
        "possible",
        (Remark(path, 1, f"t{text}"), Remark(f"o{path}", 7, text)),
        code,
        json.dumps(
            {
                "calls": [
                    [{"tensors": [{"text": text, "shape": [2, 3], "strides": [3, 1], "dtype": text}], "text": text}]
                ]
            }
        ),
        Verdict("confirmed", text, text, text, text),
        Patch(f"d{text}", True, (Replacement(1, 1, 1, 2, code),)),
    )
    found = Report((finding,), (Skipped(path, f"r{text}"),), 0, 1, 0)
    sources = Sources({path: code.encode("utf-8", "surrogatepass")})
    return found, Context(sources, "/", paths=(text,))


def rendered(form: str, text: str) -> str:
    module = importlib.import_module(f"stridelint.linter.reports.{form}")
    found: str = module.render(*report(text))
    found.encode("utf-8")  # no half characters are left
    return found


def strings(value: Any) -> Iterator[str]:
    """All texts in a document."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from (key, *strings(each))
    elif isinstance(value, list):
        for each in value:
            yield from strings(each)


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("form", ["json", "sarif", "gitlab"])
def test_json_formats(form: str, text: str) -> None:
    shown = rendered(form, text)
    assert shown.isascii()
    document = json.loads(shown)
    if form == "sarif":
        (result,) = document["runs"][0]["results"]
        place = result["locations"][0]["physicalLocation"]["artifactLocation"]
        assert unquote_to_bytes(place["uri"]).endswith(path_with(text).encode("utf-8", "surrogateescape"))
        assert re.fullmatch(r"[A-Za-z0-9%/._~-]+", place["uri"])
        assert result["message"]["text"] == visible(f"m{text}")
    if form == "gitlab":
        (issue,) = document
        assert issue["location"]["path"].isprintable() or " " in text
        assert len(issue["description"].splitlines()) == 1
    if form != "json":
        assert not [each for each in strings(document) if UNSEEN.search(each)]


@pytest.mark.parametrize("text", HOSTILE)
def test_github_commands(text: str) -> None:
    commands = rendered("github", text).removesuffix("\n").split("\n")
    assert [command[:2] for command in commands] == ["::", "st", "st"]
    assert "\r" not in commands[0] and "##[" not in "".join(commands[1:])
    level, properties, data = re.fullmatch(r"::(\w+) ([^:]*)::(.*)", commands[0]).groups()  # type: ignore[union-attr]
    assert level == "error"
    assert [each.partition("=")[0] for each in properties.split(",")] == ["file", "line", "col", "endColumn", "title"]
    told = data.replace("%0A", "\n").replace("%0D", "\r").replace("%25", "%")
    assert told.split("\n")[0] == line(f"m{text}") + " (possible)"
    assert len(told.split("\n")) == 4


@pytest.mark.parametrize("text", HOSTILE)
def test_junit(text: str) -> None:
    root = ElementTree.fromstring(rendered("junit", text).encode("utf-8"))
    assert [each.tag for each in root.iter()] == [
        "testsuites",
        "testsuite",
        "testcase",
        "failure",
        "testcase",
        "skipped",
    ]
    failure = next(root.iter("failure"))
    assert failure.attrib["message"] == line(f"m{text}")


class _Tags(HTMLParser):
    """The elements of a page with the names of their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, tuple[str, ...]]] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, tuple(name for name, _ in attributes)))


def tags(page: str) -> list[tuple[str, tuple[str, ...]]]:
    parser = _Tags()
    parser.feed(page)
    parser.close()
    # Where a path may be broken, and what is left out if it is empty.
    return [each for each in parser.found if each[0] not in ("wbr", "code", "ul", "li", "p")]


@pytest.mark.parametrize("text", [text for text in HOSTILE if text.strip()])
def test_html_has_the_same_elements(text: str) -> None:
    page = rendered("html", text)
    assert tags(page) == tags(rendered("html", "harmless"))
    assert not UNSEEN.search(page)
    assert page.count("<script") == 1


@pytest.mark.parametrize("text", [text for text in HOSTILE if text.strip()])
def test_text_moves_no_cursor(text: str) -> None:
    shown = rendered("text", text)
    assert not UNSEEN.search(shown)
    assert shown.startswith("p")
    assert len(shown.split("\n")) == len(rendered("text", "harmless").split("\n"))


def test_escapes() -> None:
    assert visible("a\tb\nc\r\x1b\udcff\ud83d\u202e") == "a\tb\nc\\r\\x1b\\xff\\ud83d\\u202e"
    assert line("a\tb\nc") == "a\\tb\\nc"
    assert markup("<a href=\"'&'\">\n") == "&lt;a href=&quot;&#39;&amp;&#39;&quot;&gt;&#10;"


NAMES = [
    "a\nb.py",
    "::error::x.py",
    "q\"'<b>&.py",
    "\udcff.py",
    "\x1b[31m.py",
    "%0A,x=y.py",
    "a b#?.py",
    "]]>.py",
    "-.py",
]


@pytest.mark.parametrize("name", NAMES)
def test_files_with_such_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run, stubs: None, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(
        b"import torch\n# \xe2\x80\xae ::error:: ]]> </script>\nx.view('\\x00', \"\xf0\x9f\x98\x80\")\n"
    )
    named = [f"--output={form}:r.{form}" for form in outputs.FORMATS]
    assert run("check", "--baseline", "known.json", "--update-baseline", ".").status == 0
    assert run("check", "--baseline", "known.json", ".").status == 0
    result = run("check", *named, ".")
    assert (result.status, result.err) == (1, "")
    for form in outputs.FORMATS:
        assert (tmp_path / f"r.{form}").read_bytes().decode("utf-8")
    (found,) = json.loads((tmp_path / "r.sarif").read_text())["runs"][0]["results"]
    place = found["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert unquote_to_bytes(place) == name.encode("utf-8", "surrogateescape")
    assert found["partialFingerprints"]["primaryLocationLineHash"]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_step_summary_has_no_markup_of_others(text: str) -> None:
    shown = step_summary.render(*report(text))
    rows = [each for each in shown.split("\n") if each.startswith("| error")]
    assert len(rows) == 1
    assert rows[0].count("|") == 5
    assert set(re.findall(r"<[^>]*>", shown)) == {"<code>", "</code>", "<br>"}
    assert re.fullmatch(r"(?:[^!-/:-@\[-`{-~]|&#\d+;)*", rows[0].split("|")[4].replace("<br>probe:", ""))
    assert not UNSEEN.search(shown)
