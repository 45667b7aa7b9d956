# SPDX-License-Identifier: Apache-2.0
"""Each finding on made-up machines: the property present, absent, and not told."""

from __future__ import annotations

from pathlib import Path

import pytest
from consort.doctor import Finding, Machine, examine, ready
from consort.doctor.machine import parse_cpus, show_cpus

CPU = "sys/devices/system/cpu"
CLOCK = "sys/devices/system/clocksource/clocksource0"
PROBE = {
    "n": 2000, "min": 1000, "median": 2000, "p99": 3000, "p999": 4000, "max": 5000,
    "realtime": {"policy": "SCHED_FIFO", "cpu": 2},
}  # fmt: skip


def findings(root: Path, **live: object) -> dict[str, Finding]:
    return {f.id: f for f in examine(Machine(root, **live))}  # type: ignore[arg-type]


def test_ready_machine_has_nothing_to_mend(make_tree):
    found = findings(make_tree(), fifo=lambda: None, probe=lambda _: PROBE, pause=lambda _: None)
    # A busy thread can be throttled on any machine that is safe, and counters of a made-up tree do not move.
    expected = {"rt_throttling": "warn", "steal": "unknown"}
    assert {i: f.status for i, f in found.items() if f.status != "ok"} == expected
    assert ready(list(found.values()))


# Each row: what is changed on the ready machine, the finding that shows it, its status, a word of what was
# found or of how to mend it.
CASES = [
    ({f"{CPU}/isolated": ""}, "isolation", "warn", "isolcpus=managed_irq,domain,1-3"),
    ({f"{CPU}/isolated": "(null)"}, "isolation", "warn", "none"),
    ({f"{CPU}/nohz_full": "3"}, "nohz_full", "warn", "nohz_full=2-3"),
    ({f"{CPU}/nohz_full": None}, "nohz_full", "warn", "none"),
    ({"proc/irq/25/smp_affinity_list": "0-3"}, "interrupts", "warn", "for i in 25; do echo 0-1 >"),
    ({"run/irqbalance/x": ""}, "interrupts", "warn", "irqbalance"),
    ({"proc/irq/24/smp_affinity_list": None, "proc/irq/24/effective_affinity_list": None},
     "interrupts", "unknown", "does not list"),
    ({f"{CPU}/cpu2/topology/thread_siblings_list": "2-3"}, "smt", "warn", "2-3"),
    ({f"{CPU}/online": "0", f"{CPU}/isolated": "", "proc/self/status": "Cpus_allowed_list: 0\n"},
     "cores", "bad", "1 online"),
    ({f"{CPU}/online": "0-1", f"{CPU}/isolated": ""}, "cores", "warn", "2 online"),
    ({"proc/version": "Linux version 6.1.0 #1 SMP PREEMPT_DYNAMIC Debian", "sys/kernel/realtime": None},
     "preempt_rt", "warn", "PREEMPT_DYNAMIC"),
    ({"proc/version": None, "sys/kernel/realtime": None}, "preempt_rt", "unknown", "cannot be read"),
    ({"proc/sys/kernel/sched_rt_runtime_us": "-1"}, "rt_throttling", "warn", "off"),
    ({"proc/sys/kernel/sched_rt_runtime_us": None}, "rt_throttling", "unknown", "does not tell"),
    ({f"{CLOCK}/current_clocksource": "hpet"}, "clocksource", "bad", "hpet"),
    ({f"{CLOCK}/current_clocksource": "kvm-clock"}, "clocksource", "warn", "paravirtual"),
    ({f"{CLOCK}/current_clocksource": "arch_sys_counter"}, "clocksource", "ok", "arch_sys_counter"),
    ({"proc/cpuinfo": "flags : fpu tsc constant_tsc\n"}, "invariant_tsc", "warn", "nonstop_tsc"),
    ({"proc/cpuinfo": "Features : fp asimd\n"}, "invariant_tsc", "unknown", "no x86 flags"),
    ({"proc/sys/kernel/timer_migration": "1"}, "timer_migration", "warn", "timer_migration=0"),
    ({f"{CPU}/cpu1/cpufreq/scaling_governor": "powersave"}, "governor", "warn", "powersave"),
    ({"sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never"}, "thp", "warn", "always"),
    ({"proc/meminfo": "HugePages_Total: 0\nHugePages_Free: 0\nHugepagesize: 2048 kB\n"},
     "huge_pages", "warn", "vm.nr_hugepages"),
    ({"proc/swaps": "Filename\tType\n/dev/sda2 partition 100 0 -2\n"}, "swap", "warn", "/dev/sda2"),
    ({"proc/self/status": "CapEff: 0000000000000000\n",
      "proc/self/limits": "Max locked memory         8388608  8388608\n"}, "memlock", "bad", "8 MiB"),
    ({"proc/self/status": "CapEff: 0000000000000000\n"}, "memlock", "ok", "limit unlimited"),
    ({"proc/self/status": "CapEff: 0000000000000000\n", "proc/self/limits": "Max realtime priority  0  0\n"},
     "sched_fifo", "bad", "limit is 0"),
    ({"proc/self/status": None, "proc/self/limits": None}, "sched_fifo", "unknown", "neither"),
    ({"dev/cpu_dma_latency": None}, "idle_states", "warn", "133 µs"),
    ({"proc/cpuinfo": "flags : fpu tsc constant_tsc nonstop_tsc hypervisor\n",
      f"{CLOCK}/available_clocksource": "tsc kvm-clock"}, "hypervisor", "warn", "KVM"),
    ({"sys/hypervisor/type": "xen"}, "hypervisor", "warn", "xen"),
    ({"proc/cpuinfo": "Features : fp\n"}, "hypervisor", "unknown", "does not tell"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "name", "status", "word"), CASES)
def test_one_change_shows_in_its_finding(make_tree, changes, name, status, word):
    finding = findings(make_tree(changes))[name]
    assert finding.status == status
    assert word in " ".join((finding.found, finding.cost, finding.mend))


def test_whatever_is_wrong_has_a_cost_a_mend_and_a_title(make_tree):
    everything = {path: text for changes, *_ in CASES for path, text in changes.items() if text is not None}
    for finding in findings(make_tree(everything)).values():
        assert finding.title and finding.found
        if finding.status in {"warn", "bad"}:
            assert finding.cost and finding.mend, finding.id


def test_machine_that_tells_nothing_is_unknown_never_ready_by_mistake(tmp_path):
    found = findings(tmp_path)
    claimed = {i for i, f in found.items() if f.status == "ok"}
    assert claimed == set()


def test_throttling_stall_is_counted_from_the_settings(make_tree):
    finding = findings(make_tree({"proc/sys/kernel/sched_rt_runtime_us": "900000"}))["rt_throttling"]
    assert finding.figures == {"stall_us": 100_000, "period_us": 1_000_000}


def test_fair_server_is_read_where_the_kernel_shows_it(make_tree):
    base = "sys/kernel/debug/sched/fair_server/cpu2"
    changes = {"proc/version": "Linux version 6.12.1 #1 SMP PREEMPT_RT", f"{base}/runtime": "20000000",
               f"{base}/period": "500000000"}  # fmt: skip
    assert findings(make_tree(changes))["rt_throttling"].figures == {"stall_us": 20_000, "period_us": 500_000}


def test_fair_server_default_is_named_as_a_default(make_tree):
    finding = findings(make_tree({"proc/version": "Linux version 6.18.2 #1 SMP PREEMPT_RT"}))["rt_throttling"]
    assert "the default of Linux 6.18" in finding.found


@pytest.mark.parametrize(
    ("stolen", "status"), [(0, "ok"), (1, "warn"), (9, "warn"), (10, "bad"), (500, "bad")]
)
def test_steal_time_is_the_share_in_the_interval(make_tree, stolen, status):
    root = make_tree()

    def pause(_: float) -> None:
        # What was stolen before the interval does not count.
        (root / "proc/stat").write_text(f"cpu  10 0 10 {1100 - stolen} 0 0 0 {stolen} 0 0\n")

    finding = findings(root, pause=pause)["steal"]
    assert finding.status == status
    assert finding.figures["percent"] == pytest.approx(stolen / 10)


def test_refused_fifo_says_why(make_tree):
    finding = findings(make_tree(), fifo=lambda: "Operation not permitted")["sched_fifo"]
    assert finding.status == "bad"
    assert "Operation not permitted" in finding.found


@pytest.mark.parametrize(("latest", "status"), [(50_000, "ok"), (50_001, "warn"), (1_000_001, "bad")])
def test_wakeup_latency_is_held_against_a_period(make_tree, latest, status):
    finding = findings(make_tree(), probe=lambda _: PROBE | {"max": latest})["wakeup"]
    assert finding.status == status
    assert finding.figures["max_us"] == pytest.approx(latest / 1e3)


def test_missing_probe_is_said(make_tree):
    finding = findings(make_tree(), probe=lambda _: "the probe is not built")["wakeup"]
    assert finding.status == "unknown"
    assert "not built" in finding.found and "consort-wakeup-probe" in finding.mend


@pytest.mark.parametrize("text", ["0-3,8", "", "5", "0,2,4-6"])
def test_processor_lists_read_as_they_are_written(text):
    assert show_cpus(parse_cpus(text)) == text
