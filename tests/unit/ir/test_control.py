"""Control flow as AutoGraph makes it, and the data flow on it: what AutoGraph's own passes say of the same programs."""

from __future__ import annotations

import textwrap

import pytest

from terra_refactor.ir import ops
from terra_refactor.ir.build.module import lower_module
from terra_refactor.ir.control import RESULT, RETURNED, ControlSite, Flow, NodeKind, flow_of
from terra_refactor.ir.dataflow import (
    GIVEN,
    UNBOUND_HERE,
    DefinitionKind,
    Definitions,
    carried,
    live_names,
    merged_by,
    reaching,
)
from terra_refactor.ir.function import Function
from terra_refactor.ir.walk import walk
from terra_refactor.syntax.parse import parse_module
from terra_refactor.syntax.source import source_from_text


def lowered(body: str) -> Function:
    text = "def f(x, flag):\n" + textwrap.indent(textwrap.dedent(body).strip("\n"), "    ") + "\n"
    module = lower_module(parse_module(source_from_text(text, "m.py")), "m")
    return next(function for function in module.functions if function.name == "f")


def names(flow: Flow, site: ControlSite) -> set[str]:
    live = live_names(flow)
    found = carried(site, live) if site.is_loop else merged_by(site, live)
    return {name for name in found if not name.startswith("%")}


def branches(flow: Flow) -> list[ControlSite]:
    return [site for site in flow.sites if not site.is_loop]


def loops(flow: Flow) -> list[ControlSite]:
    return [site for site in flow.sites if site.is_loop]


def definitions(flow: Flow) -> dict[int, Definitions]:
    return reaching(
        flow, frozenset({"x", "flag"}), lambda node: True, lambda *way: True, {}, {}, lambda name, each: False
    )


def test_a_store_that_continue_may_skip_does_not_end_a_life() -> None:
    flow = flow_of(
        lowered(
            """
            for i in x:
                if flag:
                    v = 1
                else:
                    v = 2
                if i:
                    continue
                v = 3
            return v
            """
        )
    )
    first, second, rest = branches(flow)
    assert names(flow, first) == {"v"}
    assert names(flow, second) == set(), "it only sets the flag"
    assert rest.flags == (f"%continue {loops(flow)[0].op}",)
    assert names(flow, rest) == {"v"}


def test_a_store_on_every_path_ends_a_life() -> None:
    flow = flow_of(lowered("if flag:\n    v = 1\nelse:\n    v = 2\nv = 3\nreturn v"))
    assert names(flow, branches(flow)[0]) == set()


@pytest.mark.parametrize(
    ("body", "guards"),
    [
        ("if flag:\n    return x\nreturn 1", 0),
        ("if flag:\n    y = 1\nelse:\n    return x\nreturn y", 0),
        ("if flag:\n    if x:\n        return 1\nreturn 2", 1),
        ("with flag:\n    return 1\nreturn 2", 1),
        ("if flag:\n    with x:\n        return 1\nreturn 2", 0),
    ],
)
def test_what_follows_a_branch_that_returns_moves_to_its_other_side(body: str, guards: int) -> None:
    flow = flow_of(lowered(body))
    assert sum(site.flags == (RETURNED,) for site in flow.sites) == guards


def test_what_is_returned_is_a_variable_that_a_side_may_leave_unbound() -> None:
    flow = flow_of(lowered("if flag:\n    if x:\n        return 1\nreturn 2"))
    inner = next(
        site for site in branches(flow) if not site.flags and RESULT in site.bound and site is not flow.sites[0]
    )
    found = definitions(flow)
    ends = [found[end].get(RESULT, frozenset({UNBOUND_HERE})) for end in inner.ends]
    assert UNBOUND_HERE not in ends[0]
    assert ends[1] == {UNBOUND_HERE}


def test_loops_test_the_flags_of_break_and_return() -> None:
    flow = flow_of(lowered("while x:\n    if flag:\n        break\n    for i in x:\n        return i\nreturn x"))
    outer, inner = loops(flow)
    assert outer.flags == (RETURNED, f"%break {outer.op}")
    assert inner.flags == (RETURNED,)


def test_a_loop_carries_what_a_later_iteration_or_what_follows_reads() -> None:
    flow = flow_of(
        lowered("total = 0\nfor i in x:\n    part = i\n    total = total + part\n    last = i\nreturn total, last")
    )
    assert names(flow, loops(flow)[0]) == {"total", "last"}


def test_what_a_loop_iterates_over_is_read_in_each_iteration() -> None:
    flow = flow_of(lowered("for i in x:\n    x = i\nreturn flag"))
    assert names(flow, loops(flow)[0]) == {"x"}


def test_a_nested_function_keeps_what_it_reads_alive() -> None:
    flow = flow_of(lowered("if flag:\n    v = 1\nelse:\n    v = 2\ndef g():\n    return v\nv = 3\nreturn g"))
    assert "v" in flow.captured
    assert names(flow, branches(flow)[0]) == {"v"}


def test_what_a_lambda_reads_is_alive_where_it_is_written_and_not_behind() -> None:
    text = "def f(x, flag):\n    if flag:\n        v = 1\n        g = lambda: v\n    return x\n"
    module = lower_module(parse_module(source_from_text(text, "m.py")), "m")
    function = next(each for each in module.functions if each.name == "f")
    inner = [each for each in module.functions if each.parent == function.id]
    flow = flow_of(function, inner)
    assert "v" not in flow.captured
    assert names(flow, branches(flow)[0]) == set()


def test_definitions_join_where_paths_meet() -> None:
    function = lowered("if flag:\n    v = 1\nfor i in x:\n    w = v\n    v = 2\ndel x\nreturn v")
    flow = flow_of(function)
    found = definitions(flow)
    loads = [number for number, node in enumerate(flow.nodes) if node.kind is NodeKind.READ and node.reads == ("v",)]
    in_loop, behind = (found[number]["v"] for number in loads)
    assert {each.kind for each in in_loop} == {DefinitionKind.UNBOUND, DefinitionKind.STORED}
    assert len(in_loop) == 3
    assert in_loop == behind
    assert found[flow.exit]["x"] == {UNBOUND_HERE}
    assert found[flow.exit]["flag"] == {GIVEN}


def test_each_operation_has_its_nodes_once() -> None:
    function = lowered(
        """
        try:
            if flag:
                return x
            y = [a for a in x if a]
        except ValueError as error:
            y = error
        finally:
            z = y
        while x:
            if z:
                break
        else:
            y = z
        return y
        """
    )
    flow = flow_of(function)
    for op in (node.op for node in flow.nodes if node.kind is NodeKind.READ):
        assert op is not None
        assert len(flow.by_op[op]) == 1
    reads = {node.op for node in flow.nodes if node.kind is NodeKind.READ}
    assert reads == {op.id for op in walk(function.body) if isinstance(op, ops.LoadName)}


def test_nothing_follows_a_raise() -> None:
    flow = flow_of(lowered("if flag:\n    v = 1\nelse:\n    raise x\nreturn v"))
    found = definitions(flow)
    assert branches(flow)[0].ends[1] not in found
    assert UNBOUND_HERE not in found[flow.exit][RESULT]
