# SPDX-License-Identifier: Apache-2.0
"""Inputs of the digest step, and what it must answer, bit for bit."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

OUT = np.dtype([("hash", "<u8"), ("count", "<u4"), ("seen", "<u4"), ("row", "<u4"), ("level", "<f4")])


def inputs(dtype: np.dtype, rows: int = 64, seed: int = 1) -> np.ndarray:
    made = np.zeros(rows, dtype)
    made["row"] = np.arange(rows)
    made["value"] = np.random.default_rng(seed).integers(-1000, 1000, rows)
    return made


def digest(pairs: Iterable[tuple[int, int]]) -> np.ndarray:
    """The outputs for inputs (row, value) from a reset state."""
    hash_, seen, last, level = 0, 0, 0, np.float32(0)
    made = []
    for count, (row, value) in enumerate(pairs):
        hash_ = ((hash_ ^ (row << 32 | value & 0xFFFFFFFF)) * 0x100000001B3 + 1) % 2**64
        passed = (row - last) % 2**32
        seen = ((seen << passed) % 2**32 if count and passed < 32 else 0) | 1
        last = row
        level = np.float32(level + np.float32(0.25) * np.float32(np.float32(value) - level))
        made.append((hash_, count + 1, seen, row, level))
    return np.array(made, OUT)


def golden(inputs: np.ndarray, wrong_row: int = -1, level_ulp: int = 0) -> np.ndarray:
    """`wrong_row`, `level_ulp`: one row made wrong on purpose, all levels off by some ulp."""
    made = digest(zip(inputs["row"].tolist(), inputs["value"].tolist(), strict=True))
    if wrong_row >= 0:
        made["count"][wrong_row] += 1
    if level_ulp:
        made["level"] = (made["level"].view("<i4") + level_ulp).view("<f4")
    return made


def raises(inputs: np.ndarray) -> np.ndarray:
    raise RuntimeError("no model for these inputs")


def short(inputs: np.ndarray) -> np.ndarray:
    return golden(inputs)[:-1]


def misnamed(inputs: np.ndarray) -> np.ndarray:
    made = golden(inputs)
    return made.astype(np.dtype([("total" if n == "count" else n, made.dtype[n]) for n in made.dtype.names]))
