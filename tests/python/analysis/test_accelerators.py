# SPDX-License-Identifier: Apache-2.0
"""Accelerators: bounds of the tasks that ask them, by hand, against simulations, and weaker forms refuted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import accelerated
import pytest
from accelerated import RULES, attack, system_from
from consort.analysis import accelerators
from consort.analysis.accelerators import _Search
from consort.analysis.result import Bound
from consort.analysis.system import response_times
from consort.base.errors import BadInput
from consort.model import BadDescription, System
from consort.plan import plan
from consort.simulate.build import prepare
from consort.simulate.outcome import simulate_against_bounds
from effort import examples


def system(rule: str, clients: dict[str, Any], **changes: Any) -> System:
    """Tasks of one core each that ask for 10ps (a) or 20ps (b) once; all messages are free."""
    data: dict[str, Any] = {
        "consort": 1,
        "platform": "accelerated.yaml",
        "assumed": "a test",
        "scheduling": {"c": {"wait": "sleep"}},
        "accelerators": {
            "acc": {
                "on": "c-15",
                "arbitration": rule,
                "memory": "free",
                "operations": {
                    "a": {"wcet": "10ps", "request": "8B", "answer": "8B"},
                    "b": {"wcet": "20ps", "request": "8B", "answer": "8B"},
                },
                "clients": clients,
            }
        },
        "tasks": {
            name: {
                "period": "200ps",
                "wcet": "5ps",
                "on": f"c-{k}",
                "requests": [{"accelerator": "acc", "operation": "b" if k == 2 else "a"}],
            }
            for k, name in enumerate(("first", "second", "third"))
        },
        "run": {"time_base": "spin"},
    }
    for place, value in changes.items():
        *parts, last = place.split("__")
        inside = data
        for part in parts:
            inside = inside[part]
        if value is None:
            del inside[last]
        else:
            inside[last] = value
    return system_from(data)


RANKS = {"first": {"priority": 3}, "second": {"priority": 2}, "third": {"priority": 1}}
SLOTS = {name: {"slot": "20ps"} for name in RANKS}
BUDGETS = {name: {**rank, "budget": "20ps", "period": "100ps"} for name, rank in RANKS.items()}


def bounds(of: System) -> dict[str, Bound]:
    return {bound.task: bound for bound in response_times(of)}


def responses(of: System) -> dict[str, int | None]:
    return {name: bound.response for name, bound in bounds(of).items()}


def test_by_priority_a_request_waits_for_one_that_is_less_urgent_and_for_all_others() -> None:
    found = bounds(system("fixed-priority", RANKS))
    # 5 of its own and 10 at the accelerator; 20 that block; then 10 of each more urgent client.
    assert {name: bound.response for name, bound in found.items()} == {
        "first": 35,
        "second": 45,
        "third": 45,
    }
    assert "theorem 33" in found["first"].source
    assert any("whatever less urgent ones do" in text for text in found["first"].assumptions)
    steps = {step.label: step.length for step in found["second"].explanation}
    assert steps["waits for acc"] == 30
    assert steps["a of acc"] == 10


def test_under_tdma_a_request_waits_for_its_slot() -> None:
    # A round of 60: one that comes when 10 do not fit any more waits 40 + 10.
    assert responses(system("tdma", SLOTS)) == {"first": 65, "second": 65, "third": 85}


def test_under_budgets_a_request_waits_for_no_more_than_the_others_budgets() -> None:
    # A more urgent client has two budgets: the end of one period, and the beginning of the next.
    assert responses(system("budget", BUDGETS)) == {"first": 35, "second": 75, "third": 105}


def test_a_budget_that_may_be_used_up_keeps_its_own_client_waiting() -> None:
    twice = [{"accelerator": "acc", "operation": "a", "times": 3}]
    found = responses(system("budget", BUDGETS, tasks__first__requests=twice))
    # Three times 10 do not fit 20: each request may wait for a period, and for one of 20 that blocks.
    assert found["first"] is None or found["first"] >= 5 + 3 * (100 + 20 + 10)


@pytest.mark.parametrize("rule", ["tdma", "budget"])
def test_what_others_do_is_in_no_bound_that_keeps_them_apart(rule: str) -> None:
    clients = SLOTS if rule == "tdma" else BUDGETS
    before = responses(system(rule, clients))
    often = [{"accelerator": "acc", "operation": "a", "times": 1000}]
    after = responses(system(rule, clients, tasks__first__requests=often, tasks__first__period="1us"))
    assert after["second"] == before["second"] and after["third"] == before["third"]
    by_priority = responses(
        system("fixed-priority", RANKS, tasks__first__requests=often, tasks__first__period="1us")
    )
    assert by_priority["second"] is None


@pytest.mark.parametrize(
    ("place", "named"),
    [
        ("accelerators__acc__operations__a__wcet", "accelerators.acc.operations.a.wcet"),
        ("accelerators__acc__operations__a__request", "accelerators.acc.operations.a.request"),
        ("accelerators__acc__operations__a__answer", "accelerators.acc.operations.a.answer"),
        ("accelerators__acc__memory", "accelerators.acc.memory"),
    ],
)
def test_a_cost_that_nobody_gave_makes_no_bound_and_no_simulation(place: str, named: str) -> None:
    lacking = system("fixed-priority", RANKS, **{place: None})
    found = bounds(lacking)
    assert found["first"].response is None
    assert found["first"].missing == (named,)
    # The third's wait is not known either.
    assert found["third"].response is None
    with pytest.raises(BadInput, match=named.replace(".", r"\.")):
        prepare(plan(lacking, "analysis"))


def test_a_client_without_bound_leaves_those_with_budgets_theirs() -> None:
    lacking = bounds(system("budget", BUDGETS, accelerators__acc__operations__b__wcet=None))
    assert lacking["third"].response is None
    # In place of its operation its budget, which is as long.
    assert lacking["first"].response == 35


@pytest.mark.parametrize(("rule", "clients"), [("fixed-priority", RANKS), ("tdma", SLOTS)])
def test_a_simulation_comes_within_a_tick_of_the_bound(rule: str, clients: dict[str, Any]) -> None:
    # Periods that share no divisor: all alignments come.
    changes = {f"tasks__{name}__period": f"{p}ps" for name, p in (("first", 199), ("second", 211))}
    made = system(rule, clients, **changes)
    found = simulate_against_bounds(prepare(plan(made, "analysis")), response_times(made), 200_000, runs=5)
    bound = bounds(made)["first"].response
    assert bound is not None and found.figures["first"].max_response == bound - 1


@pytest.mark.parametrize("rule", RULES)
def test_no_simulation_exceeds_a_bound(rule: str) -> None:
    counted = reached = 0
    for seed in range(examples(150)):
        several, met, exceeded = attack(seed, rule)
        assert exceeded == 0, (rule, seed)
        counted, reached = counted + several, reached + met
    assert counted > 20 and reached > 5


def without_blocking(_search: Any, _name: str, _own: Any) -> int:
    return 0


def without_throttle(*_given: Any) -> int:
    return 0


def one_budget(search: Any, name: str, own: Any) -> Any:
    above = [c for c in search.plan.accelerators[name].clients if c.rank < own.rank]
    blocking = search._blocking(name, own)
    return blocking if isinstance(blocking, str) else blocking + sum(c.budget_ps for c in above)


def slot_alone(whole: Callable[..., int | str]) -> Callable[..., int | str]:
    def wait(search: Any, task: str, ask: Any, known: Any) -> int | str:
        found = whole(search, task, ask, known)
        return found if isinstance(found, str) else found - ask.cost

    return wait


WEAKER: dict[str, tuple[str, Callable[[pytest.MonkeyPatch], None]]] = {
    "nothing blocks": (
        "fixed-priority",
        lambda patch: patch.setattr(_Search, "_blocking", without_blocking),
    ),
    "a request that just does not fit": (
        "tdma",
        lambda patch: patch.setattr(_Search, "_wait", slot_alone(_Search._wait)),
    ),
    "one budget of each": (
        "budget",
        lambda patch: patch.setattr(_Search, "_among_budgets", one_budget),
    ),
    "its own budget never ends": (
        "budget",
        lambda patch: patch.setattr(_Search, "_throttled", without_throttle),
    ),
}


@pytest.mark.parametrize("form", WEAKER)
def test_weaker_forms_are_refuted(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rule, weaken = WEAKER[form]
    weaken(monkeypatch)
    assert any(attack(seed, rule)[2] for seed in range(3000))


def test_two_jobs_of_a_client_may_ask_one_right_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    # A job of the first asks late, held up on its core, and its next one early: both while the third waits.
    made = system(
        "fixed-priority",
        RANKS,
        tasks__first__period="100ps",
        tasks__first__wcet="1ps",
        tasks__second__period="400ps",
        tasks__second__wcet="1ps",
        tasks__second__offset="61ps",
        tasks__second__requests=[{"accelerator": "acc", "operation": "b", "times": 2}],
        tasks__third__period="400ps",
        tasks__third__wcet="1ps",
        tasks__third__offset="61ps",
        tasks__third__requests=[{"accelerator": "acc", "operation": "a"}],
        tasks__other={"period": "400ps", "deadline": "70ps", "wcet": "60ps", "on": "c-0"},
    )
    found = simulate_against_bounds(prepare(plan(made, "analysis")), response_times(made), 40_000, runs=5)
    wait = accelerators.wait_by_priority
    monkeypatch.setattr(
        accelerators,
        "wait_by_priority",
        lambda blocking, others, limit: wait(blocking, [(c, t, 0) for c, t, _ in others], limit),
    )
    weaker = responses(made)["third"]
    seen = found.figures["third"].max_response
    assert weaker is not None and seen is not None and seen > weaker


def test_targets_that_execute_refuse_accelerators() -> None:
    with pytest.raises(BadDescription, match=r"accelerators\.acc: a step of linux asks no accelerator"):
        plan(system("fixed-priority", RANKS), "linux", stand_ins=True)


def test_the_generator_makes_what_it_says() -> None:
    kinds = {
        accelerated.described(accelerated.Random(seed), rule)["accelerators"]["acc"]["memory"]
        for seed in range(20)
        for rule in RULES
    }
    assert kinds == {"free", "slow"}
