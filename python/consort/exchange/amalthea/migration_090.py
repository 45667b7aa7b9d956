# SPDX-License-Identifier: Apache-2.0
"""0.8.3 to 0.9.0: systems, ECUs and microcontrollers are structures, cores and memories their modules."""

from __future__ import annotations

from decimal import Decimal, localcontext
from urllib.parse import quote_plus

from consort.exchange.amalthea.elements import Reader, key_of, keys, made, rename, retype, retype_references
from consort.exchange.conventions import Report
from consort.exchange.trees import Element

KINDS = {
    "Core": "ProcessingUnit",
    "CoreType": "ProcessingUnitDefinition",
    "MemoryType": "MemoryDefinition",
    "Quartz": "FrequencyDomain",
}
STRUCTURES = {"system": "System", "ecus": "ECU", "microcontrollers": "Microcontroller"}
# Elements that hold memories without being a place of cores.
HOLDERS = ("memories", "networks", "components", "nestedComponents", "quartzes")
INSTRUCTIONS = "Instructions"
LATENCIES = {"R": ("readLatency",), "W": ("writeLatency",), "RW": ("readLatency", "writeLatency")}


def migrate_to_0_9_0(root: Element, report: Report) -> None:
    hardware = root.child("hwModel")
    retype_references(root, KINDS)
    if hardware is None or hardware.child("structures") is not None:
        return
    _definitions(hardware)
    _domains(hardware)
    cached = {
        key_of(d, d.type) for d in hardware.all("definitions") if d.get("memoryType").upper() == "CACHE"
    }
    for element in list(hardware.walk()):
        if element.name in STRUCTURES:
            element.attributes["structureType"] = STRUCTURES[element.name]
            element.name = "structures"
            _structure(hardware, element, cached, report)
    _paths(hardware, report)


def _definitions(hardware: Element) -> None:
    """Kinds of cores and memories; the instructions that a core executes a cycle are a feature of it."""
    category = made(hardware, "featureCategories", name=INSTRUCTIONS, featureType="performance")
    rates: set[str] = set()
    for core in list(hardware.all("coreTypes")):
        core.name = "definitions"
        retype(core, KINDS["CoreType"])
        rate = core.attributes.pop("instructionsPerCycle", "")
        if rate:
            name = f"IPC_{rate}"
            core.attributes["features"] = f"{INSTRUCTIONS}/{quote_plus(name)}?type=HwFeature"
            if rate not in rates:
                rates.add(rate)
                category.children.append(made(core, "features", name=name, value=rate))
    if rates:
        hardware.children.append(category)
    for memory in list(hardware.all("memoryTypes")):
        memory.name = "definitions"
        retype(memory, KINDS["MemoryType"])
        rename(memory, "type", "memoryType")


def _domains(hardware: Element) -> None:
    """Quartzes, wherever they stand, are frequency domains of the hardware."""
    found: list[Element] = []
    for holder in list(hardware.walk()):
        for quartz in list(holder.all("quartzes")):
            holder.children.remove(quartz)
            found.append(quartz)
    for quartz in found:
        quartz.name = "domains"
        retype(quartz, KINDS["Quartz"])
        rename(quartz, "frequency", "defaultValue")
    hardware.children += found


def _structure(hardware: Element, structure: Element, cached: set[str], report: Report) -> None:
    kept: list[Element] = []
    for child in structure.children:
        if child.name == "cores":
            kept += _core(hardware, child, cached, report)
        elif child.name in HOLDERS:
            kept += _held(child, cached, report)
        else:
            if child.name == "ports":
                report.leave("hardware: port", child.get("name") or "unnamed", "not modelled")
            kept.append(child)
    structure.children = kept


def _core(hardware: Element, core: Element, cached: set[str], report: Report) -> list[Element]:
    """The core as a processing unit with its caches, and its other memories, which then stand beside it."""
    core.name = "modules"
    retype(core, KINDS["Core"])
    rename(core, "coreType", "definition")
    _clock(hardware, core, report)
    modules = [m for child in core.all(*HOLDERS) for m in _held(child, cached, report)]
    rest = [child for child in core.children if child.name not in HOLDERS]
    for port in core.all("ports"):
        # An access of a core is as wide as the port by which it asks.
        port.attributes["portType"] = (
            "initiator" if port.attributes.pop("master", "") == "true" else "responder"
        )
    caches = [module for module in modules if module.type == "Cache"]
    for cache in caches:
        cache.name = "caches"
    core.children = rest + caches
    return [core, *(module for module in modules if module.type != "Cache")]


def _held(element: Element, cached: set[str], report: Report) -> list[Element]:
    """A memory, and the memories in it or in another part, as modules; the part itself is reported."""
    below = [module for child in element.all(*HOLDERS) for module in _held(child, cached, report)]
    for port in element.all("ports"):
        report.leave(
            "hardware: port", port.get("name") or "unnamed", "the cycles of its access are not modelled"
        )
    if element.name != "memories":
        report.leave(f"hardware: {element.name}", element.get("name") or "unnamed", "not modelled")
        return below
    if element.child("prescaler") is not None:
        report.leave(
            "clock of memory", element.get("name") or "unnamed", "its latencies count the core's cycles"
        )
    rename(element, "type", "definition")
    kinds = keys(element, "definition")
    element.name = "modules"
    retype(element, "Cache" if any(kind in cached for kind in kinds) else "Memory")
    element.children = list(element.all("customProperties", "definition"))
    return [element, *below]


def _clock(hardware: Element, core: Element, report: Report) -> None:
    """The domain of a core: its quartz, or a domain of its own at the quartz's frequency times a ratio."""
    prescaler = core.child("prescaler")
    if prescaler is None:
        return
    core.children.remove(prescaler)
    text = prescaler.get("clockRatio", "0.0")
    domains = {key_of(domain, domain.type): domain for domain in hardware.all("domains")}
    quartz = next((domains[key] for key in keys(prescaler, "quartz") if key in domains), None)
    if quartz is None:
        report.leave("clock of core", core.get("name"), "its quartz is not in the files that are read")
        return
    frequency = quartz.child("defaultValue")
    Reader().number(prescaler, text)
    ratio = Decimal(text)
    if ratio == 1:
        core.attributes["frequencyDomain"] = key_of(quartz, quartz.type)
        return
    if not ratio or frequency is None:
        report.leave("clock of core", core.get("name"), "its quartz has no frequency, or its ratio is 0")
        return
    name = f"{quartz.get('name')}__{text}"
    domain = made(prescaler, "domains", kind=KINDS["Quartz"], name=name)
    core.attributes["frequencyDomain"] = key_of(domain, KINDS["Quartz"])
    if core.attributes["frequencyDomain"] in domains:
        return
    with localcontext() as context:
        context.prec = 80
        Reader().number(frequency, frequency.get("value"))
        value = format(Decimal(frequency.get("value")) * ratio, "f")
    domain.children.append(made(prescaler, "defaultValue", value=value, unit=frequency.get("unit")))
    hardware.children.append(domain)


def _paths(hardware: Element, report: Report) -> None:
    """Latencies from a core to a memory are access elements of the core."""
    units = {key_of(m, m.type): m for m in hardware.walk() if m.type == KINDS["Core"]}
    clocks = {key: keys(unit, "frequencyDomain") for key, unit in units.items()}
    for path in list(hardware.all("accessPaths")):
        hardware.children.remove(path)
        sources = [key for key in keys(path, "source") if key in units]
        if path.type != "LatencyAccessPath" or not sources:
            report.leave("access path", path.get("name") or "unnamed", "no latencies from a core to a memory")
            continue
        for key in sources:
            access = made(path, "accessElements", name=path.get("name"))
            access.attributes["destination"] = " ".join(keys(path, "target"))
            for latency in path.all("latencies"):
                other = keys(latency, "quartz")
                if latency.type not in ("LatencyConstant", "LatencyDeviation"):
                    why = "it goes over other parts of the hardware"
                elif other and other != clocks[key]:
                    why = "it counts cycles of another clock than the core's"
                else:
                    access.children += _latencies(latency)
                    continue
                report.leave("latency of access path", path.get("name") or "unnamed", why)
            units[key].children.append(access)


def _latencies(old: Element) -> list[Element]:
    found: list[Element] = []
    for name in LATENCIES.get(old.get("accessType"), LATENCIES["RW"]):
        latency = made(old, name, kind=old.type)
        if "value" in old.attributes:
            latency.attributes["cycles"] = old.attributes["value"]
        latency.children = list(old.children)
        # 0.9.0 has the deviation under the name of what deviates.
        for child in old.all("deviation"):
            child.name = "cycles"
        found.append(latency)
    return found
