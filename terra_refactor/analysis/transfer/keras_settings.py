"""Keras's global settings: the dtype policy, the default float type, epsilon, the image data format.

Computes: reads and writes of one object that holds them, so that they are shared state like any other. Needs: the
heap. Gives: `KERAS_SETTINGS`, by canonical name. Ignores: reads by the constructors of layers, which run once in a
trace, too.
"""

from __future__ import annotations

from typing import Final

from terra_refactor.analysis.effects import write_effect
from terra_refactor.analysis.engine import Site
from terra_refactor.analysis.frames import CallArguments
from terra_refactor.analysis.transfer.container_methods import BuiltinHandler
from terra_refactor.domain.dtype import FLOAT32
from terra_refactor.domain.state import EXISTS
from terra_refactor.domain.value import TRUE, UNKNOWN, Constant, ObjectId, Value
from terra_refactor.tf_model.class_names import SETTINGS_OF_KERAS

_NAMES: Final = ("dtype_policy", "epsilon", "floatx", "image_data_format")


def _settings(site: Site) -> ObjectId:
    number = site.engine.objects.setting(SETTINGS_OF_KERAS)
    if site.frame.state.get((number, EXISTS)) is None:
        site.frame.state.set((number, EXISTS), TRUE)
    return number


def _reads(name: str) -> BuiltinHandler:
    def handler(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
        site.frame.note_read(site.op, (_settings(site), name))
        if name == "floatx" and site.engine.floats == FLOAT32:
            return Constant(str(FLOAT32))  # no code of the program sets it
        return None

    return handler


def _sets(name: str) -> BuiltinHandler:
    def handler(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
        number = _settings(site)
        site.frame.state.set((number, name), UNKNOWN)
        write_effect(site, number, f".{name}", site.written(site.op))
        return None

    return handler


KERAS_SETTINGS: Final[dict[str, BuiltinHandler]] = {
    **{f"{SETTINGS_OF_KERAS}.{name}": _reads(name) for name in _NAMES},
    **{f"{SETTINGS_OF_KERAS}.set_{name}": _sets(name) for name in _NAMES},
}
