"""A small client of the server: real messages over the pipes of a real process."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

# As the installed command starts: without the current folder among those that modules come from.
MAIN = "import sys; sys.path[:] = filter(None, sys.path); from stridelint.linter.cli import main; sys.exit(main(['server', '--stdio']))"
FULL: dict[str, Any] = {
    "textDocument": {
        "publishDiagnostics": {"relatedInformation": True},
        "codeAction": {"resolveSupport": {"properties": ["edit"]}, "dataSupport": True},
    },
    "workspace": {"workspaceEdit": {"documentChanges": True}},
}
TIMEOUT = 60.0


class Client:
    """Speaks to one server. `log`: what the server wrote into the client's log."""

    def __init__(self, folder: Path, code: str = MAIN) -> None:
        self.folder = folder
        self.log: list[str] = []
        self.raw = b""
        self._diagnostics: queue.Queue[dict[str, Any]] = queue.Queue()
        self._answers: dict[int, queue.Queue[dict[str, Any]]] = {}
        self._next = 0
        self.process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
        )
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        while header := self.process.stdout.readline():
            name, _, value = header.decode("ascii").partition(":")
            assert name == "Content-Length", header
            while self.process.stdout.readline().strip():
                pass
            message = json.loads(self.process.stdout.read(int(value)))
            if "method" in message and "id" in message:
                self._write({"jsonrpc": "2.0", "id": message["id"], "result": None})
            elif message.get("method") == "textDocument/publishDiagnostics":
                self._diagnostics.put(message["params"])
            elif message.get("method") == "window/logMessage":
                self.log.append(message["params"]["message"])
            elif message.get("id") in self._answers:
                self._answers[message["id"]].put(message)

    def _write(self, message: Mapping[str, object]) -> None:
        assert self.process.stdin is not None
        body = json.dumps(message).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def notify(self, method: str, params: object = None) -> None:
        self._write({"jsonrpc": "2.0", "method": method, "params": params})

    def request(self, method: str, params: object = None) -> Any:
        answer = self.send(method, params)()
        assert "error" not in answer, answer
        return answer["result"]

    def send(self, method: str, params: object = None) -> Callable[[], dict[str, Any]]:
        """Ask, without waiting; the answer is waited for by calling what is returned."""
        self._next += 1
        number, box = self._next, queue.Queue[dict[str, Any]]()
        self._answers[number] = box
        self._write({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return lambda: box.get(timeout=TIMEOUT)

    def cancel_last(self) -> None:
        self.notify("$/cancelRequest", {"id": self._next})

    def start(self, capabilities: Mapping[str, Any] = FULL) -> dict[str, Any]:
        uri = self.folder.as_uri()
        given = {"processId": None, "rootUri": uri, "capabilities": capabilities}
        result: dict[str, Any] = self.request("initialize", given)
        self.notify("initialized", {})
        return result

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def open(self, name: str, text: str) -> str:
        uri = self.uri(name)
        self.notify(
            "textDocument/didOpen",
            {"textDocument": {"uri": uri, "languageId": "python", "version": 1, "text": text}},
        )
        return uri

    def change(self, uri: str, version: int, *changes: Mapping[str, object]) -> None:
        self.notify(
            "textDocument/didChange",
            {"textDocument": {"uri": uri, "version": version}, "contentChanges": list(changes)},
        )

    def diagnostics(self, version: int | None = None) -> list[dict[str, Any]]:
        """The next that are published; those of a version, if one is named."""
        while True:
            published = self._diagnostics.get(timeout=TIMEOUT)
            if version is None or published.get("version") == version:
                found: list[dict[str, Any]] = published["diagnostics"]
                return found

    def hover(self, uri: str, line: int, character: int) -> dict[str, Any] | None:
        position = {"line": line, "character": character}
        found: dict[str, Any] | None = self.request(
            "textDocument/hover", {"textDocument": {"uri": uri}, "position": position}
        )
        return found

    def actions(self, uri: str, where: Mapping[str, Any], only: list[str] | None = None) -> list[dict[str, Any]]:
        context: dict[str, Any] = {"diagnostics": []} | ({} if only is None else {"only": only})
        params = {"textDocument": {"uri": uri}, "range": where, "context": context}
        found: list[dict[str, Any]] = self.request("textDocument/codeAction", params)
        return found

    def stop(self) -> int:
        """Shut the server down as the protocol asks, and return its exit status."""
        self.request("shutdown")
        self.notify("exit")
        return self.process.wait(TIMEOUT)

    def applied(self, text: str, edit: Mapping[str, Any], uri: str) -> str:
        """A text after a workspace edit, in UTF-16 units as a client would do it."""
        edits = edit["changes"][uri] if "changes" in edit else edit["documentChanges"][0]["edits"]
        pieces = text.splitlines(keepends=True)

        def offset(where: Mapping[str, int]) -> int:
            before = "".join(pieces[: where["line"]])
            line = pieces[where["line"]] if where["line"] < len(pieces) else ""
            inside = line.encode("utf-16-le")[: 2 * where["character"]].decode("utf-16-le")
            return len(before) + len(inside)

        for each in sorted(edits, key=lambda each: -each["range"]["start"]["line"]):
            text = text[: offset(each["range"]["start"])] + each["newText"] + text[offset(each["range"]["end"]) :]
        return text


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    """A client whose server is ended, whatever the test did."""
    pytest.importorskip("pygls")
    made = Client(tmp_path)
    yield made
    made.process.kill()
    made.process.wait()


@pytest.fixture
def serving() -> Iterator[Callable[[Path, str], Client]]:
    """Starts servers with code of the test's own."""
    pytest.importorskip("pygls")
    made: list[Client] = []

    def start(folder: Path, code: str) -> Client:
        made.append(Client(folder, code))
        return made[-1]

    yield start
    for each in made:
        each.process.kill()
        each.process.wait()
