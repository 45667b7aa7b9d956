# SPDX-License-Identifier: Apache-2.0
"""The verdict on made-up recordings: what holds, what does not, and whose doing it was."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from consort.base.errors import BadInput
from consort.base.units import THIN_SPACE
from consort.judge import Bounds, Expected, Limit, Verdict, judge
from consort.record import RawRun, RunWriter
from consort.record.findings import Row
from consort.record.ran import EVENTS, OPERATIONS, STATUS, write_plan
from made_plan import made_plan
from system_recording import T0, Recording, steady

US = 1_000
DISTURBED, CRASHED, ENDED, WORKER_DIED, SLOT_MISSED, LATE_WRITE = 11, 8, 13, 4, 14, 9
# Event::Cause.
STOPPED, INTERRUPTED, WOKEN_LATE, TAKEN, RESTED = 1, 2, 3, 4, 5
BOUND = Bounds((Limit("servo", "response", 30 * US, "theorem 1"),))
THROTTLING = {"rt_runtime_us": 950_000, "rt_period_us": 1_000_000}


def row(verdict: Verdict, subject: str, quantity: str) -> Row:
    return next(r for r in verdict.rows if (r.subject, r.quantity) == (subject, quantity))


def test_a_run_that_holds(tmp_path: Path) -> None:
    verdict = judge(steady().write(tmp_path / "raw"), BOUND)
    assert verdict.ok and verdict.reasons == () and verdict.machine == ""
    response = row(verdict, "servo", "response")
    assert (response.seen, response.undisturbed, response.bound) == (21 * US, 21 * US, 30 * US)
    assert (response.bound_source, response.provenance, response.outcome) == (
        "theorem 1",
        "measured",
        "holds",
    )
    compute = row(verdict, "servo", "compute")
    assert (compute.seen, compute.bound, compute.outcome) == (20 * US, 25 * US, "holds")
    assert verdict.summary == "The system held: all 100 jobs met their deadlines and bounds."
    (count,) = verdict.tasks
    assert (count.planned, count.released, count.on_time, count.late, count.unserved) == (100, 100, 100, 0, 0)


def test_a_bound_that_is_not_there_is_none_and_says_what_is_missing(tmp_path: Path) -> None:
    bounds = Bounds((Limit("servo", "response", None, "theorem 1", "no wcet of servo"),))
    verdict = judge(steady().write(tmp_path / "raw"), bounds)
    response = row(verdict, "servo", "response")
    assert response.bound is None and response.missing == "no wcet of servo"
    assert "no response time has a bound" in verdict.summary
    assert any("no wcet of servo" in note for note in verdict.notes)
    # The deadline still is one.
    assert response.outcome == "holds"


def test_a_figure_that_several_tasks_lack_is_named_once(tmp_path: Path) -> None:
    recording = Recording({name: {} for name in ("one", "two", "three")})
    for name in ("one", "two", "three"):
        recording.job(name, 0, 1 * US, 9 * US)
    missing = {"one": "no wcet of one: measure it", "two": "no wcet of one: measure it"}
    missing |= {"three": "no wcet of three: measure it"}
    bounds = Bounds(tuple(Limit(name, "response", None, "", words) for name, words in missing.items()))
    verdict = judge(recording.write(tmp_path / "raw"), bounds)
    assert verdict.notes == (
        "No bound of the response time: one, two (no wcet of one); three (no wcet of three): measure it.",
    )


def test_a_response_above_its_bound_is_a_defect_unless_an_assumption_is_broken(tmp_path: Path) -> None:
    recording = steady()
    recording.rows[40]["finish"] += 15 * US
    verdict = judge(recording.write(tmp_path / "defect"), BOUND)
    assert not verdict.ok
    (reason,) = verdict.reasons
    assert "above its bound of 30.000 µs in 1 of 100, longest 36.000 µs" in reason and "a defect" in reason
    recording.rows[40]["compute"] += 15 * US
    verdict = judge(recording.write(tmp_path / "broken"), BOUND)
    assert len(verdict.reasons) == 2
    assert "an assumption of the bound is broken" in verdict.reasons[0]
    assert (
        "longer than its WCET of 25.000 µs in 1 of 100 undisturbed jobs, first in job 40"
        in verdict.reasons[1]
    )


@pytest.mark.parametrize("how", ["nothing", "a late wake-up", "the ordinary class", "a gap", "a short gap"])
def test_nothing_is_called_a_defect_while_something_else_was_not_as_it_should_be(
    tmp_path: Path, how: str
) -> None:
    recording = steady()
    recording.rows[40]["finish"] += 15 * US
    if how == "a late wake-up":
        recording.rows[60]["start"] += 30 * US
        recording.rows[60]["finish"] += 30 * US
    if how == "the ordinary class":
        recording.realtime = {"workers": [{"name": "m0", "policy": "SCHED_OTHER"}]}
    if how.endswith("gap"):
        lasted = 8 * US if how == "a gap" else 5 * US
        recording.event(DISTURBED, 70 * 100 * US + 80 * US, lasted, core="m0", why=STOPPED)
    verdict = judge(recording.write(tmp_path / "raw"), BOUND)
    assert verdict.ok == "not held"
    defect = "no assumption of the bound that is checked here is broken: a defect"
    certain = how in ("nothing", "a short gap")
    assert verdict.reasons[0].endswith(defect) == certain, verdict.reasons
    assert certain or "it may be a defect, or what else was not as it should be: " in verdict.reasons[0]
    said = any(note.startswith("The threads of m0 ran in the ordinary class") for note in verdict.notes)
    assert said == (how == "the ordinary class")


@pytest.mark.parametrize("how", ["a death", "a provoked death", "a crash", "jobs that were not done"])
def test_nothing_is_called_a_defect_where_something_ended_before_its_time(tmp_path: Path, how: str) -> None:
    recording = steady()
    recording.rows[40]["finish"] += 15 * US
    if "death" in how:
        recording.event(WORKER_DIED, 39 * 100 * US, core="m0")
    if how == "a crash":
        recording.event(CRASHED, 39 * 100 * US, 11, task="servo", core="m0")
    if how == "jobs that were not done":
        recording.rows = recording.rows[:90]
    expected = ["worker-died"] if how == "a provoked death" else []
    verdict = judge(recording.write(tmp_path / "raw"), BOUND, expected_events=expected)
    assert verdict.ok == "not held"
    (reason,) = (reason for reason in verdict.reasons if "above its bound" in reason)
    assert "it may be a defect, or what else was not as it should be: " in reason
    assert ("died" in reason) == ("death" in how) and ("crashed" in reason) == (how == "a crash")
    assert ("90 of 100 planned" in reason) == (how == "jobs that were not done")


def gap(recording: Recording, at: int, lasted: int, why: int, job: int) -> None:
    """The machine stops core m0 for `lasted` until `at`, during a job of the servo."""
    recording.event(DISTURBED, at, lasted, core="m0", why=why)
    recording.rows[job]["finish"] += lasted
    recording.rows[job]["status"] = 1


@pytest.mark.parametrize(
    ("why", "lasted", "culprit"),
    [
        (STOPPED, 90 * US, "preempted by another thread"),
        (INTERRUPTED, 90 * US, "interrupt"),
        (WOKEN_LATE, 90 * US, "late wake-up"),
        (0, 90 * US, "preemption, interrupt or hypervisor"),
        (STOPPED, 49_000 * US, "real-time throttling"),
        # A thread that was throttled in its sleep is woken late by as much.
        (WOKEN_LATE, 49_000 * US, "real-time throttling"),
        (INTERRUPTED, 49_000 * US, "interrupt"),
        (TAKEN, 49_000 * US, "system-management interrupt"),
        (RESTED, 90 * US, "rest for the kernel's threads"),
        (RESTED, 49_000 * US, "rest for the kernel's threads"),
    ],
)
def test_what_the_machine_did_is_named_and_is_not_the_systems(
    tmp_path: Path, why: int, lasted: int, culprit: str
) -> None:
    recording = steady(6000)
    skipped = lasted // (100 * US)
    gap(recording, 40 * 100 * US + 5 * US + lasted, lasted, why, 40)
    for seq in range(41, 41 + skipped):
        recording.rows[seq] |= {"start": 0, "finish": 0, "compute": 0, "status": 0b1000_0001}
    if skipped:
        recording.rows[40 + skipped] |= {"status": 0b1000_0001}
    verdict = judge(recording.write(tmp_path / "raw"), BOUND, environment=THROTTLING)
    assert verdict.ok, verdict.reasons
    assert verdict.pauses[0].culprit == culprit and verdict.pauses[0].count == 1
    assert verdict.pauses[0].longest_ns == lasted
    (count,) = verdict.tasks
    assert count.disturbed_misses == 1 + skipped
    assert count.on_time + count.late + count.unserved == 6000
    response = row(verdict, "servo", "response")
    assert response.seen == (float("inf") if skipped else 111 * US) and response.undisturbed == 21 * US
    assert response.outcome == "disturbed"
    assert f"m0: {culprit} once" in verdict.machine
    assert "all" in verdict.summary and "that the machine did not disturb" in verdict.summary


def test_jobs_that_began_late_are_counted(tmp_path: Path) -> None:
    recording = steady(100)
    for jobs, seq in (("1 job more", 40), ("2 jobs more", 60)):
        recording.rows[seq]["start"] += 30 * US
        recording.rows[seq]["finish"] += 30 * US
        verdict = judge(recording.write(tmp_path / str(seq)))
        (late,) = (check for check in verdict.checks if check.name == "releases")
        assert late.text.startswith(f"m0 began {jobs} than a tenth of a period late while it was free;")


def test_a_note_says_how_often_a_host_may_have_come_into_a_job(tmp_path: Path) -> None:
    """In a job the host leaves no trace; how often it takes a core that waits says how many to expect."""

    def judged(guest: bool) -> Verdict:
        recording = steady(1000)
        recording.rows[40]["finish"] += 15 * US
        for job in range(100, 110):
            # Between two jobs; every second time for less than the excess of 6 µs.
            recording.event(DISTURBED, job * 100 * US + 60 * US, (5 + job % 2) * US, core="m0", why=TAKEN)
        recorded = recording.write(tmp_path / str(guest))
        return judge(recorded, BOUND, environment=THROTTLING | {"hypervisor": guest})

    in_guest, outside = judged(True), judged(False)
    assert not in_guest.ok and in_guest.reasons[0].endswith("; the host, see the notes")
    (note,) = in_guest.notes
    assert "the host took them 5 times for 6.000 µs and more, the smallest excess" in note
    assert "into at least 1 of its undisturbed jobs, of which 1 were above the bound" in note
    assert not outside.ok and outside.notes == ()
    # A core was once kept for as long.
    assert "no assumption" not in outside.reasons[0] and outside.reasons[0].endswith(
        "m0 was seen to be kept from its threads for up to 6 µs (system-management interrupt), and the excess"
        " is 6 µs"
    )


def test_the_last_line_says_what_the_machine_did(tmp_path: Path) -> None:
    recording = steady()
    gap(recording, 40 * 100 * US + 95 * US, 90 * US, STOPPED, 40)
    gap(recording, 60 * 100 * US + 95 * US, 70 * US, INTERRUPTED, 60)
    gap(recording, 80 * 100 * US + 95 * US, 1 * US, WOKEN_LATE, 80)
    recording.rows[80]["status"] = 0
    guest = THROTTLING | {"hypervisor": True}
    verdict = judge(recording.write(tmp_path / "raw"), BOUND, environment=guest)
    assert verdict.summary.endswith(
        "The machine disturbed 3 jobs (preempted by another thread once for 90 µs in all; interrupt, or"
        " taken by the host once for 70 µs in all); 2 of them missed their deadlines."
    )


def test_a_miss_that_the_machine_did_not_cause_is_the_systems(tmp_path: Path) -> None:
    recording = steady()
    gap(recording, 40 * 100 * US + 95 * US, 90 * US, STOPPED, 40)
    recording.rows[70]["finish"] += 90 * US
    recording.rows[70]["status"] = 1
    recording.rows[71] |= {"start": 0, "finish": 0, "compute": 0, "status": 0b1000_0001}
    verdict = judge(recording.write(tmp_path / "raw"), BOUND)
    assert not verdict.ok
    assert "2 of 100 jobs missed their deadline of 100.000 µs, undisturbed" in verdict.reasons[0]
    assert "1 unserved, 1 finished late" in verdict.reasons[0]
    assert verdict.tasks[0].disturbed_misses == 1
    assert verdict.summary.startswith("The system did not hold: servo: 2 of 100")


def test_a_gap_disturbs_what_waits_until_the_core_is_idle_again_and_no_more(tmp_path: Path) -> None:
    recording = Recording({"fast": {"period_ns": 100 * US}, "slow": {"period_ns": 400 * US, "rank": 0}})
    for seq in range(16):
        recording.job("fast", seq, 1 * US, 20 * US)
    for seq in range(4):
        recording.job("slow", seq, 20 * US, 60 * US)
    # 250 us from 30 us on: slow 0 ends at 310 us, and with it the busy period of fast 1 to 3.
    recording.event(DISTURBED, 280 * US, 250 * US, core="m0")
    recording.rows[1]["finish"] += 260 * US
    recording.rows[2]["finish"] += 180 * US
    recording.rows[3]["finish"] += 50 * US
    recording.rows[16]["finish"] += 250 * US
    verdict = judge(recording.write(tmp_path / "raw"))
    assert verdict.disturbed is not None
    assert np.flatnonzero(verdict.disturbed).tolist() == [1, 2, 3, 16]


def test_a_gap_of_a_worker_reaches_its_master(tmp_path: Path) -> None:
    recording = Recording(
        {
            "servo": {"worker": "w0", "execution": "offloaded"},
            "local": {"period_ns": 100 * US, "rank": 0},
        }
    )
    for seq in range(10):
        late = 50 * US if seq == 4 else 0
        exchange = {"sent": 2 * US, "worker_receive": 3 * US, "worker_send": 13 * US + late}
        recording.job("servo", seq, 1 * US, 15 * US + late, received=14 * US + late, **exchange)
        recording.job("local", seq, 15 * US + late, 20 * US + late)
    recording.event(DISTURBED, 4 * 100 * US + 55 * US, 50 * US, core="w0")
    verdict = judge(recording.write(tmp_path / "raw"))
    assert verdict.disturbed is not None
    assert np.flatnonzero(verdict.disturbed).tolist() == [8, 9]
    assert row(verdict, "servo", "communication").undisturbed is not None


@pytest.mark.parametrize("stopped", [True, False])
def test_a_job_whose_worker_was_silent_is_the_machines_where_that_stopped_the_worker(
    tmp_path: Path, stopped: bool
) -> None:
    recording = Recording({"servo": {"worker": "w0", "execution": "offloaded"}})
    for seq in range(10):
        if seq in (5, 6):  # not sent: the worker gave no sign of life
            recording.job("servo", seq, 1 * US, 3 * US, received=2 * US, status=0b1011)
            continue
        exchange = {"sent": 2 * US, "worker_receive": 3 * US, "worker_send": 13 * US}
        recording.job("servo", seq, 1 * US, 15 * US, received=14 * US, compute=10 * US, **exchange)
    if stopped:
        recording.event(DISTURBED, 6 * 100 * US + 50 * US, 200 * US, core="w0")
    verdict = judge(recording.write(tmp_path / "raw"))
    assert verdict.disturbed is not None
    assert np.flatnonzero(verdict.disturbed).tolist() == ([5, 6] if stopped else [])
    assert verdict.tasks[0].disturbed_misses == (2 if stopped else 0)
    assert any("missed their deadline" in reason for reason in verdict.reasons) is not stopped


def test_a_request_that_lay_before_a_free_worker_is_the_machines(tmp_path: Path) -> None:
    recording = Recording(
        {
            "servo": {"worker": "w0", "execution": "offloaded"},
            "other": {"worker": "w0", "execution": "offloaded", "core": "m1", "offset_ns": 35 * US},
        }
    )
    for seq in range(10):
        taken = 33 * US if seq == 4 else 3 * US
        times = {"worker_receive": taken, "worker_send": taken + 10 * US, "received": taken + 11 * US}
        recording.job("servo", seq, 1 * US, taken + 12 * US, sent=2 * US, compute=10 * US, **times)
        # A job that waits for its worker to be done with another job waits for no machine.
        taken = 9 * US if seq == 4 else 3 * US
        times = {"worker_receive": taken, "worker_send": taken + 5 * US, "received": taken + 6 * US}
        recording.job("other", seq, 1 * US, taken + 7 * US, sent=2 * US, compute=5 * US, **times)
    verdict = judge(recording.write(tmp_path / "raw"))
    assert verdict.disturbed is not None
    # Both jobs of that time: the second waited for the first, which the machine had delayed.
    assert np.flatnonzero(verdict.disturbed).tolist() == [8, 9]
    assert [(p.core, p.culprit) for p in verdict.pauses] == [("w0", "late wake-up")]


def test_a_late_wake_up_is_the_machines_and_waiting_for_another_job_is_not(tmp_path: Path) -> None:
    recording = Recording({"high": {"period_ns": 200 * US, "rank": 2}, "low": {"period_ns": 200 * US}})
    for seq in range(10):
        late = 60 * US if seq == 3 else 0
        recording.job("high", seq, 1 * US + late, 50 * US + late)
        recording.job("low", seq, 50 * US + late, 80 * US + late)
    verdict = judge(recording.write(tmp_path / "raw"))
    assert verdict.disturbed is not None
    assert np.flatnonzero(verdict.disturbed).tolist() == [6, 7]
    assert [pause.culprit for pause in verdict.pauses] == ["late wake-up"]
    late_check = next(check for check in verdict.checks if check.name == "releases")
    assert late_check.by == "machine" and "m0 began 2 jobs" in late_check.text
    # Both waited for the same wake-up.
    assert (verdict.pauses[0].count, verdict.pauses[0].total_ns) == (1, 61 * US)
    # Time that is simulated has no machine.
    recording.provenance = "simulated"
    verdict = judge(recording.write(tmp_path / "simulated"))
    assert verdict.disturbed is not None and not verdict.disturbed.any()


def test_a_core_that_shares_its_cpu_is_disturbed_by_the_others_jobs_alone(tmp_path: Path) -> None:
    recording = Recording({"here": {"core": "m0"}, "there": {"core": "m1", "period_ns": 500 * US}})
    # The other core's second job holds the CPU when job 5 is released, for less than makes a late wake-up.
    for seq in range(10):
        late = 9 * US if seq == 5 else 0
        recording.job("here", seq, 1 * US + late, 21 * US + late)
    recording.job("there", 0, 30 * US, 70 * US)
    recording.job("there", 1, 1 * US, 10 * US)
    bound = Bounds((Limit("here", "response", 25 * US, "theorem 1"),))
    verdict = judge(recording.write(tmp_path / "apart"), bound)
    assert any("a defect" in reason for reason in verdict.reasons)
    recording.config["cpus"] = {"m0": 0, "m1": 0}
    verdict = judge(recording.write(tmp_path / "shared"), bound)
    assert verdict.disturbed is not None
    # The other core's first job was pending while job 0 ran; its second one ended before job 5 began.
    assert np.flatnonzero(verdict.disturbed).tolist() == [5, 10]
    assert not any("a defect" in reason for reason in verdict.reasons)
    assert {pause.culprit for pause in verdict.pauses} >= {"another core of the run on its CPU"}


def test_a_run_in_which_every_job_was_disturbed_decides_nothing_unless_all_held(tmp_path: Path) -> None:
    recording = steady(10)
    recording.event(DISTURBED, 10 * 100 * US, 10 * 100 * US, core="m0")
    # A disturbance makes no job earlier: what held with it holds without it.
    verdict = judge(recording.write(tmp_path / "held"), BOUND)
    assert verdict.ok and verdict.data["ok"] == "held"
    assert verdict.summary.startswith(
        "The system held: all 10 jobs met their deadlines and bounds, although the machine disturbed every"
    )
    recording.rows[4]["finish"] += 20 * US
    verdict = judge(recording.write(tmp_path / "above"), BOUND)
    assert verdict.ok == verdict.data["ok"] == "undecided"
    assert verdict.reasons == (
        "servo: the machine disturbed every one of its 10 jobs; longest 41.000 µs,"
        " bound 30.000 µs and deadline 100.000 µs",
    )
    assert verdict.summary == (
        f"Undecided: it is not known whether the system holds: {verdict.reasons[0]} (preemption, interrupt or"
        " hypervisor once for 1 ms in all)"
    )
    # A failure that no machine can cause is a failure.
    recording.config["duration_ns"] = 11 * 100_000
    verdict = judge(recording.write(tmp_path / "failed"), BOUND)
    assert verdict.ok == verdict.data["ok"] == "not held" and len(verdict.reasons) == 2
    assert verdict.summary.startswith("The system did not hold: servo: 10 of 11 planned jobs")


@pytest.mark.parametrize(("of_all", "word"), [(14 / 25, "held"), (0.55, "undecided"), (0.1, "undecided")])
def test_a_machine_that_takes_more_than_a_stated_share_leaves_nothing_to_decide(
    tmp_path: Path, of_all: float, word: str
) -> None:
    """A core that is stopped for 140 ms of 250 ms: 14 of 25 jobs are never served."""
    recording = Recording({"servo": {"period_ns": 10_000 * US, "deadline_ns": 10_000 * US}})
    for seq in range(25):
        stopped = 5 <= seq < 19
        recording.job("servo", seq, 0 if stopped else 1 * US, 0 if stopped else 21 * US)
    recording.event(DISTURBED, 190_000 * US, 140_000 * US, core="m0", why=STOPPED)
    raw = recording.write(tmp_path / "raw")
    verdict = judge(raw, BOUND, undecided_above=of_all)
    assert verdict.ok == verdict.data["ok"] == word
    assert (verdict.ok.exit_status, bool(verdict.ok)) == ((0, True) if word == "held" else (4, False))
    if word == "undecided":
        assert verdict.reasons == (
            f"servo: the machine disturbed 14 of its 25 jobs, more than the {100 * of_all:g} % that"
            " leave something to decide; one was never served, bound 30.000 µs and deadline"
            " 10\u202f000.0 µs",
        )
        assert "preempted by another thread once for 140 ms" in verdict.summary
    # A run of several configurations is as undecided as one of them, and has failed where one has.
    with RunWriter("several", "application", tmp_path / "runs") as writer:
        writer.add_configuration("one", "one", raw, verdict=verdict)
        if word == "held":
            writer.leave_open("a mode was never entered")
    assert writer.run is not None and writer.run.held == writer.run.data["verdict"]["ok"] == "undecided"
    with RunWriter("several", "application", tmp_path / "runs") as writer:
        writer.add_configuration("one", "one", raw, verdict=verdict)
        writer.fail("a goal was not met")
    assert writer.run is not None and writer.run.held == "not held"


def test_a_run_that_is_shorter_than_a_chain_leaves_it_undecided(tmp_path: Path) -> None:
    recording = Recording(
        {"servo": {}, "late": {"offset_ns": 2_000 * US}},
        duration_ns=10 * 100 * US,
        chains=[{"name": "c", "path": ["servo", "late"], "reaction_ns": 5_000 * US, "age_ns": 100 * US}],
    )
    for seq in range(10):
        recording.job("servo", seq, 1 * US, 21 * US)
    verdict = judge(recording.write(tmp_path / "chain"), BOUND)
    assert verdict.ok == "undecided"
    words = "chain c: neither the run nor a stay in its mode was long enough to see its"
    assert {f"{words} reaction", f"{words} age"} <= set(verdict.reasons)


def test_what_was_never_seen_is_not_held(tmp_path: Path) -> None:
    recording = Recording(
        {"servo": {}, "late": {"offset_ns": 2_000 * US}},
        duration_ns=10 * 100 * US,
        chains=[{"name": "c", "path": ["servo", "late"], "reaction_ns": 1, "age_ns": 1}],
    )
    for seq in range(10):
        recording.job("servo", seq, 1 * US, 21 * US)
    verdict = judge(recording.write(tmp_path / "chain"), BOUND)
    assert verdict.ok == "not held" and "chain c: no reaction was seen whole" in verdict.reasons
    recording.chains.clear()
    verdict = judge(recording.write(tmp_path / "task"), BOUND)
    assert verdict.ok == "undecided"
    assert verdict.reasons == ("late: the run was over before its first release: nothing is known of it",)


def test_jobs_that_were_planned_and_not_done(tmp_path: Path) -> None:
    recording = steady(100)
    recording.config["duration_ns"] = 101 * 100_000
    verdict = judge(recording.write(tmp_path / "raw"))
    assert not verdict.ok
    assert verdict.reasons[0].startswith("servo: 100 of 101 planned jobs were released")


def test_a_crash_names_task_job_step_and_how_to_get_there(tmp_path: Path) -> None:
    recording = steady(100)
    recording.rows[99] |= {"finish": 0, "status": 0b1_0000_0001}
    recording.event(CRASHED, 99 * 100 * US, 11, task="servo", core="m0")
    recording.event(ENDED, 99 * 100 * US, 139, core="m0")
    verdict = judge(recording.write(tmp_path / "raw"))
    assert verdict.reasons[0].startswith(
        "task servo crashed in job 99 (SIGSEGV, step servo.hpp::servo::step)"
    )
    assert "`consort run --sanitize`" in verdict.reasons[0]
    assert verdict.reasons[1] == "core m0 ended with status 139"
    recording.happened = recording.happened[:0]
    recording.event(WORKER_DIED, 5, core="m0")
    raw = recording.write(tmp_path / "died")
    assert "the worker m0 died" in judge(raw).reasons
    assert "the worker m0 died" not in judge(raw, expected_events=["worker-died"]).reasons


def test_a_step_that_leaves_its_process_is_said_to(tmp_path: Path) -> None:
    recording = steady(100)
    recording.rows[99] |= {"finish": 0, "status": 0b1_0000_0001}
    recording.event(CRASHED, 99 * 100 * US, 0, task="servo", core="m0")
    verdict = judge(recording.write(tmp_path / "raw"))
    assert verdict.reasons[0].startswith("task servo ended its process in job 99 (without a signal: ")
    assert "a step must return, not exit" in verdict.reasons[0]


def test_reported_breaches_and_lost_records(tmp_path: Path) -> None:
    recording = steady()
    recording.event(SLOT_MISSED, 5, core="m0")
    recording.event(LATE_WRITE, 6, task="servo", core="m0")
    recording.counters["records_lost"] = 3
    verdict = judge(recording.write(tmp_path / "raw"))
    assert not verdict.ok
    text = " ".join(verdict.reasons)
    for part in ("3 records found no room", "write after its publication instant"):
        assert part in text
    # On a machine the I/O core is a thread, which came late: that is not the system's doing.
    (slot,) = (check for check in verdict.checks if check.name == "slots")
    assert (slot.holds, slot.by, slot.text) == (False, "machine", "slot missed on m0: once")
    assert slot.text not in text


def test_a_time_scale_stretches_the_bounds_but_no_execution(tmp_path: Path) -> None:
    recording = steady(time_scale=20)
    longest = recording.rows[0]["compute"]
    for wcet, outcome in ((longest, "holds"), (longest - 2, "above bound")):
        bounds = Bounds((Limit("servo", "response", 1 * US, "t"),), wcets={"servo": wcet})
        verdict = judge(recording.write(tmp_path / str(wcet)), bounds)
        assert row(verdict, "servo", "response").bound == 20 * US
        assert row(verdict, "servo", "compute").bound == wcet
        assert row(verdict, "servo", "compute").outcome == outcome
        (check,) = (check for check in verdict.checks if check.name == "execution times")
        assert check.holds == (outcome == "holds")


def test_an_emulated_time_is_held_against_nothing_and_is_never_said_to_hold(tmp_path: Path) -> None:
    recording = steady()
    recording.provenance = "emulated"
    recording.rows[70]["finish"] += 90 * US
    recording.rows[70]["status"] = 1
    # Nor is a WCET: an emulator that computes on a busy machine takes longer.
    bounds = replace(BOUND, wcets={"servo": 1})
    assert not judge(steady().write(tmp_path / "measured"), bounds).ok
    verdict = judge(recording.write(tmp_path / "raw"), bounds)
    assert verdict.ok and "held" not in verdict.summary
    assert row(verdict, "servo", "response").outcome == "not judged"
    assert not [check for check in verdict.checks if check.name == "execution times"]


OUT = np.dtype([("torque", "<f8"), ("mode.state", "<i4"), ("phase", "<f4", (2,))])
STORED = np.dtype(
    [("seq", "<u4"), ("torque", "<f8"), ("mode_state", "<i4"), ("phase_0", "<f4"), ("phase_1", "<f4")]
)


def with_outputs(jobs: int = 100) -> tuple[Recording, Any]:
    recording = steady(jobs)
    want = np.zeros(jobs, dtype=OUT)
    want["torque"] = np.arange(jobs) / 7
    want["mode.state"] = np.arange(jobs)
    want["phase"] = np.arange(2 * jobs).reshape(jobs, 2)
    got = np.zeros(jobs, dtype=STORED)
    got["seq"] = np.arange(jobs)
    got["torque"], got["mode_state"] = want["torque"], want["mode.state"]
    got["phase_0"], got["phase_1"] = want["phase"][:, 0], want["phase"][:, 1]
    recording.outputs[0] = got
    return recording, want


def test_a_wrong_output_names_job_member_expected_and_found(tmp_path: Path) -> None:
    recording, want = with_outputs()
    right = judge(recording.write(tmp_path / "right"), expected={"servo": Expected(want)})
    assert right.ok and right.status is not None and not right.status.any()
    recording.outputs[0]["phase_1"][17] = 99
    recording.outputs[0]["torque"][30] = 1
    verdict = judge(recording.write(tmp_path / "wrong"), expected={"servo": Expected(want)})
    assert not verdict.ok and verdict.status is not None
    assert np.flatnonzero(verdict.status & (1 << 5)).tolist() == [17, 30]
    assert verdict.reasons[0] == (
        "servo: 2 of 100 outputs are wrong (expected: the same steps in logical order); first job 17, member"
        " phase_1: expected 35.0, found 99.0"
    )


def test_a_tolerance_is_that_of_its_member_and_of_the_elements_of_an_array(tmp_path: Path) -> None:
    recording, want = with_outputs()
    recording.outputs[0]["phase_0"] = np.nextafter(recording.outputs[0]["phase_0"], np.float32(1e9))
    raw = recording.write(tmp_path / "raw")
    assert judge(raw, expected={"servo": Expected(want, tolerance={"phase": 1})}).ok
    # A name that only begins like another one's is not that one's.
    assert not judge(raw, expected={"servo": Expected(want, tolerance={"pha": 1})}).ok


def test_an_expectation_by_input_and_outputs_that_are_no_jobs_own(tmp_path: Path) -> None:
    recording, want = with_outputs()
    for seq, job in enumerate(recording.rows):
        job["input"] = seq % 10
    recording.outputs[0]["torque"] = np.arange(100) % 10 / 7
    recording.outputs[0]["mode_state"] = np.arange(100) % 10
    recording.outputs[0]["phase_0"] = np.arange(100) % 10 * 2
    recording.outputs[0]["phase_1"] = np.arange(100) % 10 * 2 + 1
    recording.outputs[0]["torque"][50] = -1
    recording.rows[50]["status"] = 0b11
    golden = Expected(want[:10], by="input", source="golden")
    verdict = judge(recording.write(tmp_path / "raw"), expected={"servo": golden})
    assert not any("outputs are wrong" in reason for reason in verdict.reasons)
    # After a held output the state is unknown until the input begins again.
    recording.outputs[0]["torque"][56:60] = -1
    recording.rows[55]["status"] = 0b11
    verdict = judge(recording.write(tmp_path / "after"), expected={"servo": golden})
    assert not any("outputs are wrong" in reason for reason in verdict.reasons)
    recording.outputs[0]["torque"][60] = -1
    verdict = judge(recording.write(tmp_path / "again"), expected={"servo": golden})
    assert any("1 of 90 outputs are wrong (expected: golden); first job 60" in r for r in verdict.reasons)
    short = Expected(want[:9], by="input")
    with pytest.raises(BadInput, match="9 expected outputs of servo, but input 9 was run"):
        judge(recording.write(tmp_path / "short"), expected={"servo": short})
    other = np.zeros(100, dtype=[("speed", "<f8")])
    with pytest.raises(BadInput, match="the outputs of servo have no column speed"):
        judge(recording.write(tmp_path / "other"), expected={"servo": Expected(other)})
    with pytest.raises(BadInput, match="there is no task 'pump' in the recording; it has servo"):
        judge(recording.write(tmp_path / "pump"), expected={"pump": Expected(other)})


def test_outputs_that_were_not_recorded_are_not_right(tmp_path: Path) -> None:
    _, want = with_outputs()
    verdict = judge(steady().write(tmp_path / "raw"), expected={"servo": Expected(want)})
    assert verdict.reasons == ("servo: its outputs were not recorded, so that they cannot be compared",)


CHANNELS = [
    {"name": "q", "implementation": "queue", "writer": "a", "readers": ["b"], "communication": "implicit"}
]
CHAINS = [{"name": "c", "path": ["a", "b"], "reaction_ns": 250 * US, "age_ns": 400 * US}]


def piped(**config: Any) -> Recording:
    """Task a writes block s+1 in job s, 10 us after its release; b reads it 50 us after it was released."""
    recording = Recording({"a": {}, "b": {"offset_ns": 50 * US}}, channels=CHANNELS, chains=CHAINS, **config)
    for seq in range(20):
        recording.job("a", seq, 1 * US, 10 * US)
        recording.job("b", seq, 1 * US, 20 * US)
        recording.operation("a", seq, 0, 1, seq + 1, seq * 100 * US + 9 * US)
        recording.operation("b", seq, 0, 0, seq + 1, seq * 100 * US + 51 * US)
    return recording


def test_channels_and_chains(tmp_path: Path) -> None:
    bounds = Bounds(
        (
            Limit("q", "channel age", 60 * US, "theorem 16"),
            Limit("c", "reaction", 200 * US, "theorem 11"),
            Limit("c", "age", 200 * US, "theorem 12"),
        ),
        simulated=(Limit("c", "reaction", 190 * US, "seed 1"),),
    )
    verdict = judge(piped().write(tmp_path / "raw"), bounds)
    assert verdict.ok, verdict.reasons
    assert row(verdict, "q", "channel age").seen == 51 * US
    reaction = row(verdict, "c", "reaction")
    # From just after the read at 1 us to the end of the next job's output, at 170 us.
    assert (reaction.seen, reaction.simulated, reaction.required) == (169 * US, 190 * US, 250 * US)
    assert row(verdict, "c", "age").seen == 169 * US
    (way,) = verdict.ways
    assert [(task, seq) for task, seq, _, _ in way.links] == [("a", 1), ("b", 1)]
    assert any("20 blocks, none lost, torn or out of order" in check.text for check in verdict.checks)


def test_a_block_that_is_not_what_its_number_says_breaks_the_channel(tmp_path: Path) -> None:
    recording = piped()
    recording.operation("b", 5, 0, OPERATIONS.index("read-corrupt"), 6, 5 * 100 * US + 51 * US)
    verdict = judge(recording.write(tmp_path / "raw"))
    assert not verdict.ok
    assert any("1 blocks that were not what their number says" in reason for reason in verdict.reasons)


def test_a_lost_block_is_seen_in_channel_and_chain(tmp_path: Path) -> None:
    recording = piped()
    # b's job 5 still reads block 5 and its job 6 block 7: block 6 was never seen.
    lost = next(n for n, o in enumerate(recording.operations) if (o[2], o[3], o[5]) == (5, 1, 0))
    recording.operations[lost] = (*recording.operations[lost][:1], 5, *recording.operations[lost][2:])
    bounds = Bounds((Limit("c", "reaction", 200 * US, "theorem 11"),))
    verdict = judge(recording.write(tmp_path / "raw"), bounds)
    assert not verdict.ok
    assert row(verdict, "c", "reaction").seen == 269 * US
    assert any("blocks not seen by b" in reason for reason in verdict.reasons)
    assert any(
        "chain c: the reaction took up to 269.000 µs of 250.000 µs" in reason for reason in verdict.reasons
    )


def test_a_block_with_other_content_than_was_written_is_the_systems_doing(tmp_path: Path) -> None:
    recording = piped()
    corrupt = next(n for n, o in enumerate(recording.operations) if (o[2], o[3], o[5]) == (5, 1, 0))
    kind = (5, *recording.operations[corrupt][6:])
    recording.operations[corrupt] = (*recording.operations[corrupt][:5], *kind)
    # However long the machine stopped the reader meanwhile.
    gap(recording, 591 * US, 40 * US, 1, 11)
    verdict = judge(recording.write(tmp_path / "raw"), Bounds(()))
    assert not verdict.ok
    assert "q: 1 blocks read with other content than was written" in verdict.reasons


def backlogged(stopped: bool = True, later: int = 0, jobs: int = 60) -> Recording:
    """As `piped`, but b serves none of the jobs 5 and 6, and reads blocks in their order from then on.

    `stopped`: the machine stops the core of b meanwhile. `later`: b serves no more jobs, from job 30 on, of
    its own.
    """
    tasks = {"a": {}, "b": {"offset_ns": 50 * US, "core": "m1"}}
    recording = Recording(tasks, channels=CHANNELS, chains=CHAINS)
    block = 0
    for seq in range(jobs):
        recording.job("a", seq, 1 * US, 10 * US)
        recording.operation("a", seq, 0, 1, seq + 1, seq * 100 * US + 9 * US)
        if seq in (5, 6) or 30 <= seq < 30 + later:
            recording.job("b", seq, 0, 0)
            continue
        block += 1
        recording.job("b", seq, 1 * US, 20 * US)
        recording.operation("b", seq, 0, 0, block, seq * 100 * US + 51 * US)
    if stopped:
        recording.event(DISTURBED, 745 * US, 200 * US, core="m1", why=STOPPED)
    return recording


def test_blocks_that_the_machine_left_in_a_channel_are_subtracted_from_its_chains(tmp_path: Path) -> None:
    bounds = Bounds((Limit("c", "reaction", 200 * US, "theorem 11"),))
    verdict = judge(backlogged().write(tmp_path / "raw"), bounds, undecided_above=0.5)
    reaction = row(verdict, "c", "reaction")
    # Two blocks wait for ever: 169 us and two periods.
    assert reaction.seen == 369 * US and reaction.outcome == "disturbed" and reaction.left_behind > 40
    assert reaction.undisturbed == 169 * US
    assert verdict.ok == "undecided", verdict.reasons
    (said,) = (reason for reason in verdict.reasons if reason.startswith("chain c, reaction: "))
    assert "too long by the wait behind blocks that a disturbance left in a channel" in said
    assert "'kind: sporadic' hands out the newest" in said
    assert not any("a defect" in reason for reason in verdict.reasons)


def test_what_is_too_long_without_the_blocks_that_the_machine_left_is_the_systems(tmp_path: Path) -> None:
    # One more block waits from job 30 on, which no disturbance left there; and a limit that was never kept.
    for name, recording, limit in (
        ("more", backlogged(later=1), 200),
        ("never", backlogged(), 168),
        ("undisturbed", backlogged(stopped=False), 200),
    ):
        bounds = Bounds((Limit("c", "reaction", limit * US, "theorem 11"),))
        verdict = judge(recording.write(tmp_path / name), bounds)
        reaction = row(verdict, "c", "reaction")
        assert verdict.ok == "not held" and reaction.outcome in ("late", "above bound"), name
        assert reaction.above, name


def test_a_chain_that_never_ends_is_late_by_the_end_of_the_recording(tmp_path: Path) -> None:
    recording = piped()
    recording.operations = [o for o in recording.operations if not (o[3] == 1 and o[2] > 5)]
    for seq in range(6, 20):
        recording.operation("b", seq, 0, 0, 6, seq * 100 * US + 51 * US)
    verdict = judge(recording.write(tmp_path / "raw"))
    assert row(verdict, "c", "reaction").outcome == "late"
    assert row(verdict, "c", "age").outcome == "late"


def test_simulated_time_holds_nothing_for_which_a_figure_is_missing(tmp_path: Path) -> None:
    bounds = Bounds(lacking=("cores.c.timer_lateness",))
    for provenance, ok in (("simulated", "undecided"), ("measured", "held"), ("counted", "held")):
        recording = steady()
        recording.provenance = provenance
        verdict = judge(recording.write(tmp_path / provenance), bounds)
        assert verdict.ok == ok, (provenance, verdict.reasons)
        said = "simulated time counts nothing for 1 figure that nobody gave: cores.c.timer_lateness: "
        assert all(reason.startswith(said) for reason in verdict.reasons)


def test_a_recording_without_its_plan_cannot_be_judged(tmp_path: Path) -> None:
    steady().write(tmp_path / "raw")
    (tmp_path / "raw" / "plan.json").unlink()
    with pytest.raises(BadInput, match=r"has no plan.json, which says what ran.*record the run again"):
        judge(RawRun.load(tmp_path / "raw"))


def test_what_runs_is_what_the_plan_says_and_no_key_of_the_manifest(tmp_path: Path) -> None:
    recording = steady()
    recording.config["tasks"] = [{"name": "another", "deadline_ns": 1}]
    raw = recording.write(tmp_path / "raw")
    verdict = judge(raw, BOUND)
    assert verdict.ok and [count.task for count in verdict.tasks] == ["servo"]
    # Where the plan is at hand, the folder's is not read.
    (tmp_path / "raw" / "plan.json").write_text("{}")
    assert raw.ran is not None
    assert RawRun.load(tmp_path / "raw", raw.ran.plan).ran == raw.ran
    with pytest.raises(BadInput, match="recorded by another version: the plan's form is None"):
        RawRun.load(tmp_path / "raw")


def test_a_chain_of_which_no_stay_in_the_mode_was_long_enough_is_not_held(tmp_path: Path) -> None:
    recording = Recording({"a": {}, "b": {"offset_ns": 50 * US}}, channels=CHANNELS, chains=CHAINS)
    recording.job("a", 0, 1 * US, 10 * US)
    recording.job("b", 0, 1 * US, 20 * US)
    recording.config["stays"] = [[T0, T0 + 100 * US]]
    verdict = judge(recording.write(tmp_path / "raw"))
    assert {row.outcome for row in verdict.rows if row.kind == "chain"} == {"not due"}
    assert verdict.ok == "undecided" and verdict.reasons == (
        "chain c: neither the run nor a stay in its mode was long enough to see its reaction",
        "chain c: neither the run nor a stay in its mode was long enough to see its age",
    )


def test_blocks_that_found_no_room_are_of_the_jobs_that_the_machine_disturbed(tmp_path: Path) -> None:
    """The reader is kept for three periods, and the queue stays full until it has caught up."""
    recording = piped()
    for job in recording.rows:
        if job["task"] == 1 and 5 <= job["seq"] < 8:
            job |= {"start": 0, "finish": 0, "compute": 0, "status": 0b1000_0001}
    # Then it has fallen back by three blocks, until it takes all at once in its job 12.
    recording.operations = [
        (o[0], o[2] - 2 if o[3] == 1 and 8 <= o[2] < 12 else o[1], *o[2:])
        for o in recording.operations
        if not (o[3] == 1 and 5 <= o[2] < 8) and not (o[3] == 0 and o[2] in (7, 9, 15))
    ]
    recording.event(DISTURBED, 840 * US, 295 * US, core="m0", why=STOPPED)
    dropped = OPERATIONS.index("write-dropped")
    # One in the gap, one while the reader is behind, and one when it no longer is.
    recording.operation("a", 7, 0, dropped, 8, 709 * US)
    recording.operation("a", 9, 0, dropped, 10, 909 * US)
    recording.operation("a", 15, 0, dropped, 16, 1509 * US)
    verdict = judge(recording.write(tmp_path / "raw"), undecided_above=1)
    found = {(check.by, check.text) for check in verdict.checks if "no room" in check.text}
    assert found == {
        ("machine", "q: 2 blocks dropped because there was no room"),
        ("system", "q: 1 blocks dropped because there was no room"),
    }
    assert any("q: 1 blocks dropped" in reason for reason in verdict.reasons)


def test_a_block_that_found_no_room_is_not_one_that_its_reader_did_not_see(tmp_path: Path) -> None:
    """The machine kept the reader, so that blocks were dropped: their absence is not a second fault."""
    recording = piped()
    dropped = OPERATIONS.index("write-dropped")
    recording.operations = [
        (*o[:5], dropped, *o[6:]) if o[3] == 0 and o[2] in (7, 8) else o
        for o in recording.operations
        if not (o[3] == 1 and o[2] in (7, 8))
    ]
    recording.event(DISTURBED, 895 * US, 250 * US, core="m0", why=STOPPED)
    verdict = judge(recording.write(tmp_path / "raw"), undecided_above=1)
    assert {(c.by, c.text) for c in verdict.checks if c.name == "channels" and not c.holds} == {
        ("machine", "q: 2 blocks dropped because there was no room")
    }
    assert not any("not seen by" in reason for reason in verdict.reasons)
    # One more than were dropped is one that was lost on its way.
    recording.operations = [o for o in recording.operations if not (o[3] == 1 and o[2] == 9)]
    verdict = judge(recording.write(tmp_path / "lost"), undecided_above=1)
    assert any("q: 1 blocks not seen by b" in reason for reason in verdict.reasons)


def test_releases_that_a_gap_of_the_machine_lost_are_not_the_systems(tmp_path: Path) -> None:
    """Three-phase: the I/O core is kept for 0.3 s, so that slots are missed and releases find no room."""
    lost = EVENTS.index("release-lost")
    facts = {"execution": "three-phase", "period_ns": 10_000 * US, "deadline_ns": 10_000 * US}
    recording = Recording({"a": facts})
    for seq in range(200):
        taken = 50 <= seq < 80
        recording.job("a", seq, 0 if taken else 1 * US, 0 if taken else 21 * US)
        if taken:
            at = seq * 10_000 * US
            recording.event(SLOT_MISSED, at, task="a", core="m0")
            recording.event(DISTURBED, at + 1_000 * US, 2_000 * US, core="m0")
            recording.event(lost, at, seq, task="a", core="m0")
    verdict = judge(recording.write(tmp_path / "raw"), undecided_above=0.2)
    assert verdict.ok, verdict.reasons
    assert {check.by for check in verdict.checks if not check.holds} == {"machine"}
    # Where it kept nothing the loss is the system's.
    recording.event(lost, 1_500_000 * US, 150, task="a", core="m0")
    verdict = judge(recording.write(tmp_path / "own"), undecided_above=0.2)
    assert verdict.ok == "not held" and verdict.reasons == ("release lost on m0 (a): once",)


def test_a_core_whose_only_task_rests_in_the_mode_is_judged(tmp_path: Path) -> None:
    """The plan of a mode has all cores with their tasks, and the tasks of the mode."""
    recording = Recording({"b": {"core": "m1"}})
    recording.cores = ["m0", "m1"]
    for seq in range(20):
        recording.job("b", seq, 1 * US, 21 * US)
    recording.event(DISTURBED, 1010 * US, 5 * US, core="m1", why=INTERRUPTED)
    recording.write(tmp_path / "raw")
    both = made_plan({"a": {}, "b": {"core": "m1"}})
    write_plan(tmp_path / "raw", replace(both, tasks={"b": both.tasks["b"]}))
    verdict = judge(RawRun.load(tmp_path / "raw"))
    assert verdict.ok == "held" and [count.task for count in verdict.tasks] == ["b"]


@pytest.mark.parametrize(
    ("kind", "whose"), [("let-late-write", "a"), ("let-lap", "ad"), ("release-lost", "ab")]
)
def test_what_the_machine_did_to_another_job_excuses_no_breach(tmp_path: Path, kind: str, whose: str) -> None:
    """The machine stops a. Meanwhile a, b of its core, c of another one, or d, which reads from a, reports a
    breach: that is the machine's where it can follow from a's delay."""
    cores = {"a": "m0", "b": "m0", "c": "m1", "d": "m2"}
    channels = [
        {"name": "q", "writer": "a", "readers": ["d"]},
        {"name": "p", "writer": "c", "readers": ["b"]},
    ]
    for task, core in cores.items():
        recording = Recording({name: {"core": place} for name, place in cores.items()}, channels=channels)
        for seq in range(100):
            for name in cores:
                start = 25 * US if name == "b" else 1 * US
                recording.job(name, seq, start, start + 20 * US)
        at = 40 * 100 * US
        next(job for job in recording.rows if job["release"] == T0 + at)["finish"] += 60 * US
        recording.event(DISTURBED, at + 80 * US, 60 * US, core="m0", why=STOPPED)
        channel = 0 if task in "ad" else 1
        recording.event(EVENTS.index(kind), at + 70 * US, channel, task=task, core=core)
        verdict = judge(recording.write(tmp_path / task), undecided_above=1)
        assert verdict.ok == ("held" if task in whose else "not held"), (task, verdict.reasons)


def test_outputs_that_are_not_finite_fail_a_run_and_are_counted(tmp_path: Path) -> None:
    recording, want = with_outputs()
    recording.outputs[0]["torque"][1:] = np.nan
    recording.outputs[0]["phase_1"][40] = -np.inf
    recording.rows[40]["status"] = 0
    verdict = judge(recording.write(tmp_path / "alone"))
    assert verdict.ok == "not held" and verdict.reasons == (
        "servo: 99 of 100 outputs are not finite (NaN or infinite) in member torque; first job 1",
        "servo: 1 of 100 outputs are not finite (NaN or infinite) in member phase_1; first job 40",
    )
    assert verdict.data["not_finite"][1] == {
        "task": "servo", "member": "phase_1", "first": 40, "count": 1, "outputs": 100
    }  # fmt: skip
    assert verdict.status is not None
    assert np.flatnonzero(verdict.status & STATUS["output_errors"]).tolist() == list(range(1, 100))
    # That the same steps give the same again makes no number of it; that the description says so does.
    want["torque"][1:] = np.nan
    want["phase"][40, 1] = -np.inf
    raw = recording.write(tmp_path / "expected")
    again = judge(raw, expected={"servo": Expected(want)})
    assert again.reasons == verdict.reasons
    for seq, row in enumerate(recording.rows):
        row["input"] = seq
    raw = recording.write(tmp_path / "golden")
    assert judge(raw, expected={"servo": Expected(want, by="input", source="golden")}).ok
    # An output that was held is an earlier job's.
    recording.rows[40]["status"] = 0b11
    recording.outputs[0]["torque"] = 0
    verdict = judge(recording.write(tmp_path / "held"))
    assert not verdict.not_finite


@pytest.mark.parametrize(
    ("ticks", "provenance", "held"), [(1, "measured", True), (2, "measured", False), (1, "simulated", False)]
)
def test_a_logical_time_that_reaches_its_bound_is_not_above_it_by_its_rounding(
    tmp_path: Path, ticks: int, provenance: str, held: bool
) -> None:
    """Releases are whole ticks of a clock: three periods may be one longer; simulated ones are exact."""
    channel = {"name": "q", "writer": "a", "readers": ["b"], "communication": "let"}
    chain = {"name": "c", "path": ["a", "b"], "communication": "let"}
    recording = Recording({"a": {}, "b": {"core": "m1"}}, channels=[channel], chains=[chain])
    recording.provenance = provenance
    for seq in range(20):
        for name in "ab":
            recording.job(name, seq, 1 * US, 21 * US)
        recording.operation("a", seq, 0, 1, seq + 1, seq * 100 * US + 20 * US)
        if seq:
            recording.operation("b", seq, 0, 0, seq, seq * 100 * US + 2 * US)
    for job in recording.rows:
        if (job["task"], job["seq"]) == (1, 10):
            job["release"] += ticks
    bounds = Bounds((Limit("c", "reaction", 300 * US, "a theorem"),))
    verdict = judge(recording.write(tmp_path / "raw"), bounds)
    reaction = row(verdict, "c", "reaction")
    assert (reaction.seen, reaction.outcome) == (300 * US + ticks, "holds" if held else "above bound")
    assert verdict.ok == ("held" if held else "not held")


@pytest.mark.parametrize("stopped", [True, False])
def test_blocks_of_a_writer_that_catches_up_are_the_machines_where_it_was_kept(
    tmp_path: Path, stopped: bool
) -> None:
    """Four jobs of a come at once after its core was away, and the queue has room for one block."""
    recording = Recording({"a": {}, "b": {"core": "m1", "offset_ns": 50 * US}}, channels=CHANNELS)
    for seq in range(20):
        late = (11 - seq) * 100 * US + (seq - 8) * 5 * US if 8 <= seq <= 11 else 0
        recording.job("a", seq, late + 10 * US, late + 14 * US)
        kind = OPERATIONS.index("write-dropped" if 9 <= seq <= 11 else "write")
        recording.operation("a", seq, 0, kind, seq + 1, seq * 100 * US + late + 13 * US)
        recording.job("b", seq, 1 * US, 20 * US)
        if not 8 <= seq <= 10:
            block = 9 if seq == 11 else seq + 1
            recording.operation("b", seq, 0, OPERATIONS.index("read"), block, seq * 100 * US + 51 * US)
    if stopped:
        recording.event(DISTURBED, 1105 * US, 305 * US, core="m0", why=STOPPED)
    else:
        # They are late all the same, by what their core executed itself.
        recording.tasks["a"]["wcet_ns"] = 10 * US
        recording.rows[2 * 7]["finish"] += 394 * US
    verdict = judge(recording.write(tmp_path / "raw"), undecided_above=1)
    found = [(check.by, check.text) for check in verdict.checks if "no room" in check.text]
    words = "q: 3 blocks dropped because there was no room"
    assert found == [("machine" if stopped else "system", words)]
    assert verdict.ok == ("held" if stopped else "not held")


@pytest.mark.parametrize(("longer_ns", "resolution", "ok"), [(26, 26, True), (27, 26, False), (2, 1, False)])
def test_an_execution_may_be_longer_by_the_resolution_of_its_clock_and_no_more(
    tmp_path: Path, longer_ns: int, resolution: int, ok: bool
) -> None:
    """Nor are the two figures of one that is too long ever the same."""
    facts = {"period_ns": 10_000_000, "deadline_ns": 10_000_000, "wcet_ns": 2_117_000}
    recording = Recording({"a": facts}, duration_ns=20 * 10_000_000)
    for seq in range(20):
        recording.job("a", seq, 1_000, 2_118_000, compute=2_117_000 + (longer_ns if seq == 7 else 0))
    raw = recording.write(tmp_path / "raw")
    clock = raw.manifest.clock.model_copy(update={"resolution_ticks": resolution})
    verdict = judge(replace(raw, manifest=raw.manifest.model_copy(update={"clock": clock})))
    assert verdict.ok == ("held" if ok else "not held")
    (check,) = (check for check in verdict.checks if check.name == "execution times")
    assert check.holds is ok
    assert row(verdict, "a", "compute").above == (0 if ok else 1)
    if not ok:
        assert f"its WCET of 2{THIN_SPACE}117.000 µs in 1" in check.text
        assert f"longest 2{THIN_SPACE}117.0{longer_ns:02} µs" in check.text
