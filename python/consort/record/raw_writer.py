# SPDX-License-Identifier: Apache-2.0
"""Writes a raw run folder from arrays that the simulator, or a board left in memory.

What it writes is what `RawRun.load` reads (docs/reference/run-record.md). The manifest goes last, so that its
presence means that the recording is complete.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from consort.record.json_file import write_json
from consort.record.ran import write_plan
from consort.record.raw import FORMAT, MANIFEST, RawRun

if TYPE_CHECKING:
    from consort.plan import Plan


def write_table(
    folder: Path,
    name: str,
    rows: NDArray[np.void],
    *,
    stamps: Collection[str] = (),
    durations: Collection[str] = (),
) -> dict[str, Any]:
    """Writes a table's file into `folder` and returns its entry of the manifest."""
    entry = table_entry(name, rows, stamps, durations)
    rows.tofile(folder / entry["file"])
    return entry


def table_entry(
    name: str, rows: NDArray[np.void], stamps: Collection[str] = (), durations: Collection[str] = ()
) -> dict[str, Any]:
    """A table's entry of the manifest.

    `rows` is one-dimensional, little-endian, of named fields; a field that is an array stays in the file
    without being described. `stamps` and `durations` name the fields that are times, in ticks (u8).
    """
    assert rows.dtype.fields is not None and rows.dtype.names is not None
    fields = []
    for field in rows.dtype.names:
        dtype, offset = rows.dtype.fields[field][:2]
        if dtype.shape:
            continue
        kind = "timestamp" if field in stamps else "duration" if field in durations else None
        fields.append(
            {
                # The name of a member of a C++ struct may be a path, such as motor.angle.
                "name": re.sub(r"[^A-Za-z0-9_]", "_", field),
                "type": dtype.str[1:],
                "offset": offset,
                "unit": "tick" if kind else "",
                "kind": kind,
            }
        )
    return {
        "name": name,
        "file": f"{name}.bin",
        "rows": int(rows.size),
        "record_bytes": rows.dtype.itemsize,
        "fields": fields,
    }


def manifest_of(
    program: str,
    tables: Sequence[Mapping[str, Any]],
    *,
    clock: Mapping[str, Any],
    config: Mapping[str, Any],
    counters: Mapping[str, int],
    events: Sequence[Mapping[str, Any]] = (),
    realtime: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "program": program,
        "config": config,
        "clock": clock,
        "tables": tables,
        "events": events,
        "counters": counters,
        "realtime": realtime or {},
    }


def write_manifest(
    folder: Path,
    program: str,
    tables: Sequence[Mapping[str, Any]],
    *,
    plan: Plan | None = None,
    **facts: Any,
) -> RawRun:
    """Completes a raw run folder whose tables are written, and reads it back, which checks it.

    `plan`: the one that ran; `facts` are those of `manifest_of`.
    """
    if plan is not None:
        write_plan(folder, plan)
    write_json(folder / MANIFEST, manifest_of(program, tables, **facts))
    return RawRun.load(folder, plan)
