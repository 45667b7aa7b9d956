# SPDX-License-Identifier: Apache-2.0
"""Raw run folders: what is read, and what is refused with which words."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from consort.base.errors import BadInput
from consort.record import IncompleteRun, RawRun
from consort.record.raw import RawTable, TableSpec, table_entry
from synthetic import make_activity, make_jobs, write_raw


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    return write_raw(tmp_path / "raw", {"jobs": make_jobs(100, 1), "activity": make_activity(20, 1)})


def edit(raw: Path, change: Any) -> None:
    file = raw / "manifest.json"
    manifest = json.loads(file.read_text())
    change(manifest)
    file.write_text(json.dumps(manifest))


def refusal(raw: Path) -> str:
    with pytest.raises(BadInput) as caught:
        RawRun.load(raw)
    return str(caught.value).replace(str(raw), "RAW")


def test_all_rows_and_fields_are_read(raw: Path) -> None:
    run = RawRun.load(raw)
    expected = make_jobs(100, 1)
    assert set(run.tables) == {"jobs", "activity"}
    for name in expected.dtype.names or ():
        np.testing.assert_array_equal(run.tables["jobs"].rows[name], expected[name])


def test_origin_is_the_first_time_that_happened(raw: Path) -> None:
    assert RawRun.load(raw).origin() == 10_000_000_000
    edit(raw, lambda m: m["events"].append({"tick": 9_999_999_999, "name": "begin"}))
    assert RawRun.load(raw).origin() == 9_999_999_999


def test_a_table_of_columns_is_one_of_rows() -> None:
    rows = make_jobs(100, 1)
    columns = {name: np.ascontiguousarray(rows[name]) for name in rows.dtype.names or ()}
    entry = table_entry("jobs", columns, ("release",), ("compute",))
    assert entry == table_entry("jobs", rows, ("release",), ("compute",))
    table = RawTable(TableSpec.model_validate(entry), columns)
    assert table.names == rows.dtype.names
    assert table["finish"] is columns["finish"]
    np.testing.assert_array_equal(table.rows, rows)


def test_an_empty_table_is_a_table(tmp_path: Path) -> None:
    run = RawRun.load(write_raw(tmp_path / "raw", {"jobs": make_jobs(0, 1)}))
    assert run.tables["jobs"].rows.size == 0
    assert run.origin() == 0


def test_without_a_manifest_it_is_incomplete(raw: Path) -> None:
    (raw / "manifest.json").unlink()
    with pytest.raises(IncompleteRun, match=r"no manifest\.json: the recording is incomplete"):
        RawRun.load(raw)


def test_a_truncated_table(raw: Path) -> None:
    (raw / "jobs.bin").write_bytes((raw / "jobs.bin").read_bytes()[:-1])
    assert refusal(raw) == "RAW/jobs.bin: truncated: 7999 bytes, but 100 rows of 80 bytes are 8000"


def test_a_table_that_is_too_long(raw: Path) -> None:
    with (raw / "jobs.bin").open("ab") as file:
        file.write(b"x")
    assert (
        refusal(raw) == "RAW/jobs.bin: longer than its table: 8001 bytes, but 100 rows of 80 bytes are 8000"
    )


def test_a_missing_table(raw: Path) -> None:
    (raw / "jobs.bin").unlink()
    assert refusal(raw) == "RAW/jobs.bin: missing, though manifest.json lists it as table 'jobs'"


def test_no_folder(tmp_path: Path) -> None:
    assert refusal(tmp_path / "nowhere") == "RAW: no such folder"


def test_a_manifest_cut_short(raw: Path) -> None:
    file = raw / "manifest.json"
    file.write_text(file.read_text()[:40])
    assert refusal(raw).startswith("RAW/manifest.json:1:")
    assert "not JSON" in refusal(raw)


def test_a_manifest_that_is_not_text(raw: Path) -> None:
    (raw / "manifest.json").write_bytes(b'{"format": "\xff"}')
    assert refusal(raw) == "RAW/manifest.json: not UTF-8 at byte 12"


def test_another_format(raw: Path) -> None:
    edit(raw, lambda m: m.update(format=2))
    assert refusal(raw) == "RAW/manifest.json: format: format 2 is not known; this version reads format 1"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda m: m.update(tabels=[]),
            "RAW/manifest.json: tabels: Extra inputs are not permitted",
        ),
        (
            lambda m: m["clock"].update(ticks_per_second=0),
            "RAW/manifest.json: clock.ticks_per_second: Input should be greater than 0",
        ),
        (
            lambda m: m["clock"].update(provenance="guessed"),
            "RAW/manifest.json: clock.provenance: Input should be 'measured', 'simulated', 'counted' or"
            " 'emulated'",
        ),
        (
            lambda m: m["tables"][0].update(file="../jobs.bin"),
            "RAW/manifest.json: tables.0.file: '../jobs.bin' is not a plain file name in the folder",
        ),
        (
            lambda m: m["tables"][0]["fields"][1].update(offset=4),
            "RAW/manifest.json: tables.0.fields: field 'start' at offset 4 overlaps 'release'",
        ),
        (
            lambda m: m["tables"][0].update(record_bytes=79),
            "RAW/manifest.json: tables.0.fields: field 'step' ends at byte 80 of a record of 79 bytes",
        ),
        (
            lambda m: m["tables"][0]["fields"][1].update(name="release"),
            "RAW/manifest.json: tables.0.fields: field 'release' is listed twice",
        ),
        (
            lambda m: m["tables"][0]["fields"][0].update(type="f8"),
            "RAW/manifest.json: tables.0.fields: field 'release' counts ticks in f8; ticks are u8",
        ),
        (
            lambda m: m["tables"].append(m["tables"][0]),
            "RAW/manifest.json: tables.2.name: table 'jobs' is listed twice",
        ),
    ],
)
def test_what_is_wrong_is_named(raw: Path, change: Any, message: str) -> None:
    edit(raw, change)
    assert refusal(raw) == message


def test_a_column_of_names_loads_no_pandas() -> None:
    """Where it is installed, loading it takes longer than to write the record of a short run."""
    program = (
        "import sys, numpy as np\n"
        "from consort.record.columns import Column\n"
        "made = Column('task', np.array([1, 0, 9], dtype='u2'), names=('a', 'é')).arrow()\n"
        "assert made.to_pylist() == ['é', 'a', None]\n"
        "assert 'pandas' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
