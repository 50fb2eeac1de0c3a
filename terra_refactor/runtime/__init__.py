"""The co-execution shim: Python runs exactly as written while TensorFlow's operations run as compiled segments.

Gives: `co_execute` (decorator), `co_executing` (context manager), `speculative` (decorator), `report`, `disable` and `enable`.
Needs: TensorFlow 2.16 or later, but only when a decorated function is called: importing this package never imports it.
Ignores: every other room of the project; nothing here reads source code.
"""

from __future__ import annotations

from terra_refactor.runtime.api import co_execute, co_executing, disable, enable, report, speculative

__all__ = ["co_execute", "co_executing", "disable", "enable", "report", "speculative"]
