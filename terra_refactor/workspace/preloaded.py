"""Imports that each process needs for judging components, made in advance.

Importing this module imports the analysis and reads the tables of library functions and rules: in the process from
which workers are forked, and in the main process while workers lower files.
"""

from __future__ import annotations

from terra_refactor.rules.registry import checking_rules
from terra_refactor.tf_model import registry
from terra_refactor.workspace import component_pool, judgement, kept_analysis, regions

__all__ = ["component_pool", "judgement", "kept_analysis", "regions"]

checking_rules()
registry.lookup("tensorflow.math.add")
