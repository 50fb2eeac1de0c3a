"""TR901: a suppression without a finding."""

from __future__ import annotations

from typing import Final

from terra_refactor.rules.rule import Rule, RuleKind, Samples, Severity

RULE: Final = Rule(
    id="TR901",
    name="unused-suppression",
    kind=RuleKind.DIAGNOSTIC,
    severity=Severity.WARNING,
    summary="A suppression comment where the rule reports nothing.",
    explanation=(
        "The finding is gone, or the comment is on another line; left in place, it would hide the next finding there. A comment "
        "is used if it silences a finding, or marks a hazard that makes an eager function unsafe. Lint the whole project: a run "
        "over single files sees fewer calls and may report comments as unused that are not."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


@tf.function
def scale(x):
    return x * 2  # terra: ignore[TR101] was a print once  # TR901


scale(tf.ones([3]))
""",
        good="""\
import tensorflow as tf


@tf.function
def scale(x):
    return x * 2


scale(tf.ones([3]))
""",
        near_miss="""\
import tensorflow as tf


@tf.function
def scale(x):
    print("traced")  # terra: ignore[TR101] shows each trace
    return x * 2


scale(tf.ones([3]))
""",
    ),
    cure="Remove the comment, or the rule that is not needed from its list; `terra-refactor fix --select TR901` does that.",
)
