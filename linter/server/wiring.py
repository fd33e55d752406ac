"""The server: documents, and what of the protocol they need. All work is left to the helper processes."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

from lsprotocol import types
from pygls import uris
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method

from stridelint import __version__
from stridelint.linter import source
from stridelint.linter.findings import Reported
from stridelint.linter.server import actions, documents, messages
from stridelint.linter.server.helper import Helper, NoAnswer

# Seconds without a key press after which a document is checked.
DEBOUNCE = 0.25
_CONFIGURATION = ("**/pyproject.toml", "**/stridelint.toml")


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
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri=document.uri, diagnostics=found, version=version))

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


def make_server(debounce: float = DEBOUNCE) -> Server:
    """A server that knows what to do."""
    server = Server(debounce)

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        server.client = Client.of(params.capabilities)

    @server.feature(types.INITIALIZED)
    async def initialized(params: types.InitializedParams) -> None:
        if server.client.watches:
            watchers = [types.FileSystemWatcher(glob_pattern=pattern) for pattern in _CONFIGURATION]
            options = types.DidChangeWatchedFilesRegistrationOptions(watchers=watchers)
            registration = types.Registration(
                id="configuration", method=types.WORKSPACE_DID_CHANGE_WATCHED_FILES, register_options=options
            )
            server.client_register_capability(types.RegistrationParams(registrations=[registration]))
        await asyncio.gather(server.checker.ask("ready"), server.advisor.ask("ready"), return_exceptions=True)

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        item = params.text_document
        document = Document(item.uri, _path(server, item.uri), item.text, item.version)
        server.documents[item.uri] = document
        server.schedule(document, 0)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeTextDocumentParams) -> None:
        document = server.documents.get(params.text_document.uri)
        if document is not None:
            changes = messages.changes(params.content_changes)
            document.text = documents.changed(document.text, changes, server.encoding)
            document.version = params.text_document.version
            document.checked = False
            server.schedule(document, server.debounce)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: types.DidSaveTextDocumentParams) -> None:
        document = server.documents.get(params.text_document.uri)
        if document is not None:
            server.schedule(document, 0)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        document = server.documents.pop(params.text_document.uri, None)
        if document is not None:
            server.forget(document)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def configured(params: types.DidChangeWatchedFilesParams) -> None:
        for document in server.documents.values():
            server.schedule(document, server.debounce)

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(params: types.HoverParams) -> types.Hover | None:
        document = server.documents.get(params.text_document.uri)
        if document is None:
            return None
        text = document.text
        line, column = messages.line_and_column(text, params.position, server.encoding)
        findings = messages.touching(document.findings, (line, column), (line, column)) if document.checked else []
        try:
            pages = [await server.page(each.code) for each in findings]
            told = await server.advisor.ask("hover", text, line, column)
        except NoAnswer as error:
            server.log(f"{document.path}: no hover: {error}", types.MessageType.Warning)
            return None
        return messages.hover(told, findings, pages, source.lines(text), server.encoding)

    kinds = [types.CodeActionKind.QuickFix, messages.FIX_ALL]

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=kinds, resolve_provider=True)
    )
    async def code_action(params: types.CodeActionParams) -> list[types.CodeAction]:
        document = server.documents.get(params.text_document.uri)
        if document is None or not document.checked:
            return []
        start, end = (
            messages.line_and_column(document.text, each, server.encoding)
            for each in (params.range.start, params.range.end)
        )
        only = None if params.context.only is None else [str(getattr(each, "value", each)) for each in params.context.only]
        offered = actions.offered(document.findings, start, end, only)
        version = document.version
        made = [
            action
            for each in offered
            if (action := await _action(server, document, each)) is not None
        ]
        return made if document.version == version else []

    @server.feature(types.CODE_ACTION_RESOLVE)
    async def resolve(action: types.CodeAction) -> types.CodeAction:
        data = action.data if isinstance(action.data, dict) else {}
        document = server.documents.get(data.get("uri", ""))
        if document is None or document.version != data.get("version") or not document.checked:
            return action
        number = data.get("number")
        offer = actions.numbered(document.findings, number) if isinstance(number, int) else None
        if offer is not None:
            action.edit = await _edit(server, document, offer, asked=True)
        return action

    @server.feature(types.SHUTDOWN)
    async def shut_down(*_: object) -> None:
        server.is_shut_down = True
        for document in server.documents.values():
            if document.task is not None:
                document.task.cancel()
        await asyncio.gather(server.checker.close(), server.advisor.close())

    return server


def _path(server: Server, uri: str) -> str:
    """The path of a document; if it has no file, one where its settings would be found.

    What an editor shows of a notebook as a text is Python, which extensions make of it, or JSON, in which nothing is found.
    """
    path = uris.to_fs_path(uri) if uri.startswith("file:") else None
    if not path:
        name = uri.rpartition(":")[2].rpartition("/")[2] or "untitled"
        path = os.path.join(server.workspace.root_path or os.getcwd(), name)
    return path + ".py" if path.endswith(source.NOTEBOOK) else path


async def _action(server: Server, document: Document, offer: actions.Offer) -> types.CodeAction | None:
    """An offer as a code action; None where its edit had to be made at once and would do harm."""
    where = [
        messages.diagnostic(each, document.uri, document.lines, server.encoding, server.client.related)
        for each in offer.findings
    ]
    action = types.CodeAction(
        title=offer.title, kind=offer.kind, diagnostics=where or None, is_preferred=offer.is_preferred or None
    )
    if server.client.resolves:
        action.data = {"uri": document.uri, "version": document.version, "number": offer.number}
        return action
    action.edit = await _edit(server, document, offer)
    return action if action.edit is not None else None


async def _edit(
    server: Server, document: Document, offer: actions.Offer, asked: bool = False
) -> types.WorkspaceEdit | None:
    """The edit of an offer; None, and in the log why, if there is none. asked: the user chose it, and hears of that."""
    text, version = document.text, document.version
    try:
        edited = await server.advisor.ask(offer.question, document.path, text, *offer.arguments)
    except NoAnswer as error:
        server.log(f"{document.path}: {offer.title}: {error}", types.MessageType.Warning)
        return None
    if edited.reason:
        server.log(f"{document.path}: {offer.title}: left out: {edited.reason}")
        if asked:
            told = f"stridelint: {offer.title}: left out: {edited.reason}"
            server.window_show_message(types.ShowMessageParams(type=types.MessageType.Info, message=told))
        return None
    return messages.workspace_edit(
        document.uri, version, text, edited.text, server.encoding, server.client.versioned
    )


def run() -> int:
    """Serve on standard input and output; 1 if the client went away without a word."""
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever else is printed must not get among the messages
    server = make_server()
    try:
        server.start_io(sys.stdin.buffer, replies)
    finally:
        server.checker.stop()
        server.advisor.stop()
    return 0 if server.is_shut_down else 1
