# SPDX-License-Identifier: Apache-2.0
"""Run folders that somebody made up, given to each command that reads one: it answers or refuses, at once."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from consort.base.errors import ConsortError
from consort.base.files import read_bytes
from consort.commands import runs
from consort.record import RawRun, RunWriter
from consort.record.store import open_run
from effort import examples
from synthetic import make_jobs, write_raw

# The values that replace others.
STRANGE: tuple[Any, ...] = (
    None, True, -1, 0, 1.5, 2**63, 10**40, 1e308, "", "x", "nan", "\x1b[31m", "../..", [], [0], {}, {"a": 1},
)  # fmt: skip


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    raw = RawRun.load(write_raw(folder / "raw", {"jobs": make_jobs(200, 1)}))
    with RunWriter("servo", "application", folder / "runs", command=[]) as writer:
        writer.add_configuration("on", "on", raw)
    assert writer.run is not None
    return writer.run.path


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of a record's values."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield (*at, key)
        yield from places(one, (*at, key))


def replaced(data: Any, at: tuple[Any, ...], value: Any, *, gone: bool = False) -> Any:
    *before, last = at
    inner = data
    for key in before:
        inner = inner[key]
    if gone:
        del inner[last]
    else:
        inner[last] = value
    return data


def table(change: Callable[[pa.Table], pa.Table]) -> Callable[[Path], None]:
    def spoil(file: Path) -> None:
        changed = change(pq.read_table(file))
        file.unlink()
        pq.write_table(changed, file)

    return spoil


def instead(make: Callable[[Path], object]) -> Callable[[Path], None]:
    def spoil(file: Path) -> None:
        file.unlink()
        make(file)

    return spoil


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 3])


# A file of a run may be one of these instead of itself.
NO_FILES: dict[str, Callable[[Path], None]] = {
    "a pipe": instead(os.mkfifo),
    "a folder": instead(Path.mkdir),
    "a link to itself": instead(lambda file: file.symlink_to(file.name)),
    "a link to a pipe": instead(
        lambda file: (os.mkfifo(file.with_name("pipe")), file.symlink_to("pipe")),
    ),
    "a device": instead(lambda file: file.symlink_to("/dev/zero")),
    "empty": instead(Path.touch),
    "cut off": cut,
    "gone": Path.unlink,
}
NO_TABLES: dict[str, Callable[[Path], None]] = {
    "without rows": table(lambda t: t.slice(0, 0)),
    "without columns": table(lambda t: t.select([])),
    "of text": table(
        lambda t: pa.table({name: [str(v) for v in t[name].to_pylist()] for name in t.column_names})
    ),
    "of nothing": table(lambda t: pa.table({name: pa.nulls(t.num_rows) for name in t.column_names})),
    "without numbers": table(
        lambda t: pa.table({name: pa.array([float("nan")] * t.num_rows) for name in t.column_names})
    ),
}


def answered(run: Path, other: Path, out: Path, *, page: bool = True) -> list[str]:
    """Defects in how the commands take a run: they answer, or refuse it with a sentence.

    `page`: its report is made, too, which takes longer than all the others.
    """
    wrong = []
    calls: list[tuple[Any, list[str]]] = [
        *([(runs.report_command, [str(run)])] if page else []),
        (runs.command, ["export", str(run), "--csv", str(out)]),
        (runs.compare_command, [str(run), str(other)]),
        (runs.compare_command, [str(other), str(run), "--json"]),
        (runs.command, ["--root", str(run.parent)]),
        (runs.command, ["--root", str(run.parent), "--json"]),
    ]
    for command, arguments in calls:
        error = CliRunner().invoke(command, arguments).exception
        if error is not None and not isinstance(error, (ConsortError, SystemExit)):
            wrong.append(f"{command.name} {' '.join(arguments[:1])}: {type(error).__name__}: {error}"[:300])
    return wrong


def test_records_of_any_form(recorded: Path, tmp_path: Path) -> None:
    data = json.loads((recorded / "run.json").read_text(encoding="utf-8"))
    chosen = random.Random(36)
    where = list(places(data))
    wrong: dict[str, list[str]] = {}
    for number in range(examples(80)):
        at, value, gone = chosen.choice(where), chosen.choice(STRANGE), chosen.random() < 0.2
        run = Path(shutil.copytree(recorded, tmp_path / str(number) / recorded.name))
        text = json.dumps(replaced(json.loads(json.dumps(data)), at, value, gone=gone))
        (run / "run.json").write_text(text, encoding="utf-8")
        if found := answered(run, recorded, tmp_path / "csv", page=number % 10 == 0):
            wrong[f"{'.'.join(map(str, at))} {'gone' if gone else repr(value)}"] = found
    assert wrong == {}


def spoiled(
    recorded: Path, folder: Path, which: str, kinds: dict[str, Callable[[Path], None]]
) -> dict[str, list[str]]:
    """Defects in how the commands take a run of which one file is something else."""
    wrong: dict[str, list[str]] = {}
    for number, (name, spoil) in enumerate(kinds.items()):
        run = Path(shutil.copytree(recorded, folder / str(number) / recorded.name))
        spoil(run / which)
        if found := answered(run, recorded, folder / "csv"):
            wrong[name] = found
    return wrong


@pytest.mark.parametrize("which", ["run.json", "on/jobs.parquet"])
def test_files_that_are_none(recorded: Path, tmp_path: Path, which: str) -> None:
    assert spoiled(recorded, tmp_path, which, NO_FILES) == {}


@pytest.mark.slow
def test_tables_of_another_form(recorded: Path, tmp_path: Path) -> None:
    assert spoiled(recorded, tmp_path, "on/jobs.parquet", NO_TABLES) == {}


def test_held_is_not_believed_where_something_else_stands_beside_it(recorded: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(recorded, tmp_path / recorded.name))
    data = json.loads((run / "run.json").read_text(encoding="utf-8"))
    data["verdict"] = {"ok": True, "reasons": ["on: 3 deadline misses in 200 jobs"]}
    (run / "run.json").write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(ConsortError, match=r"verdict.ok: the record is damaged: it held, yet a reason"):
        open_run(run)


def test_a_pipe_to_which_somebody_writes_is_read(tmp_path: Path) -> None:
    """As a shell gives one: `consort check <(generate)`."""
    reading, writing = os.pipe()
    os.write(writing, b"consort: 1")
    os.close(writing)
    assert read_bytes(Path(f"/dev/fd/{reading}"), 100, "description") == b"consort: 1"
    os.close(reading)


def test_a_pipe_to_which_nobody_writes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr("consort.base.files.WRITER_S", 0.05)
    with pytest.raises(ConsortError, match="is a pipe, and nobody has written to it"):
        read_bytes(tmp_path / "pipe", 100, "description")
