"""Runs small programs in one process and says with which message TensorFlow stops each, or what it warns of.

Called with a JSON file of programs (`{name: text}`) and the name of the file to write: `{name: message}`. A message is the exception's class
and text, without the part in which AutoGraph quotes the program; or the warnings that TensorFlow logged. Addresses are left out.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import tempfile
from pathlib import Path
from types import ModuleType

_QUOTED = re.compile(r".*^ {4}(?=\w+: )", re.DOTALL | re.MULTILINE)
"""Of a message that AutoGraph wrote, all in front of the original one."""
_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_CREATED = re.compile(r"The op is created at:|\S+ [^.]* was defined here:")
"""Followed by a traceback of the harness."""
_LENGTH = 500


class _Warnings(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


def message(path: Path) -> str:
    """What TensorFlow says to one program."""
    warnings = _Warnings()
    logging.getLogger("tensorflow").addHandler(warnings)
    try:
        module = ModuleType(path.stem)
        module.__file__ = str(path)
        sys.modules[path.stem] = module  # dataclasses look their module up
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), vars(module))
        text = " ".join(dict.fromkeys(warnings.texts))
    except Exception as error:
        told = str(error)
        text = f"{type(error).__name__}: {told}" if "in user code:" not in told else _QUOTED.sub("", told, count=1)
    finally:
        logging.getLogger("tensorflow").removeHandler(warnings)
    text = _CREATED.split(text)[0].replace(str(path), path.name)
    return " ".join(_ADDRESS.sub("0x", _COLOUR.sub("", text)).split())[:_LENGTH]


def main(asked: str, answered: str) -> None:
    """Runs all programs."""
    import linecache  # noqa: PLC0415 - AutoGraph reads sources through it

    programs = json.loads(Path(asked).read_text(encoding="utf-8"))
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, text in programs.items():
            path = Path(folder, f"{name}.py")
            path.write_text(text, encoding="utf-8")
            linecache.checkcache(str(path))
            found[name] = message(path)
    Path(answered).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
