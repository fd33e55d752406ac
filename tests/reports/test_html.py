"""The audit page: whole without anything else, right in its drawings, and usable; seen in a browser where there is one."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import random
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from stridelint.linter.findings import Reported
from stridelint.linter.reports import html
from stridelint.linter.reports.drawing import Drawings
from stridelint.linter.reports.layouts import MOST_PLACES, Tensor, is_example, reason_of, tensors_of

CHROMIUM = next(
    (found for found in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if found), None
)
VOID = {"meta", "input", "br", "wbr", "link", "img", "hr"}


class Page(HTMLParser):
    """Elements as (tag, attributes), and whether each is closed in its place."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def values(self, attribute: str) -> list[str]:
        return [found for _, attributes in self.elements if (found := attributes.get(attribute)) is not None]


@pytest.fixture
def page(whole: Any) -> str:
    return html.render(whole.report, whole.context._replace(show_suppressed=True))


def test_elements_are_closed_and_names_lead_somewhere(page: str) -> None:
    parsed = Page(page)
    assert parsed.open == []
    ids = parsed.values("id")
    assert len(ids) == len(set(ids))
    links = [link for link in parsed.values("href") if link.startswith("#")]
    assert {link[1:] for link in links} <= set(ids)


def test_nothing_is_loaded(page: str) -> None:
    parsed = Page(page)
    assert not {"link", "img", "iframe", "object", "base", "audio", "video"} & {tag for tag, _ in parsed.elements}
    assert parsed.values("src") == [] and "@import" not in page and "url(" not in page
    outside = [link for link in parsed.values("href") if not link.startswith("#")]
    assert outside == ["https://github.com/stridelint/stridelint"]
    assert "http:" not in page and "https:" not in re.sub(r'href="https[^"]*"', "", page)


def test_only_its_own_script_may_run(page: str) -> None:
    (script,) = re.findall(r"(?s)<script>(.*?)</script>", page)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    (policy,) = [text for text in Page(page).values("content") if "default-src" in text]
    assert policy.startswith("default-src 'none'; ") and f"script-src 'sha256-{digest}'" in policy
    assert not [name for _, attributes in Page(page).elements for name in attributes if name.startswith("on")]


def test_each_finding_can_be_found(whole: Any, page: str) -> None:
    cards = [
        attributes
        for tag, attributes in Page(page).elements
        if tag == "details" and "finding" in (attributes["class"] or "")
    ]
    assert len(cards) == len(whole.report.findings) + len(whole.report.known) + len(whole.report.hidden)
    assert {card["data-rule"] for card in cards} == {"TLC101", "TLC104", "TLC107", "TLC306"}
    assert {card["data-folder"] for card in cards} == {".", "lib"}
    assert sorted(filter(None, (card.get("data-verdict") for card in cards))) == ["confirmed", "inconclusive"]
    assert sorted(filter(None, (card.get("data-mark") for card in cards))) == ["hidden", "known"]


def test_many_findings_are_folded(whole: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert html.render(whole.report, whole.context).count(" open>") == 5
    monkeypatch.setattr(html, "_MOST_OPEN", 4)
    assert html.render(whole.report, whole.context).count(" open>") == 0


def test_a_layout_is_drawn_once_for_all_findings(page: str) -> None:
    assert page.count("<symbol") == 2
    assert len(re.findall(r'<use href="#layout-1"/>', page)) == 4  # mask and the result, for two findings


def finding(witness: dict[str, Any]) -> Reported:
    return Reported("a.py", 1, 1, 1, 2, "TLC101", "n", "m", "error", "certain", (), "x", json.dumps(witness))


def call(*tensors: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"tensors": list(tensors), "arguments": {}, "result": {}, "text": "call", **more}


def test_the_parts_that_tensors_play() -> None:
    one, two = {"text": "a", "shape": [2, 3], "strides": [3, 1]}, {"text": "b", "shape": [3], "strides": [1]}
    event = call(one, two, arguments={"input": [{"tensor": 0}], "other": {"tensor": 1}}, out={"tensor": 1}, result=one)
    assert [(each.text, each.role) for each in tensors_of(finding({"calls": [[event]]}))] == [
        ("a", "input"),
        ("b", "out"),
    ]
    event = call(one, arguments={"input": {"tensor": 0}}, result={"shape": [2, 3], "strides": [1, 2]})
    assert [each.role for each in tensors_of(finding({"calls": [[event]]}))] == ["input", "result"]
    assert [each.role for each in tensors_of(finding({"calls": [[{**event, "discarded": True}]]}))] == ["input"]


def test_what_is_not_known_is_not_drawn() -> None:
    flat, image = (
        {"text": "a", "shape": [2, 3], "strides": [3, 1]},
        {"text": "a", "shape": [2, 3, 4, 5], "strides": [60, 20, 5, 1]},
    )
    unknown = finding({"calls": [[call(flat, result=flat), call(image, result=image)]]})
    assert tensors_of(unknown) == []
    sizes = finding({"calls": [[call(flat), call({**flat, "shape": [4, 6], "strides": [6, 1]})]]})
    assert [each.shape for each in tensors_of(sizes)] == [(2, 3)] and is_example(sizes)
    assert tensors_of(finding({})) == [] and tensors_of(finding({"calls": []})) == []
    assert reason_of(finding({"reason": "why"})) == "why"
    scalars = call({"text": "a", "shape": [], "strides": []}, {"text": "b", "shape": [2], "strides": None})
    assert tensors_of(finding({"calls": [[scalars]]})) == []


@pytest.mark.parametrize(
    ("shape", "strides", "kind", "innermost"),
    [
        ((2, 3, 4, 5), (60, 20, 5, 1), "row-major", "W"),
        ((2, 3, 4, 5), (60, 1, 15, 3), "channels_last", "C"),
        ((2, 3, 2, 4, 5), (120, 1, 60, 15, 3), "channels_last_3d", "C"),
        ((2, 1, 4, 5), (20, 20, 5, 1), "row-major and channels_last at once", "W"),
        ((2, 3, 1, 1), (3, 1, 1, 1), "row-major and channels_last at once", "C"),
        ((3, 4), (1, 3), "dense, axes permuted", "0"),
        ((3, 4), (0, 1), "expanded: elements share memory", "1"),
        ((3, 4), (8, 2), "strided, not dense", "1"),
        ((2, 3, 4, 5), (240, 1, 30, 3), "channels_last, with gaps", "C"),
        ((2, 0, 4), (4, 4, 1), "empty", "2"),
        ((1, 1), (1, 1), "row-major", None),
    ],
)
def test_layouts_in_words(shape: tuple[int, ...], strides: tuple[int, ...], kind: str, innermost: str | None) -> None:
    tensor = Tensor("x", "", shape, strides)
    assert tensor.kind == kind
    assert (tensor.innermost.name if tensor.innermost else None) == innermost


def test_memory_is_drawn_as_it_is() -> None:
    """Against all elements, listed one by one."""
    chance = random.Random(5)
    for _ in range(300):
        rank = chance.randint(1, 5)
        shape = tuple(chance.randint(1, 4) for _ in range(rank))
        strides = tuple(chance.choice([0, 1, 2, 3, 4, 5, 12, 20]) for _ in range(rank))
        tensor = Tensor("x", "", shape, strides, offset=chance.choice([0, 7]))
        where: dict[int, set[tuple[int, ...]]] = {}
        for index in itertools.product(*map(range, shape)):
            where.setdefault(tensor.offset + sum(i * s for i, s in zip(index, strides)), set()).add(index)
        places = tensor.places()
        assert [place.address for place in places] == list(range(tensor.offset, tensor.offset + len(places)))
        assert len(places) == min(MOST_PLACES, 1 + max(where) - tensor.offset) or tensor.is_cut
        for place in places:
            assert set(place.indices) <= where.get(place.address, set())
            assert len(place.indices) * tensor.repeats == len(where.get(place.address, ()))
        assert tensor.is_cut == (max(where) - tensor.offset >= MOST_PLACES)


def test_a_drawing_of_channels_last() -> None:
    drawings = Drawings()
    shown = drawings.draw(Tensor("x", "input", (2, 3, 4, 5), (60, 1, 15, 3)))
    symbols = drawings.symbols()
    assert (
        'aria-label="channels_last; axes from the outermost to the innermost: N (size 2, stride 60), H (size 4' in shown
    )
    assert re.findall(r"cell-text[^>]*>([\d,]+)<", symbols)[:4] == ["0,0,0,0", "0,1,0,0", "0,2,0,0", "0,0,0,1"]
    assert re.findall(r'class="cell (c\d)"', symbols)[:4] == ["c0", "c1", "c2", "c0"]
    assert re.findall(r'class="[^"]*axis-name"[^>]*>([^<]+)<', symbols) == ["N: 2", "H: 4", "W: 5", "C: 3"]
    assert symbols.count('class="axis inner"') == 1


def browser(page: Path, *options: str, fragment: str = "") -> str:
    """The page as a browser has it after its script has run."""
    assert CHROMIUM is not None
    command = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", *options, f"file://{page}{fragment}"]
    return subprocess.run(command, capture_output=True, check=False, timeout=120).stdout.decode()


@pytest.mark.skipif(CHROMIUM is None, reason="needs a Chromium")
@pytest.mark.parametrize(
    ("fragment", "shown"),
    [
        ("", 5),
        ("#rule=TLC104", 2),
        ("#severity=warning&verdict=confirmed", 1),
        ("#search=transposed+other", 1),
        ("#folder=lib", 2),
        ("#search=nowhere", 0),
    ],
)
def test_filters_in_a_browser(whole: Any, tmp_path: Path, fragment: str, shown: int) -> None:
    path = tmp_path / "audit.html"
    path.write_text(html.render(whole.report, whole.context), encoding="utf-8")
    seen = Page(browser(path, "--dump-dom", fragment=fragment))
    cards = [
        attributes for tag, attributes in seen.elements if tag == "details" and "finding" in (attributes["class"] or "")
    ]
    assert len(cards) == 5
    assert sum("hidden" not in card for card in cards) == shown
    form = next(attributes for tag, attributes in seen.elements if tag == "form")
    assert "hidden" not in form


@pytest.mark.skipif(CHROMIUM is None, reason="needs a Chromium")
def test_a_page_can_be_printed(whole: Any, tmp_path: Path) -> None:
    path = tmp_path / "audit.html"
    path.write_text(html.render(whole.report, whole.context), encoding="utf-8")
    browser(path, f"--print-to-pdf={tmp_path / 'audit.pdf'}")
    assert (tmp_path / "audit.pdf").read_bytes().startswith(b"%PDF")
