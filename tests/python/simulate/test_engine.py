# SPDX-License-Identifier: Apache-2.0
"""The engine's simulator against naive ones, and against responses that the literature gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from consort import _engine
from consort.simulate.engine import JOBS, SLICES
from effort import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from naive import processors, three_phase

CPU = ("fixed-priority", "fixed-priority-non-preemptive", "edf")


def core(policy: str = "fixed-priority", **fields: int | bool) -> Any:
    made = _engine.SimCore(policy)
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def made_of(c: dict[str, Any]) -> Any:
    more = {k: c[k] for k in ("keeps", "by_rank") if k in c}
    return core(c["policy"], context_switch=c["switch"], **more)


def dma(round_robin: bool = False, round: int = 0) -> Any:
    made = _engine.SimDma()
    made.round_robin, made.round = round_robin, round
    return made


def task(on_miss: str = "hold-last-output", **fields: Any) -> Any:
    made = _engine.SimTask(on_miss)
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def simple(*rows: tuple[int, ...], **more: Any) -> list[Any]:
    """Tasks (C, T[, D]) of core 0, the most urgent first."""
    return [
        task(
            wcet=row[0],
            bcet=row[0],
            period=row[1],
            deadline=row[-1] if len(row) > 2 else row[1],
            rank=i,
            **more,
        )
        for i, row in enumerate(rows)
    ]


def run(cores: list[Any], tasks: list[Any], duration: int, dmas: Any = (), **more: Any) -> dict[str, Any]:
    result: dict[str, Any] = _engine.sim_run(_engine.SimSystem(cores, list(dmas), tasks), duration, **more)
    if "jobs" in result:
        result["jobs"], result["slices"] = result["jobs"].view(JOBS), result["slices"].view(SLICES)
    return result


def worst(result: dict[str, Any]) -> list[int | None]:
    return [t["max_response"] for t in result["tasks"]]


def finishes(result: dict[str, Any]) -> dict[tuple[int, int], int]:
    return {(int(j["task"]), int(j["seq"])): int(j["finish"]) for j in result["jobs"]}


class TestLiterature:
    @pytest.mark.parametrize(
        ("tasks", "duration", "expected"),
        [
            (((3, 7), (3, 12), (5, 20)), 420, [3, 6, 20]),
            (((10, 30), (10, 40), (12, 50)), 600, [10, 20, 52]),
            (((4, 16), (5, 40), (32, 80)), 80, [4, 9, 58]),
            (((5, 20), (10, 40), (40, 80)), 80, [5, 15, 80]),
            (((3, 20, 5), (3, 15, 7), (4, 10, 10), (3, 20, 20)), 60, [3, 6, 10, 20]),
            (((40, 100), (40, 150), (100, 350)), 2100, [40, 80, 300]),
            (((1, 4), (1, 5), (3, 9), (3, 18)), 180, [1, 2, 7, 18]),
        ],
    )
    def test_fixed_priority_responses(self, tasks, duration, expected):
        assert worst(run([core()], simple(*tasks), duration)) == expected

    def test_arbitrary_deadlines_worst_is_the_fifth(self):
        result = run([core()], simple((26, 70, 700), (62, 100, 700)), 700, trace=True)
        second = result["jobs"][result["jobs"]["task"] == 1]
        assert (second["finish"] - second["release"]).tolist() == [114, 102, 116, 104, 118, 106, 94]
        assert result["tasks"][1]["worst_job"] == 4

    def test_can_2007_second_instance_is_worst(self):
        """Half milliseconds; the third message just misses being sent first."""
        tasks = simple((2, 5, 5), (2, 7, 7), (2, 7, 7))
        tasks[2].releases = [1, 8, 15]
        tasks[0].releases = [1, 6, 11, 16]
        tasks[1].releases = [1, 8, 15]
        found = run([core("fixed-priority-non-preemptive")], tasks, 40, trace=True)
        third = found["jobs"][found["jobs"]["task"] == 2]
        assert (third["finish"] - third["release"]).tolist()[:2] == [6, 7]


CE = {
    "CE-1": (4, [(160, 350), (10, 390), (10, 510), (10, 1140)], [[1, 351], [81], [81], [1]], (2, 529)),
    "CE-2": (
        2,
        [(180, 351), (10, 380), (10, 430), (80, 770), (51, 800)],
        [[21, 380], [121], [121], [21], [1]],
        (2, 489),
    ),
}


class TestCounterexamples:
    """Releases with which the printed three-phase bound is exceeded (docs/explanation/three-phase.md)."""

    @pytest.mark.parametrize("name", CE)
    def test_known_releases(self, name):
        cores, rows, releases, (late, response) = CE[name]
        tasks = simple(*rows)
        for t, times in zip(tasks, releases, strict=True):
            t.releases = times
        found = run([core("three-phase", slot=10)], tasks, 2000, [dma(round=10 * cores)])
        assert worst(found)[late] == response > tasks[late].deadline
        assert found["tasks"][late]["misses"] == 1

    @pytest.mark.parametrize(
        ("cores", "rows", "response"),
        [
            (3, [(530, 1850), (760, 2170), (320, 2240), (490, 2270)], 2309),
            (2, [(630, 1440), (230, 1670), (480, 1720), (290, 1740)], 1770),
        ],
        ids=["CE-3", "CE-4"],
    )
    def test_searched_releases(self, cores, rows, response):
        """The search of the three-phase campaign finds the releases; this simulator agrees."""
        sets = [(c, t, t) for c, t in rows]
        printed = [b["response"] for b in _engine.spm_bounds(sets, cores * 10, 10, "literal", 8, False)]
        best: dict[str, Any] = {}
        for restarts, steps in ((10_000, 300), (1_000, 5_000)):
            found = _engine.spm_climb(sets, cores * 10, 10, "literal", printed, 1, restarts, steps)
            best = max(best, found, key=lambda f: f["worst"][3] if f else 0)
        tasks = simple(*rows)
        for t, (offset, gaps, shortened, silent) in zip(tasks, best["arrivals"], strict=True):
            at, released, executed = offset, [], []
            for k in range(1 << 20):
                if silent or at >= best["until"]:
                    break
                released.append(at)
                executed.append(t.wcet - (shortened[k] if k < len(shortened) else 0))
                at += t.period + (gaps[k] if k < len(gaps) else 0)
            # An empty list would mean: as early as they may.
            t.releases, t.executions = released or [best["until"]], executed or [1]
        result = run([core("three-phase", slot=10)], tasks, best["until"], [dma(round=10 * cores)])
        assert worst(result)[3] == best["worst"][3] >= response > rows[3][1]


small = settings(max_examples=examples(300), suppress_health_check=list(HealthCheck))


@st.composite
def described_jobs(draw, least_execution=0):
    """Releases at least a period apart, with execution times."""
    period = draw(st.integers(2, 14))
    gaps = draw(st.lists(st.integers(0, 4), max_size=5))
    at = draw(st.integers(0, 12))
    jobs = []
    for gap in [*gaps, 0]:
        execution = draw(st.integers(least_execution, 6))
        jobs.append((at, at, execution))
        at += period + gap
    deadline = draw(st.integers(1, 2 * period))
    return {"period": period, "deadline": deadline, "rank": draw(st.integers(0, 3)), "jobs": jobs}


def as_engine_task(description: dict[str, Any], **more: Any) -> Any:
    jobs = description["jobs"]
    return task(
        on_miss=description.get("on_miss", "hold-last-output"),
        core=description["core"],
        master=description["master"],
        period=description["period"],
        deadline=description["deadline"],
        rank=description["rank"],
        releases=[j[0] for j in jobs],
        executions=[j[2] for j in jobs],
        **more,
    )


class TestAgainstNaive:
    @small
    @given(st.data())
    def test_local_policies(self, data):
        cores = [
            {"policy": data.draw(st.sampled_from(CPU)), "switch": data.draw(st.integers(0, 2))}
            for _ in range(data.draw(st.integers(1, 2)))
        ]
        tasks = data.draw(st.lists(described_jobs(), min_size=1, max_size=5))
        for t in tasks:
            t["core"] = t["master"] = data.draw(st.integers(0, len(cores) - 1))
            if cores[t["core"]]["policy"] == "fixed-priority":
                t["threshold"] = max(t["rank"] - data.draw(st.integers(0, 2)), 0)
        found = run(
            [made_of(c) for c in cores],
            [as_engine_task(t, threshold=t.get("threshold")) for t in tasks],
            1000,
            trace=True,
        )
        assert finishes(found) == processors(cores, tasks)

    @small
    @given(st.data())
    def test_offloaded(self, data):
        masters = data.draw(st.integers(1, 2))
        workers = data.draw(st.integers(1, 2))
        cores = [
            {
                "policy": data.draw(st.sampled_from(CPU)),
                "switch": data.draw(st.integers(0, 1)),
                "keeps": data.draw(st.booleans()),
            }
            for _ in range(masters)
        ] + [{"policy": "worker", "switch": 0, "by_rank": data.draw(st.booleans())} for _ in range(workers)]
        tasks = data.draw(st.lists(described_jobs(1), min_size=1, max_size=4))
        made = []
        for t in tasks:
            t["master"] = data.draw(st.integers(0, masters - 1))
            if data.draw(st.booleans()):
                t["core"] = t["master"]
                made.append(as_engine_task(t))
                continue
            t["core"] = masters + data.draw(st.integers(0, workers - 1))
            extra = {k: data.draw(st.integers(0, 2)) for k in ("send", "receive", "request", "response")}
            extra["fallback"] = data.draw(st.integers(0, 6))
            extra["give_up"] = data.draw(st.integers(1, t["deadline"] + 2))
            t["on_miss"] = data.draw(st.sampled_from(["hold-last-output", "local-fallback", "stop"]))
            t.update(extra)
            t["worker_rank"] = data.draw(st.integers(0, 2))
            made.append(as_engine_task(t, offloaded=True, worker_rank=t["worker_rank"], **extra))
        found = run([made_of(c) for c in cores], made, 1000, trace=True)
        assert finishes(found) == processors(cores, tasks)

    @small
    @given(st.data())
    def test_jitter_suspension_and_variation(self, data):
        """Releases and execution times as the engine draws them; so the generator is pinned too."""
        cores = [{"policy": data.draw(st.sampled_from(CPU)), "switch": 0, "keeps": data.draw(st.booleans())}]
        seed = data.draw(st.integers(0, 2**64 - 1))
        made, described = [], []
        duration = 60
        for index in range(data.draw(st.integers(1, 3))):
            period = data.draw(st.integers(3, 14))
            fields = {
                "period": period,
                "extra_gap": data.draw(st.sampled_from([0, 5])),
                "offset": data.draw(st.integers(0, 9)),
                "jitter": data.draw(st.integers(0, 2 * period)),
                "deadline": data.draw(st.integers(1, 2 * period)),
                "rank": data.draw(st.integers(0, 2)),
                "bcet": data.draw(st.integers(0, 3)),
                "wcet": data.draw(st.integers(3, 5)),
                "suspension": data.draw(st.sampled_from([0, 4])),
            }
            made.append(task(**fields))
            described.append(_drawn(seed, index, fields, duration))
        found = run([made_of(cores[0])], made, duration, seed=seed, trace=True)
        assert finishes(found) == processors(cores, described)

    @small
    @given(st.data())
    def test_three_phase(self, data):
        round_robin = data.draw(st.booleans())
        count = data.draw(st.integers(1, 3))
        slots = [data.draw(st.integers(1, 4)) for _ in range(count)]
        round_ = sum(slots) + data.draw(st.integers(0, 2))
        cores = [
            {
                "slot": slots[i],
                "phase": sum(slots[:i]),
                "partitions": data.draw(st.integers(1, 3)),
                "switch": data.draw(st.integers(0, 1)),
            }
            for i in range(count)
        ]
        tasks = data.draw(st.lists(described_jobs(), min_size=1, max_size=5))
        made = []
        for t in tasks:
            t["core"] = t["master"] = data.draw(st.integers(0, count - 1))
            slot = slots[t["core"]]
            t["load"], t["unload"] = data.draw(st.integers(0, slot)), data.draw(st.integers(0, slot))
            made.append(as_engine_task(t, load=t["load"], unload=t["unload"]))
        found = run(
            [
                core(
                    "three-phase",
                    slot=c["slot"],
                    slot_phase=c["phase"],
                    partitions=c["partitions"],
                    context_switch=c["switch"],
                )
                for c in cores
            ],
            made,
            1000,
            [dma(round_robin, round_)],
            trace=True,
        )
        assert finishes(found) == three_phase(cores, tasks, None if round_robin else round_)

    @small
    @given(st.data())
    def test_three_phase_as_the_campaign_replays_it(self, data):
        n = data.draw(st.integers(1, 4))
        cores = data.draw(st.integers(1, 3))
        rows = [(data.draw(st.integers(1, 60)), data.draw(st.integers(40, 200))) for _ in range(n)]
        offsets = [data.draw(st.integers(0, 90)) for _ in range(n)]
        tasks = simple(*rows)
        for t, offset in zip(tasks, offsets, strict=True):
            t.offset = offset
        found = run([core("three-phase", slot=10)], tasks, 500, [dma(round=10 * cores)], trace=True)
        replayed = _engine.spm_replay(
            [(c, t, t) for c, t in rows], 10 * cores, 10, [(o, [], [], False) for o in offsets], 500
        )
        key = sorted(
            (int(j["task"]), int(j["release"]), int(j["start"]), int(j["finish"])) for j in found["jobs"]
        )
        assert key == sorted((t, release, start, end) for t, release, _load, start, _finish, end in replayed)


def _mix(z: int) -> int:
    full = (1 << 64) - 1
    z = (z + 0x9E3779B97F4A7C15) & full
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & full
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & full
    return z ^ (z >> 31)


def _drawn(seed: int, index: int, f: dict[str, int], until: int) -> dict[str, Any]:
    """The jobs of a task as docs/explanation/simulator.md says they are drawn."""
    base = _mix((_mix(seed) + index) & ((1 << 64) - 1))

    def draw(what: int, job: int, low: int, high: int) -> int:
        return low + ((_mix(base ^ (job * 8 + what)) * (high - low + 1)) >> 64) if low != high else low

    jobs, suspend, nominal, actual, k = [], [], f["offset"], 0, 0
    while nominal < until:
        actual = max(actual, nominal + draw(1, k, 0, f["jitter"]))
        execution = draw(0, k, f["bcet"], f["wcet"])
        jobs.append((nominal, actual, execution))
        suspend.append((draw(4, k, 0, execution), draw(3, k, 0, f["suspension"])))
        k += 1
        nominal += f["period"] + draw(2, k, 0, f["extra_gap"])
    described = {"core": 0, "master": 0, "rank": f["rank"], "deadline": f["deadline"], "jobs": jobs}
    return described | ({"suspend": suspend} if f["suspension"] else {})


class TestTrace:
    def test_slices_account_for_every_job(self):
        tasks = simple((3, 10), (4, 14), (5, 35))
        found = run([core(context_switch=1)], tasks, 700, trace=True)
        executed = np.zeros(len(found["jobs"]))
        slices = found["slices"]
        for place, job in enumerate(found["jobs"]):
            mine = slices[(slices["task"] == job["task"]) & (slices["seq"] == job["seq"])]
            executed[place] = (mine["end"] - mine["begin"])[mine["doing"] == 0].sum()
            assert int((mine["doing"] == 1).sum()) == job["preemptions"] + 1
        assert (executed == found["jobs"]["compute"]).all()
        order = np.argsort(slices["begin"], kind="stable")
        assert (slices["end"][order][:-1] <= slices["begin"][order][1:]).all(), (
            "two things at once on one core"
        )

    def test_a_trace_changes_nothing(self):
        tasks = simple((3, 10), (4, 14), (5, 35))
        for t in tasks:
            t.bcet = 1
        assert worst(run([core("edf")], tasks, 5000, seed=3)) == worst(
            run([core("edf")], tasks, 5000, seed=3, trace=True)
        )

    def test_seed_decides(self):
        tasks = simple((3, 10), (4, 14), (5, 35))
        for t in tasks:
            t.bcet, t.jitter = 1, 5
        one, again, other = (run([core()], tasks, 5000, seed=s, trace=True) for s in (1, 1, 2))
        assert one["jobs"].tobytes() == again["jobs"].tobytes()
        assert one["jobs"].tobytes() != other["jobs"].tobytes()


class TestBulk:
    @pytest.mark.parametrize("policy", [*CPU, "three-phase"])
    def test_as_single_runs(self, policy):
        random = np.random.default_rng(5)
        periods = np.sort(random.integers(20, 200, (20, 4)), axis=1)
        executions = random.integers(1, 15, (20, 4))
        response, misses, jobs = _engine.sim_bulk(policy, executions, periods, duration=5000, slot=3, round=6)
        total = 0
        for s in range(20):
            tasks = simple(*zip(executions[s].tolist(), periods[s].tolist(), strict=True))
            found = run([core(policy, slot=3)], tasks, 5000, [dma(round=6)])
            assert response[s].tolist() == worst(found)
            assert misses[s].tolist() == [t["misses"] for t in found["tasks"]]
            total += sum(t["jobs"] for t in found["tasks"])
        assert jobs == total

    def test_shapes_that_do_not_fit(self):
        with pytest.raises(ValueError, match="one shape"):
            _engine.sim_bulk("edf", np.ones((2, 3), np.int64), np.ones((3, 2), np.int64), duration=10)
        with pytest.raises(ValueError, match="set 1, task 0: period and deadline"):
            periods = np.array([[5], [0]])
            _engine.sim_bulk("edf", np.ones((2, 1), np.int64), periods, duration=10)


class TestOffsets:
    def test_non_preemptive_blocking_is_found(self):
        """Synchronous release is not the worst: a longer job must have begun just before."""
        system = _engine.SimSystem([core("fixed-priority-non-preemptive")], [], simple((2, 10), (6, 20)))
        together = _engine.sim_run(system, 40)["tasks"][0]["max_response"]
        found = _engine.sim_explore(system, 60, 1)
        assert together == 2 and found["max_response"][0] == 7
        assert found["runs"] == 200 == _engine.sim_combinations(system, 1)
        tasks = simple((2, 10), (6, 20))
        for t, offset in zip(tasks, found["offsets"][0], strict=True):
            t.offset = offset
        assert worst(run([core("fixed-priority-non-preemptive")], tasks, 60))[0] == 7


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"wcet": -1}, "task 0: a time is negative"),
        ({"period": 0}, "task 0: period and deadline must be above 0"),
        ({"bcet": 9}, "task 0: the best-case execution time is above"),
        ({"core": 7}, "task 0: there is no such core"),
        ({"master": 1}, "task 0: only an offloaded task has a master"),
        ({"releases": [5, 3]}, "task 0: releases must be 0 or more, in order"),
    ],
)
def test_bad_input(wrong, message):
    with pytest.raises(ValueError, match=message):
        run(
            [core(), core()],
            [task(wcet=3, bcet=3) if k is None else task(**{"wcet": 3, k: v}) for k, v in wrong.items()],
            10,
        )


def test_overflow_is_an_error():
    with pytest.raises(OverflowError):
        run([core()], [task(wcet=2**59, bcet=2**59, period=1)], 100)


class TestSkippedReleases:
    def test_what_cannot_be_served_is_counted_and_has_no_response(self):
        long = task(wcet=35, bcet=35, period=100, deadline=100, rank=0)
        short = task(wcet=1, bcet=1, period=10, deadline=10, rank=1, skip=True)
        found = run([core()], [long, short], 50, trace=True)
        figures = found["tasks"][1]
        # Due at 0, 10, 20: too late at 35. Those due at 30 and 40 are served.
        assert (figures["jobs"], figures["unserved"], figures["misses"]) == (5, 3, 3)
        assert figures["max_response"] == 6
        jobs = found["jobs"].view(JOBS)
        skipped = jobs[jobs["status"] & 128 != 0]
        assert sorted(skipped["seq"]) == [0, 1, 2]
        assert set(skipped["start"]) == set(skipped["finish"]) == {-1}

    def test_nothing_is_skipped_unless_it_is_asked_for(self):
        long = task(wcet=35, bcet=35, period=100, deadline=100, rank=0)
        short = task(wcet=1, bcet=1, period=10, deadline=10, rank=1)
        figures = run([core()], [long, short], 50)["tasks"][1]
        assert (figures["jobs"], figures["unserved"], figures["max_response"]) == (5, 0, 36)

    def test_three_phase_tasks_do_not_skip(self):
        with pytest.raises(ValueError, match="task 0: a three-phase task does not skip releases"):
            run([core("three-phase", slot=2)], [task(skip=True)], 10, [dma(round=2)])


class TestOneInFlight:
    def test_a_task_that_keeps_data_has_one_job_in_the_partitions(self):
        # The second job is due while the first executes, from 2 to 17, and a partition is free. The first one
        # is unloaded from 18 to 20.
        for kept, second_load in ((False, 4), (True, 20)):
            one = task(wcet=15, bcet=15, period=4, deadline=50, one_in_flight=kept)
            found = run([core("three-phase", slot=2)], [one], 8, [dma(round=2)], trace=True)
            slices = found["slices"].view(SLICES)
            loads = sorted(int(s["begin"]) for s in slices if s["doing"] == 2)
            assert loads == [0, second_load]
