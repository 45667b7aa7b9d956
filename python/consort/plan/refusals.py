# SPDX-License-Identifier: Apache-2.0
"""Features that a target cannot honour, with place and reason; and notes on what it does for a reader."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from consort.base.errors import BadInput
from consort.model import Duration, System
from consort.model.channel import STAND_IN
from consort.model.document import Location
from consort.model.exclusions import excluded
from consort.plan.channels import chains_through, link_problems
from consort.plan.lacks import Places, lacking
from consort.plan.targets import BOARD, Target, not_whole, virtual_problems
from consort.plan.types import Plan, PlannedDevice, PlannedTask

_NOUNS = {"record": "sink"}
# As many commands as app::Plant (device_ends.hpp) keeps that are not visible yet.
PLANT_COMMANDS = 16


def refusals(whole: System, plan: Plan, target: Target) -> tuple[list[BadInput], tuple[str, ...]]:
    """The problems of a plan for a target, and its notes. `whole` is the description in no mode."""
    found = _Refusals(whole, plan, target)
    return found.problems(), tuple(found.notes())


class _Refusals:
    def __init__(self, whole: System, plan: Plan, target: Target) -> None:
        self.whole = whole
        self.plan = plan
        self.target = target
        changed = {} if plan.mode is None else whole.modes[plan.mode].overrides
        self._at = Places(whole.file, plan.mode, changed, whole.document)

    def problems(self) -> list[BadInput]:
        rules = [self._communication, self._meanings, self._workers, self._dma, self._links]
        if self.target.executes:
            rules += [
                self._steps,
                self._durations,
                self._policies,
                self._chains,
                self._channels,
                self._remote_memory,
                self._devices,
                self._bindings,
                self._golden,
                self._cpus,
            ]
        if self.target.name == "virtual":
            rules.append(lambda: virtual_problems(self.plan, self._at))
        return [problem for rule in (*rules, self._lacks) for problem in rule()]

    def _lacks(self) -> Iterator[BadInput]:
        return lacking(self.plan, self.target.name, self._at)

    # Where a problem stands.

    def _policy_at(self, core: str) -> Location:
        name = self.whole.scheduling_entry(core)
        return ("scheduling",) if name is None else ("scheduling", name, "policy")

    def _why(self, name: str) -> str:
        reason = self.target.reasons.get(name)
        return f": {reason}" if reason else ""

    def _golden(self) -> Iterator[BadInput]:
        """Golden outputs are those of the rows of `input`, which are known before the run."""
        for name, task in self.plan.tasks.items():
            if task.golden is None:
                continue
            here: Location = ("tasks", name, "golden")
            if task.input is None:
                text = "golden outputs are those of 'input', which is missing; add it, or remove 'golden'"
                yield self._at(here, text, at_key=True)
            elif task.reads:
                other = ", ".join(sorted({reading.source for reading in task.reads}))
                text = f"golden outputs are those of 'input' alone, and the task reads {other}, too; remove"
                yield self._at(here, f"{text} 'golden', or give all of it by 'input'", at_key=True)

    # On every target.

    def _communication(self) -> Iterator[BadInput]:
        """A channel is written at one instant, for all that read it."""
        for name, channel in self.plan.channels.items():
            if channel.exchange_of is not None:
                continue
            chains = chains_through(self.plan.chains, channel.writer, channel.readers)
            wrong = [chain for chain, kind in chains.items() if kind != channel.communication]
            if not wrong:
                continue
            given = self.whole.channels[name].communication
            if given is not None:
                text = (
                    f"the chain {wrong[0]!r} through it is {chains[wrong[0]]}; write {chains[wrong[0]]}, or"
                )
                text += f" make the chain {given}"
                yield self._at(("channels", name, "communication"), text)
                continue
            let = next(chain for chain, kind in chains.items() if kind == "let")
            yield self._at(
                ("chains", let, "communication"),
                f"the chain {wrong[0]!r} passes through the channel {name!r} too and is implicit; a channel"
                " is written in one way: make both the same, or give one of them a channel of its own",
            )

    def _meanings(self) -> Iterator[BadInput]:
        """Checks that each channel is one that there is anywhere, and of which a bound could be."""
        for name, channel in self.plan.channels.items():
            here: Location = ("channels", name)
            if channel.communication == "let" and channel.implementation != "versions":
                given = self.whole.channels[name]
                key = "implementation" if given.implementation is not None else "kind"
                yield self._at(
                    (*here, key),
                    excluded(
                        "communication: let", channel.implementation, implementation=channel.implementation
                    ),
                )
            if channel.implementation in ("queue", "mailbox") and len(channel.readers) > 1:
                names = {"implementation": channel.implementation, "readers": " and ".join(channel.readers)}
                yield self._at(
                    here, excluded(channel.implementation, "several readers", **names), at_key=True
                )
            if channel.communication == "let" and channel.writer not in self.plan.tasks:
                yield self._at(
                    (*here, "communication"),
                    f"{channel.writer!r} is a device, which has no deadline to publish at; write implicit",
                )

    def _workers(self) -> Iterator[BadInput]:
        for name, core in self.plan.cores.items():
            if not core.serves:
                continue
            policy = self.whole.scheduling_of(name).policy
            if policy == "edf":
                yield self._at(
                    self._policy_at(name),
                    f"the core {name!r} computes for a master, which a worker does by urgency, one job at a"
                    " time; write fixed-priority for it, or another core under 'on'",
                )

    def _dma(self) -> Iterator[BadInput]:
        chosen = {
            core: self.whole.scheduling_of(core).arbitration or "tdma" for core in self.plan.three_phase_cores
        }
        if len(set(chosen.values())) > 1:
            here = ", ".join(f"{kind} ({core})" for core, kind in chosen.items())
            text = excluded("arbitration: tdma", "arbitration: round-robin", cores=here)
            yield self._at(("scheduling",), text)

    def _links(self) -> Iterator[BadInput]:
        yield from link_problems(self.plan, self.target, self._at)

    # Where steps are executed.

    def _steps(self) -> Iterator[BadInput]:
        for name, task in self.plan.tasks.items():
            here = ("tasks", name)
            if task.step is None:
                yield self._at(
                    here,
                    "the task has no step to execute; add it, for example 'step: step.hpp::servo::step', or"
                    " 'step: stand-in', or run it with --stand-ins",
                    at_key=True,
                )
            elif task.step == STAND_IN:
                yield from self._stand_in(task)

    def _stand_in(self, task: PlannedTask) -> Iterator[BadInput]:
        """A stand-in executes for the task's execution time, so that has to be known."""
        needed: list[tuple[int | None, str, str, str]] = [
            (task.wcet_ps, task.computed_on, task.execution, "")
        ]
        if task.give_up_ps is not None:
            text = ", which computes it with 'on_miss: local-fallback'"
            needed.append((task.fallback_ps, task.core, "local", text))
        for figure, core, execution, why in needed:
            if figure is None:
                processor = self.plan.cores[core].processor
                yield self._at(
                    ("tasks", task.name, "wcet"),
                    f"a stand-in executes for the task's wcet, and there is none for {execution} execution on"
                    f" {processor} ({core!r}{why}); add it, for example 'wcet: {{{processor}: 50us}}'",
                )

    def _durations(self) -> Iterator[BadInput]:
        tick = self.target.tick_ps
        places: list[tuple[Location, int | None]] = []
        for name, task in self.plan.tasks.items():
            interval = "min_interarrival" if task.sporadic else "period"
            places += [
                (("tasks", name, interval), task.period_ps),
                (("tasks", name, "deadline"), task.deadline_ps),
                (("tasks", name, "offset"), task.offset_ps),
                (("tasks", name, "jitter"), task.jitter_ps),
            ]
            if task.comes_in_bursts:
                places.append((("tasks", name, "burst", "within"), task.min_distances_ps[-1]))
            else:
                places += [
                    (("tasks", name, "min_distances", at), distance)
                    for at, distance in enumerate(task.min_distances_ps)
                ]
        for name, device in self.plan.devices.items():
            places.append((("devices", name, "period"), device.period_ps))
        for name, core in self.plan.cores.items():
            if core.slot is not None and core.slot.arbitration == "tdma":
                entry = str(self.whole.scheduling_entry(name))
                places.append((("scheduling", entry, "slot"), core.slot.length_ps))
        for place, value in places:
            if value is not None and value % tick:
                yield self._at(place, not_whole(value, self.target.name))

    def _policies(self) -> Iterator[BadInput]:
        for name, core in self.plan.cores.items():
            # That no step asks accelerators is said of them.
            if core.policy not in (*self.target.policies, "accelerator"):
                yield self._at(
                    self._policy_at(name),
                    f"{self.target.name} cannot schedule by {core.policy}{self._why(core.policy)}; write"
                    f" {', '.join(sorted(self.target.policies - {'worker'}))}",
                )
            if len(core.tasks) > self.target.most_tasks_a_core:
                yield self._at(
                    ("tasks", core.tasks[-1], "on"),
                    f"{len(core.tasks)} tasks are released on {name!r}, and {self.target.name} tells"
                    f" {self.target.most_tasks_a_core} ranks apart; place some of them elsewhere",
                )
            if core.slot_missing:
                yield self._at(self._policy_at(name), core.slot_missing)
        for name, task in self.plan.tasks.items():
            if task.release not in self.target.releases:
                key = "arrival" if task.release == "arrival" else "min_interarrival"
                remedy = "remove 'arrival'" if task.release == "arrival" else "write 'period'"
                yield self._at(
                    ("tasks", name, key),
                    f"{self.target.name} has no {task.release} releases{self._why(task.release)}; {remedy}",
                )
            if task.worker is not None and not self.target.offloading:
                yield self._at(
                    ("tasks", name, "execution"),
                    f"{self.target.name} offloads nothing{self._why('offloading')}; write 'execution: local'",
                )
            if task.restart_worker and not self.target.restarts_workers:
                yield self._at(
                    ("tasks", name, "restart_worker"),
                    f"{self.target.name} cannot start a worker again{self._why('restart_worker')}; remove it",
                )

    def _channels(self) -> Iterator[BadInput]:
        for name, channel in self.plan.channels.items():
            here: Location = ("channels", name)
            if channel.implementation not in self.target.channels:
                yield self._at(
                    (*here, "implementation"),
                    f"{self.target.name} has no {channel.implementation}{self._why(channel.implementation)};"
                    f" write {' or '.join(sorted(self.target.channels))}",
                )
            if channel.implementation == "queue":
                yield from self._queue(name, channel.capacity)
            yield from self._blocks(name)

    def _remote_memory(self) -> Iterator[BadInput]:
        """A run maps what its channels lie in, and a page of remote memory is one process's own."""
        memories = self.plan.platform.memories
        for name, channel in self.plan.channels.items():
            memory = memories.get(channel.memory or "")
            if memory is not None and memory.kind == "remote":
                yield self._at(
                    ("channels", name, "memory"),
                    f"{channel.memory!r} is remote memory, whose pages one process has at a time, and a"
                    " channel has two ends; name another memory, or let `consort analyze` and `simulate` take"
                    " its figures",
                )

    def _blocks(self, name: str) -> Iterator[BadInput]:
        """A stand-in writes numbered blocks, of which a step can make nothing."""
        channel = self.plan.channels[name]
        writer = self.plan.tasks.get(channel.writer)
        steps = [r for r in channel.readers if r in self.plan.tasks and self._real(self.plan.tasks[r])]
        if writer is not None and writer.step == STAND_IN and steps and channel.exchange_of is None:
            yield self._at(
                ("channels", name),
                f"the stand-in of {writer.name!r} writes numbered blocks, of which the step of {steps[0]!r}"
                f" can make nothing; give {writer.name!r} a step, or {steps[0]!r} a stand-in",
                at_key=True,
            )

    @staticmethod
    def _real(task: PlannedTask) -> bool:
        return task.step is not None and task.step != STAND_IN

    def _queue(self, name: str, capacity: int | None) -> Iterator[BadInput]:
        here: Location = ("channels", name)
        if capacity is None:
            yield self._at(
                here,
                "the queue has no capacity; add how many blocks it holds, for example 'capacity: 16'",
                at_key=True,
            )
        elif capacity < 2 or capacity & (capacity - 1):
            larger = max(2, 1 << capacity.bit_length())
            yield self._at(
                (*here, "capacity"),
                f"a queue holds a power of two of blocks, from 2 on, and {capacity} is none; write {larger}",
            )

    def _devices(self) -> Iterator[BadInput]:
        for name, device in self.plan.devices.items():
            if device.kind not in self.target.devices:
                noun = _NOUNS.get(device.kind, device.kind)
                yield self._at(
                    ("devices", name, noun),
                    f"{self.target.name} has no {noun}{self._why(device.kind)}; use"
                    f" {', '.join(sorted(self.target.devices - {'described'}))}",
                    at_key=True,
                )
            else:
                yield from self._shared_device(name, device)
        for name, channel in self.plan.channels.items():
            for key, device_name in (("from", channel.writer), *(("to", r) for r in channel.readers)):
                if device_name in self.plan.tasks:
                    continue
                device = self.plan.devices[device_name]
                if device.kind != "described":
                    word = "reads" if key == "from" else "writes"
                    yield self._at(
                        ("channels", name),
                        f"a task {word} a {_NOUNS.get(device.kind, device.kind)} itself: name {device_name!r}"
                        f" under {word!r} of the task, and remove the channel",
                        at_key=True,
                    )
        for task in self.plan.tasks.values():
            if self._real(task):
                yield from self._described(task)

    def _described(self, task: PlannedTask) -> Iterator[BadInput]:
        """A step's data comes from somewhere: from a device that is more than described."""
        for key, bound in (("reads", task.reads), ("writes", task.writes)):
            for binding in bound:
                ends = self._ends(binding.source, key)
                for end in ends:
                    device = self.plan.devices.get(end)
                    if device is None or device.kind != "described":
                        continue
                    what = "recording, function, plant or driver" if key == "reads" else "driver or sink"
                    yield self._at(
                        ("tasks", task.name, key),
                        f"{end!r} is only described, so there is nothing to"
                        f" {'read from' if key == 'reads' else 'write to'}; say under 'devices' what it is: a"
                        f" {what}",
                    )

    def _moves_data(self, source: str) -> bool:
        """True if a step would find or leave data there: at a device that is more than described."""
        device = self.plan.devices.get(source)
        if device is None or device.kind == "described":
            return False
        return device.kind != "record" or device.reference is not None

    def _shared_device(self, name: str, device: PlannedDevice) -> Iterator[BadInput]:
        """Each core has a driver's object of its own, and a plant has room for so many commands."""
        users = {
            task.name: task
            for task in (self.plan.tasks.get(user) for user in (*device.readers, *device.writers))
            if task is not None and self._real(task)
        }
        if device.kind == "driver" and len({task.core for task in users.values()}) > 1:
            first = next(iter(users.values()))
            other = next(task for task in users.values() if task.core != first.core)
            key = "reads" if other.name in device.readers else "writes"
            yield self._at(
                ("tasks", other.name, key),
                f"the driver {name!r} is one object of one core, {first.core!r}, where {first.name!r} uses"
                f" it, and {other.name!r} is released on {other.core!r}; release both on one core, or pass"
                " what one of them reads or writes through a channel",
            )
        if device.kind != "plant":
            return
        for task in users.values():
            pending = -(-task.deadline_ps // task.period_ps)
            if task.name in device.writers and pending > PLANT_COMMANDS:
                yield self._at(
                    ("tasks", task.name, "deadline"),
                    f"a command acts on the plant {name!r} from its job's deadline on, and {pending} commands"
                    f" would wait for that at once, where there is room for {PLANT_COMMANDS}; write a"
                    f" deadline of at most {Duration.spelled(PLANT_COMMANDS * task.period_ps)},"
                    f" {PLANT_COMMANDS} periods",
                )

    def _ends(self, source: str, key: str) -> Sequence[str]:
        channel = self.plan.channels.get(source)
        if channel is None:
            return (source,)
        return (channel.writer,) if key == "reads" else channel.readers

    def _bindings(self) -> Iterator[BadInput]:
        """Checks that a step's inputs and outputs are bound whole or member by member."""
        for name, task in self.plan.tasks.items():
            if not self._real(task):
                continue
            for key, bound in (("reads", task.reads), ("writes", task.writes)):
                whole = [binding.source for binding in bound if not binding.member]
                if whole and len(bound) > 1:
                    member = "member of its inputs" if key == "reads" else "member of its outputs"
                    yield self._at(
                        ("tasks", name, key),
                        f"the step {key} {' and '.join(b.source for b in bound)}, and it is not said which"
                        f" {member} each of them is; write '{key}: {{member: {whole[0]}, …}}'",
                    )
                if whole and key == "reads" and task.input is not None:
                    yield self._at(
                        ("tasks", name, "input"),
                        f"all of the step's inputs is read from {whole[0]!r} already; remove 'input', or bind"
                        f" members: 'reads: {{member: {whole[0]}}}'",
                        at_key=True,
                    )

    def _chains(self) -> Iterator[BadInput]:
        """Checks that data passes along a chain only by channels, which alone a run shows."""
        ways = {(c.writer, reader) for c in self.plan.channels.values() for reader in c.readers}
        for name, chain in self.plan.chains.items():
            for index, way in enumerate(pairwise(chain.path), 1):
                if way not in ways:
                    yield self._at(
                        ("chains", name, "path", index),
                        f"no channel leads from {way[0]!r} to {way[1]!r}, so that no run of"
                        f" {self.target.name} shows what passes; add one, or let `consort analyze` bound the"
                        " chain",
                    )

    def _cpus(self) -> Iterator[BadInput]:
        for core in self.whole.run.cpus:
            if core not in self.whole.cores():
                yield self._at(("run", "cpus", core), f"no task is on {core!r}; remove it", at_key=True)

    # Notes for a reader.

    def notes(self) -> Iterator[str]:
        if not self.target.executes:
            return
        plan = self.plan
        platform = plan.platform
        yield from self.target.notes
        foreign = [name for name in plan.cores if platform.core(name).description.cpu is None]
        if foreign and self.target.name == "linux":
            yield (
                f"CPUs of this machine play the cores of {platform.name}: its execution times are not theirs"
            )
        stand_ins = [name for name, task in plan.tasks.items() if task.step == STAND_IN]
        if stand_ins:
            yield (
                f"stand-ins execute for a time between bcet and wcet in place of {len(stand_ins)} of"
                f" {len(plan.tasks)} steps: {', '.join(stand_ins)}"
            )
        for name in stand_ins:
            bound = (*plan.tasks[name].reads, *plan.tasks[name].writes)
            unused = dict.fromkeys(b.source for b in bound if self._moves_data(b.source))
            if unused:
                yield (
                    f"{name}: its stand-in uses no device, so {', '.join(unused)} gives it nothing and gets"
                    " nothing from it"
                )
        for name, task in plan.tasks.items():
            if task.step not in (None, STAND_IN) and task.input is None and not task.reads:
                yield f"{name}: nothing is bound to its inputs, which are zero"
            if task.self_suspension_ps and self.target.name in ("linux", BOARD):
                yield f"{name}: self_suspension is an assumption of its bounds; nothing makes it wait"
        for name, device in plan.devices.items():
            if device.kind == "described" and (device.readers or device.writers):
                way = "nothing arrives from it" if device.readers else "what is written to it is dropped"
                yield f"{name} is only described: {way}"
        for name, core in plan.cores.items():
            given = self.whole.run.time_base if "time_base" in self.whole.run.model_fields_set else "sleep"
            if core.tasks and core.time_base == "sleep" and given != "sleep":
                why = "it goes by deadlines" if core.policy == "edf" else "its jobs wait for blocks"
                why = "several tasks share it" if len(core.tasks) > 1 else why
                yield f"{name} sleeps until a release, because {why}"
            if core.serves:
                yield f"{name} is a worker: it serves by urgency, one job at a time"
