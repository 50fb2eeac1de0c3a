"""API functions of TensorFlow and Keras that the program replaces, so that library code no longer calls the hooked
ones.

Computes: which are replaced at present. Needs: the modules, and the names that are hooked in them. Gives: `watch`,
`unwatch`, `any_replaced`. Ignores: replacements before the hooks were first installed; new names.

Keras layers look up functions in these modules at each call, and a layer is one node: the program's function would
run only when a path is recorded, and another one would be compiled. So calls are eager as long as a function is
replaced.
"""

from __future__ import annotations

import importlib
import types
from collections.abc import Iterable
from typing import Any, Final

from terra_refactor.runtime import state
from terra_refactor.runtime.state import thread

REASON: Final = "a function of TensorFlow's API is replaced by one of the program"
_hooked: set[tuple[str, str]] = set()
_replaced: set[tuple[str, str]] = set()


class _Watched(types.ModuleType):
    """The type of a module in which functions are hooked."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, _about_to_set(self, name, value))

    def __delattr__(self, name: str) -> None:
        _about_to_set(self, name, None)
        super().__delattr__(name)

    def __reduce__(self) -> Any:  # pickled by its name, like other modules
        return importlib.import_module, (self.__name__,)


def _about_to_set(module: types.ModuleType, name: str, value: Any) -> Any:
    """Records that the program sets an attribute of the module. Returns the value to set."""
    place = (module.__name__, name)
    before = vars(module).get(name)
    if place not in _hooked or value is before:
        return value
    original = getattr(value, "__coexec_original__", None)
    if original is not None or value is _originals.get(place):
        _replaced.discard(place)
        return value if original is None or state.hooks.installed else original
    _originals.setdefault(place, getattr(before, "__coexec_original__", before))
    run = thread.run
    if run is not None and not run.depth and run.tld.is_eager:
        run.bail_out(REASON)  # pending calls were made before
    _replaced.add(place)
    return value


_originals: dict[tuple[str, str], Any] = {}


def any_replaced() -> bool:
    """Whether the program has replaced a hooked function by its own."""
    return bool(_replaced)


def watch(places: Iterable[tuple[Any, str]]) -> None:
    """Observes from now on when the program sets one of these attributes of modules."""
    for module, name in places:
        if type(module) is types.ModuleType:
            module.__class__ = _Watched
        if type(module) is _Watched:
            _hooked.add((module.__name__, name))
            _modules[module.__name__] = module


_modules: dict[str, Any] = {}


def unwatch() -> None:
    """Restores the types of the modules."""
    for module in _modules.values():
        module.__class__ = types.ModuleType
    for table in (_hooked, _replaced, _originals, _modules):
        table.clear()
