# SPDX-License-Identifier: Apache-2.0
"""Three-phase tasks: counterexamples of the printed bound, the corrected one, searches for violations."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from consort import _engine
from consort.analysis.three_phase import DmaShare, bound_core
from consort.analysis.unitask import UniTask
from effort import examples
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

SIGMA = 10


def sets(*pairs: tuple[int, int]) -> list[tuple[int, int, int]]:
    return [(c, t, t) for c, t in pairs]


def bounds(tasks, cores, method, limit_factor=8, sigma=SIGMA):
    found = _engine.spm_bounds(tasks, cores * sigma, sigma, method, limit_factor, False)
    return [b["response"] for b in found]


def arrivals(*offsets, gaps=None):
    gaps = gaps or {}
    return [(offset, gaps.get(i, []), [], False) for i, offset in enumerate(offsets)]


def responses(jobs):
    worst: dict[int, int] = {}
    for task, release, _load, _start, _finish, end in jobs:
        worst[task] = max(worst.get(task, 0), end - release)
    return worst


# Four cores, two, three, two; (execution, period = deadline), time in tenths of a slot.
CE1 = (4, sets((160, 350), (10, 390), (10, 510), (10, 1140)))
CE2 = (2, sets((180, 351), (10, 380), (10, 430), (80, 770), (51, 800)))
CE3 = (3, sets((530, 1850), (760, 2170), (320, 2240), (490, 2270)))
CE4 = (2, sets((630, 1440), (230, 1670), (480, 1720), (290, 1740)))


class TestPrintedBound:
    """The bound as printed accepts four sets whose deadlines are missed."""

    @pytest.mark.parametrize(
        ("case", "expected"),
        [
            (CE1, [350, 390, 480, 1140]),
            (CE2, [351, 371, 421, 761, 791]),
            (CE3, [1830, 2150, 2220, 2250]),
            (CE4, [1440, 1670, 1720, 1740]),
        ],
    )
    def test_values(self, case, expected):
        cores, tasks = case
        assert bounds(tasks, cores, "literal") == expected
        assert all(r <= task[2] for r, task in zip(expected, tasks, strict=True))

    def test_first_counterexample_slot_by_slot(self):
        cores, tasks = CE1
        jobs = _engine.spm_replay(tasks, cores * SIGMA, SIGMA, arrivals(1, 81, 81, 1), 390)
        loads = sorted((load, task) for task, _r, load, _s, _f, _e in jobs)
        assert loads == [(40, 0), (80, 3), (280, 1), (360, 0), (440, 2)]
        ends = {(task, release): end for task, release, _l, _s, _f, end in jobs}
        assert ends[(0, 1)] == 250 and ends[(3, 1)] == 330 and ends[(1, 81)] == 410
        assert responses(jobs)[2] == 529 > 510

    def test_second_counterexample(self):
        cores, tasks = CE2
        pattern = arrivals(21, 121, 121, 21, 1, gaps={0: [380 - 21 - 351]})
        assert responses(_engine.spm_replay(tasks, cores * SIGMA, SIGMA, pattern, 400))[2] == 489 > 430

    @pytest.mark.parametrize(("case", "task", "known"), [(CE3, 3, 2309), (CE4, 3, 1770)])
    def test_search_finds_the_others(self, case, task, known):
        cores, tasks = case
        printed = bounds(tasks, cores, "literal")
        worst = max(
            _engine.spm_climb(tasks, cores * SIGMA, SIGMA, "literal", printed, 1, restarts, steps)["worst"][
                task
            ]
            for restarts, steps in ((10_000, 300), (1_000, 5_000))
        )
        assert worst > tasks[task][2], "no missed deadline found"
        assert worst >= known

    @pytest.mark.parametrize("case", [CE1, CE2, CE3, CE4])
    def test_corrected_bound_refuses_these_sets(self, case):
        cores, tasks = case
        found = bounds(tasks, cores, "corrected")
        assert len(found) < len(tasks) or any(
            r is None or r > task[2] for r, task in zip(found, tasks, strict=False)
        )


class TestExact:
    def test_known_responses(self):
        """Exact worst cases on the grid of rounds, slot 1."""
        found = _engine.spm_exact(sets((17, 36), (1, 40), (1, 60), (1, 120)), 4, 1)
        assert found["complete"] and found["response"] == [33, 33, 41, 49]
        found = _engine.spm_exact(sets((20, 42), (1, 42), (1, 60), (1, 120)), 3, 1)
        assert found["complete"] and found["response"] == [31, 31, 37, 40]

    def test_corrected_bound_is_tighter_than_all_tasks_in_flight(self):
        """Above the exact 33 by less than a quarter where the heavy task's next release comes at once."""
        assert bounds(sets((17, 36), (1, 40), (1, 60), (1, 120)), 4, "corrected", sigma=1)[:2] == [36, 40]

    @settings(max_examples=examples(60), suppress_health_check=[HealthCheck.filter_too_much])
    @given(st.data())
    def test_never_above_the_corrected_bound(self, data):
        cores = data.draw(st.integers(1, 3))
        n = data.draw(st.integers(2, 4))
        tasks = []
        executions = data.draw(st.lists(st.integers(1, 14), min_size=n, max_size=n))
        for c in executions:
            rounds = data.draw(st.integers(2, 24))
            tasks.append((c, rounds * cores, rounds * cores))
        found = bounds(tasks, cores, "corrected", 1, sigma=1)
        if len(found) < n or found[-1] is None:
            return
        exact = _engine.spm_exact(tasks, cores, 1, data.draw(st.booleans()), 300_000)
        assert exact["late_task"] is None
        assert all(e <= b for e, b in zip(exact["response"], found, strict=True))

    def test_systems_at_the_edge_of_acceptance(self):
        """Periods as short as the corrected bound allows on the grid: every sporadic pattern of every one."""
        rng = np.random.default_rng(11)
        explored, closest = 0, 0.0
        while explored < examples(1000):
            cores, n = int(rng.integers(1, 5)), int(rng.integers(2, 5))
            far = 1 << 30
            tasks = [(int(c), far, far) for c in np.ceil(np.exp(rng.uniform(0, 3, n)))]
            for i in range(n):
                found = bounds(tasks, cores, "corrected", 1, sigma=1)
                if len(found) <= i or found[i] is None:
                    break
                period = -(-found[i] // cores) * cores
                if period // cores > 120:
                    break
                tasks[i] = (tasks[i][0], period, period)
            else:
                exact = _engine.spm_exact(tasks, cores, 1, bool(rng.integers(2)), 60_000)
                limit = bounds(tasks, cores, "corrected", 1, sigma=1)
                assert exact["late_task"] is None, (cores, tasks)
                for response, bound in zip(exact["response"], limit, strict=True):
                    assert response <= bound, (cores, tasks)
                    closest = max(closest, response / bound)
                explored += exact["complete"]
        assert closest > 0.95


class TestSoundness:
    """Random sets at the edge of what a bound accepts, each attacked by a hill climb over its schedules."""

    @pytest.mark.representative
    @pytest.mark.parametrize("method", ["corrected", "round-robin"])
    def test_no_schedule_above_the_bound(self, method):
        sets = examples(20_000)
        found = _engine.spm_campaign(method, sets, seed=20, threads=2)
        assert found["sets"] > 0.95 * sets
        assert found["violated_sets"] == 0, found["example"]
        assert found["largest_ratio"] > 0.99, "the search is too weak to say anything"

    def test_tasks_above_hold_while_those_below_overrun(self):
        """Two jobs of one overrunning task may be in flight; then only the bounds that allow for it hold."""
        rng = np.random.default_rng(23)
        refuted = 0
        for seed in range(300):
            cores = int(rng.integers(1, 5))
            above = [(int(c), 1 << 40, 1 << 40) for c in np.exp(rng.uniform(1, 5, 2))]
            # Overload from below: more execution than period.
            below = [(c := int(rng.integers(60, 400)), c + 10, c + 10)]
            tasks = above + below
            overrun = {}
            for allowed in (True, False):
                for i in range(2):
                    found = _engine.spm_bounds(tasks, cores * SIGMA, SIGMA, "corrected", 1, allowed)
                    tasks[i] = (tasks[i][0], found[i]["response"], found[i]["response"])
                limits = [tasks[0][1], tasks[1][1], 1 << 40]
                search = _engine.spm_climb(tasks, cores * SIGMA, SIGMA, "corrected", limits, seed + 1, 4, 150)
                overrun[allowed] = any(w > b for w, b in zip(search["worst"], limits, strict=True))
                tasks = above + below
            assert not overrun[True], tasks
            refuted += overrun[False]
        assert refuted > 0, "the search would not have noticed"

    def test_search_refutes_the_printed_bound(self):
        found = _engine.spm_campaign("literal", 4_000, seed=3, threads=2, cores_low=2)
        example = found["example"]
        assert found["violated_sets"] > 0
        jobs = _engine.spm_replay(
            example["tasks"], example["round"], example["slot"], example["arrivals"], example["until"]
        )
        assert responses(jobs)[example["task"]] == example["response"] > example["bound"][example["task"]]

    @pytest.mark.parametrize(
        "lemmas",
        [
            {"interval_slots": 0},
            {"interval_rounds": 1},
            {"threshold_rounds": 3},
            {"extra_waste": 0},
            {"final_rounds": 1},
            {"final_slots": 0},
            {"final_short_rounds": 2},
            {"final_short_slots": 0},
            {"blocking_slots": 1},
            {"window_slots": 2},
            {"window_slots": 4},
            {"early_return": 0},
        ],
        ids=str,
    )
    def test_every_lowered_lemma_is_refuted(self, lemmas):
        assert any(
            _engine.spm_campaign("corrected", 300, seed, threads=2, lemmas=lemmas)["violated_sets"]
            for seed in range(1, 191)
        )

    def test_last_in_first_out_unloading_is_refuted(self):
        assert _engine.spm_campaign("corrected", 500, seed=2, unload="lifo")["violated_sets"] > 50

    def test_same_findings_on_any_number_of_threads(self):
        one = _engine.spm_campaign("corrected", 300, seed=5, threads=1)
        two = _engine.spm_campaign("corrected", 300, seed=5, threads=2)
        assert one == two

    def test_hypothesis_shrinks_a_counterexample_of_the_printed_bound(self):
        """The counterexample that a user would get printed: the smallest set and its schedule."""

        @st.composite
        def attacked(draw):
            cores = draw(st.sampled_from([2, 4]))
            executions = draw(st.lists(st.sampled_from([10, 20, 160, 180]), min_size=4, max_size=4))
            tasks = [(c, 1 << 40, 1 << 40) for c in executions]
            for i, c in enumerate(executions):
                period = bounds(tasks, cores, "literal", 1)[i] + draw(st.sampled_from([0, 30, 600]))
                tasks[i] = (c, period, period)
            return cores, tasks

        def exceeds(case):
            cores, tasks = case
            limit = bounds(tasks, cores, "literal", 1)
            if len(limit) < 4 or None in limit:
                return False
            found = _engine.spm_climb(tasks, cores * SIGMA, SIGMA, "literal", limit, 1, 8, 300)
            return found["ratio"] > 1

        try:
            # A search, not a property: the same one each time, and long enough to succeed from any seed.
            cores, tasks = find(
                attacked(), exceeds, settings=settings(max_examples=5000, database=None), random=Random(1)
            )
        except NoSuchExample:
            pytest.fail("no counterexample found")
        assert len(tasks) == 4 and exceeds((cores, tasks))


times = st.integers(1, 60)


@st.composite
def systems(draw):
    n = draw(st.integers(1, 5))
    cores = draw(st.integers(1, 4))
    tasks = [(draw(times), period := draw(st.integers(200, 3000)), period) for _ in range(n)]
    return cores, tasks


class TestProperties:
    @settings(max_examples=examples(150))
    @given(systems(), st.data())
    def test_longer_execution_never_lowers_a_bound(self, system, data):
        cores, tasks = system
        before = bounds(tasks, cores, "corrected")
        k = data.draw(st.integers(0, len(tasks) - 1))
        longer = [(c + (7 if i == k else 0), t, d) for i, (c, t, d) in enumerate(tasks)]
        after = bounds(longer, cores, "corrected")
        kept = zip(before, after, strict=False)
        assert len(after) < len(before) or all(b is None or (a is not None and a <= b) for a, b in kept)

    @settings(max_examples=examples(150))
    @given(systems(), st.data())
    def test_round_robin_with_whole_slots_never_waits_longer_than_its_delays(self, system, data):
        """One core alone: round robin and TDMA of one slot differ by what TDMA wastes."""
        _cores, tasks = system
        found = bounds(tasks, 1, "round-robin")
        delays = [0]
        pattern = arrivals(*(data.draw(st.integers(0, 400)) for _ in tasks))
        jobs = _engine.spm_replay(tasks, SIGMA, SIGMA, pattern, 3000, delays=delays)
        if len(found) < len(tasks) or any(r is None or r > t[2] for r, t in zip(found, tasks, strict=True)):
            return
        assert all(r <= found[task] for task, r in responses(jobs).items())

    @pytest.mark.parametrize(("tasks", "longest"), [(1, 2500), (2, 500), (4, 200), (9, 700), (12, 300)])
    def test_verdicts_of_many_sets_are_those_of_one(self, tasks, longest):
        """A verdict needs no exact bound where a set is far from the border."""
        rng = np.random.default_rng(tasks * longest)
        periods = np.sort(rng.integers(300, 4000 * tasks, size=(400, tasks)), axis=1)
        executions = rng.integers(5, longest, size=(400, tasks))
        verdicts = _engine.spm_schedulable(executions, periods, 2 * SIGMA, SIGMA)
        each = _engine.spm_schedulable(executions, periods, 2 * SIGMA, SIGMA, each=True)
        assert (verdicts == each).all()
        assert 0 < verdicts.sum() < 400
        for e, p, verdict in zip(executions, periods, verdicts, strict=True):
            found = bounds([(int(c), int(t), int(t)) for c, t in zip(e, p, strict=True)], 2, "corrected", 1)
            assert verdict == (len(found) == tasks and found[-1] is not None)


class TestPython:
    MS = 10**9

    def core(self):
        ms = self.MS
        return [
            UniTask("fast", 1 * ms, 20 * ms, 20 * ms, load=ms // 10, unload=ms // 10),
            UniTask("slow", 3 * ms, 50 * ms, 40 * ms, load=ms // 20, unload=ms // 10),
        ]

    def test_bounds_in_picoseconds_with_an_explanation_that_adds_up(self):
        tasks = self.core()
        share = DmaShare.equal(self.MS // 10, 2)
        for bound in bound_core(tasks, share, core="app-0"):
            assert bound.schedulable and bound.response is not None
            assert (
                sum(step.length for step in bound.explanation) + bound.explanation[0].start == bound.response
            )
            assert bound.assumptions and "theorem 1" in bound.source

    def test_a_finer_tick_changes_nothing(self):
        tasks, ms = self.core(), self.MS
        share = DmaShare.equal(ms // 10, 2)
        odd = [*tasks, UniTask("odd", 1, 10**12 + 7, 10**12 + 7)]
        assert [b.response for b in bound_core(tasks, share, method="literal")] <= [
            b.response for b in bound_core(odd, share, method="literal")
        ]

    def test_after_a_miss_the_rest_have_no_bound(self):
        ms = self.MS
        tasks = [UniTask("late", 5 * ms, 6 * ms, 6 * ms), *self.core()]
        found = bound_core(tasks, DmaShare.equal(ms, 2))
        # 17 ms, which bound the first late job only.
        assert found[0].response is None and found[0].slack is None and "up to 17ms" in found[0].notes[0]
        assert found[1].response is None and "late" in found[1].notes[0]

    def test_why_a_task_that_is_far_too_late_has_no_bound_comes_first(self):
        ms = self.MS
        found = bound_core([UniTask("late", ms, 2 * ms, 2 * ms), *self.core()], DmaShare.equal(20 * ms, 2))
        assert found[0].response is None
        assert found[0].notes[0] == (
            "its first late job takes more than 32ms: no bound above 16 deadlines is searched for"
        )

    def test_printed_bound_says_that_it_is_unsound(self):
        assert "unsound" in bound_core(self.core(), DmaShare.equal(self.MS, 2), method="literal")[0].notes[0]

    @pytest.mark.parametrize(
        ("task", "message"),
        [
            (UniTask("a", 1, 10, 11), "deadline <= period"),
            (UniTask("a", 1, 10, 10, load=9), "load, unload <= slot"),
        ],
    )
    def test_what_the_analysis_does_not_take(self, task, message):
        with pytest.raises(ValueError, match=message):
            bound_core([task], DmaShare(2, 4))
