"""The exit codes, which scripts hold on to."""

from __future__ import annotations

from typing import Final

DONE: Final = 0
"""Done, nothing to report."""
FINDINGS: Final = 1
"""`lint` found something; `fix --check` would change something."""
WRONG_CALL: Final = 2
"""An unknown option, a path that does not exist, a configuration that does not parse."""
UNREADABLE: Final = 3
"""Some file could not be analysed; the rest was."""
INTERRUPTED: Final = 130
"""Ctrl-C, as shells say it."""
