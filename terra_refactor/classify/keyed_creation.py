"""Variables, layers or optimizers that are created once per key or once per object, and whether later calls have new ones.

Computes: the inputs of the tested key, and the creation of the object, through the calls that lead there. Needs: the
facts of the program. Gives: `made_for_each`, `is_made_in_call`, `is_made_again`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet

from terra_refactor.analysis.facts import ContextFacts, ProgramFacts
from terra_refactor.domain.effect import EffectSite
from terra_refactor.domain.value import Constant, Reference, Value, members
from terra_refactor.facts.code import CodeFacts
from terra_refactor.facts.records import Call, ItemRead, NameRead, RegionKind
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.function import Function, FunctionKind
from terra_refactor.ir.ids import FunctionId, OpId


def made_for_each(
    facts: ProgramFacts,
    codes: Callable[[FunctionId], CodeFacts],
    views: Callable[[ContextFacts], ContextView],
    chain: Sequence[EffectSite],
) -> str | None:
    """The parameter of the outermost function for each of whose values an object is created under a test at the end
    of a chain of calls.

    Empty: calls pass several keys to each function on the path. A parameter: other code may call it with several
    values. None: neither.
    """
    *_, (code, names) = steps = list(_steps(facts, codes, views, chain))
    if all(_are_several(facts, inner.function, read) for inner, read in steps):
        return ""
    found = facts.functions[code.function.id]
    own = 1 if code.function.kind is FunctionKind.METHOD else 0
    open_names = [each.name for each in found.parameters[own:] if each.name in names]
    return open_names[0] if open_names and (found.open_callers or not found.callers) else None


def is_made_again(
    facts: ProgramFacts,
    codes: Callable[[FunctionId], CodeFacts],
    views: Callable[[ContextFacts], ContextView],
    is_guarded: Callable[[Function, OpId], bool],
    chain: Sequence[EffectSite],
) -> bool:
    """Whether later calls create again what a chain of calls creates under a test for missing state."""
    return made_for_each(facts, codes, views, chain) is not None or is_made_in_call(
        facts, codes, views, is_guarded, chain
    )


def is_made_in_call(
    facts: ProgramFacts,
    codes: Callable[[FunctionId], CodeFacts],
    views: Callable[[ContextFacts], ContextView],
    is_guarded: Callable[[Function, OpId], bool],
    chain: Sequence[EffectSite],
) -> bool:
    """Whether the object of the method at the end of a chain of calls is created on the way in each call: what the
    method does the first time for its object, it does in each call.
    """
    functions = [FunctionId(site.module, site.function) for site in chain]
    inner = codes(functions[-1]).function
    if inner.kind is not FunctionKind.METHOD:
        return False
    parameter = inner.parameters[0].name
    for position in range(len(chain) - 2, -1, -1):
        callers = [views(context) for context in facts.contexts_of(functions[position])]
        number = _given_for(callers, inner, parameter, chain[position].op)
        if number is None:
            return False
        given = {member for caller in callers for member in members(caller.value(number))}
        made = [facts.objects[each.object] for each in given if isinstance(each, Reference)]
        if (
            made
            and len(made) == len(given)
            and all(
                each.function is not None
                and each.op is not None
                and each.function in functions[: position + 1]
                and not is_guarded(codes(each.function).function, each.op)
                for each in made
            )
        ):
            return True
        inner, read = callers[0].function, callers[0].origin(number)
        if not isinstance(read, NameRead) or not callers[0].code.has_parameter(read.name):
            return False
        parameter = read.name
    return False


def _given_for(callers: Sequence[ContextView], inner: Function, parameter: str, at: OpId) -> OpId | None:
    """What a call passes for a parameter of a function, its object included."""
    call = callers[0].made(at) if callers else None
    if not isinstance(call, Call):
        return None
    if inner.kind is FunctionKind.METHOD and parameter == inner.parameters[0].name:
        return call.function if call.owner is None else call.owner
    return callers[0].given_for(call, inner, parameter)


def _steps(
    facts: ProgramFacts,
    codes: Callable[[FunctionId], CodeFacts],
    views: Callable[[ContextFacts], ContextView],
    chain: Sequence[EffectSite],
) -> Iterator[tuple[CodeFacts, AbstractSet[str]]]:
    """The functions on a chain of calls from the test outwards, each with the variables from which the tested key is computed."""
    code = codes(FunctionId(chain[-1].module, chain[-1].function))
    tests = [region.subject for region in code.around(chain[-1].op) if region.kind is RegionKind.IF]
    names = _read_by(code, [test for test in tests if test is not None])
    for site in reversed(chain[:-1]):
        yield code, names
        outer = FunctionId(site.module, site.function)
        names = _given_from(code, names, [views(context) for context in facts.contexts_of(outer)], site.op)
        code = codes(outer)
    yield code, names


def _are_several(facts: ProgramFacts, code: Function, names: AbstractSet[str]) -> bool:
    """Whether calls pass several values for one of these parameters."""
    own = 1 if code.kind is FunctionKind.METHOD else 0
    return any(
        parameter.name in names and len(parameter.values) > 1 for parameter in facts.functions[code.id].parameters[own:]
    )


def _given_from(code: CodeFacts, names: AbstractSet[str], callers: Sequence[ContextView], at: OpId) -> set[str]:
    """The variables of the calling function from which the arguments for these parameters are computed, if they vary."""
    values: dict[OpId, set[Value]] = {}
    for view in callers:
        for number in _arguments(view, code, names, at):
            values.setdefault(number, set()).add(view.value(number))
    varying = [
        number for number, found in values.items() if len(found) > 1 or not all(isinstance(v, Constant) for v in found)
    ]
    return _read_by(callers[0].code, varying) if callers else set()


def _arguments(view: ContextView, code: CodeFacts, names: AbstractSet[str], at: OpId) -> list[OpId]:
    """The arguments that a call, or an item read that calls `__getitem__`, passes for these parameters."""
    match view.code.facts[at]:
        case Call() as call if at in view.calls:
            given = (view.given_for(call, code.function, name) for name in names if code.has_parameter(name))
            return [number for number in given if number is not None]
        case ItemRead(index=index) if code.function.name == "__getitem__":
            return [index]
        case _:
            return []


def _read_by(code: CodeFacts, numbers: Sequence[OpId]) -> set[str]:
    return {fact.name for number in numbers for fact in code.behind(number) if isinstance(fact, NameRead)}
