"""Which methods may read an attribute of their own object is found in one pass over the program, however many attributes are asked for."""

from __future__ import annotations

from collections import Counter

from analysis_support import analyze_text

from terra_refactor.facts.class_families import ClassFamilies
from terra_refactor.facts.code import CodeFacts
from terra_refactor.facts.codes import Codes
from terra_refactor.ir.ids import FunctionId

TEXT = """
class Base:
    def shown(self):
        return dict(self.__dict__)

class Own(Base):
    def __init__(self):
        self.own = 1

class Other:
    def __init__(self):
        self.other = 2

def sets(thing):
    thing.foreign = 3
    thing.own_and_foreign = 4

class Both:
    def __init__(self):
        self.own_and_foreign = 5
"""


def test_each_function_is_looked_at_once_for_all_attributes() -> None:
    program = analyze_text(TEXT).program
    codes = Codes(program)
    looked: Counter[FunctionId] = Counter()

    def index_of(identity: FunctionId) -> CodeFacts:
        looked[identity] += 1
        return codes.of(identity)

    families = ClassFamilies(program, index_of)
    reader = next(
        each.id for module in program.modules.values() for each in module.functions if each.qualname == "Base.shown"
    )
    answers = {
        name: families.may_read(reader, name) for name in ("own", "other", "foreign", "own_and_foreign", "nowhere")
    }
    # an object of another family does not meet the reader; what something else sets, or nothing, may be on any object
    assert answers == {"own": True, "other": False, "foreign": True, "own_and_foreign": True, "nowhere": True}
    assert max(looked.values()) <= 2  # once for who sets what, once for the families
