# SPDX-License-Identifier: Apache-2.0
"""Excesses that are no longer and no more frequent than the stops of a core are undecided."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from consort.judge import Bounds, Limit, Verdict, judge
from consort.judge.samples import Stops, _at_least, stops_of
from hypothesis import given
from hypothesis import strategies as st
from system_recording import steady

US = 1_000
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
    assert "stopped 501 times a second, longest 90" in verdict.machine
    assert verdict.data["stops"]["longest_ns"] == 90 * US


def test_what_no_stop_explains_stays_the_systems(tmp_path: Path) -> None:
    # Longer than any stop, and far more often than stops come.
    assert judged(tmp_path / "long", {40: 300}, stops(*[20] * 500, 90)).ok == "not held"
    assert judged(tmp_path / "often", dict.fromkeys(range(0, 1000, 10), 40), stops(90)).ok == "not held"
    # Nobody watched, or nothing stopped the cores.
    assert judged(tmp_path / "unwatched", {40: 3}, None).ok == "not held"
    assert judged(tmp_path / "quiet", {40: 3}, stops()).ok == "not held"
    assert judged(tmp_path / "held", {}, stops(90)).ok == "held"


def test_execution_above_the_wcet_is_judged_alike(tmp_path: Path) -> None:
    found = {
        excess: judged(tmp_path / str(excess), {40: excess}, stops(*[20] * 500, 50), bound_us=10**6)
        for excess in (30, 70)
    }
    checks = {
        excess: next(check for check in verdict.checks if check.name == "execution times")
        for excess, verdict in found.items()
    }
    assert (checks[30].holds, checks[30].by, found[30].ok) == (False, "machine", "undecided")
    assert (checks[70].holds, checks[70].by, found[70].ok) == (False, "system", "not held")


@pytest.mark.parametrize("excess_us", [5, 50, 500])
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


def test_a_failure_that_took_no_longer_is_none_of_the_machines() -> None:
    for seen in (stops(), stops(*[20] * 500, 90)):
        assert not seen.explain(np.array([0.0]), 1e9)
        assert not seen.explain(np.array([0.0, 3.0 * US]), 1e9)
    assert stops(*[20] * 500, 90).explain(np.array([3.0 * US]), 1e9)


def test_stops_that_the_kernel_makes_itself_explain_nothing() -> None:
    busy = {"cpu": 0, "lasted": 2 * 10**12, "threshold_ns": 2000}
    own = {"n": 3, "lengths": [10**10, 10**9, 10**9]}
    seen = stops_of({0: busy | {"stopped": own, "interrupted": {"n": 2, "lengths": [7 * 10**6, 3 * 10**6]}}})
    assert seen is not None
    assert (seen.longest_ns, seen.count, seen.per_second) == (7000.0, 2, 1.0)
    assert stops_of({0: {"cpu": 0, "refused": "no such processor"}}) is None and stops_of({}) is None


@given(st.integers(0, 400), st.floats(0, 500))
def test_the_probability_of_stops_is_poissons(count: int, mean: float) -> None:
    assert _at_least(count, mean) == pytest.approx(scipy.stats.poisson.sf(count - 1, mean), abs=1e-9)


def test_a_run_is_judged_without_the_libraries_of_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("scipy", "scipy.stats"):
        monkeypatch.setitem(sys.modules, name, None)
    assert stops(*[20] * 500, 90).explain(np.array([3.0 * US]), 1e9)
