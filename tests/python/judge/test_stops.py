# SPDX-License-Identifier: Apache-2.0
"""Excesses that are no longer and no more frequent than the stops of a core are undecided."""

from __future__ import annotations

import random
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from consort.judge import Bounds, Limit, Verdict, judge, words
from consort.judge.rows import _Maker
from consort.judge.stops import Stops, _at_least, stops_of
from consort.record.ran import EVENTS
from hypothesis import given
from hypothesis import strategies as st
from machine_model import WORKER_BACK, WORKER_DIED
from numpy.typing import NDArray
from system_recording import T0, Recording, steady

US, MS = 1_000, 1_000_000
MACHINE = {"rt_runtime_us": 950_000, "rt_period_us": 1_000_000}


def stops(*lengths_us: float, seconds: float = 1.0) -> Stops:
    lengths = np.sort(np.array(lengths_us, dtype=np.float64))[::-1] * US
    return Stops(seconds, (0,), lengths, 2.0 * US, len(lengths_us))


def judged(
    folder: Path, longer_us: dict[int, int], seen: Stops | None, *, jobs: int = 1000, bound_us: int = 22
) -> Verdict:
    """A steady system of one task, WCET 25 µs, some of whose jobs execute longer."""
    recording = steady(jobs)
    for job, excess in longer_us.items():
        for moment in ("finish", "compute"):
            recording.rows[job][moment] += excess * US
    bounds = Bounds((Limit("servo", "response", bound_us * US, "theorem 1"),), wcets={"servo": 25 * US})
    return judge(recording.write(folder), bounds, environment=MACHINE, stops=seen)


def test_an_excess_that_the_machine_may_have_made_is_undecided(tmp_path: Path) -> None:
    seen = stops(*[20] * 500, 90)
    verdict = judged(tmp_path / "raw", {40: 3}, seen)
    assert verdict.ok == "undecided"
    (row,) = (row for row in verdict.rows if row.quantity == "response")
    assert row.outcome == "cannot be shown" and row.above == 1
    assert "servo: response, longest 24.000 µs, bound 22.000 µs" in verdict.summary
    assert "which this machine cannot show: it stops a core for up to 90" in verdict.summary
    assert "1 core watched for 1 s after the run: 501 stops in all, longest 90" in verdict.machine
    assert verdict.data["stops"]["longest_ns"] == 90 * US


def test_the_watchs_stops_and_those_of_the_run_are_told_apart() -> None:
    watched, in_run = stops(*[20] * 500, 90), np.array([3100.0, 40.0]) * US
    both = words.stopped(replace(watched, seen_ns=in_run))
    assert "after the run: 501 stops in all, longest 90" in both
    assert "; in the run, waiting cores were stopped 2 times, longest 3.1" in both
    assert words.stopped(stops()).endswith("after the run: nothing stopped them")
    alone = words.stopped(replace(stops(), seen_ns=in_run[:1]))
    assert "nothing stopped them; in the run, waiting cores were stopped once, longest 3.1" in alone
    assert "cannot be shown here" in alone
    data = asdict(replace(watched, seen_ns=in_run).seen)
    assert data["longest_ns"] == 90 * US and data["in_run"] == {"count": 2, "longest_ns": 3100 * US}


def test_what_no_stop_explains_stays_the_systems(tmp_path: Path) -> None:
    # Longer than any stop, and far more often than stops come.
    many = stops(*[20] * 30_000, 90, seconds=60)
    assert judged(tmp_path / "long", {40: 300}, many).ok == "not held"
    assert judged(tmp_path / "often", dict.fromkeys(range(0, 1000, 10), 40), stops(90)).ok == "not held"
    # Nobody watched, or nothing stopped the cores.
    assert judged(tmp_path / "unwatched", {40: 3}, None).ok == "not held"
    assert judged(tmp_path / "quiet", {40: 3}, stops()).ok == "not held"
    assert judged(tmp_path / "held", {}, stops(90)).ok == "held"


def test_a_watch_that_is_too_short_decides_nothing(tmp_path: Path) -> None:
    """One excess in 20 ms may be a stop that a watch of a second did not see; three are none."""
    seen = stops(*[5] * 500, 10)
    verdict = judged(tmp_path / "once", {40: 60}, seen)
    assert verdict.ok == "undecided"
    assert "too short beside the run to tell an excess of 59" in verdict.summary
    (check,) = (check for check in verdict.checks if check.name == "execution times")
    assert (check.holds, check.by) == (False, "machine")
    assert judged(tmp_path / "thrice", dict.fromkeys((40, 50, 60), 60), seen).ok == "not held"


def test_execution_above_the_wcet_is_judged_alike(tmp_path: Path) -> None:
    found = {
        excess: judged(
            tmp_path / str(excess),
            {40: excess},
            stops(*[20] * 50_000, 50, seconds=100),
            bound_us=10**6,
        )
        for excess in (30, 70)
    }
    checks = {
        excess: next(check for check in verdict.checks if check.name == "execution times")
        for excess, verdict in found.items()
    }
    assert (checks[30].holds, checks[30].by, found[30].ok) == (False, "machine", "undecided")
    assert (checks[70].holds, checks[70].by, found[70].ok) == (False, "system", "not held")


def a_lonely_task(draw: random.Random, jobs: int, planted: Mapping[int, int]) -> tuple[Recording, Stops]:
    """A task of 1 ms each 5 ms on a core that sleeps, whose host stops it now and then: mostly for less than
    100 µs, each few seconds for up to 10 ms. Its record, and what a watch saw as long as jobs were under way.
    """
    facts = {"period_ns": 5 * MS, "deadline_ns": 5 * MS, "wcet_ns": 1 * MS}
    recording = Recording({"a": facts}, duration_ns=jobs * 5 * MS)

    def stop() -> int:
        long = draw.random() < 0.0005
        return int(draw.uniform(1 * MS, 10 * MS) if long else 2 * US + draw.expovariate(1 / (20 * US)))

    coming, free, at = draw.expovariate(500 / 1e9), 0, 0
    for seq in range(jobs):
        release = seq * 5 * MS
        start, left = max(release, free) + 2 * US, 1 * MS - 3 * US + planted.get(seq, 0)
        while coming < start:
            # It sleeps through what begins before.
            start = max(start, int(coming) + stop())
            coming += draw.expovariate(500 / 1e9)
        at = start
        while coming < at + left:
            left -= max(0, int(coming) - at)
            at = int(coming) + stop()
            coming += draw.expovariate(500 / 1e9)
        free = at + left
        recording.job("a", seq, start - release, free - release)
    watched = sorted((stop() / 1.0 for _ in range(jobs // 2)), reverse=True)
    return recording, Stops(jobs / 1000, (0,), np.array(watched), 2.0 * US, len(watched))


def test_a_correct_task_is_not_blamed_for_a_stop_longer_than_those_of_the_watch(tmp_path: Path) -> None:
    """As in each second run: the longest of both is in the run."""
    bounds = Bounds((Limit("a", "response", 1100 * US, "theorem 1"),), wcets={"a": 1 * MS})
    longer = 0
    for seed in range(8):
        recording, seen = a_lonely_task(random.Random(seed), 6_000, {})
        verdict = judge(recording.write(tmp_path / f"{seed}"), bounds, environment=MACHINE, stops=seen)
        assert verdict.ok == "undecided", (seed, verdict.summary)
        (row,) = (row for row in verdict.rows if row.quantity == "compute")
        longer += (row.undisturbed or 0) - 1 * MS > seen.longest_ns
    assert longer


@pytest.mark.parametrize("factor", [0.5, 1, 2, 5, 20])
def test_no_overrun_is_held_whatever_stops_were_seen(tmp_path: Path, factor: float) -> None:
    """Each twentieth job overruns, which no stops do; a few may be stops."""
    bounds = Bounds((Limit("a", "response", 1100 * US, "theorem 1"),), wcets={"a": 1 * MS})
    for many in (1, 3, 30):
        draw = random.Random(many)
        planted = dict.fromkeys(draw.sample(range(600), many), int(factor * MS))
        recording, seen = a_lonely_task(draw, 600, planted)
        raw = recording.write(tmp_path / f"{many}")
        verdict = judge(raw, bounds, environment=MACHINE, stops=seen)
        assert verdict.ok in (("not held",) if many == 30 else ("not held", "undecided")), verdict.summary


def test_jobs_that_one_stop_delays_are_one_excess(tmp_path: Path) -> None:
    """A stop of 9 ms in one job makes nine of a period of 1 ms late, of which each is less so; as many that
    are late one by one are the system's."""
    facts = {"period_ns": 1 * MS, "deadline_ns": 1 * MS, "wcet_ns": 100 * US}
    bounds = Bounds(wcets={"a": 10 * MS})
    for together in (True, False):
        recording = Recording({"a": facts}, duration_ns=1000 * MS)
        for seq in range(1000):
            behind = seq - 500 if together and 500 <= seq < 509 else None
            finish = 9 * MS - behind * 900 * US if behind is not None else 90 * US
            finish = 4 * MS if not together and seq % 100 == 50 else finish
            recording.job("a", seq, finish - 90 * US if behind else 10 * US, finish)
        seen = Stops(2.0, (0,), np.array([10.0 * MS, *[20.0 * US] * 500]), 2.0 * US, 501)
        verdict = judge(recording.write(tmp_path / f"{together}"), bounds, environment=MACHINE, stops=seen)
        assert verdict.ok == ("undecided" if together else "not held"), verdict.summary


@pytest.mark.parametrize("dies", [False, True])
def test_jobs_that_were_not_sent_to_a_worker_that_was_stopped_are_of_that_stop(
    tmp_path: Path, dies: bool
) -> None:
    """A worker needs 41 ms for a job of 1 ms, without a trace. That job is given up after 10 ms, as the next,
    and two more are not sent. A worker that never answers was not stopped."""
    facts = {"period_ns": 10 * MS, "deadline_ns": 10 * MS, "wcet_ns": 1 * MS}
    remote = facts | {"worker": "w0", "execution": "offloaded"}
    recording = Recording({"a": remote}, duration_ns=400 * 10 * MS)
    held = 0b11
    for seq in range(400):
        sent, back = {"sent": 4 * US}, {"worker_receive": 6 * US, "worker_send": 990 * US}
        if seq == 200:
            late = {} if dies else {"worker_receive": 6 * US, "worker_send": 41 * MS}
            recording.job("a", seq, 2 * US, 10 * MS + 2 * US, compute=0, status=held, **sent, **late)
        elif seq == 201 and not dies:
            late = {"worker_receive": 31 * MS + 10 * US, "worker_send": 32 * MS}
            recording.job("a", seq, 4 * US, 10 * MS + 2 * US, compute=0, status=held, **sent, **late)
        elif 201 <= seq < 204:
            recording.job("a", seq, 4 * US, 20 * US, compute=0, status=held)
        else:
            recording.job("a", seq, 2 * US, 1 * MS, compute=980 * US, received=995 * US, **sent, **back)
    bounds = Bounds((Limit("a", "response", 2 * MS, "theorem 1"),), wcets={"a": 1 * MS})
    seen = Stops(2.0, (0, 1), np.array([50.0 * MS, *[20.0 * US] * 500]), 2.0 * US, 501)
    verdict = judge(recording.write(tmp_path / "raw"), bounds, environment=MACHINE, stops=seen)
    assert verdict.ok == ("not held" if dies else "undecided"), verdict.summary


@pytest.mark.parametrize("died", [False, True])
def test_no_stop_explains_a_job_whose_worker_was_dead(tmp_path: Path, died: bool) -> None:
    """One job gets no answer, 1 ms after a stop might have begun, and it is computed in the end or not."""
    facts = {"period_ns": 10 * MS, "deadline_ns": 5 * MS, "wcet_ns": 1 * MS}
    recording = Recording(
        {"a": facts | {"worker": "w0", "execution": "offloaded"}}, duration_ns=400 * 10 * MS
    )
    for seq in range(400):
        sent, back = {"sent": 4 * US}, {"worker_receive": 6 * US, "worker_send": 990 * US}
        if seq == 200:
            late = {} if died else {"worker_receive": 6 * US, "worker_send": 9 * MS}
            recording.job("a", seq, 2 * US, 5 * MS + 2 * US, compute=0, status=0b11, **sent, **late)
        else:
            recording.job("a", seq, 2 * US, 1 * MS, compute=980 * US, received=995 * US, **sent, **back)
    if died:
        recording.event(WORKER_DIED, 200 * 10 * MS + 1 * MS, core="w0")
        recording.event(WORKER_BACK, 201 * 10 * MS - 1 * MS, task="a", core="m0")
    bounds = Bounds((Limit("a", "response", 2 * MS, "theorem 1"),), wcets={"a": 1 * MS})
    seen = Stops(2.0, (0, 1), np.array([50.0 * MS, *[20.0 * US] * 500]), 2.0 * US, 501)
    verdict = judge(
        recording.write(tmp_path / "raw"),
        bounds,
        environment=MACHINE,
        expected_events=["worker-died"],
        stops=seen,
    )
    assert verdict.ok == ("not held" if died else "undecided"), verdict.summary


def test_a_stop_that_a_sleeping_core_saw_is_one(tmp_path: Path) -> None:
    """It woke 19 ms late once: the excess of a job is no longer than that."""
    facts = {"period_ns": 50 * MS, "deadline_ns": 50 * MS, "wcet_ns": 1 * MS, "lateness_ns": 100 * US}
    bounds = Bounds((Limit("a", "response", 1200 * US, "theorem 1"),), wcets={"a": 1 * MS})
    for late in (True, False):
        recording = Recording({"a": facts}, duration_ns=100 * 50 * MS)
        for seq in range(100):
            woken = 19 * MS if late and seq == 20 else 10 * US
            took = 12 * MS if seq in (60, 70, 80) else 900 * US
            recording.job("a", seq, woken, woken + took)
        seen = Stops(60.0, (0,), np.array([100.0 * US]), 2.0 * US, 1)
        verdict = judge(recording.write(tmp_path / f"{late}"), bounds, environment=MACHINE, stops=seen)
        assert verdict.stops is not None and verdict.stops.in_run is not None
        assert verdict.stops.longest_ns == 100 * US
        assert verdict.stops.in_run.longest_ns == (18.9 * MS if late else 0)
        # Three of them, though, are too many for one in a minute.
        assert verdict.ok == "not held"


@pytest.mark.parametrize("excess_us", [5, 50, 75])
@pytest.mark.parametrize("every", [2, 10, 50])
def test_overruns_that_come_more_often_than_stops_are_never_excused(
    tmp_path: Path, excess_us: int, every: int
) -> None:
    """Stops as long as the overruns, but a tenth as many as these in the time that the jobs are under way."""
    planted = dict.fromkeys(range(0, 1000, every), excess_us)
    under_way_s = (1000 * 21 + len(planted) * excess_us) * 1e-6
    count = max(1, int(len(planted) / (10 * under_way_s)))
    verdict = judged(tmp_path / "raw", planted, stops(*[excess_us + 10] * count))
    assert verdict.ok == "not held", verdict.summary


def test_an_interrupted_job_is_no_stop_of_its_length(tmp_path: Path) -> None:
    """The event of a job of 12 ms says that it was interrupted, and how much CPU time it had."""
    facts = {"period_ns": 50 * MS, "deadline_ns": 50 * MS, "wcet_ns": 13 * MS}
    recording = Recording({"a": facts}, duration_ns=100 * 50 * MS)
    for seq in range(100):
        recording.job("a", seq, 10 * US, 12 * MS)
        recording.event(EVENTS.index("disturbed"), seq * 50 * MS + 12 * MS, 12 * MS, core="m0", why=2)
        recording.event(EVENTS.index("executed"), seq * 50 * MS + 12 * MS, 12 * MS, core="m0")
    recording.event(EVENTS.index("disturbed"), 30 * MS, 300 * US, core="m0", why=2)
    verdict = judge(recording.write(tmp_path / "raw"), Bounds(), environment=MACHINE, stops=stops(90))
    assert verdict.stops is not None and verdict.stops.in_run is not None
    assert verdict.stops.in_run.longest_ns == 300 * US


@pytest.mark.parametrize(("seq", "expected"), [(40, "undecided"), (60, "not held")])
def test_what_follows_from_a_job_that_may_have_been_stopped_is_undecided_too(
    tmp_path: Path, seq: int, expected: str
) -> None:
    """Job 40 is too long, and publishes late; another one that does so was not stopped."""
    recording = steady(1000)
    for moment in ("finish", "compute"):
        recording.rows[40][moment] += 5 * US
    at = recording.rows[seq]["finish"] - T0
    recording.event(EVENTS.index("let-late-write"), at - 1 * US, task="servo", core="m0")
    bounds = Bounds((Limit("servo", "response", 22 * US, "theorem 1"),), wcets={"servo": 25 * US})
    seen = stops(*[20] * 500, 90)
    verdict = judge(recording.write(tmp_path / "raw"), bounds, environment=MACHINE, stops=seen)
    assert verdict.ok == expected, verdict.summary


def test_a_failure_that_took_no_longer_is_none_of_the_machines() -> None:
    for seen in (stops(), stops(*[20] * 500, 90)):
        assert not seen.explain(np.array([0.0]), np.array([9.0 * US]), 1e9)
        assert not seen.explain(np.array([0.0, 3.0 * US]), np.array([9.0 * US, 12.0 * US]), 1e9)
    assert stops(*[20] * 500, 90).explain(np.array([3.0 * US]), np.array([12.0 * US]), 1e9)


def test_stops_that_the_kernel_makes_itself_explain_nothing() -> None:
    busy = {"cpu": 0, "lasted": 2 * 10**12, "threshold_ns": 2000}
    own = {"n": 3, "lengths": [10**10, 10**9, 10**9]}
    seen = stops_of({0: busy | {"stopped": own, "interrupted": {"n": 2, "lengths": [7 * 10**6, 3 * 10**6]}}})
    assert seen is not None
    assert (seen.longest_ns, seen.count, seen.per_second) == (7000.0, 2, 1.0)
    assert stops_of({0: {"cpu": 0, "refused": "no such processor"}}) is None and stops_of({}) is None


@given(st.integers(0, 400), st.integers(0, 400), st.floats(1e-6, 1 - 1e-6))
def test_the_probability_of_stops_is_binomial(inside: int, outside: int, share: float) -> None:
    found = _at_least(inside, inside + outside, share)
    if inside <= (inside + outside) * share:
        assert found == 1.0
    else:
        assert found == pytest.approx(scipy.stats.binom.sf(inside - 1, inside + outside, share), rel=1e-6)


def test_a_run_is_judged_without_the_libraries_of_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("scipy", "scipy.stats"):
        monkeypatch.setitem(sys.modules, name, None)
    assert stops(*[20] * 500, 90).explain(np.array([3.0 * US]), np.array([9.0 * US]), 1e9)


def late_rows(kind: str, quantity: str, every_us: int, took_us: NDArray[np.float64], seen: Stops) -> str:
    """The outcome of samples that began so far apart and took so long, of which 5 ms were allowed."""
    make = _Maker(Bounds(), "measured", 1.0, seen, 1.0, 0.0)
    since = np.arange(took_us.size) * every_us * US
    quiet = np.ones(took_us.size, dtype=np.bool_)
    row = make.row("it", kind, quantity, took_us * US, quiet, required=5.0 * MS, since=since, cores=2)  # type: ignore[arg-type]
    return row.outcome


@pytest.mark.parametrize("noise_us", [0.0, 1.0, 10.0])
def test_a_chain_that_is_always_late_is_not_one_stop(noise_us: float) -> None:
    """Its reactions overlap by themselves: a stop is in those alone that were under way with it."""
    took = 8000 + noise_us * np.random.default_rng(1).random(9000)
    seen = stops(*[20] * 500, 900, seconds=10)
    assert late_rows("chain", "reaction", 1000, took, seen) == "late"
    # One stop of 3 ms makes those late that it met.
    once = np.full(9000, 4900.0)
    once[100:105] = 7900 - 1000 * np.arange(5)
    assert (
        late_rows("chain", "reaction", 1000, once, stops(*[20] * 500, 3100, seconds=10)) == "cannot be shown"
    )


def test_execution_that_is_always_too_long_is_not_one_stop(tmp_path: Path) -> None:
    """Nothing says when each began: they do not overlap."""
    verdict = judged(tmp_path / "raw", dict.fromkeys(range(1000), 20), stops(*[20] * 500, 90, seconds=10))
    assert verdict.ok == "not held"
    assert {row.outcome for row in verdict.rows if row.quantity == "compute"} == {"above bound"}


def test_stops_without_a_length_are_counted_down_to_the_shortest_that_each_cpu_lists() -> None:
    quiet = {"n": 2, "lengths": [3 * 10**6, 2 * 10**6]}
    busy = {"n": 100_000, "lengths": [60 * 10**6] * 4000 + [50 * 10**6] * 96}
    rest = {"lasted": 10**12, "threshold_ns": 2, "stopped": quiet}
    seen = stops_of({0: rest | {"interrupted": quiet}, 1: rest | {"interrupted": busy}})
    assert seen is not None
    assert seen._as_long(10.0 * US) == 100_002 and seen._as_long(55.0 * US) == 4000
    excess = np.full(5000, 20.0 * US)
    assert seen.explain(excess, excess + 1.0 * MS, 1e9 * 10)
