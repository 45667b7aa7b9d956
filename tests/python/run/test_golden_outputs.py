# SPDX-License-Identifier: Apache-2.0
"""Golden outputs are those of a task's own inputs, to the bit, and are refused where they cannot be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from consort.base.errors import BadInput
from consort.model import load_system
from consort.plan import plan
from consort.run.data import golden_outputs

OUT = np.dtype([("y", "<u4"), ("f", "<f4"), ("pair", "<f4", (2,))])
DESCRIPTION = """\
consort: 1
assumed: a test
platform: linux-host
scheduling: {{master: {{context_switch: 0us}}}}
tasks:
  p: {{period: 10ms, wcet: 1ms, on: master-0, step: "g.hpp::g::step", writes: {{y: ch}}}}
  q: {{period: 10ms, wcet: 1ms, on: master-0, step: "g.hpp::g::step", reads: {{x: ch}}}}
  a:
    {{period: 10ms, wcet: 1ms, on: master-0, step: "g.hpp::g::step", {given}
    golden: {{function: g.py::golden{more}}}}}
channels:
  ch: {{kind: sporadic, memory: shm, size: 4B}}
"""
GOLDEN = """\
import numpy as np
def golden(inputs):
    o = np.zeros(len(inputs), dtype=[("y", "{y}"), ("f", "<f8"), ("pair", "<f8", (2,))])
    o["y"][1] = {value}
    o["f"][2] = {real}
    return o
"""


def system(
    folder: Path, *, given: str = "input: {function: g.py::golden},", more: str = "", **values: Any
) -> Any:
    folder.mkdir(exist_ok=True)
    file = folder / "system.yaml"
    (folder / "g.hpp").write_text("", encoding="utf-8")
    known = {"y": "<i8", "value": 1, "real": 0.5} | values
    (folder / "g.py").write_text(GOLDEN.format(**known), encoding="utf-8")
    file.write_text(DESCRIPTION.format(given=given, more=more), encoding="utf-8")
    return load_system(file)


def outputs(folder: Path, **values: Any) -> Any:
    made = system(folder, **values)
    rows = np.zeros(3, dtype=[("x", "<u4")])
    return golden_outputs(made.file, "a", made.tasks["a"].golden, rows, OUT, folder / "cache")


def test_what_a_member_holds_is_what_was_given(tmp_path: Path) -> None:
    made = outputs(tmp_path, value=2**32 - 1, real="np.nan")
    assert made.dtype == OUT and made["y"].tolist() == [0, 2**32 - 1, 0]
    assert np.isnan(made["f"][2]) and made["f"][:2].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("values", "member", "row"),
    [
        ({"value": 2**32 + 1}, "y", 1),
        ({"value": -1}, "y", 1),
        ({"value": 1.4, "y": "<f8"}, "y", 1),
        ({"value": "np.nan", "y": "<f8"}, "y", 1),
        ({"real": 0.5 + 1e-9}, "f", 2),
        ({"real": 1e300}, "f", 2),
    ],
)
def test_a_value_that_its_member_cannot_hold_is_refused(
    tmp_path: Path, values: dict[str, Any], member: str, row: int
) -> None:
    with pytest.raises(BadInput, match=f"for {member} in row {row}, which a .* does not hold") as refused:
        outputs(tmp_path, **values)
    assert "g.py" in str(refused.value)


def test_a_float_says_no_integer_that_it_may_have_rounded(tmp_path: Path) -> None:
    assert outputs(tmp_path / "less", y="<f4", value=2**24 - 1)["y"][1] == 2**24 - 1
    with pytest.raises(BadInput, match="for y in row 1, which a uint32 does not hold"):
        outputs(tmp_path / "more", y="<f4", value=2**24)


def test_a_value_with_a_tolerance_may_be_rounded_to_its_member(tmp_path: Path) -> None:
    made = outputs(tmp_path, real=0.5 + 1e-9, more=", tolerance: {f: 1ulp, pair_1: 2ulp}")
    assert made["f"][2] == np.float32(0.5)
    with pytest.raises(BadInput, match="does not hold"):
        outputs(tmp_path, real=1e300, more=", tolerance: {f: 1ulp}")


def test_rows_of_another_shape_are_refused_with_what_to_return(tmp_path: Path) -> None:
    row = '[("y", "<u4"), ("f", "<f4"), ("pair", "<f4", (2,))]'
    cases = {
        "np.zeros(2)": "float64 without members; return rows with those of the output: y, f, pair",
        "np.zeros(3, [('y', 'u4')])": "rows with the members y; return those of the output: y, f, pair",
        f"np.zeros(2, {row})": "2 rows for 3 inputs; return one for each",
        f"np.zeros((3, 1), {row})": "an array of shape (3, 1); return one row for each of the 3 inputs",
        # As many as there are rows: not one of them for every element.
        f"np.zeros(3, {row.replace('(2,)', '(3,)')})": "pair of shape (3,) in each row; return (2,)",
        f"np.zeros(3, {row.replace(', (2,)', '')})": "pair of shape () in each row; return (2,)",
        "{'outputs': np.zeros(3)}": "a mapping without 'expected'; return the outputs under that key",
    }
    made = system(tmp_path)
    rows = np.zeros(3, dtype=[("x", "<u4")])
    for returned, words in cases.items():
        text = f"import numpy as np\ndef golden(inputs):\n    return {returned}\n"
        (tmp_path / "g.py").write_text(text, encoding="utf-8")
        with pytest.raises(BadInput) as refused:
            golden_outputs(made.file, "a", made.tasks["a"].golden, rows, OUT, tmp_path / "cache")
        assert f"g.py: golden returned {words}" in str(refused.value), returned


def test_outputs_whose_members_nobody_listed_have_no_golden_ones(tmp_path: Path) -> None:
    made = system(tmp_path)
    with pytest.raises(BadInput, match=r"tasks.a.golden: .* are not known; list them with CONSORT_LAYOUT"):
        golden_outputs(made.file, "a", made.tasks["a"].golden, np.zeros(3), np.dtype("V8"), tmp_path)


def test_a_golden_function_may_be_one_that_does_not_say_what_it_takes(tmp_path: Path) -> None:
    made = system(tmp_path)
    (tmp_path / "g.py").write_text("golden = max\n", encoding="utf-8")
    with pytest.raises(BadInput, match="without members"):
        golden_outputs(made.file, "a", made.tasks["a"].golden, np.arange(3), OUT, tmp_path)


@pytest.mark.parametrize(
    ("tolerance", "words"),
    [
        ("z: 1LSB", "tasks.a.golden.tolerance.z: the output has no member 'z'"),
        ("pair_2: 1ulp", "tasks.a.golden.tolerance.pair_2: the output has no member 'pair_2'"),
        ("y: 1ulp", "tasks.a.golden.tolerance.y: y is an integer; write 1LSB"),
        ("pair: 3LSB", "tasks.a.golden.tolerance.pair: pair is a floating-point number; write 3ulp"),
    ],
)
def test_a_tolerance_is_that_of_a_member_in_its_own_unit(tmp_path: Path, tolerance: str, words: str) -> None:
    with pytest.raises(BadInput) as refused:
        outputs(tmp_path, more=f", tolerance: {{{tolerance}}}")
    assert words in str(refused.value) and "system.yaml" in str(refused.value)


@pytest.mark.parametrize("target", ["linux", "virtual"])
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("", "golden outputs are those of 'input', which is missing; add it, or remove 'golden'"),
        ("reads: {x: ch},", "golden outputs are those of 'input', which is missing"),
        (
            "input: {function: g.py::golden}, reads: {c: ch},",
            "golden outputs are those of 'input' alone, and the task reads ch, too; remove 'golden'",
        ),
    ],
)
def test_golden_outputs_of_other_inputs_are_refused(
    tmp_path: Path, target: str, given: str, words: str
) -> None:
    with pytest.raises(BadInput) as refused:
        plan(system(tmp_path, given=given), target)
    assert words in str(refused.value) and "system.yaml:10:" in str(refused.value)
