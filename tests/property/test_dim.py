"""Laws of arithmetic on sizes, on generated polynomials and checked by evaluating them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from terra_refactor.domain import dim as dims
from terra_refactor.domain.dim import Dim, SymbolicDim, Truth, symbol

NAMES = ("n", "m", "h")

atoms: st.SearchStrategy[Dim] = st.one_of(st.integers(-4, 6), st.sampled_from([symbol(name) for name in NAMES]))
polynomials = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.builds(dims.add, inner, inner),
        st.builds(dims.multiply, inner, inner),
        st.builds(dims.subtract, inner, inner),
    ),
    max_leaves=6,
)
sizes = st.one_of(polynomials, st.none())
environments = st.fixed_dictionaries({name: st.integers(0, 5) for name in NAMES})


def evaluate(dim: Dim, environment: dict[str, int]) -> int:
    """The value of a known size where the symbols have these values."""
    assert dim is not None
    if isinstance(dim, int):
        return dim
    total = 0
    for monomial, factor in dim.terms:
        product = factor
        for name in monomial:
            product *= environment[name]
        total += product
    return total


@given(sizes, sizes)
def test_addition_and_multiplication_commute(left: Dim, right: Dim) -> None:
    assert dims.add(left, right) == dims.add(right, left)
    assert dims.multiply(left, right) == dims.multiply(right, left)


@given(polynomials, polynomials, polynomials)
def test_arithmetic_is_a_ring(a: Dim, b: Dim, c: Dim) -> None:
    assert dims.add(dims.add(a, b), c) == dims.add(a, dims.add(b, c))
    assert dims.multiply(dims.multiply(a, b), c) == dims.multiply(a, dims.multiply(b, c))
    assert dims.multiply(a, dims.add(b, c)) == dims.add(dims.multiply(a, b), dims.multiply(a, c))
    assert dims.subtract(a, a) == 0


@given(polynomials, polynomials, environments)
def test_arithmetic_means_what_it_says(a: Dim, b: Dim, environment: dict[str, int]) -> None:
    x, y = evaluate(a, environment), evaluate(b, environment)
    assert evaluate(dims.add(a, b), environment) == x + y
    assert evaluate(dims.subtract(a, b), environment) == x - y
    assert evaluate(dims.multiply(a, b), environment) == x * y


@given(polynomials, polynomials, environments)
def test_division_is_exact_where_it_is_known(a: Dim, b: Dim, environment: dict[str, int]) -> None:
    quotient = dims.divide_exactly(a, b)
    divisor = evaluate(b, environment)
    if quotient is not None and divisor:
        assert evaluate(quotient, environment) * divisor == evaluate(a, environment)


@given(polynomials, polynomials, environments)
def test_three_valued_comparison_is_never_wrong(a: Dim, b: Dim, environment: dict[str, int]) -> None:
    same = evaluate(a, environment) == evaluate(b, environment)
    answer = dims.equal(a, b)
    assert answer is Truth.UNKNOWN or same == (answer is Truth.YES)
    assert dims.equal(b, a) is answer


CHOSEN = {f"${name}": dims.chosen(name) for name in ("h", "d")}
with_chosen = st.recursive(
    st.one_of(atoms, st.sampled_from(list(CHOSEN.values()))),
    lambda inner: st.one_of(
        st.builds(dims.add, inner, inner),
        st.builds(dims.multiply, inner, inner),
        st.builds(dims.subtract, inner, inner),
    ),
    max_leaves=6,
)
numbers = st.fixed_dictionaries(
    {name: st.integers(-3, 5) for name in CHOSEN} | {name: st.integers(0, 5) for name in NAMES}
)


@given(with_chosen, with_chosen, numbers)
def test_chosen_sizes_differ_only_where_they_do_from_2_on(a: Dim, b: Dim, environment: dict[str, int]) -> None:
    same = evaluate(a, environment) == evaluate(b, environment)
    if all(environment[name] >= 2 for name in CHOSEN):
        answer = dims.equal(a, b)
        assert answer is Truth.UNKNOWN or same == (answer is Truth.YES)
    number = dims.same_number(a, b)
    assert number is Truth.UNKNOWN or same == (number is Truth.YES)


def test_a_chosen_size_is_not_its_double() -> None:
    h, d, n = CHOSEN["$h"], CHOSEN["$d"], symbol("n")
    for other in (dims.multiply(h, 2), dims.add(h, d), dims.multiply(h, d), dims.subtract(h, 1), 1):
        assert dims.equal(h, other) is Truth.NO
    for other in (d, n, 7, dims.multiply(n, h)):
        assert dims.equal(h, other) is Truth.UNKNOWN
    assert dims.same_number(h, dims.multiply(h, 2)) is Truth.UNKNOWN
    assert dims.format_dim(dims.add(dims.multiply(h, 2), 1)) == "2*h + 1"


def test_a_number_of_a_file_is_one_or_more() -> None:
    h, other = dims.loaded("a.json", "h"), dims.loaded("b.json", "h")
    for different in (dims.multiply(h, 2), dims.add(h, 1), dims.add(h, other), 0):
        assert dims.equal(h, different) is Truth.NO
    for open_one in (other, 1, 7, dims.multiply(h, other)):
        assert dims.equal(h, open_one) is Truth.UNKNOWN
    assert dims.equal(dims.loaded("a.json", "h", 2), 1) is Truth.NO
    assert dims.same_number(h, dims.multiply(h, 2)) is Truth.UNKNOWN
    assert dims.format_dim(dims.multiply(h, 2)) == "2*h"
    assert dims.loaded_name(h) == ("a.json", "h")
    assert dims.loaded_name(dims.multiply(h, 2)) is dims.loaded_name(symbol("h")) is None


@given(sizes)
def test_a_size_equals_itself_unless_unknown(dim: Dim) -> None:
    assert dims.equal(dim, dim) is (Truth.UNKNOWN if dim is None else Truth.YES)


@given(polynomials)
def test_normal_forms_are_constants_only_where_constant(dim: Dim) -> None:
    if isinstance(dim, SymbolicDim):
        assert any(monomial for monomial, _ in dim.terms)
        assert all(factor for _, factor in dim.terms)
    assert dims.format_dim(dim)
