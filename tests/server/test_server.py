"""The server as an editor sees it: a process, and messages over its pipes."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.server.conftest import Client

CODE = """\
import torch


def fuse(images):
    mask = torch.ones(2, 3, 4, 5)
    x = images.to(memory_format=torch.channels_last)
    return mask * x
"""
FLAT = CODE.replace("mask * x", "x.view(-1)")  # has a safe fix
BROKEN = CODE.replace("return mask * x", "return (mask * x")
WIDE = CODE.replace("    return mask * x", "    a = '値😀é'; return mask * x")


def place(line: int, start: int, end: int) -> dict[str, Any]:
    return {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}}


def insertion(line: int, character: int, text: str) -> dict[str, Any]:
    return {"range": place(line, character, character), "text": text}


def test_a_session_from_start_to_end(client: Client) -> None:
    capabilities = client.start()["capabilities"]
    assert capabilities["positionEncoding"] == "utf-16"
    assert capabilities["textDocumentSync"]["change"] == 2
    uri = client.open("demo.py", CODE)
    (found,) = client.diagnostics(1)
    assert (found["code"], found["source"], found["severity"]) == ("TLC101", "stridelint", 2)
    assert found["range"] == place(6, 11, 19)
    story = [(each["location"]["range"]["start"]["line"], each["message"]) for each in found["relatedInformation"]]
    assert story == [(4, "'mask' is made here"), (5, "'x' becomes channels_last here")]

    shown = client.hover(uri, 6, 12)
    assert shown is not None
    text = shown["contents"]["value"]
    assert text.startswith("**TLC101** `argument-order-layout`: ")
    assert "| `mask`" in text and "row-major (contiguous)" in text

    actions = client.actions(uri, found["range"])
    assert [each["kind"] for each in actions] == ["quickfix", "quickfix"]
    assert "changes more than the hazard" in actions[0]["title"]
    assert not actions[0].get("isPreferred") and "edit" not in actions[0]
    fixed = client.request("codeAction/resolve", actions[0])["edit"]
    assert client.applied(CODE, fixed, uri) == CODE.replace("mask * x", "x * mask")

    # What the editor applies is what it sends back: the finding is gone.
    edit = fixed["documentChanges"][0]["edits"][0]
    assert fixed["documentChanges"][0]["textDocument"] == {"uri": uri, "version": 1}
    client.change(uri, 2, {"range": edit["range"], "text": edit["newText"]})
    assert client.diagnostics(2) == []
    assert client.actions(uri, found["range"]) == []

    client.change(
        uri, 3, insertion(6, 0, "    del mask\n    mask = torch.ones(2, 3, 4, 5)\n"), insertion(0, 0, "# 😀\n")
    )
    assert client.diagnostics(3) == []
    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert client.diagnostics() == []
    assert client.log == []
    assert client.stop() == 0


@pytest.mark.parametrize(("encoding", "start"), [("utf-8", 28), ("utf-16", 23), ("utf-32", 22)])
def test_columns_count_as_was_agreed(client: Client, encoding: str, start: int) -> None:
    capabilities = client.start({"general": {"positionEncodings": [encoding]}})["capabilities"]
    assert capabilities["positionEncoding"] == encoding
    uri = client.open("demo.py", WIDE)
    (found,) = client.diagnostics(1)
    assert found["range"] == place(6, start, start + 8)
    assert "relatedInformation" not in found
    shown = client.hover(uri, 6, start)
    assert shown is not None and "| `mask`" in shown["contents"]["value"]
    nothing = client.hover(uri, 6, 8)
    assert nothing is None


def test_incremental_changes_land_behind_wide_characters(client: Client) -> None:
    client.start()
    uri = client.open("demo.py", WIDE)
    (found,) = client.diagnostics(1)
    start = found["range"]["start"]["character"]
    client.change(uri, 2, {"range": place(6, start, start + 8), "text": "x * mask"})
    assert client.diagnostics(2) == []
    client.change(uri, 3, {"range": place(6, start, start + 8), "text": "mask * x"})
    assert len(client.diagnostics(3)) == 1


def test_noqa_is_offered_and_respected(client: Client) -> None:
    client.start()
    uri = client.open("demo.py", CODE)
    (found,) = client.diagnostics(1)
    offer = next(each for each in client.actions(uri, found["range"]) if "noqa" in each["title"])
    text = client.applied(CODE, client.request("codeAction/resolve", offer)["edit"], uri)
    assert text.splitlines()[6] == "    return mask * x  # noqa: TLC101"
    client.change(uri, 2, {"text": text})
    assert client.diagnostics(2) == []


def test_a_client_that_resolves_nothing_gets_edits_at_once(client: Client) -> None:
    client.start({})
    uri = client.open("demo.py", FLAT)
    (found,) = client.diagnostics(1)
    fix, _, every = client.actions(uri, found["range"])
    assert fix["isPreferred"]
    assert (
        client.applied(FLAT, fix["edit"], uri)
        == client.applied(FLAT, every["edit"], uri)
        == FLAT.replace("x.view(-1)", "x.contiguous().view(-1)")
    )


def test_only_what_is_asked_for_is_offered(client: Client) -> None:
    client.start()
    uri = client.open("demo.py", FLAT)
    client.diagnostics(1)
    nowhere = place(0, 0, 0)
    assert [each["kind"] for each in client.actions(uri, nowhere)] == ["source.fixAll.stridelint"]
    assert [each["kind"] for each in client.actions(uri, nowhere, ["source.fixAll"])] == ["source.fixAll.stridelint"]
    assert client.actions(uri, place(6, 0, 30), ["refactor"]) == []
    assert {each["kind"] for each in client.actions(uri, place(6, 0, 30), ["quickfix"])} == {"quickfix"}


def test_a_file_that_is_no_python_has_no_findings_and_comes_back(client: Client) -> None:
    client.start()
    uri = client.open("demo.py", CODE)
    assert len(client.diagnostics(1)) == 1
    client.change(uri, 2, {"text": BROKEN})
    assert client.diagnostics(2) == []
    assert client.hover(uri, 5, 5) is None
    client.change(uri, 3, {"text": CODE})
    assert len(client.diagnostics(3)) == 1
    assert client.log == []


def test_settings_are_those_of_the_nearest_file_as_it_is_now(client: Client) -> None:
    client.start()
    settings = client.folder / "pyproject.toml"
    settings.write_text('[tool.stridelint]\nignore = ["TLC101"]\n')
    uri = client.open("demo.py", CODE)
    assert client.diagnostics(1) == []
    settings.write_text("")
    client.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": settings.as_uri(), "type": 2}]})
    assert len(client.diagnostics(1)) == 1
    settings.write_text('[tool.stridelint]\nexclude = ["demo.py"]\n')
    client.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
    assert client.diagnostics(1) == []
    settings.write_text('[tool.stridelint]\nignroe = ["TLC101"]\n')
    client.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
    assert client.diagnostics(1) == []
    deadline = time.monotonic() + 10
    while not client.log and time.monotonic() < deadline:
        time.sleep(0.05)
    assert "unknown key 'ignroe'" in client.log[0]


def test_findings_of_the_baseline_are_not_shown(client: Client) -> None:
    (client.folder / "pyproject.toml").write_text('[tool.stridelint]\nbaseline = "known.json"\n')
    (client.folder / "demo.py").write_text(CODE)
    command = [sys.executable, "-m", "stridelint", "check", "--update-baseline", "demo.py"]
    subprocess.run(command, cwd=client.folder, check=True, capture_output=True)
    client.start()
    uri = client.open("demo.py", CODE)
    assert client.diagnostics(1) == []
    more = CODE + CODE.replace("fuse", "other")
    client.change(uri, 2, {"text": more})
    assert [each["range"]["start"]["line"] for each in client.diagnostics(2)] == [13]


def test_quick_typing_is_checked_once(client: Client) -> None:
    client.start()
    uri = client.open("demo.py", "")
    client.diagnostics(1)
    for version in range(2, 30):
        client.change(uri, version, {"text": CODE + "\n" * version})
    assert len(client.diagnostics()) == 1  # the next thing that is published is about the last version
    assert client.request("textDocument/hover", {"textDocument": {"uri": uri}, "position": {"line": 4, "character": 5}})


HOSTILE = {
    "nested": "import torch\nx = " + "(" * 50_000 + ")" * 50_000,
    "deep": "import torch\nx = " + "-" * 20_000 + "1\n",
    "chained": "import torch\nx = torch.ones(2)" + ".view(-1)" * 4_000 + "\n",
    "nul": "import torch\nx = '\0'\n",
    "half": "import torch\nx = '\ud83d'\n",
    "long": "import torch\nx = '" + "a" * 2_500_000 + "'\n",
    "cookie": "# coding: nonsense\nimport torch\n",
}


def test_hostile_texts_do_no_harm(client: Client) -> None:
    client.start()
    for name, text in HOSTILE.items():
        bad = client.open(f"{name}.py", text)
        client.diagnostics(1)
        client.hover(bad, 1, 5)
        client.hover(bad, 10**6, 10**6)
        client.change(bad, 2, insertion(10**6, 10**6, "\n"), insertion(0, 10**6, " "))
        client.diagnostics(2)
        client.notify("textDocument/didClose", {"textDocument": {"uri": bad}})
        client.diagnostics()
    client.open("demo.py", CODE)
    assert len(client.diagnostics(1)) == 1
    assert client.stop() == 0


# A server whose helper sleeps, dies or fails for files that say so.
TROUBLED = """
import sys
from stridelint.linter.server import helper
helper._START = '''
import os, sys, time; sys.path[:] = sys.argv[1:]
from stridelint.linter.server import answers, child
check = answers.check
def troubled(path, text):
    print("not among the messages")
    if "SLEEP" in text: time.sleep(600)
    if "DIE" in text: os._exit(3)
    if "FAIL" in text: raise ValueError("out of order")
    return check(path, text)
answers.QUESTIONS["check"] = troubled
child.main()
'''
helper.PATIENCE = 600.0
helper.GRACE = 0.2
helper.Helper.__init__.__defaults__ = (600.0, 0.2)
from stridelint.linter.cli import main
sys.exit(main(["server"]))
"""


def test_a_file_that_takes_long_holds_up_nothing(tmp_path: Path, serving: Callable[[Path, str], Client]) -> None:
    client = serving(tmp_path, TROUBLED)
    client.start()
    slow = client.open("slow.py", CODE + "# SLEEP\n")
    time.sleep(1)
    shown = client.hover(slow, 5, 4)
    assert shown is not None and "channels_last" in shown["contents"]["value"]
    client.change(slow, 2, {"text": CODE})
    assert len(client.diagnostics(2)) == 1


@pytest.mark.parametrize(
    ("word", "said"), [("DIE", "the process that analysed it died"), ("FAIL", "ValueError: out of order")]
)
def test_what_goes_wrong_is_logged_and_the_server_goes_on(
    tmp_path: Path, serving: Callable[[Path, str], Client], word: str, said: str
) -> None:
    client = serving(tmp_path, TROUBLED)
    client.start()
    uri = client.open("bad.py", CODE + f"# {word}\n")
    assert client.diagnostics(1) == []
    client.change(uri, 2, {"text": CODE})
    assert len(client.diagnostics(2)) == 1
    assert len(client.log) == 1 and said in client.log[0]
    assert client.stop() == 0


def test_a_request_can_be_cancelled(client: Client) -> None:
    client.start()
    uri = client.open("demo.py", CODE)
    answer = client.send("textDocument/hover", {"textDocument": {"uri": uri}, "position": {"line": 5, "character": 5}})
    client.cancel_last()
    result = answer()
    assert "result" in result or result["error"]["code"] == -32800
    assert client.hover(uri, 5, 4) is not None


def test_code_beside_the_file_is_not_imported(client: Client) -> None:
    """The helper starts in the user's folder, where modules may have the names of those it needs."""
    for name in ("libcst", "struct", "pickle", "stridelint"):
        (client.folder / f"{name}.py").write_text("raise SystemExit('imported')\n")
    client.start()
    client.open("demo.py", CODE)
    assert len(client.diagnostics(1)) == 1


def test_a_client_that_vanishes_ends_the_server(client: Client) -> None:
    client.start()
    client.open("demo.py", CODE)
    client.diagnostics(1)
    assert client.process.stdin is not None
    client.process.stdin.close()
    assert client.process.wait(20) == 1


def test_an_unsaved_document_is_checked(client: Client) -> None:
    client.start()
    uri = "untitled:Untitled-1"
    item = {"uri": uri, "languageId": "python", "version": 1, "text": CODE}
    client.notify("textDocument/didOpen", {"textDocument": item})
    assert len(client.diagnostics(1)) == 1


def test_without_pygls_one_line_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules.update(pygls=None); from stridelint.linter.cli import main; sys.exit(main(['server']))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "stridelint: the editor server needs pygls: pip install 'stridelint[lsp]'\n"
