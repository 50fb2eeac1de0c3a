"""Replace `print` by `tf.print`.

    print("loss", loss.numpy())      ->    tf.print("loss", loss)
    print(f"step {i}: {loss:.3f}")   ->    tf.print("step ", i, ": ", loss, sep="")

Gives: the edits of one call. Fields of an f-string become separate arguments, since Python formats a string while the
graph is traced. `tf.print` writes to standard error and has no number formats, which are listed as assumptions.
Rejects `%` and `str.format`.
"""

from __future__ import annotations

from typing import Final

import libcst as cst

from terra_refactor.refactor.imports import Missing, Unreachable, reach_tensorflow
from terra_refactor.refactor.places import NodePlace
from terra_refactor.refactor.transforms.context import FileContext, Made, NotMade, Transformed
from terra_refactor.rules.rule import CureHint
from terra_refactor.syntax.edit import Edit

_STREAM: Final = "the output may go to standard error, where `tf.print` writes"
_FORMAT: Final = "number formats may be lost: `tf.print` has none"


def print_to_tf_print(context: FileContext, place: NodePlace, hint: CureHint) -> Transformed:
    """The edits that replace a call of `print` by one of `tf.print`."""
    call = place.node
    if not isinstance(call, cst.Call):
        return NotMade("it is not a plain call of `print`")
    reached = reach_tensorflow(context.names, place)
    if isinstance(reached, Unreachable):
        return NotMade(reached.reason)
    assumptions = [_STREAM]
    written: list[str] = []
    options: list[str] = []
    separate = False
    positional = [argument for argument in call.args if argument.keyword is None]
    for argument in positional:
        if argument.star == "**":
            return NotMade("its keyword arguments are unknown")
        value = argument.value
        if isinstance(value, cst.FormattedString | cst.ConcatenatedString):
            parts = _parts(context, value)
            if isinstance(parts, NotMade):
                return parts
            if len(positional) > 1 and len(parts) > 1:
                return NotMade("a formatted text is among other arguments of `print`")
            separate = len(parts) > 1
            written.extend(parts)
            if _has_formats(value):
                assumptions.append(_FORMAT)
        elif _formats(value):
            return NotMade("its text is formatted by `%` or `format`, while the graph is traced")
        else:
            written.append(argument.star + _without_numpy(context, value))
    for argument in call.args:
        if argument.keyword is None:
            continue
        text = context.module.source_of(argument.value)
        match argument.keyword.value:
            case "sep" if separate:
                pass
            case "sep" | "end":
                options.append(f"{argument.keyword.value}={text}")
            case "file" if text == "sys.stderr":
                assumptions.remove(_STREAM)
            case "file" if text == "sys.stdout":
                options.append(f"output_stream={text}")
                assumptions.remove(_STREAM)
            case "flush":
                pass
            case other:
                return NotMade(f"`tf.print` has no counterpart of `{other}={text}`")
    if separate:
        options.append('sep=""')
    start, end = context.module.offsets(call)
    replacement = f"{reached.expression}.print({', '.join([*written, *options])})"
    imports = (reached.statement,) if isinstance(reached, Missing) else ()
    return Made((Edit(start, end, replacement),), imports, tuple(assumptions))


def _parts(context: FileContext, value: cst.BaseExpression) -> list[str] | NotMade:
    """The strings and values of a literal, an f-string, or several adjacent ones, as source texts."""
    match value:
        case cst.SimpleString():
            return [context.module.source_of(value)]
        case cst.ConcatenatedString(left=left, right=right):
            first, second = _parts(context, left), _parts(context, right)
            if isinstance(first, NotMade) or isinstance(second, NotMade):
                return first if isinstance(first, NotMade) else second
            return [*first, *second]
        case cst.FormattedString(start=start, parts=parts):
            if "r" in start.lower() or len(start.lstrip("fFrR")) == 3:
                return NotMade("its text is a raw or triple-quoted string")
            quote = start[-1]
            found: list[str] = []
            for part in parts:
                if isinstance(part, cst.FormattedStringText):
                    found.append(quote + part.value.replace("{{", "{").replace("}}", "}") + quote)
                elif isinstance(part, cst.FormattedStringExpression):
                    if part.conversion is not None or part.equal is not None:
                        return NotMade("a field of its text has a conversion or `=`")
                    found.append(_without_numpy(context, part.expression))
            return found
        case _:
            return NotMade("its format string is not supported")


def _has_formats(value: cst.BaseExpression) -> bool:
    match value:
        case cst.ConcatenatedString(left=left, right=right):
            return _has_formats(left) or _has_formats(right)
        case cst.FormattedString(parts=parts):
            return any(isinstance(part, cst.FormattedStringExpression) and part.format_spec for part in parts)
        case _:
            return False


def _formats(value: cst.BaseExpression) -> bool:
    """Whether it is `"..." % x`, `"...".format(x)`, `str(x)`, or a concatenated string."""
    match value:
        case cst.BinaryOperation(left=left, operator=cst.Modulo() | cst.Add(), right=right):
            return any(_is_text(side) or _formats(side) for side in (left, right))
        case cst.Call(func=cst.Attribute(value=receiver, attr=cst.Name("format" | "join"))):
            return _is_text(receiver)
        case cst.Call(func=cst.Name("str" | "repr" | "format")):
            return True
        case _:
            return False


def _is_text(value: cst.BaseExpression) -> bool:
    return isinstance(value, cst.SimpleString | cst.FormattedString | cst.ConcatenatedString)


def _without_numpy(context: FileContext, value: cst.BaseExpression) -> str:
    """The source of a value; if its `.numpy()` is printed, which does not work in a graph, that of the tensor."""
    match value:
        case cst.Call(func=cst.Attribute(value=tensor, attr=cst.Name("numpy")), args=[]):
            return context.module.source_of(tensor) if not tensor.lpar else f"({context.module.source_of(tensor)})"
        case _:
            text = context.module.source_of(value)
            return f"({text})" if value.lpar else text
