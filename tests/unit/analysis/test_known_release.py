"""With `tf-version` the program is for one release of TensorFlow: tests of it have one answer, and code for another one is dead."""

from __future__ import annotations

from pathlib import Path

import pytest

from terra_refactor.config import Config
from terra_refactor.workspace.workspace import Options, analyze

TESTS = {
    "int(tf.__version__.split('.')[0]) >= 2": {"1.15": False, "2.9": True, "2.16": True},
    "tf.__version__.startswith('1.')": {"1.15": True, "2.9": False},
    "tf.__version__[0] == '2'": {"1.15": False, "2.9": True},
    "tf.version.VERSION < '2.3'": {"1.15": True, "2.9": False, "2.16": True},  # texts compare so, whatever was meant
    "float(tf.__version__[:3]) < 2.0": {"1.15": True, "2.9": False},
    "tuple(map(int, tf.__version__.split('.')[:2])) >= (2, 4)": {
        "1.15": False,
        "2.3": False,
        "2.4": True,
        "2.16": True,
    },
    "tuple(int(v) for v in tf.__version__.split('.')) < (2, 0, 0)": {"1.15": True, "2.1": False},
    "version.parse(tf.__version__) >= version.parse('2.4.0')": {"2.3": False, "2.4": "either", "2.16": True},
    "LooseVersion(tf.__version__) < LooseVersion('2.10')": {"2.9": True, "2.16": False},
    "version.parse(tf.__version__).major == 1": {"1.15": True, "2.9": False},
    "tf.__version__ == '2.9.3'": {"1.15": False, "2.9": "either"},
    "version.parse(tf.__version__) >= version.parse('2.9.3')": {"2.8": False, "2.9": "either", "2.10": True},
}
"""The answer of each for each release; "either" where it depends on the patch number, which is unknown."""
LINES = {True: {6}, False: {8}, "either": {6, 8}}
PROGRAM = """\
import tensorflow as tf
from distutils.version import LooseVersion
from packaging import version

if {test}:
    tf.ones([2]) + tf.ones([3])
else:
    tf.ones([4]) + tf.ones([5])
"""


def taken(program: Path, release: str | None) -> set[int]:
    """The lines whose operations fail; code behind a test of an unknown release does not count as failing."""
    config = Config(jobs=1, tf_version=release)
    report = analyze([str(program)], Options(config=config, use_cache=False))
    return {finding.span.line for finding in report.findings if finding.rule == "TR401"}


@pytest.mark.parametrize("test", TESTS)
def test_code_for_another_release_is_dead(test: str, tmp_path: Path) -> None:
    program = tmp_path / "m.py"
    program.write_text(PROGRAM.format(test=test), encoding="utf-8")
    for release, answer in TESTS[test].items():
        assert taken(program, release) == LINES[answer], release
    assert taken(program, None) == set()
