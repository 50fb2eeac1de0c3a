"""Code actions. Edits are computed when an action is resolved, or immediately for clients that cannot resolve."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from lsp_server.edits import workspace_edit
from lsp_server.features.commands import ADD_PACKAGE, ASK_REASON, PROVE_HERE
from lsp_server.features.diagnostics import problems_of
from lsp_server.requests import decoded, encoded
from lsp_server.server import TerraServer
from terra_refactor.errors import SourceError
from terra_refactor.ide.code_actions import (
    NO_SHIM,
    NewText,
    NotPossible,
    Offer,
    OfferKind,
    Task,
    code_actions,
    one_for_each_change,
    perform,
)
from terra_refactor.ide.explanations import shown_name
from terra_refactor.ide.snapshot import Snapshot

_IN_NOTEBOOKS = {kind: f"notebook.{kind.value}" for kind in (OfferKind.FIX_ALL, OfferKind.REFACTOR_ALL)}
"""Kinds of actions on all cells of a notebook."""
_KINDS = (*(kind.value for kind in OfferKind), *_IN_NOTEBOOKS.values())


class ContentModifiedError(JsonRpcException):
    """The text has changed since the action was offered."""

    CODE = types.LSPErrorCodes.ContentModified.value
    MESSAGE = "the text has changed since the action was offered"


def register(server: TerraServer) -> None:
    """Adds the handlers."""

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION,
        types.CodeActionOptions(code_action_kinds=list(_KINDS), resolve_provider=True),
    )
    async def offers(params: types.CodeActionParams) -> list[types.CodeAction | types.Command] | None:
        uri = params.text_document.uri
        documents = server.documents
        path, first, _ = documents.place(uri, params.range.start)
        _, last, _ = documents.place(uri, params.range.end)
        asked = params.context.trigger_kind is types.CodeActionTriggerKind.Invoked
        snapshot = await (server.with_regions(path) if asked else server.snapshot(path))
        if snapshot is None:
            return None
        in_notebook = snapshot.sources[path].notebook is not None
        shown = problems_of(server, snapshot, path).get(uri, [])
        found: list[types.CodeAction | types.Command] = []

        def kind_of(offer: Offer) -> str:
            return _IN_NOTEBOOKS.get(offer.kind, offer.kind.value) if in_notebook else offer.kind.value

        settings = server.settings_of(documents.session(path).root)
        offers = code_actions(
            snapshot,
            path,
            first,
            last,
            explicit=asked,
            co_execution=server.client.runs_shim,
            style=settings.annotation_style,
        )
        wanted = [
            offer
            for offer in offers
            if (offer.disabled is None or server.client.disabled_actions or _may_be_added(server, offer))
            and _is_wanted(kind_of(offer), params.context.only)
        ]
        for offer in one_for_each_change(wanted):
            if _may_be_added(server, offer):
                title = f"Add terra-refactor to the environment of the program, to co-execute {shown_name(offer.request.qualname)}"
                found.append(
                    types.CodeAction(
                        title, kind=kind_of(offer), command=types.Command(title, ADD_PACKAGE, arguments=[])
                    )
                )
                continue
            found.append(_encoded(server, snapshot, offer, kind_of(offer), shown, uri))
            is_change = offer.request.task in (Task.REFACTOR, Task.EXTRACT)
            if server.client.asks_reason and asked and is_change and offer.assumptions:
                found.append(_proven(offer, kind_of(offer), uri))
        return found

    @server.feature(types.CODE_ACTION_RESOLVE)
    async def resolve(action: types.CodeAction) -> types.CodeAction:
        data: Any = action.data
        if not isinstance(data, dict) or action.edit is not None or action.disabled is not None:
            return action
        request = decoded(data["request"])
        may_extract = request.task in (Task.EXTRACT, Task.REFACTOR_ALL)
        snapshot = await (server.with_regions(request.path) if may_extract else server.snapshot(request.path))
        if snapshot is None or snapshot.sources[request.path].digest != data["digest"]:
            raise ContentModifiedError
        # steps that become functions are analysed again
        result = await server.scheduler.in_thread(functools.partial(perform, snapshot, request))
        reason = _fill(server, action, snapshot, result)
        if reason is not None:  # it was chosen already: disabling it would be too late
            server.tell(f"{action.title}: {reason}")
        return action


def _may_be_added(server: TerraServer, offer: Offer) -> bool:
    """Whether only the package is missing in the program's environment, and the client can install it there."""
    return offer.disabled == NO_SHIM and server.client.asks_reason


def _is_wanted(kind: str, only: Sequence[types.CodeActionKind | str] | None) -> bool:
    if only is None:
        return not kind.startswith(("source.", "notebook."))
    wanted = [str(getattr(each, "value", each)) for each in only]
    return any(kind == each or kind.startswith(f"{each}.") or not each for each in wanted)


def _proven(offer: Offer, kind: str, uri: str) -> types.CodeAction:
    """The same change, made after running the program shows that the assumptions hold."""
    title = f"Prove by running, then {offer.title[:1].lower()}{offer.title[1:]}"
    arguments = [uri, offer.request.qualname, offer.request.line]
    return types.CodeAction(title, kind=kind, command=types.Command(title, PROVE_HERE, arguments=arguments))


def _encoded(
    server: TerraServer, snapshot: Snapshot, offer: Offer, kind: str, shown: list[types.Diagnostic], uri: str
) -> types.CodeAction:
    source = snapshot.sources[offer.request.path]
    cured: list[types.Diagnostic] = []
    if offer.finding is not None:
        located = server.documents.locate(source, offer.finding.span)
        if located is not None:
            line = located[1].start.line
            cured = [item for item in shown if item.code == offer.finding.rule and item.range.start.line == line]
    action = types.CodeAction(
        title=offer.title,
        kind=kind,
        diagnostics=cured or None,
        is_preferred=offer.preferred or None,
        disabled=None if offer.disabled is None else types.CodeActionDisabled(offer.disabled),
    )
    if offer.disabled is not None:
        return action
    if offer.request.task is Task.SUPPRESS and server.client.asks_reason:
        action.command = types.Command(offer.title, ASK_REASON, arguments=[uri, encoded(offer.request)])
    elif server.client.resolves_edits:
        action.data = {"request": encoded(offer.request), "digest": source.digest}
    else:
        _fill(server, action, snapshot, perform(snapshot, offer.request))
    return action


def _fill(
    server: TerraServer, action: types.CodeAction, snapshot: Snapshot, result: NewText | NotPossible
) -> str | None:
    """Adds the edit to the action, or disables it with a reason."""
    if isinstance(result, NewText):
        try:
            action.edit = workspace_edit(server, [(snapshot, result)])
        except SourceError as error:
            result = NotPossible(error.message)
    if isinstance(result, NotPossible):
        action.disabled = types.CodeActionDisabled(result.reason)
        return result.reason
    return None
