# SPDX-License-Identifier: Apache-2.0
"""Rules across the fields of a platform description."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from consort.errors import BadInput
from consort.model.base import numbered
from consort.model.costs import RESERVED
from consort.model.document import Document, Location
from consort.model.problems import nearest
from consort.model.quantities import DataRate, Duration, Frequency, Quantity, Size
from consort.model.view import View

Problems = Iterator[BadInput]


def check_platform_rules(document: Document, wrong: set[Location]) -> list[BadInput]:
    """All that the rules find wrong; rules about fields in `wrong` stay silent."""
    view = View(document, wrong, None)
    return [problem for rule in RULES for problem in rule(view)]


def _named_like_the_file(view: View) -> Problems:
    name = view.text("name")
    if name is not None and view.document.file.stem != name:
        yield view.problem(("name",), f"{name!r} is not the file's name; write {view.document.file.stem!r}")


def _reserved(view: View) -> Problems:
    """A task's costs are given by processor or by way of executing; a name tells which."""
    for name in view.mapping("processors"):
        if name in RESERVED:
            yield view.problem(
                ("processors", name),
                f"{name!r} has a meaning of its own in the costs of tasks; give the processor another name",
                at_key=True,
            )


def _known(view: View, location: Location, known: Iterable[str], what: str, plural: str) -> Problems:
    name = view.text(*location)
    if name is not None and name not in list(known):
        yield view.problem(location, f"the {what} {name!r} is not known; {nearest(name, known, plural)}")


def _emulated_cores(view: View) -> Problems:
    groups = view.mapping("cores")
    for name in view.mapping("emulation", "cores"):
        group, index = numbered(name)
        count = view.document.get("cores", group, "count")
        known = group in groups and index is not None and (not isinstance(count, int) or index < count)
        if not known:
            yield view.problem(
                ("emulation", "cores", name), f"{name!r} is no core of this platform", at_key=True
            )


def _known_processors(view: View) -> Problems:
    processors = view.mapping("processors")
    for group in view.mapping("cores"):
        yield from _known(view, ("cores", group, "processor"), processors, "processor", "processors")
    for memory in view.mapping("memories"):
        here = ("memories", memory, "access", "from")
        for name in view.mapping(*here):
            if name not in processors:
                yield view.problem(
                    (*here, name),
                    f"the processor {name!r} is not known; {nearest(name, processors, 'processors')}",
                    at_key=True,
                )
    for exchange in view.mapping("exchanges"):
        for end in ("from", "to"):
            yield from _known(view, ("exchanges", exchange, end), processors, "processor", "processors")


def _known_memories(view: View) -> Problems:
    memories = view.mapping("memories")
    for exchange in view.mapping("exchanges"):
        yield from _known(view, ("exchanges", exchange, "memory"), memories, "memory", "memories")
    for dma in view.mapping("dmas"):
        for transfer in view.mapping("dmas", dma, "transfers"):
            for end in ("from", "to"):
                here = ("dmas", dma, "transfers", transfer, end)
                yield from _known(view, here, memories, "memory", "memories")


def _known_ends(view: View) -> Problems:
    ends: list[str] = []
    for part in ("processors", "cores", "memories", "devices"):
        ends += [name for name in view.mapping(part) if name not in ends]
    for link in view.mapping("links"):
        here = ("links", link, "between")
        given = view.sequence(*here)
        for index in range(len(given)):
            yield from _known(view, (*here, index), ends, "end", "processors, cores, memories and devices")
        if len(given) == 2 and given[0] == given[1]:
            yield view.problem((*here, 1), f"the link joins {given[0]!r} with itself; name its other end")
        yield from _sides(view, link, [end for end in given if isinstance(end, str)])
        if link in view.mapping("memories"):
            yield view.problem(
                ("links", link),
                f"{link!r} is a memory too, and a channel may lie in either; give the link another name",
                at_key=True,
            )


def _sides(view: View, link: str, ends: list[str]) -> Problems:
    here = ("links", link, "sides")
    processors = view.mapping("processors")
    for name in view.mapping(*here):
        if name not in processors:
            hint = nearest(name, processors, "processors")
            yield view.problem((*here, name), f"the processor {name!r} is not known; {hint}", at_key=True)
        end = view.text(*here, name)
        if end is not None and end not in ends:
            yield view.problem(
                (*here, name), f"{end!r} is no end of the link {link!r}; write {' or '.join(ends)}"
            )


def _positive(view: View) -> Problems:
    places: list[tuple[Location, type[Quantity]]] = []
    for name in view.mapping("processors"):
        places.append((("processors", name, "clock"), Frequency))
        places += [
            (("processors", name, "caches", c), Size) for c in view.mapping("processors", name, "caches")
        ]
    for name in view.mapping("cores"):
        places += [(("cores", name, "scratchpad", key), Size) for key in ("size", "instructions", "data")]
    for name in view.mapping("memories"):
        access: Location = ("memories", name, "access")
        places.append((("memories", name, "size"), Size))
        for here in (access, *((*access, "from", p) for p in view.mapping(*access, "from"))):
            for costs in (here, (*here, "loaded")):
                places += [((*costs, "rate"), DataRate), ((*costs, "granularity"), Size)]
    for name in view.mapping("dmas"):
        places += [(("dmas", name, "rate"), DataRate), (("dmas", name, "clock"), Frequency)]
    for name in view.mapping("links"):
        places += [(("links", name, key), DataRate) for key in ("rate", "peak")]
        places += [(("links", name, "clock"), Frequency), (("links", name, "descriptor"), Size)]
    for name in view.mapping("devices"):
        places.append((("devices", name, "rate"), DataRate))
    for location, kind in places:
        quantity = view.figure(kind, *location)
        if quantity is not None and quantity.value == 0:
            yield view.problem(
                location,
                f"the {location[-1]} is 0; more than 0 is needed, or leave it out if it is not known",
            )


def _scratchpads(view: View) -> Problems:
    for group in view.mapping("cores"):
        here = ("cores", group, "scratchpad")
        size = view.figure(Size, *here, "size")
        parts = [view.figure(Size, *here, key) for key in ("instructions", "data")]
        given = [part.value for part in parts if part is not None]
        if size is None:
            continue
        if len(given) == 2 and sum(given) != size.value:
            yield view.problem(
                (*here, "size"),
                f"instructions and data together are {Size.spelled(sum(given))}, not {size};"
                " correct one of them",
            )
        elif len(given) == 1 and given[0] > size.value:
            key = "instructions" if parts[0] is not None else "data"
            yield view.problem(
                (*here, key),
                f"{Size.spelled(given[0])} is more than all of the scratchpad, {size}; correct one of them",
            )
        partitions = view.get(*here, "partitions") or 2
        if isinstance(partitions, int) and partitions > 0 and size.value % partitions:
            yield view.problem(
                (*here, "size"),
                f"{size} is not {partitions} equal partitions of whole bytes; correct one of them",
            )


def _rates(view: View) -> Problems:
    for name in view.mapping("links"):
        rate, peak = (view.figure(DataRate, "links", name, key) for key in ("rate", "peak"))
        if rate is not None and peak is not None and rate > peak:
            yield view.problem(
                ("links", name, "rate"), f"the rate {rate} is above the peak {peak}; correct one of them"
            )


def _statistics(view: View) -> Problems:
    """Checks that measured statistics are in order."""
    for name in view.mapping("exchanges"):
        for here in (("exchanges", name), ("exchanges", name, "loaded")):
            yield from _ordered(view, here)


def _ordered(view: View, here: Location) -> Problems:
    for low, high in (("min", "median"), ("min", "mean"), ("median", "max"), ("mean", "max"), ("min", "max")):
        first, second = (view.figure(Duration, *here, key) for key in (low, high))
        if first is not None and second is not None and first > second:
            yield view.problem(
                (*here, low), f"the {low} {first} is above the {high} {second}; correct one of them"
            )
            return


def _addresses(view: View) -> Problems:
    """Memories with an address and a size lie apart."""
    placed: list[tuple[int, int, str]] = []
    for name in view.mapping("memories"):
        begin, size = view.get("memories", name, "address"), view.figure(Size, "memories", name, "size")
        if isinstance(begin, bool) or not isinstance(begin, int) or size is None:
            continue
        for other_begin, other_end, other in placed:
            if begin < other_end and other_begin < begin + size.value:
                yield view.problem(
                    ("memories", name, "address"),
                    f"{name!r} lies at {begin:#x} to {begin + size.value - 1:#x}, {other!r} at"
                    f" {other_begin:#x} to {other_end - 1:#x}; memories lie apart, correct an address or a"
                    " size",
                )
                break
        placed.append((begin, begin + size.value, name))


RULES: tuple[Callable[[View], Problems], ...] = (
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
