"""TR331: a file that is read in a graph, and written in it or between its calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.analysis.facts import ContextId
from terra_refactor.domain.value import Constant
from terra_refactor.facts.records import Call, NameRead
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.function import FunctionKind
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.tf_model.registry import has_trait
from terra_refactor.tf_model.spec import Trait


def check(view: ContextView) -> Iterator[LocalHazard]:
    if view.function.kind is FunctionKind.MODULE or not view.facts.leads_to(view.context.id, Trait.READS_FILE):
        return
    reached = {op: _reached(view, fact.library, fact.callees) for op, fact in view.calls.items()}
    writes = [op for op, traits in reached.items() if Trait.WRITES_FILE in traits]
    for read, traits in sorted(reached.items()):
        if Trait.READS_FILE not in traits:
            continue
        for write in writes:
            same = _is_same_file(view, read, write)
            if same is not False and (read != write or not view.calls[read].library):
                what = f"`{view.written(read)}` reads a file, and `{view.written(write)}` writes one"
                assumption = (
                    None if same else f"`{view.written(read)}` reads no file that `{view.written(write)}` writes"
                )
                yield LocalHazard(read, f"{what}: a graph keeps no order between the two", assumption)
                break
        else:
            path = _path(view, read)
            if path is not None and isinstance(view.value(path), Constant) and _writes_files(view):
                message = f"`{view.written(read)}` has a constant file name: each graph reads it once, and the program writes files"
                yield LocalHazard(read, message, f"`{view.written(path)}` does not change between calls")


def _reached(view: ContextView, library: tuple[str, ...], callees: tuple[ContextId, ...]) -> frozenset[Trait]:
    """The file operations that a call leads to."""
    return frozenset(
        trait
        for trait in (Trait.READS_FILE, Trait.WRITES_FILE)
        if any(has_trait(name, trait) for name in library)
        or any(view.facts.leads_to(callee, trait) for callee in callees)
    )


def _path(view: ContextView, number: OpId) -> OpId | None:
    call, fact = view.made(number), view.calls[number]
    if not isinstance(call, Call) or len(fact.library) != 1 or fact.callees:
        return None
    return view.library_argument(call, fact.library[0], "filename", "pattern")


def _is_same_file(view: ContextView, read: OpId, write: OpId) -> bool | None:
    one, other = _path(view, read), _path(view, write)
    if one is None or other is None:
        return None
    first, second = view.value(one), view.value(other)
    if isinstance(first, Constant) and isinstance(second, Constant):
        return first == second
    sources = view.origin(one), view.origin(other)
    if sources[0] is sources[1]:
        return True
    names = [source.name for source in sources if isinstance(source, NameRead)]
    return True if len(names) == 2 and names[0] == names[1] and not view.code.writes.get(names[0]) else None


def _writes_files(view: ContextView) -> bool:
    """Whether anything in the program writes files through TensorFlow."""
    return view.facts.is_called(Trait.WRITES_FILE)


RULE: Final = Rule(
    id="TR331",
    name="unordered-file-read",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="`tf.io.read_file` in a graph is not ordered after `tf.io.write_file`, and a file with a constant name is read once.",
    explanation=(
        "`tf.io.read_file` and `tf.io.matching_files` are treated by TensorFlow as pure functions of their argument: a graph does not "
        "order them after operations that write files, and evaluates a call with a constant argument only once. Eager code reads the "
        "current content; the graph raises `NotFoundError`, or keeps the content of its first call."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


@tf.function
def through_file(x):
    tf.io.write_file("number.txt", tf.strings.as_string(x))
    return tf.io.read_file("number.txt")  # TR331


try:
    result = through_file(tf.constant(1))
except tf.errors.NotFoundError:
    result = "not found"
""",
        good="""\
import tensorflow as tf


@tf.function
def through_file(x):
    text = tf.strings.as_string(x)
    tf.io.write_file("number.txt", text)
    return text


result = through_file(tf.constant(1))
""",
        near_miss="""\
import tensorflow as tf

tf.io.write_file("number.txt", "3")


@tf.function
def content(name):
    return tf.io.read_file(name)


result = content(tf.constant("number.txt"))
""",
    ),
    cure="Read the file outside of the graph, or pass on the written value.",
    check=check,
    silent=True,
)
