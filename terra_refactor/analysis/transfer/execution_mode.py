"""Tests and settings of eager execution in the program's code.

Computes: the results of such tests in traced code, where TensorFlow builds a graph; and the setting of
`tf.config.run_functions_eagerly`. Needs: the context. Gives: `EXECUTION_MODE`, by canonical name. Ignores: functions
that mention `tf.init_scope`, which leaves the graph. In eager code the result is unknown, because a decorator may
trace it.
"""

from __future__ import annotations

from typing import Final

from terra_refactor.analysis.engine import Site
from terra_refactor.analysis.frames import CallArguments
from terra_refactor.analysis.transfer.container_methods import BuiltinHandler
from terra_refactor.domain.value import FALSE, NONE, TRUE, UNKNOWN, Value
from terra_refactor.tf_model.interpreted import Interpreted, by_name


def _in_graph(answer: Value) -> BuiltinHandler:
    def handler(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
        frame = site.frame
        leaves = "init_scope" in site.engine.names.of(frame.function).mentioned
        return answer if frame.in_graph and not leaves else None

    return handler


def _set(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`tf.config.run_functions_eagerly(value)`."""
    keywords = [value for _, value in arguments.keywords]
    site.engine.set_functions_run_eagerly(site.frame.state, next(iter([*arguments.positional, *keywords]), UNKNOWN))
    return NONE


EXECUTION_MODE: Final = by_name(
    {
        Interpreted.RUN_EAGERLY: _set,
        Interpreted.IS_EAGER: _in_graph(FALSE),
        Interpreted.IS_IN_GRAPH: _in_graph(TRUE),
    }
)
