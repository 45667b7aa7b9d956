# SPDX-License-Identifier: Apache-2.0
"""Quantities with a unit, read exactly into integers.

Time is kept in whole picoseconds: a nanosecond is too coarse for the cost of one byte or one clock cycle. A
duration that is written is at most 1,000,000 s, for checks, analyses and simulations alike. Frequencies are
whole hertz, sizes whole bytes, data rates whole bytes a second, energies whole picojoules. Nothing is ever
rounded: what is not a whole number of its base unit is refused.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Self

from consort.model.base import TextValue, WrongValue, an, kind_of

# Figures cross to C++ as signed 64-bit integers.
LARGEST = 2**63 - 1
_NUMBER = r"[0-9]+(?:\.[0-9]+)?"
_SHAPE = re.compile(rf"({_NUMBER}) ?([^0-9\s.+-][^0-9\s]*)")
_BARE = re.compile(rf"[+-]?{_NUMBER}")

# How data sheets write bits a second.
_BITS = re.compile(r"(?P<prefix>[kKmMgG]?)(?P<word>b|bit|bits)(?:/s|ps)")


def _pattern(units: dict[str, int]) -> str:
    return rf"^{_NUMBER} ?(?:{'|'.join(units)})$"


class OutOfRange(ValueError):
    """A number that is negative, or too large for the signed 64 bits that a quantity has."""


@dataclass(frozen=True, order=True)
class Quantity(TextValue):
    """A non-negative whole number of a base unit."""

    value: int

    units: ClassVar[dict[str, int]]
    base: ClassVar[str]
    zero_unit: ClassVar[str]
    synonyms: ClassVar[dict[str, str]] = {}
    # The largest value that may be written; sums that are computed from such may be larger.
    largest: ClassVar[int] = LARGEST

    def __post_init__(self) -> None:
        if not 0 <= self.value <= LARGEST:
            shown = str(self.value) if abs(self.value) < 1 << 128 else "a number of more than 128 bits"
            raise OutOfRange(f"{shown} {self.base} is outside 0 to {LARGEST}")

    @classmethod
    def no_text(cls, value: object) -> str:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return _without_unit(cls, str(value))
        return super().no_text(value)

    # A description is read again for each change that an analysis tries; it says the same few quantities.
    @classmethod
    @lru_cache(maxsize=4096)
    def parse(cls, text: str) -> Self:
        shape = _SHAPE.fullmatch(text)
        if shape is None:
            if _BARE.fullmatch(text):
                raise WrongValue(_without_unit(cls, text))
            raise WrongValue(
                f"{text!r} is not {an(cls.what)}; write a number and a unit, for example {cls.examples[0]}"
            )
        number, unit = shape.group(1), cls.synonyms.get(shape.group(2), shape.group(2))
        factor = cls.units.get(unit)
        if factor is None:
            raise WrongValue(_wrong_unit(cls, text, number, unit))
        exact = Fraction(number) * factor
        if exact.denominator != 1:
            raise WrongValue(f"{text!r} is not a whole number of {cls.base}; quantities are never rounded")
        if exact.numerator > cls.largest:
            raise WrongValue(f"{text!r} is too large; the largest {cls.what} is {cls._spell(cls.largest)}")
        return cls(exact.numerator)

    @classmethod
    def _spell(cls, value: int) -> str:
        if value == 0:
            return f"0{cls.zero_unit}"
        whole = [
            (value // factor, -factor, unit) for unit, factor in cls.units.items() if value % factor == 0
        ]
        number, _, unit = min(whole)
        return f"{number}{unit}"

    @classmethod
    def spelled(cls, value: int) -> str:
        """The spelling of a value as a quantity; also of a sum, which may be more than a quantity holds."""
        return cls._spell(value)

    def __str__(self) -> str:
        """The shortest exact spelling, which reads back as the same quantity."""
        return self._spell(self.value)


def _without_unit(wanted: type[Quantity], number: str) -> str:
    return (
        f"{number} has no unit; {an(wanted.what)} is a number with one of {', '.join(wanted.units)},"
        f" for example {wanted.examples[0]}"
    )


def _wrong_unit(wanted: type[Quantity], text: str, number: str, unit: str) -> str:
    for other in QUANTITIES:
        if other is not wanted and other.synonyms.get(unit, unit) in other.units:
            return (
                f"{text!r} is {an(other.what)}; {an(wanted.what)} is needed, for example {wanted.examples[0]}"
            )
    bits = _BITS.fullmatch(unit)
    if bits is not None and wanted is DataRate:
        return _in_bits(text, number, bits)
    if unit in ("KB", "KB/s"):
        rate = unit.removeprefix("KB")
        likely = [f"{number}kB{rate}", f"{number}KiB{rate}"]
    else:
        likely = [f"{number}{u}" for u in wanted.units if u.lower() == unit.lower()]
        likely = likely or [f"{number}{u}" for u in difflib.get_close_matches(unit, wanted.units, n=1)]
    if likely:
        return f"{text!r} has the unknown unit {unit!r}; did you mean {' or '.join(likely)}?"
    return f"{text!r} has the unknown unit {unit!r}; {an(wanted.what)} is in {', '.join(wanted.units)}"


def _in_bits(text: str, number: str, unit: re.Match[str]) -> str:
    prefix = {"K": "k", "m": "M", "g": "G"}.get(unit["prefix"], unit["prefix"])
    exact = Fraction(number) * _SIZES[f"{prefix}B"] / 8
    write = (
        f"write {DataRate.spelled(exact.numerator)}" if exact.denominator == 1 else "eight bits are a byte"
    )
    meant = f", or {number}{prefix}B/s if bytes are meant" if unit["word"] == "b" else ""
    return f"{text!r} is in bits, and a data rate is in bytes; {write}{meant}"


@dataclass(frozen=True, order=True)
class Duration(Quantity):
    """A span of time in whole picoseconds."""

    what = "duration"
    base = "picoseconds"
    zero_unit = "ns"
    # A few of them added up, as analyses and simulations do, stay within 63 bits.
    largest: ClassVar[int] = 10**18
    units: ClassVar[dict[str, int]] = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}
    # The micro sign and the Greek letter look alike; both are typed.
    synonyms: ClassVar[dict[str, str]] = {"\u00b5s": "us", "\u03bcs": "us"}
    pattern = _pattern({**units, **dict.fromkeys(synonyms, 0)})
    description = "A duration: a number and ps, ns, us, ms or s."
    examples = ("50us", "1.5ms", "432us")

    @property
    def picoseconds(self) -> int:
        return self.value

    @property
    def nanoseconds(self) -> int:
        """Whole nanoseconds, which is what clocks and timers of hosts take; `ValueError` when not whole."""
        if self.value % 1000:
            raise ValueError(f"{self} is not a whole number of nanoseconds")
        return self.value // 1000

    @property
    def seconds(self) -> Fraction:
        return Fraction(self.value, 10**12)


@dataclass(frozen=True, order=True)
class Frequency(Quantity):
    """A frequency in whole hertz."""

    what = "frequency"
    base = "hertz"
    zero_unit = "Hz"
    units: ClassVar[dict[str, int]] = {"Hz": 1, "kHz": 10**3, "MHz": 10**6, "GHz": 10**9}
    pattern = _pattern(units)
    description = "A frequency: a number and Hz, kHz, MHz or GHz."
    examples = ("20kHz", "1.2GHz")

    @property
    def hertz(self) -> int:
        return self.value

    @property
    def period(self) -> Fraction:
        """Seconds from one sample to the next, exactly."""
        return Fraction(1, self.value)


_SIZES = {"B": 1, "kB": 10**3, "KiB": 2**10, "MB": 10**6, "MiB": 2**20, "GB": 10**9, "GiB": 2**30}


@dataclass(frozen=True, order=True)
class Size(Quantity):
    """An amount of memory in whole bytes."""

    what = "size"
    base = "bytes"
    zero_unit = "B"
    units: ClassVar[dict[str, int]] = _SIZES
    pattern = _pattern(units)
    description = "A size: a number and B, KiB, MiB, GiB (powers of 1024) or kB, MB, GB (powers of 1000)."
    examples = ("64KiB", "256MiB", "48B")

    @property
    def bytes(self) -> int:
        return self.value


@dataclass(frozen=True, order=True)
class DataRate(Quantity):
    """A data rate in whole bytes a second."""

    what = "data rate"
    base = "bytes a second"
    zero_unit = "B/s"
    units: ClassVar[dict[str, int]] = {f"{unit}/s": factor for unit, factor in _SIZES.items()}
    pattern = _pattern(units)
    description = "A data rate: a number and B/s, kB/s, MB/s, GB/s, KiB/s, MiB/s or GiB/s."
    examples = ("3.3GB/s", "400MiB/s")

    @property
    def bytes_per_second(self) -> int:
        return self.value


@dataclass(frozen=True, order=True)
class Energy(Quantity):
    """An amount of energy in whole picojoules."""

    what = "energy"
    base = "picojoules"
    zero_unit = "nJ"
    units: ClassVar[dict[str, int]] = {"pJ": 1, "nJ": 10**3, "uJ": 10**6, "mJ": 10**9, "J": 10**12}
    synonyms: ClassVar[dict[str, str]] = {"\u00b5J": "uJ", "\u03bcJ": "uJ"}
    pattern = _pattern({**units, **dict.fromkeys(synonyms, 0)})
    description = "An energy: a number and pJ, nJ, uJ, mJ or J."
    examples = ("12uJ", "1.5mJ")

    @property
    def picojoules(self) -> int:
        return self.value


QUANTITIES: tuple[type[Quantity], ...] = (Duration, Frequency, Size, DataRate, Energy)


@dataclass(frozen=True)
class Tolerance(TextValue):
    """The allowed distance of an output from its golden value: steps of its own number format."""

    count: int
    unit: str

    what = "tolerance"
    pattern = r"^[0-9]+ ?(?:ulp|LSB)$"
    description = (
        "How far an output may lie from the golden one: a whole number of ulp (floating point) or LSB"
        " (integers)."
    )
    examples = ("0ulp", "4ulp", "1LSB")

    @classmethod
    def parse(cls, text: str) -> Tolerance:
        shape = re.fullmatch(r"([0-9]+) ?(ulp|LSB)", text)
        if shape is None:
            raise WrongValue(
                f"{text!r} is not a tolerance; write a whole number of ulp (floating point) or LSB"
                f" (integers), for example 4ulp"
            )
        count = int(shape.group(1)) if len(shape.group(1)) < 20 else LARGEST + 1
        if count > LARGEST:
            raise WrongValue(f"{text!r} is too large; the largest tolerance is {LARGEST}{shape.group(2)}")
        return cls(count, shape.group(2))

    def __str__(self) -> str:
        return f"{self.count}{self.unit}"


__all__ = ["DataRate", "Duration", "Energy", "Frequency", "Quantity", "Size", "Tolerance", "kind_of"]
