"""A session with an editor: its documents, what it can do, and what is said to it."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method

from stridelint import __version__
from stridelint.linter import source
from stridelint.linter.findings import Reported
from stridelint.linter.server import messages
from stridelint.linter.server.helper import Helper, NoAnswer

# Seconds without a key press after which a document is checked.
DEBOUNCE = 0.25


@dataclass
class Document:
    """An open document. findings: of this text, as far as `checked` says so; pages: of their rules."""

    uri: str
    path: str
    text: str
    version: int | None
    findings: tuple[Reported, ...] = ()
    checked: bool = False
    task: asyncio.Task[None] | None = field(default=None, repr=False)

    @property
    def lines(self) -> Sequence[str]:
        """Its lines."""
        return source.lines(self.text)


class _Protocol(LanguageServerProtocol):
    """Documents are kept by the server itself: pygls also ends lines where neither the protocol nor Python does.

    What it cannot read it drops without a word: a request for which the client waits, a change without which the text is wrong.
    """

    _server: Server

    def structure_message(self, data: dict[str, Any]) -> Any:
        """A message from the client. Raises JsonRpcException."""
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            method = data.get("method")
            if method and "id" in data:
                self._send_response(data["id"], None, error.to_response_error())
            elif method == types.TEXT_DOCUMENT_DID_CHANGE:
                self._server.lose(data)
            raise

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> Generator[Any, Any, None]:
        yield self.fm.features[types.TEXT_DOCUMENT_DID_CHANGE], (params,), None


class Server(LanguageServer):
    """The language server with its documents and helpers."""

    def __init__(self, debounce: float = DEBOUNCE) -> None:
        super().__init__("stridelint", __version__, protocol_cls=_Protocol)
        self.debounce = debounce
        self.documents: dict[str, Document] = {}
        self.pages: dict[str, str] = {}
        self.remarks: dict[str, tuple[str, ...]] = {}
        self.checker = Helper()
        self.advisor = Helper(patience=15.0)
        self.is_shut_down = False
        self.client = Client()

    @property
    def encoding(self) -> str:
        """The units in which positions count."""
        return str(getattr(self.workspace.position_encoding, "value", self.workspace.position_encoding))

    def report_server_error(self, error: Exception, source: Any) -> None:
        """A mistake of ours is logged, and no reason to bother the user with a window."""
        if isinstance(error, JsonRpcException):  # one of the client's
            self.log(f"a message was not understood: {error}", types.MessageType.Warning)
            return
        self.log(f"internal error, please report it: {type(error).__name__}: {error}", types.MessageType.Error)

    def log(self, message: str, kind: types.MessageType = types.MessageType.Info) -> None:
        """Write a line into the client's log of this server."""
        self.window_log_message(types.LogMessageParams(type=kind, message=message))

    def lose(self, change: Any) -> None:
        """Forget a document after a change that cannot be read: nothing is true of its text until it is opened again."""
        try:
            document = self.documents.pop(change["params"]["textDocument"]["uri"], None)
        except (TypeError, KeyError):  # not even which one
            document = None
        if document is not None:
            self.forget(document)
            self.log(f"{document.path}: a change was not understood; open the file again", types.MessageType.Warning)

    def forget(self, document: Document) -> None:
        """Show nothing of a document any more."""
        self.remarks.pop(document.uri, None)
        if document.task is not None:
            document.task.cancel()
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri=document.uri, diagnostics=[]))

    def schedule(self, document: Document, delay: float) -> None:
        """Check a document a little later, unless it changes before."""
        if document.task is not None:
            document.task.cancel()
        document.task = asyncio.ensure_future(self._check(document, delay))

    async def _check(self, document: Document, delay: float) -> None:
        await asyncio.sleep(delay)
        version = document.version
        try:
            found = await self.checker.ask("check", document.path, document.text)
            findings, remarks = found.findings, found.remarks
        except NoAnswer as error:
            findings, remarks = (), (str(error),)
        if self.documents.get(document.uri) is not document:
            return
        document.findings, document.checked = findings, True
        self.publish(document, version)
        if remarks != self.remarks.get(document.uri, ()):
            self.remarks[document.uri] = remarks
            for remark in remarks:
                self.log(f"{document.path}: {remark}", types.MessageType.Warning)

    def publish(self, document: Document, version: int | None) -> None:
        """Show the findings of a document."""
        lines = document.lines
        found = [
            messages.diagnostic(each, document.uri, lines, self.encoding, self.client.related)
            for each in document.findings
        ]
        self.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri=document.uri, diagnostics=found, version=version)
        )

    async def page(self, code: str) -> str:
        """What a rule is about."""
        if code not in self.pages:
            self.pages[code] = await self.advisor.ask("explain", code)
        return self.pages[code]


@dataclass
class Client:
    """What the client can do."""

    related: bool = False
    resolves: bool = False
    versioned: bool = False
    watches: bool = False

    @classmethod
    def of(cls, capabilities: types.ClientCapabilities) -> Client:
        """As it says itself."""
        document, workspace = capabilities.text_document, capabilities.workspace
        diagnostics = document.publish_diagnostics if document else None
        action = document.code_action if document else None
        support = action.resolve_support if action else None
        edit = workspace.workspace_edit if workspace else None
        watched = workspace.did_change_watched_files if workspace else None
        return cls(
            bool(diagnostics and diagnostics.related_information),
            bool(support and "edit" in support.properties),
            bool(edit and edit.document_changes),
            bool(watched and watched.dynamic_registration),
        )
