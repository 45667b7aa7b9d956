# SPDX-License-Identifier: Apache-2.0
"""Recorded inputs: read, resampled, packed into structs, and refused with the place when they are broken."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from consort.base.errors import BadInput
from consort.model import FileInput, FunctionInput, load_system
from consort.run.data import made_rows
from consort.run.inputs import Source, as_structs, read_inputs, read_recording, resample
from effort import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

ROOT = Path(__file__).parents[3]
F32 = np.dtype([("reference", "<f4"), ("position", "<f4")])
COLUMNS = {"reference": Source("a"), "position": Source("b", scale=2.0, offset=1.0)}


@pytest.fixture
def csv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return Path("r.csv")


def says(csv: Path, text: str | bytes, unit: str = "ns") -> str:
    csv.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(BadInput) as caught:
        read_inputs(csv, time="t", time_unit=unit, columns=COLUMNS, step=Fraction(1, 10**9), dtype=F32)
    return str(caught.value)


def test_linear(csv: Path) -> None:
    csv.write_text("t,b,a\n0,10,0\n4,10,1\n8,18,3\n", encoding="utf-8")
    table = read_inputs(csv, time="t", time_unit="ns", columns=COLUMNS, step=Fraction(2, 10**9), dtype=F32)
    assert table.dtype == F32
    np.testing.assert_allclose(table["reference"], [0, 0.5, 1, 2, 3], rtol=1e-6)
    np.testing.assert_allclose(table["position"], [21, 21, 21, 29, 37], rtol=1e-6)


def test_cubic_follows_a_cubic(csv: Path) -> None:
    rows = "".join(f"{t},{t**3},{t}\n" for t in range(8))
    csv.write_text("t,a,b\n" + rows, encoding="utf-8")
    recording = resample(read_recording(csv, "t", "s", ["a"]), Fraction(1, 10), "cubic")
    np.testing.assert_allclose(recording.columns["a"], recording.seconds**3, atol=1e-10)


@pytest.mark.parametrize("unit", ["ps", "ns", "us", "ms", "s"])
def test_units(csv: Path, unit: str) -> None:
    csv.write_text("t,a,b\n1,0,0\n3.5,1,1\n", encoding="utf-8")
    per_second = {"ps": 10**12, "ns": 10**9, "us": 10**6, "ms": 10**3, "s": 1}[unit]
    assert read_recording(csv, "t", unit, ["a"]).seconds[1] == 2.5 / per_second


def test_time_stamps_with_more_digits_than_a_double(csv: Path) -> None:
    csv.write_text("t,a,b\n1354825672489194938,0,0\n1354825672489194939,1,1\n", encoding="utf-8")
    assert read_recording(csv, "t", "ns", ["a"]).seconds.tolist() == [0.0, 1e-9]


def test_integers_are_rounded_and_checked(csv: Path) -> None:
    csv.write_text("t,a,b\n0,0.4,0\n1,0.6,-1.5\n", encoding="utf-8")
    recording = read_recording(csv, "t", "s", ["a", "b"])
    table = as_structs(recording, {"x": Source("a"), "y": Source("b")}, np.dtype([("x", "u1"), ("y", "<i8")]))
    assert table.tolist() == [(0, 0), (1, -2)]
    for scale, kind in (
        (256.0 / 0.6, "u1"),
        (-1.0 / 0.6, "u1"),
        (2.0**31 / 0.6, "<i4"),
        (2.0**63 / 0.6, "<i8"),
    ):
        with pytest.raises(BadInput, match="does not fit"):
            as_structs(recording, {"x": Source("a", scale=scale)}, np.dtype([("x", kind)]))
    with pytest.raises(BadInput, match="does not fit float32"):
        as_structs(recording, {"x": Source("a", scale=1e39)}, np.dtype([("x", "<f4")]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "r.csv:1: the file is empty; its first line names the columns"),
        ("t,a\n", "r.csv:1: there is no column 'b'; columns: t, a"),
        ("time,a,b\n", "r.csv:1: there is no column 't'; columns: time, a, b"),
        ("t,a,b,b\n", "r.csv:1: b: 2 columns are named 'b'; give each a name of its own"),
        ("t,a,b\n0,1,2\n", "r.csv: the file has 1 rows of values; at least 2 are needed"),
        (
            "t,a,b\n0,1,2\n1,2\n",
            "r.csv:3: the row has 2 values, the first line names 3 columns; correct the row",
        ),
        ("t,a,b\n0,1,2\n1,x,2\n", "r.csv:3:2: a: 'x' is not a finite number; write a number"),
        ("t,a,b\n0,1,2\n1,2,nan\n", "r.csv:3:3: b: 'nan' is not a finite number; write a number"),
        ("t,a,b\n0,1,2\n\nlate,2,1\n", "r.csv:4:1: t: 'late' is not a time; write a number"),
        ("t,a,b\n0,1,2\n1/2,2,1\n", "r.csv:3:1: t: '1/2' is not a time; write a number"),
        (
            "t,a,b\n5,1,2\n5,2,1\n",
            "r.csv:3:1: t: the time 5 is not after the row before; sort the rows and remove double ones",
        ),
        (b"t,a,b\n0,1,\xff\n", "r.csv: byte 10 is not UTF-8; save the file as UTF-8"),
        ('t,a,b\n0,1,"2\n', "r.csv:2: this is not valid CSV: unexpected end of data; correct the line"),
    ],
)
def test_broken_files(csv: Path, text: str | bytes, message: str) -> None:
    assert says(csv, text) == message


def test_wrong_unit_of_time(csv: Path) -> None:
    message = says(csv, "t,a,b\n0,1,2\n1000,2,1\n", unit="s")
    assert message.endswith("has 1000000000001 rows; check 'time_unit' and 'rate'")


def test_missing_file(csv: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read: No such file or directory; name a CSV file"):
        read_recording(csv, "t", "s", ["a"])


def test_members_and_columns_must_match(csv: Path) -> None:
    csv.write_text("t,a,b\n0,1,2\n1,2,3\n", encoding="utf-8")
    recording = read_recording(csv, "t", "s", ["a", "b"])
    with pytest.raises(BadInput, match="member 'position' has no column; add it under 'columns'"):
        as_structs(recording, {"reference": Source("a")}, F32)
    with pytest.raises(BadInput, match=r"no member 'positon'; did you mean 'position'\?"):
        as_structs(recording, {**COLUMNS, "positon": Source("a")}, F32)
    with pytest.raises(BadInput, match="member 'v' is not a number"):
        as_structs(recording, {"v": Source("a")}, np.dtype([("v", "<f4", (3,))]))


def test_few_rows_for_a_spline(csv: Path) -> None:
    csv.write_text("t,a\n0,1\n1,2\n", encoding="utf-8")
    with pytest.raises(BadInput, match="a cubic spline needs 4"):
        resample(read_recording(csv, "t", "s", ["a"]), Fraction(1, 2), "cubic")


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.integers(1, 10**6), min_size=1, max_size=20),
    st.floats(-100, 100),
    st.floats(-100, 100),
    st.integers(1, 10**6),
)
def test_a_straight_line_stays_one(csv: Path, gaps: list[int], slope: float, start: float, step: int) -> None:
    stamps = np.cumsum([1354825672489194938, *gaps]).tolist()
    span = stamps[-1] - stamps[0]
    rows = "".join(f"{t},{start + slope * (t - stamps[0]) / span!r}\n" for t in stamps)
    csv.write_text("t,a\n" + rows, encoding="utf-8")
    out = resample(read_recording(csv, "t", "ns", ["a"]), Fraction(step, 10**9))
    assert abs(len(out.seconds) - (span // step + 1)) <= 1
    np.testing.assert_allclose(out.columns["a"], start + slope * out.seconds / (span * 1e-9), atol=1e-7)


def test_the_servo_example_gets_what_its_design_was_checked_with(monkeypatch: pytest.MonkeyPatch) -> None:
    system = load_system(ROOT / "examples" / "servo" / "system.yaml")
    given_input = system.tasks["servo"].input
    assert isinstance(given_input, FileInput)
    assert given_input.rate is not None
    monkeypatch.syspath_prepend(str(system.file.parent))
    # The design's folder has modules with common names: leave none of them behind for other tests.
    before = set(sys.modules)
    try:
        import inputs

        expected = inputs.load_inputs(system.path(given_input.file))
    finally:
        for name in set(sys.modules) - before:
            if str(getattr(sys.modules[name], "__file__", "")).startswith(str(system.file.parent)):
                del sys.modules[name]
    table = read_inputs(
        system.path(given_input.file),
        time=given_input.time,
        time_unit=given_input.time_unit,
        columns={m: Source(**given_input.column(m).model_dump()) for m in given_input.columns},
        step=given_input.rate.period,
        dtype=expected.dtype,
        interpolation=given_input.interpolation,
    )
    assert len(table) == len(expected)
    for member in expected.dtype.names:
        np.testing.assert_allclose(table[member], expected[member], rtol=0, atol=1e-9)


def test_rows_that_are_unlike_are_no_array(tmp_path: Path) -> None:
    (tmp_path / "rows.py").write_text("def ragged(*_):\n    return [[1], [2, 3]]\n", encoding="utf-8")
    given = FunctionInput.model_validate({"function": "rows.py::ragged"})
    with pytest.raises(BadInput, match=r"rows\.py: ragged returned something that is not an array: "):
        made_rows(tmp_path / "system.yaml", given, np.dtype([("x", "f8")]))


def test_what_is_called_like_a_function_is_told_what_it_raised(tmp_path: Path) -> None:
    text = "import functools\n@functools.cache\ndef made(dtype):\n    raise ValueError('none')\n"
    (tmp_path / "rows.py").write_text(text, encoding="utf-8")
    given = FunctionInput.model_validate({"function": "rows.py::made"})
    with pytest.raises(BadInput, match=r"rows\.py:4: made raised ValueError: none; "):
        made_rows(tmp_path / "system.yaml", given, np.dtype([("x", "f8")]))


def test_a_function_that_asks_for_a_member_that_is_not_there_is_told_which_are(tmp_path: Path) -> None:
    text = "import numpy as np\ndef made(dtype):\n    return np.zeros(3, dtype)['wish']\n"
    (tmp_path / "rows.py").write_text(text, encoding="utf-8")
    given = FunctionInput.model_validate({"function": "rows.py::made"})
    said = r"rows\.py:\d+: made raised ValueError: no field of name wish; the dtype has the members: x, y$"
    with pytest.raises(BadInput, match=said):
        made_rows(tmp_path / "system.yaml", given, np.dtype([("x", "f8"), ("y", "f8")]))
