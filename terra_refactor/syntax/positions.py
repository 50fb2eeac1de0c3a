"""Where each node of a syntax tree lies in its text.

Computes: for every node, its syntactic extent: without the whitespace and comments around it, as LibCST's PositionProvider has it.
Needs: `ParsedModule`. Gives: `SpanTable`, keyed by node, so it lives only as long as the tree; facts that outlive it hold a `Span`.
Ignores: nodes that are not part of the tree.

LibCST determines positions by generating the code again. One such pass records the first and last token of each node;
offsets, lines and columns are computed on demand. This is about six times as fast as LibCST's own provider.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import accumulate
from types import TracebackType
from typing import Any

import libcst
from libcst._nodes.internal import CodegenState

from terra_refactor.errors import SourceError
from terra_refactor.syntax.deep_stack import call_with_deep_stack
from terra_refactor.syntax.layout import comments_of
from terra_refactor.syntax.lines import LineIndex
from terra_refactor.syntax.location import Span
from terra_refactor.syntax.parse import ParsedModule, parser_text

_SKIPPABLE = frozenset(" \t\f\\\r\n")


class SpanTable:
    """The extents of all nodes of one tree."""

    __slots__ = ("_offset_of_token", "_text_offset", "_tokens", "lines")

    def __init__(
        self,
        tokens: dict[libcst.CSTNode, tuple[int, int]],
        offset_of_token: Sequence[int],
        text_offset: Sequence[int] | None,
        lines: LineIndex,
    ) -> None:
        self._tokens = tokens
        self._offset_of_token = offset_of_token
        self._text_offset = text_offset
        self.lines = lines

    def offsets(self, node: libcst.CSTNode) -> tuple[int, int]:
        """Start and end of a node in the source's text, in characters; the end is exclusive.

        Raises:
            KeyError: the node is not in this tree.
        """
        first, last = self._tokens[node]
        start, end = self._offset_of_token[first], self._offset_of_token[last]
        if self._text_offset is None:
            return start, end
        moved = self._text_offset[start]
        return moved, max(moved, self._text_offset[end - 1] + 1 if end > start else moved)

    def span(self, node: libcst.CSTNode) -> Span:
        """Lines and columns of a node.

        Raises:
            KeyError: the node is not in this tree.
        """
        return self.lines.span(*self.offsets(node))

    def __contains__(self, node: object) -> bool:
        return node in self._tokens


def measure_spans(parsed: ParsedModule) -> SpanTable:
    """The extents of all nodes of a parsed source.

    Raises:
        SourceError: the tree does not match the text (a fault of the parser), so no edit would be safe.
    """
    state = call_with_deep_stack(lambda: _generate(parsed.module))
    text = parsed.source.text
    written = "".join(state.tokens)
    if written == text:
        text_offset = None
    else:
        given = parsed.text or parser_text(text)
        text_offset = None if written == given else _align(written, given, parsed.source.path)
    offsets = list(accumulate(map(len, state.tokens), initial=0))
    offsets.append(offsets[-1])  # the generator may remove the module's last newline after its nodes were recorded
    return SpanTable(state.extents, offsets, text_offset, LineIndex(text))


class _Extent:
    """Records the token range of a node, without the whitespace it owns. One `with` of LibCST's code generation."""

    __slots__ = ("end_node", "first", "node", "start_node", "state")

    def __init__(
        self,
        state: _RecordingState,
        node: libcst.CSTNode,
        start_node: libcst.CSTNode | None,
        end_node: libcst.CSTNode | None,
    ) -> None:
        self.state = state
        self.node = node
        self.start_node = start_node
        self.end_node = end_node

    def __enter__(self) -> None:
        self.first = len(self.state.tokens)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is not None:
            return  # this stack is too small: the nodes inside are incomplete, and the whole pass is repeated
        extents = self.state.extents
        first = self.first if self.start_node is None else extents[self.start_node][0]
        last = len(self.state.tokens) if self.end_node is None else extents[self.end_node][1]
        extents[self.node] = (first, last)


class _RecordingState(CodegenState):
    """Code generation that records, for each node, the number of tokens written before it and up to its end."""

    # `add_token` is called for every token: a slot that holds `list.append` itself avoids a Python call each time.
    __slots__ = ("_begun", "add_token", "extents")

    def __init__(self, module: libcst.Module) -> None:
        super().__init__(default_indent=module.default_indent, default_newline=module.default_newline)
        self.add_token: Any = self.tokens.append
        self.extents: dict[libcst.CSTNode, tuple[int, int]] = {}
        self._begun: list[int] = []

    def before_codegen(self, node: libcst.CSTNode) -> None:
        self._begun.append(len(self.tokens))

    def after_codegen(self, node: libcst.CSTNode) -> None:
        first = self._begun.pop()
        if node not in self.extents:
            self.extents[node] = (first, len(self.tokens))

    def record_syntactic_position(  # type: ignore[override]  # a plain context manager is faster than a generator's
        self,
        node: libcst.CSTNode,
        *,
        start_node: libcst.CSTNode | None = None,
        end_node: libcst.CSTNode | None = None,
    ) -> _Extent:
        return _Extent(self, node, start_node, end_node)


def _generate(module: libcst.Module) -> _RecordingState:
    state = _RecordingState(module)
    module._codegen(state)
    return state


def _align(written: str, text: str, path: str) -> Sequence[int]:
    """For each offset of the written tree, the offset in the text.

    LibCST drops some whitespace of unusual files (a form feed before the first line, a blank line of spaces among
    others), and comments (indented ones at the end). Everything else is equal, so one pass over both texts aligns
    each character. This is enough for edits, which only change text that has a position.
    """
    moved = array("L", bytes(array("L").itemsize * (len(written) + 1)))
    comments = dict(comments_of(text))
    there = 0
    for here, character in enumerate(written):
        while there < len(text):
            end = comments.get(there)
            if end is not None and not _is_comment(written, here, text[there:end]):
                there = end
            elif text[there] != character and text[there] in _SKIPPABLE:
                there += 1
            else:
                break
        if there < len(text) and text[there] == character:
            moved[here] = there
            there += 1
        elif character in _SKIPPABLE:
            moved[here] = min(there, len(text))
        else:
            raise _not_kept(text, there, path)
    moved[len(written)] = len(text)
    while there < len(text) and (there in comments or text[there] in _SKIPPABLE):
        there = comments.get(there, there + 1)
    if there < len(text):
        raise _not_kept(text, there, path)
    return moved


def _is_comment(written: str, here: int, comment: str) -> bool:
    """Whether exactly this comment was written at that offset."""
    end = here + len(comment)
    return written.startswith(comment, here) and (end == len(written) or written[end] in "\r\n")


def _not_kept(text: str, there: int, path: str) -> SourceError:
    return SourceError(path, "skipped: LibCST cannot reproduce this file exactly", text.count("\n", 0, there) + 1)
