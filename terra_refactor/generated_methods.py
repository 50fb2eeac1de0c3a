"""Caches the methods that `dataclasses` and `attrs` generate for classes, so that they are not compiled at every start.

Both generate the methods of a class as text when its module is imported, and compile them: for some six hundred of
our classes, and as many of the editor's protocol, this takes a quarter of the language server's start.

Gives: `reuse_generated_methods`, to be called before the modules with the classes are imported;
`keep_generated_methods`, to be called afterwards. Needs: nothing of ours. Ignores: errors. Without a writable folder,
or if `dataclasses` compiles in another way, the methods are compiled as usual.

The compiled code is stored in Python's own cache of compiled modules, under the module `methods_of_classes` (which
has no code, so that an uninstallation finds the file): whoever can write there can run code anyway. The key is the
whole text, so an entry is never stale.
"""

from __future__ import annotations
import __future__

import contextlib
import importlib.util
import marshal
import os
import sys
from collections.abc import Iterable, Mapping
from types import CodeType, ModuleType
from typing import Any, Final, TypeAlias

_MAGIC: Final = b"generated methods 1\n" + importlib.util.MAGIC_NUMBER
_TOO_MANY: Final = 3
"""Factor of stored to used methods at which the cache is rebuilt: then most are of other versions of the code."""

_Key: TypeAlias = "tuple[str, str, int]"
"""Text, name of the file and compiler flags."""
_known: Final[dict[_Key, CodeType]] = {}
_used: Final[dict[_Key, CodeType]] = {}
_new: Final[set[_Key]] = set()
"""Methods that are not stored yet."""


def reuse_generated_methods(modules: Iterable[ModuleType]) -> None:
    """Makes `exec` and `compile` in these modules look up code that an earlier process compiled."""
    _known.update(_read())
    for module in modules:
        _replace(module)


def _replace(module: ModuleType) -> None:
    """A global of a module takes precedence over the builtin of that name."""
    # a module's `__future__` imports apply to the texts that it compiles
    features = (each for each in vars(module).values() if isinstance(each, __future__._Feature))
    inherited = 0
    for feature in features:
        inherited |= feature.compiler_flag

    def compiled(source: Any, filename: Any, mode: str, *others: Any, **named: Any) -> Any:
        if isinstance(source, str) and isinstance(filename, str) and mode == "exec" and not (others or named):
            return _code(source, filename, inherited)
        return compile(source, filename, mode, *others, **named)

    def execute(
        source: Any, scope: dict[str, Any] | None = None, names: Mapping[str, object] | None = None, /, **named: Any
    ) -> None:
        if isinstance(source, str) and scope is not None:
            source = _code(source, "<string>", inherited)
        exec(source, scope, names, **named)

    vars(module).setdefault("compile", compiled)
    vars(module).setdefault("exec", execute)


def _code(source: str, filename: str, flags: int) -> CodeType:
    key = (source, filename, flags)
    code = _known.get(key)
    if code is None:
        code = _known[key] = compile(source, filename, "exec", flags, dont_inherit=True)
        _new.add(key)
    _used[key] = code
    return code


def keep_generated_methods() -> None:
    """Stores newly compiled code for the next process."""
    if not _new or sys.dont_write_bytecode:
        return
    methods = _used if len(_known) > _TOO_MANY * len(_used) else _known
    file = _file()
    temporary = f"{file}.{os.getpid()}"
    with contextlib.suppress(OSError):
        os.makedirs(os.path.dirname(file), exist_ok=True)
        try:
            with open(temporary, "xb") as stream:
                stream.write(_MAGIC + marshal.dumps(methods))
            os.replace(temporary, file)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        _new.clear()


def _read() -> dict[_Key, CodeType]:
    try:
        with open(_file(), "rb") as stream:
            data = stream.read()
        made = marshal.loads(memoryview(data)[len(_MAGIC) :]) if data.startswith(_MAGIC) else {}
    except (OSError, ValueError, EOFError, TypeError):
        return {}
    return made if isinstance(made, dict) else {}


def _file() -> str:
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "methods_of_classes.py")
    return importlib.util.cache_from_source(source)
