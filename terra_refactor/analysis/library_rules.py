"""Results of `tf_model` rules: a failure becomes a fact, alternatives of arguments are joined.

Needs: the site of the operation. Gives: `checked_rule`, `over_combinations`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from terra_refactor.analysis.engine import Site
from terra_refactor.analysis.facts import FailureFact
from terra_refactor.analysis.frames import Frame
from terra_refactor.analysis.freezing import freeze
from terra_refactor.domain.dim import Dim, defaults_of, noting_numbers_of_files, numbers_of_files
from terra_refactor.domain.lattice import join
from terra_refactor.domain.state import State
from terra_refactor.domain.value import BOTTOM, UNKNOWN, UNKNOWN_TENSOR, TensorValue, Value, members
from terra_refactor.ir import ops
from terra_refactor.tf_model.arguments import elements, is_sequence
from terra_refactor.tf_model.spec import OperationError

Combination = TypeVar("Combination")


def checked_rule(site: Site, operation: str, rule: Callable[[], Value]) -> Value:
    """Runs a rule of `tf_model`; if the operation certainly fails, records the failure and continues with an unknown tensor."""
    with noting_numbers_of_files() as noted:
        try:
            return rule()
        except OperationError as error:
            return _failed(site, operation, error, noted)


def over_combinations(
    site: Site, operation: str, combinations: Sequence[Combination], rule: Callable[[Combination], Value]
) -> Value:
    """Joins a rule's results over the alternatives of its arguments; a failure is recorded only if all alternatives fail."""
    if len(combinations) == 1:
        return checked_rule(site, operation, lambda: rule(combinations[0]))
    with noting_numbers_of_files() as noted:
        return _over_several(site, operation, combinations, rule, noted)


def _over_several(
    site: Site,
    operation: str,
    combinations: Sequence[Combination],
    rule: Callable[[Combination], Value],
    numbers: list[Dim],
) -> Value:
    frame = site.frame
    result: Value = BOTTOM
    failure: OperationError | None = None
    noted: FailureFact | None = None
    succeeded = False
    known = frame.failures.get(site.op)
    outer = frame.state
    states: list[State] = []
    for combination in combinations:
        # each in a state of its own: the created objects have the same names in all
        frame.state = outer.fork()
        try:
            result = join(result, rule(combination))
            states.append(frame.state)
            if frame.failures.get(site.op) is known:
                succeeded = True
            else:
                # a function called by the rule failed for this alternative
                noted = frame.failures.pop(site.op)
        except OperationError as error:
            failure = error
        finally:
            frame.state = outer
    if any(state.heap for state in states):
        outer.merge(states)
    if noted is not None and not succeeded:
        site.fails(noted)
    elif failure is not None and not succeeded:
        return _failed(site, operation, failure, numbers)
    return result if combinations else UNKNOWN


def _sizes(site: Site) -> list[Dim]:
    """The sizes of an operation's operands."""
    operands: list[Value] = []
    match site.operation(site.op):
        case ops.Call(arguments=arguments):
            operands = [site.frame.value(argument.value) for argument in arguments]
        case ops.Binary(left=left, right=right) | ops.Compare(left=left, right=right):
            operands = [site.frame.value(left), site.frame.value(right)]
    parts = (part for value in operands for each in members(value) for part in _parts(site.frame, each))
    return [size for part in parts if isinstance(part, TensorValue) for size in part.type.shape or ()]


def _parts(frame: Frame, value: Value) -> tuple[Value, ...]:
    frozen = freeze(frame, value)
    return (elements(frozen) or ()) if is_sequence(frozen) else (frozen,)


def _failed(site: Site, operation: str, error: OperationError, numbers: list[Dim]) -> Value:
    sizes = [*numbers, *_sizes(site)]
    held = _in_files(sizes)
    options: dict[str, int] = {}
    for size in sizes:
        options.update(
            {
                name: number
                for name, number in defaults_of(size).items()
                if not held or name not in numbers_of_files(size)
            }
        )
    defaults = (
        f" (by default, {', '.join(f'{name} is {number}' for name, number in options.items())})" if options else ""
    )
    failure = FailureFact(site.op, error.kind, error.message + defaults, operation, error.only, bool(options), held)
    site.fails(failure)
    return UNKNOWN_TENSOR


_MOST_NUMBERS: Final = 3


def _in_files(sizes: Sequence[Dim]) -> str:
    """The contents of data files from which these sizes are computed; empty if there are none."""
    by_file: dict[str, dict[str, int]] = {}
    for size in sizes:
        numbers = defaults_of(size)
        for name, file in numbers_of_files(size).items():
            by_file.setdefault(file, {})[name] = numbers[name]
    parts = []
    for file, found in by_file.items():
        told = [f"`{name}` = {number}" for name, number in list(found.items())[:_MOST_NUMBERS]]
        parts.append(f"with {' and '.join(told)} in {file}")
    return ", ".join(parts)
