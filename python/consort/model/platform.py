# SPDX-License-Identifier: Apache-2.0
"""Platform descriptions: the cores and memories that a system is placed on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from consort.errors import BadInput
from consort.model.base import Described, Name, Version
from consort.model.document import Document, read_document
from consort.model.problems import BadDescription, closest, nearest
from consort.model.validate import validate


class Processor(Described):
    """A kind of processor."""

    isa: Literal["probed", "x86_64", "aarch64", "armv7-a", "armv7-r", "armv7e-m", "riscv64", "powerpc"] = (
        Field(description="Instruction set; 'probed' is whatever the machine that runs the system has.")
    )


class CoreGroup(Described):
    """Equal cores, named by the group and an index: group 'worker' with count 2 is worker-0 and worker-1."""

    processor: Name = Field(description="The kind of processor these cores are, a key under 'processors'.")
    count: Annotated[int, Field(ge=1, le=1024)] = Field(description="How many cores there are.")
    cpu: Literal["auto"] | None = Field(
        default=None,
        description="'auto': a core that a system uses is mapped to one of the machine's CPUs when it runs.",
    )


class Memory(Described):
    """A memory that channels can be placed in."""

    kind: Literal["posix-shared-memory"] = Field(description="How the memory is reached.")


class Platform(Described):
    """A platform: processors, cores and memories."""

    consort: Version = Field(description="Version of the description's form.")
    name: Name = Field(description="The platform's name, which is the file's name without .yaml.")
    description: str = Field(default="", description="What the platform is, in a line.")
    processors: dict[Name, Processor] = Field(description="Kinds of processor.")
    cores: dict[Name, CoreGroup] = Field(description="Groups of equal cores.")
    memories: dict[Name, Memory] = Field(description="Memories that channels can be placed in.")

    def unknown_core(self, core: str) -> str:
        """What to say of a core that is not there."""
        group, _, index = core.rpartition("-")
        ranges = {
            name: f"{name}-0" if cores.count == 1 else f"{name}-0 to {name}-{cores.count - 1}"
            for name, cores in self.cores.items()
        }
        if group in ranges and index.isdecimal():
            hint = f"{group} cores: {ranges[group]}"
        else:
            close = closest(core, self.core_names())
            hint = f"did you mean {close!r}?" if close else f"cores: {', '.join(ranges.values())}"
        return f"{core!r} is no core of platform {self.name}; {hint}"

    def core_names(self) -> list[str]:
        return [f"{group}-{index}" for group, cores in self.cores.items() for index in range(cores.count)]


def platform_folders() -> list[Path]:
    """Where platform files are looked for: in the installed package, then in the source tree."""
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
        if not path.is_file():
            raise LookupError(
                f"the platform file {reference!r} does not exist; its path is relative to the description"
            )
        return path
    for folder in platform_folders():
        path = folder / f"{reference}.yaml"
        if path.is_file():
            return path
    raise LookupError(
        f"the platform {reference!r} is not known; {nearest(reference, known_platforms(), 'known platforms')}"
    )


def load_platform(path: Path) -> Platform:
    """Reads a platform file; `BadDescription` with all that is wrong with it."""
    document = read_document(path, "platform description")
    platform, _ = validate(Platform, document)
    problems = [*document.problems, *_cross_check(document, platform)]
    if problems or platform is None:
        raise BadDescription(problems)
    return platform


def _cross_check(document: Document, platform: Platform | None) -> list[BadInput]:
    if platform is None:
        return []
    problems = [
        document.problem(
            ("cores", name, "processor"),
            f"the processor {group.processor!r} is not known;"
            f" {nearest(group.processor, platform.processors, 'processors')}",
        )
        for name, group in platform.cores.items()
        if group.processor not in platform.processors
    ]
    if document.file.stem != platform.name:
        problems.append(
            document.problem(
                ("name",), f"{platform.name!r} is not the file's name; write {document.file.stem!r}"
            )
        )
    return problems
