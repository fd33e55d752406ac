"""Clients, folders and texts that are not the usual ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.server.conftest import Client

MAIN = "import sys; sys.path[:] = filter(None, sys.path); from stridelint.linter.cli import main; sys.exit(main(['server', '--stdio']))"
CODE = "import torch\n\nx = torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)\ny = x.view(2, -1)\n"
FIXED = CODE.replace("x.view", "x.contiguous().view")


def opened(client: Client, uri: str, text: str = CODE) -> list[dict[str, Any]]:
    item = {"uri": uri, "languageId": "python", "version": 1, "text": text}
    client.notify("textDocument/didOpen", {"textDocument": item})
    return client.diagnostics(1)


def fixed(client: Client, uri: str, text: str, where: dict[str, Any]) -> str:
    edit = client.request("codeAction/resolve", client.actions(uri, where)[0])["edit"]
    return client.applied(text, edit, uri)


def test_a_folder_with_an_odd_name(tmp_path: Path, serving: Callable[[Path, str], Client]) -> None:
    folder = tmp_path / "a folder #1 +ü%20"
    folder.mkdir()
    (folder / "pyproject.toml").write_text('[tool.stridelint.severity]\nTLC104 = "note"\n')
    client = serving(folder, MAIN)
    client.start()
    uri = client.uri("é file.py")
    (found,) = opened(client, uri)
    assert found["severity"] == 3  # by the configuration in that folder
    assert {each["location"]["uri"] for each in found["relatedInformation"]} == {uri}
    assert fixed(client, uri, CODE, found["range"]) == FIXED


@pytest.mark.parametrize("end", ["\r\n", "\r", "\n"])
def test_line_ends_stay(client: Client, end: str) -> None:
    client.start()
    text = CODE.replace("\n", end)
    uri = client.uri("ends.py")
    (found,) = opened(client, uri, text)
    assert found["range"]["start"] == {"line": 3, "character": 4}
    assert fixed(client, uri, text, found["range"]) == FIXED.replace("\n", end)


def test_columns_behind_pairs_of_units(client: Client) -> None:
    client.start()
    uri = client.uri("wide.py")
    text = CODE.replace("y = ", "s = '😀😀'; y = ")
    (found,) = opened(client, uri, text)
    assert found["range"] == {"start": {"line": 3, "character": 16}, "end": {"line": 3, "character": 29}}
    assert client.hover(uri, 3, 15) is None
    shown = client.hover(uri, 3, 16)
    assert shown is not None and shown["range"] == found["range"]
    assert fixed(client, uri, text, found["range"]) == text.replace("x.view", "x.contiguous().view")


@pytest.mark.parametrize(
    "uri",
    [
        "untitled:Untitled-1",
        "vscode-notebook-cell:/x/y.ipynb#W0s",
        "git:/a/b.py?ref",
        "file://host/share/x.py",
        "file:///c%3A/x/y.py",
        "inmemory://model/1",
        "file:///",
        "",
    ],
)
def test_documents_that_are_elsewhere(client: Client, uri: str) -> None:
    client.start()
    assert [each["code"] for each in opened(client, uri)] == ["TLC104"]


def test_without_a_workspace(client: Client, tmp_path_factory: pytest.TempPathFactory) -> None:
    client.request("initialize", {"processId": None, "rootUri": None, "workspaceFolders": None, "capabilities": {}})
    client.notify("initialized", {})
    outside = tmp_path_factory.mktemp("outside") / "x.py"
    assert len(opened(client, outside.as_uri())) == 1
    assert len(opened(client, "untitled:one")) == 1


def test_a_notebook_that_is_opened_as_a_text(client: Client) -> None:
    client.start()
    cells = [{"cell_type": "code", "metadata": {}, "source": CODE, "outputs": []}]
    raw = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)
    uri = client.uri("n.ipynb")
    assert opened(client, uri, raw) == []
    (found,) = opened(client, client.uri("as_python.ipynb"))  # as extensions show it
    assert found["range"]["start"] == {"line": 3, "character": 4}


def test_a_burst_of_changes(client: Client) -> None:
    client.start()
    uri = client.uri("burst.py")
    opened(client, uri)
    last = {"start": {"line": 4, "character": 0}, "end": {"line": 5, "character": 0}}
    for version in range(2, 1002):
        text = "(" if version % 2 else f"w{version} = x.view(2, -1)\n"
        client.change(uri, version, {"range": last, "text": text})
        if version % 100 == 0:
            client.send("textDocument/hover", {"textDocument": {"uri": uri}, "position": {"line": 3, "character": 5}})
    client.change(uri, 1002, {"text": CODE + "z = x.view(2, -1)\n"})
    assert len(client.diagnostics(1002)) == 2
    assert client.stop() == 0


def test_what_is_said_of_unknown_documents_does_no_harm(client: Client) -> None:
    client.start()
    nowhere = {"textDocument": {"uri": "file:///nowhere.py", "version": 3}}
    client.notify("textDocument/didChange", {**nowhere, "contentChanges": [{"text": "x"}]})
    client.notify("textDocument/didSave", nowhere)
    client.notify("textDocument/didClose", nowhere)
    client.notify("$/unknown", None)
    client.notify("unknown", {"a": 1})
    assert client.hover("file:///nowhere.py", 0, 0) is None
    uri = client.uri("x.py")
    (found,) = opened(client, uri)
    assert client.hover(uri, 2**31 - 1, 2**31 - 1) is None
    backwards = {"start": found["range"]["end"], "end": found["range"]["start"]}
    assert client.actions(uri, backwards)
    place = {"line": 2**31 - 1, "character": 2**31 - 1}
    client.change(uri, 2, {"range": {"start": place, "end": place}, "text": "z = x.view(2, -1)\n"})
    assert len(client.diagnostics(2)) == 2
    assert client.log == []


def test_a_request_that_makes_no_sense_is_answered(client: Client) -> None:
    client.start()
    for method, params in (
        ("textDocument/hover", {"a": 1}),
        ("unknown/request", {}),
        ("textDocument/codeAction", None),
    ):
        assert client.send(method, params)()["error"]["code"] in (-32601, -32602, -32603)
    assert len(opened(client, client.uri("x.py"))) == 1
    assert client.log and not [line for line in client.log if "internal error" in line]


def test_after_a_change_that_makes_no_sense_nothing_is_claimed_of_the_text(client: Client) -> None:
    client.start()
    uri = client.uri("x.py")
    assert len(opened(client, uri)) == 1
    client.notify(
        "textDocument/didChange", {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"no": "text"}]}
    )
    assert client.diagnostics() == []
    client.change(
        uri, 3, {"range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}, "text": "#\n"}
    )
    assert client.hover(uri, 3, 5) is None
    assert len(opened(client, uri, CODE)) == 1
    assert any("x.py: a change was not understood" in line for line in client.log)
