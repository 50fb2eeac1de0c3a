"""The indented text is that of Python's own encoder, for all that reports hold."""

from __future__ import annotations

import dataclasses
import enum
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from terra_refactor.report.indented import indented_json
from terra_refactor.report.to_json import plain

_TEXTS = st.text() | st.sampled_from(["\ud800", '"\\\n\x7f', "\u2028"])
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(_TEXTS, inner) | st.tuples(inner, inner),
)


@dataclasses.dataclass(frozen=True, slots=True)
class _Empty:
    pass


@dataclasses.dataclass(frozen=True, slots=True)
class _Record:
    name: str
    left_out: Any = dataclasses.field(default=None, metadata={"optional": True})
    members: tuple[Any, ...] = ()


class _Word(str, enum.Enum):
    WORD = "wörd"


@given(_VALUES)
def test_values(value: Any) -> None:
    assert indented_json(value) == json.dumps(value, indent=2, ensure_ascii=False)


@given(_VALUES, _VALUES)
def test_records(first: Any, second: Any) -> None:
    for record in (_Record("", first), _Record("a", None, (_Empty(), _Record("b", second))), {"of": _Word.WORD}):
        assert indented_json(record) == json.dumps(plain(record), indent=2, ensure_ascii=False)


@pytest.mark.parametrize("value", [object(), {1: 2}, [b"bytes"]])
def test_what_json_does_not_know(value: Any) -> None:
    with pytest.raises(TypeError):
        indented_json(value)
