"""TensorFlow's answers, stored by content: a question is run once, and again when it changes.

A test passes its questions, which are texts, to a `Harness`. The answer to a question, a line of text, is stored in
`answers/<harness>.txt` under a key of the question, the code that runs it, and the versions of Python, TensorFlow,
Keras and NumPy. A question without a stored answer is run immediately: no test passes because an answer is missing,
and each answer was observed in a run.

The setting `TERRA_REFACTOR_ANSWERS` has two further modes:

- `fresh`: everything is run, and the test fails if a stored answer differs (`make test-all`, and `make explore`);
- `write`: the questions and new answers are also written to `build/answers/`, from which `tools/keep_answers.py`
  creates the new files (`make answers`).
"""

from __future__ import annotations

import ast
import importlib.metadata
import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from hashlib import blake2b
from pathlib import Path

FOLDER = Path(__file__).with_name("answers")
NEW = Path(__file__).parents[1] / "build" / "answers"
SETTING = "TERRA_REFACTOR_ANSWERS"
LIBRARIES = ("tensorflow", "keras", "numpy")

UNKEPT: Counter[str] = Counter()
"""The number of questions of each harness that this process ran because no answer is stored, which makes a test run long."""


def digest(text: str, size: int = 8) -> str:
    """A short name for a text, of `size` bytes, each two hexadecimal digits."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).hexdigest()


def code_of(path: Path) -> str:
    """The code of a Python file: its text without comments, docstrings and layout."""
    return _code(path.read_text(encoding="utf-8"))


@cache
def _code(text: str) -> str:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            # a string as a statement has no effect
            node.body = [each for each in body if not _is_text(each)]  # type: ignore[attr-defined]
    return ast.dump(tree)


def _is_text(statement: ast.AST) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def modules_of(file: Path, root: Path, within: str) -> tuple[Path, ...]:
    """A file and the modules in a folder of `root` that it imports, directly or not, wherever the import stands."""
    found: set[Path] = set()
    waiting = [file]
    while waiting:
        path = waiting.pop()
        if path in found or not path.is_file():
            continue
        found.add(path)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path}: relative imports are not followed"
                names = [name for alias in node.names for name in (node.module, f"{node.module}.{alias.name}")]
            for name in names:
                place = name.replace(".", "/")
                if place.startswith(within):
                    waiting += [root / f"{place}.py", root / place / "__init__.py"]
    return tuple(sorted(found))


def version(library: str) -> str:
    """The installed version; `none` if there is none, in which case nothing is stored."""
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        return "none"


def read(file: Path) -> dict[str, str]:
    """The answers of a file by key; empty if there is no such file."""
    if not file.exists():
        return {}
    lines = file.read_text(encoding="utf-8").splitlines()
    return dict(line.split(" ", 1) for line in lines if not line.startswith("#"))


class OutdatedError(AssertionError):
    """A stored answer differs from the one observed now."""


@dataclass
class Harness:
    """One kind of question. `sources` are the files with the code that runs it: an answer is dropped when that code changes."""

    name: str
    sources: tuple[Path, ...]
    alike: Callable[[str, str], bool] = lambda kept, seen: kept == seen
    """Whether two answers are equivalent for the tests; by default whether they are equal."""
    folder: Path = FOLDER
    new: Path = NEW
    _open: set[str] = field(default_factory=set)

    @cached_property
    def _version(self) -> str:
        python = ".".join(map(str, sys.version_info[:2]))
        code = "".join(map(code_of, self.sources))
        return f"{python} {[version(library) for library in LIBRARIES]} {digest(code)}"

    @cached_property
    def _kept(self) -> dict[str, str]:
        return read(self.folder / f"{self.name}.txt")

    def key(self, question: str) -> str:
        """The key of a question's answer."""
        return digest(f"{self._version}\n{question}")

    def answer(self, question: str, ask: Callable[[], str]) -> str:
        """The answer to one question, stored or from `ask`."""
        return self.answers({"": question}, lambda _: {"": ask()})[""]

    def answers(
        self, questions: Mapping[str, str], ask: Callable[[dict[str, str]], Mapping[str, str]]
    ) -> dict[str, str]:
        """The answers to questions by name. `ask` gets those without an answer; it may omit some, which then have none."""
        keys = {name: self.key(question) for name, question in questions.items()}
        mode = os.environ.get(SETTING, "")
        known = {name: self._kept[key] for name, key in keys.items() if key in self._kept}
        asked = {name: text for name, text in questions.items() if mode == "fresh" or name not in known}
        seen = ask(asked) if asked else {}
        if mode != "fresh" and asked and self.folder == FOLDER:
            UNKEPT[self.name] += len(asked)
        if mode == "fresh":
            other = {
                name: f"kept {known[name]}, seen {seen.get(name)}"
                for name in known
                if not self._agrees(known, seen, name)
            }
            if other:
                lines = "\n".join(f"{name}: {words}" for name, words in other.items())
                raise OutdatedError(f"TensorFlow answers otherwise than what is kept in {self.name}.txt:\n{lines}")
        elif mode == "write":
            self._note(keys, {**known, **seen})
        return {**known, **seen}

    def _agrees(self, known: Mapping[str, str], seen: Mapping[str, str], name: str) -> bool:
        return name in seen and self.alike(known[name], seen[name])

    def _note(self, keys: Mapping[str, str], answers: Mapping[str, str]) -> None:
        self.new.mkdir(parents=True, exist_ok=True)
        # one file per process, since workers write at the same time
        checkout = str(FOLDER.parents[1])
        with (self.new / f"{self.name}.{os.getpid()}.txt").open("a", encoding="utf-8") as stream:
            for name, answer in answers.items():
                # an answer is the same on every machine
                assert checkout not in answer, (
                    f"{self.name}: the answer about {name} holds the path of this checkout: {answer}"
                )
                if keys[name] not in self._open:
                    self._open.add(keys[name])
                    stream.write(f"{keys[name]} {answer}\n")
