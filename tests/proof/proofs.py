"""The programs of the proofs: `programs/trNNN.txt` holds those of a rule, each under a line `### bad: title` or `### fine: title`.

Also the samples in the rules' own declarations, which are proven in the same way.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from terra_refactor.rules.registry import all_rules

OF_THE_TOOL = "TR9"
"""Rules about files and suppressions, which have no programs to run."""
FOLDER = Path(__file__).parent / "programs"
_HEAD = re.compile(r"^### (bad|fine): (.+)\n", re.MULTILINE)
_MARK = re.compile(r"#.*\b(TR\d{3})\b")
_DECORATOR = re.compile(r"^(\s*)@tf\.function\b.*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Proof:
    """One program: `bad` ones differ as graphs, others do not."""

    rule: str
    name: str
    """Usable in a file name."""
    bad: bool
    text: str

    @property
    def marked(self) -> tuple[int, ...]:
        """The lines with the mark of the rule."""
        lines = enumerate(self.text.splitlines(), start=1)
        return tuple(number for number, line in lines if self.rule in _MARK.findall(line))

    @property
    def eager_text(self) -> str:
        """The program before it was decorated."""
        return _DECORATOR.sub(r"\1# not decorated", self.text)


def read_programs(file: Path) -> tuple[Proof, ...]:
    """The programs of one file."""
    rule = file.stem.upper()
    text = file.read_text(encoding="utf-8")
    heads = list(_HEAD.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    proofs = []
    for head, end in zip(heads, ends, strict=True):
        kind, title = head.groups()
        name = f"{rule}_{kind}_{re.sub(r'[^a-z0-9]+', '_', title.lower())}"
        proofs.append(Proof(rule, name, kind == "bad", text[head.end() : end].strip("\n") + "\n"))
    return tuple(proofs)


def checked_and_fine() -> tuple[Proof, ...]:
    """Programs with suspicious code that behave the same: no rule reports an error, and none is unsafe."""
    return read_programs(FOLDER / "fine.txt")


def samples() -> tuple[Proof, ...]:
    """The samples of every rule."""
    return tuple(
        Proof(rule.id, f"{rule.id}_sample_{kind}", kind == "bad", text)
        for rule in all_rules().values()
        for kind, text in (
            ("bad", rule.samples.bad),
            ("good", rule.samples.good),
            ("near_miss", rule.samples.near_miss),
        )
        if text
    )


def all_programs() -> tuple[Proof, ...]:
    """The programs of all files, and the samples."""
    written = [proof for file in sorted(FOLDER.glob("tr*.txt")) for proof in read_programs(file)]
    return (*written, *(proof for proof in samples() if not proof.rule.startswith(OF_THE_TOOL)))
