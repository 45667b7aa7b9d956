# SPDX-License-Identifier: Apache-2.0
"""Rules across the fields of a platform description."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING, Any

from consort.base.errors import nearest
from consort.model.base import numbered
from consort.model.document import Document, Location, Problems, View
from consort.model.figures import RESERVED, Figure
from consort.model.memories import Access, AccessCost, LoadedCost, Statistics
from consort.model.quantities import Size

if TYPE_CHECKING:
    from consort.base.errors import BadInput
    from consort.model.platform import Platform


def check_platform_rules(
    document: Document, wrong: set[Location], platform: Platform | None
) -> list[BadInput]:
    """All that the rules find wrong; rules about fields in `wrong` stay silent.

    `platform` is what is right of the document; None if it is too small.
    """
    view = View(document, wrong, platform)
    return [] if platform is None else [problem for rule in RULES for problem in rule(view, platform)]


def _named_like_the_file(view: View, platform: Platform) -> Problems:
    stem = view.document.file.stem
    if stem != platform.name:
        yield from view.say(("name",), f"{platform.name!r} is not the file's name; write {stem!r}")


def _reserved(view: View, platform: Platform) -> Problems:
    """A task's costs are given by processor or by way of executing; a name tells which."""
    for name in view.names("processors"):
        if name in RESERVED:
            text = f"{name!r} has a meaning of its own in the costs of tasks; give the processor another name"
            yield from view.say(("processors", name), text, at_key=True)


def _known(
    view: View, location: Location, name: str | None, known: Collection[str], what: str, plural: str
) -> Problems:
    if name is not None and name not in known:
        text = f"the {what} {name!r} is not known; {nearest(name, known, plural)}"
        yield from view.say(location, text)


def _known_processor(view: View, location: Location, name: str, *, at_key: bool = False) -> Problems:
    processors = view.names("processors")
    if name not in processors:
        text = f"the processor {name!r} is not known; {nearest(name, processors, 'processors')}"
        yield from view.say(location, text, at_key=at_key)


def _emulated_cores(view: View, platform: Platform) -> Problems:
    for name in () if platform.emulation is None else platform.emulation.cores:
        group, index = numbered(name)
        described = platform.cores.get(group)
        beyond = index is None or (described is not None and index >= described.count)
        if beyond or group not in view.names("cores"):
            text = f"{name!r} is not a core of this platform"
            yield from view.say(("emulation", "cores", name), text, at_key=True)


def _known_processors(view: View, platform: Platform) -> Problems:
    for name, group in platform.cores.items():
        yield from _known_processor(view, ("cores", name, "processor"), group.processor)
    for name, memory in platform.memories.items():
        for processor in () if memory.access is None else memory.access.from_:
            here = ("memories", name, "access", "from", processor)
            yield from _known_processor(view, here, processor, at_key=True)
    for name, exchange in platform.exchanges.items():
        for end, processor in (("from", exchange.from_), ("to", exchange.to)):
            yield from _known_processor(view, ("exchanges", name, end), processor)


def _known_memories(view: View, platform: Platform) -> Problems:
    memories = view.names("memories")
    for name, exchange in platform.exchanges.items():
        here: Location = ("exchanges", name, "memory")
        yield from _known(view, here, exchange.memory, memories, "memory", "memories")
    for name, dma in platform.dmas.items():
        for key, transfer in dma.transfers.items():
            for end, memory in (("from", transfer.from_), ("to", transfer.to)):
                here = ("dmas", name, "transfers", key, end)
                yield from _known(view, here, memory, memories, "memory", "memories")


def _known_ends(view: View, platform: Platform) -> Problems:
    parts = ("processors", "cores", "memories", "devices")
    ends = list(dict.fromkeys(name for part in parts for name in view.names(part)))
    for name, link in platform.links.items():
        here: Location = ("links", name, "between")
        for index, end in enumerate(link.between):
            yield from _known(
                view, (*here, index), end, ends, "end", "processors, cores, memories and devices"
            )
        if link.between[0] == link.between[1]:
            text = f"the link joins {link.between[0]!r} with itself; name its other end"
            yield from view.say((*here, 1), text)
        for processor, end in link.sides.items():
            side: Location = ("links", name, "sides", processor)
            yield from _known_processor(view, side, processor, at_key=True)
            if end not in link.between:
                text = f"{end!r} is not an end of the link {name!r}; write {' or '.join(link.between)}"
                yield from view.say(side, text)
        if name in view.names("memories"):
            text = f"{name!r} is a memory too, and a channel may lie in either; give the link another name"
            yield from view.say(("links", name), text, at_key=True)


def _positive(view: View, platform: Platform) -> Problems:
    for location, figure in _sizes_and_rates(platform):
        if figure is not None and figure.value.value == 0:
            text = f"the {location[-1]} is 0; more than 0 is needed, or leave it out if it is not known"
            yield from view.say(location, text)


def _sizes_and_rates(platform: Platform) -> Iterator[tuple[Location, Figure[Any] | None]]:
    """The figures of which 0 says nothing."""
    for name, processor in platform.processors.items():
        yield ("processors", name, "clock"), processor.clock
        for cache, size in processor.caches.items():
            yield ("processors", name, "caches", cache), size
    for name, group in platform.cores.items():
        for key in ("size", "instructions", "data"):
            yield ("cores", name, "scratchpad", key), getattr(group.scratchpad, key, None)
    for name, memory in platform.memories.items():
        yield ("memories", name, "size"), memory.size
        for here, cost in (
            () if memory.access is None else _costs(("memories", name, "access"), memory.access)
        ):
            yield (*here, "rate"), cost.rate
            yield (*here, "granularity"), cost.granularity
    for name, dma in platform.dmas.items():
        yield ("dmas", name, "rate"), dma.rate
        yield ("dmas", name, "clock"), dma.clock
    for name, link in platform.links.items():
        for key in ("rate", "peak", "clock", "descriptor"):
            yield ("links", name, key), getattr(link, key)
    for name, device in platform.devices.items():
        yield ("devices", name, "rate"), device.rate


def _costs(here: Location, access: Access | None) -> Iterator[tuple[Location, LoadedCost]]:
    """The costs of an access, each with its place."""
    if access is None:
        return
    origins: list[tuple[Location, AccessCost]] = [(here, access)]
    origins += [((*here, "from", processor), cost) for processor, cost in access.from_.items()]
    for place, cost in origins:
        yield place, cost
        if cost.loaded is not None:
            yield (*place, "loaded"), cost.loaded


def _scratchpads(view: View, platform: Platform) -> Problems:
    for group, cores in platform.cores.items():
        scratchpad = cores.scratchpad
        if scratchpad is None:
            continue
        here: Location = ("cores", group, "scratchpad")
        size = scratchpad.size.value
        parts = {"instructions": scratchpad.instructions, "data": scratchpad.data}
        given = {key: part.value.bytes for key, part in parts.items() if part is not None}
        taken = sum(given.values())
        if len(given) == 2 and taken != size.bytes:
            text = f"instructions and data together are {Size.spelled(taken)}, not {size}"
            yield from view.say((*here, "size"), f"{text}; correct one of them")
        elif len(given) == 1 and taken > size.bytes:
            text = f"{Size.spelled(taken)} is more than all of the scratchpad, {size}; correct one of them"
            yield from view.say((*here, *given), text)
        if size.bytes % scratchpad.partitions:
            text = (
                f"{size} is not {scratchpad.partitions} equal partitions of whole bytes; correct one of them"
            )
            yield from view.say((*here, "size"), text)


def _rates(view: View, platform: Platform) -> Problems:
    for name, link in platform.links.items():
        if link.rate is not None and link.peak is not None and link.rate.value > link.peak.value:
            text = f"the rate {link.rate} is above the peak {link.peak}; correct one of them"
            yield from view.say(("links", name, "rate"), text)


def _statistics(view: View, platform: Platform) -> Problems:
    """Checks that measured statistics are in order."""
    for name, exchange in platform.exchanges.items():
        yield from _ordered(view, ("exchanges", name), exchange)
        if exchange.loaded is not None:
            yield from _ordered(view, ("exchanges", name, "loaded"), exchange.loaded)


def _ordered(view: View, here: Location, statistics: Statistics) -> Problems:
    for low, high in (("min", "median"), ("min", "mean"), ("median", "max"), ("mean", "max"), ("min", "max")):
        first, second = getattr(statistics, low), getattr(statistics, high)
        if first is not None and second is not None and first.value > second.value:
            text = f"the {low} {first} is above the {high} {second}; correct one of them"
            yield from view.say((*here, low), text)
            return


def _addresses(view: View, platform: Platform) -> Problems:
    """Memories with an address and a size lie apart."""
    placed: list[tuple[int, int, str]] = []
    for name, memory in platform.memories.items():
        if memory.address is None or memory.size is None:
            continue
        begin, end = memory.address, memory.address + memory.size.value.bytes
        for other_begin, other_end, other in placed:
            if begin < other_end and other_begin < end:
                text = f"{name!r} lies at {begin:#x} to {end - 1:#x}, {other!r} at {other_begin:#x} to"
                text = f"{text} {other_end - 1:#x}; memories lie apart, correct an address or a size"
                yield from view.say(("memories", name, "address"), text)
                break
        placed.append((begin, end, name))


RULES: tuple[Callable[[View, Platform], Problems], ...] = (
    _named_like_the_file,
    _reserved,
    _emulated_cores,
    _known_processors,
    _known_memories,
    _known_ends,
    _positive,
    _scratchpads,
    _rates,
    _statistics,
    _addresses,
)
