"""Extract Function: a run of statements becomes a function, and a call of it replaces them.

Computes: the parameters and results of the function, its name and position, and the edits. Needs: a module's text, a
candidate, the place of the function. Gives: `Outliner`, `Placement`, `Refused`. Ignores: whether the function should
be a graph.

    for images, labels in batches:             def train_step(images, labels):
        with tf.GradientTape() as tape:    ->      with tf.GradientTape() as tape:
            ...                                        ...
        print(loss)                                return loss

                                               for images, labels in batches:
                                                   loss = train_step(images, labels)
                                                   print(loss)

Names that the loops do not bind are captured from the module or the enclosing function; the others are parameters.
Variables that are bound and may be read later are returned. The lines of the statements, with their comments, are
unchanged.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from types import MappingProxyType
from typing import Final

from terra_refactor.refactor.regions.candidates import Candidate, RegionScope, deletes_of_others, tapes_of
from terra_refactor.refactor.regions.hoisting import Hoisted, with_arguments
from terra_refactor.refactor.regions.own_names import (
    bound_by_each_pass,
    bound_where_read,
    made_by_scope,
    needed_by_each_pass,
)
from terra_refactor.refactor.regions.region import ExtractedFunction
from terra_refactor.refactor.regions.rereading import rereadable
from terra_refactor.refactor.regions.variables import UPDATES
from terra_refactor.syntax.edit import split_lines
from terra_refactor.syntax.name_flow import (
    ScopeFlow,
    Statements,
    declared_names,
    inner_blocks,
    statements_of_scope,
    usage_of,
)

_KERAS_NAMES: Final = frozenset({"train_step", "test_step", "predict_step", "call", "fit"})
"""Methods of Keras models, which a base class may define."""
_MAX_LINE: Final = 100


class Placement(Enum):
    """The place of the function."""

    MODULE = "before the loop of the module"
    NESTED = "in the function, before its outermost loop"
    METHOD = "before the method, as another one"
    OUTSIDE = "before the function"
    BESIDE = "as another method, before the method that defines the enclosing function"
    TOP = "in the module, before the enclosing class or function"


@dataclass(frozen=True, slots=True)
class Refused:
    """The statements cannot become a function; `reason` is a sentence for the user."""

    reason: str
    names: frozenset[str] = frozenset()
    """It may be possible without the initial statements that read these names."""


class Outliner:
    """The regions of one module."""

    def __init__(self, text: str, tree: ast.Module, cell_starts: frozenset[int] = frozenset()) -> None:
        self.text = text
        self.tree = tree
        self.lines = split_lines(text)
        self.cell_starts = cell_starts
        """In a notebook's module, the lines that begin cells."""
        self.offsets = [0]
        for line in self.lines:
            self.offsets.append(self.offsets[-1] + len(line))
        self.taken: set[str] = set(re.findall(r"\w+", text))
        """Every word of the text; a new name must not be one of these."""

    @cached_property
    def inside_strings(self) -> frozenset[int]:
        """The lines, from 1, that begin inside a string."""
        found: set[int] = set()
        opened: list[int] = []
        for token in tokenize.generate_tokens(io.StringIO(self.text, newline="").readline):
            name = tokenize.tok_name[token.type]
            if name == "STRING":
                found.update(range(token.start[0] + 1, token.end[0] + 1))
            elif name in ("FSTRING_START", "TSTRING_START"):
                opened.append(token.start[0])
            elif name in ("FSTRING_END", "TSTRING_END"):
                found.update(range(opened.pop() + 1, token.end[0] + 1))
        return frozenset(found)

    def placements(self, candidate: Candidate) -> tuple[Placement, ...]:
        """The possible positions of the function, the most natural one first."""
        scope = candidate.scope
        if isinstance(scope.node, ast.Module):
            return (Placement.MODULE,)
        if scope.is_method and scope.self_name in usage_of(candidate.statements).needs:
            # if each call of the method creates an optimizer, each needs its own function
            nested = candidate.loops and made_by_scope(scope) & usage_of(candidate.statements).needs.keys()
            return (Placement.METHOD, Placement.NESTED) if nested else (Placement.METHOD,)
        near = (Placement.NESTED, Placement.OUTSIDE) if candidate.loops else (Placement.OUTSIDE,)
        if not scope.is_nested or _depends_on_class(candidate):
            return near
        # the enclosing function may be defined in each call of another one, together with its nested functions
        method = scope.method_around
        beside = method is not None and _self_name(method) in usage_of(candidate.statements).needs
        return (*near, Placement.BESIDE) if beside else (*near, Placement.TOP)

    def outline(
        self,
        candidate: Candidate,
        placement: Placement,
        name: str | None = None,
        depth: int = 0,
        passed: frozenset[str] = frozenset(),
        converted: Mapping[str, str] = MappingProxyType({}),
        hoisted: Sequence[Hoisted] = (),
    ) -> ExtractedFunction | Refused:
        """The run as a function at a position; `name` is its earlier name, if it had one.

        It is defined inside the outermost `depth` loops. The names in `passed` are always parameters; `converted`
        gives the conversions in the call; `hoisted` expressions are evaluated by the call.
        """
        flow, statements = candidate.scope.flow, with_arguments(candidate.statements, hoisted)
        usage = usage_of(statements)
        moved = usage_of(candidate.moved)
        if usage.ends:
            return Refused("it does not always run to its end")
        if deletes_of_others(statements):
            return Refused("it deletes a name that it did not bind")
        reread = self._declared(candidate) & (set(usage.binds) | set(usage.needs))
        if reread & set(usage.binds):
            return Refused(f"other functions also bind `{min(reread & set(usage.binds))}`")
        kept = flow.kept_by_lambdas(candidate.statements)
        live = flow.live_after(candidate.block, candidate.end) | kept | set(moved.needs)
        own = bound_where_read(candidate)
        outputs = [name for name in usage.binds if name in live - own]
        needs = {name for name in usage.needs.keys() - own if name in flow.names}
        needs |= {name for name in outputs if name not in usage.sure}
        needs -= bound_by_each_pass(candidate)
        if placement in (Placement.BESIDE, Placement.TOP):
            around = _of_functions_around(candidate.scope, frozenset(usage.needs) - flow.names)
            if isinstance(around, Refused):
                return around
        else:
            around = frozenset[str]()
        bound_here = flow.bound_before(candidate.block, candidate.start) | usage_of(candidate.ahead).binds.keys()
        unbound = needs - bound_here - needed_by_each_pass(candidate)
        if unbound:
            return Refused(f"`{min(unbound)}` may be unbound where it begins", frozenset(unbound))
        changing = self._changing(candidate, depth) | self._declared(candidate) | passed
        for bound in tapes_of(candidate.block):
            if bound in needs or bound in outputs:
                return Refused(f"`{bound}` is used both inside and outside of it")
        needs |= around
        captured = self._captured(candidate, placement, needs, changing)
        lists = () if hoisted else rereadable(candidate, frozenset(needs - captured), self.tree)
        if lists:
            needs = (needs - {each.name for each in lists}).union(*(each.roots for each in lists))
            captured = self._captured(candidate, placement, needs, changing)
        inputs = (*self._ordered(candidate, needs - captured), *(each.name for each in hoisted))
        span = self._span(candidate)
        if isinstance(span, Refused):
            return span
        given = {each.name: each.text for each in hoisted} | dict(converted)
        # as parameters of these names, which take the place of the lists
        places = (*hoisted, *(Hoisted(each.text, "", each.nodes) for each in lists))
        made = self._written(candidate, placement, inputs, outputs, span, name, depth, given, places)
        if lists and isinstance(made, ExtractedFunction):
            return replace(made, reread=tuple(each.text.strip("()") for each in lists))
        return made

    def bound_again(self, candidate: Candidate) -> frozenset[str]:
        """The names of the scope that the run reads and that several statements bind: a function would read the latest value."""
        counts = Counter(
            name
            for statement in statements_of_scope(candidate.scope.node.body)
            if not inner_blocks(statement)
            for name in usage_of([statement]).binds
        )
        needs = usage_of(candidate.statements).needs
        return frozenset(name for name in needs if name in candidate.scope.flow.names and counts[name] > 1)

    def changing(self, candidate: Candidate) -> frozenset[str]:
        """The names bound by the loops around the run, or else by the function: each call may have other values."""
        return frozenset(self._changing(candidate))

    # --- names -------------------------------------------------------------------------------------------------------------------------

    def _changing(self, candidate: Candidate, depth: int = 0) -> set[str]:
        if not candidate.loops:
            return set(candidate.scope.flow.names)
        block, at = candidate.path[candidate.loops[depth]]
        return set(usage_of([block[at]]).binds)

    def _declared(self, candidate: Candidate) -> set[str]:
        """Names of the scope that nested functions bind."""
        if isinstance(candidate.scope.node, ast.Module):
            return declared_names(self.tree.body)
        inner = [node for statement in candidate.scope.node.body for node in ast.walk(statement)]
        return declared_names(node for node in inner if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))

    @staticmethod
    def _captured(candidate: Candidate, placement: Placement, needs: set[str], changing: set[str]) -> set[str]:
        match placement:
            case Placement.MODULE | Placement.NESTED:
                return needs - changing
            case Placement.METHOD:
                return {candidate.scope.self_name}
            case Placement.BESIDE:
                assert candidate.scope.method_around is not None
                return {_self_name(candidate.scope.method_around)}
            case Placement.OUTSIDE | Placement.TOP:
                return set()

    @staticmethod
    def _ordered(candidate: Candidate, names: set[str]) -> tuple[str, ...]:
        """The names in the order of the parameters: loop constants by their first use, then loop variables in the order of binding."""
        bound = (
            usage_of([candidate.path[candidate.loops[0]][0][candidate.path[candidate.loops[0]][1]]]).binds
            if (candidate.loops)
            else {}
        )
        needs = usage_of(candidate.statements).needs
        used = list(needs)

        def place(name: str) -> tuple[int, int, int]:
            node = bound.get(name)
            if node is None:
                return (0, used.index(name) if name in needs else len(used), 0)
            return (1, getattr(node, "lineno", 0), getattr(node, "col_offset", 0))

        return tuple(sorted(names, key=place))

    def _name(self, candidate: Candidate, placement: Placement) -> str:
        attributes = {
            node.func.attr
            for statement in candidate.statements
            for node in ast.walk(statement)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        }
        base = "train_step" if attributes & UPDATES else "gradient_step"
        inherits = placement in (Placement.METHOD, Placement.BESIDE) and bool(candidate.scope.class_around.bases)
        if inherits and base in _KERAS_NAMES:
            base = f"_{base}_on_batch"
        number, name = 1, base
        while name in self.taken:
            number += 1
            name = f"{base}_{number}"
        self.taken.add(name)
        return name

    # --- text --------------------------------------------------------------------------------------------------------------------------

    def _span(self, candidate: Candidate) -> tuple[int, int] | Refused:
        """The first and the last line of the run, including comments directly above it."""
        first, last = candidate.block[candidate.start], candidate.block[candidate.end - 1]
        start, end = first.lineno, last.end_lineno or last.lineno
        indent = self._indent(start)
        before = self.lines[start - 1][: len(indent)]
        if before.strip():
            return Refused("it does not begin a line")
        if not self._begins_line(first) or not self._ends_line(candidate):
            return Refused("it shares a line with other statements")
        above = candidate.block[candidate.start - 1].end_lineno if candidate.start else None
        while start - 1 > (above or 0) and self.lines[start - 2].lstrip().startswith("#"):
            if self._indent(start - 1) != indent or self.lines[start - 2].lstrip().startswith("# %%"):
                break
            start -= 1
        return start, end

    def _begins_line(self, statement: ast.stmt) -> bool:
        line = self.lines[statement.lineno - 1].encode()
        return not line[: statement.col_offset].strip()

    def _ends_line(self, candidate: Candidate) -> bool:
        last = candidate.block[candidate.end - 1]
        line = self.lines[(last.end_lineno or last.lineno) - 1].encode()
        rest = line[last.end_col_offset or 0 :].strip().removeprefix(b";").lstrip()
        return not rest or rest.startswith(b"#")

    def _indent(self, line: int) -> str:
        text = self.lines[line - 1]
        return text[: len(text) - len(text.lstrip(" \t\f"))]

    def _newline(self, line: int) -> str:
        text = self.lines[line - 1]
        return text[len(text.rstrip("\r\n")) :] or "\n"

    def _written(
        self,
        candidate: Candidate,
        placement: Placement,
        inputs: tuple[str, ...],
        outputs: Sequence[str],
        span: tuple[int, int],
        name: str | None,
        depth: int,
        texts: Mapping[str, str],
        hoisted: Sequence[Hoisted],
    ) -> ExtractedFunction | Refused:
        first, last = span
        newline = self._newline(first)
        at, indent = self._place(candidate, placement, depth)
        indent_of_run = self._indent(candidate.statements[0].lineno)
        unit = self._unit(candidate)
        if not indent_of_run.startswith(unit):
            return Refused("its indentation is not regular")
        name = name or self._name(candidate, placement)
        is_method = placement in (Placement.METHOD, Placement.BESIDE)
        parameters = [*self._captured(candidate, placement, set(), set()), *inputs] if is_method else list(inputs)
        ahead = self._lines_of_moved(candidate.ahead, first)
        left = self._lines_of_moved(candidate.moved, first)
        deleted = {line for each in candidate.deletions for line in range(each.lineno, (each.end_lineno or 0) + 1)}
        end = candidate.statements[-1].end_lineno or last
        left |= {
            line: indent_of_run for line in range(end + 1, last + 1) if self.lines[line - 1].lstrip().startswith("#")
        }
        numbers = [
            line for line in range(first, end + 1) if line not in left and line not in ahead and line not in deleted
        ]
        changed = self._with_parameters(hoisted)
        body = [self._shifted(line, indent_of_run, indent + unit, changed.get(line)) for line in numbers]
        if not body[-1].endswith(("\n", "\r")):
            body[-1] += newline
        if outputs:
            body.append(f"{indent}{unit}return {', '.join(outputs)}{newline}")
        head = self._wrapped(f"{indent}def {name}(", parameters, "):", unit, newline)
        definition = head + "".join(body)
        callee = f"{parameters[0]}.{name}" if is_method else name
        target = f"{', '.join(outputs)} = " if outputs else ""
        given = [texts.get(each, each) for each in inputs]
        call = self._wrapped(f"{indent_of_run}{target}{callee}(", given, ")", unit, newline)
        call = "".join(self._shifted(line, ahead[line], indent_of_run) for line in sorted(ahead)) + call
        for line in sorted(left):
            text = self._shifted(line, left[line], indent_of_run)
            call += text if text.endswith(("\n", "\r")) else text + newline
        ended = self._still_deleted(candidate, outputs)
        call += f"{indent_of_run}del {', '.join(ended)}{newline}" if ended else ""
        if last == len(self.lines) and not self.lines[-1].endswith(("\n", "\r")):
            call = call[: -len(newline)]  # the file ends without one
        return ExtractedFunction(
            inside=candidate.scope.qualname or "<module>",
            line=candidate.statements[0].lineno,
            end_line=last,
            body_lines=tuple(numbers),
            function_name=name,
            inputs=inputs,
            outputs=tuple(outputs),
            insert_at=self.offsets[at - 1],
            definition=self._spaced(at, definition, candidate, placement, newline),
            start=self.offsets[first - 1],
            end=self.offsets[last],
            call=call,
        )

    @staticmethod
    def _still_deleted(candidate: Candidate, outputs: Sequence[str]) -> list[str]:
        """Names that the run deletes but the code around the call still has: bound before it, or returned by it."""
        there = candidate.scope.flow.bound_before(candidate.block, candidate.start) | set(outputs)
        found: dict[str, None] = {}
        for statement in candidate.block[candidate.start : candidate.end]:
            usage = usage_of([statement])
            if statement in candidate.deletions:
                found |= dict.fromkeys(name for name in usage.needs if name in there)
            else:
                found = {name: None for name in found if name not in usage.binds}
        return list(found)

    def _lines_of_moved(self, moved: Statements, first: int) -> dict[int, str]:
        """The lines of statements that move out of the run, with the comments right above each, and their indentation."""
        found: dict[int, str] = {}
        for statement in moved:
            start = statement.lineno
            while start - 1 >= first and self.lines[start - 2].lstrip().startswith("#"):
                start -= 1
            indent = self._indent(statement.lineno)
            found.update(dict.fromkeys(range(start, (statement.end_lineno or statement.lineno) + 1), indent))
        return found

    @staticmethod
    def _wrapped(head: str, names: list[str], tail: str, unit: str, newline: str) -> str:
        line = f"{head}{', '.join(names)}{tail}"
        if len(line) <= _MAX_LINE or not names:
            return line + newline
        indent = head[: len(head) - len(head.lstrip())]
        inner = f"{indent}{unit}{unit if tail.endswith(':') else ''}"
        rows, row = [], inner
        for name in names:
            if len(row) + len(name) + 1 > _MAX_LINE and row != inner:
                rows.append(row.rstrip())
                row = inner
            row += f"{name}, "
        rows.append(row.rstrip().rstrip(","))
        return newline.join([head, *rows, indent + tail]) + newline

    def _with_parameters(self, hoisted: Sequence[Hoisted]) -> dict[int, str]:
        """The lines with hoisted expressions replaced by parameters."""
        places = sorted(
            (node.lineno, node.col_offset, node.end_col_offset or 0, each.name)
            for each in hoisted
            for node in each.nodes
        )
        found: dict[int, bytes] = {}
        for line, start, end, name in reversed(places):
            text = found.get(line, self.lines[line - 1].encode())
            found[line] = text[:start] + name.encode() + text[end:]
        return {line: text.decode() for line, text in found.items()}

    def _shifted(self, line: int, old: str, new: str, changed: str | None = None) -> str:
        text = self.lines[line - 1] if changed is None else changed
        if line in self.inside_strings or not text.startswith(old) or not text.strip():
            return text
        return new + text[len(old) :]

    def _unit(self, candidate: Candidate) -> str:
        """The indentation of the file, taken from the run's own block."""
        inner = self._indent(candidate.block[0].lineno)
        if candidate.level:
            block, at = candidate.path[candidate.level - 1]
            outer = self._indent(block[at].lineno)
        else:
            outer = self._indent(candidate.scope.node.lineno)  # type: ignore[union-attr]
        return inner[len(outer) :] or "    "

    def _place(self, candidate: Candidate, placement: Placement, depth: int) -> tuple[int, str]:
        """The line before which the definition is inserted, and its indentation."""
        match placement:
            case Placement.MODULE:
                block, at = candidate.path[candidate.loops[depth] if depth else 0]
            case Placement.NESTED:
                block, at = candidate.path[candidate.loops[depth]]
            case Placement.METHOD:
                block, at = candidate.scope.outer_path[-1]
            case Placement.OUTSIDE:
                # outside of all enclosing classes
                classes = 0
                while isinstance(candidate.scope.outer[-1 - classes], ast.ClassDef):
                    classes += 1
                block, at = candidate.scope.outer_path[len(candidate.scope.outer_path) - 1 - classes]
            case Placement.BESIDE:
                block = candidate.scope.class_around.body
                at = _holding(block, candidate.scope.node)
            case Placement.TOP:
                block = self.tree.body
                at = _holding(block, candidate.scope.node)
        statement = block[at]
        decorators = getattr(statement, "decorator_list", [])
        line = min([statement.lineno, *(decorator.lineno for decorator in decorators)])
        indent = self._indent(line)
        above = (block[at - 1].end_lineno or 0) if at else 0
        while line - 1 > above and self.lines[line - 2].strip().startswith("#") and self._indent(line - 1) == indent:
            if self.lines[line - 2].strip().startswith(("# %%", "#!")) or "coding" in self.lines[line - 2]:
                break
            line -= 1
        return line, indent

    def _spaced(self, at: int, definition: str, candidate: Candidate, placement: Placement, newline: str) -> str:
        """The definition with the usual blank lines around it."""
        top = placement in (Placement.MODULE, Placement.OUTSIDE, Placement.TOP) and not definition.startswith(
            (" ", "\t")
        )
        wanted = 2 if top else 1
        before, line = 0, at - 1
        while line >= 1 and not self.lines[line - 1].strip():
            before += 1
            line -= 1
        opens = line >= 1 and self.lines[line - 1].split("#")[0].rstrip().endswith(":")
        if line < 1 or self.lines[line - 1].startswith("# %%") or (opens and not top):
            before = wanted
        return newline * max(0, wanted - before) + definition + newline * wanted


# --- runs in functions that are defined in functions ------------------------------------------------------------------------------


def _self_name(method: ast.FunctionDef) -> str:
    return [*method.args.posonlyargs, *method.args.args][0].arg


def _holding(block: Sequence[ast.stmt], inner: ast.AST) -> int:
    """The index of the statement that contains another one."""
    return next(at for at, statement in enumerate(block) if any(node is inner for node in ast.walk(statement)))


def _depends_on_class(candidate: Candidate) -> bool:
    """Whether the run has names whose meaning depends on its class: `__private`, `super()`."""
    return any(
        name in ("super", "__class__") or (name.startswith("__") and not name.endswith("__"))
        for statement in candidate.statements
        for node in ast.walk(statement)
        for name in [getattr(node, "attr", None) or getattr(node, "id", None) or ""]
    )


def _of_functions_around(scope: RegionScope, names: frozenset[str]) -> frozenset[str] | Refused:
    """The names that are variables of functions around a scope: outside of these they become arguments.

    Variables that may be unbound, or that an inner function binds, are excluded: a call would read them at another
    time.
    """
    found: set[str] = set()
    around = [each for each in scope.outer if isinstance(each, ast.FunctionDef)]
    for function in reversed(around):
        flow = ScopeFlow(function)
        bound = flow.parameters
        if function is around[-1]:
            bound |= flow.bound_before(*scope.outer_path[-1])
        for name in (names & flow.names) - found:
            if name not in bound or name in declared_names(function.body):
                return Refused(f"`{name}` may be bound only later", frozenset({name}))
            found.add(name)
    return frozenset(found)
