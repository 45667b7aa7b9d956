# SPDX-License-Identifier: Apache-2.0
"""The one flow of a run, wherever it runs: each configuration recorded, judged, written into a run folder.

What a target adds is how it records (`Prepared.recordings`): on this machine or in virtual time
(consort.run.application), on an emulated board (consort.board.application).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from consort.analysis.lacking import lacking_figures
from consort.analysis.offload_costs import executions
from consort.analysis.system import analyze_system
from consort.base.errors import BadInput, EnvironmentLacks, environment_errors
from consort.base.waiting import Progress
from consort.judge import Expected, Verdict, judge
from consort.judge.changes import changes_section, fail_over_section
from consort.judge.samples import Samples
from consort.judge.stops import Stops
from consort.judge.verdict import UNDECIDED_ABOVE, Bounds
from consort.machine.prepare import Prepared as PreparedMachine
from consort.model import Configuration, System
from consort.plan import Plan
from consort.record import RawRun, Run, RunWriter
from consort.record.columns import JOBS
from consort.record.stays import in_modes, stays_of
from consort.record.writer import run_name
from consort.run.collect import ReplayFails, expected_outputs, plant_tables
from consort.run.data import sink_problems
from consort.run.live import Announcement, announced
from consort.run.modes import JudgedModes
from consort.run.options import Options
from consort.simulate.chains import simulated_limits


def bounds_of(made: Plan) -> Bounds:
    """The bounds of a plan, in its own time; none for a plan that cannot be analysed, and the run says so."""
    # On this machine the execution of a step is timed without its checkpoint, and with its faults.
    alone = {name: task.computes_ps for name, task in made.tasks.items()}
    wcets = executions(made) if made.target == "virtual" else alone
    try:
        found = analyze_system(made)
    except BadInput:
        found = []
    lacking = lacking_figures(made, found)
    states = {name: task.remote_state for name, task in made.tasks.items() if task.remote_state is not None}
    faults = {name: state.faults for name, state in states.items() if state.faults is not None}
    simulated = simulated_limits(made)
    return Bounds.of(found, wcets_ps=wcets, simulated=simulated, faults=faults, lacking=lacking)


@dataclass(frozen=True)
class Recording:
    """A target's recording of one configuration, or of a part of it, while its folder is there."""

    key: str
    title: str
    plan: Plan
    raw: Path
    """The raw run folder."""
    replay: Sequence[str]
    """The command that computes the recorded jobs again in logical order."""
    interference: RawRun | None = None
    provoked: Collection[str] = ()
    """Events that were asked for."""
    unpredicted: Collection[str] = ()
    """Tasks whose outputs the replay cannot know."""
    overhead_ps: Mapping[str, int] | None = None
    """By task: what its recorded executions have in them beside the step, at most. Bounds know it, too."""
    findings: Sequence[str] = ()
    """Why the run fails beside what the judge finds."""
    sections: Sequence[Mapping[str, Any]] = ()
    """Tables for the report."""
    modes: JudgedModes | None = None
    """The modes of a run that goes from mode to mode; `plan` is then that of all of them."""
    watch: Callable[[float], Stops | None] | None = None
    """Watches the run's CPUs, where they are this machine's; it is given how long jobs were under way [s]."""


@dataclass(frozen=True)
class Recorded:
    """A judged recording, while its scratch folder is there."""

    raw: RawRun
    verdict: Verdict


class Prepared(Protocol):
    """A plan made ready to run on its target."""

    @property
    def plan(self) -> Plan: ...

    @property
    def system(self) -> System:
        """The description, laid on its target."""

    @property
    def described(self) -> Mapping[str, Any]:
        """The layouts, as the program describes them."""

    @property
    def golden(self) -> Mapping[str, Expected]: ...

    def configurations(self, options: Options) -> Sequence[Configuration]:
        """The configurations to run where none is asked for."""

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
        """Records a configuration; each recording's folder is there until the next one is asked for.

        They are called `entry` and `title` where these are given. The folders lie in `scratch`, if that is
        given. `live`: where a watcher finds the run, or why it cannot.
        """


@environment_errors()
def run_system(
    prepared: Prepared,
    options: Options,
    progress: Progress,
    *,
    machine: AbstractContextManager[PreparedMachine] | None = None,
    scratch: Path | None = None,
) -> Run:
    """Runs all configurations and returns the finished run; its verdict says whether the system held.

    `machine` (`consort.machine.prepare`): sets the machine up and restores it; the record has both.
    `scratch`: a folder in which the configurations and raw recordings stay.
    """
    from consort.report.draw import draw_for_page

    file = prepared.plan.file
    name = options.name or run_name(file)
    with RunWriter(name, "application", options.root, command=options.command, source=file.parent) as writer:
        # One that was made in Python lies in no file.
        if file.is_file():
            writer.add_description(file)
        if (picture := draw_for_page(prepared.system, mode=options.mode)) is not None:
            writer.add_diagram(picture)
        with ExitStack() as stack:
            # Elsewhere than by this machine's clock there is nothing to look at before the end.
            live = (
                stack.enter_context(announced(writer.id, name, file)) if options.target == "linux" else None
            )
            found = stack.enter_context(machine) if machine is not None else None
            for key in options.configurations or prepared.configurations(options):
                record_configuration(prepared, key, options, writer, progress, live=live, scratch=scratch)
        if found is not None:
            # After the machine was restored: how that went is part of the record.
            writer.add_environment("prepared", found.to_json())
        progress("writing the record", None)
        return writer.finish()


def record_configuration(
    prepared: Prepared,
    key: Configuration,
    options: Options,
    writer: RunWriter,
    progress: Progress,
    *,
    entry: str = "",
    title: str = "",
    scratch: Path | None = None,
    live: Announcement | EnvironmentLacks | None = None,
) -> list[Recorded]:
    """Records one configuration, judges it and adds it to the run, as `entry` and `title` where given.

    Parts that run one after another are an entry each.
    """
    found = prepared.recordings(key, options, progress, entry=entry, title=title, scratch=scratch, live=live)
    # Its folder goes now, also after an error: a generator that the error holds would outlive the command.
    with closing(found) as recordings:
        return [
            add_judged(writer, prepared, recording, progress, options.undecided_above)
            for recording in recordings
        ]


def add_judged(
    writer: RunWriter,
    prepared: Prepared,
    recording: Recording,
    progress: Progress,
    undecided_above: float = UNDECIDED_ABOVE,
) -> Recorded:
    """Judges a recording and adds it to a run."""
    progress(f"{recording.title}: checking outputs", None)
    problems: list[str] = []
    if recording.modes is not None:
        found = _add_modes(writer, prepared, recording, recording.modes, undecided_above, problems)
    else:
        found = judged(prepared, recording, undecided_above, problems)
        plants = plant_tables(recording.raw, prepared.described)
        writer.add_configuration(
            recording.key,
            recording.title,
            replace(found.raw, tables={**found.raw.tables, **plants}),
            interference=recording.interference,
            verdict=found.verdict,
        )
    for section in recording.sections:
        writer.add_section(**section)
    for finding in (*recording.findings, *problems, *sink_problems(recording.plan, recording.raw)):
        writer.fail(f"{recording.title}: {finding}")
    return found


def _add_modes(
    writer: RunWriter,
    prepared: Prepared,
    recording: Recording,
    modes: JudgedModes,
    undecided_above: float,
    problems: list[str],
) -> Recorded:
    """Judges a recording mode by mode, and the changes between them; what is returned is the first mode's."""
    whole = RawRun.load(recording.raw, recording.plan)
    entered = stays_of(whole)
    stays = entered or [modes.before_the_start(whole)]
    expected = _expected(prepared, recording, problems) if entered else {}
    parts: dict[str, _Judged] = {}
    for mode, raw in in_modes(whole, stays, modes.plans.modes):
        plan = modes.plans.modes[mode]
        if not raw.tables[JOBS].rows.size and not _due(raw) and mode != modes.start:
            writer.leave_open(f"{recording.title}: nothing was seen of mode {mode}")
            continue
        # A stay may end before the first release of a task.
        done = [name for place, name in enumerate(plan.tasks) if f"outputs-{place}" in raw.tables]
        here = {name: outputs for name, outputs in expected.items() if name in done}
        bounds = bounds_of(plan) if whole.manifest.clock.provenance != "emulated" else None
        parts[mode] = _Judged(Samples.of(raw), bounds, here)
    verdicts = _judge(recording, [*parts.values()], undecided_above)
    found = [
        Recorded(part.samples.record, verdict) for part, verdict in zip(parts.values(), verdicts, strict=True)
    ]
    for mode, one in zip(parts, found, strict=True):
        writer.add_configuration(
            f"{recording.key}-{mode}",
            f"{recording.title}, mode {mode}",
            one.raw,
            interference=recording.interference,
            verdict=one.verdict,
        )
    for request in modes.unseen(whole, stays):
        writer.leave_open(f"{recording.title}: {request}")
    judged_modes = [(one.raw, one.verdict) for one in found]
    changes = modes.changes(whole, stays, judged_modes)
    gaps = modes.gaps(whole, stays, judged_modes)
    section = changes_section(changes)
    moves = (modes.hand_overs(whole, stays), modes.phases(whole, stays))
    for table in (section, fail_over_section(gaps) if gaps else None, *moves):
        if table is not None:
            writer.add_section(**{**table, "title": f"{table['title']}: {recording.title}"})
    late = modes.late_hand_overs(whole, stays, judged_modes)
    broken = (
        *(one.excess for one in changes if not one.kept),
        *(g.excess for g in gaps if not g.kept),
        *late,
    )
    for excess in broken:
        writer.fail(f"{recording.title}: {excess}")
    return found[0]


def _due(raw: RawRun) -> int:
    """The number of jobs of periodic tasks that were due in a mode's stays, whether they have a row or
    not."""
    return 0 if raw.ran is None else sum(raw.ran.facts.jobs.values())


def judged(
    prepared: Prepared,
    recording: Recording,
    undecided_above: float = UNDECIDED_ABOVE,
    problems: list[str] | None = None,
) -> Recorded:
    """A recording and what is to be thought of it. Of an untimed one no bound is judged.

    Why outputs cannot be checked is added to `problems`; without such a list it is raised.
    """
    expected = _expected(prepared, recording, problems)
    record = RawRun.load(recording.raw, recording.plan)
    bounds = bounds_of(recording.plan) if record.manifest.clock.provenance != "emulated" else None
    if bounds is not None and recording.overhead_ps is not None:
        wcets = {name: ns + recording.overhead_ps.get(name, 0) / 1000 for name, ns in bounds.wcets.items()}
        bounds = replace(bounds, wcets=wcets, wcet_source="description, with the context switches")
    (verdict,) = _judge(recording, [_Judged(Samples.of(record), bounds, expected)], undecided_above)
    return Recorded(record, verdict)


@dataclass(frozen=True)
class _Judged:
    """A recording, or one mode of it, which is judged by itself."""

    samples: Samples
    bounds: Bounds | None
    expected: Mapping[str, Expected]

    def verdict(self, recording: Recording, undecided_above: float, stops: Stops | None = None) -> Verdict:
        return judge(
            self.samples,
            self.bounds,
            expected=self.expected,
            expected_events=recording.provoked,
            undecided_above=undecided_above,
            stops=stops,
        )


def _judge(recording: Recording, parts: Sequence[_Judged], undecided_above: float) -> list[Verdict]:
    """Judges the parts of a recording. Where times were too long, the machine is watched, once for all of
    them: it may have been its doing."""
    verdicts = [part.verdict(recording, undecided_above) for part in parts]
    long = [
        number
        for number, verdict in enumerate(verdicts)
        if any(row.outcome in ("late", "above bound") for row in verdict.rows)
    ]
    if recording.watch is None or not long:
        return verdicts
    stops = recording.watch(max(parts[number].samples.under_way_ns for number in long) / 1e9)
    if stops is not None:
        for number in long:
            verdicts[number] = parts[number].verdict(recording, undecided_above, stops)
    return verdicts


def _expected(prepared: Prepared, recording: Recording, problems: list[str] | None) -> dict[str, Expected]:
    """The expected outputs of each task, as far as they can be known."""
    try:
        expected = expected_outputs(
            recording.replay,
            recording.raw,
            recording.plan,
            prepared.described,
            prepared.golden,
            recording.title,
        )
    except ReplayFails as error:
        if problems is None:
            raise
        # What was recorded is kept and judged by its times.
        problems.append(str(error))
        expected = error.known
    # A part of a plan has golden outputs of its own tasks alone.
    here = recording.plan.tasks
    return {
        name: found for name, found in expected.items() if name in here and name not in recording.unpredicted
    }
