"""`strategy.run(step, args=(batch,))`: each replica calls the function with its part of the arguments.

Computes: what the function does with them; with several replicas each has its own part, of the same types. Needs: calls. Gives: `REPLICAS`,
by canonical name. Ignores: functions whose arguments are not known one by one.
"""

from __future__ import annotations

from typing import Final

from terra_refactor.analysis.engine import Site
from terra_refactor.analysis.frames import CallArguments
from terra_refactor.analysis.freezing import freeze
from terra_refactor.analysis.transfer.container_methods import BuiltinHandler, argument
from terra_refactor.analysis.transfer.iteration import iterate
from terra_refactor.domain.value import NONE, FrozenDict, TupleValue, UnknownValue, Value

_STRATEGIES: Final = (
    *(
        "Strategy",
        "MirroredStrategy",
        "OneDeviceStrategy",
        "MultiWorkerMirroredStrategy",
        "ParameterServerStrategy",
        "TPUStrategy",
    ),
    *("experimental.CentralStorageStrategy", "experimental.MultiWorkerMirroredStrategy"),
    *("experimental.ParameterServerStrategy", "experimental.TPUStrategy"),
)


def _run(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    function = argument(arguments, 0, "fn")
    if function is None or arguments.open_positional is not None or arguments.open_keywords is not None:
        return None
    given = argument(arguments, 1, "args") or TupleValue(())
    named = freeze(site.frame, argument(arguments, 2, "kwargs") or NONE)
    parts = iterate(site, given).elements
    if parts is None or not (named == NONE or isinstance(named, FrozenDict)):
        return None
    keywords = tuple(named.items) if isinstance(named, FrozenDict) else ()
    if any(not isinstance(name, str) for name, _ in keywords):
        return None
    site.call(function, CallArguments(tuple(parts), tuple((str(name), value) for name, value in keywords)))
    # with several replicas it holds a result of each
    return UnknownValue(may_be_tensor=True)


REPLICAS: Final[dict[str, BuiltinHandler]] = {
    f"tensorflow.distribute.{name}.{method}": _run for name in _STRATEGIES for method in ("run", "experimental_run_v2")
}
