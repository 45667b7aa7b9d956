# SPDX-License-Identifier: Apache-2.0
"""The plan image of a run: who does what when, and in virtual time how long everything takes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

from consort.analysis.figures import Figures, MissingFigure
from consort.analysis.mode_changes import published_at_deadline
from consort.analysis.offload_costs import checkpoint, offload_costs
from consort.analysis.three_phase import moved
from consort.base.errors import BadInput
from consort.model import BadDescription, Duration
from consort.plan import ModePlans, Plan, PlannedChannel, PlannedDevice, PlannedTask
from consort.plan.channels import releasing
from consort.plan.image import Encoder, names_of
from consort.plan.lacks import Places
from consort.simulate.engine import ARRIVAL, Choice

# As in the simulator: nothing is rounded.
TICKS_PER_SECOND = 10**12
# Execution times lie anywhere between best and worst.
EXECUTION: Choice = "uniform"


# The limit of an answer that is awaited however long it takes [ticks].
FOREVER = 1 << 62


@dataclass(frozen=True)
class Clock:
    """The clock of a board's core, whose ticks the times of its image are."""

    core: str
    title: str
    hertz: int
    untimed: bool
    """True if every release is served however long it takes, and no answer is given up."""

    def ticks(self, plan: Plan, task: PlannedTask, key: str, picoseconds: int) -> int:
        """A time in ticks; `BadInput` where it is not a whole number of them, and the core needs it so."""
        found, rest = divmod(picoseconds * self.hertz, TICKS_PER_SECOND)
        if rest and task.core == self.core and key in ("period", "offset", "deadline"):
            near = [Fraction(count * TICKS_PER_SECOND, self.hertz) for count in (found, found + 1)]
            whole = [str(Duration(int(time))) for time in near if time > 0 and time.denominator == 1]
            message = (
                f"the time is not a whole number of ticks of the {self.title}: one takes"
                f" {1e9 / self.hertz:g} ns"
            )
            message += f"; write {' or '.join(whole)}" if whole else ""
            raise Places(plan.file, plan.mode)(("tasks", task.name, key), message)
        return found


def keeping(layouts: Mapping[str, Any]) -> list[str]:
    """The tasks that keep data from job to job, as a program describes them."""
    return [known["name"] for known in layouts["tasks"] if known["state"]["bytes"]]


def acting(plan: Plan) -> list[PlannedDevice]:
    """The devices of a program that act: plants and drivers that something is bound to."""
    return [
        device
        for device in plan.devices.values()
        if device.kind in ("plant", "driver") and (device.readers or device.writers)
    ]


def write_image(
    plans: ModePlans, described: Mapping[str, Any], duration_ps: int, folder: Path, time_scale: int = 1
) -> Path:
    """The file of the image for a program that described itself like this."""
    file = folder / "plan.img"
    file.write_bytes(plan_image(plans, described["plan"], keeping(described), duration_ps, time_scale))
    return file


def plan_image(
    plans: ModePlans,
    layouts: Mapping[str, Any],
    keeps: Collection[str],
    duration_ps: int,
    time_scale: int = 1,
) -> bytes:
    """The image for a program with these layouts, the key `plan` of its description.

    `keeps`: of these three-phase tasks, which keep data, one job is in flight at a time. `time_scale`
    stretches releases, deadlines and slots, and no execution. `BadDescription` with each figure that virtual
    time needs and nobody gave; where time goes by itself an image has no such figures.
    """
    return _Image(plans, _encoder(_Layouts(layouts)), keeps, time_scale).made(duration_ps)


def board_image(plan: Plan, layouts: Mapping[str, Any], duration_ps: int, clock: Clock) -> bytes:
    """The image for a core of a board, in the ticks of its clock."""
    return _Image(ModePlans(plan), _encoder(_Layouts(layouts)), (), 1, clock).made(duration_ps)


class _Layouts(dict[str, Any]):
    """Known by their fingerprint: an encoder is made once for all programs of one compiler."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash((self["version"], self["layout"]))


@lru_cache(maxsize=4)
def _encoder(layouts: _Layouts) -> Encoder:
    return Encoder(layouts)


class _Image:
    def __init__(
        self,
        plans: ModePlans,
        encoder: Encoder,
        keeps: Collection[str],
        time_scale: int,
        clock: Clock | None = None,
    ) -> None:
        self.clock = clock
        self.whole = plans.whole
        self.modes = dict(plans.modes) or {"": plans.whole}
        self.changes = plans.whole.changes if plans.modes else None
        self.encoder = encoder
        self.keeps = keeps
        self.scale = time_scale
        self.cores = list(self.whole.cores)
        self.tasks = list(self.whole.tasks)
        self.channels = {channel.name: channel for channel in self.whole.carried}
        self.places = {name: place for place, name in enumerate(self.channels)}
        self.ends: list[dict[str, int]] = []
        self.times: list[int] = []
        self.problems: list[BadInput] = []
        self.timed = plans.whole.target == "virtual"

    def made(self, duration_ps: int) -> bytes:
        cores, tasks = [], []
        for plan in self.modes.values():
            figures, logical = Figures(plan), published_at_deadline(plan)
            cores += [self._core(figures, name) for name in self.cores]
            tasks += [self._task(figures, name, name in logical) for name in self.tasks]
        self._check_slots()
        if self.problems:
            raise BadDescription(self.problems)
        changes, names = self.changes, list(self.modes)
        head = {
            "ticks_per_second": TICKS_PER_SECOND if self.clock is None else self.clock.hertz,
            "run.duration": self._ticks(duration_ps),
            "run.seed": self.whole.run.seed,
            "run.execution": EXECUTION,
            "run.arrival": ARRIVAL,
            "modes": len(names),
            "first": 0 if changes is None else names.index(changes.start),
            "cores": len(self.cores),
            "tasks": len(self.tasks),
            "agreement": 0 if changes is None else self._ticks(changes.agreement_ps),
            "detection": 0 if changes is None else self._ticks(changes.detection_ps or 0),
        }
        tables: dict[str, Sequence[Any]] = {
            "cores": cores,
            "tasks": tasks,
            "dmas": self._dmas(),
            "ends": self.ends,
            "channels": [self._channel(channel) for channel in self.channels.values()],
            "devices": [
                {"period": 0 if device.period_ps is None else self._ticks(device.period_ps)}
                for device in acting(self.whole)
            ],
            "requests": [
                {"at": self._ticks(at), "to": names.index(to)}
                for at, to in (() if changes is None else changes.requests)
            ],
            "fail_overs": [
                {"core": self.cores.index(core), "to": names.index(to)}
                for core, to in ({} if changes is None else changes.fail_over).items()
            ],
            "times": self.times,
            "names": names_of(self.tasks, self.channels),
        }
        return self.encoder.image(head, tables)

    def _problem(self, plan: Plan, place: str, message: str) -> None:
        self.problems.append(BadInput(message, file=plan.file, field=place))

    def _ticks(self, picoseconds: int) -> int:
        return self.scale * self._own_ticks(picoseconds)

    def _own_ticks(self, picoseconds: int) -> int:
        """A time that nothing stretches."""
        return picoseconds if self.clock is None else picoseconds * self.clock.hertz // TICKS_PER_SECOND

    def _core(self, figures: Figures, name: str) -> dict[str, Any]:
        row: dict[str, Any] = {
            "context_switch": 0,
            "slot": 0,
            "dma": 0,
            "policy": "fixed-priority",
            "wait": "spin",
            "service": "priority",
        }
        core = figures.plan.cores.get(name)
        if core is None:
            return row  # nothing is on it in this mode
        row |= {"wait": core.wait, "service": core.service}
        row["policy"] = "worker" if core.serves else core.policy
        if core.slot is not None:
            row["slot"] = self._ticks(core.slot.length_ps)
        elif core.slot_missing:
            self._problem(figures.plan, f"scheduling.{name}.slot", core.slot_missing)
        if core.tasks and self.timed:
            try:
                row["context_switch"] = figures.context_switch(name).ps
            except MissingFigure as missing:
                self._problem(figures.plan, missing.place, missing.unplaced)
        return row

    def _task(self, figures: Figures, name: str, until_deadline: bool) -> dict[str, Any]:
        plan = figures.plan
        task = plan.tasks.get(name)
        row = plain_row(self.encoder.none) | {
            "rests": task is None,
            "until_deadline": until_deadline,
            "checkpoint": task is not None and task.checkpoint is not None,
        }
        if task is None:
            return row
        row["core"], row["rank"] = self.cores.index(task.core), task.rank
        row["threshold"] = task.limit
        row["on_miss"] = task.on_miss
        untimed = self.clock is not None and self.clock.untimed
        row["skips"] = task.execution != "three-phase" and not untimed
        row["one_in_flight"] = name in self.keeps
        # A machine in virtual time follows no device.
        if task.arrival is not None and not (self.timed and releasing(plan, name) is None):
            row["arrival"] = self.places[task.arrival]
        for key, time in (
            ("period", task.period_ps),
            ("extra_gap", task.extra_gap_ps),
            ("offset", task.offset_ps),
            ("jitter", task.jitter_ps),
            ("deadline", task.deadline_ps),
            ("give_up", task.patience_ps),
        ):
            row[key] = time * self.scale if self.clock is None else self.clock.ticks(plan, task, key, time)
        if untimed:
            row["give_up"] = FOREVER
        row |= self._rows("distances", self.times, [self._ticks(least) for least in task.min_distances_ps])
        row |= self._rows("ends", self.ends, self._ends_of(task))
        self._execution(figures, task, row)
        return row

    def _execution(self, figures: Figures, task: PlannedTask, row: dict[str, Any]) -> None:
        plan = figures.plan
        if task.worker is not None:
            assert task.worker_rank is not None
            row["worker"] = self.cores.index(task.worker)
            row["worker_rank"] = task.worker_rank
        row["fallback"] = self._own_ticks(task.fallback_ps or 0)
        if not self.timed:
            # For stand-ins. Computing cannot be stretched: they take their time.
            row["wcet"], row["bcet"] = (self._own_ticks(time or 0) for time in (task.wcet_ps, task.bcet_ps))
            return
        assert task.wcet_ps is not None and task.bcet_ps is not None, "the plan refuses tasks without a wcet"
        try:
            saved = checkpoint(figures, task, loaded=False).ps
            row["wcet"], row["bcet"] = task.wcet_ps + saved, task.shortest_ps + saved
            if task.worker is not None:
                self._offload(figures, task, row)
        except MissingFigure as missing:
            self._problem(plan, missing.place, missing.unplaced)
        row["suspension"] = task.self_suspension_ps or 0
        operations = moved(plan, task.name) if task.execution == "three-phase" else None
        if operations is not None:
            row["load"], row["unload"] = operations

    def _offload(self, figures: Figures, task: PlannedTask, row: dict[str, Any]) -> None:
        plan = figures.plan
        assert task.worker is not None
        costs = offload_costs(figures, task.name, sleeps=plan.cores[task.core].wait == "sleep", loaded=False)
        row["send"], row["receive"] = costs.send, costs.receive
        row["request"], row["response"] = costs.request + costs.read, costs.write + costs.answer

    def _ends_of(self, task: PlannedTask) -> list[dict[str, int]]:
        found = []
        for binding in task.reads:
            if binding.source in self.channels:
                reader = self.channels[binding.source].readers.index(task.name)
                found.append({"channel": self.places[binding.source], "reader": reader})
        for binding in task.writes:
            if binding.source in self.channels:
                found.append({"channel": self.places[binding.source], "reader": self.encoder.none})
        return found

    @staticmethod
    def _rows(member: str, table: list[Any], rows: list[Any]) -> dict[str, int]:
        first = len(table)
        table += rows
        return {f"{member}.first": first, f"{member}.count": len(rows)}

    def _channel(self, channel: PlannedChannel) -> dict[str, Any]:
        # It is one device in all modes: the one whose reader is fastest counts.
        in_modes = (made.channels.get(channel.name) for made in self.modes.values())
        periods = [one.messages_apart_ps for one in in_modes if one is not None]
        return {
            "device_period": self._ticks(min((period for period in periods if period), default=0)),
            "capacity": channel.capacity or 0,
            "bytes": channel.bytes or 0,
            "kind": channel.implementation,
            "let": channel.communication == "let",
        }

    def _dmas(self) -> list[dict[str, Any]]:
        slots = [core.slot for core in self.whole.cores.values() if core.slot is not None]
        return [{"arbitration": slots[0].arbitration}] if slots else []

    def _check_slots(self) -> None:
        """A round of slots has the order of the cores: an image does not say when each begins."""
        at = 0
        for core in self.whole.cores.values():
            if core.slot is None:
                continue
            assert core.slot.phase_ps == at, "slots follow one another in the order of the cores"
            at += core.slot.length_ps


def plain_row(none: int) -> dict[str, Any]:
    """The row of a task of which nothing is said: no time, no channel, no worker."""
    return dict.fromkeys(_TASK_TIMES, 0) | {
        "core": 0,
        "worker": none,
        "rank": 0,
        "threshold": none,
        "worker_rank": 0,
        "arrival": none,
        "distances.first": 0,
        "distances.count": 0,
        "ends.first": 0,
        "ends.count": 0,
        "on_miss": "hold-last-output",
        "on_overrun": "unwatched",
        "on_late": "report",
        "on_request": False,
        "rests": False,
        "skips": False,
        "one_in_flight": False,
        "until_deadline": False,
        "checkpoint": False,
    }


_TASK_TIMES = (
    *("period", "extra_gap", "offset", "jitter", "deadline", "give_up", "bcet", "wcet", "suspension"),
    *("send", "receive", "fallback", "request", "response", "load", "unload"),
)
