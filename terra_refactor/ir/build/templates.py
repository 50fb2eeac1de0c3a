"""Template strings (`t"..."`) and implicit concatenation: a template string is lowered to the equivalent call.

Computes: nothing beyond the lowering: `string.templatelib.Template(text, Interpolation(value, expression, conversion, spec), ...)`.
Source: PEP 750.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from terra_refactor.ir.build.builder import FunctionBuilder
from terra_refactor.ir.build.literals import format_text, lower_strings, merged_parts, string_leaves
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.ops import Argument, Call, FormatField, FormatString, ImportFrom


def lower_templated_string(b: FunctionBuilder, node: cst.TemplatedString) -> OpId:
    return _lower_templates(b, node, [node])


def lower_concatenated_string(b: FunctionBuilder, node: cst.ConcatenatedString) -> OpId:
    leaves = string_leaves(node)
    templates = [leaf for leaf in leaves if isinstance(leaf, cst.TemplatedString)]
    if templates:
        return _lower_templates(b, node, templates)
    return lower_strings(b, node, leaves)


def _lower_templates(b: FunctionBuilder, node: cst.BaseExpression, leaves: Sequence[cst.TemplatedString]) -> OpId:
    """Lowers adjacent template strings as one."""
    maker = _from_templatelib(b, node, "Template")
    arguments = []
    for leaf in leaves:
        for part in leaf.parts:
            if isinstance(part, cst.TemplatedStringText):
                arguments.append(Argument(b.literal(part, format_text(part.value, "r" in leaf.prefix.lower()))))
                continue
            assert isinstance(part, cst.TemplatedStringExpression)
            if part.equal is not None:
                text = b.module.text_of(part.expression) + b.module.text_of(part.equal)
                arguments.append(Argument(b.literal(part, text)))
            arguments.append(Argument(_lower_interpolation(b, part)))
    made = b.new_id(node)
    b.ops.append(Call(made, maker, tuple(arguments)))
    return made


def _lower_interpolation(b: FunctionBuilder, part: cst.TemplatedStringExpression) -> OpId:
    maker = _from_templatelib(b, part, "Interpolation")
    value = b.value(part.expression)
    text = b.literal(part, b.module.text_of(part.expression))
    conversion = part.conversion
    if conversion is None and part.equal is not None and part.format_spec is None:
        conversion = "r"
    kind = b.literal(part, conversion)
    spec = _lower_spec(b, part)
    made = b.new_id(part)
    b.ops.append(Call(made, maker, (Argument(value), Argument(text), Argument(kind), Argument(spec))))
    return made


def _lower_spec(b: FunctionBuilder, part: cst.TemplatedStringExpression) -> OpId:
    parts: list[str | FormatField] = []
    for content in part.format_spec or ():
        if isinstance(content, cst.TemplatedStringText):
            parts.append(format_text(content.value, False))
        else:
            assert isinstance(content, cst.TemplatedStringExpression)
            parts.append(FormatField(b.value(content.expression), content.conversion))
    merged = merged_parts(parts)
    if not any(isinstance(piece, FormatField) for piece in merged):
        return b.literal(part, "".join(piece for piece in merged if isinstance(piece, str)))
    op_id = b.new_id(part)
    b.ops.append(FormatString(op_id, merged))
    return op_id


def _from_templatelib(b: FunctionBuilder, node: cst.CSTNode, name: str) -> OpId:
    op_id = b.new_id(node)
    b.ops.append(ImportFrom(op_id, "string.templatelib", 0, name))
    return op_id
