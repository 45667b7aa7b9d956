# SPDX-License-Identifier: Apache-2.0
"""A run folder that is damaged, or that somebody made up: refused with the place, never followed outside."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NotRequired, get_origin, get_type_hints

import pytest
from click.testing import CliRunner
from consort.base.errors import BadInput
from consort.base.files import LARGEST_RECORD
from consort.commands import runs
from consort.record import RawRun, RunWriter, sections, summary
from consort.record.store import open_run
from pydantic import BaseModel
from synthetic import make_jobs, write_raw


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    raw = RawRun.load(write_raw(folder / "raw", {"jobs": make_jobs(200, 1)}))
    with RunWriter("servo", "application", folder / "runs", command=[]) as writer:
        writer.add_configuration("on", "on", raw)
    assert writer.run is not None
    return writer.run.path


@pytest.fixture
def run(recorded: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(recorded, tmp_path / "runs" / recorded.name))


def change(run: Path, edit: Callable[[Any], object]) -> None:
    data = json.loads((run / "run.json").read_text(encoding="utf-8"))
    edit(data)
    (run / "run.json").write_text(json.dumps(data), encoding="utf-8")


def table(data: Any) -> Any:
    return data["configurations"][0]["tables"]["jobs"]


@pytest.mark.parametrize("how", ["parent", "absolute", "link", "linked folder", "null byte"])
def test_a_table_outside_of_the_folder_is_not_opened(run: Path, tmp_path: Path, how: str) -> None:
    secret = tmp_path / "secret.parquet"
    inner = run / "on" / "jobs.parquet"
    shutil.copyfile(inner, secret)
    (tmp_path / "away").mkdir()
    shutil.copyfile(inner, tmp_path / "away" / "jobs.parquet")
    name = {"parent": "../../secret.parquet", "absolute": str(secret), "null byte": "on/jobs\0.parquet"}.get(
        how, "on/jobs.parquet"
    )
    if how == "link":
        inner.unlink()
        inner.symlink_to(secret)
    if how == "linked folder":
        shutil.rmtree(run / "on")
        (run / "on").symlink_to(tmp_path / "away")
    change(run, lambda data: table(data).update(file=name))
    opened = open_run(run)
    # Names are read as a terminal shows them: there is no file of such a one.
    refusal = "is not a file" if how == "null byte" else "does not lie in the run's folder"
    with pytest.raises(BadInput, match=refusal):
        opened.table("on", "jobs")
    for command, arguments in (
        (runs.compare_command, [str(run), str(run)]),
        (runs.report_command, [str(run)]),
    ):
        result = CliRunner().invoke(command, arguments)
        assert isinstance(result.exception, BadInput), result.exception
        assert refusal in str(result.exception)


@pytest.mark.parametrize(
    ("edit", "field"),
    [
        (lambda d: d.pop("configurations"), "configurations"),
        (lambda d: d.update(configurations={}), "configurations"),
        (lambda d: d.update(configurations=[3]), "configurations.0"),
        (lambda d: d["configurations"][0].update(key="../x"), "configurations.0.key"),
        (lambda d: d["configurations"][0].pop("clock"), "configurations.0.clock"),
        (lambda d: table(d).update(file=7), "configurations.0.tables.jobs.file"),
        (lambda d: table(d).update(rows=-1), "configurations.0.tables.jobs.rows"),
        (lambda d: d["configurations"][0]["summary"]["response"].update(median="x"), "median"),
        (lambda d: d.update(verdict=None), "verdict"),
        (lambda d: d.update(verdict={"ok": "yes", "reasons": []}), "verdict.ok"),
        (lambda d: d.update(sections=[{"kind": "picture"}]), "sections.0"),
        (lambda d: d.update(id="../../x"), "id"),
        (lambda d: d.update(id=None), "id"),
        (lambda d: d.update(environment=[]), "environment"),
    ],
)
def test_a_field_of_another_form_is_named(run: Path, edit: Callable[[Any], object], field: str) -> None:
    change(run, edit)
    with pytest.raises(BadInput, match="the record is damaged") as refused:
        open_run(run)
    assert "run.json" in str(refused.value) and field in str(refused.value)
    assert refused.value.exit_status == 2


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"\xff\xfe", "not UTF-8|not JSON"),
        (b"[" * 100_000, "no record of a run"),
        (b'{"consort_run": ' + b"9" * 10_000 + b"}", "no record of a run"),
        (b'{"consort_run": NaN}', "NaN is not a number of JSON"),
        (b"[]", "recorded by another version: the run format is None"),
        (b'{"consort_run": 9}', "recorded by another version: the run format is 9"),
    ],
)
def test_what_is_no_record(run: Path, content: bytes, says: str) -> None:
    (run / "run.json").write_bytes(content)
    with pytest.raises(BadInput, match=says):
        open_run(run)


def test_a_number_out_of_range(run: Path) -> None:
    text = (run / "run.json").read_text(encoding="utf-8")
    (run / "run.json").write_text(text.replace("{", '{"x": 1e999, ', 1))
    with pytest.raises(BadInput, match="out of range"):
        open_run(run)


def test_too_large_a_record(run: Path) -> None:
    with (run / "run.json").open("r+b") as file:
        file.truncate(LARGEST_RECORD + 1)
    with pytest.raises(BadInput, match="is larger than 256 MiB"):
        open_run(run)


@pytest.mark.parametrize("damage", ["empty", "cut off", "no parquet", "gone", "folder"])
def test_a_damaged_table(run: Path, damage: str) -> None:
    file = run / "on" / "jobs.parquet"
    content = file.read_bytes()
    file.unlink()
    if damage == "folder":
        file.mkdir()
    elif damage != "gone":
        file.write_bytes({"empty": b"", "cut off": content[: len(content) // 2]}.get(damage, b"x" * 100))
    for command, arguments in (
        (runs.compare_command, [str(run), str(run)]),
        (runs.report_command, [str(run)]),
    ):
        result = CliRunner().invoke(command, arguments)
        assert isinstance(result.exception, BadInput), result.exception
    assert not list(run.glob(".report*")), "no half page is left"


def test_a_table_without_a_column(run: Path) -> None:
    change(run, lambda d: d["configurations"][0]["metrics"]["response"].update(column='no"such'))
    result = CliRunner().invoke(runs.compare_command, [str(run), str(run)])
    assert isinstance(result.exception, BadInput)
    assert "has no column 'no\"such'; the record is damaged" in str(result.exception)


def test_statistics_of_jobs_that_were_never_served(run: Path) -> None:
    """Their response is infinite, which a record has as null."""
    infinite = {"mean": None, "p9999": None, "max": None}
    change(run, lambda d: d["configurations"][0]["summary"]["response"].update(infinite))
    with pytest.raises(BadInput, match="though every sample is finite"):
        open_run(run)
    change(run, lambda d: d["configurations"][0]["summary"]["response"].update(unserved=1))
    open_run(run)


def test_a_damaged_run_does_not_hide_the_others(run: Path, recorded: Path) -> None:
    other = run.with_name("other")
    shutil.copytree(recorded, other)
    change(other, lambda d: d.update(verdict=None))
    result = CliRunner().invoke(runs.command, ["--root", str(run.parent), "--json"])
    assert [entry["path"] for entry in json.loads(result.stdout)] == [str(run)]
    assert f"warning: passed over: {other / 'run.json'}: verdict: the record is damaged" in result.stderr


def test_defects_of_consort_stay_defects() -> None:
    from consort.record.sections import reading

    with pytest.raises(OSError, match="disk full"), reading(Path("run")):
        raise OSError("disk full")
    with pytest.raises(MemoryError), reading(Path("run")):
        raise MemoryError


@pytest.mark.parametrize(
    ("before", "word"),
    [({"ok": True}, "held"), ({"ok": False}, "not held"), ({"ok": False, "undecided": True}, "undecided")],
)
def test_a_verdict_from_before_it_was_a_word_is_read_as_one(
    run: Path, before: dict[str, bool], word: str
) -> None:
    change(run, lambda data: data.update(verdict=before | {"reasons": []}))
    assert open_run(run).held == open_run(run).data["verdict"]["ok"] == word


@pytest.mark.parametrize(
    ("typed", "checked"),
    [
        (summary.Configuration, sections._Configuration),
        (summary.SummaryData, sections._Summary),
        (summary.TableData, sections._Table),
        (summary.MetricData, sections._Metric),
    ],
)
def test_readers_are_typed_as_records_are_checked(typed: type, checked: type[BaseModel]) -> None:
    """A key that the check lets a record lack is one that its type lets it lack, and the other way round."""
    hints = get_type_hints(typed, include_extras=True)
    for name, field in checked.model_fields.items():
        assert (get_origin(hints[name]) is NotRequired) == (not field.is_required()), name
