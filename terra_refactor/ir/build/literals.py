"""Numbers, strings and f-strings.

Computes: the value of a literal as Python reads it. Needs: the literal's text. An invalid escape stays as it is: Python does the same
with a warning, or refuses the file.
Source: language reference, 2.4 "Literals"; PEP 498 and 701 (f-strings).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import libcst as cst

from terra_refactor.errors import SourceError
from terra_refactor.ir.build.builder import FunctionBuilder
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.ops import FormatField, FormatString

if TYPE_CHECKING:
    from typing import TypeAlias

    StringNode: TypeAlias = cst.SimpleString | cst.FormattedString | cst.TemplatedString

# A backslash with the characters that it may escape. An unknown escape keeps its backslash.
_STR_ESCAPE = re.compile(
    r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|N\{([^}]*)\}|(.))", re.DOTALL
)
_BYTES_ESCAPE = re.compile(rb"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_PLAIN_ESCAPES: Mapping[str, str] = {
    "\n": "",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
}


# --- numbers ----------------------------------------------------------------------------------------------------------------------


def lower_integer(b: FunctionBuilder, node: cst.Integer) -> OpId:
    try:
        value = int(node.value, 0)
    except ValueError as error:
        # Python refuses to convert decimal literals of thousands of digits.
        raise SourceError(b.module.path, "integer literal too long", b.span_of(node).line) from error
    return b.literal(node, value)


def lower_float(b: FunctionBuilder, node: cst.Float) -> OpId:
    return b.literal(node, float(node.value))


def lower_imaginary(b: FunctionBuilder, node: cst.Imaginary) -> OpId:
    return b.literal(node, complex(0.0, float(node.value[:-1])))


def lower_ellipsis(b: FunctionBuilder, node: cst.Ellipsis) -> OpId:
    return b.literal(node, ...)


# --- strings ----------------------------------------------------------------------------------------------------------------------


def string_value(text: str) -> str | bytes:
    """The value of one string literal without fields, given with its prefix and quotes."""
    quote = text[-1]
    start = text.index(quote)
    prefix = text[:start].lower()
    width = 3 if text[start : start + 3] == quote * 3 and len(text) - start >= 6 else 1
    body = text[start + width : -width]
    if "\r" in body:
        body = body.replace("\r\n", "\n").replace("\r", "\n")
    has_escapes = "\\" in body and "r" not in prefix
    if "b" in prefix:
        encoded = body.encode("utf-8", "surrogatepass")
        return _unescape_bytes(encoded) if has_escapes else encoded
    return _unescape(body) if has_escapes else body


def _unescape(body: str) -> str:
    return _STR_ESCAPE.sub(_escaped_text, body)


def _escaped_text(match: re.Match[str]) -> str:
    octal, two, four, eight, name, plain = match.groups()
    if plain is not None:
        return _PLAIN_ESCAPES.get(plain, "\\" + plain)
    if octal is not None:
        return chr(int(octal, 8))
    try:
        return unicodedata.lookup(name) if name is not None else chr(int(two or four or eight, 16))
    except (KeyError, ValueError, OverflowError):
        # Python rejects such a file, or knows more Unicode names than the Python that runs this tool.
        return match[0]


def _unescape_bytes(body: bytes) -> bytes:
    return _BYTES_ESCAPE.sub(_escaped_bytes, body)


def _escaped_bytes(match: re.Match[bytes]) -> bytes:
    octal, two, plain = match.groups()
    if plain is not None:
        text = plain.decode("latin-1")
        return _PLAIN_ESCAPES.get(text, "\\" + text).encode("latin-1")
    if octal is not None:
        # Python keeps the low eight bits of an octal escape.
        return bytes([int(octal, 8) & 0xFF])
    return bytes([int(two, 16)])


def lower_simple_string(b: FunctionBuilder, node: cst.SimpleString) -> OpId:
    return b.literal(node, string_value(node.value))


def is_plain_text(node: cst.BaseExpression) -> bool:
    """Whether an expression is a string or bytes literal in which nothing is evaluated."""
    leaves = string_leaves(node) if isinstance(node, cst.ConcatenatedString) else [node]
    return all(isinstance(leaf, cst.SimpleString) for leaf in leaves)


def docstring_of(body: cst.BaseSuite | cst.Module) -> str | None:
    """The docstring of a body, as written (not dedented); None if it does not start with a plain string."""
    if not body.body:
        return None
    first: cst.CSTNode = body.body[0]
    if isinstance(first, cst.SimpleStatementLine):
        first = first.body[0]
    if not isinstance(first, cst.Expr):
        return None
    if isinstance(first.value, cst.SimpleString):
        value = string_value(first.value.value)
        return value if isinstance(value, str) else None
    if isinstance(first.value, cst.ConcatenatedString):
        leaves = string_leaves(first.value)
        if all(isinstance(leaf, cst.SimpleString) for leaf in leaves):
            values = [string_value(leaf.value) for leaf in leaves if isinstance(leaf, cst.SimpleString)]
            return "".join(values) if not isinstance(values[0], bytes) else None  # type: ignore[arg-type]
    return None


def string_leaves(node: cst.ConcatenatedString) -> list[StringNode]:
    """The literals of an implicit concatenation, from left to right."""
    leaves: list[StringNode] = [node.left]
    right = node.right
    while isinstance(right, cst.ConcatenatedString):
        leaves.append(right.left)
        right = right.right
    leaves.append(right)
    return leaves


# --- f-strings --------------------------------------------------------------------------------------------------------------------


def lower_formatted_string(b: FunctionBuilder, node: cst.FormattedString) -> OpId:
    return lower_strings(b, node, [node])


def lower_strings(b: FunctionBuilder, node: cst.BaseExpression, leaves: Sequence[StringNode]) -> OpId:
    """Lowers adjacent plain strings and f-strings as one string."""
    parts: list[str | FormatField] = []
    encoded: list[bytes] = []
    is_formatted = False
    for leaf in leaves:
        if isinstance(leaf, cst.SimpleString):
            value = string_value(leaf.value)
            if isinstance(value, bytes):
                encoded.append(value)
            else:
                parts.append(value)
        else:
            assert isinstance(leaf, cst.FormattedString)
            is_formatted = True
            parts.extend(_fields(b, leaf.parts, "r" in leaf.prefix.lower()))
    if encoded:
        return b.literal(node, b"".join(encoded))
    merged = merged_parts(parts)
    if not is_formatted:
        return b.literal(node, "".join(part for part in merged if isinstance(part, str)))
    op_id = b.new_id(node)
    b.ops.append(FormatString(op_id, merged))
    return op_id


def _fields(
    b: FunctionBuilder, contents: Sequence[cst.BaseFormattedStringContent], is_raw: bool
) -> list[str | FormatField]:
    parts: list[str | FormatField] = []
    for content in contents:
        if isinstance(content, cst.FormattedStringText):
            parts.append(format_text(content.value, is_raw))
            continue
        assert isinstance(content, cst.FormattedStringExpression)
        if content.equal is not None:
            parts.append(_self_documenting_text(b, content))
        parts.append(_field(b, content, is_raw))
    return parts


def format_text(text: str, is_raw: bool) -> str:
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "{{" in text or "}}" in text:
        # In `\N{DASH}` the braces are the escape's own; they are never doubled.
        text = text.replace("{{", "{").replace("}}", "}")
    return text if is_raw or "\\" not in text else _unescape(text)


def _self_documenting_text(b: FunctionBuilder, content: cst.FormattedStringExpression) -> str:
    before = b.module.text_of(content.whitespace_before_expression)
    after = b.module.text_of(content.equal) if content.equal is not None else ""
    return before + b.module.text_of(content.expression) + after


def _field(b: FunctionBuilder, content: cst.FormattedStringExpression, is_raw: bool) -> FormatField:
    value = b.value(content.expression)
    conversion = content.conversion
    spec = _lower_spec(b, content, is_raw)
    if conversion is None and spec is None and content.equal is not None:
        conversion = "r"
    return FormatField(value, conversion, spec)


def _lower_spec(b: FunctionBuilder, content: cst.FormattedStringExpression, is_raw: bool) -> OpId | None:
    if content.format_spec is None:
        return None
    parts = merged_parts(_fields(b, content.format_spec, is_raw))
    if all(isinstance(part, str) for part in parts):
        return b.literal(content, "".join(part for part in parts if isinstance(part, str)))
    op_id = b.new_id(content)
    b.ops.append(FormatString(op_id, parts))
    return op_id


def merged_parts(parts: Sequence[str | FormatField]) -> tuple[str | FormatField, ...]:
    """Joins texts that follow each other and drops empty ones."""
    merged: list[str | FormatField] = []
    for part in parts:
        if part == "":
            continue
        if isinstance(part, str) and merged and isinstance(merged[-1], str):
            merged[-1] += part
        else:
            merged.append(part)
    return tuple(merged)
