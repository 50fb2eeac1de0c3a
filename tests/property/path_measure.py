"""Compares the tool's decisions about random functions with TensorFlow's behaviour.

Computes: the decisions about the functions of some seeds, and those that TensorFlow contradicts. Gives: `measure`. As
a script (`PYTHONPATH=tests python path_measure.py FIRST NUMBER ANSWERS [SHOWN] [carried]`) it prints the counts, and the functions
that are wrongly called safe. TensorFlow's answers are stored (`kept_answers`) for the seeds of the tests; the script
stores others in the given file.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from analysis_support import analyze_text
from carried_programs import write_carried
from kept_answers import Harness, read
from path_judge import judge
from path_programs import ARGUMENTS, Program, module_of, write_function

from terra_refactor.classify.decide import DecisionOptions
from terra_refactor.classify.decision import Classification, Decision

PATHS = Harness("paths", (Path(__file__).with_name("path_judge.py"),))
MODULE_SIZE = 25
OUTCOMES = {"d": "differs", "t": "tensors", "s": "same", "p": "fails partly", "f": "fails eagerly"}
"""By the first letter of an answer. `tensors`: the same values, but a graph returns tensors for the Python values of eager code."""


def question(program: Program) -> str:
    """The dependencies of a function's answer: its text, with a neutral name, and its arguments."""
    return f"{program.text.replace(program.name, 'f', 1)}{ARGUMENTS}{program.head}"


def answers_of(programs: Iterable[Program], known: dict[str, str] | None = None) -> dict[str, str]:
    """TensorFlow's answers about functions, by name; `known` has answers by key, to which new ones are added."""
    known = {} if known is None else known
    texts = {program.name: program.text for program in programs}
    questions = {program.name: question(program) for program in programs}
    found = {name: known[PATHS.key(text)] for name, text in questions.items() if PATHS.key(text) in known}
    told: dict[str, str] = {}
    heads = {program.name: program.head for program in programs}

    def ask(asked: dict[str, str]) -> dict[str, str]:
        told.update(judge({name: texts[name] for name in asked}, ARGUMENTS, heads[next(iter(asked))]))
        return {name: verdict.partition(":")[0] for name, verdict in told.items()}

    rest = {name: text for name, text in questions.items() if name not in found}
    answers = PATHS.answers(rest, ask)
    known.update({PATHS.key(rest[name]): answer for name, answer in answers.items()})
    # answers from this run have more detail
    return {**found, **answers, **told}


@dataclass(slots=True)
class Measured:
    """The results."""

    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[tuple[Program, Decision, str]] = field(default_factory=list)
    """Safe, and not the same as a graph, in its values or in their types."""
    needless: list[tuple[Program, Decision]] = field(default_factory=list)
    """Unsafe, but a graph behaves the same."""


def measure(programs: list[Program], known: dict[str, str] | None = None) -> Measured:
    """Decides about functions, and compares with TensorFlow."""
    answers = answers_of(programs, known)
    found = Measured()
    for start in range(0, len(programs), MODULE_SIZE):
        some = programs[start : start + MODULE_SIZE]
        result = analyze_text(module_of(some), DecisionOptions(min_ops=0))
        for program in some:
            decision, answer = result.decision(program.name), answers[program.name]
            outcome = OUTCOMES[answer[0]]
            found.counts[f"{decision.classification.value}, {outcome}"] += 1
            if outcome in ("differs", "tensors") and decision.classification is Classification.SAFE:
                found.wrong.append((program, decision, answer))
            if outcome == "same" and decision.classification is Classification.UNSAFE:
                found.needless.append((program, decision))
    return found


def main(first: int, number: int, cache: str, shown: int, *, carried: bool) -> None:
    """Prints the results for that many seeds."""
    file = Path(cache)
    known = read(file)
    found = Measured()
    for start in range(first, first + number, 250):
        write = write_carried if carried else write_function
        programs = [write(seed) for seed in range(start, min(start + 250, first + number))]
        some = measure(programs, known)
        found.counts += some.counts
        found.wrong += some.wrong
        found.needless += some.needless
        file.write_text("".join(f"{key} {answer}\n" for key, answer in sorted(known.items())), encoding="utf-8")
        print(start, dict(some.counts), flush=True)
    for program, decision, answer in found.wrong[:shown]:
        print(f"\n--- safe, but: {answer}\n{program.text}\n{decision.reason}")
    print("\nneedless, by rule and message:")
    reasons = Counter(
        ", ".join(sorted({hazard.rule for hazard in decision.hazards if not hazard.assumed})) or decision.reason
        for _, decision in found.needless
    )
    print(*reasons.most_common(25), sep="\n")
    print("needless, by construct:", Counter(each for program, _ in found.needless for each in program.constructs))
    print("wrong, by construct:", Counter(each for program, _, _ in found.wrong for each in program.constructs))
    print("in all:", dict(found.counts))


if __name__ == "__main__":
    shown = int(sys.argv[4]) if len(sys.argv) > 4 else 10
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], shown, carried="carried" in sys.argv[5:])
