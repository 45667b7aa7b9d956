# SPDX-License-Identifier: Apache-2.0
"""A description with some of its figures multiplied, and the factors by which execution times may grow, and
clocks, bandwidths and scratchpads shrink, until a bound fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from consort.analysis.lacking import lacking_figures, named
from consort.analysis.system import analyze_system
from consort.base.errors import nearest
from consort.base.waiting import Progress, silent
from consort.model import BadDescription, System, platform_from_data, system_from_data
from consort.model.figures import KINDS
from consort.model.quantities import DataRate, Duration, Frequency, Quantity, Size
from consort.plan import plan_of

# Kinds of figures that can be multiplied, and the parts that can be named for each.
SCALED = {
    "wcet": "tasks",
    "clock": "processors",
    "bandwidth": "memories, DMA engines and links",
    "scratchpad": "groups of cores with a scratchpad",
}
ASSUMED = "{} times what the description says"
# Figures that a scaled one may lie beside.
_COSTS = ("access", "loaded", "from")


@dataclass(frozen=True)
class Scale:
    """A kind of figure to multiply: of one task, processor, memory, …, or of all."""

    what: str
    of: str | None = None

    def __str__(self) -> str:
        return self.what if self.of is None else f"{self.what} of {self.of}"


def names_of(system: System, what: str) -> list[str]:
    """Names whose figures of a kind can be multiplied."""
    platform = system.platform_description
    if what == "wcet":
        return list(system.tasks)
    if what == "clock":
        used = {platform.core(core).processor_name for core in _computing(system)}
        return [name for name in platform.processors if name in used]
    if what == "bandwidth":
        data = platform.to_json()
        return [
            name
            for kind in ("memories", "dmas", "links")
            for name, part in data.get(kind, {}).items()
            if any(True for _ in _rates(part))
        ]
    return [name for name, group in platform.cores.items() if group.scratchpad is not None]


def check_scale(system: System, scale: Scale) -> str | None:
    """The error in a scale, and a correction; None: it is valid."""
    if scale.what not in SCALED:
        return f"{scale.what!r} cannot be scaled; {nearest(scale.what, SCALED, 'what can')}"
    known = names_of(system, scale.what)
    if scale.of is not None and scale.of not in known:
        return f"{scale.of!r} is unknown here; {nearest(scale.of, known, SCALED[scale.what])}"
    return None if known else f"there are no {SCALED[scale.what]}; scale something else"


def scaled(system: System, scale: Scale, factor: Fraction) -> System:
    """The system with the figures multiplied; `BadDescription` where that leaves no valid one.

    A clock divides the execution times on its processors: all of their cycles are taken to be the core's.
    For a faster clock that is optimistic where they wait for memory, for a slower one it is safe.
    """
    data = system.to_json()
    platform = system.platform_description.to_json()
    scale_data(data, platform, system, scale, factor)
    return system_from_data(data, file=system.file, platform=platform_from_data(platform))


def scale_data(
    data: dict[str, Any], platform: dict[str, Any], system: System, scale: Scale, factor: Fraction
) -> None:
    """The same of a description and a platform as plain data, which are changed."""
    if scale.what == "wcet":
        for name, task in data["tasks"].items():
            if scale.of in (None, name):
                _scale_execution(task, factor, None, "")
        for accelerator in data.get("accelerators", {}).values() if scale.of is None else ():
            _scale_operations(accelerator, factor)
    elif scale.what == "clock":
        for name, task in data["tasks"].items():
            own = system.core_of(name).processor_name
            _scale_execution(task, 1 / factor, scale.of, own)
        for accelerator in data.get("accelerators", {}).values():
            own = system.platform_description.core(accelerator["on"]).processor_name
            if scale.of in (None, own):
                _scale_operations(accelerator, 1 / factor)
        for name, processor in platform["processors"].items():
            if scale.of in (None, name) and "clock" in processor:
                _scale_at(processor, "clock", Frequency, factor)
    elif scale.what == "bandwidth":
        for kind in ("memories", "dmas", "links"):
            for name, part in platform.get(kind, {}).items():
                for holder, key in _rates(part) if scale.of in (None, name) else ():
                    rate = key == "rate"
                    _scale_at(holder, key, DataRate if rate else Duration, factor if rate else 1 / factor)
    else:
        for name, group in platform["cores"].items():
            scratchpad = group.get("scratchpad") if scale.of in (None, name) else None
            if scratchpad is not None:
                _scale_scratchpad(scratchpad, factor)


def _computing(system: System) -> set[str]:
    serving = {accelerator.on for accelerator in system.accelerators.values()}
    return serving | {
        core for task in system.tasks.values() for core in (task.on, task.master) if core is not None
    }


def _rates(part: Any) -> Iterator[tuple[dict[str, Any], str]]:
    """Places of bandwidths: rates, and times for each byte."""
    if not isinstance(part, dict):
        return
    for key in ("rate", "per_byte"):
        if key in part:
            yield part, key
    for key, inside in part.items():
        if key == "from" and isinstance(inside, dict):
            for each in inside.values():
                yield from _rates(each)
        elif key in _COSTS:
            yield from _rates(inside)


def _scale_execution(task: dict[str, Any], factor: Fraction, processor: str | None, own: str) -> None:
    """The execution times of a task, of those on one kind of processor or of all; and how long it holds
    resources, which is a part of them."""

    def every(holder: dict[str, Any], key: str, on: str) -> None:
        value = holder[key]
        if isinstance(value, dict) and "value" not in value:
            # By kind of processor, and below that by the way of executing there.
            for inside in [inside for inside in value if inside not in KINDS]:
                every(value, inside, inside if holder is task else on)
        elif processor in (None, on):
            _scale_at(holder, key, Duration, factor)

    for key in ("wcet", "bcet"):
        if key in task:
            every(task, key, own)
    for section in task.get("sections", {}).values() if processor in (None, own) else ():
        _scale_at(section, "length", Duration, factor)


def _scale_operations(accelerator: dict[str, Any], factor: Fraction) -> None:
    for operation in accelerator["operations"].values():
        for key in ("wcet", "bcet"):
            if key in operation:
                _scale_at(operation, key, Duration, factor)


def _scale_scratchpad(scratchpad: dict[str, Any], factor: Fraction) -> None:
    parts = [key for key in ("instructions", "data") if key in scratchpad]
    for key in ("size", *parts):
        _scale_at(scratchpad, key, Size, factor, scratchpad["partitions"])
    if len(parts) == 2:
        # Rounding may have taken less of the whole than of its parts.
        whole = sum(Size.parse(_text(scratchpad[key])).value for key in parts)
        _put(scratchpad, "size", str(Size(whole)), factor)


def _scale_at(
    holder: dict[str, Any], key: str, kind: type[Quantity], factor: Fraction, parts: int = 1
) -> None:
    """Rounded to the side on which more is needed: times up, all else down, to so many equal parts."""
    exact = kind.parse(_text(holder[key])).value * factor
    rounded = -(-exact.numerator // exact.denominator) if kind is Duration else int(exact / parts) * parts
    _put(holder, key, str(kind(rounded)), factor)


def _text(value: Any) -> str:
    """A figure's quantity, with or without a source beside it."""
    return str(value["value"] if isinstance(value, dict) else value)


def _put(holder: dict[str, Any], key: str, new: str, factor: Fraction) -> None:
    source = {"assumed": ASSUMED.format(f"{float(factor):.6g}")}
    holder[key] = {"value": new, **source} if isinstance(holder[key], dict) else new


# How much harder, and how much easier, than the description it is tried: powers of two.
HARDEST, EASIEST = 10, -6
# Halvings between the last that holds and the first that does not: to a five-hundredth.
HALVINGS = 9
# Easier factors are tried at these parts of the result.
EASIER = tuple(Fraction(k, 8) for k in range(1, 8))
SEARCHED = {
    "wcet": "largest factor of execution times",
    "clock": "smallest factor of the clock",
    "bandwidth": "smallest factor of the bandwidth",
    "scratchpad": "smallest factor of the scratchpad",
}


@dataclass(frozen=True)
class Sensitivity:
    """The hardest factor with which everything holds, as it does with all easier ones that were tried."""

    scale: Scale
    factor: float | None
    """None: none that was tried holds."""
    tried: int
    note: str = ""

    @property
    def kind(self) -> str:
        return SEARCHED[self.scale.what]

    @property
    def of(self) -> str | None:
        return self.scale.of

    def line(self) -> str:
        """The result, in words."""
        of = f" of {self.of}" if self.of else ""
        found = "none" if self.factor is None else f"{self.factor:.4g}"
        note = f" ({self.note})" if self.note else ""
        return f"{self.kind}{of}: {found}{note}"

    def to_json(self) -> dict[str, Any]:
        return {
            "what": self.scale.what,
            "of": self.of,
            "kind": self.kind,
            "factor": self.factor,
            "tried": self.tried,
            "note": self.note,
            "provenance": "bound",
        }


def sensitivity(
    system: System,
    kinds: Sequence[str] = tuple(SEARCHED),
    *,
    progress: Progress = silent,
) -> list[Sensitivity]:
    """The factors of execution times, of all and of each task; and of each clock, bandwidth and scratchpad:
    of those `kinds`.

    Each takes some twenty analyses of the whole system.
    """
    scales = list(_scales(system, kinds))
    found = []
    for index, scale in enumerate(scales):
        progress(str(scale), index / len(scales))
        found.append(_search(system, scale))
    return found


def _scales(system: System, kinds: Sequence[str]) -> Iterator[Scale]:
    for what in kinds:
        names = names_of(system, what)
        if names and (what == "wcet" or len(names) > 1):
            yield Scale(what)
        for name in names:
            yield Scale(what, name)


def _search(system: System, scale: Scale) -> Sensitivity:
    lacking: dict[str, None] = {}

    def holds(hardness: Fraction) -> bool:
        factor = hardness if scale.what == "wcet" else 1 / hardness
        try:
            harder = scaled(system, scale, factor)
            bounds = analyze_system(harder)
        except BadDescription:
            return False
        lacking.update(dict.fromkeys(lacking_figures(plan_of(harder), bounds)))
        return all(bound.schedulable for bound in bounds)

    hardest, tried, failed_easier = hardest_that_holds(holds)
    if hardest is None:
        note = "with none that was tried everything holds"
        if lacking:
            note = f"not known: {named(list(lacking))}"
        return Sensitivity(scale, None, tried, note)
    factor = float(hardest if scale.what == "wcet" else 1 / hardest)
    note = ""
    if hardest == Fraction(2) ** HARDEST:
        note = "not limiting: no harder one was tried"
    elif failed_easier:
        note = "some harder ones hold too, but not all that are easier than those: no bound of it is monotone"
    return Sensitivity(scale, factor, tried, note)


def hardest_that_holds(holds: Callable[[Fraction], bool]) -> tuple[Fraction | None, int, bool]:
    """The hardest value that holds and of which every easier one that was tried holds, too; how many were
    tried; and whether an easier one than some that holds does not."""
    seen: dict[Fraction, bool] = {}

    def look(value: Fraction) -> bool:
        if value not in seen:
            seen[value] = holds(value)
        return seen[value]

    good = next(
        (Fraction(2) ** power for power in range(0, EASIEST - 1, -1) if look(Fraction(2) ** power)), None
    )
    if good is None:
        return None, len(seen), False
    while good < Fraction(2) ** HARDEST and look(good * 2):
        good *= 2
    if good < Fraction(2) ** HARDEST:
        good = _between(look, good, good * 2)
    # Where an easier one fails, what is below it counts, and is looked at likewise.
    while (bad := next((good * part for part in EASIER if not look(good * part)), None)) is not None:
        below = [value for value, held in seen.items() if held and value < bad]
        if not below:
            return None, len(seen), True
        good = _between(look, max(below), bad)
    broken = min((value for value, held in seen.items() if not held), default=None)
    failed_easier = broken is not None and any(held and value > broken for value, held in seen.items())
    return good, len(seen), failed_easier


def _between(look: Callable[[Fraction], bool], good: Fraction, bad: Fraction) -> Fraction:
    for _ in range(HALVINGS):
        middle = (good + bad) / 2
        if look(middle):
            good = middle
        else:
            bad = middle
    return good
