"""What each process that judges components needs, imported and read before it is needed.

Importing this module imports the analysis and reads the tables of library functions and rules: in the process that workers are copied from,
and in the main process while worker processes lower files.
"""

from __future__ import annotations

from terra_refactor.rules.registry import checking_rules
from terra_refactor.tf_model import registry
from terra_refactor.workspace import component_pool, judgement, kept_analysis, regions

__all__ = ["component_pool", "judgement", "kept_analysis", "regions"]

checking_rules()
registry.lookup("tensorflow.math.add")
