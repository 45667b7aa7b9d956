# SPDX-License-Identifier: Apache-2.0
"""Quantities are read exactly or not at all."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

import pytest
from consort.model import DataRate, Duration, Frequency, Size, Tolerance
from consort.model.base import WrongValue
from consort.model.quantities import LARGEST, QUANTITIES, Quantity
from hypothesis import example, given
from hypothesis import strategies as st
from loops import for_each

KINDS = st.sampled_from(QUANTITIES)


@for_each(
    ("kind", "text", "value"),
    [
        (Duration, "50us", 50_000_000),
        (Duration, "1.5 ms", 1_500_000_000),
        (Duration, "0.001ns", 1),
        (Duration, "3.16us", 3_160_000),
        (Duration, "432\u00b5s", 432_000_000),
        (Duration, "432\u03bcs", 432_000_000),
        (Duration, "0ns", 0),
        (Frequency, "20kHz", 20_000),
        (Frequency, "1.2GHz", 1_200_000_000),
        (Frequency, "33.333333MHz", 33_333_333),
        (Size, "64KiB", 65_536),
        (Size, "0.5KiB", 512),
        (Size, "48B", 48),
        (Size, "2GB", 2_000_000_000),
        (DataRate, "3.3GB/s", 3_300_000_000),
        (DataRate, "1MiB/s", 1_048_576),
    ],
)
def test_read(kind: type[Quantity], text: str, value: int) -> None:
    assert kind.parse(text) == kind(value)


@for_each(
    ("kind", "text", "says"),
    [
        (Size, "64KB", "'64KB' has the unknown unit 'KB'; did you mean 64kB or 64KiB?"),
        (
            DataRate,
            "5kb/s",
            "'5kb/s' is in bits, and a data rate is in bytes; write 625B/s, or 5kB/s if bytes are meant",
        ),
        (DataRate, "8 Mbit/s", "'8 Mbit/s' is in bits, and a data rate is in bytes; write 1MB/s"),
        (
            DataRate,
            "1kbps",
            "'1kbps' is in bits, and a data rate is in bytes; write 125B/s, or 1kB/s if bytes are meant",
        ),
        (DataRate, "1bit/s", "'1bit/s' is in bits, and a data rate is in bytes; eight bits are a byte"),
        (DataRate, "1KB/s", "'1KB/s' has the unknown unit 'KB/s'; did you mean 1kB/s or 1KiB/s?"),
        (DataRate, "3.3GB", "'3.3GB' is a size; a data rate is needed, for example 3.3GB/s"),
        (Size, "0.3B", "'0.3B' is not a whole number of bytes; quantities are never rounded"),
        (Frequency, "0.5Hz", "'0.5Hz' is not a whole number of hertz; quantities are never rounded"),
        (Size, "1e3B", "'1e3B' is not a size; write a number and a unit, for example 64KiB"),
        (Duration, "1_000us", "'1_000us' is not a duration; write a number and a unit, for example 50us"),
        (
            Duration,
            "7 fortnights",
            "'7 fortnights' has the unknown unit 'fortnights'; a duration is in ps, ns, us, ms, s",
        ),
        (Duration, "", "'' is not a duration; write a number and a unit, for example 50us"),
    ],
)
def test_refused(kind: type[Quantity], text: str, says: str) -> None:
    with pytest.raises(WrongValue) as caught:
        kind.parse(text)
    assert str(caught.value) == says


@given(KINDS, st.integers(0, LARGEST))
@example(Duration, Duration.largest)
@example(Size, 0)
def test_spelling_reads_back(kind: type[Quantity], value: int) -> None:
    value = min(value, kind.largest)
    text = str(kind(value))
    assert kind.parse(text) == kind(value)
    assert re.fullmatch(kind.pattern, text)


@given(KINDS, st.data(), st.decimals(0, 10**9, allow_nan=False, allow_infinity=False, places=5))
def test_decimals_are_exact_or_refused(kind: type[Quantity], data: st.DataObject, number: Decimal) -> None:
    unit = data.draw(st.sampled_from(list(kind.units)))
    exact = Fraction(number) * kind.units[unit]
    text = f"{number:f}{unit}"
    if exact.denominator == 1 and exact <= kind.largest:
        assert kind.parse(text).value == exact
    else:
        with pytest.raises(WrongValue):
            kind.parse(text)


@given(KINDS, st.text(max_size=12) | st.from_regex(r"[0-9.]{1,4} ?[A-Za-z/]{0,5}", fullmatch=True))
@example(Duration, "5\u0665us")
@example(Duration, "50us\n")
def test_any_text_is_read_or_refused(kind: type[Quantity], text: str) -> None:
    try:
        kind.parse(text)
    except WrongValue as error:
        assert "; " in str(error)
    else:
        # Every text that is read also passes the schema's pattern.
        assert re.fullmatch(kind.pattern, text)


@given(st.integers(0, 10**18), st.integers(0, 10**18))
def test_order_is_that_of_the_values(a: int, b: int) -> None:
    assert (Duration(a) < Duration(b)) == (a < b)


def test_kinds_do_not_mix() -> None:
    assert Duration(5) != Frequency(5)
    with pytest.raises(TypeError):
        _ = Duration(5) < Frequency(6)  # type: ignore[operator]


def test_conversions() -> None:
    assert Duration.parse("50us").nanoseconds == 50_000
    assert Duration.parse("7ns").picoseconds == 7_000
    assert Duration.parse("1.5s").seconds == Fraction(3, 2)
    assert Frequency.parse("20kHz").period == Fraction(1, 20_000)
    with pytest.raises(ValueError, match="1ps is not a whole number of nanoseconds"):
        _ = Duration(1).nanoseconds
    with pytest.raises(ValueError, match="outside"):
        Duration(-1)
    with pytest.raises(ValueError, match="outside"):
        Size(LARGEST + 1)


@given(st.integers(0, 10**6), st.sampled_from(["ulp", "LSB"]))
def test_tolerance_reads_back(count: int, unit: str) -> None:
    assert str(Tolerance.parse(f"{count} {unit}")) == f"{count}{unit}"


@pytest.mark.parametrize("count", [2**63, 10**30])
def test_a_tolerance_that_no_format_has_is_refused(count: int) -> None:
    with pytest.raises(ValueError, match="is too large; the largest tolerance is 9223372036854775807ulp"):
        Tolerance.parse(f"{count}ulp")
