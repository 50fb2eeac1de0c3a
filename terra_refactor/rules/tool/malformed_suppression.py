"""TR902: a comment that looks like a suppression but has no effect."""

from __future__ import annotations

from typing import Final

from terra_refactor.rules.rule import Rule, RuleKind, Samples, Severity

RULE: Final = Rule(
    id="TR902",
    name="malformed-suppression",
    kind=RuleKind.DIAGNOSTIC,
    severity=Severity.WARNING,
    summary="A suppression comment that has no effect because it is malformed.",
    explanation=(
        "The list of rules is empty, or names a rule that does not exist; or `# terra: on` switches on rules that were not "
        "off. The finding that it was meant for is reported."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


@tf.function
def scale(x):
    print("traced")  # terra: ignore[TR1O1]  # TR902
    return x * 2


scale(tf.ones([3]))
""",
        good="""\
import tensorflow as tf


@tf.function
def scale(x):
    print("traced")  # terra: ignore[TR101] shows each trace
    return x * 2


scale(tf.ones([3]))
""",
    ),
    cure="Write `# terra: ignore[TR101]` with the rule's id, its name, or the prefix of a family (`TR1`).",
)
