# SPDX-License-Identifier: Apache-2.0
"""A run's tables and figures as CSV, for spreadsheets and other tools."""

from __future__ import annotations

import csv
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from consort.base.errors import BadInput
from consort.record.checked import reading
from consort.record.store import Run

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
