"""The language server: what the editor says and asks, handed to the folders of the workspace."""

from __future__ import annotations

import gc
import os
import sys
import threading
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from gblock import __version__
from gblock.server.actions import KINDS, Actions, plain
from gblock.server.checking import Checking
from gblock.server.documents import Documents
from gblock.server.folder import Folder
from gblock.server.hover import hover
from gblock.server.records import Records
from gblock.server.uris import path_of
from gblock.server.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gblock.server.documents import Document
    from gblock.server.options import ServerOptions

_STACK = 64 << 20
"""Bytes for the stack of each thread: files nest as deep as in a check by the command line."""
_CALLS = 10_000
"""The recursion limit that fits such a stack."""
_PATTERN = "**/*"


class EditorServer(LanguageServer):
    """The server of one editor.

    Args:
        asked: The options of the command line.
    """

    def __init__(self, asked: ServerOptions) -> None:
        super().__init__(
            "gblock", __version__, text_document_sync_kind=types.TextDocumentSyncKind.Full
        )
        self._asked = asked
        self._records = Records(asked.observed)
        self.documents = Documents()
        self._folders: dict[str, Folder] = {}
        """By root: a folder, or a file that is in none."""
        self._fast, self._slow = Worker("gblock-file"), Worker("gblock-folder")

    # -- for folders

    @property
    def encoding(self) -> str:
        """The encoding of positions."""
        found = self.workspace.position_encoding or types.PositionEncodingKind.Utf16
        return types.PositionEncodingKind(found).value

    def publish(self, uri: str, version: int | None, diagnostics: list[types.Diagnostic]) -> None:
        """Replace the diagnostics of a file."""
        self.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri, diagnostics, version)
        )

    def warn(self, message: str) -> None:
        """Show a message."""
        kind = types.MessageType.Warning
        self.window_show_message(types.ShowMessageParams(kind, f"gblock: {message}"))

    def log(self, message: str) -> None:
        """Write a message to the editor's log."""
        self.window_log_message(types.LogMessageParams(types.MessageType.Info, message))

    # -- the workspace

    def begin(self, params: types.InitializeParams) -> None:
        """Take the folders of the workspace."""
        uris = [folder.uri for folder in params.workspace_folders or ()]
        roots = list(filter(None, map(path_of, uris)))
        if not uris and params.root_uri is not None:
            roots = list(filter(None, [path_of(params.root_uri)]))
        elif not uris and params.root_path is not None:
            roots = [os.path.abspath(params.root_path)]
        roots = [root for root in roots if os.path.isdir(root)]
        if roots:
            os.chdir(os.path.commonpath(roots))  # names in messages are relative to it
        for root in roots:
            self._add(root)

    def watch(self) -> None:
        """Check the folders, and ask the editor to report files that change on disk."""
        for folder in self._folders.values():
            folder.check_after()
        workspace = self.client_capabilities.workspace
        watched = workspace and workspace.did_change_watched_files
        if watched and watched.dynamic_registration:
            options = types.DidChangeWatchedFilesRegistrationOptions(
                [types.FileSystemWatcher(_PATTERN)]
            )
            name = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
            registration = types.Registration("gblock-files", name, options)
            self.client_register_capability(types.RegistrationParams([registration]))

    def change_folders(self, event: types.WorkspaceFoldersChangeEvent) -> None:
        """Add and remove folders."""
        for removed in event.removed:
            folder = self._folders.pop(path_of(removed.uri) or "", None)
            if folder is not None:
                folder.close()
        for added in event.added:
            root = path_of(added.uri)
            if root is not None and os.path.isdir(root) and root not in self._folders:
                self._add(root).check_after()
        for document in self.documents.all():
            self.folder_of(document.path).changed(document)

    def changed_on_disk(self, uris: Iterable[str]) -> None:
        """Check the folders that depend on some files."""
        paths = list(filter(None, map(path_of, uris)))
        for folder in self._folders.values():
            if any(map(folder.depends_on, paths)):
                folder.check_after()

    def check_all(self) -> None:
        """Check all folders."""
        for folder in self._folders.values():
            folder.check_after()

    def _add(self, root: str) -> Folder:
        checks = Checking(root, self._asked, self._records.read)
        folder = Folder(checks, self.documents, self, self._fast, self._slow)
        self._folders[root] = folder
        return folder

    def folder_of(self, path: str) -> Folder:
        """Return the innermost folder of a file; a file that is in none is its own."""
        holding = [root for root, folder in self._folders.items() if folder.holds(path)]
        return self._folders[max(holding, key=len)] if holding else self._add(path)

    # -- documents

    def open(self, uri: str, version: int | None, text: str) -> None:
        """Take a document that was opened."""
        path = path_of(uri)
        if path is not None:
            self.folder_of(path).opened(self.documents.put(uri, path, version, text))

    def change(self, uri: str, version: int | None, text: str) -> None:
        """Take the new text of a document."""
        path = path_of(uri)
        if path is not None:
            self.folder_of(path).changed(self.documents.put(uri, path, version, text))

    def close(self, uri: str) -> None:
        """Forget a document."""
        document = self.document(uri)
        if document is not None:
            self.documents.close(document.path)
            self.folder_of(document.path).closed(document)
            if document.path in self._folders:
                self._folders.pop(document.path).close()

    def document(self, uri: str) -> Document | None:
        """Return an open document."""
        return self.documents.get(path_of(uri) or "")

    def actions(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        """Return the code actions for a range of a document."""
        document = self.document(params.text_document.uri)
        if document is None:
            return []
        folder = self.folder_of(document.path)
        found, converted = folder.found(document)
        only = params.context.only
        kinds = None if only is None else [str(getattr(kind, "value", kind)) for kind in only]
        actions = Actions(document, self.documents, found, converted, folder.lines)
        offered = actions.at(params.range, kinds)
        if not self._takes_versions:
            for action in offered:
                action.edit = plain(action.edit) if action.edit is not None else None
        return offered

    @property
    def _takes_versions(self) -> bool:
        workspace = self.client_capabilities.workspace
        edit = workspace and workspace.workspace_edit
        return bool(edit and edit.document_changes)

    def hover(self, params: types.HoverParams) -> types.Hover | None:
        """Return what is shown at a place of a document."""
        document = self.document(params.text_document.uri)
        if document is None:
            return None
        folder = self.folder_of(document.path)
        found, _ = folder.found(document)
        return hover(found, folder.lines(document.path), params.position)


def serve(asked: ServerOptions) -> None:
    """Serve one editor over standard input and output, until it ends.

    Args:
        asked: The options of the command line.
    """
    threading.stack_size(_STACK)
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _CALLS))
    gc.disable()  # a folder's check collects once at its end, not while someone types
    server(asked).start_io()


def server(asked: ServerOptions) -> EditorServer:
    """Return a server with all its features."""
    ls = EditorServer(asked)

    @ls.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        ls.begin(params)

    @ls.feature(types.INITIALIZED)
    def initialized(_: types.InitializedParams) -> None:
        ls.watch()

    @ls.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: types.DidOpenTextDocumentParams) -> None:
        document = params.text_document
        ls.open(document.uri, document.version, document.text)

    @ls.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: types.DidChangeTextDocumentParams) -> None:
        document = params.text_document
        if params.content_changes:
            ls.change(document.uri, document.version, params.content_changes[-1].text)

    @ls.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def did_save(_: types.DidSaveTextDocumentParams) -> None:
        ls.check_all()

    @ls.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: types.DidCloseTextDocumentParams) -> None:
        ls.close(params.text_document.uri)

    @ls.feature(types.TEXT_DOCUMENT_HOVER)
    def on_hover(params: types.HoverParams) -> types.Hover | None:
        return ls.hover(params)

    @ls.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=KINDS))
    def code_action(params: types.CodeActionParams) -> list[types.CodeAction]:
        return ls.actions(params)

    @ls.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def did_change_watched_files(params: types.DidChangeWatchedFilesParams) -> None:
        ls.changed_on_disk(change.uri for change in params.changes)

    @ls.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def did_change_configuration(_: types.DidChangeConfigurationParams) -> None:
        ls.check_all()

    @ls.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def did_change_workspace_folders(params: types.DidChangeWorkspaceFoldersParams) -> None:
        ls.change_folders(params.event)

    return ls
