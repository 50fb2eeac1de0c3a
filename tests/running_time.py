"""Keeps a test run short: the order of the tests, their distribution over workers, and fewer examples than in `make
test-all` and `make explore`.
"""

from __future__ import annotations

import os
import re
from functools import cache

from kept_answers import SETTING

LONGEST_FIRST = (
    "tests/e2e/test_release.py",
    "tests/runtime/test_ten_programs.py",
    "tests/runtime/test_optimizers.py",
    "tests/unit/verify/test_session.py",
    "tests/corpus/test_trying.py",
    "tests/e2e/cli/test_verify.py",
    "tests/unit/ide/test_region_offers.py",
    "tests/corpus/test_released_packages.py",
    "tests/property/test_second_fix.py",
    "tests/e2e/security/test_foreign_modules.py",
    "tests/runtime/test_memory.py",
    "tests/property/test_nasty_programs.py",
    "tests/e2e/security/test_installed_wheel.py",
    "tests/property/test_paths.py",
    "tests/runtime/test_threads.py",
    "tests/property/test_resumed_analysis.py",
    "tests/proof/test_rules_at_run_time.py",
    "tests/runtime/test_interruptions.py",
    "tests/corpus/test_recordings.py",
    "tests/conformance/test_arithmetic.py",
    "tests/property/test_shown_results.py",
    "tests/conformance/test_catalogue.py",
    "tests/e2e/lsp/test_bad_input_of_clients.py",
    "tests/e2e/integrations/test_action.py",
    "tests/e2e/security/test_links_and_paths.py",
    "tests/property/test_early_cut_off.py",
    "tests/property/test_file_mutants.py",
    "tests/e2e/security/test_hostile_git.py",
    "tests/property/test_ir_lowering.py",
    "tests/property/test_heap_programs.py",
    "tests/corpus/test_coexec_decisions.py",
    "tests/property/test_region_programs.py",
    "tests/e2e/lsp/test_server_changes.py",
    "tests/runtime/test_against.py",
    "tests/proof/test_run_programs.py",
    "tests/unit/ir/test_against_compiler.py",
    "tests/e2e/cli/test_commands.py",
    "tests/runtime/test_surroundings.py",
    "tests/conformance/test_interpreted_values.py",
    "tests/e2e/security/test_hostile_output.py",
    "tests/e2e/lsp/test_large_project.py",
    "tests/unit/workspace/test_workspace.py",
    "tests/property/test_repeated_analysis.py",
    "tests/conformance/test_numpy_api.py",
    "tests/unit/ir/test_relower.py",
    "tests/unit/analysis/test_machines_and_releases.py",
    "tests/runtime/test_features.py",
    "tests/corpus/test_programs.py",
    "tests/unit/workspace/test_relaid.py",
    "tests/runtime/test_generated_programs.py",
    "tests/runtime/test_trust.py",
    "tests/unit/record/test_record.py",
    "tests/unit/refactor/test_plan_properties.py",
    "tests/unit/batch/test_batch.py",
    "tests/e2e/lsp/test_server_diagnostics.py",
    "tests/conformance/test_keras_layers.py",
    "tests/unit/workspace/test_region_arguments.py",
    "tests/runtime/test_aside.py",
    "tests/unit/workspace/test_nothing_is_lost.py",
)
"""The slowest modules. A worker takes a whole module, unless it is in SPREAD: a slow one at the end would leave the
other workers idle.
"""

SPREAD = frozenset({"tests/corpus/test_released_packages.py", "tests/property/test_second_fix.py"})
"""Modules with slow, independent tests: each worker takes tests of them."""

TOGETHER = dict.fromkeys(
    (
        "tests/unit/verify/test_session.py",
        "tests/corpus/test_trying.py",
        "tests/e2e/cli/test_verify.py",
        "tests/unit/ide/test_region_offers.py",
    ),
    "children of verify",
)
"""Modules that one worker runs, because they share a costly process: that of `warm_children.py`."""


@cache
def _places() -> dict[str, int]:
    return {name: place for place, name in enumerate(LONGEST_FIRST)}


def place_of(nodeid: str) -> int:
    """The rank of a test's module among the slowest; after all of them if it is not one."""
    return _places().get(nodeid.partition("::")[0], len(LONGEST_FIRST))


def unit_of(nodeid: str) -> str:
    """The unit of work of a worker: the module, or the class in it, or the single test, or several modules."""
    module = nodeid.partition("::")[0]
    if module in TOGETHER:
        return TOGETHER[module]
    return nodeid if module in SPREAD else nodeid.rpartition("::")[0]


_MARKS_OF_ALL = re.compile(r"^pytestmark = (\[[^\]]*\]|.*)", re.MULTILINE)


def is_left_out(module: str, marks: str) -> bool:
    """Whether the expression of `-m` deselects every test of a module (its text) because of a mark that all of them have."""
    of_all = _MARKS_OF_ALL.search(module)
    if of_all is None or " or " in marks:
        return False
    present = re.findall(r"\bpytest\.mark\.(\w+)", of_all[1])
    return any(name in present for name in re.findall(r"\bnot (\w+)", marks))


def runs_everything() -> bool:
    """Whether this is `make test-all` or `make explore`."""
    return os.environ.get("TERRA_REFACTOR_HYPOTHESIS") == "explore" or os.environ.get(SETTING) == "fresh"


def examples(usual: int, many: int) -> int:
    """Number of examples: `usual` by default, `many` in `make test-all` and `make explore`."""
    return many if runs_everything() else usual
