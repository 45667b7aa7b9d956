# SPDX-License-Identifier: Apache-2.0
"""Holds every output of a run against its golden one, and marks the jobs that differ."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consort.model import Tolerance
from consort.record.columns import STATUS
from consort.record.raw import MANIFEST


def distance(got: NDArray[Any], expected: NDArray[Any]) -> NDArray[np.uint64]:
    """How many representable numbers lie between two values: ulp of floats, LSB of integers.

    Floats are mapped to integers in their order (negative ones mirrored), so that neighbours differ by one;
    a NaN is infinitely far from everything but the same NaN.
    """
    if got.dtype.kind == "f":
        bits = got.dtype.itemsize * 8
        unsigned, signed = np.dtype(f"u{bits // 8}"), np.dtype(f"i{bits // 8}")
        low = np.array(1 << (bits - 1), dtype=unsigned)

        def ordered(values: NDArray[Any]) -> NDArray[Any]:
            raw = np.ascontiguousarray(values).view(unsigned)
            mapped: NDArray[Any] = np.where(raw & low, (~raw) + unsigned.type(1), raw | low).astype(unsigned)
            return mapped

        a, b = ordered(got), ordered(expected.astype(got.dtype))
        apart: NDArray[np.uint64] = np.where(a > b, a - b, b - a).astype(np.uint64)
        same = np.ascontiguousarray(got).view(signed) == np.ascontiguousarray(expected).view(signed)
        either_nan = np.isnan(got) | np.isnan(expected)
        apart[either_nan] = np.where(same[either_nan], np.uint64(0), np.uint64(2**64 - 1))
        return apart
    if got.dtype.itemsize < 8:
        return np.abs(got.astype(np.int64) - expected.astype(np.int64)).astype(np.uint64)
    # Differences of 64-bit integers do not fit into 64 bits; those of Python's do.
    wide = zip(got.astype(object), expected.astype(object), strict=True)
    return np.array([min(abs(int(x) - int(y)), 2**64 - 1) for x, y in wide], dtype=np.uint64)


def wrong_rows(
    outputs: NDArray[Any], expected: NDArray[Any], tolerance: Mapping[str, Tolerance]
) -> NDArray[np.bool_]:
    """Which rows have a member further from its golden value than its tolerance (0 where none is given)."""
    wrong = np.zeros(outputs.shape[0], dtype=bool)
    for name in outputs.dtype.names or ():
        allowed = np.uint64(tolerance[name].count if name in tolerance else 0)
        got, want = outputs[name], expected[name].astype(outputs[name].dtype)
        apart = distance(got.reshape(-1), want.reshape(-1)).reshape(got.shape)
        beyond = apart > allowed
        wrong |= beyond.any(axis=tuple(range(1, beyond.ndim)))
    return wrong


def mark_output_errors(
    raw: Path,
    kinds: Mapping[int, tuple[str, NDArray[Any], Mapping[str, Tolerance]]],
    dtypes: Mapping[int, np.dtype[Any]],
) -> int:
    """Sets the output-error bit of each job whose output is wrong; returns how many there are.

    `kinds`: for a task's number its name, golden outputs and tolerances. Outputs that were held, and
    releases that were skipped, are misses already and are not compared.
    """
    manifest_file = raw / MANIFEST
    manifest = json.loads(manifest_file.read_text(encoding="utf-8"))
    table = next(t for t in manifest["tables"] if t["name"] == "jobs")
    fields = {f["name"]: f for f in table["fields"]}
    names = ("seq", "status", "kind", "step")
    dtype = np.dtype(
        {
            "names": list(names),
            "formats": ["<" + fields[n]["type"] for n in names],
            "offsets": [fields[n]["offset"] for n in names],
            "itemsize": table["record_bytes"],
        }
    )
    total = 0
    if table["rows"]:
        jobs = np.memmap(raw / table["file"], dtype=dtype, mode="r+")
        for kind, (name, expected, tolerance) in kinds.items():
            mine = np.flatnonzero(jobs["kind"] == kind)
            outputs = np.fromfile(raw / f"outputs-{name}.bin", dtype=dtypes[kind])
            assert outputs.size == mine.size, "one output a release"
            applied = (jobs["status"][mine] & (STATUS["outputs_held"] | STATUS["releases_skipped"])) == 0
            rows = mine[applied]
            wrong = wrong_rows(outputs[applied], expected[jobs["step"][rows]], tolerance)
            jobs["status"][rows[wrong]] |= STATUS["output_errors"]
            total += int(wrong.sum())
        jobs.flush()
    manifest["counters"]["output_errors"] = total
    manifest_file.write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    return total
