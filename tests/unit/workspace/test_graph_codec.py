"""Objects that refer to each other come back from their bytes; nothing else comes from any bytes."""

from __future__ import annotations

import marshal
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from terra_refactor.domain.state import Suspect
from terra_refactor.domain.value import Constant, Reference, TupleValue
from terra_refactor.ir.ids import FunctionId
from terra_refactor.ir.program import Program
from terra_refactor.workspace.graph_codec import CodecError, decode, encode
from terra_refactor.workspace.kept_analysis import names_for


class _NoImports:
    def resolve(self, importing_module: str, name: str, level: int) -> str | None:
        return None


NAMES = names_for(Program({}, _NoImports()))


def there_and_back(value: object) -> Any:
    return decode(encode(value, NAMES), NAMES)


def exact(value: object) -> object:
    """A text of it with its types, in which sets have an order."""
    match value:
        case frozenset():
            return "frozenset", sorted(str(exact(part)) for part in value)
        case tuple() | list():
            return type(value).__name__, [exact(part) for part in value]
        case dict():
            return "dict", [(exact(key), exact(part)) for key, part in value.items()]
        case _:
            return repr(value)


ATOMS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(),
    st.binary(),
    st.just(...),
    st.just(-0.0),
)
HASHABLE = st.recursive(
    ATOMS,
    lambda parts: st.one_of(
        st.lists(parts, max_size=4).map(tuple),
        st.frozensets(parts, max_size=4),
        st.builds(FunctionId, st.text(max_size=3), st.integers()),
        st.lists(st.builds(Reference, st.integers()), max_size=3).map(lambda values: TupleValue(tuple(values))),
    ),
    max_leaves=12,
)
DATA = st.recursive(
    HASHABLE,
    lambda parts: st.one_of(st.lists(parts, max_size=4), st.dictionaries(HASHABLE, parts, max_size=4)),
    max_leaves=20,
)


@given(DATA)
def test_what_is_written_is_read(value: object) -> None:
    assert exact(there_and_back(value)) == exact(value)


def test_equal_numbers_of_other_types_stay_apart() -> None:
    values = [1, True, 1.0, 1 + 0j, 0.0, -0.0, Constant(1), Constant(value=True)]
    assert repr(there_and_back(values)) == repr(values)
    assert math.isnan(there_and_back([math.nan])[0])


def test_what_can_change_is_one_object_for_all_who_hold_it() -> None:
    shared: list[int] = [1]
    suspect = Suspect()
    made = there_and_back([shared, (shared,), suspect, suspect, [1]])
    assert made[0] is made[1][0] and made[2] is made[3] and made[0] is not made[4]


def test_what_cannot_change_is_written_once() -> None:
    one, other = FunctionId("m", 1), FunctionId("m", 1)
    made = there_and_back([one, other])
    assert one is not other and made[0] is made[1]


@pytest.mark.parametrize(
    "value",
    [object(), open, lambda: 0, int, [pytest], {1: Program({}, _NoImports())}],
    ids=["object", "builtin", "lambda", "class", "module", "program"],
)
def test_what_is_no_data_is_refused(value: object) -> None:
    with pytest.raises(CodecError):
        encode(value, NAMES)


def test_a_circle_is_refused() -> None:
    circle: list[object] = []
    circle.append((circle,))
    with pytest.raises(CodecError):
        encode(circle, NAMES)


def _of_kind(kind: str, count: int, columns: object) -> bytes:
    return marshal.dumps((("atoms", kind), [(0, 2, ["os", "system"]), (1, count, columns)], 2))


@pytest.mark.parametrize(
    "kind",
    [
        "os:system",
        "subprocess:Popen",
        "workspace.cache:LoweringCache",
        "ir.program:Program",
        "domain.value:os",
        "object",
        "function",
        "Question",
    ],
)
def test_no_bytes_lead_to_what_is_no_data(kind: str) -> None:
    with pytest.raises((CodecError, LookupError, TypeError, ValueError)):
        decode(_of_kind(kind, 1, (b"\0\0\0\0",)), NAMES)


@pytest.mark.parametrize("damage", [lambda data: data[:-7], lambda data: b"", lambda data: b"\xff" + data[1:]])
def test_bytes_that_are_no_form_are_refused(damage: Callable[[bytes], bytes]) -> None:
    with pytest.raises(CodecError):
        decode(damage(encode([1, "two", (3.0,)], NAMES)), NAMES)
