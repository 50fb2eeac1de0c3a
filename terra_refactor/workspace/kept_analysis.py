"""The stored state of a component's analysis, with which the next run analyses only invalidated parts.

Computes: the state of a `RepeatedJudge` as data, and a judge in that state. Needs: the modules that it judged last. Gives:
`keep_analysis`, `resumed_judge`, `keep_regions`, `regions_known_to`.

An editor keeps a judge for each component in memory; here the same judge is serialised and restored in another
process. The handling of edits is in `analysis/reuse.py` and `classify/answers.py` for both.
"""

from __future__ import annotations

import logging
import sys
import zlib
from collections.abc import Callable
from dataclasses import is_dataclass, replace
from enum import Enum
from types import FunctionType
from typing import Any, Final

from terra_refactor.analysis.log import Log
from terra_refactor.classify.answers import Question
from terra_refactor.config import Config
from terra_refactor.domain.state import Suspect
from terra_refactor.ir.function import Function
from terra_refactor.ir.ids import FunctionId
from terra_refactor.ir.program import ModuleIR, Program
from terra_refactor.rules.registry import all_rules
from terra_refactor.rules.rule import Rule
from terra_refactor.syntax.deep_stack import call_with_deep_stack
from terra_refactor.workspace.cache import LoweringCache, ResultCache
from terra_refactor.workspace.collection import without_collection
from terra_refactor.workspace.graph_codec import CodecError, Names, decode, encode
from terra_refactor.workspace.judgement import RepeatedJudge
from terra_refactor.workspace.kept_regions import KeptRegions

LOGGER = logging.getLogger(__name__)

_LENGTH: Final = 8
_ROOMS: Final = ("domain.", "ir.", "syntax.", "analysis.", "facts.", "rules.", "classify.", "tf_model.")
"""Packages whose data classes and enumerations may occur."""
_OTHERS: Final = (Log, Suspect)
"""Classes that are not declared as data, but hold only data in their slots."""
_PACKAGE: Final = "terra_refactor."
_OF_FUNCTIONS: Final = tuple(f"terra_refactor.{room}." for room in ("analysis", "facts", "rules", "classify"))


def _is_data(cls: type) -> bool:
    if not cls.__module__.startswith(_PACKAGE) or not cls.__module__.removeprefix(_PACKAGE).startswith(_ROOMS):
        return False
    return issubclass(cls, Enum) or cls in _OTHERS or (is_dataclass(cls) and "__slots__" in vars(cls))


def _name_of_class(cls: type) -> str:
    if not _is_data(cls):
        raise CodecError(f"a {cls.__module__}.{cls.__qualname__} is not stored data")
    return f"{cls.__module__.removeprefix(_PACKAGE)}:{cls.__qualname__}"


def _class_named(name: str) -> type:
    module, _, qualname = name.partition(":")
    found = vars(sys.modules.get(_PACKAGE + module, sys)).get(qualname)
    if not isinstance(found, type) or not _is_data(found) or found.__module__ != _PACKAGE + module:
        raise CodecError(f"no class {name}")
    return found


def names_for(program: Program) -> Names:
    """Objects that are written by name: functions of the program, and functions, queries and rules of this tool."""
    rules = all_rules()
    return Names(
        {
            Function: lambda function: (function.id.module, function.id.index),
            FunctionType: _name_of_code,
            Question: _name_of_question,
            Rule: lambda rule: rule.id,
        },
        {
            "Function": lambda name: program.function(FunctionId(*name)),
            "function": _code_named,
            "Question": _question_named,
            "Rule": rules.__getitem__,
        },
        _name_of_class,
        _class_named,
    )


def _name_of_code(function: FunctionType) -> tuple[str, str]:
    name = function.__module__, function.__qualname__
    if _code_named(name) is not function:
        raise CodecError(f"no function {name}")
    return name


def _code_named(name: tuple[str, str]) -> FunctionType:
    module, qualname = name
    if not module.startswith(_OF_FUNCTIONS):
        raise CodecError(f"no function {name}")
    found: Any = sys.modules[module]
    for part in qualname.split("."):
        found = vars(found).get(part)
    if not isinstance(found, FunctionType):
        raise CodecError(f"no function {name}")
    return found


def _name_of_question(question: Question[Any, Any, Any]) -> tuple[str, str]:
    module = question.answer.__module__
    for name, held in vars(sys.modules[module]).items():
        if held is question:
            return module, name
    raise CodecError("a question without a name")


def _question_named(name: tuple[str, str]) -> Question[Any, Any, Any]:
    module, variable = name
    if not module.startswith(_OF_FUNCTIONS):
        raise CodecError(f"no question {name}")
    found = vars(sys.modules[module])[variable]
    if not isinstance(found, Question):
        raise CodecError(f"no question {name}")
    return found


def keep_analysis(
    results: ResultCache, place: str, judge: RepeatedJudge, program: Program, check: Callable[[], None] = lambda: None
) -> None:
    """Stores the state of a judge for the next judgement of this component.

    `check` is called regularly, and may raise to cancel: then nothing is stored.
    """
    modules = [(module.name, module.path, module.is_package, module.digest) for module in program.modules.values()]
    names = names_for(program)
    with without_collection():
        head = encode(modules, names)
        body = zlib.compress(call_with_deep_stack(lambda: encode(judge.kept(), names, check)), 1)
    results.keep_analysis(place, len(head).to_bytes(_LENGTH, "big") + head + body)


def keep_regions(results: ResultCache, place: str, program: Program, regions: KeptRegions) -> None:
    """Stores the regions of a program whose analysis `keep_analysis` has stored."""
    results.keep_regions(_state(place, program), regions)


def regions_known_to(results: ResultCache, judge: RepeatedJudge) -> KeptRegions | None:
    """The stored regions of the program whose judge was restored, if there are any. The judge then checks whether its
    next program has the same dependencies.
    """
    kept = None if judge.restored_from is None else results.find_regions(judge.restored_from)
    if not isinstance(kept, KeptRegions):
        return None
    judge.expected = kept.seen
    return kept


def _state(place: str, program: Program) -> str:
    """A text that identifies a component and its texts."""
    return "\n".join((place, *sorted(f"{module.path} {module.digest}" for module in program.modules.values())))


def resumed_judge(
    results: ResultCache, lowered: LoweringCache, place: str, program: Program, config: Config
) -> RepeatedJudge | None:
    """A judge with the results of the last run on this component; None if there are no usable ones."""
    data = results.find_analysis(place)
    if data is None:
        return None
    try:
        with without_collection():
            size = int.from_bytes(data[:_LENGTH], "big")
            modules = decode(data[_LENGTH : _LENGTH + size], names_for(program))
            earlier = _earlier_program(modules, lowered, program)
            if earlier is None:
                return None
            kept = decode(zlib.decompress(data[_LENGTH + size :]), names_for(earlier))
            assert isinstance(kept, tuple)
            judge = RepeatedJudge.restored(kept, earlier, config)
            judge.restored_from = _state(place, earlier)
            return judge
    except Exception:  # an internal error: a full analysis runs instead, and it is logged
        LOGGER.exception("the stored results about %s cannot be used", ", ".join(sorted(program.modules)))
        return None


def _earlier_program(modules: Any, lowered: LoweringCache, program: Program) -> Program | None:
    """The earlier program, with the present modules where unchanged; None if a changed one is not stored."""
    found: dict[str, ModuleIR] = {}
    for name, path, is_package, digest in modules:
        now = program.modules.get(name)
        same = now is not None and (now.path, now.is_package, now.digest) == (path, is_package, digest)
        module = now if same else lowered.find(digest, name, path, is_package=is_package)
        if module is None:
            return None
        found[name] = module
    return replace(program, modules=found)
