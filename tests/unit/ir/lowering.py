"""Lowers a text for a test, and fails the test if the IR violates an invariant."""

from __future__ import annotations

import textwrap

from terra_refactor.ir.build.module import lower_module
from terra_refactor.ir.check import check_module
from terra_refactor.ir.program import ModuleIR
from terra_refactor.syntax.parse import parse_module
from terra_refactor.syntax.source import source_from_text


def lower_text(text: str, name: str = "m") -> ModuleIR:
    module = lower_module(parse_module(source_from_text(textwrap.dedent(text), "m.py")), name)
    assert check_module(module) == ()
    return module
