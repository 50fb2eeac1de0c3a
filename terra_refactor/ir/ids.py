"""Identities of the parts of the IR.

Computes: nothing. Gives: the keys by which facts are stored. They are small, ordered and picklable, never CST nodes,
so that facts can be sent to a worker process or stored in the cache, and remain valid after an edit of another
function.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import TypeAlias

OpId: TypeAlias = int
"""Number of an operation, dense from 0 within one function: also the number of the temporary that holds its result."""


@dataclass(frozen=True, slots=True, order=True)
class FunctionId:
    """One `def`, `lambda`, class body or module body."""

    module: str
    """Name of the module in its repository, for example `pkg.train`."""
    index: int
    """Number of the function within its module, derived from its qualified name: editing, adding or removing another
    function does not change it. 0 is the module's own body. The numbers are not in source order.
    """

    def __str__(self) -> str:
        return f"{self.module}#{self.index}"


def source_name(name: str) -> str:
    """The name of a variable as written: a comprehension's variable `x` is `x%3` in the IR."""
    return name[:1] + name[1:].partition("%")[0]


def numbers_of(qualnames: Iterable[str]) -> tuple[int, ...]:
    """The numbers of functions with these qualified names, which are given in source order. Functions of the same name
    are numbered by their order.
    """
    given, earlier = {0}, Counter[str]()
    numbers: list[int] = []
    for qualname in qualnames:
        name = f"{qualname}\0{earlier[qualname]}"
        earlier[qualname] += 1
        number = int.from_bytes(blake2b(name.encode("utf-8", "surrogatepass"), digest_size=4).digest(), "big")
        while number in given:
            number += 1
        given.add(number)
        numbers.append(number)
    return tuple(numbers)
