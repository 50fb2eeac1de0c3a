"""How TensorFlow adjusts labels and predictions to matching ranks.

Source: `remove_squeezable_dimensions` of `confusion_matrix.py`.
"""

from __future__ import annotations

from terra_refactor.domain.dim import definitely_different
from terra_refactor.domain.shape import Shape


def without_squeezable(labels: Shape, predictions: Shape, difference: int = 0) -> tuple[Shape, Shape]:
    """Labels and predictions, without an extra last axis of size 1 in one of them.

    `difference` is the number of additional axes of predictions.
    """
    if labels is None or predictions is None:
        return labels, predictions
    surplus = len(predictions) - len(labels) - difference
    if surplus == 1 and not definitely_different(predictions[-1], 1):
        return labels, predictions[:-1]
    if surplus == -1 and not definitely_different(labels[-1], 1):
        return labels[:-1], predictions
    return labels, predictions
