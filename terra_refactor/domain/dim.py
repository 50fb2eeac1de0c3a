"""Sizes of axes: known, symbolic, or unknown.

Computes: arithmetic and three-valued comparison of sizes. Gives: `Dim`, which is an `int`, a `SymbolicDim` (a normalised polynomial over
symbols, for example `2*n + 1` or `h*w*c`), an `OpenDim`, or None if unknown. Two equal symbols are the same size; two different ones may
or may not be. Sizes are never negative; symbols are sizes, so they are at least 0.

A *chosen* symbol is a number that the user of the program chooses, an option of its command line or a number of a
configuration file. As a size an option is assumed to be 2 or more, so that `h` and `2*h` differ, and the number of a
file 1 or more; as a number, neither is restricted (`same_number`). An option has a default, too: two sizes also
differ if they differ with all defaults (`at_defaults`). The default of a number from a data file is its present value
(`numbers_of_files`).

A size has two views (adr/0012): its value in eager execution, and its static value while a graph is traced. They are the same except for
an `OpenDim`, which is unknown to TensorFlow during the trace. Arithmetic computes both; comparisons are about the eager view.

Ignores: anything but integer polynomials. Other expressions are None.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias


class Truth(Enum):
    """The answer to a question that may be undecidable: yes, no or unknown."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


Monomial: TypeAlias = tuple[str, ...]
"""A product of symbols, sorted, with repetition: `("c", "h", "w")` is `c*h*w`; `()` is 1."""


@dataclass(frozen=True, slots=True)
class SymbolicDim:
    """A polynomial over symbols with integer coefficients, normalised: sorted by monomial, no zero coefficient, not constant."""

    terms: tuple[tuple[Monomial, int], ...]

    def __str__(self) -> str:
        return format_dim(self)


class Why(Enum):
    """The reason why a size is unknown while a graph is traced."""

    __hash__ = object.__hash__

    DECLARED = "declared"
    """A signature or spec has None there."""
    BATCH = "batch"
    """It is the batch size of a dataset, whose last batch may be smaller."""
    CONTENT = "content"
    """It depends on the content of a tensor."""


_WHYS: Final = tuple(Why)
"""If there are several reasons, the last one is kept."""


@dataclass(frozen=True, slots=True)
class OpenDim:
    """A size that is not static while a graph is traced; its eager value may be known.

    `roots` says which graph is meant, relative to the function that sees the size (`domain/traced.py`). `is_tensor`:
    it is the value of a Python int that is a tensor in the graph (`len(x)`); otherwise it is None there
    (`x.shape[0]`).
    """

    size: int | SymbolicDim | None
    roots: int
    why: Why
    is_tensor: bool = False

    def __str__(self) -> str:
        return format_dim(self.size)


Dim: TypeAlias = int | SymbolicDim | OpenDim | None


def eager(dim: Dim) -> int | SymbolicDim | None:
    """The size in eager execution."""
    return dim.size if isinstance(dim, OpenDim) else dim


def roots_of(dim: Dim) -> int:
    """The graphs for which the size is open; 0 if none."""
    return dim.roots if isinstance(dim, OpenDim) else 0


def opened(dim: Dim, roots: int, why: Why, *, is_tensor: bool = False) -> Dim:
    """The size, open for these graphs as well."""
    if not roots:
        return dim
    if isinstance(dim, OpenDim):
        why = max(dim.why, why, key=_WHYS.index)
        return OpenDim(dim.size, dim.roots | roots, why, dim.is_tensor and is_tensor)
    return OpenDim(dim, roots, why, is_tensor)


def as_open(size: Dim, *sources: Dim) -> Dim:
    """A size that is computed from others: open if one of those is."""
    result: Dim = eager(size)
    for source in sources:
        if isinstance(source, OpenDim):
            result = opened(result, source.roots, source.why)
    return result


def symbol(name: str) -> SymbolicDim:
    """The size called `name`."""
    return SymbolicDim((((name,), 1),))


_CHOSEN: Final = "$"
"""First character of the symbols of options; no identifier contains it, and it is not shown."""
_LOADED: Final = {1: "%", 2: "&"}
"""First character of the symbols of numbers from files, by their minimum; no identifier contains it."""
_ANY: Final = "~"
"""First character of the symbols of options with a minimum of 1, and of non-polynomial expressions of options."""
_WHERE: Final = "\n"
"""Separates the identity of a symbol, which is not shown, from its name."""
_BY_DEFAULT: Final = "\f"
"""Separates the name of a symbol from its default."""
_IN_FILE: Final = "\v"
"""Separates the default from the file that holds it."""
_LONGEST: Final = 400
_CEIL: Final = "/^"
_LEAST: Final = {_CHOSEN: 2} | {first: least for least, first in _LOADED.items()}
"""The minimum of a symbol, by the first character of its name; 0 for all others."""


def chosen(name: str, default: int | None = None) -> SymbolicDim:
    """The symbol of an option called `name`, which the user of the program chooses, with its default if it has one."""
    if default is None:
        return symbol(_CHOSEN + name)
    return symbol(f"{_CHOSEN if default >= _LEAST[_CHOSEN] else _ANY}{_WHERE}{name}{_BY_DEFAULT}{default}")


def loaded(source: str, name: str, least: int = 1, default: int | None = None, file: str = "") -> SymbolicDim:
    """A loaded number, shown as `name`; `source` is its place and file.

    Its minimum is `least` (1 or 2). `default` is its value without an environment variable, or in the present `file`.
    """
    usual = "" if default is None else f"{_BY_DEFAULT}{default}" + (f"{_IN_FILE}{file}" if file else "")
    if not name.isprintable():
        name = "..."  # a key may contain the separators of a symbol's parts
    return symbol(f"{_LOADED[least]}{source}{_WHERE}{name}{usual}")


def loaded_name(dim: Dim) -> tuple[str, str] | None:
    """Source and name of a size that is an unchanged number of a file; None for any other size."""
    dim = eager(dim)
    match dim:
        case SymbolicDim(terms=(((str() as name,), 1),)) if name[0] in _LOADED.values():
            source, _, own = name[1:].partition(_WHERE)
            return source, own.partition(_BY_DEFAULT)[0]
        case _:
            return None


KEPT_MARK: Final = "\r="
"""In the source of a loaded number: prefix of the default's text."""


def is_kept_by(dim: Dim, number: object) -> bool:
    """Whether `number` is the default of a loaded number, so that it is a possible value in any case."""
    known = loaded_name(dim)
    return known is not None and type(number) is int and known[0].endswith(f"{KEPT_MARK}{number!r}")


def is_chosen(dim: Dim) -> bool:
    """Whether a size depends on a number that the user of the program chooses."""
    dim = eager(dim)
    return isinstance(dim, SymbolicDim) and any(
        name[0] in _LEAST or name[0] == _ANY for monomial, _ in dim.terms for name in monomial
    )


def defaults_of(dim: Dim) -> dict[str, int]:
    """The options on which a size depends, by their displayed names, with their defaults."""
    dim = eager(dim)
    names = {name for monomial, _ in dim.terms for name in monomial} if isinstance(dim, SymbolicDim) else set()
    return {_shown(name): default for name in sorted(names) if (default := _by_default(name)) is not None}


def _by_default(name: str) -> int | None:
    text = name.rpartition(_BY_DEFAULT)[2].partition(_IN_FILE)[0] if _BY_DEFAULT in name else ""
    return int(text) if text else None


def numbers_of_files(dim: Dim) -> dict[str, str]:
    """The numbers of data files on which a size depends, by their displayed names, with the files."""
    dim = eager(dim)
    names = {name for monomial, _ in dim.terms for name in monomial} if isinstance(dim, SymbolicDim) else set()
    return {_shown(name): name.rpartition(_IN_FILE)[2] for name in sorted(names) if _IN_FILE in name}


def at_defaults(dim: Dim) -> int | None:
    """The size in the run of the program with all options at their defaults; None if unknown."""
    dim = eager(dim)
    if not isinstance(dim, SymbolicDim):
        return dim
    total = 0
    for monomial, factor in dim.terms:
        product = factor
        for name in monomial:
            default = _by_default(name)
            if default is None:
                return None
            product *= default
        total += product
    return total


_NOTED: ContextVar[list[Dim] | None] = ContextVar("sizes that an answer depends on", default=None)


@contextmanager
def noting_numbers_of_files() -> Iterator[list[Dim]]:
    """Collects, for all queries inside, the sizes that differ only because of the present contents of files."""
    found: list[Dim] = []
    token = _NOTED.set(found)
    try:
        yield found
    finally:
        _NOTED.reset(token)


def note_numbers_of_files(*dims: Dim) -> None:
    """Records that an answer depends on the defaults of these sizes."""
    noted = _NOTED.get()
    if noted is not None:
        noted.extend(dim for dim in dims if numbers_of_files(dim))


def _computed(left: Dim, operation: str, right: Dim, value: Callable[[int, int], int]) -> SymbolicDim | None:
    """A non-polynomial function of options, whose default is computed if all of them have defaults."""
    one, other = at_defaults(left), at_defaults(right)
    if one is None or other is None or one < 0 or other <= 0:
        return None
    if not (is_chosen(left) or is_chosen(right)):
        return None
    sides = [side.terms if isinstance(side, SymbolicDim) else side for side in (left, right)]
    shown = [text if " " not in text and "*" not in text else f"({text})" for text in map(format_dim, (left, right))]
    written = f"ceil({'/'.join(shown)})" if operation == _CEIL else f"({operation.join(shown)})"
    name = f"{_ANY}{operation}{sides!r}{_WHERE}{written}"
    files = ", ".join(sorted({*numbers_of_files(left).values(), *numbers_of_files(right).values()}))
    usual = f"{_BY_DEFAULT}{value(one, other)}" + (f"{_IN_FILE}{files}" if files else "")
    return symbol(f"{name}{usual}") if len(name) < _LONGEST else None


def _above_least(dim: SymbolicDim) -> dict[Monomial, int]:
    """The terms with each chosen symbol `s` replaced by `s + 2` (or 1), so that all symbols are at least 0."""
    total: dict[Monomial, int] = {}
    for monomial, factor in dim.terms:
        product: dict[Monomial, int] = {(): factor}
        for name in monomial:
            raised = {(*part, name): value for part, value in product.items()}
            if least := _LEAST.get(name[0]):
                for part, value in product.items():
                    raised[part] = raised.get(part, 0) + value * least
            product = raised
        for part, value in product.items():
            total[part] = total.get(part, 0) + value
    return total


def _terms(dim: int | SymbolicDim) -> dict[Monomial, int]:
    if isinstance(dim, int):
        return {(): dim} if dim else {}
    return dict(dim.terms)


def _normal(terms: dict[Monomial, int]) -> int | SymbolicDim:
    kept = {monomial: factor for monomial, factor in terms.items() if factor}
    if not kept:
        return 0
    if len(kept) == 1 and () in kept:
        return kept[()]
    return SymbolicDim(tuple(sorted(kept.items())))


def add(left: Dim, right: Dim) -> Dim:
    """`left + right`; None if either is unknown."""
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    if isinstance(left, OpenDim) or isinstance(right, OpenDim):
        return as_open(add(eager(left), eager(right)), left, right)
    if left is None or right is None:
        return None
    terms = _terms(left)
    for monomial, factor in _terms(right).items():
        terms[monomial] = terms.get(monomial, 0) + factor
    return _normal(terms)


def negate(dim: Dim) -> Dim:
    """`-dim`."""
    if dim is None:
        return None
    return multiply(dim, -1)


def subtract(left: Dim, right: Dim) -> Dim:
    """`left - right`; None if either is unknown."""
    return add(left, negate(right))


def multiply(left: Dim, right: Dim) -> Dim:
    """`left * right`; 0 if either is 0, else None if either is unknown."""
    if left == 0 or right == 0:
        return 0
    if isinstance(left, int) and isinstance(right, int):
        return left * right
    if isinstance(left, OpenDim) or isinstance(right, OpenDim):
        return as_open(multiply(eager(left), eager(right)), left, right)
    if left is None or right is None:
        return None
    product: dict[Monomial, int] = {}
    for left_monomial, left_factor in _terms(left).items():
        for right_monomial, right_factor in _terms(right).items():
            monomial = tuple(sorted(left_monomial + right_monomial))
            product[monomial] = product.get(monomial, 0) + left_factor * right_factor
    return _normal(product)


def divide_exactly(left: Dim, right: Dim) -> Dim:
    """`left / right` where that is a polynomial with integer coefficients and `right` a single term; None otherwise."""
    if isinstance(left, OpenDim) or isinstance(right, OpenDim):
        return as_open(divide_exactly(eager(left), eager(right)), left, right)
    if left is None or right is None or right == 0:
        return None
    if left == right:
        return 1
    divisor = list(_terms(right).items())
    if len(divisor) != 1:
        return None
    (divisor_monomial, divisor_factor) = divisor[0]
    quotient: dict[Monomial, int] = {}
    for monomial, factor in _terms(left).items():
        rest = list(monomial)
        for name in divisor_monomial:
            if name not in rest:
                return None
            rest.remove(name)
        if factor % divisor_factor:
            return None
        quotient[tuple(rest)] = factor // divisor_factor
    return _normal(quotient)


def floor_divide(left: Dim, right: Dim) -> Dim:
    """`left // right` where it is exact or both are known; None otherwise."""
    if isinstance(left, int) and isinstance(right, int):
        return left // right if right else None
    if isinstance(left, OpenDim) or isinstance(right, OpenDim):
        return as_open(floor_divide(eager(left), eager(right)), left, right)
    exact = divide_exactly(left, right)
    return _computed(left, "//", right, operator.floordiv) if exact is None else exact


def ceil_divide(left: Dim, right: Dim) -> Dim:
    """`-(-left // right)` where it is exact or both are known; None otherwise."""
    if isinstance(left, int) and isinstance(right, int):
        return -(-left // right) if right else None
    if isinstance(left, OpenDim) or isinstance(right, OpenDim):
        return as_open(ceil_divide(eager(left), eager(right)), left, right)
    exact = divide_exactly(left, right)
    return _computed(left, _CEIL, right, lambda one, other: -(-one // other)) if exact is None else exact


def equal(left: Dim, right: Dim) -> Truth:
    """Whether two sizes are the same.

    YES for `n` and `n`; NO for `n` and `n + 1`; UNKNOWN for `n` and `m`, or `n` and 3. NO for `n + 4` and 3, since
    sizes are at least 0, and for `h` and `2*h` if `h` is chosen.
    """
    left, right = eager(left), eager(right)
    if left is None or right is None:
        return Truth.UNKNOWN
    difference = subtract(left, right)
    if isinstance(difference, int):
        return Truth.YES if difference == 0 else Truth.NO
    assert isinstance(difference, SymbolicDim)
    terms = _above_least(difference) if is_chosen(difference) else dict(difference.terms)
    factors = [factor for monomial, factor in terms.items() if monomial and factor]
    constant = terms.get((), 0)
    if (constant > 0 and all(factor > 0 for factor in factors)) or (
        constant < 0 and all(factor < 0 for factor in factors)
    ):
        return Truth.NO
    # the program has a run with all defaults
    if at_defaults(difference) in (None, 0):
        return Truth.UNKNOWN
    note_numbers_of_files(difference)
    return Truth.NO


def same_number(left: Dim, right: Dim) -> Truth:
    """Whether two Python ints are equal. A chosen one may be negative, 0 or 1."""
    if is_chosen(left) or is_chosen(right):
        difference = eager(subtract(left, right))
        if not isinstance(difference, int):
            return Truth.UNKNOWN
        return Truth.YES if difference == 0 else Truth.NO
    return equal(left, right)


def definitely_equal(left: Dim, right: Dim) -> bool:
    """True only if the two are equal in every run."""
    return equal(left, right) is Truth.YES


def definitely_different(left: Dim, right: Dim) -> bool:
    """True only if the two differ in every run."""
    return equal(left, right) is Truth.NO


def format_dim(dim: Dim) -> str:
    """`3`, `N`, `2*n + 1`, or `?` if unknown: the eager view."""
    dim = eager(dim)
    if dim is None:
        return "?"
    if isinstance(dim, int):
        return str(dim)
    parts: list[str] = []
    for monomial, factor in sorted(dim.terms, key=lambda term: (-len(term[0]), term[0])):
        magnitude = abs(factor)
        names = [_shown(name) for name in monomial]
        text = "*".join(names) if magnitude == 1 and names else "*".join([str(magnitude), *names])
        if parts:
            parts.append(" - " if factor < 0 else " + ")
        elif factor < 0:
            parts.append("-")
        parts.append(text)
    return "".join(parts)


def _shown(name: str) -> str:
    """The displayed name of a symbol."""
    return name.partition(_WHERE)[2].partition(_BY_DEFAULT)[0] if _WHERE in name else name.removeprefix(_CHOSEN)
