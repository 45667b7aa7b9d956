# SPDX-License-Identifier: Apache-2.0
"""Platform descriptions: the cores and memories that a system is placed on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from consort.base.errors import BadDescription, closest, nearest
from consort.base.files import is_file
from consort.model.base import Described, Name, NonEmpty, Version, group_of, numbered
from consort.model.document import Document
from consort.model.emit import write_yaml
from consort.model.emulation import Emulation
from consort.model.figures import (
    DurationFigure,
    FrequencyFigure,
    Provenance,
    RateFigure,
    SizeFigure,
    Sourced,
    figures_in,
)
from consort.model.memories import Dma, Exchange, Link, Memory
from consort.model.platform_rules import check_platform_rules
from consort.model.reading import read_document
from consort.model.validate import pruned, validate

Isa = Literal[
    "probed",
    "x86_64",
    "aarch64",
    "armv7-a",
    "armv7-r",
    "armv7e-m",
    "armv8-r",
    "riscv32",
    "riscv64",
    "powerpc",
    "tricore",
    "other",
]


class Processor(Sourced):
    """A kind of processor."""

    isa: Isa = Field(
        description="Instruction set; 'probed' is whatever the machine that runs the system has."
    )
    clock: FrequencyFigure | None = Field(default=None, description="The clock of its cores.")
    caches: dict[Name, SizeFigure] = Field(default={}, description="Its caches' sizes, by name.")
    description: str = Field(default="", description="A line of description.")


class Scratchpad(Sourced):
    """A core's scratchpad, which three-phase tasks are loaded into."""

    size: SizeFigure = Field(description="All of it.", examples=["80KiB"])
    partitions: Annotated[int, Field(ge=1, le=64)] = Field(
        default=2, description="Equal parts: one executes while the other is unloaded and loaded."
    )
    instructions: SizeFigure | None = Field(
        default=None, description="The part of it that is for code, where code and data are apart."
    )
    data: SizeFigure | None = Field(default=None, description="The part of it that is for data.")

    @property
    def partition_bytes(self) -> int:
        """The size of one partition."""
        return self.size.value.bytes // self.partitions


class CoreGroup(Sourced):
    """Equal cores, named by the group and an index: group 'worker' with count 2 is worker-0 and worker-1."""

    processor: Name = Field(description="The kind of processor these cores are, a key under 'processors'.")
    count: Annotated[int, Field(ge=1, le=1024)] = Field(description="How many cores there are.")
    cpu: Literal["auto"] | None = Field(
        default=None,
        description="'auto': a core that a system uses is mapped to one of the machine's CPUs when it runs.",
    )
    scratchpad: Scratchpad | None = Field(
        default=None,
        description="The memory that each core has of its own.",
        examples=["{size: 80KiB, partitions: 2}"],
    )
    context_switch: DurationFigure | None = Field(
        default=None, description="The cost of going from one task to another."
    )
    timer_lateness: DurationFigure | None = Field(
        default=None,
        description="How late a timer wakes a sleeping task: every release of a core that sleeps has it,"
        " because it has several tasks, or by 'time_base: sleep'. Under 'hybrid' it is the margin.",
    )
    description: str = Field(default="", description="The purpose of these cores, in a line.")


class Device(Sourced):
    """Something outside the tasks that data comes from or goes to."""

    kind: NonEmpty | None = Field(default=None, description="The kind of device.", examples=["ethernet"])
    rate: RateFigure | None = Field(default=None, description="The data it can bring or take.")
    description: str = Field(default="", description="Its purpose, in a line.")


@dataclass(frozen=True)
class Core:
    """One core of a platform."""

    name: str
    group: str
    index: int
    processor_name: str
    processor: Processor
    description: CoreGroup

    @property
    def scratchpad(self) -> Scratchpad | None:
        return self.description.scratchpad


class Platform(Described):
    """A platform: processors, cores and memories, and what lies between them."""

    consort: Version = Field(description="Version of the description's form.")
    name: Name = Field(description="The platform's name, which is the file's name without .yaml.")
    description: str = Field(default="", description="The platform, in a line.")
    processors: dict[Name, Processor] = Field(description="Kinds of processor.")
    cores: dict[Name, CoreGroup] = Field(description="Groups of equal cores.")
    memories: dict[Name, Memory] = Field(default={}, description="Memories that channels can be placed in.")
    dmas: dict[Name, Dma] = Field(default={}, description="DMA engines.")
    links: dict[Name, Link] = Field(default={}, description="Links between its parts.")
    devices: dict[Name, Device] = Field(default={}, description="Sources and sinks of data.")
    exchanges: dict[Name, Exchange] = Field(
        default={}, description="How long messages and signals between processors took."
    )

    emulation: Emulation | None = Field(
        default=None, description="The emulated board that systems of this platform run on."
    )

    @cached_property
    def _named(self) -> dict[str, Core]:
        """Cores that were asked for: each task asks for its own several times."""
        return {}

    def core(self, name: str) -> Core:
        """A core by its name; `LookupError` with what was wrong where there is none."""
        found = self.known_core(name)
        if found is None:
            raise LookupError(self.unknown_core(name))
        return found

    def known_core(self, name: str) -> Core | None:
        """A core by its name; None where there is none."""
        named = self._named
        if name not in named:
            group, index = numbered(name)
            found = self.cores.get(group)
            if found is None or index is None or index >= found.count:
                return None
            named[name] = Core(name, group, index, found.processor, self.processors[found.processor], found)
        return named[name]

    def transfer_ps(self, size: int) -> int | None:
        """The longest that a DMA engine takes to move `size` bytes to or from a scratchpad [ps].

        Nobody says which of several engines does: the slowest. None where there is none, or one of them lacks
        its rate.
        """
        times = [engine.picoseconds(size) for engine in self.dmas.values()]
        known = [time for time in times if time is not None]
        return max(known) if known and len(known) == len(times) else None

    def cores_of(self, group: str) -> list[Core]:
        """The cores of a group."""
        return [self.core(f"{group}-{index}") for index in range(self.cores[group].count)]

    def ends(self) -> list[str]:
        """The ends that a link can join."""
        return [*dict.fromkeys([*self.processors, *self.cores, *self.memories, *self.devices])]

    def figures(self) -> list[tuple[str, object, Provenance | None]]:
        """Every figure of the platform: where it stands, its value, and where it comes from."""
        return self._figures

    @cached_property
    def _figures(self) -> list[tuple[str, object, Provenance | None]]:
        # Each plan of a system asks for them.
        return list(figures_in(self))

    def to_json(self) -> dict[str, Any]:
        """The platform with every default filled in; it is itself a valid platform description."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    def to_yaml(self, path: str | Path) -> None:
        """Writes the platform as a file that reads back as the same; it is named like the platform."""
        write_yaml(
            Path(path), self.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_unset=True)
        )

    def unknown_core(self, core: str) -> str:
        """The error message for a core that does not exist."""
        group, ranges = group_of(core), self.core_ranges()
        if group in ranges:
            hint = f"{group} cores: {ranges[group]}"
        else:
            close = closest(core, self.core_names())
            hint = f"did you mean {close!r}?" if close else f"cores: {', '.join(ranges.values())}"
        return f"{core!r} is not a core of platform {self.name}; {hint}"

    def core_ranges(self) -> dict[str, str]:
        """The cores of each group, in words."""
        return {
            name: f"{name}-0" if cores.count == 1 else f"{name}-0 to {name}-{cores.count - 1}"
            for name, cores in self.cores.items()
        }

    def core_names(self) -> list[str]:
        return [f"{group}-{index}" for group, cores in self.cores.items() for index in range(cores.count)]


def platform_folders() -> list[Path]:
    """Folders that are searched for platform files: in the installed package, then in the source tree."""
    package = Path(__file__).resolve().parents[1]
    return [package / "platforms", package.parents[1] / "platforms"]


def known_platforms() -> list[str]:
    return sorted({file.stem for folder in platform_folders() for file in folder.glob("*.yaml")})


def find_platform(reference: str, description: Path) -> Path:
    """The file of a platform: a name is one of Consort's own, what ends in .yaml a path from the description.

    `LookupError` with what was wrong when there is none.
    """
    if reference.endswith((".yaml", ".yml")):
        path = description.parent / reference
        if not is_file(path):
            raise LookupError(
                f"the platform file {reference[:200]!r} does not exist;"
                " its path is relative to the description"
            )
        return path
    for folder in platform_folders():
        path = folder / f"{reference}.yaml"
        if is_file(path):
            return path
    near = nearest(reference, known_platforms(), "known platforms")
    raise LookupError(f"the platform {reference[:200]!r} is not known; {near}")


def load_platform(path: Path) -> Platform:
    """Reads a platform file; `BadDescription` with all that is wrong with it."""
    return platform_of_document(read_document(path, "platform description"))


def platform_from_data(data: dict[str, Any], file: str | Path | None = None) -> Platform:
    """The platform that plain data describes, checked as a file is."""
    return platform_of_document(Document.of_data(data, Path(file or f"{data.get('name', 'platform')}.yaml")))


def platform_of_document(document: Document) -> Platform:
    """The platform of a file that was read; `BadDescription` with all that is wrong with it."""
    platform, wrong = validate(Platform, document)
    # Parts that break the form are taken out, and the rest is held to the rules.
    checked = pruned(Platform, document.data) if wrong else platform
    problems = [*document.problems, *check_platform_rules(document, wrong, checked)]
    if problems or platform is None:
        raise BadDescription(problems)
    return platform
