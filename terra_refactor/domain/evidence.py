"""Evidence for the type of a parameter. Gives: `Evidence`, ordered from strong to weak as in the report."""

from __future__ import annotations

from enum import Enum


class Evidence(Enum):
    """The evidence that a parameter is a tensor (or something else), strongest first."""

    DATAFLOW = "dataflow"
    """A call site passes it."""
    RECORDED = "recorded"
    """A recorded run passed it: one possible type, perhaps not the only one."""
    ANNOTATION = "annotation"
    FRAMEWORK = "framework"
    """Keras or tf.data calls the function with tensors."""
    USAGE = "usage"
    """The body passes it to operations that take tensors."""
    DEFAULT = "default"
    KEYWORD = "keyword"
    """Only its name, or its function's name, suggests that it is a tensor.

    Its value stays unknown, so no rule is certain about it.
    """
    NONE = "none"


STRENGTH = {evidence: rank for rank, evidence in enumerate(reversed(Evidence))}
"""Larger is stronger."""
