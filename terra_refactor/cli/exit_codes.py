"""The exit codes, which are a stable interface."""

from __future__ import annotations

from typing import Final

DONE: Final = 0
"""Done, nothing to report."""
FINDINGS: Final = 1
"""`lint` has findings; `fix --check` would make changes."""
WRONG_CALL: Final = 2
"""An unknown option, a path that does not exist, a configuration that does not parse."""
UNREADABLE: Final = 3
"""Some file could not be analysed; the rest was."""
INTERRUPTED: Final = 130
"""Ctrl-C, by the convention of shells."""
