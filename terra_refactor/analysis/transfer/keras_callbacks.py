"""The callbacks that `model.fit` and similar methods call around their steps.

Computes: the calls of the hooks of the program's own callbacks, with the trained model. Needs: class lookup. Gives:
`callbacks_of`, `run_hooks`. Ignores: `LambdaCallback`, the hooks of the validation in `fit`, and the contents of
`logs`.

Source: `keras.callbacks.Callback` and `keras.callbacks.CallbackList.set_model`, Keras 3.
"""

from __future__ import annotations

from typing import Final

from terra_refactor.analysis.engine import Site
from terra_refactor.analysis.facts import ObjectKind
from terra_refactor.analysis.frames import CallArguments
from terra_refactor.analysis.transfer.allocation import thaw
from terra_refactor.analysis.transfer.iteration import iterate
from terra_refactor.analysis.transfer.keras_protocol import own_method
from terra_refactor.domain.value import NOT_A_TENSOR, UNKNOWN_INT, FrozenDict, Reference, TupleValue, Value, members

_PHASES: Final = {"fit": "train", "evaluate": "test", "predict": "predict"}
_POSITIONS: Final = {"fit": 5, "evaluate": 5, "predict": 3}
"""The position of `callbacks` among the arguments."""


def callbacks_of(site: Site, method: str, arguments: CallArguments, model: Value) -> tuple[Reference, ...]:
    """The callbacks passed to the method; each gets the model as its attribute."""
    position = _POSITIONS.get(method)
    given = dict(arguments.keywords).get("callbacks")
    if given is None and position is not None and position < len(arguments.positional):
        given = arguments.positional[position]
    if given is None or position is None:
        return ()
    listed: list[Value] = []
    for member in members(given):
        is_list = isinstance(member, Reference) and site.engine.objects.facts[member.object].kind is ObjectKind.LIST
        if is_list or isinstance(member, TupleValue):
            found = iterate(site, member)
            listed += found.elements if found.elements is not None else (found.element,)
        else:
            listed.append(member)
    callbacks = tuple(dict.fromkeys(each for value in listed for each in members(value) if isinstance(each, Reference)))
    for callback in callbacks:
        site.engine.write(site.frame, (callback.object, "model"), model)
    return callbacks


def run_hooks(site: Site, method: str, callbacks: tuple[Reference, ...], moment: str) -> None:
    """Calls the hooks of the callbacks for the moment `begin` or `end`."""
    phase = _PHASES.get(method)
    for callback in callbacks:
        for hook, is_counted in (
            (f"on_{phase}_{moment}", False),
            (f"on_epoch_{moment}", True),
            (f"on_{phase}_batch_{moment}", True),
            (f"on_batch_{moment}", True),
        ):
            found = None if "epoch" in hook and phase != "train" else own_method(site, callback, hook)
            if found is not None:
                logs = thaw(site, FrozenDict((), NOT_A_TENSOR), ("logs", hook))
                site.call(found, CallArguments((UNKNOWN_INT, logs) if is_counted else (logs,)))
                if is_counted:
                    _call_again(site, found, logs)


_ROUNDS: Final = 2
"""Maximum number of further runs of a hook: afterwards, a list that it fills has no known length, and the hook has seen
such a list.
"""


def _call_again(site: Site, hook: Value, logs: Value) -> None:
    """Runs a hook again, since the lists to which it appends may be longer."""
    frame = site.frame
    outer = frame.state
    for _ in range(_ROUNDS):
        again = outer.fork()
        frame.state = again
        try:
            site.call(hook, CallArguments((UNKNOWN_INT, logs)))
        finally:
            frame.state = outer
        outer.merge([outer.fork(), again])
