# SPDX-License-Identifier: Apache-2.0
"""The hardware of an AMALTHEA model: processors, groups of cores, memories, and what an access costs."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from consort.exchange.amalthea.elements import BYTES, HERTZ, RATES, ceiling
from consort.exchange.amalthea.model import Model
from consort.exchange.conventions import LONGEST, Names
from consort.exchange.trees import Element
from consort.model.base import group_of
from consort.model.quantities import DataRate, Duration, Frequency, Size

# A core is called as its group, with a number.
LONGEST_GROUP = LONGEST - len("-9999")
MEMORY_KINDS = {
    "DRAM": "ddr",
    "SRAM": "sram",
    "PRAM": "scratchpad",
    "FLASH": "flash",
    "FLASH_INT": "flash",
    "FLASH_EXT": "flash",
}
KNOWN = ("ProcessingUnit", "Memory", "Cache")


@dataclass
class Unit:
    """A processing unit, and where Consort has it."""

    element: Element
    structure: Element
    definition: str
    processor: str = ""
    core: str = ""


@dataclass(frozen=True)
class Access:
    """The cost of an access from a kind of processor to a memory: cycles for each part as wide as its port
    (0: for the whole), and bytes a second. None: it is not known, or has no bound."""

    latency: Fraction | None = None
    rate: Fraction | None = None
    width: int = 0

    def cycles(self, size: int, clock: Fraction | None) -> Fraction | None:
        if self.latency is None and (self.rate is None or clock is None):
            return None
        parts = -(-size // self.width) if self.width else 1
        moved = size * clock / self.rate if self.rate is not None and clock is not None else Fraction(0)
        return (self.latency or Fraction(0)) * (1 if self.rate is not None else parts) + moved


@dataclass
class Hardware:
    platform: dict[str, Any]
    units: dict[str, Unit] = field(default_factory=dict)
    # The clock of each kind of processor, where it has one, and the definition it comes from.
    clocks: dict[str, Fraction | None] = field(default_factory=dict)
    definitions: dict[str, str] = field(default_factory=dict)
    memories: dict[str, str] = field(default_factory=dict)
    # By kind of processor and memory: those of all its units, as a task may run on any of them.
    accesses: dict[tuple[str, str], set[Access]] = field(default_factory=dict)

    def processor_of(self, core: str) -> str:
        group = self.platform["cores"][group_of(core)]
        return str(group["processor"])


def read_hardware(model: Model, names: Names) -> Hardware:
    root = model.part("hwModel")
    top = next(iter(root.all("structures", "system")), None) if root is not None else None
    title = top.get("name") if top is not None else ""
    hardware = Hardware({"consort": 1, "name": names.new("platform", title or "platform")})
    if title:
        hardware.platform["description"] = f"{title}, from an AMALTHEA model"
    hardware.platform |= {"processors": {}, "cores": {}}
    if root is None:
        raise model.reader.bad(model.root, "the model has no hwModel; add one that has processing units")
    structures = [structure for structure in root.walk() if structure.name == "structures"]
    for structure in structures:
        for module in structure.all("modules"):
            if module.type == "ProcessingUnit":
                definition = next(iter(model.refs(module, "definition")), "")
                unit = Unit(module, structure, definition)
                hardware.units[module.get("xmi:id")] = unit
    if not hardware.units:
        raise model.reader.bad(
            root, "the hardware has no processing units; add one, where tasks can be placed"
        )
    _processors(model, names, hardware)
    _groups(names, hardware)
    _caches(model, structures, hardware)
    _memories(model, names, structures, hardware)
    _left_out(model, root)
    return hardware


def _clock(model: Model, module: Element) -> Fraction | None:
    for key in model.refs(module, "frequencyDomain"):
        domain = model.find(key)
        if domain is not None:
            value = domain.child("defaultValue") or domain.child("frequency")
            clock = model.reader.quantity(value, HERTZ)
            if clock and clock < 1:
                raise model.reader.bad(value or domain, "a clock is below 1 Hz")
            return clock
    return None


def _processors(model: Model, names: Names, hardware: Hardware) -> None:
    """A kind of processor for each definition and clock: equal units at other clocks are other kinds."""
    kinds: dict[tuple[str, Fraction | None], str] = {}
    for key, unit in hardware.units.items():
        clock = _clock(model, unit.element)
        kind = (unit.definition, clock)
        if kind not in kinds:
            found = model.find(unit.definition)
            name = names.new("processor", (found or unit.element).get("name") or key)
            kinds[kind] = name
            described: dict[str, Any] = {"isa": "other"}
            if clock is not None and clock > 0:
                # The clock itself keeps its exact value for the times; the file has whole hertz.
                if clock.denominator != 1:
                    model.report.change("clock", name, "rounded down to whole hertz")
                described["clock"] = str(Frequency(int(clock)))
            else:
                clock = None
            hardware.platform["processors"][name] = described
            hardware.clocks[name], hardware.definitions[name] = clock, unit.definition
        unit.processor = kinds[kind]


def _groups(names: Names, hardware: Hardware) -> None:
    """Cores of one kind in one structure are a group, named as the structure where the units are too."""
    groups: dict[tuple[int, str], list[Unit]] = {}
    for unit in hardware.units.values():
        groups.setdefault((id(unit.structure), unit.processor), []).append(unit)
    for units in groups.values():
        title = units[0].structure.get("name")
        own = [unit.element.get("name") for unit in units]
        as_named = own == [f"{title}-{index}" for index in range(len(units))]
        group = names.new("group of cores", title if as_named else units[0].processor, LONGEST_GROUP)
        hardware.platform["cores"][group] = {
            "processor": units[0].processor,
            "count": len(units),
            "context_switch": {"value": "0ns", "assumed": "the AMALTHEA model has none"},
            "timer_lateness": {"value": "0ns", "assumed": "the AMALTHEA model has none"},
        }
        for index, unit in enumerate(units):
            unit.core = f"{group}-{index}"
            if unit.element.get("name") != unit.core:
                how = "cores are numbered within their group"
                names.report.change("core", f"{unit.element.get('name')!r} is {unit.core}", how)


def _caches(model: Model, structures: list[Element], hardware: Hardware) -> None:
    for structure in structures:
        beside = [unit for unit in hardware.units.values() if unit.structure is structure]
        caches = [m for m in structure.all("modules") if m.type == "Cache"]
        for unit in beside:
            caches += [c for c in unit.element.all("caches") if c not in caches]
        for cache in caches:
            definition = model.definition(cache)
            size = model.reader.quantity(definition.child("size") if definition else None, BYTES)
            if not beside or not size or definition is None:
                model.report.leave("cache", cache.get("name"), "no size, or no core beside it")
                continue
            for unit in beside:
                own = hardware.platform["processors"][unit.processor].setdefault("caches", {})
                own[_plain(cache.get("name") or "cache")] = str(Size(int(size)))


def _plain(name: str) -> str:
    kept = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in name)
    return kept if kept[:1].isalpha() else f"c-{kept}"


def _memories(model: Model, names: Names, structures: list[Element], hardware: Hardware) -> None:
    found: dict[str, dict[str, Any]] = {}
    for structure in structures:
        for module in structure.all("modules"):
            if module.type != "Memory":
                continue
            name = names.new("memory", module.get("name") or "memory")
            key = module.get("xmi:id")
            hardware.memories[key] = name
            definition = model.definition(module)
            described: dict[str, Any] = {
                "kind": MEMORY_KINDS.get(definition.get("memoryType") if definition else "", "sram")
            }
            size = model.reader.quantity(definition.child("size") if definition else None, BYTES)
            if size:
                described["size"] = str(Size(ceiling(size)))
            found[name] = described
    for unit in hardware.units.values():
        _accesses(model, unit, hardware, found)
    if found:
        hardware.platform["memories"] = found


def _accesses(model: Model, unit: Unit, hardware: Hardware, memories: dict[str, dict[str, Any]]) -> None:
    """Adds the costs of accesses from a kind of processor; of unlike units of one kind the dearest counts."""
    for access in unit.element.all("accessElements"):
        memory = next((hardware.memories.get(key) for key in model.refs(access, "destination")), None)
        if memory is None:
            model.report.leave("access path", access.get("name"), "it leads to no memory")
            continue
        cost: dict[str, str] = {}
        clock = hardware.clocks[unit.processor]
        ends = [
            bounds[1]
            for name in ("readLatency", "writeLatency")
            if (child := access.child(name)) is not None
            and (bounds := model.reader.cycles(child)) is not None
        ]
        latencies = [end for end in ends if end is not None]
        if latencies and clock:
            base = ceiling(max(latencies) * 10**12 / clock)
            if base > Duration.largest:
                raise model.reader.bad(access, "a latency of it is longer than 1000000s")
            cost["base"] = str(Duration(base))
            if len(set(latencies)) > 1:
                model.report.change("access cost", access.get("name"), "the dearer of reading and writing")
        rate = model.reader.quantity(access.child("dataRate"), RATES)
        if rate and rate >= 1:
            cost["rate"] = str(DataRate(int(rate)))
        width = _width(model, unit.element)
        if ends or rate:
            latency = max(latencies) if latencies else None
            whole = Access() if None in ends else Access(latency, rate if rate and rate >= 1 else None, width)
            hardware.accesses.setdefault((unit.processor, memory), set()).add(whole)
        if width and "rate" not in cost and "base" in cost:
            # A latency is that of one access, as wide as the unit's port.
            cost["granularity"] = str(Size(width))
        if cost:
            costs = memories[memory].setdefault("access", {}).setdefault("from", {})
            known = costs.setdefault(unit.processor, cost)
            if known != cost:
                text = f"of unlike cores of {unit.processor} the dearest, or the first"
                model.report.change("access cost", access.get("name"), text)
                if Duration.parse(cost.get("base", "0ns")) > Duration.parse(known.get("base", "0ns")):
                    costs[unit.processor] = cost


def memories_of_labels(model: Model, hardware: Hardware) -> dict[str, str]:
    """The memory of each label that is mapped to one, by the label's id."""
    found: dict[str, str] = {}
    for mapping in model.parts("mappingModel", "memoryMapping"):
        memory = next((hardware.memories.get(key) for key in model.refs(mapping, "memory")), None)
        for key in model.refs(mapping, "abstractElement"):
            if memory is not None:
                found[key] = memory
    return found


def _width(model: Model, module: Element) -> int:
    for port in module.all("ports"):
        width = port.get("bitWidth")
        if port.get("portType") != "responder" and width.isdecimal():
            if len(width) > 9:
                raise model.reader.bad(port, f"a port of {width} bits is wider than any")
            return int(width) // 8
    return 0


def _left_out(model: Model, root: Element) -> None:
    for element in root.walk():
        if element.name == "modules" and element.type not in KNOWN:
            model.report.leave(f"hardware: {element.type}", element.get("name"), "not modelled")
        elif element.name in ("connections", "internalConnections", "powerDomains"):
            model.report.leave(f"hardware: {element.name}", element.get("name") or "unnamed", "not modelled")
