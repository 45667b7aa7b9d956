# SPDX-License-Identifier: Apache-2.0
"""Percentiles are exact order statistics; histograms are HdrHistogram's own."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from consort.base.errors import BadInput
from consort.record import summarise
from consort.record.columns import to_ns
from consort.record.summary import histogram, summarise_parts
from hdrh.histogram import HdrHistogram
from hypothesis import given
from hypothesis import strategies as st

samples = st.lists(st.integers(0, 10**11), min_size=1, max_size=300)


def test_a_known_set() -> None:
    values = np.random.default_rng(1).permutation(np.arange(1, 100_001))
    summary = summarise(values, "ns", "measured")
    assert summary is not None
    assert summary.as_dict() == {
        "n": 100_000,
        "min": 1,
        "mean": 50_000.5,
        "median": 50_000,
        "p99": 99_000,
        "p999": 99_900,
        "p9999": 99_990,
        "max": 100_000,
        "unit": "ns",
        "provenance": "measured",
        "unserved": 0,
    }


@given(samples)
def test_percentiles_are_the_nearest_rank(values: list[int]) -> None:
    summary = summarise(np.array(values, dtype=np.int64), "ns", "measured")
    assert summary is not None
    ordered = sorted(values)
    for name, share in (
        ("median", Fraction(1, 2)),
        ("p99", Fraction(99, 100)),
        ("p999", Fraction(999, 1000)),
        ("p9999", Fraction(9999, 10000)),
    ):
        assert getattr(summary, name) == ordered[math.ceil(len(ordered) * share) - 1]


@given(st.data())
def test_parts_have_the_summaries_that_each_has_alone(data: st.DataObject) -> None:
    whole = st.one_of(st.integers(-(2**62), 2**62), st.integers(-1000, 10**12))
    times = st.one_of(
        st.integers(0, 10**12).map(float), st.floats(allow_nan=False), st.just(math.inf), st.just(0.1)
    )
    values, kind = data.draw(st.sampled_from([(whole, np.int64), (times, np.float64)]))
    parts = data.draw(st.lists(st.lists(values, max_size=9), max_size=12))
    # One that is too long to be sorted with others, and two of one length that are not.
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    arrays = [np.array(part, dtype=kind) for part in parts]
    arrays += [rng.integers(0, 10**14, n).astype(kind) for n in (0, 300, 300, 1025)]
    found = summarise_parts(np.concatenate(arrays), [part.size for part in arrays], "ns", "simulated")
    assert [None if one is None else one.as_dict() for one in found] == [
        None if one is None else one.as_dict()
        for one in (summarise(part, "ns", "simulated") for part in arrays)
    ]
    # Also in kind: a whole number is written without a point.
    assert repr(found) == repr([summarise(part, "ns", "simulated") for part in arrays])


LARGEST = float(np.finfo(float).max)
# A part of each, rounded up: all parts together are beyond what a number holds.
FULL = [LARGEST] * 3


@pytest.mark.filterwarnings("error")
def test_no_figure_is_no_number() -> None:
    for values, mean, unserved in (
        ([math.inf, -math.inf, 1.0], None, 2),
        ([1.0, math.inf], None, 1),
        ([1.7e308, 1.7e308], 1.7e308, 0),
        (FULL, LARGEST, 0),
        ([-1.7e308, -1.7e308, 1.0], pytest.approx(-1.7e308 / 3 * 2), 0),
    ):
        summary = summarise(np.array(values), "ns", "measured")
        assert summary is not None and summary.mean == mean and summary.unserved == unserved
        assert summary.max in (None, max(values))
    for values in ([1.0, math.nan], [math.nan], [math.inf, math.nan]):
        with pytest.raises(BadInput, match="a sample is not a number"):
            summarise(np.array(values), "ns", "measured")


@pytest.mark.parametrize("n", [999, 1000, 1001, 9999, 10_000, 10_001, 2_000_000])
def test_ranks_do_not_slip_at_round_sizes(n: int) -> None:
    summary = summarise(np.arange(1, n + 1), "ns", "measured")
    assert summary is not None
    assert summary.p999 == math.ceil(n * Fraction(999, 1000))
    assert summary.p9999 == math.ceil(n * Fraction(9999, 10000))


def test_nothing_has_no_summary() -> None:
    assert summarise(np.array([], dtype=np.int64), "ns", "measured") is None
    assert histogram(np.array([], dtype=np.int64)) is None


def test_provenance_is_one_of_the_known_kinds() -> None:
    words = "'guessed' is not a kind of provenance; use one of published, derived, bound"
    with pytest.raises(BadInput, match=words):
        summarise(np.array([1]), "ns", "guessed")


@given(samples)
def test_histogram_is_the_one_that_single_records_give(values: list[int]) -> None:
    found = histogram(np.array(values, dtype=np.int64))
    assert found is not None
    one_by_one = HdrHistogram(1, max(2, *values, 2), 3)
    for value in values:
        one_by_one.record_value(value)
    expected = [
        (item.value_iterated_to, item.count_added_in_this_iter_step)
        for item in one_by_one.get_recorded_iterator()
    ]
    assert list(zip(found.values.tolist(), found.counts.tolist(), strict=True)) == expected


def test_negative_values_are_told() -> None:
    found = histogram(np.array([-5, -1, 0, 7], dtype=np.int64))
    assert found is not None and found.negative == 2
    assert found.values.tolist() == [0, 7]
    assert found.counts.tolist() == [3, 1]


def test_what_was_not_served_is_in_no_bucket() -> None:
    found = histogram(np.array([5.0, np.inf, np.inf]))
    assert found is not None and found.unserved == 2
    assert found.values.tolist() == [5]
    assert histogram(np.array([np.inf])) is None


@given(st.integers(0, 2**52), st.sampled_from([1e9, 24e6, 2_596_100_000.0, 32768.0]))
def test_ticks_become_the_nearest_nanosecond(ticks: int, hertz: float) -> None:
    ticks = min(ticks, int(2**52 * hertz / 1e9))
    exact = Fraction(ticks) * 10**9 / Fraction(hertz)
    assert abs(int(to_ns(np.array([ticks]), hertz)[0]) - exact) <= Fraction(51, 100) + exact / 2**51
