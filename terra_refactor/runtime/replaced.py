"""Functions of TensorFlow's and Keras' API that the program replaces: what calls them inside a library is no longer what was hooked.

Computes: which are replaced now. Needs: the modules, and the names that are hooked in them. Gives: `watch`, `unwatch`, `any_replaced`.
Ignores: what was replaced before the hooks were first put in place; new names.

Keras' layers look functions up in these modules at each call, and a layer is one node: the program's function would run as often as
a path is recorded, and another one would be compiled. So calls are eager as long as a function is replaced.
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

    def __reduce__(self) -> Any:  # by its name, as what pickles modules does with other ones
        return importlib.import_module, (self.__name__,)


def _about_to_set(module: types.ModuleType, name: str, value: Any) -> Any:
    """Note that the program sets an attribute of the module. Returns what is to be set."""
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
        run.bail_out(REASON)  # what is pending was called before
    _replaced.add(place)
    return value


_originals: dict[tuple[str, str], Any] = {}


def any_replaced() -> bool:
    """Whether the program has a function of its own in place of a hooked one."""
    return bool(_replaced)


def watch(places: Iterable[tuple[Any, str]]) -> None:
    """Notice from now on when the program sets one of these attributes of modules."""
    for module, name in places:
        if type(module) is types.ModuleType:
            module.__class__ = _Watched
        if type(module) is _Watched:
            _hooked.add((module.__name__, name))
            _modules[module.__name__] = module


_modules: dict[str, Any] = {}


def unwatch() -> None:
    """Leave the modules as they were."""
    for module in _modules.values():
        module.__class__ = types.ModuleType
    for table in (_hooked, _replaced, _originals, _modules):
        table.clear()
