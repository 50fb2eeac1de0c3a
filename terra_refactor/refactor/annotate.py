"""Writes types into a signature: `x: tf.Tensor`, or with dtype and sizes in jaxtyping's notation.

    def scale(x, rate):      ->      def scale(x: Float32[tf.Tensor, "batch 8"], rate) -> Float32[tf.Tensor, "batch 8"]:

Computes: the edits of one definition, with the imports that they need. Needs: the file's source, the line of `def`,
the types. Gives: `annotated`, `written_type`. Ignores: existing annotations, which are unchanged.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Mapping
from functools import partial
from keyword import iskeyword

import libcst as cst

from terra_refactor.domain.dim import Dim, SymbolicDim, format_dim
from terra_refactor.domain.dtype import BOOL, NUMERIC
from terra_refactor.domain.tensor import TensorType
from terra_refactor.errors import SourceError
from terra_refactor.refactor.imports import Missing, Unreachable, add_imports, reach_member, reach_tensorflow
from terra_refactor.refactor.locate import DefinitionSite
from terra_refactor.refactor.transforms.context import FileContext, NotMade, file_context
from terra_refactor.syntax.deep_stack import call_with_deep_stack
from terra_refactor.syntax.edit import Edit, apply_edits, check_edits
from terra_refactor.syntax.source import Source

_NAME = re.compile(r"[^\W\d_]\w*")
JAXTYPING = "jaxtyping"


def written_type(tensor: TensorType) -> tuple[str, str] | None:
    """jaxtyping's name for a dtype, and its notation for a shape; None if it has no such dtype.

    A size that is not a known constant is `_` unless it has a name; a shape of unknown rank is `...`.
    """
    dtype = tensor.dtype
    if dtype is not None and dtype not in NUMERIC and dtype != BOOL:
        return None
    name = "Shaped" if dtype is None else dtype.capitalize().replace("Bfloat", "BFloat").replace("Uint", "UInt")
    return name, "..." if tensor.shape is None else " ".join(map(_word, tensor.shape))


def _word(size: Dim) -> str:
    if isinstance(size, int):
        return str(size)
    text = format_dim(size) if isinstance(size, SymbolicDim) else ""
    return text if _NAME.fullmatch(text) and not iskeyword(text) else "_"


def annotated(
    source: Source, line: int, parameters: Mapping[str, TensorType], returns: TensorType | None, *, with_shapes: bool
) -> tuple[Edit, ...] | NotMade:
    """The edits that write the types of some parameters, and of the result, into the `def` of a line (from 1).
    `with_shapes`: in jaxtyping's notation.

    Raises SourceError if the source does not parse.
    """
    context = call_with_deep_stack(partial(file_context, source))
    site = context.sites.get(line)
    if site is None:
        return NotMade("its position was not found: the text has changed since the analysis")
    writer = _Writer(context, site, with_shapes)
    if isinstance(writer.tensorflow, Unreachable):
        return NotMade(writer.tensorflow.reason)
    edits: list[Edit] = []
    for parameter in _parameters(site.node):
        tensor = parameters.get(parameter.name.value)
        if tensor is not None and parameter.annotation is None:
            end = context.module.offsets(parameter.name)[1]
            edits.append(Edit(end, end, f": {writer.text(tensor)}"))
    if returns is not None and site.node.returns is None:
        behind = _end_of_parameters(context, site)
        if behind is not None:
            edits.append(Edit(behind, behind, f" -> {writer.text(returns)}"))
    if not edits:
        return NotMade("every known type is annotated already")
    try:
        together = check_edits((*edits, *add_imports(context.module, writer.imports())))
        source.encode(apply_edits(source.text, together))
    except (SourceError, ValueError) as error:
        return NotMade(f"the file could not be changed: {error}")
    return together


class _Writer:
    """The spelling of types at one definition, and the imports that they need."""

    def __init__(self, context: FileContext, site: DefinitionSite, with_shapes: bool) -> None:
        self._context = context
        self._site = site
        self._with_shapes = with_shapes
        self._needed: set[str] = set()
        self._from_jaxtyping: set[str] = set()
        self.tensorflow = reach_tensorflow(context.names, site)

    def text(self, tensor: TensorType) -> str:
        """One type."""
        assert not isinstance(self.tensorflow, Unreachable)
        if isinstance(self.tensorflow, Missing):
            self._needed.add(self.tensorflow.statement)
        array = f"{self.tensorflow.expression}.Tensor"
        written = written_type(tensor) if self._with_shapes else None
        if written is None:
            return array
        name, sizes = written
        reached = reach_member(self._context.names, self._site, JAXTYPING, name)
        if isinstance(reached, Missing):
            self._from_jaxtyping.add(reached.statement.removeprefix(f"from {JAXTYPING} import "))
        return f'{reached.expression}[{array}, "{sizes}"]'

    def imports(self) -> list[str]:
        """The statements that are missing: one for all names of one module."""
        names = ", ".join(sorted(self._from_jaxtyping))
        return [*sorted(self._needed), *([f"from {JAXTYPING} import {names}"] if names else [])]


def _parameters(node: cst.FunctionDef) -> list[cst.Param]:
    given = node.params
    return [*given.posonly_params, *given.params, *given.kwonly_params]


def _end_of_parameters(context: FileContext, site: DefinitionSite) -> int | None:
    """The offset after the parenthesis that closes the parameters."""
    start = context.module.offsets(site.node.name)[1]
    depth = 0
    lines = io.StringIO(context.module.text[start:], newline="").readline
    first = context.module.line(start)
    try:
        for token in tokenize.generate_tokens(lines):
            if token.type == tokenize.OP and token.string in "([{":
                depth += 1
            elif token.type == tokenize.OP and token.string in ")]}":
                depth -= 1
                if depth == 0 and token.string == ")":
                    line, column = token.end
                    begin = start if line == 1 else context.module.offset(first + line - 1, 1)
                    return begin + column
    except (tokenize.TokenError, SyntaxError):
        return None
    return None
