"""The server: which messages of the protocol it answers, and how. All work is left to the helper processes."""

from __future__ import annotations

import asyncio
import os
import sys

from lsprotocol import types
from pygls import uris

from stridelint.linter import source
from stridelint.linter.server import actions, documents, messages
from stridelint.linter.server.helper import NoAnswer
from stridelint.linter.server.session import DEBOUNCE, Client, Document, Server

_CONFIGURATION = ("**/pyproject.toml", "**/stridelint.toml")


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
        only = (
            None if params.context.only is None else [str(getattr(each, "value", each)) for each in params.context.only]
        )
        offered = actions.offered(document.findings, start, end, only)
        version = document.version
        made = [action for each in offered if (action := await _action(server, document, each)) is not None]
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
    return messages.workspace_edit(document.uri, version, text, edited.text, server.encoding, server.client.versioned)


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
