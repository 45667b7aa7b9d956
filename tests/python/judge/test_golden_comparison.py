# SPDX-License-Identifier: Apache-2.0
"""The distance of an output from its golden one, counted in representable numbers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from consort.judge import Expected
from consort.judge.outputs import compare, distance, flattened
from hypothesis import given
from hypothesis import strategies as st

FAR = 2**64 - 1


def apart(kind: str, a: Any, b: Any) -> int:
    return int(distance(np.array([a], kind), np.array([b], kind))[0])


floats = {"f4": st.floats(width=32), "f8": st.floats()}
finite = {
    "f4": st.floats(width=32, allow_nan=False, allow_infinity=False),
    "f8": st.floats(allow_nan=False, allow_infinity=False),
}


@pytest.mark.parametrize("kind", ["f4", "f8"])
@given(st.data())
def test_the_next_float_is_one_away(kind: str, data: st.DataObject) -> None:
    value = np.dtype(kind).type(data.draw(finite[kind]))
    for towards in (-np.inf, np.inf):
        with np.errstate(over="ignore"):
            neighbour = np.nextafter(value, np.dtype(kind).type(towards))
        # The neighbour of the last number is infinity, which no tolerance makes of a number.
        assert apart(kind, value, neighbour) == (1 if np.isfinite(neighbour) else FAR)


@pytest.mark.parametrize("kind", ["f4", "f8", "i1", "u1", "i4", "u4", "i8", "u8"])
@given(st.data())
def test_symmetric_and_zero_only_for_equal(kind: str, data: st.DataObject) -> None:
    dtype = np.dtype(kind)
    if dtype.kind == "f":
        values = floats[kind]
    else:
        values = st.integers(int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
    a, b = data.draw(values), data.draw(values)
    assert apart(kind, a, b) == apart(kind, b, a)
    assert apart(kind, a, a) == 0
    if not (a != a or b != b):
        assert (apart(kind, a, b) == 0) == (a == b)


@pytest.mark.parametrize("kind", ["i1", "u1", "i2", "i4", "u4", "i8", "u8"])
@given(st.data())
def test_integers_are_their_difference_away(kind: str, data: st.DataObject) -> None:
    info = np.iinfo(kind)
    values = st.integers(int(info.min), int(info.max)) | st.sampled_from([int(info.min), int(info.max)])
    a, b = data.draw(values), data.draw(values)
    assert apart(kind, a, b) == abs(a - b)


@given(a=finite["f4"], b=finite["f4"], c=finite["f4"])
def test_distances_along_the_order_add_up(a: float, b: float, c: float) -> None:
    low, middle, high = sorted((a, b, c))
    assert apart("f4", low, high) == apart("f4", low, middle) + apart("f4", middle, high)


@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_special_values(kind: str) -> None:
    tiny = float(np.finfo(kind).smallest_subnormal)
    # Equal numbers, which are not equal to the bit.
    assert apart(kind, 0.0, -0.0) == 0
    assert apart(kind, tiny, -tiny) == 2
    assert apart(kind, np.nan, np.nan) == 0
    assert apart(kind, np.nan, 1.0) == FAR
    assert apart(kind, np.inf, np.nan) == apart(kind, np.inf, np.finfo(kind).max) == FAR
    assert apart(kind, -np.inf, np.inf) == FAR and apart(kind, -np.inf, -np.inf) == 0
    unlike = np.array([np.nan], kind)
    unlike.view(f"u{unlike.itemsize}")[0] ^= 1
    assert int(distance(unlike, np.array([np.nan], kind))[0]) == FAR


def test_extremes_of_integers() -> None:
    assert apart("i4", -(2**31), 2**31 - 1) == 2**32 - 1
    assert apart("i8", -(2**63), 2**63 - 1) == 2**64 - 1
    assert apart("u8", 0, 2**64 - 1) == 2**64 - 1


def wrong_rows(got: np.ndarray, expected: np.ndarray, tolerance: Mapping[str, int]) -> np.ndarray:
    """A mask of the wrong outputs of jobs 0, 1, ..."""
    columns = flattened(got)
    rows = np.zeros(got.size, [("seq", "<u4"), *((name, values.dtype) for name, values in columns.items())])
    rows["seq"] = np.arange(got.size)
    for name, values in columns.items():
        rows[name] = values
    jobs = np.zeros(got.size, [("seq", "<u4"), ("input", "<u4")])
    jobs["seq"] = rows["seq"]
    table: Any = SimpleNamespace(rows=rows, spec=SimpleNamespace(file=Path("outputs.bin")))
    none = np.zeros(got.size, np.bool_)
    wrong, first, _ = compare("t", table, jobs, Expected(expected, tolerance=dict(tolerance)), none)
    assert (first is None) == (not wrong.any())
    assert first is None or (first.seq, first.wrong) == (int(np.flatnonzero(wrong)[0]), int(wrong.sum()))
    return wrong


def test_members_arrays_and_tolerances() -> None:
    dtype = np.dtype([("x", "<f4"), ("y", "<i4", (2,))])
    expected = np.zeros(4, dtype)
    expected["x"] = 1
    got = expected.copy()
    got["x"][1] = np.nextafter(np.float32(1), np.float32(2))
    got["y"][2, 1] = -3
    assert wrong_rows(got, expected, {}).tolist() == [False, True, True, False]
    assert wrong_rows(got, expected, {"x": 1}).tolist() == [False, False, True, False]
    assert wrong_rows(got, expected, {"x": 1, "y": 2}).tolist()[2]
    assert not wrong_rows(got, expected, {"x": 1, "y": 3}).any()
    assert wrong_rows(got[:0], expected[:0], {}).shape == (0,)


def test_a_zero_of_the_other_sign_is_not_equal_to_the_bit() -> None:
    expected = np.zeros(2, [("x", "<f4")])
    got = expected.copy()
    got["x"][1] = -0.0
    assert wrong_rows(got, expected, {}).tolist() == [False, True]
    assert not wrong_rows(got, expected, {"x": 1}).any()


def test_a_tolerance_is_of_no_member_of_a_like_name() -> None:
    expected = np.zeros(1, np.dtype([("x", "<i4"), ("x_1", "<i4"), ("y", "<i4", (3,))]))
    for member, tolerance, wrong in (
        ("x", {"x": 1}, False),
        ("x_1", {"x": 1}, True),
        ("x_1", {"x_1": 1}, False),
        ("y", {"y": 1}, False),
        ("y", {"y_1": 1}, False),
        ("y", {"y_0": 1, "y_2": 1}, True),
    ):
        got = expected.copy()
        got[member] = [0, 1, 0] if member == "y" else 1
        assert wrong_rows(got, expected, tolerance).tolist() == [wrong], (member, tolerance)


def test_a_golden_value_in_another_type_keeps_its_precision() -> None:
    """A float64 reference is rounded to the output's type before it is compared, never the other way."""
    got = np.array([(np.float32(0.1),)], [("x", "<f4")])
    assert not wrong_rows(got, np.array([(0.1,)], [("x", "<f8")]), {}).any()


def test_where_every_output_was_held_nothing_is_compared() -> None:
    rows = np.zeros(2, dtype=[("seq", "<u4"), ("command", "<u4")])
    rows["seq"] = [0, 1]
    table: Any = SimpleNamespace(rows=rows, spec=SimpleNamespace(file="outputs-0.bin"))
    jobs = np.zeros(2, dtype=[("seq", "<u4"), ("input", "<u4")])
    jobs["seq"] = [0, 1]
    nothing = np.zeros(0, dtype=[("command", "<u4")])
    expected = Expected(nothing, known=np.zeros(0, dtype=np.bool_))
    wrong, error, beside = compare("servo", table, jobs, expected, np.ones(2, dtype=np.bool_))
    assert not wrong.any() and error is None and beside.size == 2
