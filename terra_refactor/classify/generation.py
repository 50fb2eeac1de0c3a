"""Which generation of TensorFlow a module is written for, by the names that it uses.

Computes: the modules that build graphs and run them in sessions. Needs: facts. Gives: `tensorflow_1_modules`. What a name means is the same
for both generations as far as it goes (`tf_model.aliases` knows the old ones); what differs is `==` of tensors, which is identity in graphs
of TensorFlow 1. Ignores: single names of `tf.compat.v1` that programs of TensorFlow 2 keep using, such as `tf.compat.v1.where`.
"""

from __future__ import annotations

from typing import Final

from terra_refactor.analysis.facts import ProgramFacts

_OF_GRAPHS: Final = frozenset(
    f"tensorflow.compat.v1.{name}"
    for name in (
        "InteractiveSession",
        "Session",
        "disable_eager_execution",
        "disable_v2_behavior",
        "get_variable",
        "global_variables_initializer",
        "placeholder",
        "placeholder_with_default",
        "variable_scope",
    )
)
_BELOW: Final = ("tensorflow.compat.v1.layers.", "tensorflow.contrib.")


def tensorflow_1_modules(facts: ProgramFacts) -> frozenset[str]:
    """The names of the modules that call what only graphs of TensorFlow 1 need."""
    return frozenset(
        context.function.module
        for context in facts.contexts
        for call in context.calls
        if any(name in _OF_GRAPHS or name.startswith(_BELOW) for name in call.library)
    )
