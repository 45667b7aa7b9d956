# SPDX-License-Identifier: Apache-2.0
"""Settings, refusals, and the restoration of all of it."""

from __future__ import annotations

import errno
import json
import os
import subprocess
from pathlib import Path

import pytest
from consort.base.errors import BadInput, EnvironmentLacks
from consort.machine.prepare import left_over, prepared, watchdog
from consort.machine.prepare.settings import show_mask
from prepare_support import FILES, WANTED, list_task, until, values

pytestmark = pytest.mark.realtime


def test_everything_is_set_and_restored(machine: Path) -> None:
    with prepared([2, 3], [0, 1], root=machine) as result:
        assert values(machine) == FILES | WANTED
        assert result.to_json()["restored"] is None
    assert values(machine) == FILES
    assert not (machine / watchdog.STATE).exists()
    record = result.to_json()
    assert record["cpus"] == [2, 3] and record["housekeeping"] == [0, 1]
    assert record["refused"] == []
    assert {"what": "sched_rt_runtime_us", "from": "950000", "to": "-1"} in record["set"]
    assert {"what": "fair_server", "from": "50000000", "to": "0", "names": ["cpu2", "cpu3"]} in record["set"]
    assert record["restored"] == {"why": "the run ended", "early": False, "changed": (), "failed": ()}
    json.dumps(record)


def test_restored_after_an_exception(machine: Path) -> None:
    with pytest.raises(ZeroDivisionError), prepared([2], [0], root=machine):
        raise ZeroDivisionError
    assert values(machine) == FILES


def test_what_is_as_wanted_is_not_touched(machine: Path) -> None:
    for path, text in WANTED.items():
        (machine / path).write_text(text)
    (machine / "proc/irq/default_smp_affinity").write_text("00000003")
    with prepared([2, 3], [0, 1], root=machine) as result:
        assert result.to_json()["set"] == []
    assert (machine / "proc/irq/default_smp_affinity").read_text() == "00000003"


def test_without_a_cpu_for_the_rest_nothing_is_moved(machine: Path) -> None:
    with prepared([0, 1, 2, 3], [], root=machine) as result:
        now = values(machine)
        moved = {path for path in FILES if now[path] != FILES[path] and ("irq" in path or "workq" in path)}
        assert not moved
        refused = {r["what"]: r["why"] for r in result.to_json()["refused"]}
        assert {"interrupts", "workqueues", "tasks"} <= set(refused)
        assert "every CPU" in refused["tasks"]
    assert values(machine) == FILES


def test_one_cpu_may_serve_both(machine: Path) -> None:
    with prepared([0, 1, 2, 3], [0], root=machine) as result:
        assert values(machine)["proc/irq/25/smp_affinity_list"] == "0"
        assert "CPU 0 serves the run and everything else" in result.lines()
    assert values(machine) == FILES


def test_lockdown_is_reported_and_not_worked_around(machine: Path, monkeypatch) -> None:
    real = watchdog.write_value
    attempts: list[str] = []

    def locked(root: Path, entry: watchdog.Entry, value: str) -> None:
        if "fair_server" in entry.get("path", ""):
            attempts.append(entry["path"])
            raise PermissionError(errno.EPERM, "Operation not permitted")
        real(root, entry, value)

    monkeypatch.setattr(watchdog, "write_value", locked)
    with prepared([2, 3], [0, 1], root=machine) as result:
        refused = {r["what"]: r["why"] for r in result.to_json()["refused"]}
        assert refused == {"fair_server": "unavailable: lockdown (Operation not permitted)"}
        assert (machine / "proc/sys/kernel/timer_migration").read_text().strip() == "0", "the rest is set"
    assert len(attempts) == 2, "tried once for each CPU"
    assert values(machine) == FILES


def test_absent_debugfs_is_named(machine: Path) -> None:
    (machine / "sys/kernel/debug").rename(machine / "elsewhere")
    with prepared([2], [0], root=machine) as result:
        why = {r["what"]: r["why"] for r in result.to_json()["refused"]}["fair_server"]
    assert "debugfs is not mounted" in why


def test_kernel_without_a_fair_server_is_not_asked_for_one(machine: Path) -> None:
    (machine / "proc/version").write_text("Linux version 6.1.0 #1 SMP")
    with prepared([2], [0], root=machine) as result:
        record = result.to_json()
    assert all(part["what"] != "fair_server" for part in record["set"] + record["refused"])


def test_value_that_the_kernel_keeps_is_a_refusal(machine: Path, monkeypatch) -> None:
    monkeypatch.setattr(watchdog, "write_value", lambda *_: None)
    with prepared([2], [0], root=machine) as result:
        record = result.to_json()
    assert record["set"] == []
    assert {"what": "timer_migration", "why": "the kernel keeps 1"} in record["refused"]


def test_what_another_program_changes_meanwhile_is_left(machine: Path) -> None:
    governor = machine / "sys/devices/system/cpu/cpu2/cpufreq/scaling_governor"
    with prepared([2, 3], [0, 1], root=machine) as result:
        governor.write_text("schedutil\n")
    assert governor.read_text().strip() == "schedutil"
    restored = result.to_json()["restored"]
    assert len(restored["changed"]) == 1 and "schedutil" in restored["changed"][0]


def test_cpus_that_are_not_online_are_refused(machine: Path) -> None:
    with pytest.raises(BadInput, match="housekeeping: CPU 7 is not online; online are 0-3"), \
         prepared([2], [7], root=machine):  # fmt: skip
        pass
    with pytest.raises(BadInput, match="no CPU is given"), prepared([], [0], root=machine):
        pass
    assert values(machine) == FILES


def test_second_run_is_told_to_wait(machine: Path) -> None:
    with prepared([2], [0], root=machine):
        before = values(machine)
        with (
            pytest.raises(EnvironmentLacks, match=r"another run has prepared .* process \d+"),
            prepared([3], [0], root=machine),
        ):
            pass
        assert values(machine) == before
    assert values(machine) == FILES


def test_who_is_not_root_is_told(machine: Path) -> None:
    (machine / "run").rmdir()
    (machine / "run").write_text("no folder")
    with prepared([2], [0], root=machine) as result:
        assert "only root" in result.to_json()["refused"][0]["why"]
    assert values(machine) == FILES


def test_tasks_are_moved_and_restored(machine: Path, sleeper, two_cpus) -> None:
    first, second = two_cpus
    (machine / "sys/devices/system/cpu/online").write_text(f"0-{max(second, 3)}")
    free, bound = sleeper(), sleeper()
    os.sched_setaffinity(free, {first, second})
    os.sched_setaffinity(bound, {second})
    for pid in (free, bound):
        list_task(machine, pid)
    with prepared([second], [first], root=machine) as result:
        assert os.sched_getaffinity(free) == {first}
        assert os.sched_getaffinity(bound) == {first}
        moved = [part for part in result.to_json()["set"] if part["what"] == "tasks"]
        assert [part["names"] for part in moved] == [["sleep"], ["sleep"]]
    assert os.sched_getaffinity(free) == {first, second}
    assert os.sched_getaffinity(bound) == {second}


def test_the_run_itself_is_not_moved(machine: Path, two_cpus) -> None:
    """It places its own threads, and must see all CPUs to do so."""
    first, second = two_cpus
    before = os.sched_getaffinity(0)
    list_task(machine, os.getpid())
    with prepared([second], [first], root=machine):
        assert os.sched_getaffinity(0) == before


def test_thread_that_the_kernel_binds_is_a_refusal(machine: Path, sleeper, two_cpus) -> None:
    first, second = two_cpus
    pid = sleeper()
    os.sched_setaffinity(pid, {second})
    list_task(machine, pid)
    stat = machine / f"proc/{pid}/task/{pid}/stat"
    name, fields = stat.read_text().rsplit(")", 1)
    words = fields.split()
    words[6] = str(0x0400_0000 | int(words[6]))
    stat.write_text(f"{name}) {' '.join(words)}")
    with prepared([second], [first], root=machine) as result:
        assert os.sched_getaffinity(pid) == {second}
    refused = [part for part in result.to_json()["refused"] if part["what"] == "tasks"]
    assert refused == [{"what": "tasks", "why": "the kernel binds it to its CPU", "names": ["sleep"]}]


def test_children_of_moved_tasks_get_their_parents_cpus_back(machine: Path, two_cpus) -> None:
    first, second = two_cpus
    shell = subprocess.Popen(["sh", "-c", "read go; sleep 600 & echo $!; read end; kill $!"],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # fmt: skip
    assert shell.stdin is not None and shell.stdout is not None
    os.sched_setaffinity(shell.pid, {first, second})
    list_task(machine, shell.pid)
    with prepared([second], [first], root=machine):
        shell.stdin.write("go\n")
        shell.stdin.flush()
        child = int(shell.stdout.readline())
        list_task(machine, child)
        assert os.sched_getaffinity(child) == {first}, "inherited"
    assert os.sched_getaffinity(child) == {first, second}
    shell.communicate("end\n")


def test_number_of_an_ended_task_is_not_taken_for_it(machine: Path, sleeper, two_cpus) -> None:
    first, second = two_cpus
    pid = sleeper()
    os.sched_setaffinity(pid, {first, second})
    list_task(machine, pid)
    with prepared([second], [first], root=machine):
        stat = machine / f"proc/{pid}/task/{pid}/stat"
        name, fields = stat.read_text().rsplit(")", 1)
        words = fields.split()
        words[19] = "1"  # Another task, started before.
        stat.write_text(f"{name}) {' '.join(words)}")
    assert os.sched_getaffinity(pid) == {first}, "a stranger's CPUs are left alone"


def test_left_over_settings_are_counted_and_restored_by_the_next_run(machine: Path) -> None:
    entry = {"kind": "text", "path": "proc/sys/kernel/timer_migration", "from": "1", "to": "0"}
    (machine / "run/consort").mkdir()
    state = machine / watchdog.STATE
    state.write_text(json.dumps({"boot_id": "0f0f"}) + "\n" + json.dumps(entry) + '\n{"kind": "te')
    (machine / entry["path"]).write_text("0")
    assert left_over(machine) == 1
    with prepared([2], [0], root=machine) as result:
        assert "earlier run" in result.lines()[-1]
        assert {"what": "timer_migration", "from": "1", "to": "0"} in result.to_json()["set"]
        assert left_over(machine) == 0, "a watchdog is at work"
    assert values(machine) == FILES


def test_settings_of_an_earlier_boot_are_forgotten(machine: Path) -> None:
    entry = {"kind": "text", "path": "proc/sys/kernel/timer_migration", "from": "0", "to": "1"}
    (machine / "run/consort").mkdir()
    (machine / watchdog.STATE).write_text('{"boot_id": "older"}\n' + json.dumps(entry))
    assert left_over(machine) == 0
    with prepared([2], [0], root=machine):
        pass
    assert values(machine) == FILES


def test_time_limit_restores_and_is_recorded(machine: Path) -> None:
    with prepared([2], [0], root=machine, limit_s=0.3) as result:
        assert until(lambda: values(machine) == FILES)
    restored = result.to_json()["restored"]
    assert restored["early"] and restored["why"] == "the time limit has passed"
    assert "restored before the run had ended: the time limit has passed" in result.lines()


@pytest.mark.parametrize(
    ("cpus", "mask"),
    [([0], "1"), ([31], "80000000"), ([32], "00000001,00000000"), (range(40), "000000ff,ffffffff")],
)
def test_masks_are_spelt_as_the_kernel_reads_them(cpus, mask) -> None:
    assert show_mask(cpus) == mask
    assert watchdog.parse_mask(mask) == set(cpus)
