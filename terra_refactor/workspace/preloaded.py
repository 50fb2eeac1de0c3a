"""What each process that judges components needs, imported and read once: in the process that they are copied from.

Importing this module imports the analysis and reads the tables of library functions and rules. Only `component_pool` has it imported.
"""

from __future__ import annotations

from terra_refactor.rules.registry import checking_rules
from terra_refactor.tf_model import registry
from terra_refactor.workspace import component_pool, judgement, regions

__all__ = ["component_pool", "judgement", "regions"]

checking_rules()
registry.lookup("tensorflow.math.add")
