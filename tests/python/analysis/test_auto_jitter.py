# SPDX-License-Identifier: Apache-2.0
"""`jitter: auto`: the least numbers that are enough for tasks that release one another, and where there are
none."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from consort.analysis import jitters
from consort.analysis.certificate import certificate_of
from consort.analysis.lacking import held
from consort.analysis.system import analyze_system, with_jitters
from consort.base.errors import BadInput, Held
from consort.exchange.conventions import Report
from consort.exchange.formats import EXPORTS
from consort.model import BadDescription, Duration, System
from consort.place.call import place
from consort.plan import Plan, plan
from consort.plan.show import show
from consort.report.draw import draw_system
from consort.run.options import Options, check_choice, planned
from consort.simulate.build import prepare
from consort.simulate.chains import measure_chains
from consort.simulate.engine import simulate
from effort import examples
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from rich.console import Console

sys.path.insert(0, str(Path(__file__).parents[1] / "simulate"))
import small

QUEUE = {"kind": "queue", "capacity": 64, "size": "64B", "memory": "free"}
LET = {"kind": "sporadic", "size": "64B", "memory": "free", "communication": "let"}
US = 10**6
Tasks = dict[str, dict[str, Any]]

# sense releases filter, which releases act, which shares a core with sense.
CHAIN: Tasks = {
    "sense": {"period": 100, "wcet": 30, "bcet": 10, "priority": 1, "writes": ["q1"]},
    "filter": {
        "min_interarrival": 100,
        "jitter": "auto",
        "wcet": 20,
        "bcet": 5,
        "priority": 2,
        "on": "m-1",
        "arrival": "q1",
        "reads": ["q1"],
        "writes": ["q2"],
    },
    "act": {
        "min_interarrival": 100,
        "jitter": "auto",
        "wcet": 5,
        "bcet": 5,
        "priority": 2,
        "arrival": "q2",
        "reads": ["q2"],
    },
    "other": {"period": 30, "wcet": 5, "priority": 1, "on": "m-1"},
}
MORE: dict[str, Any] = {
    "channels": {"q1": QUEUE, "q2": QUEUE},
    "chains": {"all": {"path": ["sense", "filter", "act"], "reaction": "300us"}},
}


def chain(*, more: dict[str, Any] | None = None, **changes: dict[str, Any]) -> System:
    tasks = {name: task | changes.get(name, {}) for name, task in CHAIN.items()}
    return small.system(tasks, **MORE | (more or {}))


def growing() -> System:
    """A late filter makes act late, act holds up sense, and filter comes later still."""
    long = {"deadline": 900}
    return chain(
        sense={"wcet": 40},
        filter={"wcet": 45, **long},
        act={"wcet": 35, **long},
        other={"priority": 3},
    )


def numbers(made: Plan) -> dict[str, int]:
    return {name: task.jitter_ps for name, task in made.tasks.items() if task.auto_jitter is not None}


def written(system: System, found: dict[str, int]) -> System:
    """The system with these numbers in place of `auto`."""
    return system.changed({name: {"jitter": Duration.spelled(ps)} for name, ps in found.items()})


def results(system: System | Plan) -> list[tuple[Any, ...]]:
    return [
        (b.task, b.kind, b.response, b.deadline, b.notes, b.source, b.parts) for b in analyze_system(system)
    ]


def notes_of(system: System, task: str) -> str:
    return "; ".join(next(b for b in analyze_system(system) if b.task == task).notes)


def test_the_numbers_are_those_that_one_comes_to_by_hand():
    system = chain()
    assert numbers(with_jitters(plan(system, "analysis"))) == {"filter": 25 * US, "act": 40 * US}
    by_hand = chain(filter={"jitter": 25}, act={"jitter": 40})
    assert results(system) == results(by_hand)
    # Before, one was asked for after the other.
    said = notes_of(chain(filter={"jitter": 0}, act={"jitter": 40}), "filter")
    assert "write 'jitter: 25us' or more, or 'jitter: auto'" in said


def test_bounds_name_the_number_and_that_it_is_a_bound():
    bound = next(b for b in analyze_system(chain()) if b.task == "act")
    (said,) = (one for one in bound.to_json()["figures"] if one["place"] == "tasks.act.jitter")
    assert said["value"] == "40us" and said["kind"] == "bound" and "theorem 27" in said["source"]
    assert bound.to_json()["rests_on"][-1] == "bound"


def test_numbers_are_found_under_logical_execution_time_too():
    system = chain(more={"channels": {"q1": QUEUE, "q2": LET}, "chains": {}})
    # A block is there when its job's interval ends, and jobs of filter are due between 0 and 10 us.
    found = numbers(with_jitters(plan(system, "analysis")))
    assert found == {"filter": 25 * US, "act": 10 * US}
    assert results(system) == results(written(system, found))


def test_numbers_that_grow_for_ever_are_named():
    for name in ("filter", "act"):
        note = notes_of(growing(), name)
        assert f"the jitter of {name} has no bound: sense has no response time that is guaranteed" in note
        assert "while jitter still grows: filter at 65us, act at 50us" in note
    assert all(b.response is None for b in analyze_system(growing()) if b.kind == "response time")
    with pytest.raises(BadDescription, match=r"tasks\.act\.jitter: 'auto' has no number here: sense has no"):
        prepare(growing())
    options = Options(target="virtual", stand_ins=True)
    made = planned(growing(), options)
    with pytest.raises(BadInput, match=r"tasks\.filter\.jitter: 'auto' has no number here"):
        check_choice(made, options)
    check_choice(planned(chain(), options), options)


def test_numbers_that_grow_for_long_are_none(monkeypatch):
    monkeypatch.setattr(jitters, "MOST_ROUNDS", 1)
    assert "the jitter of act has no bound: it still grows after 1 rounds, at 15us" in notes_of(
        chain(), "act"
    )
    assert all(b.response is None for b in analyze_system(chain()) if b.task in ("filter", "act"))


def test_blocks_that_nothing_bounds_give_no_number_and_say_why():
    late = chain(sense={"deadline": 20})
    assert "the jitter of filter has no bound: sense has no response time that is guaranteed" in notes_of(
        late, "filter"
    )
    rare = chain(filter={"min_interarrival": 150, "deadline": 100})
    for task in ("act", "sense"):
        assert "the jitter of act has no bound: q1 has a block each 100us: write" in notes_of(rare, task)
    assert notes_of(rare, "filter").endswith("has no bound: sense has no response time that is guaranteed")


def test_too_much_work_of_a_core_is_named_and_not_hidden_behind_the_numbers_that_lack():
    system = chain(sense={"wcet": 60}, act={"wcet": 45})
    for task in ("sense", "filter", "act"):
        assert "ask for 105 % of the core" in notes_of(system, task)


def test_without_a_figure_nobody_knows():
    system = chain()
    made = plan(system, "analysis")
    figures = {place: value for place, value in made.figures.items() if place != "tasks.sense.wcet"}
    made = replace(made, figures=figures)
    assert held(made) is Held.UNDECIDED
    bounds = {b.task: b for b in analyze_system(made) if b.kind == "response time"}
    assert bounds["filter"].missing == bounds["act"].missing == ("tasks.sense.wcet",)
    said = jitters.without_number(with_jitters(made))
    assert list(said) == ["filter", "act"]
    assert all(text.endswith("; give tasks.sense.wcet, or write a time") for text in said.values())


def test_auto_stands_where_blocks_of_a_task_release_the_task():
    with pytest.raises(BadDescription, match=r"tasks\.sense\.jitter: 'auto' is .* none release this task"):
        chain(sense={"jitter": "auto"})
    with pytest.raises(BadDescription, match=r"tasks\.sense\.jitter: 'soon' is not a duration.*; or auto"):
        chain(sense={"jitter": "soon"})
    device: Tasks = {"t": CHAIN["filter"] | {"reads": ["events"], "arrival": "events", "writes": []}}
    channels = {"events": {"kind": "sporadic", "from": "d", "min_interarrival": "100us", "size": "8B"}}
    with pytest.raises(BadDescription, match=r"tasks\.t\.jitter: .*those of 'events' are of the device 'd'"):
        small.system(device, channels=channels, devices={"d": {"kind": "camera"}})


def test_a_mode_may_have_its_own_and_one_with_a_period_has_none():
    modes = {
        "fixed": {"overrides": {"filter": {"jitter": "60us"}}},
        "alone": {"tasks": ["filter", "other"], "overrides": {"filter": {"period": "100us"}}},
    }
    system = chain(more={"modes": modes, "chains": {}})
    assert numbers(with_jitters(plan(system, "analysis", mode="fixed"))) == {"act": 75 * US}
    alone = plan(system, "analysis", mode="alone").tasks["filter"]
    assert (alone.release, alone.jitter_ps, alone.auto_jitter) == ("periodic", 0, None)


def test_targets_take_whole_ticks():
    system = chain(sense={"bcet": "9999.9ns"})
    assert numbers(with_jitters(plan(system, "analysis")))["filter"] == 25 * US + 100
    made = planned(system, Options(target="virtual", stand_ins=True))
    assert numbers(made)["filter"] == 25 * US + 1000
    bounds = analyze_system(made)
    assert all(b.response is not None for b in bounds if b.task == "all")


def test_everything_that_shows_or_writes_the_number_does_so_or_says_auto():
    console = Console(width=120, record=True)
    show(with_jitters(plan(chain(), "analysis")), console)
    text = console.export_text()
    assert "40us" in text and "25us" in text
    show(plan(chain(), "analysis"), console)
    assert "auto" in console.export_text()
    assert "jitter auto" in draw_system(chain())
    by_hand = written(chain(), {"filter": 25 * US, "act": 40 * US})
    assert certificate_of(plan(chain(), "analysis"), analyze_system(chain())).claims == (
        certificate_of(plan(by_hand, "analysis"), analyze_system(by_hand)).claims
    )
    for form in ("mast", "rt-app"):
        # They have no jitter of a sporadic task, and the report says so.
        reports = Report(), Report()
        assert EXPORTS[form](chain(), reports[0]) == EXPORTS[form](by_hand, reports[1])
        assert reports[0].text() == reports[1].text() and "jitter, 2" in reports[0].text()
    assert "auto" in EXPORTS["amalthea"](chain(), Report())
    with pytest.raises(BadInput, match="how late its blocks come follows from what is chosen here"):
        place(chain(more={"chains": {}}))


@st.composite
def pipelines(draw: st.DrawFn) -> System:
    """A chain, and a second one, across two or three cores; each with tasks beside it."""
    cores = [f"m-{i}" for i in range(draw(st.integers(2, 3)))]
    policies = ["fixed-priority", "fixed-priority", "fixed-priority-non-preemptive", "edf"]
    policy = {core: draw(st.sampled_from(policies)) for core in cores}
    tasks: Tasks = {}
    channels: dict[str, Any] = {}
    chains: dict[str, Any] = {}
    for p in range(draw(st.integers(1, 2))):
        period = draw(st.integers(40, 120))
        path = [f"p{p}t{i}" for i in range(draw(st.integers(2, 4)))]
        for i, name in enumerate(path):
            wcet = draw(st.integers(1, 14))
            task: dict[str, Any] = {
                "wcet": wcet,
                "on": draw(st.sampled_from(cores)),
                "deadline": draw(st.integers(period, 4 * period)),
            }
            if draw(st.booleans()):
                task["bcet"] = draw(st.integers(1, wcet))
            if i:
                task |= {"min_interarrival": period - draw(st.sampled_from([0, 0, 0, 3])), "jitter": "auto"}
                task |= {"arrival": f"c{p}{i}", "reads": [f"c{p}{i}"]}
                channels[f"c{p}{i}"] = dict(QUEUE)
                if draw(st.integers(0, 4)) == 0:
                    channels[f"c{p}{i}"] = dict(LET)
                    tasks[path[i - 1]]["deadline"] = period - 3
            else:
                task["period"] = period
                task["jitter"] = draw(st.sampled_from([0, 0, 5]))
            if i + 1 < len(path):
                task["writes"] = [f"c{p}{i + 1}"]
            tasks[name] = task
        if all(channels[f"c{p}{i}"]["kind"] == "queue" for i in range(1, len(path))):
            chains[f"all{p}"] = {"path": path}
    for i in range(draw(st.integers(0, 2))):
        core = draw(st.sampled_from(cores))
        tasks[f"o{i}"] = {"period": draw(st.integers(10, 60)), "wcet": draw(st.integers(1, 8)), "on": core}
    ranks = draw(st.permutations(range(len(tasks))))
    for rank, task in zip(ranks, tasks.values(), strict=True):
        if policy[task["on"]] != "edf":
            task["priority"] = rank
    used = {task["on"] for task in tasks.values()}
    scheduling = {core: {"policy": policy[core]} for core in used}
    return small.system(tasks, channels=channels, chains=chains, scheduling=scheduling)


def complains(system: System, task: str) -> bool:
    return "differs by" in notes_of(system, task)


@pytest.mark.representative
@settings(max_examples=examples(300), deadline=None, suppress_health_check=list(HealthCheck))
@given(system=pipelines(), data=st.data())
def test_written_the_numbers_give_the_same_bounds_and_no_smaller_one_is_enough(system, data):
    made = with_jitters(plan(system, "analysis"))
    open_ = jitters.without_number(made)
    assert all(said for said in open_.values())
    for bound in analyze_system(system):
        if bound.task in open_:
            assert bound.response is None and "has no bound" in "; ".join(bound.notes)
    assume(not open_)
    found = numbers(made)
    by_hand = written(system, found)
    assert results(system) == results(by_hand)
    assert not any(complains(by_hand, task) for task in found)
    late = [task for task, number in found.items() if number]
    if late:
        task = data.draw(st.sampled_from(late))
        less = data.draw(st.integers(1, found[task]))
        assert complains(written(system, found | {task: found[task] - less}), task)


@pytest.mark.representative
@settings(max_examples=examples(300), deadline=None, suppress_health_check=list(HealthCheck))
@given(system=pipelines(), seed=st.integers(0, 2**32), dense=st.booleans())
def test_nothing_simulated_is_above_its_bound(system, seed, dense):
    assume(not jitters.without_number(with_jitters(plan(system, "analysis"))))
    bounds = {(b.task, b.kind): b for b in analyze_system(system)}
    tasks = [b for b in bounds.values() if b.kind == "response time"]
    assume(all(b.schedulable for b in tasks))
    run = simulate(prepare(system, dense=dense), 3000 * US, seed, choice="edges", trace=True)
    for bound in tasks:
        figures = run.figures[bound.task]
        # Where `min_interarrival` fits, no block comes early.
        assert bound.notes or not figures.early, bound.task
        assert figures.max_response is None or figures.max_response <= bound.response
    for name, seen in measure_chains(run).items():
        for kind, most in (("reaction time", seen.reaction), ("data age", seen.age)):
            limit = bounds.get((name, kind))
            if limit is not None and limit.response is not None and most is not None:
                assert most <= limit.response
