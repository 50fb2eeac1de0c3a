"""State of Keras layers that is no variable, changed between calls (part of TR106).

Computes: reads of `trainable_variables` and calls of batch normalisation, if code sets `trainable` between the calls; calls of layers that
are adapted again between the calls. Needs: facts. Gives: `layer_state`. Ignores: layers that are added to a model or taken out of it.

Source: Keras decides by `trainable` while a graph is traced; `adapt` and `set_vocabulary` give a layer a new table, or new constants.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.analysis.facts import ContextFacts, EntryKind
from terra_refactor.domain.value import FALSE, Reference, Value
from terra_refactor.facts.records import AttributeRead, AttributeWrite, Call
from terra_refactor.facts.view import ContextView, is_tensorflow_tensor
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.between_calls import is_set_between_calls
from terra_refactor.rules.rule import LocalHazard
from terra_refactor.tf_model.graph_traits import called_layer
from terra_refactor.tf_model.registry import has_trait
from terra_refactor.tf_model.spec import Trait

_LISTS: Final = frozenset({"trainable_variables", "trainable_weights"})
SET_UP_METHODS: Final = frozenset({"__init__", "build"})
"""Methods that set up an object."""
_OF_FIT: Final = frozenset({"train_step", "test_step"})
"""Methods whose graph Keras rebuilds when a model is compiled, as is required after setting `trainable`."""
_ADAPTING: Final = ("adapt", "set_vocabulary")


def layer_state(view: ContextView) -> Iterator[LocalHazard]:
    """The reads of such state, and the calls of layers that have it."""
    yield from _lists_of_variables(view)
    yield from _adapted_layers(view)


def _adapted_layers(view: ContextView) -> Iterator[LocalHazard]:
    """Calls of preprocessing layers that are adapted again."""
    calls = dict.fromkeys(call.op for call, _ in view.calls_with(Trait.KEEPS_ADAPTED))
    if not calls:
        return
    functions = dict.fromkeys(each for name in _ADAPTING for each in view.codes.naming(name))
    setting = [
        context.id
        for function in functions
        for context in view.facts.contexts_of(function)
        if any(_adaptations(view, context))
    ]
    if not is_set_between_calls(view, setting, lambda context: _adaptations(view, context), to_new=True):
        return
    for number in calls:
        written = view.written(number)
        yield LocalHazard(
            number,
            f"a graph keeps what `{written}` knew when it was traced; a layer is adapted between calls",
            f"the layer of `{written}` is not adapted between calls",
        )


def _adaptations(view: ContextView, context: ContextFacts) -> Iterator[tuple[str, OpId]]:
    """The calls that adapt a layer which this call of the function has not made, each with the layer as written."""
    inner = view.of(context.id)
    for call, _ in inner.calls_with(Trait.ADAPTS):
        if call.owner is not None and not inner.all_of(call.owner, lambda value: _is_made_in(inner, value)):
            yield inner.written(call.owner), call.op


def _lists_of_variables(view: ContextView) -> Iterator[LocalHazard]:
    """Reads of state that depends on frozen layers, if code freezes or unfreezes layers between calls (Keras state, not
    an effect).
    """
    reads = [read.op for read in view.reached(AttributeRead) if read.name in _LISTS]
    reads += [call.op for call in view.reached(Call) if _asks_whether_frozen(view, call)]
    if not reads or (view.function.name in _OF_FIT and not _is_called_by_program(view)):
        return
    setting = [
        context.id
        for function in view.codes.writers_of("trainable")
        for context in view.facts.contexts_of(function)
        if _freezes(view, context)
    ]
    written_on = view.codes.of

    def places(context: ContextFacts) -> Iterator[tuple[str, OpId]]:
        return ((written_on(context.function).written(write.owner), write.op) for write in _layers_set(view, context))

    if not is_set_between_calls(view, setting, places):
        return
    for read in reads:
        written = view.written(read)
        if isinstance(view.made(read), Call):
            normalising = f"the batch normalisation in `{written}`"
            message = (
                f"a graph keeps whether {normalising} was frozen when it was traced; `trainable` is set between calls"
            )
            yield LocalHazard(read, message, f"{normalising} is not frozen or thawed between calls")
            continue
        message = f"a graph keeps the value that `{written}` had when it was traced; `trainable` is set between calls"
        yield LocalHazard(read, message, f"`{written}` does not change between calls")


def _is_called_by_program(view: ContextView) -> bool:
    """Whether eager code of the program calls the function itself, not only Keras."""
    contexts = view.facts.contexts
    return any(
        call.op == caller.op and not call.library and not contexts[caller.context].in_graph
        for caller in view.function_facts.callers
        for call in contexts[caller.context].calls
    )


def _asks_whether_frozen(view: ContextView, call: Call) -> bool:
    """Whether a call of a layer or model computes differently if layers are frozen: batch normalisation in training does."""
    training, fact = call.keyword("training"), view.calls.get(call.op)
    if training is None or fact is None or view.all_of(training, lambda value: value == FALSE):
        return False
    # for a model with known layers, the layers decide
    layers = [name for name in fact.library if called_layer(name)]
    return any(has_trait(name, Trait.NORMALISES_BY_BATCH) for name in layers or fact.library)


def _layers_set(view: ContextView, context: ContextFacts) -> Iterator[AttributeWrite]:
    """The assignments to `trainable` of an object that may be a layer, and that this call of the function has not made."""
    inner = view.of(context.id)
    for write in inner.code.of_kind(AttributeWrite):
        if (
            write.name == "trainable"
            and not inner.all_of(write.owner, is_tensorflow_tensor)
            and not inner.all_of(write.owner, lambda value: _is_made_in(inner, value))
        ):
            yield write


def _is_made_in(view: ContextView, value: Value) -> bool:
    """Whether a call of the function, not of a module body, makes the object."""
    is_module = view.context.entry is EntryKind.MODULE
    return (
        not is_module and isinstance(value, Reference) and view.facts.objects[value.object].function == view.function.id
    )


def _freezes(view: ContextView, context: ContextFacts) -> bool:
    """Whether a function sets some `trainable` on an object that it has not created."""
    return view.codes.of(context.function).function.name not in SET_UP_METHODS and any(_layers_set(view, context))
