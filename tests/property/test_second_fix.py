"""A second `fix` changes nothing: what is decided does not depend on what an earlier run decorated.

Programs of the corpus and generated ones are fixed in several ways. The first runs share a cache, the second has none. Where two ways leave
the same text, the narrower one is not run a second time: it makes no change that the wider one does not make, which is checked on the first
runs. A sample goes through all ways, each other program through two, most of the many of `corpus/typed` and the generated ones through
one; `make test-all` runs all programs in all ways, and each way twice.
"""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from path_programs import module_of, write_function
from running_time import examples, runs_everything

from terra_refactor.config import Config
from terra_refactor.refactor.apply import write_file
from terra_refactor.workspace.workspace import Options, fix

CORPUS = Path(__file__).parents[2] / "corpus"
PROGRAMS = (
    *sorted(path for path in (CORPUS / "programs").iterdir() if (path / "expected.toml").exists()),
    *sorted(path for path in (CORPUS / "typed").glob("*.py") if path.name != "__init__.py"),
    CORPUS / "demo" / "project",
    *sorted(path for path in (CORPUS / "coexec").glob("*.py") if not path.name.startswith("__")),
)
SAMPLE = ("a2c_bandit", "cli_package", "language_features", "notebook", "moe_tabular", "project")
"""Go through all ways; the first four in `make check`, too."""


@dataclass(frozen=True)
class Way:
    """How `fix` is called."""

    level: str
    min_ops: int | None
    of_findings: bool = False

    def __str__(self) -> str:
        return f"{self.level}-{self.min_ops}{'-findings' if self.of_findings else ''}"

    def run(self, folder: Path, *, use_cache: bool = False) -> dict[str, int]:
        """Fixes the folder; how many changes were made, by file."""
        options = Options(config=Config(level=self.level, min_ops=self.min_ops, jobs=1), use_cache=use_cache)
        changed = [each for each in fix([str(folder)], options, of_findings=self.of_findings).files if each.changed]
        for each in changed:
            write_file(each)
        return {Path(each.source.path).name: sum(c.outcome.value == "done" for c in each.changes) for each in changed}


LEVELS = ("coexec", "speculative", "safe")
WAYS = (Way("speculative", 0, of_findings=True), *(Way(level, min_ops) for level in LEVELS for min_ops in (0, None)))
"""The wider ones first, except the one of findings, which cannot be compared with any other."""


def is_wider(one: Way, other: Way) -> bool:
    """Whether the first way makes each change that the second makes."""
    if one.of_findings or other.of_findings:
        return False
    return LEVELS.index(one.level) <= LEVELS.index(other.level) and (one.min_ops == 0 or other.min_ops is None)


def texts_of(folder: Path) -> dict[str, bytes]:
    """The files of a folder."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def ways_of(number: int, *, of_many: bool = False) -> tuple[Way, ...]:
    """The ways for the program of a number: the widest and one of the others in turn, all of them in `make test-all`.

    One of `of_many` programs goes one way, every other one of them the widest.
    """
    widest, others = WAYS[1], (WAYS[0], *WAYS[2:])
    if runs_everything():
        return WAYS
    if of_many:
        return (others[number // 2 % len(others)] if number % 2 else widest,)
    return (widest, others[number % len(others)])


def ways_of_program(program: Path) -> tuple[Way, ...]:
    """The ways for a program of the corpus."""
    return ways_of(PROGRAMS.index(program), of_many=program.parent.name == "typed")


def is_chosen(program: Path) -> bool:
    """Whether the program is fixed in each run: of the many that go the widest way alone, every other one is."""
    return program.parent.name != "typed" or PROGRAMS.index(program) % 4 != 0 or runs_everything()


def changed_again(
    make: Callable[[Path], object], ways: Sequence[Way], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, object]:
    """Changes of a second `fix` of the program that `make` writes, by way."""
    monkeypatch.setenv("TERRA_REFACTOR_CACHE_DIR", str(tmp_path / "cache"))
    # one place for all ways: what is kept in a cache is kept for paths
    folder = tmp_path / "program"
    seen: list[tuple[Way, dict[str, int], dict[str, bytes]]] = []
    found: dict[str, object] = {}
    for way in ways:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        make(folder)
        first = way.run(folder, use_cache=len(ways) > 1)
        texts = texts_of(folder)
        wider = [(changes, left) for other, changes, left in seen if is_wider(other, way)]
        assert not (first and any(changes == {} for changes, _ in wider)), f"{way} changes what a wider way leaves"
        seen.append((way, first, texts))
        # a run that changed nothing was on this very text
        if first and (runs_everything() or all(left != texts for _, left in wider)):
            again = way.run(folder)
            if again:
                found[str(way)] = again
    return found


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(program, id=program.stem, marks=[] if program.stem in SAMPLE[:4] else [pytest.mark.slow])
        for program in PROGRAMS
        if is_chosen(program)
    ],
)
def test_of_the_corpus(program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def make(folder: Path) -> None:
        if program.is_dir():
            shutil.copytree(program, folder / program.name)
        else:
            shutil.copy(program, folder)

    ways = WAYS if program.stem in SAMPLE else ways_of_program(program)
    assert changed_again(make, ways, tmp_path, monkeypatch) == {}


@pytest.mark.parametrize(
    "first", [0, *(pytest.param(first, marks=pytest.mark.slow) for first in range(8, examples(56, 104), 8))]
)
def test_of_random_paths(first: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def make(folder: Path) -> None:
        (folder / "a.py").write_text(module_of([write_function(seed) for seed in range(first, first + 8)]))

    assert changed_again(make, WAYS if first == 0 else ways_of(first // 8, of_many=True), tmp_path, monkeypatch) == {}


def test_every_way_is_gone_by_many_programs() -> None:
    gone = Counter(way for program in filter(is_chosen, PROGRAMS) for way in ways_of_program(program))
    assert set(gone) == set(WAYS)
    assert min(gone.values()) >= 10


SERIES = """
import tensorflow as tf


def weigh(x, times):
    for _ in range(times):
        x = tf.tanh(x * 1.5) + tf.sin(x) - tf.cos(x) * tf.exp(-x) + tf.abs(x) * tf.sqrt(x * x)
    return x


def sweep(x, epochs, inner):
    for _ in range(epochs):
        x = weigh(x, inner)
    return tf.reduce_sum(x)


def main(epochs, inner):
    for _ in range(epochs):
        print(float(sweep(tf.ones([3]), epochs, inner)))
"""


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_loop_around_what_was_decorated_is_as_long_as_before(way: Way, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(SERIES)
    way.run(tmp_path)
    assert way.run(tmp_path) == {}


PARTIALS = """
import functools

import tensorflow as tf


def unroll(core, x):
    for _ in range(10):
        x = core(tf.tanh(x))
    return x


def fallback(x, w):
    return unroll(functools.partial(tf.multiply, w), x) + tf.sin(x)


def make(scale):
    def scaled(x):
        return tf.tanh(x * scale) + tf.sin(x)

    return scaled


def main(count):
    x = tf.ones([3])
    for _ in range(count):
        x = fallback(x, tf.ones([3])) + unroll(tf.sin, x) + unroll(make(0.5), x)
    print(x)
"""


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_what_is_new_in_each_call_is_so_in_graphs_too(way: Way, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(PARTIALS)
    way.run(tmp_path)
    assert way.run(tmp_path) == {}


CALLS = """
import tensorflow as tf


def step(x, scale):
    for _ in range(30):
        x = tf.nn.relu(x) * tf.cast(scale, tf.float32)
    return x


x = tf.ones([3])
for number in range(3):
    x = step(x, 30 + number)
print(x)
"""


def test_a_finding_that_a_fix_brings_is_fixed_with_it(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(CALLS)
    way = Way("speculative", 0, of_findings=True)
    assert way.run(tmp_path) == {"a.py": 2}
    text = (tmp_path / "a.py").read_text()
    assert "@tf.function" in text
    assert "tf.constant(30 + number)" in text
    assert way.run(tmp_path) == {}
