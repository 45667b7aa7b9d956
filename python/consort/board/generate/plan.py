# SPDX-License-Identifier: Apache-2.0
"""The plan behind all partition configurations: whose is what, and budgets of accesses.

Both count events of a core and stop it until its period ends. What passes before they act is part of the
description's budget, so their own is lower by it.

A partition is what one core group's operating system gives away: a core that runs the system's tasks, with a
part of the last-level cache, memory of its own, and the shared window of the channels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from consort.base.errors import BadInput
from consort.model import System

US = 10**6
# Both hold budgets in 32 bits, of which MemGuard's module has a sign; this many are not a limit.
MOST_EVENTS = 2**31 - 1
LONGEST_US = 10**6


@dataclass(frozen=True)
class _Regulation:
    """A regulator's configuration for one core."""

    events: int
    """After so many of a period it acts."""
    period_us: int
    place: str
    file: Path


def _regulation_of(system: System, core: str, overshoot: int | None) -> _Regulation | None:
    """None where the core has no budget; `overshoot`: the accesses that pass before a regulator acts."""
    given = system.scheduling_of(core).bandwidth
    if given is None:
        return None
    place = f"scheduling.{system.scheduling_entry(core)}.bandwidth"
    if overshoot is None:
        raise BadInput(
            f"{core} has a budget of {given.budget} accesses, with those that pass before its regulator stops"
            " it; say how many these are at most",
            file=system.file,
            field="--overshoot",
        )
    events = given.budget - overshoot
    if not 2 <= events < MOST_EVENTS:
        raise BadInput(
            f"{given.budget} less an overshoot of {overshoot} are {events} accesses; a regulator takes"
            f" 2 to {MOST_EVENTS - 1}",
            file=system.file,
            field=f"{place}.budget",
        )
    period, rest = divmod(given.period.picoseconds, US)
    if rest or not 1 <= period <= LONGEST_US:
        raise BadInput(
            f"{given.period} is not taken: a regulator's period is a whole number of microseconds, up to 1 s",
            file=system.file,
            field=f"{place}.period",
        )
    return _Regulation(events, period, place, system.file)


def refuse_regulation(given: Sequence[_Regulation | None], why: str) -> None:
    """Refuses regulation, for a form that has no regulator."""
    for one in given:
        if one is not None:
            raise BadInput(f"{why}; remove 'bandwidth', or use another --for", file=one.file, field=one.place)


def one_period(given: Sequence[_Regulation | None]) -> int | None:
    """MemGuard's module has one period for all CPUs; None where nothing is regulated."""
    periods = {one.period_us: one for one in given if one is not None}
    if len(periods) > 1:
        first, other, *_ = periods.values()
        raise BadInput(
            f"the period is {other.period_us} us, and that of {first.place} {first.period_us} us; MemGuard's"
            " module has one for all CPUs",
            file=other.file,
            field=f"{other.place}.period",
        )
    return next(iter(periods), None)


PAGE = 4096
MIB = 1 << 20
# The largest page of the architectures in use.
GRANULE = 64 * 1024

# An error with the option or field, and the message.
Refuse = Callable[[str, str], BadInput]


@dataclass(frozen=True)
class PartitionOptions:
    """Options of the partitions, beside the description."""

    # The shared window.
    window: int
    window_bytes: int = 2 * MIB
    # Memory of each task core's partition; directly behind the window, one after the other.
    partition_bytes: int = 16 * MIB
    # Which core group the rest of the operating system runs on; the group of the first task by default.
    group: str = ""
    # Colours of the last-level cache for each task core; 0: no colouring.
    colors: int = 0
    llc_bytes: int = 0
    llc_ways: int = 0
    # Shared peripheral interrupts for doorbells, one each way for each task core, from this one on.
    first_irq: int = 136
    # The interrupt distributor, which Jailhouse wants to know; 0: not known.
    gicd: int = 0
    # Memory accesses that pass before a regulator stops a core that has used its budget; None: not known.
    overshoot: int | None = None


@dataclass(frozen=True)
class Region:
    """A range of physical memory."""

    name: str
    base: int
    bytes: int

    @property
    def end(self) -> int:
        return self.base + self.bytes


@dataclass(frozen=True)
class Partition:
    """The resources of one core that runs tasks."""

    core: str
    cpu: int
    memory: Region
    colors: tuple[int, int] | None  # first and last, inclusive
    irq_to: int
    irq_from: int
    regulation: _Regulation | None = None


@dataclass(frozen=True)
class Plan:
    """The owners of all resources. `cpus` are the group's, by number; what no partition has is the operating
    system's."""

    name: str
    platform: str
    group: str
    isa: str
    cpus: int
    ddr: Region
    window: Region
    partitions: tuple[Partition, ...]
    colors: int  # of the whole cache; 0: no colouring
    rest_colors: tuple[int, int] | None
    gicd: int

    @property
    def regulations(self) -> list[_Regulation | None]:
        """Regulations by CPU."""
        found = {p.cpu: p.regulation for p in self.partitions}
        return [found.get(cpu) for cpu in range(self.cpus)]

    @property
    def rest_cpus(self) -> list[int]:
        taken = {p.cpu for p in self.partitions}
        return [cpu for cpu in range(self.cpus) if cpu not in taken]


def ranges(numbers: list[int]) -> str:
    """Lists of CPUs as the kernel writes them: 0-2,5."""
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)


def make_plan(system: System, options: PartitionOptions) -> Plan:
    """`BadInput` names the wish that cannot be granted, and why."""
    platform = system.platform_description

    def refuse(field: str, message: str) -> BadInput:
        return BadInput(message, file=system.file, field=field)

    if not system.tasks:
        raise refuse("tasks", "there is nothing to partition for")
    if system.accelerators:
        raise refuse("accelerators", "no partition is made for what serves them; remove them to generate")
    first = next(iter(system.tasks.values())).on
    group = options.group or platform.core(first).group
    if group not in platform.cores:
        raise refuse(
            "--group", f"'{group}' is not a core group of {platform.name}: {', '.join(platform.cores)}"
        )
    cores = list(dict.fromkeys(t.on for t in system.tasks.values() if platform.core(t.on).group == group))
    cpus = platform.cores[group].count
    if not cores:
        raise refuse("--group", f"no task runs on a core of '{group}'")
    if len(cores) >= cpus:
        raise refuse(
            "tasks", f"tasks take all {cpus} cores of '{group}'; the operating system needs one of its own"
        )
    for name in cores:
        if system.scheduling_of(name).supply is not None:
            raise refuse(
                f"scheduling.{system.scheduling_entry(name)}.supply",
                f"each partition that is written has its core, here {name}, to itself; remove 'supply', or"
                " configure the hypervisor's scheduler by hand",
            )
    ddr = _ddr(system, refuse, options)
    window = Region("window", options.window, options.window_bytes)
    colors, per_cell, rest = _colors(options, len(cores), refuse)
    partitions = []
    base = window.end
    for i, name in enumerate(cores):
        memory = Region(name, base, options.partition_bytes)
        base = memory.end
        irq = options.first_irq + 2 * i
        part = (i * per_cell, (i + 1) * per_cell - 1) if per_cell else None
        regulation = _regulation_of(system, name, options.overshoot)
        cpu = platform.core(name).index
        partitions.append(Partition(name, cpu, memory, part, irq, irq + 1, regulation))
    if options.overshoot is not None and not any(p.regulation for p in partitions):
        raise refuse("--overshoot", "no core of the group has a 'bandwidth' under scheduling")
    plan = Plan(
        system.file.resolve().parent.name if system.file.stem == "system" else system.file.stem,
        platform.name,
        group,
        platform.processors[platform.cores[group].processor].isa,
        cpus,
        ddr,
        window,
        tuple(partitions),
        colors,
        rest,
        options.gicd,
    )
    _check_regions(plan, system, refuse)
    if not 32 <= options.first_irq <= 1019 - 2 * len(partitions):
        raise refuse("--first-irq", f"{options.first_irq}: shared peripheral interrupts are 32 to 1019")
    return plan


def _ddr(system: System, refuse: Refuse, options: PartitionOptions) -> Region:
    platform = system.platform_description
    known = []
    for name, memory in platform.memories.items():
        if memory.address is None or memory.size is None or memory.kind not in ("ddr", "sram", "ocm"):
            continue
        region = Region(name, memory.address, memory.size.value.bytes)
        known.append(region)
        if region.base <= options.window < region.end:
            return region
    places = ", ".join(f"{r.name} {r.base:#x} to {r.end:#x}" for r in known) or "none with an address"
    raise refuse(
        "--window",
        f"{options.window:#x} lies in no memory of {platform.name} with an address; there is {places}",
    )


def _colors(options: PartitionOptions, cells: int, refuse: Refuse) -> tuple[int, int, tuple[int, int] | None]:
    """All colours, those of each cell, and the first and last of the rest."""
    if options.colors == 0:
        return 0, 0, None
    if options.llc_bytes <= 0 or options.llc_ways <= 0:
        raise refuse("--colors", "colouring needs --llc-size and --llc-ways of the last-level cache")
    if options.llc_bytes % (options.llc_ways * PAGE) != 0:
        raise refuse(
            "--llc-size",
            f"{options.llc_bytes} bytes in {options.llc_ways} ways are not a whole number of pages",
        )
    # Pages whose addresses differ by a way's size compete for the same sets.
    total = options.llc_bytes // (options.llc_ways * PAGE)
    if cells * options.colors >= total:
        raise refuse(
            "--colors",
            f"{cells} x {options.colors} colours are too many: there are {total}, and the rest needs one",
        )
    return total, options.colors, (cells * options.colors, total - 1)


def _check_regions(plan: Plan, system: System, refuse: Refuse) -> None:
    regions = [plan.window, *(p.memory for p in plan.partitions)]
    for region in regions:
        field = "--window" if region is plan.window else "--partition-size"
        if region.bytes <= 0 or region.base % GRANULE or region.bytes % GRANULE:
            raise refuse(
                field,
                f"{region.name}: {region.base:#x}, {region.bytes} bytes; multiples of 64 KiB are needed",
            )
        if region.end > plan.ddr.end:
            raise refuse(
                field,
                f"{region.name} ends at {region.end:#x}, behind the memory {plan.ddr.name}"
                f" ({plan.ddr.end:#x})",
            )
    platform = system.platform_description
    for name, memory in platform.memories.items():
        if name == plan.ddr.name or memory.address is None or memory.size is None:
            continue
        for region in regions:
            if memory.address < region.end and region.base < memory.address + memory.size.value.bytes:
                raise refuse("--window", f"{region.name} overlaps the memory {name}")
