# SPDX-License-Identifier: Apache-2.0
"""rt-app's JSON: read in its flat form and with phases, with comments; written so that it reads back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from consort.analysis.system import response_times
from consort.base.errors import BadInput
from consort.exchange.conventions import Imported, Report
from consort.exchange.exports import export_rtapp
from consort.exchange.rtapp import import_rtapp
from consort.exchange.rtapp_threads import TIMER_KEYS, without_comments
from consort.model import platform_from_data, system_from_data
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from systems import system_of

WORKLOAD = """\
{
  /* two kinds of thread */
  "tasks": {
    "flat": {   // a flat one
      "instance": 2, "cpus": [1], "policy": "SCHED_FIFO", "priority": 5, "delay": 500,
      "run": 300, "lock": "m", "run": 100, "unlock": "m",
      "timer": { "ref": "unique", "period": 10000 },
    },
    "modes // not a comment": {
      "policy": "SCHED_FIFO", "priority": 20, "cpus": [0],
      "phases": {
        "one": { "loop": 3, "run0": 1000, "timer0": { "ref": "t", "period": 20000 } },
        "two": { "run1": 4000, "sleep": 50, "timer1": { "ref": "t", "period": 20000 } }
      }
    },
    "dl": { "policy": "SCHED_DEADLINE", "dl-runtime": 2000, "dl-period": 8000, "dl-deadline": 6000,
            "cpus": [2], "run": 1500, "timer": { "ref": "u", "period": 8000 } },
    "naps": { "run": 1000, "sleep": 3000, "cpus": [3] },
    "spins": { "run": 10 }
  },
  "global": { "duration": 5, "default_policy": "SCHED_OTHER" }
}
"""


def read(tmp_path: Path, text: str, cpus: int = 1) -> Imported:
    path = tmp_path / "load.json"
    path.write_text(text, encoding="utf-8")
    imported = import_rtapp(path, cpus)
    assert imported.platform is not None and imported.system is not None
    system_from_data(imported.system, platform=platform_from_data(imported.platform))
    return imported


def test_workload(tmp_path: Path) -> None:
    imported = read(tmp_path, WORKLOAD)
    assert imported.system is not None
    flat = {"period": "10ms", "offset": "500us", "wcet": "400us", "on": "cpu-1"}
    assert imported.system["tasks"] == {
        "flat-0": flat | {"priority": 5},
        "flat-1": flat | {"priority": 5},
        "modes-not-a-comment": {
            "period": "20ms",
            "wcet": "4ms",
            "bcet": "1ms",
            "self_suspension": "50us",
            "on": "cpu-0",
            "priority": 20,
        },
        "dl": {"period": "8ms", "deadline": "6ms", "wcet": "1500us", "on": "cpu-2"},
        # Beside "spins", which may run there, too.
        "naps": {"min_interarrival": "4ms", "on": "cpu-3", "priority": 0},
    }
    assert imported.system["scheduling"] == {"cpu-2": {"policy": "edf"}}
    left = {(what, name) for (what, _), names in imported.report.left_out.items() for name in names}
    assert {
        ("event lock", "flat"),
        ("event unlock", "flat"),
        ("thread", "spins"),
        ("global", "duration"),
    } <= left


TWO = """\
{"tasks": {
  "hi": {"policy": "%s", %s "cpus": [0], %s "run": 1000, "timer": {"ref": "unique", "period": 10000}},
  "lo": {"policy": "%s", %s "cpus": [0], %s "run": 8000, "timer": {"ref": "unique", "period": 100000}}%s}}
"""


@pytest.mark.parametrize(
    ("of_hi", "of_lo", "unsaid", "why"),
    [
        ('"run": 1,', '"lock": "m",', set(), ""),
        ('"lock": "m",', '"lock": "other",', set(), ""),
        ('"signal": "c", "unlock": "m",', '"yield": "",', set(), ""),
        ('"lock": "m",', '"lock": "m",', {"hi", "lo"}, "it waits for the lock m while another thread has it"),
        ('"barrier": "b",', "", {"hi"}, "it waits for other threads at a barrier"),
        ("", '"wait": {"ref": "c", "mutex": "m"},', {"lo"}, "it waits for a signal"),
        ('"mem": 4096,', "", {"hi"}, "it writes memory"),
        ("", '"iorun": 500,', {"lo"}, "it writes to a device"),
        ('"fork": "lo",', "", {"lo"}, "hi starts it again and again"),
        ('"suspend": "hi",', "", {"hi"}, "it waits until another thread resumes it"),
    ],
)
def test_a_time_that_nobody_says_leaves_no_bound(
    tmp_path: Path, of_hi: str, of_lo: str, unsaid: set[str], why: str
) -> None:
    fifo = ("SCHED_FIFO", '"priority": 9,', of_hi, "SCHED_FIFO", '"priority": 5,', of_lo, "")
    imported = read(tmp_path, TWO % fifo)
    assert imported.system is not None
    assert {name for name, task in imported.system["tasks"].items() if "wcet" not in task} == unsaid
    said = [text for what, text in imported.report.left_out if what == "execution times of tasks"]
    assert all(text.startswith(why) and "a bound would be too low" in text for text in said)
    assert bool(said) == bool(unsaid)


@pytest.mark.parametrize(("cpus", "bounded"), [("[0]", False), ("[1]", True)])
def test_a_thread_that_never_waits_leaves_those_beside_it_no_bound(
    tmp_path: Path, cpus: str, bounded: bool
) -> None:
    endless = f', "spins": {{"run": 10, "cpus": {cpus}}}'
    imported = read(tmp_path, TWO % ("SCHED_FIFO", '"priority": 9,', "", "SCHED_OTHER", "", "", endless))
    assert imported.system is not None
    tasks = imported.system["tasks"]
    assert "wcet" in tasks["hi"] and ("wcet" in tasks["lo"]) == bounded


@pytest.mark.parametrize("priority", [-1, 0, 100])
def test_a_priority_that_linux_does_not_have_is_refused(tmp_path: Path, priority: int) -> None:
    given = ("SCHED_RR", f'"priority": {priority},', "", "SCHED_FIFO", "", "", "")
    with pytest.raises(
        BadInput, match=f"tasks.hi.priority: {priority} is not a priority of SCHED_RR, which has"
    ):
        read(tmp_path, TWO % given)


RESUMED = """\
{"tasks": {
  "tick": {"policy": "SCHED_FIFO", "priority": 9, "cpus": [0], "run": 100, "resume": "mid",
           "timer": {"ref": "t", "period": 10000}},
  "mid": {"policy": "SCHED_FIFO", "priority": 5, "cpus": [0], "suspend": "mid", "run": 300, "resume": "last"},
  "last": {"policy": "SCHED_FIFO", "priority": 1, "cpus": [1], "run": 500, "suspend": "last"}%s}}
"""


def test_a_thread_that_another_resumes_is_released_by_it(tmp_path: Path) -> None:
    imported = read(tmp_path, RESUMED % "")
    assert imported.system is not None
    tasks = imported.system["tasks"]
    assert [(t.get("period"), t.get("min_interarrival"), t.get("jitter")) for t in tasks.values()] == [
        ("10ms", None, None),
        # As late as the one before may be done: 100 us, then 300 us after at most 100 us of the first.
        (None, "10ms", "100us"),
        (None, "10ms", "500us"),
    ]
    assert [task["wcet"] for task in tasks.values()] == ["100us", "300us", "500us"]
    assert imported.report.left_out == {}
    changed = {(what, name) for (what, _), names in imported.report.changed.items() for name in names}
    assert {
        ("release", "mid by tick"),
        ("release", "last by mid"),
        ("release jitter", "last by mid"),
    } <= changed


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # Twice a turn, by two threads, by several of one, by itself: nobody says which turn is released when.
        ('"run": 100, "resume": "mid"', '"run": 100, "resume": "mid", "resume": "mid"'),
        ('"run": 500, "suspend": "last"', '"run": 500, "suspend": "last", "resume": "mid"'),
        ('"run": 100, "resume": "mid"', '"run": 100, "instance": 2, "resume": "mid"'),
        ('"run": 100, "resume": "mid"', '"run": 100'),
    ],
)
def test_a_thread_that_is_not_resumed_once_a_turn_is_left_out(
    tmp_path: Path, before: str, after: str
) -> None:
    text = (RESUMED % "").replace(before, after)
    assert text != RESUMED % ""
    imported = read(tmp_path, text)
    assert imported.system is not None
    assert {name.partition("-")[0] for name in imported.system["tasks"]} == {"tick"}
    left = {(what, name) for (what, _), names in imported.report.left_out.items() for name in names}
    assert {("thread", "mid"), ("thread", "last")} <= left


def test_threads_that_resume_each_other_have_no_first_release(tmp_path: Path) -> None:
    ring = '"b": {"run": 5, "suspend": "b", "resume": "c"}, "c": {"run": 5, "suspend": "c", "resume": "b"}'
    imported = read(tmp_path, RESUMED % f", {ring}")
    assert imported.system is not None and set(imported.system["tasks"]) == {"tick", "mid", "last"}
    left = {(what, name) for (what, _), names in imported.report.left_out.items() for name in names}
    assert {("thread", "b"), ("thread", "c"), ("event resume", "b by c")} <= left


def test_how_late_an_unknown_trigger_is_leaves_no_execution_time(tmp_path: Path) -> None:
    """The thread that resumes executes nothing that is described: how late it comes is in no bound."""
    imported = read(tmp_path, (RESUMED % "").replace('"run": 100, ', ""))
    assert imported.system is not None and set(imported.system["tasks"]) == {"mid", "last"}
    # Nor of what is released by what comes so late.
    assert all("wcet" not in task for task in imported.system["tasks"].values())


def test_a_thread_that_suspends_beside_its_timer_keeps_the_timer(tmp_path: Path) -> None:
    imported = read(tmp_path, (RESUMED % "").replace('"run": 300', '"run": 300, "timer": {"period": 20000}'))
    assert imported.system is not None and imported.system["tasks"]["mid"]["period"] == "20ms"
    left = {(what, name) for (what, _), names in imported.report.left_out.items() for name in names}
    assert {("event suspend", "mid"), ("event resume", "mid by tick")} <= left


PHASES = """\
{"tasks": {"a": {"policy": "SCHED_FIFO", "priority": 9, "cpus": [0], "phases": {
  "sleeping": {"loop": 1, "timer": {"ref": "t", "period": 12000}},
  "running": {"loop": %d, "run": 300}%s}}}}
"""


@pytest.mark.parametrize(
    ("loop", "more", "task"),
    [
        (1, "", {"period": "12ms", "wcet": "300us"}),
        (3, "", {"period": "12ms", "wcet": "900us"}),
        # The last phase is before the first one: what both execute is one job.
        (2, ', "more": {"run": 50}', {"period": "12ms", "wcet": "650us"}),
        # One of three turns of the phase that waits is after the others' execution.
        (
            1,
            ', "often": {"loop": 3, "run": 10, "timer": {"ref": "t", "period": 12000}}',
            {"period": "12ms", "wcet": "310us", "bcet": "0ns"},
        ),
        (1, ', "pause": {"sleep": 500}', {"min_interarrival": "800us", "wcet": "300us", "bcet": "0ns"}),
    ],
)
def test_phases_that_never_wait_are_of_the_job_of_the_next(
    tmp_path: Path, loop: int, more: str, task: dict[str, str]
) -> None:
    imported = read(tmp_path, PHASES % (loop, more))
    assert imported.system is not None
    found = imported.system["tasks"]["a"]
    assert {key: found.get(key) for key in ("period", "min_interarrival", "wcet", "bcet")} == {
        key: task.get(key) for key in ("period", "min_interarrival", "wcet", "bcet")
    }


def test_a_thread_that_stays_in_a_phase_without_a_wait_runs_without_a_pause(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"tasks\.a: runs without a pause"):
        read(tmp_path, PHASES % (-1, ""))


def test_an_event_without_a_value_is_of_the_thread_itself(tmp_path: Path) -> None:
    text = (RESUMED % "").replace('"suspend": "mid", ', '"suspend", ')
    assert text != RESUMED % ""
    assert read(tmp_path, text).system == read(tmp_path, RESUMED % "").system


def test_the_form_without_events(tmp_path: Path) -> None:
    text = '{"tasks": {"a": {"exec": 1000, "period": 20000, "deadline": 8000, "sleep": false, "cpus": [0]}}}'
    imported = read(tmp_path, text)
    assert imported.system is not None
    task = {"period": "20ms", "deadline": "8ms", "wcet": "1ms", "on": "cpu-0", "priority": 0}
    assert imported.system["tasks"] == {"a": task}


EQUAL = """\
{"tasks": {
  "left":  {"policy": "SCHED_FIFO", "priority": 10, "cpus": [0], "run": 20000,
            "timer": {"ref": "l", "period": 100000}},
  "right": {"policy": "%s", "priority": 10, "cpus": [0], "run": 30000,
            "timer": {"ref": "r", "period": 100000}}}}
"""


@pytest.mark.parametrize("policy", ["SCHED_FIFO", "SCHED_RR"])
def test_threads_of_one_priority_wait_for_each_other(tmp_path: Path, policy: str) -> None:
    """Measured on Linux, each released just after the other: 50.2 ms."""
    imported = read(tmp_path, EQUAL % policy)
    assert imported.system is not None and imported.platform is not None
    system = system_from_data(imported.system, platform=platform_from_data(imported.platform))
    assert [bound.response for bound in response_times(system)] == [50 * 10**9, 50 * 10**9]
    assert [what for what, _ in imported.report.changed if what == "equal priorities"]
    back = json.loads(export_rtapp(system, Report()))["tasks"]
    assert [thread["priority"] for thread in back.values()] == [10, 10]


def test_threads_without_a_priority_are_served_in_any_order(tmp_path: Path) -> None:
    imported = read(tmp_path, EQUAL.replace("SCHED_FIFO", "SCHED_OTHER") % "SCHED_OTHER")
    assert imported.system is not None and imported.platform is not None
    system = system_from_data(imported.system, platform=platform_from_data(imported.platform))
    assert [bound.response for bound in response_times(system)] == [50 * 10**9, 50 * 10**9]


def bounds_of(tmp_path: Path, text: str) -> dict[str, float | None]:
    """The bounds of imported threads [ms]."""
    imported = read(tmp_path, text)
    assert imported.system is not None and imported.platform is not None
    system = system_from_data(imported.system, platform=platform_from_data(imported.platform))
    found = response_times(system)
    return {bound.task: None if bound.response is None else bound.response / 10**9 for bound in found}


def test_a_thread_waits_for_all_of_its_priority_whatever_their_policy(tmp_path: Path) -> None:
    """One without a priority has rt-app's 10. Each of the three waits for the two others and once for the
    most urgent, of 1 ms; the least urgent for all."""
    thread = '"%s": {%s, "cpus": [0], "run": %d, "timer": {"ref": "%s", "period": %d}}'
    fifo, rr = '"policy": "SCHED_FIFO"', '"policy": "SCHED_RR"'
    threads = [
        thread % ("a", fifo, 20000, "a", 100000),
        thread % ("b", rr + ', "priority": 10', 10000, "b", 120000),
        thread % ("c", fifo + ', "priority": 10', 5000, "c", 60000),
        thread % ("low", fifo + ', "priority": 5', 7000, "l", 400000),
        thread % ("top", fifo + ', "priority": 50', 1000, "t", 50000),
    ]
    found = bounds_of(tmp_path, '{"tasks": {' + ", ".join(threads) + "}}")
    assert found == {"a": 36, "b": 36, "c": 36, "low": 43, "top": 1}


def test_instances_of_a_thread_wait_for_each_other(tmp_path: Path) -> None:
    """Each for two of 20 ms, and for the more urgent one."""
    text = """{"global": {"default_policy": "SCHED_FIFO"}, "tasks": {
      "a": {"cpus": [1], "instance": 3, "timer": {"ref": "unique", "period": 100000}, "run": 20000},
      "b": {"priority": 11, "cpus": [1], "timer": {"ref": "unique", "period": 200000}, "run": 10000}}}"""
    assert bounds_of(tmp_path, text) == {"a-0": 70, "a-1": 70, "a-2": 70, "b": 10}


def test_comments_keep_lines_and_columns() -> None:
    text = '{"a": "/* no */ // no", /* yes\n yes */ "b": [1, 2,], // yes\n}'
    plain = without_comments(text, Path("x"))
    assert len(plain) == len(text) and plain.count("\n") == text.count("\n")
    assert json.loads(plain) == {"a": "/* no */ // no", "b": [1, 2]}


@given(st.dictionaries(st.text(), st.one_of(st.text(), st.integers(), st.lists(st.text()))))
def test_what_is_json_already_stays(data: dict[str, Any]) -> None:
    for text in (json.dumps(data), json.dumps(data, ensure_ascii=False, indent=1)):
        assert without_comments(text, Path("x")) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"tasks": {"a": {"run": 1,, }}}', "is not JSON"),
        ('{"tasks": {"a": {"runn": 1} /* open', "load.json:1: the comment has no end"),
        ('{"task": {}}', "task: unknown key 'task'; did you mean 'tasks'?"),
        ('{"tasks": {"a": {"prioritty": 1, "run": 1}}}', "unknown key 'prioritty'; did you mean 'priority'?"),
        ('{"tasks": {"a": {"run": "1"}}}', "tasks.a.run: '1' is not a whole number"),
        ('{"tasks": {"a": {"run": 1.5}}}', "tasks.a.run: 1.5 is not a whole number"),
        ('{"tasks": {"a": {"run": -1}}}', "tasks.a.run: -1 is outside"),
        (
            '{"tasks": {"a": {"run": 1, "timer": {"ref": "u"}}}}',
            "tasks.a.timer.period: None is not a whole number",
        ),
        ('{"tasks": {"a": {"run": 1, "timer": 5}}}', "tasks.a.timer: is not an object"),
        ('{"tasks": {"a": {"run": 1, "policy": "FIFO"}}}', "tasks.a.policy: 'FIFO' is not a policy"),
        ('{"tasks": {"a": {"run": 1, "instance": 5000, "timer": {"period": 9}}}}', "at most 1024"),
        ('{"tasks": {"a": {"run": 1, "cpus": [4000]}}}', "above 1023"),
        (
            '{"tasks": {"a": {"run": 1, "policy": "SCHED_FIFO", "priority": 9}}}',
            "tasks.a: runs without a pause under SCHED_FIFO: no thread of a lower priority would ever run",
        ),
        (
            '{"tasks": {"a": {"run": 1, "policy": "SCHED_DEADLINE", "dl-runtime": 10}}}',
            "give it a 'dl-period', or a timer",
        ),
        ('{"tasks": {"a": {"run": 1, "resume"}}}', "is not JSON"),
        ('{"tasks": {"a": {"run": 1, "resume": ""}}}', "tasks.a.resume: '' is not a name of a thread"),
        ('{"tasks": {"a": {"phases": {"p": {"run": 1, "loop": "x"}}}}}', "phases.p.loop: 'x' is not a whole"),
        ('{"tasks": {"a": {"run": 1, "suspend": 5}}}', "tasks.a.suspend: 5 is not a name of a thread"),
        ('{"tasks": {"a": {"exec": 5}}}', "tasks.a.exec: needs a 'period'"),
        ('{"tasks": {"a": {"exec": 0, "period": 9}}}', "tasks.a.exec: 0 is outside 1 to"),
        ('{"tasks": {"a": {"exec": 5, "period": 9, "run": 1}}}', "tasks.a.run: is not a key beside 'exec'"),
        ('{"tasks": {"a": {"exec": 5, "period": 9, "lock_order": []}}}', "tasks.a.lock_order: beside 'exec'"),
        ('{"tasks": {}}', "there is no thread that could be imported"),
        ("[]", "holds no object"),
        ("[" * 100_000, "is nested too deep"),
    ],
)
def test_errors(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        read(tmp_path, text)
    assert "load.json" in str(caught.value) and message in str(caught.value)


@settings(max_examples=examples(60))
@given(st.data())
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Everything that rt-app can state comes back; times are whole microseconds there."""
    tasks = {}
    for index in range(data.draw(st.integers(1, 4))):
        period = data.draw(st.integers(100, 10_000))
        tasks[f"t{index}"] = {
            "period": f"{period}us",
            "wcet": f"{data.draw(st.integers(1, period // 2))}us",
            "priority": data.draw(st.integers(0, 9)) * 10 + index + 1,
            "on": data.draw(st.sampled_from(["big-0", "big-1"])),
        }
        if data.draw(st.booleans()):
            tasks[f"t{index}"]["offset"] = f"{data.draw(st.integers(1, period))}us"
    system = system_of(
        {"consort": 1, "platform": "board.yaml", "tasks": tasks, "run": {"cpus": {"big-0": 0, "big-1": 1}}}
    )
    text = export_rtapp(system, Report())
    assert json.loads(text)
    imported = read(tmp_path_factory.mktemp("rtapp"), text)
    assert imported.system is not None
    expected = {name: task | {"on": task["on"].replace("big", "cpu")} for name, task in tasks.items()}
    read_back = system_from_data(imported.system, platform=platform_from_data(imported.platform or {}))
    for name, task in expected.items():
        other = read_back.tasks[name]
        assert (other.on, other.priority) == (task["on"], task["priority"])
        for key in ("period", "wcet", "offset"):
            given = getattr(system.tasks[name], key)
            assert str(given) == str(getattr(other, key))


def test_a_reservation_is_one_that_linux_takes(tmp_path: Path) -> None:
    tasks: dict[str, Any] = {
        "least": {"period": "1ms", "wcet": "1us"},
        # Together they have the time; within the least interval one has not.
        "burst": {"min_interarrival": "1us", "wcet": "30us", "burst": {"count": 5, "within": "1ms"}},
        "late": {"period": "1ms", "deadline": "20us", "wcet": "30us"},
        "never": {"period": "1us", "wcet": "1ns"},
    }
    for task in tasks.values():
        task["on"] = "big-0"
    scheduling = {"big-0": {"policy": "edf"}}
    report = Report()
    text = export_rtapp(
        system_of({"consort": 1, "platform": "board.yaml", "tasks": tasks, "scheduling": scheduling}), report
    )
    written = json.loads(text)["tasks"]
    assert {name: thread["dl-runtime"] for name, thread in written.items()} == {"least": 2}
    refused = [
        name for (_, why), names in report.left_out.items() if "takes no dl-runtime" in why for name in names
    ]
    assert refused == ["burst", "late", "never"]
    assert "1 µs is 2 µs" in report.text()
    assert read(tmp_path, text).system is not None


def test_what_rtapp_cannot_say_is_said() -> None:
    tasks = {
        "a": {"period": "1500ns", "wcet": "1ns", "deadline": "1us", "jitter": "1us", "on": "big-0"},
        "b": {
            "min_interarrival": "1ms",
            "wcet": "10us",
            "bcet": "5us",
            "on": "big-0",
            "self_suspension": "30us",
        },
        "c": {"period": "1ms", "on": "big-0"},
    }
    report = Report()
    written = json.loads(
        export_rtapp(system_of({"consort": 1, "platform": "board.yaml", "tasks": tasks}), report)
    )
    # The wcet is rounded up, the period down.
    assert written["tasks"]["a"]["run"] == 1 and written["tasks"]["a"]["timer"]["period"] == 1
    assert written["tasks"]["b"]["sleep"] == 30
    assert list(written["tasks"]) == ["a", "b"]
    left = {(what, name) for (what, _), names in report.left_out.items() for name in names}
    assert left == {("deadline", "a"), ("jitter", "a"), ("bcet", "b"), ("task", "c")}
    assert {what for what, _ in report.changed} == {"core", "time", "release", "priority"} - {"priority"}


DEADLINE = """\
{"tasks": {"grip": {"policy": "SCHED_DEADLINE", "cpus": [0], "dl-runtime": %d, "dl-period": %d, "run": 2000,
                    "timer": {"ref": "u", "period": 10000}}}}
"""


@pytest.mark.parametrize(("budget", "period"), [(1000, 10000), (3000, 20000), (1999, 10000)])
def test_a_thread_that_linux_throttles_has_no_bound(tmp_path: Path, budget: int, period: int) -> None:
    """Measured with 1 ms each 10 ms: 50 of 50 jobs late, the last by 510 ms."""
    imported = read(tmp_path, DEADLINE % (budget, period))
    assert imported.system is not None and imported.platform is not None
    system = system_from_data(imported.system, platform=platform_from_data(imported.platform))
    assert [bound.response for bound in response_times(system)] == [None]
    ((what, why), names) = next(iter(imported.report.left_out.items()))
    assert (what, names) == ("execution times of tasks", ["grip"]) and "throttled" in why


def test_a_budget_that_is_enough_is_left_out(tmp_path: Path) -> None:
    imported = read(tmp_path, DEADLINE % (2000, 10000))
    assert imported.system is not None and imported.system["tasks"]["grip"]["wcet"] == "2ms"
    assert [what for what, _ in imported.report.left_out] == ["dl-runtime"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ('"dl-runtime": 0, "dl-period": 10000', "dl-runtime: Linux takes no reservation of less than 1024ns"),
        ('"dl-runtime": 1, "dl-period": 10000', "and this is 1us within 10ms each 10ms"),
        ('"dl-period": 10000', "dl-runtime: Linux takes no reservation of less than 1024ns"),
        (
            '"dl-runtime": 3000, "dl-period": 10000, "dl-deadline": 2999',
            "dl-runtime: Linux takes none above 'dl-d",
        ),
        ('"dl-runtime": 3000, "dl-period": 2000', "and this is 3ms within 2ms each 2ms"),
        (
            '"dl-runtime": 3000, "dl-period": 10000, "dl-deadline": 10001',
            "dl-deadline: Linux takes none above 'dl-p",
        ),
        # Without a period the runtime is taken.
        ('"dl-runtime": 3000, "dl-deadline": 4000', "and this is 3ms within 4ms each 3ms"),
    ],
)
def test_a_reservation_that_linux_refuses_is_refused(tmp_path: Path, given: str, message: str) -> None:
    text = (
        '{"tasks": {"a": {"policy": "SCHED_DEADLINE", %s, "run": 2, "timer": {"ref": "u", "period": 10000}}}}'
    )
    with pytest.raises(BadInput) as caught:
        read(tmp_path, text % given)
    assert "load.json: tasks.a.dl-" in str(caught.value) and message in str(caught.value)


FOUR = """\
{"tasks": {"dl": {"policy": "SCHED_DEADLINE", "instance": 4, "run": 10000, "dl-runtime": 11000,
  "dl-period": 16000, "dl-deadline": 16000, "timer": {"ref": "unique", "period": 16000, "mode": "absolute"}}}}
"""


def test_threads_without_cpus_have_those_of_the_machine(tmp_path: Path) -> None:
    imported = read(tmp_path, FOUR, 4)
    assert imported.system is not None and imported.platform is not None
    system = system_from_data(imported.system, platform=platform_from_data(imported.platform))
    assert sorted(task.on for task in system.tasks.values()) == ["cpu-0", "cpu-1", "cpu-2", "cpu-3"]
    assert [bound.response for bound in response_times(system)] == [10**10] * 4
    assert imported.report.notes == ["CPUs: 4 for threads that name none (--cpus)"]
    assert import_rtapp(tmp_path / "load.json").report.notes[0].endswith("as this machine has; see --cpus)")


def test_what_linux_would_not_admit_is_said() -> None:
    tasks = {n: {"period": "10ms", "wcet": "4900us", "on": "big-0"} for n in ("a", "b")}
    data = {
        "consort": 1,
        "platform": "board.yaml",
        "tasks": tasks,
        "scheduling": {"big-0": {"policy": "edf"}},
    }
    report = Report()
    export_rtapp(system_of(data), report)
    (note,) = report.notes
    assert note.startswith("big-0 asks for 0.98 of a CPU") and "EBUSY" in note
    tasks["a"]["wcet"] = "4600us"
    report = Report()
    export_rtapp(system_of(data), report)
    assert report.notes == []


# Every key that rt-app reads, with a value that means something: in a thread, a phase, a timer, an event.
THREAD = {
    "instance": 2, "delay": 700, "loop": 5, "policy": '"SCHED_RR"', "priority": 33, "cpus": "[0, 1]",
    "dl-runtime": 5000, "dl-period": 7000, "dl-deadline": 6000, "util_min": 10, "util_max": 900,
    "membind_nodes": "[0]", "nodes_membind": "[0]", "taskgroup": '"/tg"', "use_cgroup_slice": "true",
}  # fmt: skip
EVENTS = {
    "run1": 50, "runtime": 60, "sleep": 70, "timer1": '{"ref": "u", "period": 900}', "lock": '"m"',
    "unlock": '"m"', "wait": '{"ref": "c", "mutex": "m"}', "signal": '"c"', "broad": '"c"',
    "sync": '{"ref": "c"}', "barrier": '"b"', "suspend": '"a"', "resume": '"b"', "mem": 100, "iorun": 100,
    "yield": '""', "fork": '"a"',
}  # fmt: skip
WHOLE = '{"tasks": {"a": {%s "phases": {"p": {%s "run": 100, "timer": {%s "period": 9000}}}}}%s}'


def outcome(tmp_path: Path, *parts: str) -> object:
    try:
        imported = read(tmp_path, WHOLE % parts)
    except BadInput as error:
        return str(error)
    return imported.system, imported.report.to_json()


@pytest.mark.parametrize("key", [*THREAD, *EVENTS])
def test_each_key_is_read_or_listed_or_refused(tmp_path: Path, key: str) -> None:
    value = (THREAD | EVENTS)[key]
    plain = outcome(tmp_path, "", "", "", "")
    places = [(f'"{key}": {value},', "", ""), ("", f'"{key}": {value},', "")]
    # One phase has no other that its turns would come before.
    places = places[:1] if key == "loop" else places if key in THREAD else places[1:]
    for thread, phase, timer in places:
        assert outcome(tmp_path, thread, phase, timer, "") != plain, (thread, phase)


def test_each_key_of_a_timer_and_of_the_file_is_read_or_listed(tmp_path: Path) -> None:
    plain = outcome(tmp_path, "", "", "", "")
    for timer in ('"mode": "absolute",', '"rf": "x",'):
        assert outcome(tmp_path, "", "", timer, "") != plain
    for key in ("duration", "calibration", "default_policy", "pi_enabled", "lock_pages", "logdir", "ftrace"):
        value = '"SCHED_FIFO"' if key == "default_policy" else "1"
        assert outcome(tmp_path, "", "", "", f', "global": {{"{key}": {value}}}') != plain
    assert outcome(tmp_path, "", "", "", ', "resources": {"m": {"type": "mutex"}}') != plain


def test_a_timer_of_several_threads_is_listed(tmp_path: Path) -> None:
    imported = read(tmp_path, EQUAL.replace('"r"', '"l"') % "SCHED_FIFO")
    assert imported.report.left_out["ref of a timer", TIMER_KEYS["ref"]] == ["left, l", "right, l"]
