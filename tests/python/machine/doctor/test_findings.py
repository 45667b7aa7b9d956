# SPDX-License-Identifier: Apache-2.0
"""Each finding on made-up machines: the property present, absent, and not known."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from consort.base.environment import parse_cpus, show_cpus
from consort.machine.doctor import Finding, Machine, examine, ready

CPU = "sys/devices/system/cpu"
CLOCK = "sys/devices/system/clocksource/clocksource0"
WAKEUP = {"cpu": 2, "n": 2000, "min": 1_000_000, "median": 2_000_000, "p99": 3_000_000, "p999": 4_000_000,
          "max": 5_000_000}  # fmt: skip
NOTHING = {"n": 0, "total": 0, "longest": 0}
BUSY = {"cpu": 2, "lasted": 1_500_000_000_000, "threshold_ns": 20_000, "stopped": NOTHING,
        "interrupted": {"n": 3, "total": 90_000_000, "longest": 40_000_000}}  # fmt: skip
PROBE = {"wakeup": [WAKEUP], "busy": [BUSY], "policy": "SCHED_FIFO"}


def findings(root: Path, **live: object) -> dict[str, Finding]:
    return {f.id: f for f in examine(Machine(root, **live))}  # type: ignore[arg-type]


def test_ready_machine_needs_no_remedy(make_tree):
    found = findings(make_tree(), fifo=lambda: None, probe=lambda *_: PROBE, pause=lambda _: None)
    # Counters of a made-up tree do not move.
    expected = {"steal": "unknown"}
    assert {i: f.status for i, f in found.items() if f.status != "ok"} == expected
    assert ready(list(found.values()))


# Each row: what is changed on the ready machine, the finding that shows it, its status, a word of what was
# found or of the remedy.
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
    ({"proc/sys/kernel/sched_rt_runtime_us": "950000"}, "rt_throttling", "bad", "stopped for 50000 µs"),
    ({"proc/sys/kernel/sched_rt_runtime_us": "999500"}, "rt_throttling", "warn", "stopped for 500 µs"),
    ({"proc/sys/kernel/sched_rt_runtime_us": "1000000"}, "rt_throttling", "ok", "off"),
    ({"proc/version": "Linux version 6.18.2 #1 SMP", f"{CPU}/isolated": ""}, "fair_server", "bad", "50000"),
    ({"proc/version": "Linux version 6.18.2 #1 SMP"}, "fair_server", "ok", "without effect"),
    ({"proc/version": None}, "fair_server", "unknown", "does not say"),
    ({"proc/sys/kernel/sched_rt_runtime_us": None}, "rt_throttling", "unknown", "does not say"),
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
    ({"proc/cpuinfo": "Features : fp\n"}, "hypervisor", "unknown", "does not say"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "name", "status", "word"), CASES)
def test_one_change_shows_in_its_finding(make_tree, changes, name, status, word):
    finding = findings(make_tree(changes))[name]
    assert finding.status == status
    assert word in " ".join((finding.found, finding.cost, finding.remedy))


def test_whatever_is_wrong_has_a_cost_a_remedy_and_a_title(make_tree):
    everything = {path: text for changes, *_ in CASES for path, text in changes.items() if text is not None}
    for finding in findings(make_tree(everything)).values():
        assert finding.title and finding.found
        if finding.status in {"warn", "bad"}:
            assert finding.cost and finding.remedy, finding.id


def test_machine_that_tells_nothing_is_unknown_never_ready_by_mistake(tmp_path):
    found = findings(tmp_path)
    claimed = {i for i, f in found.items() if f.status == "ok"}
    assert claimed == set()


def test_throttling_stall_is_counted_from_the_settings(make_tree):
    finding = findings(make_tree({"proc/sys/kernel/sched_rt_runtime_us": "900000"}))["rt_throttling"]
    assert finding.figures == {"stall_us": 100_000, "period_us": 1_000_000}


def test_machine_that_throttles_for_50_ms_is_not_ready(make_tree):
    throttled = {"proc/sys/kernel/sched_rt_runtime_us": "950000"}
    served = {"proc/version": "Linux version 6.18.2 #1 SMP PREEMPT_RT", f"{CPU}/isolated": ""}
    for changes in (throttled, served):
        assert not ready(examine(Machine(make_tree(changes))))
        make_tree()


NEW = "Linux version 6.18.2-rt #1 SMP PREEMPT_RT"


@pytest.mark.parametrize(
    ("option", "status"), [("CONFIG_RT_GROUP_SCHED=y", "bad"), ("# CONFIG_RT_GROUP_SCHED is not set", "ok")]
)
@pytest.mark.parametrize("packed", [False, True])
def test_newer_kernels_throttle_only_with_group_scheduling(make_tree, option, status, packed):
    root = make_tree({"proc/version": NEW, "proc/sys/kernel/sched_rt_runtime_us": "950000"})
    if packed:
        (root / "proc/config.gz").write_bytes(gzip.compress(f"CONFIG_X=y\n{option}\n".encode()))
    else:
        (root / "boot").mkdir()
        (root / "boot/config-6.18.2-rt").write_text(f"CONFIG_X=y\n{option}\n")
    assert findings(root)["rt_throttling"].status == status


def test_newer_kernel_of_unknown_configuration_counts_as_throttling(make_tree):
    root = make_tree({"proc/version": NEW, "proc/sys/kernel/sched_rt_runtime_us": "950000"})
    assert findings(root)["rt_throttling"].status == "bad"


def test_fair_server_is_read_where_the_kernel_shows_it(make_tree):
    base = "sys/kernel/debug/sched/fair_server/cpu1"
    changes = {"proc/version": NEW, f"{CPU}/isolated": "", f"{base}/runtime": "20000000",
               f"{base}/period": "500000000"}  # fmt: skip
    finding = findings(make_tree(changes))["fair_server"]
    assert finding.figures == {"stall_us": 20_000, "period_us": 500_000} and finding.status == "bad"
    assert findings(make_tree(changes | {f"{base}/runtime": "0"}))["fair_server"].status == "ok"


def test_fair_server_default_is_named_as_a_default(make_tree):
    finding = findings(make_tree({"proc/version": NEW}))["fair_server"]
    assert "the default of Linux 6.18" in finding.found


def test_settings_that_a_killed_watchdog_left_are_found(make_tree):
    state = {"proc/sys/kernel/random/boot_id": "b", "run/consort/prepare.lock": "999999999",
             "run/consort/prepare.json": '{"boot_id": "b"}\n{"kind": "text"}\n'}  # fmt: skip
    finding = findings(make_tree(state))["left_over"]
    assert finding.status == "warn" and "1 settings" in finding.found


@pytest.mark.parametrize(
    ("stolen", "status"), [(0, "ok"), (1, "warn"), (9, "warn"), (10, "bad"), (500, "bad")]
)
def test_steal_time_is_the_share_in_the_interval(make_tree, stolen, status):
    root = make_tree()

    def pause(_: float) -> None:
        # Time stolen before the interval does not count.
        (root / "proc/stat").write_text(f"cpu  10 0 10 {1100 - stolen} 0 0 0 {stolen} 0 0\n")

    finding = findings(root, pause=pause)["steal"]
    assert finding.status == status
    assert finding.figures["percent"] == pytest.approx(stolen / 10)


def test_refused_fifo_says_why(make_tree):
    finding = findings(make_tree(), fifo=lambda: "Operation not permitted")["sched_fifo"]
    assert finding.status == "bad"
    assert "Operation not permitted" in finding.found


def probed(make_tree, wakeup: dict[str, object], busy: dict[str, object]) -> dict[str, Finding]:
    result = PROBE | {"wakeup": [WAKEUP | wakeup], "busy": [BUSY | busy]}
    return findings(make_tree(), probe=lambda *_: result)


@pytest.mark.parametrize(("latest", "status"), [(50_000, "ok"), (50_001, "warn"), (1_000_001, "bad")])
def test_wakeup_latency_is_held_against_a_period(make_tree, latest, status):
    finding = probed(make_tree, {"max": latest * 1000}, {})["wakeup"]
    assert finding.status == status
    assert finding.figures["max_us"] == pytest.approx(latest / 1e3)


@pytest.mark.parametrize("cause", ["stopped", "interrupted"])
@pytest.mark.parametrize(("longest_us", "status"), [(50, "ok"), (51, "warn"), (50_000, "bad")])
def test_what_stops_a_busy_thread_is_held_against_a_period(make_tree, cause, longest_us, status):
    gaps = {"n": 1, "total": longest_us * 10**6, "longest": longest_us * 10**6}
    finding = probed(make_tree, {}, {cause: gaps})["busy"]
    assert finding.status == status
    assert f"once, longest {longest_us} µs" in finding.found


def test_short_look_does_not_vouch_for_no_throttling(make_tree):
    finding = probed(make_tree, {}, {"lasted": 500_000_000_000})["busy"]
    assert finding.status == "unknown" and "too short" in finding.found


@pytest.mark.parametrize("name", ["wakeup", "busy"])
def test_missing_measurement_is_said(make_tree, name):
    finding = findings(make_tree(), probe=lambda *_: "no C++ compiler was found")[name]
    assert finding.status == "unknown" and "no C++ compiler" in finding.found
    refused = probed(make_tree, {"refused": "not permitted"}, {"refused": "not permitted"})[name]
    assert refused.status == "unknown" and "not permitted" in refused.found


@pytest.mark.parametrize("text", ["0-3,8", "", "5", "0,2,4-6"])
def test_processor_lists_read_as_they_are_written(text):
    assert show_cpus(parse_cpus(text)) == text
