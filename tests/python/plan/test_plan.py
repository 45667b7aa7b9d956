# SPDX-License-Identifier: Apache-2.0
"""Plans of descriptions, and refusals by targets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import free
import pytest
from consort.analysis.mode_changes import mode_plans
from consort.base.errors import BadInput
from consort.cli import main
from consort.model import BadDescription, System, load_system, platform_from_data, system_from_data
from consort.plan import TARGETS, plan, plan_in_modes, problems_of, row_ps
from consort.plan.show import text_of

ROOT = Path(__file__).parents[3]
VEHICLE = ROOT / "examples" / "vehicle" / "system.yaml"
BOARD: dict[str, Any] = {
    "consort": 1,
    "name": "board",
    "processors": {"m": {"isa": "armv7e-m"}, "w": {"isa": "aarch64"}},
    "cores": {
        "m": {"processor": "m", "count": 4, **free.NO_SWITCH},
        "w": {"processor": "w", "count": 4, **free.NO_SWITCH},
        "spm": {
            "processor": "m",
            "count": 4,
            **free.NO_SWITCH,
            "scratchpad": {"size": "64KiB", "partitions": 2},
        },
    },
    "memories": {"shm": {"kind": "sram", "access": {"base": "100ns", "per_byte": "1ns"}}},
    "dmas": {"edma": {"setup": "1us", "rate": "1GB/s"}},
}
PLATFORM = platform_from_data(BOARD)
AWAY: dict[str, Any] = {"on": "w-0", "master": "m-0", "execution": "offloaded"}


def system(tasks: dict[str, dict[str, Any]], **more: Any) -> System:
    """Tasks of 1 ms on m-0 with a WCET of 10 us, where they do not say otherwise."""
    rate = {"on": "m-0", "wcet": "10us"}
    written = {
        name: rate | ({} if "min_interarrival" in task else {"period": "1ms"}) | task
        for name, task in tasks.items()
    }
    return system_from_data({"consort": 1, "platform": "board", "tasks": written, **more}, platform=PLATFORM)


def refused(described: System, target: str = "linux", **how: Any) -> list[str]:
    return [f"{problem.field}: {problem.message}" for problem in problems_of(described, target, **how)]


class TestVehicle:
    made = plan(load_system(VEHICLE), "linux", stand_ins=True)

    def test_cores(self) -> None:
        assert self.made.cores["r5f-0"].tasks == (
            "wheel-speed",
            "drive-control",
            "brake",
            "grip-estimate",
            "body",
        )
        assert self.made.cores["r5f-0"].wait == "sleep"
        assert self.made.cores["a72-0"].policy == "worker"
        assert self.made.cores["a72-0"].serves == ("drive-control", "grip-estimate")
        assert self.made.cores["x86-1"].policy == "edf"
        slot = self.made.cores["r5f-1"].slot
        assert slot is not None
        assert (slot.length_ps, slot.phase_ps, slot.round_ps) == (60 * 10**6, 0, 60 * 10**6)

    def test_ranks_count_from_the_most_urgent(self) -> None:
        ranks = {name: task.rank for name, task in self.made.tasks.items() if task.core == "r5f-0"}
        assert ranks == {"wheel-speed": 0, "drive-control": 1, "brake": 2, "grip-estimate": 3, "body": 4}
        assert {n: t.worker_rank for n, t in self.made.tasks.items() if t.worker} == {
            "drive-control": 0,
            "grip-estimate": 1,
        }

    def test_tasks(self) -> None:
        control = self.made.tasks["drive-control"]
        assert (control.core, control.worker, control.step) == ("r5f-0", "a72-0", "stand-in")
        assert (control.wcet_ps, control.bcet_ps, control.fallback_ps) == (
            220 * 10**6,
            160 * 10**6,
            900 * 10**6,
        )
        assert control.give_up_ps == 640 * 10**6
        assert [binding.source for binding in self.made.tasks["abs"].reads] == ["wheel-speeds", "grip"]
        assert [binding.source for binding in self.made.tasks["wheel-speed"].writes] == [
            "wheel-speeds",
            "steering-speeds",
        ]

    def test_channels(self) -> None:
        held = {name: channel.implementation for name, channel in self.made.channels.items()}
        assert held["drive-control.in"] == held["torque"] == "mailbox"
        assert held["objects"] == held["events"] == "snapshot" and held["steering-speeds"] == "versions"
        let = self.made.channels["steering-speeds"]
        # 1 + (1 ms + 10 ms) / 1 ms
        assert (let.communication, let.capacity) == ("let", 12)
        # Its writer is in an implicit chain, too; but it has to publish at its deadline.
        assert self.made.tasks["wheel-speed"].communication == "let"
        assert self.made.channels["wheel-speeds"].communication == "implicit"
        assert self.made.tasks["abs"].communication == "implicit"
        sent = self.made.channels["drive-control.in"]
        assert (sent.writer_core, sent.reader_cores, sent.bytes) == ("r5f-0", ("a72-0",), 512)

    def test_modes(self) -> None:
        made = plan(load_system(VEHICLE), "linux", mode="limp-home", stand_ins=True)
        assert made.mode == "limp-home"
        assert (made.tasks["drive-control"].worker, made.tasks["drive-control"].period_ps) == (
            None,
            2 * 10**9,
        )
        assert "drive-control.in" not in made.channels

    def test_the_text_fits_and_says_all(self) -> None:
        text = text_of(self.made)
        assert max(map(len, text.splitlines())) <= 80
        flat = "".join(text.split())
        for name in (*self.made.tasks, *self.made.channels, *self.made.devices, *self.made.chains):
            assert name in flat

    def test_json_is_plain(self) -> None:
        json.dumps(self.made.to_json())


@pytest.mark.parametrize("path", ["servo", "automotive"])
def test_examples_are_planned(path: str) -> None:
    made = plan(load_system(ROOT / "examples" / path / "system.yaml"))
    assert made.tasks


def test_an_imported_model_is_planned(tmp_path: Path) -> None:
    model = ROOT / "tests" / "python" / "exchange" / "data" / "small.amxmi"
    with pytest.raises(SystemExit) as ended:
        main(["import", str(model), "-o", str(tmp_path / "system.yaml")])
    assert ended.value.code == 0
    described = load_system(tmp_path / "system.yaml")
    made = plan(described, "linux", stand_ins=True)
    assert all(task.step == "stand-in" for task in made.tasks.values())
    # Without stand-ins it says of each task what it lacks.
    assert len(problems_of(described)) == len(described.tasks)


def test_offloaded_tasks_computed_by_their_masters() -> None:
    made = plan(load_system(ROOT / "examples" / "servo" / "system.yaml"), place="local")
    assert made.tasks["servo"].worker is None
    assert made.tasks["servo"].core == "master-0"
    assert list(made.channels) == []


def test_unknown_target_and_mode() -> None:
    described = system({"a": {}})
    with pytest.raises(BadInput, match="there is no target 'linus'; did you mean 'linux'"):
        plan(described, "linus")
    with pytest.raises(BadInput, match="there is no mode 'x'"):
        plan(described, mode="x")


class TestRefusals:
    def test_no_step(self) -> None:
        assert refused(system({"a": {}})) == [
            "tasks.a: the task has no step to execute; add it, for example 'step: step.hpp::servo::step', or"
            " 'step: stand-in', or run it with --stand-ins"
        ]
        assert refused(system({"a": {}}), stand_ins=True) == []
        assert refused(system({"a": {"step": "stand-in"}})) == []
        assert refused(system({"a": {}}), "analysis") == []

    def test_a_stand_in_needs_its_execution_time(self) -> None:
        described = system({"a": {"wcet": {"m": {"three-phase": "1us"}, "w": "1us"}, "on": "w-0"}})
        assert refused(described, stand_ins=True) == []
        bare = system_from_data(
            {"consort": 1, "platform": "board", "tasks": {"a": {"period": "1ms", "on": "m-0"}}},
            platform=PLATFORM,
        )
        assert refused(bare, stand_ins=True) == [
            "tasks.a.wcet: a stand-in executes for the task's wcet, and there is none for local execution on"
            " m ('m-0'); add it, for example 'wcet: {m: 50us}'"
        ]

    def test_a_worker_does_nothing_else(self) -> None:
        offloaded = {"on": "w-0", "master": "m-0", "execution": "offloaded"}
        with pytest.raises(BadDescription) as caught:
            system({"a": offloaded, "b": {"on": "w-0"}})
        assert [f"{problem.field}: {problem.message}" for problem in caught.value.problems] == [
            "tasks.b.on: the core 'w-0' is a worker (task 'a'), which does nothing else; name another core"
        ]

    def test_a_worker_is_no_master(self) -> None:
        first = {"on": "w-0", "master": "m-0", "execution": "offloaded"}
        second = {"on": "w-1", "master": "w-0", "execution": "offloaded"}
        with pytest.raises(BadDescription) as caught:
            system({"a": first, "b": second})
        assert [f"{problem.field}: {problem.message}" for problem in caught.value.problems] == [
            "tasks.b.master: the core 'w-0' is a worker (task 'a'), which does nothing else; name another"
            " core"
        ]

    def test_masters_may_share_a_worker(self) -> None:
        tasks = {
            name: {"on": "w-0", "master": f"m-{i}", "execution": "offloaded"}
            for i, name in enumerate(("a", "b"))
        }
        assert refused(system(tasks), stand_ins=True) == []
        made = plan(system(tasks), stand_ins=True)
        assert made.cores["w-0"].serves == ("a", "b")
        assert {name: task.worker_rank for name, task in made.tasks.items()} == {"a": 0, "b": 1}

    def test_a_worker_serves_by_urgency(self) -> None:
        offloaded = {"on": "w-0", "master": "m-0", "execution": "offloaded"}
        described = system({"a": offloaded}, scheduling={"w": {"policy": "edf"}})
        assert [line.partition(":")[0] for line in refused(described, "analysis")] == ["scheduling.w.policy"]

    def test_a_channel_of_two_kinds_of_chain(self) -> None:
        described = system(
            {"a": {"writes": ["x"]}, "b": {"reads": ["x"]}},
            channels={"x": {"kind": "sporadic"}},
            chains={"one": {"path": ["a", "b"], "communication": "let"}, "two": {"path": ["a", "b"]}},
        )
        # Its platform has no board.
        for target in TARGETS.keys() - {"board"}:
            found = refused(described, target, stand_ins=True)
            assert [line.partition(":")[0] for line in found] == ["chains.one.communication"]

    def test_times_are_whole_nanoseconds(self) -> None:
        described = system({"a": {"period": "1000.5ns", "deadline": "1us", "jitter": "1ps"}})
        assert [line.partition(":")[0] for line in refused(described, stand_ins=True)] == [
            "tasks.a.period",
            "tasks.a.jitter",
        ]

    def test_a_queue_is_a_power_of_two(self) -> None:
        described = system(
            {"a": {"writes": ["x"]}, "b": {"reads": ["x"]}}, channels={"x": {"kind": "queue", "capacity": 5}}
        )
        assert refused(described, stand_ins=True) == [
            "channels.x.capacity: a queue holds a power of two of blocks, from 2 on, and 5 is none; write 8"
        ]

    def test_no_run_attaches_remote_memory(self) -> None:
        far = {"kind": "remote", "access": {"base": "9us", "per_byte": "1ns"}}
        platform = platform_from_data(BOARD | {"memories": BOARD["memories"] | {"far": far}})
        described = system_from_data(
            {
                "consort": 1,
                "platform": "board",
                "tasks": {
                    "one": {"on": "m-0", "wcet": "10us", "period": "1ms", "writes": ["c"]},
                    "two": {"on": "m-0", "wcet": "10us", "period": "1ms", "reads": ["c"]},
                },
                "channels": {"c": {"kind": "sporadic", "size": "64B", "memory": "far"}},
            },
            platform=platform,
        )
        # Its platform has no board.
        for name in TARGETS.keys() - {"board"}:
            found = [text.partition(":")[0] for text in refused(described, name) if "remote memory" in text]
            assert found == (["channels.c.memory"] if TARGETS[name].executes else []), name

    def test_a_task_that_one_mode_offloads_has_its_channels_and_its_cores_waits_there(self) -> None:
        ends = {f"a.{end}": {"memory": "shm", "size": "8B"} for end in ("in", "out")}
        away = {"away": {"overrides": {"a": AWAY}}, "here": {"overrides": {"a": {"wcet": "20us"}}}}
        more = {"scheduling": {"m-0": {"wait": "sleep"}, "w-0": {"service": "fifo"}}, "channels": ends}
        described = system({"a": {}}, modes=away, **more)
        assert [*plan(described, "analysis").channels] == []
        assert [*plan(described, "analysis", mode="here").channels] == []
        made = plan(described, "analysis", mode="away")
        assert {name: channel.bytes for name, channel in made.channels.items()} == {"a.in": 8, "a.out": 8}
        assert (made.cores["m-0"].wait, made.cores["w-0"].service) == ("sleep", "fifo")
        # Other changes of the same task leave what only the mode has.
        changed = described.changed({"a": {"wcet": "30us"}})
        assert plan(changed, "analysis", mode="away").cores["m-0"].wait == "sleep"
        assert plan(changed, "analysis", mode="away").channels["a.in"].bytes == 8
        with pytest.raises(BadInput, match=r"a.in.*the task 'a' is local and has no channels"):
            system({"a": {}}, modes={"here": away["here"]}, channels=ends)

    def test_a_refusal_in_a_mode_points_at_the_mode(self) -> None:
        described = system(
            {"a": {"step": "stand-in"}}, modes={"slow": {"overrides": {"a": {"period": "1000.5ns"}}}}
        )
        assert refused(described) == []
        places = [line.partition(":")[0] for line in refused(described, mode="slow")]
        assert places[0] == "modes.slow.overrides.a.period"

    @pytest.mark.parametrize(
        ("policy", "others", "said"),
        [
            ("fixed-priority-non-preemptive", 0, ""),
            ("fixed-priority-non-preemptive", 1, "are one thread, which serves no other job"),
            ("edf", 1, ""),
            ("edf", 2, "are in no order of deadlines"),
            ("fixed-priority", 2, ""),
        ],
    )
    def test_a_core_that_sleeps_for_an_answer_serves_the_others(
        self, policy: str, others: int, said: str
    ) -> None:
        tasks: dict[str, dict[str, Any]] = {"o": AWAY, **{f"a{n}": {} for n in range(others)}}
        for wait in ("sleep", "spin"):
            described = system(tasks, scheduling={"m-0": {"policy": policy, "wait": wait}})
            found = refused(described, stand_ins=True)
            assert len(found) == (wait == "sleep" and said != ""), (wait, found)
            assert all(line.startswith("scheduling.m-0.wait: ") and said in line for line in found)
            assert refused(described, "virtual", stand_ins=True) == []

    def test_a_chain_of_a_run_has_channels(self) -> None:
        chains = {"c": {"path": ["a", "b"], "reaction": "9ms"}}
        with pytest.raises(BadInput, match=r"chains\.c\.path\[1\]: no channel leads from 'a' to 'b'"):
            system({"a": {}, "b": {}}, chains=chains)

    def test_virtual_time_says_early_which_suspensions_it_has_not(self) -> None:
        waits = {"self_suspension": "1us"}
        for task, key in (
            ({**waits, "suspensions": 2}, "suspensions"),
            ({**waits, **AWAY}, "self_suspension"),
            (waits, ""),
        ):
            found = refused(system({"a": task}), "virtual", stand_ins=True)
            assert [line.partition(":")[0] for line in found] == ([f"tasks.a.{key}"] if key else []), task


class TestModes:
    """Features that one program, or one process, cannot have in several modes."""

    @staticmethod
    def changing(tasks: dict[str, dict[str, Any]], two: dict[str, Any], **more: Any) -> System:
        changes = {"start": "one", "agreement": "1ms", "requests": [{"at": "9ms", "to": "two"}]}
        changes |= more.pop("mode_changes", {})
        modes = {"one": {"tasks": more.pop("one", list(tasks))}, "two": two}
        return system(tasks, modes=modes, mode_changes=changes, **more)

    def test_a_core_awaits_answers_as_where_it_awaits_some(self) -> None:
        tasks = {"a": {}, "o": AWAY}
        waits = {"m": {"wait": "sleep"}}
        described = self.changing(tasks, {"tasks": ["a", "o"]}, one=["a"], scheduling=waits)
        made = plan_in_modes(described, "linux", stand_ins=True)
        assert [one.cores["m-0"].wait for one in made.modes.values()] == ["spin", "sleep"]
        assert made.whole.cores["m-0"].wait == "sleep"

    def test_blocks_that_are_taken_out_have_one_reader_and_one_pace(self) -> None:
        queue = {"kind": "queue", "capacity": 8, "memory": "shm", "size": "8B"}
        tasks: dict[str, Any] = {"w": {}, "b": {}, "c": {}}
        for two, channel, wrong in (
            ({"tasks": ["w", "c"]}, {"from": "w", "to": ["b", "c"]}, "'b' in 'one' and 'c' in this mode"),
            ({"tasks": ["w", "b"]}, {"from": "w", "to": ["b"]}, ""),
            ({"overrides": {"b": {"period": "40ms"}}}, {"from": "lines", "to": ["b"]}, "in 'one' and 40ms"),
        ):
            described = self.changing(
                tasks, two, one=["w", "b"], channels={"q": queue | channel}, devices={"lines": {"kind": "x"}}
            )
            for target in ("linux", "virtual"):
                found = refused(described, target, stand_ins=True)
                assert [line for line in found if wrong in line] if wrong else found == [], (target, found)

    def test_a_worker_has_an_order_in_each_mode(self) -> None:
        tasks = {name: {**AWAY, "priority": n} for n, name in enumerate("zyx", 1)}
        overrides = {"x": {"priority": 2}, "y": {"priority": 3}}
        described = self.changing(tasks, {"tasks": list(tasks), "overrides": overrides})
        assert refused(described, stand_ins=True) == refused(described, "virtual", stand_ins=True) == []

    def test_a_core_that_several_tasks_share_in_a_mode_sleeps_in_all(self) -> None:
        for time_base in ("spin", "hybrid"):
            described = self.changing(
                {"a": {}, "b": {}}, {"tasks": ["a", "b"]}, one=["a"], run={"time_base": time_base}
            )
            made = plan_in_modes(described, "linux", stand_ins=True)
            # Its releases are late in the mode in which it has one task, too.
            for one in (made.whole, *made.modes.values()):
                assert one.cores["m-0"].time_base == "sleep"
            assert mode_plans(described)["one"].cores["m-0"].time_base == "sleep"
            alone = plan(described, "linux", mode="one", stand_ins=True).cores["m-0"]
            assert alone.time_base == time_base

    def test_no_block_comes_to_a_reader_that_rests(self) -> None:
        reader = {"b": {"reads": ["x"]}}
        both = {"a": {"writes": ["x"]}, **reader, "c": {}}
        for tasks, kind, rests, wrong in (
            (both, "periodic", "b", ""),
            (both, "queue", "a", ""),
            ({**reader, "c": {}}, "queue", "b", "the device 'd' goes on writing"),
            ({**reader, "c": {}}, "sporadic", "b", ""),
        ):
            two = {"tasks": [name for name in tasks if name != rests]}
            channel = {"kind": kind, "size": "8B", "memory": "shm"}
            channel |= {"capacity": 4} if kind == "queue" else {}
            channel |= {} if "a" in tasks else {"from": "d"}
            described = self.changing(tasks, two, channels={"x": channel}, devices={"d": {"kind": "x"}})
            for target in ("linux", "virtual"):
                found = refused(described, target, stand_ins=True)
                assert all(line.startswith("modes.two: an end of 'x' rests") for line in found)
                assert [wrong in line for line in found] == ([True] if wrong else []), (kind, rests, found)
            assert refused(described, "analysis") == []

    def test_times_of_changes_are_whole_nanoseconds(self) -> None:
        given = {"agreement": "500ps", "requests": [{"at": "9000000.5ns", "to": "two"}]}
        described = self.changing({"a": {}, "b": {}}, {"tasks": ["a"]}, mode_changes=given)
        found = [line.partition(":")[0] for line in refused(described, stand_ins=True)]
        assert found == ["mode_changes.agreement", "mode_changes.requests[0].at"]

    def test_a_recording_is_played_by_the_periods_of_modes(self, tmp_path: Path) -> None:
        (tmp_path / "in.csv").write_text("time,t\n0,0\n1,1\n")
        (tmp_path / "step.hpp").write_text("#pragma once\n")
        (tmp_path / "board.yaml").write_text(json.dumps(BOARD))
        given = {"file": "in.csv", "time": "time", "time_unit": "ms", "columns": {"t": "t"}}
        data = {
            "consort": 1,
            "platform": "board.yaml",
            "tasks": {
                "a": {
                    "period": "1ms",
                    "on": "m-0",
                    "wcet": "10us",
                    "step": "step.hpp::s::step",
                    "input": given,
                }
            },
            "modes": {"one": {"tasks": ["a"]}, "two": {"overrides": {"a": {"period": "4ms"}}}},
            "mode_changes": {"start": "one", "agreement": "1ms", "requests": [{"at": "9ms", "to": "two"}]},
        }
        (tmp_path / "system.yaml").write_text(json.dumps(data))
        system = load_system(tmp_path / "system.yaml")
        assert refused(system, "linux") == refused(system, "virtual") == []
        assert row_ps("a", plan_in_modes(system, "virtual").modes) == 10**9

    def test_who_is_released_by_blocks_does_not_outlive_their_writer(self) -> None:
        tasks = {
            "a": {"writes": ["x"]},
            "b": {"reads": ["x"], "min_interarrival": "1ms", "arrival": "x"},
            "d": {"reads": ["x"]},
        }
        channels = {"x": {"kind": "sporadic", "size": "8B", "memory": "shm"}}
        with pytest.raises(BadDescription, match=r"modes\.m\.tasks\[1\]: 'b' is released by blocks of 'x'"):
            system(tasks, channels=channels, modes={"m": {"tasks": ["d", "b"]}})
        clock = {"tasks": ["d", "b"], "overrides": {"b": {"period": "2ms"}}}
        system(tasks, channels=channels, modes={"m": clock, "n": {"tasks": ["d"]}})


def test_check_and_plan_refuse_alike(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "system.yaml").write_text(
        "consort: 1\nplatform: linux-host\ntasks:\n  a: {period: 1ms, on: worker-0}\n", encoding="utf-8"
    )
    said = []
    for command in (["plan"], ["check", "--for", "linux"]):
        with pytest.raises(SystemExit) as ended:
            main([*command, str(tmp_path / "system.yaml")])
        assert ended.value.code == 2
        said.append(capsys.readouterr().err.splitlines()[0].removeprefix("consort: "))
    assert said[0] == said[1]
    assert ":4:3: tasks.a: " in said[0]


def test_bad_description_is_raised_with_all() -> None:
    with pytest.raises(BadDescription) as caught:
        plan(system({"a": {}, "b": {}}))
    assert len(caught.value.problems) == 2


def test_what_is_shown_breaks_no_policy_and_says_how_many_jobs_of_which_task() -> None:
    text = text_of(plan(load_system(VEHICLE), "linux", stand_ins=True))
    assert "fixed-priority-non- " in text and max(map(len, text.splitlines())) <= 80
    # The others have other periods, and another number of jobs.
    assert "5 jobs of camera (200ms), the others for as long, in local-off," in text


@pytest.mark.parametrize(
    ("first", "said"),
    [
        ("period: 10ms", "6 jobs of a (60ms)"),
        ("period: 30ms, offset: 100ms", "3 jobs of a (180ms)"),
        ("min_interarrival: 10ms", "at most 6 jobs of a (60ms)"),
    ],
)
def test_what_is_shown_says_no_more_jobs_than_there_will_be(first: str, said: str, tmp_path: Path) -> None:
    """A run releases jobs for so many periods: fewer of a task with an offset, and of a sporadic one."""
    (tmp_path / "s.yaml").write_text(
        "consort: 1\nassumed: x\nplatform: linux-host\nscheduling: {master: {context_switch: 0us}}\n"
        f"tasks: {{a: {{{first}, wcet: 100us, on: master-0, step: stand-in}}}}\nrun: {{iterations: 6}}\n",
        encoding="utf-8",
    )
    text = text_of(plan(load_system(tmp_path / "s.yaml"), "linux"))
    assert said in text
    assert ": 1 task on 1 core of linux-host" in text
