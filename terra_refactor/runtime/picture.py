"""A drawing of the trace graph: recorded paths, their branches, and compiled segments.

Computes: a drawing of each program's trie; sequences without a branch are one box. Needs: the tries. Gives: `svg`,
`html`. Ignores: how often a path was taken.
"""

from __future__ import annotations

import html as markup
from dataclasses import dataclass, field

from terra_refactor.runtime.program import Program
from terra_refactor.runtime.trie import Kind, Node

_WIDTH, _HEIGHT, _GAP_X, _GAP_Y = 190, 46, 40, 16
_MAX_BOXES = 400


@dataclass(slots=True)
class _Box:
    """A sequence of nodes without branches."""

    nodes: list[Node]
    children: list[_Box] = field(default_factory=list)
    x: float = 0.0
    y: float = 0.0

    def label(self) -> tuple[str, str]:
        names = [node.call.name.rpartition(".")[2] for node in self.nodes if node.call is not None]
        text = names[0] if len(names) == 1 else f"{names[0]} … {names[-1]}"
        where = next((node.where for node in self.nodes if node.where), "")
        place = where.replace("\\", "/").rpartition("/")[2]
        return text[:30], f"{len(names)} calls  {place}"[:34]

    def colour(self) -> str:
        last = self.nodes[-1]
        if last.kind is not Kind.DEFER:
            return "#f6d6c9"
        if any(segment != "failed" for segment in last.segments.values()):
            return "#cfe8d2"
        return "#f6c9c9" if last.segments else "#e4e7ee"


def _fold(node: Node, budget: list[int]) -> _Box:
    nodes = [node]
    children = list(node.children.values())  # a finalizer may remove one meanwhile
    while len(children) == 1 and not node.segments:
        node = children[0]
        nodes.append(node)
        children = list(node.children.values())
    box = _Box(nodes)
    for child in children:
        if budget[0] <= 0:
            break
        budget[0] -= 1
        box.children.append(_fold(child, budget))
    return box


def _place(box: _Box, depth: int, row: float) -> float:
    """Sets positions; returns the first free row below."""
    box.x = depth * (_WIDTH + _GAP_X)
    if not box.children:
        box.y = row * (_HEIGHT + _GAP_Y)
        return row + 1
    for child in box.children:
        row = _place(child, depth + 1, row)
    box.y = (box.children[0].y + box.children[-1].y) / 2
    return row


def _draw(box: _Box, lines: list[str]) -> float:
    right = box.x + _WIDTH
    for child in box.children:
        lines.append(
            f'<path d="M{right:.0f},{box.y + _HEIGHT / 2:.0f} C{right + 20:.0f},{box.y + _HEIGHT / 2:.0f}'
            f' {child.x - 20:.0f},{child.y + _HEIGHT / 2:.0f} {child.x:.0f},{child.y + _HEIGHT / 2:.0f}"'
            ' fill="none" stroke="#667"/>'
        )
    first, second = box.label()
    titles = "\n".join(f"{node.call.name}  {node.where}" for node in box.nodes if node.call is not None)
    lines.append(
        f'<g><title>{markup.escape(titles)}</title><rect x="{box.x:.0f}" y="{box.y:.0f}" width="{_WIDTH}"'
        f' height="{_HEIGHT}" rx="6" fill="{box.colour()}" stroke="#667"/>'
        f'<text x="{box.x + 8:.0f}" y="{box.y + 19:.0f}">{markup.escape(first)}</text>'
        f'<text x="{box.x + 8:.0f}" y="{box.y + 36:.0f}" fill="#556">{markup.escape(second)}</text></g>'
    )
    return max([right, *(_draw(child, lines) for child in box.children)])


def svg(programs: list[Program]) -> str:
    """All programs, one below the other, as one SVG document.

    Green: ends a compiled segment. Grey: recorded, not compiled. Orange: runs immediately or is decomposed. Red:
    could not be built.
    """
    lines: list[str] = []
    row = 0.0
    width = 400.0
    for program in programs:
        top = row * (_HEIGHT + _GAP_Y)
        lines.append(f'<text x="0" y="{top + 20:.0f}" font-weight="bold">{markup.escape(program.name)}</text>')
        row += 0.6
        budget = [_MAX_BOXES]
        for root in program.roots.values():
            for child in list(root.children.values()):
                if budget[0] <= 0:
                    break
                budget[0] -= 1
                box = _fold(child, budget)
                row = _place(box, 0, row)
                width = max(width, _draw(box, lines))
        row += 0.6
    height = row * (_HEIGHT + _GAP_Y) + 10
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-10 0 {width + 20:.0f} {height:.0f}" width="{width + 20:.0f}"'
        f' height="{height:.0f}" font-family="sans-serif" font-size="12">' + "\n".join(lines) + "</svg>\n"
    )


def html(programs: list[Program], text: str) -> str:
    """The drawing and the text as one self-contained page."""
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'><title>Co-execution report</title>"
        "<style>body{font-family:sans-serif;margin:2em}pre{background:#f4f5f8;padding:1em;overflow:auto}"
        "div{overflow:auto}</style></head><body><h1>Co-execution report</h1>"
        f"<pre>{markup.escape(text)}</pre><h2>Trace graphs</h2><div>{svg(programs)}</div></body></html>\n"
    )
