# SPDX-License-Identifier: Apache-2.0
"""Finished run folders: where they are, which there are, and what one holds."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from consort.base import arguments
from consort.base.errors import BadInput
from consort.base.files import as_read, is_file, read_json
from consort.base.units import html_table, microseconds
from consort.record.findings import Findings, findings_of
from consort.record.ran import Ran, load_plan
from consort.record.sections import Held, check_record, reading
from consort.record.summary import Configuration, rows_by

if TYPE_CHECKING:
    from consort.plan import Plan

RUN_FILE = "run.json"
RUN_VERSION = 2
# The description that a run is of, and its diagram.
DESCRIPTION, DIAGRAM = "system.yaml", "system.svg"
# Folders under construction start with this, so that no listing takes one for a run.
PARTIAL = ".partial-"


def default_root() -> Path:
    """The folder of runs: $CONSORT_RUNS, or `runs` in the current folder."""
    return Path(os.environ.get("CONSORT_RUNS") or "runs")


def inside(folder: Path, name: str) -> Path:
    """The file `name` of a run's folder; `BadInput` where it would lie outside, links followed."""
    try:
        found = (folder / name).resolve()
        within = found.is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):
        within = False
    if not within:
        raise BadInput(f"{name[:200]!r} does not lie in the run's folder", file=folder)
    return found


@dataclass(frozen=True)
class Run:
    """A finished run: its folder and its record (run.json)."""

    path: Path
    given: dict[str, Any] | str = field(repr=False, compare=False)
    """The record, or its text, which is read where more than the verdict is asked for."""
    _verdict: dict[str, Any] | None = field(default=None, repr=False, compare=False)
    _ran: dict[str, Ran | None] = field(default_factory=dict, init=False, repr=False, compare=False)
    _findings: dict[str, Findings | None] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def data(self) -> dict[str, Any]:
        read: dict[str, Any] = as_read(self.given) if isinstance(self.given, str) else self.given
        return read

    @property
    def verdict(self) -> dict[str, Any]:
        """The answer whether the system held (`ok`), and the reasons."""
        found: dict[str, Any] = self.data["verdict"] if self._verdict is None else self._verdict
        return found

    def __repr__(self) -> str:
        return f"<Run {self._head()}>"

    def _head(self) -> str:
        keys = ", ".join(str(one["key"]) for one in self.configurations)
        return f"{self.id}: {self.held} ({keys or 'nothing recorded'})"

    def _repr_html_(self) -> str:
        rows = [
            (
                one["key"],
                row["subject"],
                row["quantity"],
                *(microseconds(row[name]) for name in ("required", "bound", "seen")),
                row["outcome"],
            )
            for one in self.configurations
            for row in (one.get("verdict") or {}).get("rows", [])
        ]
        columns = ("configuration", "of", "what", "allowed [µs]", "bound [µs]", "seen [µs]", "")
        return html_table(self._head(), columns, rows)

    @property
    def id(self) -> str:
        return str(self.data["id"])

    @property
    def held(self) -> Held:
        """The answer whether the system held."""
        return Held(self.verdict["ok"])

    @property
    def configurations(self) -> list[Configuration]:
        return list(self.data["configurations"])

    def configuration(self, key: str) -> Configuration:
        for configuration in self.configurations:
            if configuration["key"] == key:
                return configuration
        keys = ", ".join(c["key"] for c in self.configurations)
        raise BadInput(f"run {self.id} has no configuration '{key}'; it has {keys}")

    def findings(self, key: str) -> Findings | None:
        """The findings of a configuration's judge; None where nothing was judged."""
        if key not in self._findings:
            self._findings[key] = findings_of(self.configuration(key), self.path / RUN_FILE)
        return self._findings[key]

    @property
    def judged(self) -> list[tuple[Configuration, Findings]]:
        """The configurations that were judged, with their findings."""
        parts = ((one, self.findings(one["key"])) for one in self.configurations)
        return [(one, found) for one, found in parts if found is not None]

    def plan(self, key: str) -> Plan | None:
        """The plan that a configuration followed; None where it was made without one."""
        ran = self.ran(key)
        return None if ran is None else ran.plan

    def ran(self, key: str) -> Ran | None:
        """The plan of a configuration as it ran. The record's `cores` are those that its tables number."""
        if key not in self._ran:
            self._ran[key] = self._read(self.configuration(key))
        return self._ran[key]

    def _read(self, configuration: Configuration) -> Ran | None:
        name = configuration.get("plan")
        if name is None:
            return None
        file = inside(self.path, str(name))
        try:
            plan = load_plan(file)
        except (FileNotFoundError, NotADirectoryError):
            raise BadInput("is not a file, or is not there", file=file) from None
        return Ran.of(plan, configuration.get("config"), file=self.path / RUN_FILE)

    def table_file(self, key: str, table: str) -> Path:
        """The Parquet file of a configuration's table."""
        tables = self.configuration(key)["tables"]
        if table not in tables:
            text = f"configuration '{key}' of run {self.id} has no table '{table}'"
            raise BadInput(f"{text}; it has {', '.join(tables) or 'none'}")
        file = inside(self.path, str(tables[table]["file"]))
        if not is_file(file):
            # A folder, or a pipe that nobody writes to.
            raise BadInput("is not a file, or is not there", file=file)
        return file

    def table(self, key: str, table: str, columns: list[str] | None = None) -> pa.Table:
        """A configuration's table: `jobs`, `operations`, `events`, `outputs-<task>` or a series.

        Each field's metadata names its unit, kind and provenance.
        """
        file = self.table_file(key, table)
        try:
            there = pq.read_schema(file).names
            lacking = [name for name in columns or () if name not in there]
            if not lacking:
                return pq.read_table(file, columns=columns)
        except (OSError, ValueError, pa.ArrowException) as error:
            raise BadInput(f"cannot be read: {error}", file=file) from None
        raise BadInput(f"has no column '{lacking[0]}'; the record is damaged", file=file)

    def samples(self, key: str, metric: str) -> NDArray[Any]:
        """All samples of a metric of a configuration, in its unit; of a release that was not served, inf."""
        return SampleReader(self).samples(key, metric)

    def jobs(self, key: str, task: str | None = None) -> pa.Table:
        """The jobs of a configuration, of all tasks or of one; the response of an unserved release is inf."""
        table = self.table(key, "jobs")
        if task is None:
            return table
        tasks = self.configuration(key).get("tasks", {})
        if task not in tasks:
            known = ", ".join(tasks) or "no names of tasks"
            raise BadInput(f"configuration '{key}' of run {self.id} has no task '{task}'; it has {known}")
        return table.filter(pc.equal(table["task"].cast(pa.string()), task))


class SampleReader:
    """Reads the samples of a run's metrics, each column of a table once, whatever metrics are asked for."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._columns: dict[tuple[str, str, str], tuple[NDArray[Any], NDArray[np.bool_]]] = {}
        self._tasks: dict[tuple[str, str], dict[str, NDArray[np.int64]]] = {}

    def samples(self, key: str, metric: str) -> NDArray[Any]:
        """As `Run.samples`."""
        where = self._run.configuration(key)["metrics"][metric]
        values, there = self._column(key, str(where["table"]), str(where["column"]))
        task = where.get("task")
        if task is None:
            return values[there]
        rows = self._rows_of(key, str(where["table"])).get(task, np.zeros(0, dtype=np.int64))
        return values[rows[there[rows]]]

    def _column(self, key: str, table: str, name: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """The values of a column, and which rows have one."""
        place = (key, table, name)
        if place not in self._columns:
            column = self._run.table(key, table, [name])[name]
            filled = column.fill_null(0) if column.null_count else column
            self._columns[place] = filled.to_numpy(), np.asarray(column.is_valid().to_numpy())
        return self._columns[place]

    def _rows_of(self, key: str, table: str) -> dict[str, NDArray[np.int64]]:
        """The rows of each task, in their order."""
        place = (key, table)
        if place not in self._tasks:
            column = self._run.table(key, table, ["task"])["task"].cast(pa.string()).combine_chunks()
            encoded = column.dictionary_encode()
            names = encoded.dictionary.to_pylist()
            numbers = encoded.indices.fill_null(len(names)).to_numpy(zero_copy_only=False)
            self._tasks[place] = dict(zip(names, rows_by(numbers, len(names)), strict=True))
        return self._tasks[place]


def open_run(path: Path) -> Run:
    """The run in this folder; BadInput where it is none."""
    file = path / RUN_FILE
    try:
        data = read_json(file, "record of a run")
    except (FileNotFoundError, NotADirectoryError):
        raise BadInput(f"no run folder: it has no {RUN_FILE}", file=path) from None
    if not isinstance(data, dict) or data.get("consort_run") != RUN_VERSION:
        version = data.get("consort_run") if isinstance(data, dict) else None
        raise BadInput(
            f"recorded by another version: the run format is {version!r}, this version reads {RUN_VERSION};"
            " record the run again",
            file=file,
            field="consort_run",
        )
    check_record(data, file)
    return Run(path, data)


def list_runs(root: str | Path | None = None, damaged: list[BadInput] | None = None) -> list[Run]:
    """All runs under the root, oldest first. A folder that is not a run is passed over.

    Why a run cannot be read is put into `damaged`; without it the first such run is an error.
    """
    folder = Path(root) if root is not None else default_root()
    if not folder.is_dir():
        return []
    runs: list[Run] = []
    for path in sorted(folder.iterdir()):
        if path.name.startswith(PARTIAL) or not (path / RUN_FILE).is_file():
            continue
        try:
            runs.append(open_run(path))
        except BadInput as error:
            if damaged is None:
                raise
            damaged.append(error)
    return sorted(runs, key=lambda run: (str(run.data["created"]), run.id))


def load_run(which: str | os.PathLike[str], root: str | os.PathLike[str] | None = None) -> Run:
    """A run by its folder, its id, a prefix of its id that only it has, or `latest`."""
    folder = arguments.path("root", root) or default_root()
    text = str(arguments.given_path("which", which))
    if which == "":
        raise BadInput("an empty text names no run; `consort runs` lists them", field="which")
    if not isinstance(which, str) or "/" in text or (Path(text) / RUN_FILE).is_file():
        return open_run(Path(which))
    runs = list_runs(folder)
    if not runs:
        raise BadInput(f"there are no runs yet; `consort run` records one (asked for '{text}')", file=folder)
    if text == "latest":
        return runs[-1]
    found = [run for run in runs if text and run.id.startswith(text)]
    exact = [run for run in found if run.id == text]
    if exact:
        return exact[0]
    if len(found) > 1:
        ids = ", ".join(run.id for run in found)
        raise BadInput(f"'{text}' begins {len(found)} runs: {ids}", file=folder)
    if not found:
        raise BadInput(f"no run begins with '{text}'; `consort runs` lists them", file=folder)
    return found[0]


# Rows that are read and written at a time: a run may be larger than memory.
_BATCH = 1 << 17
_STATISTICS = ("n", "unserved", "min", "mean", "median", "p99", "p999", "p9999", "max", "unit", "provenance")


def write_csv(run: Run, folder: Path) -> list[Path]:
    """Writes `<configuration>-<table>.csv` for every table and `summary.csv`; returns the files.

    Times are in the columns `…_ns`; what did not happen is empty, an unserved release's response is `inf`. In
    the summary an empty statistic is infinite. `BadInput` where the folder cannot be written, or the record
    is damaged.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        files = [folder / "summary.csv"]
        with files[0].open("w", newline="", encoding="utf-8") as stream:
            rows = csv.writer(stream)
            rows.writerow(["configuration", "metric", *_STATISTICS])
            for configuration in run.configurations:
                for metric, summary in configuration["summary"].items():
                    values = [summary.get(name) for name in _STATISTICS]
                    rows.writerow([configuration["key"], metric, *values])
        for configuration in run.configurations:
            for table in configuration["tables"]:
                files.append(folder / f"{configuration['key']}-{table}.csv")
                with reading(run.path):
                    _convert(run.table_file(configuration["key"], table), files[-1])
    except OSError as error:
        raise BadInput(error.strerror or str(error), file=error.filename) from None
    return files


def _convert(source: Path, file: Path) -> None:
    parquet = pq.ParquetFile(source)
    plain = pa.schema([(f.name, _plain(f.type)) for f in parquet.schema_arrow])
    with pyarrow.csv.CSVWriter(file, plain) as writer:
        for batch in parquet.iter_batches(_BATCH):
            writer.write_table(pa.Table.from_batches([batch]).cast(plain))


def _plain(kind: pa.DataType) -> pa.DataType:
    """Names are stored as numbers and a list; a CSV file has the names."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind
