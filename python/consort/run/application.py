# SPDX-License-Identifier: Apache-2.0
"""Runs of a plan on this machine, by its clock or in virtual time."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from consort.base.environment import usable_cpus
from consort.base.errors import BadInput, EnvironmentLacks, environment_errors
from consort.base.owned import temporary_folder
from consort.base.waiting import Progress
from consort.judge import Expected
from consort.model import Configuration, System
from consort.plan import ModePlans, Plan
from consort.record import RawRun
from consort.record.writer import scratch_folder
from consort.run import process
from consort.run.blocks import input_rows, member_rows, sized, write_rows
from consort.run.build import build_application, describe, reads_its_plan, stand_ins_program
from consort.run.collect import golden_of, join_workers
from consort.run.config import Placement, fault_configs, run_config
from consort.run.far_memory import serving
from consort.run.flow import Recording
from consort.run.live import Announcement
from consort.run.modes import JudgedModes
from consort.run.options import (
    Options,
    check_choice,
    check_scale,
    configured,
    duration_of,
    groups,
    place,
    planned_in_modes,
    possible,
    restricted,
    title_of,
)
from consort.run.plan_image import plan_image, write_image
from consort.run.process import CORE_FAILS, add_note, launch, watch


@dataclass(frozen=True)
class Prepared:
    """A plan made ready to run: its program, the layouts it describes, its inputs and golden outputs."""

    system: System
    """The description, of which each configuration has its own plan."""
    plan: Plan
    program: Path
    described: Mapping[str, Any]
    rows: Mapping[str, NDArray[Any]]
    members: Mapping[str, Mapping[str, NDArray[Any]]]
    golden: Mapping[str, Expected] = field(default_factory=dict)
    modes: Mapping[str, Plan] = field(default_factory=dict)
    """The plans of a run that goes from mode to mode; `plan` is that of all of them."""

    def configurations(self, options: Options) -> Sequence[Configuration]:
        return possible(self.system, self.plan, options)

    def recordings(
        self,
        key: Configuration,
        options: Options,
        progress: Progress,
        *,
        entry: str = "",
        title: str = "",
        scratch: Path | None = None,
        live: Announcement | EnvironmentLacks | None = None,
    ) -> Generator[Recording, None, None]:
        """Records the configuration; if this machine has too few CPUs for all cores at once, parts that are
        independent of one another run one after another."""
        plans = configured(self.system, ModePlans(self.plan, self.modes), key, options)
        made = plans.whole
        title = title or title_of(self.plan, key)
        virtual = made.target == "virtual"
        all_cores = list(made.cores)
        share = options.time_scale > 1
        parts = [all_cores]
        if not (share or virtual or plans.modes) and len(all_cores) + bool(made.three_phase_cores) > len(
            usable_cpus()
        ):
            parts = groups(made)
        for cores in parts:
            suffix = f"-{'-'.join(cores)}" if len(parts) > 1 else ""
            one = f"{title}, {', '.join(cores)}" if len(parts) > 1 else title
            name = (entry or key) + suffix
            part = restricted(made, cores) if len(parts) > 1 else made
            # In virtual time nothing is placed.
            placement = Placement({}, None, False) if virtual else place(part, cores, share=share)
            if placement.shared:
                # One that spun would keep the others from their CPU: bounds are of cores that sleep.
                asleep = replace(options, time_base="sleep")
                plans = configured(self.system, planned_in_modes(self.system, asleep), key, asleep)
                part = plans.whole
            with _kept(scratch, name, len(parts)) if scratch else scratch_folder(options.root) as folder:
                yield _record_part(
                    self,
                    replace(plans, whole=part),
                    placement,
                    key,
                    options,
                    folder,
                    progress,
                    name,
                    one,
                    live,
                )


@dataclass(frozen=True)
class Built:
    """A program, the layouts that it describes, and the system with the sizes of its types."""

    system: System
    plans: ModePlans
    program: Path
    described: Mapping[str, Any]


@environment_errors()
def build(system: System, progress: Progress, options: Options | None = None) -> Built:
    """Builds the program of a system; sizes that nobody gave are those of its types.

    `BadInput` where the plan is refused (before anything is compiled), where the program does not compile,
    and where a size that is described is not that of its type.
    """
    wanted = options or Options()
    plans = planned_in_modes(system, wanted)
    made = plans.whole
    check_choice(made, wanted)
    check_scale(plans, wanted)
    away = [key for key in wanted.configurations or () if key.startswith("offloaded")]
    if away and not made.workers:
        raise BadInput(
            f"no task is offloaded, so that there is no {away[0]}; write local-{away[0].partition('-')[2]}",
            file=system.file,
            field="--only",
        )
    progress("building", None)
    if reads_its_plan(made):
        program = stand_ins_program(made, sanitize=wanted.sanitize)
        described = _described(program, plans)
    else:
        program = build_application(made, sanitize=wanted.sanitize)
        described = describe(program)
    system = sized(system, made, described)
    return Built(system, planned_in_modes(system, wanted), program, described)


@environment_errors()
def prepare(system: System, progress: Progress, options: Options | None = None) -> Prepared:
    """Builds the program (`build`) and computes what its outputs must be."""
    built = build(system, progress, options)
    plans, described = built.plans, built.described
    layouts = {task["name"]: task for task in described["tasks"]}
    progress("inputs", None)
    rows = input_rows(plans, layouts)
    members = member_rows(plans, described)
    golden = golden_of(plans.whole, layouts, rows, progress)
    return Prepared(built.system, plans.whole, built.program, described, rows, members, golden, plans.modes)


@contextmanager
def _kept(scratch: Path, name: str, parts: int) -> Iterator[Path]:
    """The folder itself, or one in it for each of several parts."""
    folder = scratch / name if parts > 1 else scratch
    folder.mkdir(exist_ok=True)
    yield folder


def _record_part(
    prepared: Prepared,
    plans: ModePlans,
    placement: Placement,
    key: Configuration,
    options: Options,
    scratch: Path,
    progress: Progress,
    entry: str,
    title: str,
    live: Announcement | EnvironmentLacks | None,
) -> Recording:
    made = plans.whole
    data = write_rows(plans, prepared.rows, prepared.members, scratch)
    duration = duration_of(made, options)
    with serving(made, prepared.described, options.remote) as servers:
        config = run_config(
            made,
            placement,
            data,
            prepared.described,
            configuration=entry,
            duration_ps=duration,
            time_scale=options.time_scale,
            realtime=options.realtime,
            faults=_faults(made, options, duration * options.time_scale // 1000),
            image=write_image(plans, prepared.described, duration, scratch, options.time_scale),
            modes=plans.modes,
            servers=servers,
        )
        sources = made.run.interference if key.endswith("-on") else ()
        used = {*placement.cpus.values()} | ({placement.io} if placement.io is not None else set())
        others = [cpu for cpu in usable_cpus() if cpu not in used]
        watched = (
            live.page(entry, title, prepared.described["summary"], made, config["record"])
            if isinstance(live, Announcement)
            else None
        )
        launched = launch(
            prepared.program,
            config,
            scratch,
            title,
            progress,
            plan=made,
            sources=sources,
            cpus=others or sorted(used),
            summary=watched,
            environment=process.ENVIRONMENT if options.sanitize else None,
        )
    raw, words = launched.raw, launched.words
    other = RawRun.load(launched.interference) if launched.interference is not None else None
    unwatched = [f"consort watch cannot find this run: {live}"] if isinstance(live, EnvironmentLacks) else []
    for note in (*launched.notes, *_shared(placement, sources, others), *made.notes, *unwatched):
        add_note(raw, note)
    join_workers(raw, len(made.tasks))
    findings = list(launched.findings)
    if launched.status == CORE_FAILS:
        findings.append(words)
    elif launched.status != 0:
        findings.append("the run ended before its last job" + (f" ({words})" if words else ""))
    return Recording(
        entry,
        title,
        made,
        raw,
        [*launched.command, "--replay"],
        interference=other,
        provoked=_provoked(options),
        findings=findings,
        modes=JudgedModes(plans, options.time_scale) if plans.modes else None,
        watch=None
        if made.target == "virtual"
        else partial(
            watch,
            sorted(used),
            progress=progress,
            realtime=options.realtime,
        ),
    )


def _provoked(options: Options) -> tuple[str, ...]:
    """Events that the user asked for: no findings."""
    kinds = {fault.kind for fault in options.link_faults}
    return (
        *(("core-died",) if options.core_faults or options.dies_in_job is not None else ()),
        *(("worker-died",) if options.kill_worker_at_ns is not None else ()),
        *(("link-died",) if kinds & {"kill", "stop"} else ()),
        *(("link-failed",) if kinds & {"fail", "hang"} else ()),
    )


def _described(program: Path, plans: ModePlans) -> dict[str, Any]:
    """The description that a program that reads its plan gives: first of an image's layout, then of one
    image."""
    layouts = describe(program)["plan"]
    with temporary_folder("plan") as folder:
        file = Path(folder) / "plan.img"
        file.write_bytes(plan_image(plans, layouts, (), 1))
        return describe(program, file)


def _faults(made: Plan, options: Options, duration_ns: int) -> list[dict[str, Any]]:
    """The faults that the user asked for."""
    found: list[dict[str, Any]] = []
    for fault in options.core_faults:
        found.append({"kind": fault.kind, "at_ns": fault.at_ns, "core": list(made.cores).index(fault.core)})
    if options.dies_in_job is not None:
        place = list(made.tasks).index(options.dies_in_job.task)
        facts = {"task": place, "job": options.dies_in_job.job, "step": options.dies_in_job.step}
        found.append({"kind": "die-in-job", **facts})
    found += fault_configs(made, options.link_faults)
    if options.kill_worker_at_ns is not None:
        found.append({"kind": "kill-worker", "at_ns": options.kill_worker_at_ns})
    if options.stop_worker_for_ns is not None:
        found.append({"kind": "stop-worker", "at_ns": duration_ns // 2, "for_ns": options.stop_worker_for_ns})
    return found


def _shared(placement: Placement, sources: Sequence[str], others: Sequence[int]) -> list[str]:
    notes = []
    if placement.shared:
        notes.append(
            "cores of the system share this machine's CPUs: they disturb one another, and sleep until their"
            " releases, as their bounds count"
        )
    if sources and not others:
        notes.append(
            "the machine has no CPU to spare: interference shares the CPUs of the system's cores, and runs"
            " only in the time that the kernel keeps from real-time threads"
        )
    return notes
