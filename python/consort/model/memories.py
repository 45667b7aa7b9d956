# SPDX-License-Identifier: Apache-2.0
"""Memories, DMA engines and links of a platform, and how long accesses, transfers and exchanges take."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, ModelWrapValidatorHandler, Strict, model_validator
from pydantic_core import PydanticCustomError

from consort.model.base import Address, Name
from consort.model.figures import (
    DurationFigure,
    FrequencyFigure,
    RateFigure,
    SizeFigure,
    Sourced,
)

MemoryKind = Literal[
    "posix-shared-memory", "ddr", "sram", "ocm", "tcm", "scratchpad", "flash", "cache", "remote"
]


class LoadedCost(Sourced):
    """The cost of an access while other cores access memory too."""

    base: DurationFigure | None = Field(default=None, description="For each access.")
    per_byte: DurationFigure | None = Field(default=None, description="For each byte of it.")
    rate: RateFigure | None = Field(default=None, description="Instead of per_byte: bytes in a time.")
    granularity: SizeFigure | None = Field(
        default=None,
        description="Pieces that an access is made of, one after another, each at the cost given; without it"
        " an access is one piece.",
    )

    @model_validator(mode="wrap")
    @classmethod
    def _one_slope(cls, value: Any, handler: ModelWrapValidatorHandler[Any]) -> Any:
        result = handler(value)
        if result.per_byte is not None and result.rate is not None:
            text = "per_byte and rate say the same thing; keep one of them"
            raise PydanticCustomError("consort_value", "{text}", {"text": text})
        return result

    def picoseconds(self, size: int) -> int | None:
        """The time of one access to `size` bytes, rounded up; None where no figure is known."""
        if self.base is None and self.per_byte is None and self.rate is None:
            return None
        piece = self.granularity.value.bytes if self.granularity is not None else 0
        if piece:
            whole, rest = divmod(size, piece)
            return whole * self._piece(piece) + (self._piece(rest) if rest else 0)
        return self._piece(size)

    def _piece(self, size: int) -> int:
        total = self.base.value.picoseconds if self.base is not None else 0
        if self.per_byte is not None:
            total += size * self.per_byte.value.picoseconds
        elif self.rate is not None and self.rate.value.bytes_per_second > 0:
            total += -(-size * 10**12 // self.rate.value.bytes_per_second)
        return total


class AccessCost(LoadedCost):
    """The cost of an access: base + bytes * per_byte, or base + bytes / rate."""

    loaded: LoadedCost | None = Field(
        default=None, description="The same while other cores access memory too."
    )

    def under(self, loaded: bool) -> LoadedCost:
        """The costs with or without load; where none are given for load, the ones without."""
        return self.loaded if loaded and self.loaded is not None else self


class Access(AccessCost):
    """The cost of an access to a memory, in general and from certain kinds of processor."""

    from_: dict[Name, AccessCost] = Field(
        default={}, alias="from", description="Costs from kinds of processor for which they differ."
    )


class FaultCost(Sourced):
    """The cost of a fault on a page that is paged from remote memory."""

    page: DurationFigure = Field(
        description="The longest that a fault takes that brings one page, or lets one be written to: its"
        " waits for the server, for the way there and for a free page of the cache included.",
        examples=["40us"],
    )
    further: DurationFigure | None = Field(
        default=None, description="How much longer for each further page that it brings.", examples=["2us"]
    )

    def picoseconds(self, pages: int) -> int | None:
        """The longest time of a fault that brings so many pages; None where no figure is known."""
        if pages > 1 and self.further is None:
            return None
        more = 0 if self.further is None else self.further.value.picoseconds
        return self.page.value.picoseconds + (pages - 1) * more


class Memory(Sourced):
    """A memory that channels can be placed in."""

    kind: MemoryKind = Field(description="The kind of memory.")
    size: SizeFigure | None = Field(default=None, description="How much of it there is.")
    address: Address | None = Field(default=None, description="Where it begins.")
    access: Access | None = Field(
        default=None, description="The cost of an access.", examples=["{base: 100ns, rate: 3GB/s}"]
    )
    fault: FaultCost | None = Field(
        default=None,
        description="For remote memory that states of tasks lie in: the cost of a fault on a page.",
        examples=["{page: 40us, further: 2us}"],
    )
    description: str = Field(default="", description="A line of description.")

    def access_picoseconds(self, size: int, processor: str = "", *, loaded: bool = False) -> int | None:
        """The time of one access to `size` bytes from a kind of processor; None where it is not known."""
        if self.access is None:
            return None
        return self.access.from_.get(processor, self.access).under(loaded).picoseconds(size)


class Transfer(Sourced):
    """The time of one transfer."""

    size: SizeFigure | None = Field(default=None, description="How much is copied.")
    time: DurationFigure = Field(description="How long it takes.", examples=["432us"])
    from_: Name | None = Field(default=None, alias="from", description="The memory that is read.")
    to: Name | None = Field(default=None, description="The memory that is written.")


class Dma(Sourced):
    """A DMA engine."""

    channels: Annotated[int, Field(ge=1, le=1024)] = Field(
        default=1, description="Transfers it can do side by side."
    )
    clock: FrequencyFigure | None = Field(default=None, description="Its clock.")
    setup: DurationFigure | None = Field(default=None, description="The cost of programming a transfer.")
    rate: RateFigure | None = Field(default=None, description="Bytes copied in a time.")
    transfers: dict[Name, Transfer] = Field(
        default={},
        description="Single transfers that were timed; none of as many bytes or more is taken for shorter.",
    )
    description: str = Field(default="", description="A line of description.")

    def picoseconds(self, size: int) -> int | None:
        """Setup and copy of `size` bytes [ps], rounded up; None where the rate is not known.

        It takes no less than a timed transfer of as many bytes, or fewer, took.
        """
        if self.rate is None or self.rate.value.bytes_per_second == 0:
            return None
        setup = self.setup.value.picoseconds if self.setup is not None else 0
        computed = setup + -(-size * 10**12 // self.rate.value.bytes_per_second)
        return max(computed, *(one.time.value.picoseconds for one in self.timed(size).values()), 0)

    def timed(self, size: int) -> dict[str, Transfer]:
        """The timed transfers of at most `size` bytes; one without a size says nothing of another."""
        return {
            name: one
            for name, one in self.transfers.items()
            if one.size is not None and one.size.value.bytes <= size
        }


class Link(Sourced):
    """A link between parts of a platform, or between platforms."""

    between: Annotated[tuple[Name, ...], Strict(False), Field(min_length=2, max_length=2)] = Field(
        description="The two ends: processors, groups of cores, memories or devices.",
        examples=["[x86, a72]"],
    )
    latency: DurationFigure | None = Field(default=None, description="The time of the way, beside the setup.")
    rate: RateFigure | None = Field(default=None, description="The rate in practice.")
    setup: DurationFigure | None = Field(
        default=None, description="The cost of a transfer besides its descriptors and bytes."
    )
    descriptor: SizeFigure | None = Field(
        default=None, description="How many bytes one descriptor covers; without it a transfer has one."
    )
    per_descriptor: DurationFigure | None = Field(
        default=None, description="The cost of each descriptor: posting, fetching, processing."
    )
    sides: dict[Name, Name] = Field(
        default={},
        description="The end that each kind of processor is at; a channel on the link needs them.",
        examples=["{x86: host-ddr, a72: ddr}"],
    )
    peak: RateFigure | None = Field(default=None, description="The rate in theory.")
    clock: FrequencyFigure | None = Field(default=None, description="The clock of its logic.")
    description: str = Field(default="", description="A line of description.")

    def lacks(self) -> list[str]:
        """The figures without which the time of a transfer is unknown."""
        return [key for key in ("setup", "per_descriptor", "rate") if getattr(self, key) is None]

    def picoseconds(self, size: int) -> int | None:
        """One transfer of `size` bytes with its latency [ps], rounded up; None where a figure is missing."""
        if self.setup is None or self.per_descriptor is None or self.rate is None:
            return None
        piece = size if self.descriptor is None else self.descriptor.value.bytes
        descriptors = max(1, -(-size // piece)) if piece else 1
        copied = -(-size * 10**12 // self.rate.value.bytes_per_second)
        latency = 0 if self.latency is None else self.latency.value.picoseconds
        started = self.setup.value.picoseconds + latency
        return started + descriptors * self.per_descriptor.value.picoseconds + copied


class Statistics(Sourced):
    """Statistics of a measured time."""

    min: DurationFigure | None = Field(default=None, description="The shortest.")
    median: DurationFigure | None = Field(default=None, description="The median.")
    mean: DurationFigure | None = Field(default=None, description="The mean.")
    max: DurationFigure | None = Field(default=None, description="The longest.")


class Exchange(Statistics):
    """Times of a message or a signal from one processor to another."""

    from_: Name = Field(alias="from", description="The kind of processor that sends.", examples=["a53"])
    to: Name = Field(description="The kind of processor that receives.", examples=["r5f"])
    memory: Name | None = Field(
        default=None, description="The memory it goes through; without it an interrupt."
    )
    size: SizeFigure | None = Field(default=None, description="The bytes exchanged.")
    round_trip: bool = Field(default=False, description="True if the way back is in it.")
    loaded: Statistics | None = Field(default=None, description="The same with other cores busy.")
    description: str = Field(default="", description="The exchange that was timed, in a line.")
