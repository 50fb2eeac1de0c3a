"""When co-execution does not pay, the function runs eagerly, and is tried again. No TensorFlow."""

from __future__ import annotations

import itertools

import pytest

from terra_refactor.runtime.costs import LEAST_IN_A_TURN, LONGEST_WARM_UP, Costs, Way


def drive(
    costs: Costs,
    calls: int,
    shim: float,
    eager: float,
    missed: bool = False,
    operations: int = 0,
    failed: bool = False,
) -> list[Way]:
    """Some calls with fixed times: how each ran."""
    ways = []
    for _ in range(calls):
        way = costs.way()
        ways.append(way)
        if way is not Way.RESTS:
            costs.ran(way, eager if way is Way.EAGER else shim, operations, missed, failed=failed)
    return ways


def test_a_function_that_loses_runs_eagerly_and_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    costs = Costs("slow")
    ways = drive(costs, 20_000, shim=2.0, eager=1.0)
    assert ways.count(Way.RESTS) > 0.95 * len(ways)
    assert costs.rests > 1
    assert [record.message for record in caplog.records] == [
        "slow runs eagerly for now: 2e+03 ms a call co-executed, 1e+03 ms eagerly: 0.50 ×"
    ]


def test_a_function_that_always_raises_is_measured_too() -> None:
    ways = drive(Costs("raises"), 20_000, shim=2.0, eager=1.0, failed=True)
    assert ways.count(Way.RESTS) > 0.95 * len(ways)


@pytest.mark.parametrize("usually", [False, True])
def test_only_the_usual_outcome_of_a_call_is_compared(usually: bool) -> None:
    costs = Costs("raises at times")
    for number in range(200):
        way = costs.way()
        if way is Way.RESTS:
            break
        failed = usually if number % 4 else not usually
        seconds = (1.0 if way is Way.EAGER else 2.0) if failed is usually else 0.01 * number
        costs.ran(way, seconds, 0, False, failed=failed)
    assert costs.comparison() == "2e+03 ms a call co-executed, 1e+03 ms eagerly: 0.50 ×"


def test_what_trying_again_costs_is_bounded_however_slow_the_shim_is() -> None:
    costs = Costs("slow")
    drive(costs, 60, shim=50.0, eager=1.0, missed=True)
    ways = drive(costs, 50_000, shim=50.0, eager=1.0, missed=True)
    spent = sum(0.0 if way in (Way.RESTS, Way.EAGER) else 49.0 for way in ways)
    assert spent < 0.05 * len(ways)


def test_a_function_that_wins_is_hardly_ever_run_eagerly() -> None:
    ways = drive(Costs("fast"), 10_000, shim=1.0, eager=10.0)
    assert ways.count(Way.EAGER) < 10
    assert Way.RESTS not in ways


def test_many_operations_need_no_eager_call() -> None:
    assert Way.EAGER not in drive(Costs("fast"), 10_000, shim=1e-3, eager=1.0, operations=1000)


def test_a_function_comes_back_when_its_shapes_settle() -> None:
    costs = Costs("settles")
    drive(costs, 100, shim=3.0, eager=1.0, missed=True)
    assert costs.resting
    drive(costs, 20_000, shim=0.1, eager=1.0)
    assert not costs.resting
    assert costs.way() is Way.FREE


def test_a_timed_call_that_compiles_something_says_nothing_about_later_ones() -> None:
    costs = Costs("compiles")
    drive(costs, 8, shim=1.0, eager=10.0)
    for _ in range(3):
        assert costs.way() is Way.TIMED
        costs.ran(Way.TIMED, 900.0, 0, True)
    drive(costs, 60, shim=1.0, eager=10.0)
    assert not costs.rests
    assert costs.shim_seconds == 1.0


def test_a_function_that_always_compiles_something_loses_all_the_same() -> None:
    costs = Costs("always compiles")
    drive(costs, 200, shim=900.0, eager=10.0, missed=True)
    assert costs.rests


def test_while_paths_are_found_the_measurement_waits() -> None:
    costs = Costs("paths")
    ways = drive(costs, 30, shim=5.0, eager=1.0, missed=True)
    assert set(ways) == {Way.FREE}
    ways = drive(costs, LONGEST_WARM_UP, shim=5.0, eager=1.0, missed=True)
    assert Way.EAGER in ways
    assert drive(Costs("off", measures=False), 500, shim=5.0, eager=1.0) == [Way.FREE] * 500


def test_one_disturbed_eager_call_decides_nothing() -> None:
    costs = Costs("close")
    disturbed = itertools.chain([9.0], itertools.repeat(1.0))
    ways = []
    while not costs.resting:
        way = costs.way()
        ways.append(way)
        costs.ran(way, next(disturbed) if way is Way.EAGER else 1.3, 0, False)
    turn = LEAST_IN_A_TURN + 1
    assert ways[-4 * turn :] == ([Way.TIMED] * turn + [Way.EAGER] * turn) * 2
    assert costs.comparison().endswith("0.77 ×")


def test_two_disturbed_eager_calls_decide_nothing_if_calls_are_short() -> None:
    costs = Costs("short and disturbed")
    disturbed = itertools.chain([1e-3, 1e-2, 9e-3], itertools.repeat(1e-3))
    while not (costs.resting or costs.eager_seconds):
        way = costs.way()
        costs.ran(way, next(disturbed) if way is Way.EAGER else 2e-3, 0, False)
    assert costs.resting


def test_what_changing_over_costs_the_first_call_of_a_turn_is_no_part_of_short_calls() -> None:
    costs = Costs("short")
    last = None
    for _ in range(300):
        way = costs.way()
        if way is Way.RESTS:
            break
        usual = {Way.EAGER: 20e-6, Way.TIMED: 25e-6, Way.FREE: 25e-6}[way]
        costs.ran(way, usual if way is last else 50 * usual, 0, False)
        last = way
    assert costs.resting
    assert costs.comparison() == "0.025 ms a call co-executed, 0.02 ms eagerly: 0.80 ×"


def test_a_function_rests_longer_where_trying_again_cost_more() -> None:
    rests = []
    for of_hooks in (0.0, 0.01):
        costs = Costs("tried")
        while costs.rests < 2:
            way = costs.way()
            if way is not Way.RESTS:
                costs.ran(way, 1e-4 if way is Way.EAGER else 2e-4, 0, False)
                costs.spent += of_hooks / 10
        rests.append(costs.resting)
    assert rests[1] > 4 * rests[0]


def test_a_narrow_win_is_measured_again_sooner_than_a_clear_one() -> None:
    narrow = drive(Costs("narrow"), 10_000, shim=1.0, eager=1.1).count(Way.EAGER)
    assert drive(Costs("clear"), 10_000, shim=1.0, eager=3.0).count(Way.EAGER) < narrow < 100


def several_shapes(costs: Costs, shapes: int, calls: int, sights: int, new_each_time: bool = False) -> list[Way]:
    """Calls on so many shapes in turn: eagerly 1, recorded 1.5, compiled at a later sight for 20, and 0.1 from then on."""
    seen: dict[int, int] = {}
    ways = []
    for number in range(calls):
        way = costs.way()
        ways.append(way)
        if way is Way.RESTS:
            continue
        shape = number if new_each_time else number % shapes
        if way is Way.EAGER:
            costs.ran(way, 1e-2, 0, False)
            continue
        count = seen[shape] = seen.get(shape, 0) + 1
        seconds = 1.5e-2 if count <= sights else 0.2 if count == sights + 1 else 1e-3
        costs.ran(way, seconds, 0, count <= sights + 1, count == 1)
    return ways


@pytest.mark.parametrize(("shapes", "sights"), [(8, 1), (32, 1), (32, 3)])
def test_shapes_that_come_again_are_compiled_before_it_is_decided(shapes: int, sights: int) -> None:
    ways = several_shapes(Costs("epochs"), shapes, 2000, sights)
    assert set(ways[-500:]) == {Way.FREE}
    assert ways.count(Way.RESTS) == 0


def test_shapes_that_never_come_again_are_given_up_as_soon_as_before() -> None:
    ways = several_shapes(Costs("lengths"), 0, 5000, 1, new_each_time=True)
    assert ways.index(Way.RESTS) < 64
    assert ways.count(Way.RESTS) > 0.95 * len(ways)


@pytest.mark.parametrize("settled", [True, False])
def test_calls_that_differ_are_compared_as_a_whole(settled: bool) -> None:
    """Twenty kinds of calls in turn: the many cheap ones gain, the expensive ones lose more than that."""
    costs = Costs("kinds")
    ways = []
    for number in range(400):
        way = costs.way()
        ways.append(way)
        dear = number % 20 in (3, 4, 9, 13, 18)
        if way is not Way.RESTS:
            eager, shim = (6e-3, 12e-3) if dear else (1e-3, 0.8e-3)
            costs.ran(way, eager if way is Way.EAGER else shim, 0, not settled and number % 20 == 3)
    assert ways.index(Way.RESTS) < 180
    assert costs.shim_seconds is not None
    assert costs.eager_seconds is not None
    assert costs.shim_seconds > 1.2 * costs.eager_seconds


@pytest.mark.parametrize("shim", [1.3, 0.97])
def test_a_new_path_now_and_then_does_not_postpone_the_decision(shim: float) -> None:
    """Every fourth call makes a variable, which is a new path: never four calls on known ones in a row."""
    costs = Costs("variables")
    ways = []
    for number in range(200):
        way = costs.way()
        ways.append(way)
        if way is not Way.RESTS:
            new = number % 4 == 0
            costs.ran(way, 1e-3 if way is Way.EAGER else 2e-3 if new else 1e-3 * shim, 0, new)
    assert ways.index(Way.RESTS) < 80


def test_rare_slow_calls_after_the_measurement_are_noticed() -> None:
    """Three times as fast, but later each sixteenth call compiles something that is used once."""
    costs = Costs("rare")
    spent = [0.0, 0.0]
    ways = []
    for number in range(5000):
        way = costs.way()
        ways.append(way)
        rare = number > 60 and number % 16 == 0
        shim = 0.2 if rare else 3e-3
        spent[way in (Way.RESTS, Way.EAGER)] += 1e-2 if way in (Way.RESTS, Way.EAGER) else shim
        if way is not Way.RESTS:
            costs.ran(way, 1e-2 if way is Way.EAGER else shim, 0, rare)
    assert ways.index(Way.RESTS) < 400
    assert sum(spent) < 5000 * 1e-2 / 0.95


def test_a_disturbed_machine_does_not_end_a_clear_win() -> None:
    costs = Costs("disturbed")
    ways = []
    for number in range(5000):
        way = costs.way()
        ways.append(way)
        disturbed = 8 if number % 13 == 0 else 1
        costs.ran(way, (1e-2 if way is Way.EAGER else 3e-3) * disturbed, 0, False)
    assert Way.RESTS not in ways
    assert ways.count(Way.EAGER) < 100


def test_what_goes_into_compiling_is_bounded() -> None:
    costs = Costs("large")
    spent = 0.0
    for number in range(100_000):  # 5,000 shapes, each compiled for ten seconds when it comes again
        way = costs.way()
        if way is Way.EAGER:
            costs.ran(way, 1e-2, 0, False)
        elif way is not Way.RESTS:
            again = number >= 5000
            spent += 10.0 if again else 0.0
            costs.ran(way, 10.0 if again else 1.5e-2, 0, True, not again)
    assert spent < 200.0
