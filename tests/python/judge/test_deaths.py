# SPDX-License-Identifier: Apache-2.0
"""Cores that are taken for dead on a machine that stands still, and cores that die: no correct system is said
not to hold, and no death to be held."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from consort.judge import Verdict, judge
from consort.record import RawRun, RunWriter
from consort.record.ran import EVENTS
from consort.run.modes import disturbed_between
from effort import examples
from machine_model import DISTURBED, MS, STOPPED, US
from system_recording import T0, Recording

CORE_DIED = EVENTS.index("core-died")
OF_ITSELF, SILENT, UNWATCHED = 0, 1, 2
PERIOD, JOBS, DETECTION = 20 * MS, 15, 400 * MS
MACHINE = {"machine": "x86_64"}


def run_of_two_cores(*, sign: int, noticed: int, stood: tuple[int, int], cause: int, done: int) -> Recording:
    """Cores m0, which has `done` jobs of a and its last sign of life at an instant, and m1, which the machine
    keeps from its thread in a stretch."""
    facts = {"period_ns": PERIOD, "deadline_ns": PERIOD, "wcet_ns": 2 * MS}
    recording = Recording(
        {"a": facts | {"core": "m0"}, "b": facts | {"core": "m1"}},
        start_tick=T0,
        duration_ns=JOBS * PERIOD,
        detection_ns=DETECTION,
        stays=[[T0, T0 + sign]],
        jobs={"a": JOBS, "b": JOBS},
    )
    begin, end = stood
    for seq in range(JOBS):
        release = seq * PERIOD
        if seq < done:
            recording.job("a", seq, 2 * US, 1 * MS)
        if begin < release + PERIOD and end > release + PERIOD:
            recording.job("b", seq, 0, 0)
        else:
            late = max(0, end - release) if begin < release + PERIOD else 0
            recording.job("b", seq, late + 2 * US, late + 1 * MS)
    if end > begin:
        recording.event(DISTURBED, end, end - begin, core="m1", why=STOPPED)
    recording.event(CORE_DIED, noticed, noticed - sign, core="m0", why=cause)
    return recording


def judged(recording: Recording, folder: Path, *expected: str) -> Verdict:
    return judge(recording.write(folder), environment=MACHINE, expected_events=expected)


def of_deaths(verdict: Verdict) -> list[str]:
    return [reason for reason in verdict.reasons if "taken for dead" in reason or "planned jobs" in reason]


@pytest.mark.parametrize(
    ("cause", "others", "supervisor"), [(UNWATCHED, 0, "the supervisor"), (SILENT, 2_015, "every other core")]
)
def test_a_death_while_the_machine_stood_still_is_undecided(
    tmp_path: Path, cause: int, others: int, supervisor: str
) -> None:
    """Of 15 jobs 9 are there, as the death came to be known after the run's end."""
    recording = run_of_two_cores(
        sign=170 * MS, noticed=2_189 * MS, stood=(171 * MS, (171 + others) * MS), cause=cause, done=9
    )
    verdict = judged(recording, tmp_path / "raw")
    assert verdict.ok == "undecided", verdict.reasons
    assert of_deaths(verdict) == [
        f"core m0 was taken for dead, 2.02 s after its last sign of life, while the machine kept {supervisor}"
        " from running, too: whether it was dead is not known"
    ]
    assert verdict.mistaken == (0,)


@pytest.mark.parametrize(
    ("cause", "others"), [(OF_ITSELF, 2_015), (SILENT, 0), (SILENT, 1_700)], ids=["ended", "alone", "in part"]
)
def test_a_core_that_died_is_the_systems(tmp_path: Path, cause: int, others: int) -> None:
    """What the machine took of all others is subtracted, and what is left is more than a silence may last."""
    recording = run_of_two_cores(
        sign=170 * MS, noticed=2_189 * MS, stood=(171 * MS, (171 + others) * MS), cause=cause, done=9
    )
    verdict = judged(recording, tmp_path / "raw")
    assert verdict.ok == "not held"
    assert of_deaths(verdict) == ["a: 9 of 15 planned jobs were released: the run did not do all of its work"]
    assert verdict.mistaken == ()


def test_a_core_that_was_stopped_on_purpose_is_not_taken_for_dead(tmp_path: Path) -> None:
    recording = run_of_two_cores(sign=170 * MS, noticed=590 * MS, stood=(0, 0), cause=UNWATCHED, done=9)
    verdict = judged(recording, tmp_path / "raw", "core-died")
    assert of_deaths(verdict)[0].startswith("a: 9 of 15 planned jobs") and verdict.mistaken == ()


def test_a_death_by_the_machine_excuses_no_job_that_had_to_be_there(tmp_path: Path) -> None:
    for done, expected in ((8, "undecided"), (7, "not held")):
        recording = run_of_two_cores(
            sign=170 * MS, noticed=2_189 * MS, stood=(171 * MS, 2_186 * MS), cause=UNWATCHED, done=done
        )
        # Eight had their deadlines before the last sign of life.
        verdict = judged(recording, tmp_path / str(done))
        assert verdict.ok == expected, (done, verdict.reasons)


def test_a_job_that_was_never_served_was_under_way_for_as_long_as_it_had(tmp_path: Path) -> None:
    """What the machine did to it excuses the gap and the change of that time, and none of another one."""
    stood = (171 * MS, 219 * MS)
    verdict = judged(
        recording := run_of_two_cores(sign=290 * MS, noticed=299 * MS, stood=stood, cause=OF_ITSELF, done=15),
        tmp_path / "raw",
    )
    raw = RawRun.load(tmp_path / "raw")
    never = [job["release"] - T0 for job in recording.rows if not job["finish"]]
    assert never == [160 * MS, 180 * MS]
    assert disturbed_between(T0 + 161 * MS, T0 + 199 * MS, [(raw, verdict)])
    assert not disturbed_between(T0 + 240 * MS, T0 + 280 * MS, [(raw, verdict)])


def test_no_correct_system_is_blamed_for_a_standstill_and_no_death_is_held(tmp_path: Path) -> None:
    for number in range(examples(60)):
        draw = random.Random(number)
        sign = draw.randrange(30 * MS, (JOBS - 3) * PERIOD)
        begin = sign + draw.randint(0, 2 * MS)
        end = begin + draw.randint(DETECTION, 8 * DETECTION)
        died = number % 2 == 1
        cause = OF_ITSELF if died else draw.choice((SILENT, UNWATCHED))
        recording = run_of_two_cores(
            sign=sign,
            noticed=end + draw.randint(1 * MS, DETECTION // 2),
            stood=(begin, end),
            cause=cause,
            done=(sign - 1 * MS) // PERIOD + 1,
        )
        verdict = judged(recording, tmp_path / str(number))
        assert verdict.ok == ("not held" if died else "undecided"), (number, verdict.reasons)


def test_a_cause_is_named_by_what_it_means_for_its_event(tmp_path: Path) -> None:
    recording = run_of_two_cores(
        sign=50 * MS, noticed=400 * MS, stood=(100 * MS, 300 * MS), cause=SILENT, done=2
    )
    recording.event(EVENTS.index("link-failed"), 410 * MS, 0, why=2)
    recording.event(EVENTS.index("link-died"), 420 * MS, 0, why=1)
    recording.event(EVENTS.index("link-died"), 430 * MS, 0)
    with RunWriter("drive", "application", tmp_path / "runs", command=[]) as writer:
        writer.add_configuration("a", "a", recording.write(tmp_path / "raw"))
    assert writer.run is not None
    named = {
        ("disturbed", "stopped"),
        ("core-died", "no sign of life"),
        ("link-failed", "malformed"),
        ("link-died", "no sign of life"),
        ("link-died", ""),
    }
    (configuration,) = writer.run.configurations
    assert {(e["name"], e["cause"]) for e in configuration["event_summary"]} == named
    table = writer.run.table("a", "events")
    assert {*zip(table["kind"].to_pylist(), table["cause"].to_pylist(), strict=True)} == named
