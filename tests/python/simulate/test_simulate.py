# SPDX-License-Identifier: Apache-2.0
"""Descriptions simulated: what the engine is given, chains, bounds, run folders, the command."""

from __future__ import annotations

import csv
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import free
import numpy as np
import pytest
import small
from click.testing import CliRunner
from consort.analysis.offload import Master, offloaded
from consort.analysis.result import Bound
from consort.analysis.system import analyze_system
from consort.analysis.three_phase import bound_three_phase
from consort.analysis.uniprocessor import UniTask, edf, fixed_priority
from consort.analysis.unitask import Remote
from consort.base.errors import BadInput
from consort.cli import cli
from consort.judge.chains import Hop, chain_times
from consort.model import BadDescription, load_system, platform_from_data
from consort.plan import plan_of
from consort.record.store import load_run
from consort.simulate.build import prepare
from consort.simulate.call import check_effort
from consort.simulate.chains import measure_chains
from consort.simulate.engine import explore_offsets, simulate
from consort.simulate.outcome import BoundExceeded, simulate_against_bounds
from consort.simulate.recording import _by_release
from effort import examples
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

US = 1_000_000
EXAMPLES = Path(__file__).parents[3] / "examples"


def worst(system: Any, duration: int = 1000 * US, **more: Any) -> dict[str, int | None]:
    found = simulate(prepare(system, **more), duration, choice="worst")
    return {
        name: None if f.max_response is None else f.max_response // US for name, f in found.figures.items()
    }


class TestDescriptions:
    def test_fixed_priority(self):
        assert worst(small.local((3, 7), (3, 12), (5, 20))) == {"t0": 3, "t1": 6, "t2": 20}

    def test_without_priorities_the_shorter_deadline_goes_first(self):
        tasks = {"slow": {"wcet": 5, "period": 20}, "fast": {"wcet": 3, "period": 7}}
        assert worst(small.system(tasks))["fast"] == 3

    def test_offloaded_job_part_by_part(self):
        system = small.system({"control": small.OFFLOADED["control"]}, channels=small.CHANNELS)
        found = simulate(prepare(system), 50 * US, trace=True)
        job = found.jobs_of("control")[0]
        # Sent in 2 us; there in 7 words of 104 ns and 2 copies of 500 ns; 30 us; back in 7 words and 2 copies
        # of 1000 ns; 1 us.
        times = [
            int(job[k]) for k in ("release", "sent", "worker_receive", "worker_send", "received", "finish")
        ]
        assert times == [0, 2_000_000, 3_728_000, 33_728_000, 36_456_000, 37_456_000]

    def test_the_master_runs_others_while_a_job_waits_or_keeps_looking(self):
        asleep = {"scheduling": {"m-0": {"wait": "sleep"}}}
        system = small.system(small.OFFLOADED, channels=small.CHANNELS, **asleep)
        assert worst(system) == {"control": 37, "monitor": 12}
        assert worst(system, waiting="spin") == {"control": 37, "monitor": 47}
        # Without a word it keeps looking, as the executive does.
        assert worst(small.system(small.OFFLOADED, channels=small.CHANNELS)) == {"control": 37, "monitor": 47}

    @pytest.mark.parametrize(
        ("on_miss", "response", "held", "fallbacks"),
        [("hold-last-output", 90, 10, 0), ("local-fallback", 132, 0, 10), ("stop", 90, 1, 0)],
    )
    def test_no_answer_by_the_deadline(self, on_miss, response, held, fallbacks):
        found = simulate(prepare(small.late(on_miss)), 2000 * US)
        figures = found.figures["control"]
        assert figures.max_response == response * US
        assert (figures.held, figures.fallbacks, figures.misses) == (held, fallbacks, held or fallbacks)
        assert found.stopped == (90 * US if on_miss == "stop" else None)

    def test_three_phase_slots_by_footprint(self):
        """7000 bytes at 1 GB/s and 1 us of set-up: slots of 8 us, in turn on two cores."""
        found = simulate(prepare(small.system(small.THREE_PHASE, scheduling=small.SLOTS)), 1 * US, trace=True)
        first = {name: found.jobs_of(name)[0] for name in "abc"}
        assert int(first["a"]["start"]) == 8 * US and int(first["c"]["start"]) == 16 * US
        # a: loaded 0-8, runs 8-28, b loaded 16-24, a unloaded at the next own slot from 32.
        assert int(first["a"]["finish"]) == 40 * US

    def test_round_robin_takes_what_an_operation_needs(self):
        scheduling = {"spm": {"policy": "three-phase", "arbitration": "round-robin"}}
        found = simulate(prepare(small.system(small.THREE_PHASE, scheduling=scheduling)), 1 * US, trace=True)
        # a loaded 0-8, c 8-16, b 16-24; a ran 8-28 and its unload of 2500 bytes takes 3.5 us.
        assert int(found.jobs_of("a")[0]["finish"]) == 31_500_000

    def test_seeds_and_variation(self):
        system = small.system({"t": {"wcet": 9, "bcet": 2, "period": 20, "jitter": 5}})
        one, again, other = (simulate(prepare(system), 1000 * US, seed, trace=True) for seed in (1, 1, 2))
        assert one.jobs.tobytes() == again.jobs.tobytes() != other.jobs.tobytes()
        several = simulate(prepare(system), 1000 * US, 1, runs=2)
        assert several.figures["t"].max_response == max(
            one.figures["t"].max_response, other.figures["t"].max_response
        )
        assert several.figures["t"].jobs == 100

    def test_sporadic_releases_vary_or_are_dense(self):
        system = small.system({"t": {"wcet": 1, "min_interarrival": 10}})
        assert simulate(prepare(system, dense=True), 1000 * US).figures["t"].jobs == 100
        jobs = simulate(prepare(system), 1000 * US, trace=True).jobs_of("t")
        gaps = np.diff(jobs["release"])
        assert gaps.min() >= 10 * US and gaps.max() <= 20 * US and np.unique(gaps).size > 10

    def test_what_lacks_is_named(self):
        with pytest.raises(BadDescription, match=r"tasks\.t\.wcet: a simulation needs the execution time"):
            prepare(small.system({"t": {"period": 10}}))

    def test_a_missing_figure_is_named_once(self, monkeypatch: pytest.MonkeyPatch):
        """The place stands before the message, which does not say it again."""
        cores = small.BOARD["cores"] | {"m": {"processor": "m", "count": 4}}
        monkeypatch.setattr(small, "PLATFORM", platform_from_data(small.BOARD | {"cores": cores}))
        tasks = {name: {"wcet": 1, "period": 10} for name in ("a", "b")}
        with pytest.raises(BadDescription) as refused:
            prepare(small.system(tasks))
        said = str(refused.value)
        assert said.count("cores.m.context_switch") == said.count("no figure for") == 1

    def test_fallback_needs_the_masters_own_time(self):
        control = small.OFFLOADED["control"] | {"on_miss": "local-fallback", "wcet": {"w": "30us"}}
        with pytest.raises(BadDescription, match="the master computes the step itself"):
            prepare(small.system({"control": control}))


class TestOffsets:
    def test_worst_offsets_are_told_and_reproduce(self):
        system = small.local((2, 10), (6, 20), policy="fixed-priority-non-preemptive")
        found = explore_offsets(prepare(system), US, 60 * US)
        assert found.max_response["t0"] == 7 * US and found.runs == 200
        again = simulate(prepare(system, offsets=found.offsets["t0"]), 60 * US, choice="worst")
        assert again.figures["t0"].max_response == 7 * US

    def test_too_many_combinations(self):
        with pytest.raises(BadInput, match="combinations of offsets are more than 100"):
            explore_offsets(prepare(small.local((2, 10), (6, 20))), US, 60 * US, limit=100)


def hop(reads: list[int], writes: list[int], before: list[int] | None = None) -> Hop:
    """Jobs that read what was newest at that instant of what was written before."""
    newest = np.searchsorted(before or [], reads, side="right") - 1
    return Hop("t", np.arange(len(reads)), np.array(reads), np.array(writes), newest)


class TestChains:
    def test_by_hand(self):
        written = [3, 12, 24, 33]
        hops = [
            hop([0, 10, 20, 30], written),
            hop([5, 12, 19, 26, 33], [6, 14, 20, 28, 34], written),
        ]
        found = chain_times(hops)
        # A stimulus just after 0 is read at 10, written at 12, read at 12, written at 14: 14. After 10: read
        # at 20, written at 24, read at 26, written at 28: 18. After 20: read at 30, written at 33, 34: 14.
        assert found.reactions.tolist() == [14, 18, 14]
        # Outputs 6, 14 and 20, 28 rest on reads 0, 10, 20; they last until 14, 28 and 34.
        assert found.ages.tolist() == [14, 18, 14] and found.reduced_ages.tolist() == [6, 4, 8, 4]

    @pytest.mark.parametrize(
        ("periods", "reaction"), [((10, 10, 10, 10), 50), ((100, 10, 2), 212)], ids=["EC1", "EC2"]
    )
    def test_logical_execution_time_of_waters_2017(self, periods, reaction):
        """Largest reaction times that the literature gives, in ms."""
        tasks = {f"t{i}": {"period": p * 1000, "wcet": 1, "on": f"m-{i}"} for i, p in enumerate(periods)}
        chains = {"chain": {"path": list(tasks), "communication": "let"}}
        system = small.system(tasks, chains=chains, channels=free.ways(*tasks))
        found = measure_chains(simulate(prepare(system), 10**12, trace=True))
        assert found["chain"].reaction == reaction * 1000 * US

    @settings(max_examples=examples(60))
    @given(
        st.lists(st.tuples(st.integers(2, 9), st.integers(0, 8), st.integers(1, 5)), min_size=1, max_size=3),
        st.booleans(),
    )
    def test_as_a_signal_walks(self, rows, let):
        """Against values carried from task to task, instant by instant."""
        tasks = {
            f"t{i}": {"period": p, "offset": o, "wcet": min(c, p), "on": f"m-{i}"}
            for i, (p, o, c) in enumerate(rows)
        }
        path = list(tasks)
        chains = {"chain": {"path": path, "communication": "let" if let else "implicit"}}
        system = small.system(tasks, chains=chains, channels=free.ways(*path))
        found = simulate(prepare(system), 120 * US, trace=True)
        events: list[tuple[int, int, int, int]] = []
        for place, name in enumerate(path):
            for k, job in enumerate(found.jobs_of(name)):
                read = int(job["release"] if let else job["start"])
                wrote = int(job["release"]) + tasks[name]["period"] * US if let else int(job["finish"])
                events += [(read, 1, place, k), (wrote, 0, place, k)]
        memory: list[Any] = [None] * len(path)
        held: dict[tuple[int, int], Any] = {}
        outputs = []
        for at, what, place, k in sorted(events, key=lambda e: (e[0], e[1])):
            if what:
                held[place, k] = (at, k) if place == 0 else memory[place - 1]
            else:
                memory[place] = held[place, k]
                if place == len(path) - 1:
                    outputs.append((at, held[place, k]))
        ages = [b[0] - a[1][0] for a, b in pairwise(outputs) if a[1] is not None]
        reads = [int(j["release"] if let else j["start"]) for j in found.jobs_of(path[0])]
        reactions = []
        for k, read in enumerate(reads[:-1]):
            knowing = [at for at, source in outputs if source is not None and source[1] > k]
            reactions += [knowing[0] - read] if knowing else []
        measured = measure_chains(found)["chain"]
        assert measured.age == max(ages, default=None)
        assert measured.reaction == max(reactions, default=None)

    @pytest.mark.filterwarnings("error::UserWarning")
    def test_a_limit_that_is_not_kept_fails_the_run(self, tmp_path):
        found, data = run_command(
            tmp_path, small.local((3, 7), chains={"c": {"path": ["t0"], "reaction": "4us"}})
        )
        assert found.exit_code == 1 and data["chains"][0]["kept"] is False
        assert data["verdict"]["reasons"] == [
            "simulated, seed 1: chain c: the reaction took up to 10.000 µs of 4.000 µs allowed"
        ]


task_rows = st.tuples(st.integers(1, 6), st.integers(4, 30), st.integers(6, 40))
task_sets = st.lists(task_rows, min_size=1, max_size=4)
searched = settings(max_examples=examples(150), suppress_health_check=list(HealthCheck))


def of_core(rows: Any, policy: str, jitters: Any, switch: int = 0) -> Any:
    system = small.local(*rows, policy=policy)
    tasks = {
        name: {
            "min_interarrival": str(t.period),
            "deadline": str(t.deadline),
            "wcet": str(t.wcet.value),
            "bcet": "1us",
            "jitter": f"{j}us",
            **({} if policy == "edf" else {"priority": t.priority}),
        }
        for (name, t), j in zip(system.tasks.items(), jitters, strict=False)
    }
    return small.system(tasks, scheduling={"m-0": {"policy": policy, "context_switch": f"{switch}us"}})


class TestBounds:
    """Each analysis against the simulator, which is the semantics."""

    @searched
    @given(task_sets, st.sampled_from(["fixed-priority", "fixed-priority-non-preemptive", "edf"]), st.data())
    def test_one_core(self, rows, policy, data):
        switch = data.draw(st.sampled_from([0, 0, 1]))
        jitters = [data.draw(st.integers(0, 12)) for _ in rows]
        uni = [
            UniTask(f"t{i}", c * US, t * US, d * US, jitter=j * US)
            for i, ((c, t, d), j) in enumerate(zip(rows, jitters, strict=True))
        ]
        if policy == "edf":
            bounds = edf(uni, context_switch=switch * US)
        else:
            bounds = fixed_priority(uni, preemptive=policy == "fixed-priority", context_switch=switch * US)
        prepared = prepare(of_core(rows, policy, jitters, switch), dense=data.draw(st.booleans()))
        # These are bounds also where they are above the deadline.
        simulate_against_bounds(prepared, bounds, 400 * US, runs=4, late_too=True)

    @searched
    @given(st.data())
    def test_offloaded(self, data):
        tasks: dict[str, Any] = {}
        masters: dict[str, list[UniTask]] = {"m-0": [], "m-1": []}
        discipline = data.draw(st.sampled_from(["priority", "fifo"]))
        waiting = data.draw(st.sampled_from(["sleep", "spin"]))
        policy = data.draw(st.sampled_from(["fixed-priority", "fixed-priority-non-preemptive", "edf"]))
        for i in range(data.draw(st.integers(1, 4))):
            core = data.draw(st.sampled_from(["m-0", "m-0", "m-1"]))
            period = data.draw(st.integers(20, 60))
            wcet, send, receive = (data.draw(st.integers(low, 6)) for low in (1, 0, 0))
            name = f"t{i}"
            task: dict[str, Any] = {"min_interarrival": period, "bcet": 1, "priority": 9 - i}
            if data.draw(st.booleans()):
                task |= {"on": core, "wcet": wcet}
                masters[core].append(UniTask(name, wcet * US, period * US, period * US, level=i))
            else:
                task |= {
                    "on": "w-0",
                    "master": core,
                    "execution": "offloaded",
                    "wcet": wcet,
                    "dispatch": {"send": f"{send}us", "receive": f"{receive}us"},
                }
                remote = Remote("w-0", wcet * US, level=i)
                masters[core].append(
                    UniTask(name, (send + receive) * US, period * US, period * US, level=i, remote=remote)
                )
            tasks[name] = task
        if policy == "edf":
            for task in tasks.values():
                if task.get("execution") != "offloaded":
                    del task["priority"]
        described = {c: Master(t, policy, waiting) for c, t in masters.items() if t}
        if any(t.remote is None and t.execution == 0 for ts in masters.values() for t in ts):
            return
        if any(t.execution == 0 for ts in masters.values() for t in ts):
            return  # the analysis asks for at least 1 ps on the master
        try:
            system = small.system(tasks, scheduling={c: {"policy": policy} for c in described})
        except BadDescription:
            return  # one worker, two masters: not a system that a description allows
        found = offloaded(described, {"w-0": discipline})
        prepared = prepare(system, discipline=discipline, waiting=waiting)
        simulate_against_bounds(prepared, [b for bs in found.values() for b in bs], 500 * US, runs=4)

    @searched
    @given(st.data())
    def test_three_phase(self, data):
        tasks = {}
        for i in range(data.draw(st.integers(1, 4))):
            period = data.draw(st.integers(60, 300))
            tasks[f"t{i}"] = small.THREE_PHASE["a"] | {
                "period": period,
                "offset": data.draw(st.integers(0, 60)),
                "wcet": data.draw(st.integers(1, 40)),
                "bcet": 1,
                "priority": 9 - i,
                "on": data.draw(st.sampled_from(["spm-0", "spm-0", "spm-1"])),
            }
        arbitration = data.draw(st.sampled_from(["tdma", "round-robin"]))
        slots = {"spm": {"policy": "three-phase", "arbitration": arbitration, "slot": "auto"}}
        system = small.system(tasks, scheduling=slots)
        # These bounds rest on every task of the core meeting its deadline.
        cores = [bound_three_phase(system, core) for core in system.cores()]
        bounds = [b for found in cores if all(b.schedulable for b in found) for b in found]
        simulate_against_bounds(prepare(system), bounds, 3000 * US, runs=3)

    def test_the_vehicle_example(self):
        """All analyses of a whole description, tasks and chains."""
        prepared = prepare(load_system(EXAMPLES / "vehicle" / "system.yaml"))
        bounds = analyze_system(prepared.plan)
        assert sum(b.schedulable for b in bounds if b.kind == "response time") >= 10
        for discipline in ("priority", "fifo"):
            again = prepare(prepared.plan, discipline=discipline)
            bounds = analyze_system(prepared.plan, serving=discipline)
            simulate_against_bounds(again, bounds, 10**12, runs=5)
        measured = measure_chains(simulate(prepared, 10**12, choice="edges", trace=True))
        for bound in bounds:
            seen = {"reaction time": "reaction", "data age": "age"}.get(bound.kind)
            if seen is not None and bound.response is not None:
                assert getattr(measured[bound.task], seen) <= bound.response

    def test_a_wrong_bound_is_refuted_by_a_small_example(self):
        """Non-preemptive analysis that looks at the first job of a busy window only (CAN before 2007)."""

        def first_job_only(rows: list[tuple[int, int, int]]) -> list[Bound]:
            bounds = []
            for i, (c, _period, d) in enumerate(rows):
                blocking = max((r[0] for r in rows[i + 1 :]), default=0)
                wait, before = blocking, -1
                while wait != before and wait < 200:
                    before = wait
                    wait = blocking + sum(r[0] * (before // r[1] + 1) for r in rows[:i])
                bounds.append(Bound(f"t{i}", (wait + c) * US, d * US, "first job only"))
            return bounds

        def refuted(rows: list[tuple[int, int, int]]) -> bool:
            if sum(c / t for c, t, _ in rows) > 1:
                return False
            prepared = prepare(small.local(*rows, policy="fixed-priority-non-preemptive"))
            try:
                simulate_against_bounds(prepared, first_job_only(rows), 200 * US)
            except BoundExceeded:
                return True
            return False

        example = find(
            st.lists(task_rows.map(lambda r: (r[0], r[1] + 2, r[1] + 2)), min_size=1, max_size=4),
            refuted,
            settings=settings(
                max_examples=2000, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
            ),
        )
        for i in range(len(example)):
            assert len(example) == 1 or not refuted(example[:i] + example[i + 1 :]), "not the smallest"
        with pytest.raises(BoundExceeded) as caught:
            prepared = prepare(small.local(*example, policy="fixed-priority-non-preemptive"))
            simulate_against_bounds(prepared, first_job_only(example), 200 * US)
        text = str(caught.value)
        assert "is above its bound" in text and "first job only" in text and "on m-0: execute t0" in text

    def test_a_held_output_refutes_a_bound_within_the_deadline(self):
        bound = Bound("control", 90 * US, 90 * US, "wrong")
        with pytest.raises(BoundExceeded):
            simulate_against_bounds(prepare(small.late("hold-last-output")), [bound], 1000 * US)

    def test_bounds_of_other_tasks(self):
        with pytest.raises(ValueError, match="bounds for other, which"):
            simulate_against_bounds(prepare(small.local((1, 5))), [Bound("other", 1, 1, "")], US)


PLATFORM_YAML = json.dumps(small.BOARD)


def run_command(folder: Path, system: Any, *options: str) -> tuple[Any, Any]:
    """Runs the command on a system; the result and its JSON."""
    (folder / "board.yaml").write_text(PLATFORM_YAML, encoding="utf-8")
    system.to_yaml(folder / "system.yaml")
    text = (
        (folder / "system.yaml")
        .read_text(encoding="utf-8")
        .replace("platform: board", "platform: board.yaml")
    )
    (folder / "system.yaml").write_text(text, encoding="utf-8")
    found = CliRunner().invoke(
        cli,
        [
            "simulate",
            str(folder / "system.yaml"),
            "--json",
            "--duration",
            "1ms",
            "--root",
            str(folder / "runs"),
            *options,
        ],
    )
    return found, json.loads(found.stdout) if found.exit_code in (0, 1, 4) and found.stdout else None


class TestCommand:
    def test_run_folder_trace_and_csv(self, tmp_path):
        everything = small.OFFLOADED | small.THREE_PHASE
        system = small.system(
            everything,
            channels=small.CHANNELS | free.ways("monitor", "control"),
            scheduling=small.SLOTS,
            chains={"c": {"path": ["monitor", "control"]}},
        )
        files = ["--trace", str(tmp_path / "out.pftrace"), "--csv", str(tmp_path / "csv")]
        found, data = run_command(tmp_path, system, *files)
        assert found.exit_code == 0, found.output
        run = load_run(data["run"], tmp_path / "runs")
        (configuration,) = run.configurations
        assert list(configuration["tasks"]) == list(everything)
        for name in everything:
            summary = configuration["summary"][f"{name}.response"]
            task = next(t for t in data["tasks"] if t["task"] == name)
            assert summary["provenance"] == "simulated" and summary["n"] == task["jobs"]
            assert summary["max"] == round(task["max_response_ps"] / 1000)
        control = run.jobs("simulated", "control")
        assert control["release_ns"].to_pylist()[:2] == [0, 100_000]
        assert control["received_ns"].to_pylist()[0] == 36_456
        assert run.jobs("simulated", "monitor")["sent_ns"].null_count == 20
        # Pages are written when they are asked for.
        assert not list(run.path.glob("report.html")) and not list(run.path.glob("trace.pftrace"))
        assert (run.path / "system.yaml").is_file()
        assert "control, master" in (run.path / "system.svg").read_text()
        with (tmp_path / "csv" / "jobs.csv").open() as stream:
            rows = list(csv.DictReader(stream))
        assert len(rows) == sum(t["jobs"] for t in data["tasks"])
        sent = next(r for r in rows if r["task"] == "control")
        assert (sent["release_ps"], sent["received_ps"]) == ("0", "36456000")
        assert next(r for r in rows if r["task"] == "monitor")["sent_ps"] == ""
        for name, *more in (("runs",), ("report", data["run"]), ("compare", data["run"], data["run"])):
            again = CliRunner().invoke(cli, [name, *more, "--root", str(tmp_path / "runs")])
            assert again.exit_code == 0, again.output
        assert (run.path / "report.html").is_file()
        for file in (tmp_path / "out.pftrace", run.path / "trace.pftrace"):
            trace = Trace()
            trace.ParseFromString(file.read_bytes())
            events = [p.track_event for p in trace.packet if p.HasField("track_event")]
            slices = len(run.table("simulated", "slices"))
            assert sum(e.type == e.TYPE_SLICE_BEGIN for e in events) == slices

    def test_operations_are_those_of_channels(self, tmp_path):
        """Tasks that exchange nothing have none: the start of a job says when it read its inputs."""
        tasks = {name: {"wcet": 2, "period": 10} for name in "tu"}
        _, data = run_command(tmp_path, small.system(tasks))
        run = load_run(data["run"], tmp_path / "runs")
        assert len(run.table("simulated", "jobs")) > 0
        assert len(run.table("simulated", "operations")) == 0

    def test_a_miss_is_status_1_and_the_worst_run_is_recorded(self, tmp_path):
        tasks = {"t": {"wcet": 7, "bcet": 2, "period": 10}, "u": {"wcet": 6, "bcet": 2, "period": 10}}
        found, data = run_command(tmp_path, small.system(tasks), "--runs", "5", "--seed", "7")
        assert found.exit_code == 1 and data["runs"] == 5 and data["tasks"][0]["jobs"] == 500
        run = load_run("latest", tmp_path / "runs")
        late = max(data["tasks"], key=lambda t: t["max_response_ps"])
        worst = run.configuration("simulated")["summary"][f"{late['task']}.response"]["max"]
        assert worst == round(late["max_response_ps"] / 1000)
        assert run.configuration("simulated")["config"]["seed"] == str(late["seed"])
        assert not run.held

    def test_same_seed_same_figures(self, tmp_path):
        system = small.system({"t": {"wcet": 9, "bcet": 2, "period": 10}})
        figures = [
            run_command(tmp_path, system, "--no-record", "--seed", s)[1]["tasks"] for s in ("3", "3", "4")
        ]
        assert figures[0] == figures[1] != figures[2]
        assert not (tmp_path / "runs").exists()

    def test_what_was_never_seen_is_undecided_as_in_the_record(self, tmp_path):
        tasks = {"a": {"period": 10, "wcet": 1}, "b": {"period": 10, "wcet": 1, "offset": 900, "on": "m-1"}}
        for options in ([], ["--no-record"]):
            for duration, expected in (("500us", (4, "undecided")), ("1ms", (0, "held"))):
                found, data = run_command(tmp_path, small.system(tasks), "--duration", duration, *options)
                assert (found.exit_code, data["ok"]) == expected
                if data["verdict"] is not None:
                    assert data["verdict"]["ok"] == data["ok"]

    @pytest.mark.parametrize("limits", [{"reaction": "5ms"}, {"age": "5ms"}])
    def test_a_chain_that_was_never_seen_is_undecided_as_in_the_record(self, tmp_path, limits):
        """All tasks have jobs, and no block of the first has gone its way before the run is over."""
        tasks = {
            "a": {"period": 1000, "wcet": 1, "offset": 9900},
            "b": {"period": 1000, "wcet": 1, "on": "m-1"},
        }
        chains = {"c": {"path": ["a", "b"], **limits}}
        system = small.system(tasks, chains=chains, channels=free.ways("a", "b"))
        for options in ([], ["--no-record"], ["--no-record", "--runs", "3"]):
            for duration, expected in (("10ms", (4, "undecided")), ("100ms", (0, "held"))):
                found, data = run_command(tmp_path, system, "--duration", duration, *options)
                assert (found.exit_code, data["ok"]) == expected, (options, duration)
                assert data["chains"][0]["kept"] == (None if expected[0] else True)
        words = CliRunner().invoke(cli, ["simulate", str(tmp_path / "system.yaml"), "--no-record"]).output
        assert "every deadline was met" in words

    @pytest.mark.representative
    def test_without_a_record_chains_are_looked_at_as_well(self, tmp_path):
        """The record has shown this all along: 11 ms of 5 ms allowed."""
        tasks = {
            "pedal": {"period": 4000, "wcet": 1000, "priority": 1},
            "brake": {"period": 6000, "wcet": 1000, "priority": 2},
        }
        chains = {"stop": {"path": ["pedal", "brake"], "reaction": "5ms"}}
        system = small.system(tasks, chains=chains, channels=free.ways("pedal", "brake"))
        for options in (["--no-record"], [], ["--no-record", "--runs", "3"], ["--runs", "3"]):
            found, data = run_command(tmp_path, system, "--duration", "1s", "--execution", "worst", *options)
            assert (found.exit_code, data["ok"]) == (1, "not held")
            (chain,) = data["chains"]
            assert (chain["max_reaction_ps"], chain["kept"]) == (11 * 10**9, False)

    @pytest.mark.parametrize(
        ("limits", "expected"),
        [
            ({"age": "9ms"}, ("max_age_ps", 17)),
            ({"reaction": "9ms", "communication": "let"}, ("max_reaction_ps", 30)),
        ],
    )
    def test_without_a_record_ages_and_logical_times_are_looked_at_as_well(self, tmp_path, limits, expected):
        """In logical execution time s, f and o take a period each, and each waits for the next release."""
        tasks = {
            "s": {"period": 4000, "wcet": 1000, "priority": 1},
            "f": {"period": 5000, "wcet": 1000, "priority": 2},
            "o": {"period": 7000, "wcet": 1000, "on": "m-1"},
        }
        chains = {"way": {"path": ["s", "f", "o"], **limits}}
        system = small.system(tasks, chains=chains, channels=free.ways("s", "f", "o"))
        key, longest = expected
        for options in (["--no-record"], [], ["--no-record", "--runs", "3"]):
            found, data = run_command(tmp_path, system, "--duration", "1s", "--execution", "worst", *options)
            (chain,) = data["chains"]
            assert (found.exit_code, chain[key], chain["kept"]) == (1, longest * 10**9, False)

    def test_the_worst_chain_of_several_runs_is_found_and_recorded(self, tmp_path):
        tasks = {
            "a": {"period": 1000, "wcet": 900, "bcet": 1, "on": "m-0"},
            "b": {"period": 1000, "offset": 950, "wcet": 1, "jitter": 40, "on": "m-1"},
        }
        chains = {"x": {"path": ["a", "b"], "age": "1ms"}}
        system = small.system(tasks, chains=chains, channels=free.ways("a", "b"))
        _, data = run_command(tmp_path, system, "--runs", "6", "--duration", "5ms")
        each = [
            run_command(tmp_path, system, "--no-record", "--duration", "5ms", "--seed", str(seed))[1]
            for seed in range(1, 7)
        ]
        longest = [one["chains"][0]["max_age_ps"] for one in each]
        assert len(set(longest)) > 1 and data["chains"][0]["max_age_ps"] == max(longest)
        worst = load_run("latest", tmp_path / "runs").configuration("simulated")["config"]["seed"]
        assert longest[int(worst) - 1] == max(longest)

    def test_mode(self, tmp_path):
        system = small.local((3, 7), (2, 20), modes={"half": {"tasks": ["t0"]}})
        _, data = run_command(tmp_path, system, "--mode", "half")
        assert [t["task"] for t in data["tasks"]] == ["t0"]
        drawn = (load_run(data["run"], tmp_path / "runs").path / "system.svg").read_text()
        assert "mode half" in drawn and ">t0<" in drawn and ">t1<" not in drawn

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--duration", "5"], "has no unit"),
            (["--duration", "0us"], "more than 0 is needed"),
            (["--runs", "0"], "0 is not in the range"),
            (["--mode", "hafl"], "did you mean 'half'?"),
            (["--no-record", "--trace", "x"], "--no-record keeps no jobs"),
            (["--duration", "1000s"], "shorten --duration, or add --no-record"),
            (["--trace", "nowhere/x.pftrace"], "No such file or directory"),
        ],
    )
    def test_bad_input_is_status_2(self, tmp_path, options, message):
        system = small.local((3, 7), (2, 20), modes={"half": {"tasks": ["t0"]}})
        found, _ = run_command(tmp_path, system, *options)
        error = found.exception
        status = getattr(error, "exit_status", found.exit_code)
        assert status == 2 and message in found.output + str(error)

    def test_without_json_it_says_the_same(self, tmp_path):
        run_command(tmp_path, small.local((3, 7), (3, 12), (5, 20)))
        found = CliRunner().invoke(
            cli, ["simulate", str(tmp_path / "system.yaml"), "--no-record", "--duration", "1ms", "-v"]
        )
        assert found.exit_code == 0 and "every deadline was met" in found.stdout
        assert "20.000" in found.stdout

    def test_its_table_fits_80_columns_and_cuts_no_name(self, tmp_path):
        long = "a-task-with-quite-a-long-name-for-one-that-does-so-little"
        run_command(tmp_path, small.system({"t": {"wcet": 3, "period": 7}, long: {"wcet": 3, "period": 12}}))
        found = CliRunner().invoke(
            cli, ["simulate", str(tmp_path / "system.yaml"), "--no-record", "--duration", "1ms", "-v"]
        )
        lines = found.stdout.partition("verdict:")[0].splitlines()
        assert long in found.stdout and all(len(line) <= 80 for line in lines)
        (row,) = [line.split() for at, line in enumerate(lines) if long in lines[at - 2]]
        assert row[0] == "response" and row[-1] == "✓" and len(row) == 6


LOCAL = {"a": {"wcet": 1, "period": 10}, "b": {"wcet": 1, "period": 10}}
# Without a bound whatever the figures are.
UNBOUNDED = {
    **{name: {"wcet": 1, "period": 10, "priority": 3} for name in ("a", "b")},
    "d": {"wcet": 1, "period": 10, "priority": 1, "preemption_threshold": 2},
}
MODES = {
    "modes": {"one": {"tasks": ["a", "b"]}, "two": {"tasks": ["b"]}},
    "mode_changes": {"start": "one", "agreement": "2us", "requests": [{"at": "500us", "to": "two"}]},
}


@pytest.mark.parametrize(
    ("key", "tasks", "more", "missing"),
    [
        ("cores.m.timer_lateness", LOCAL, {}, ["cores.m.timer_lateness"]),
        ("cores.m.timer_lateness", LOCAL, MODES, ["cores.m.timer_lateness"]),
        ("cores.m.timer_lateness", UNBOUNDED, {}, ["cores.m.timer_lateness"]),
        ("dmas.edma.setup", small.THREE_PHASE, {"scheduling": small.SLOTS}, ["dmas.edma.setup"]),
        ("dmas", small.THREE_PHASE, {"scheduling": {"spm": small.SLOTS["spm"] | {"slot": "20us"}}}, ["dmas"]),
    ],
)
def test_a_cost_that_nobody_gave_leaves_a_simulation_undecided(
    tmp_path: Path, key: str, tasks: dict[str, Any], more: dict[str, Any], missing: list[str]
) -> None:
    """It names the figure, its place and its remedy, as `analyze` does, with and without a record."""
    system = small.system(tasks, **more)
    whole, one = run_command(tmp_path, system)
    assert (whole.exit_code, one["ok"], one["missing"]) == (0, "held", [])
    *way, last = key.split(".")
    board = json.loads((tmp_path / "board.yaml").read_text())
    part = board
    for step in way:
        part = part[step]
    del part[last]
    (tmp_path / "board.yaml").write_text(json.dumps(board))
    file = str(tmp_path / "system.yaml")
    for options in (["--root", str(tmp_path / "runs")], ["--no-record"], ["--no-record", "--runs", "2"]):
        command = ["simulate", file, "--duration", "1ms", *options]
        found = CliRunner().invoke(cli, [*command, "--json"])
        data = json.loads(found.stdout)
        assert (found.exit_code, data["ok"], data["missing"]) == (4, "undecided", missing), options
        if data["path"]:
            words = f"simulated time counts nothing for 1 figure that nobody gave: {key}"
            reasons = load_run(Path(data["path"])).data["verdict"]["reasons"]
            assert reasons and all(words in reason for reason in reasons)
        said = CliRunner().invoke(cli, [*command, "-v"]).stdout
        assert f"undecided: 1 figure that nobody gave: {key}" in said
        assert f" {key}" in said.partition("next: ")[2] and "or write 'assumed:'" in said
    analyzed = CliRunner().invoke(cli, ["analyze", file]).stdout
    assert analyzed.partition("next: ")[2] == said.partition("next: ")[2]


def test_there_may_be_more_resources_than_tasks():
    tasks = {
        "x": {
            "wcet": 30,
            "period": 1000,
            "sections": {name: {"length": "5us"} for name in ("a", "b", "d")},
        },
        "y": {"wcet": 30, "period": 2000},
    }
    system = small.system(tasks, resources={name: {"protocol": "priority-ceiling"} for name in "abd"})
    assert worst(system) == {"x": 30, "y": 60}


class TestEffort:
    """A simulation that takes days says so before it starts."""

    @pytest.mark.parametrize(("duration", "more"), [("100000s", ()), ("100s", ("--runs", "1000000"))])
    def test_too_many_jobs(self, tmp_path: Path, duration: str, more: tuple[str, ...]) -> None:
        file = tmp_path / "system.yaml"
        task = {"step": "stand-in", "period": "1us", "wcet": "100ns", "on": "master-0"}
        described = {"consort": 1, "platform": "linux-host", "tasks": {"servo": task}}
        file.write_text(json.dumps(described), encoding="utf-8")
        command = ["simulate", str(file), "--duration", duration, "--no-record", *more]
        done = CliRunner().invoke(cli, command)
        assert isinstance(done.exception, BadInput), done.output
        assert "jobs and slots would be simulated, which takes more than a day" in str(done.exception)
        assert "shorten --duration, or give fewer --runs" in str(done.exception)

    def test_too_many_slots(self) -> None:
        """Jobs are few; the DMA's slots are what there is to simulate."""
        tasks = {name: task | {"period": 100_000} for name, task in small.THREE_PHASE.items()}
        system = small.system(tasks, scheduling=small.SLOTS)
        with pytest.raises(BadInput, match="jobs and slots would be simulated"):
            check_effort([plan_of(system)], 10**12 * US, 1, "shorten it")
        check_effort([plan_of(system)], 1000 * US, 1, "shorten it")


@given(st.lists(st.tuples(st.integers(0, 3) | st.integers(2**62 - 2, 2**63 - 2), st.integers(0, 2**16 - 1))))
def test_jobs_are_ordered_by_release_and_then_by_task(some: list[tuple[int, int]]) -> None:
    jobs = np.array(some, dtype=[("release", "<i8"), ("task", "<u2")])
    assert _by_release(jobs).tolist() == sorted(range(len(some)), key=lambda n: (some[n], n))
