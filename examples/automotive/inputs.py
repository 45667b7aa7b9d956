# SPDX-License-Identifier: Apache-2.0
"""Inputs of the fourteen kernels: a few rows each that make them do all of their work."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

ROWS = 8


def _record(*fields: Any) -> np.dtype[Any]:
    return np.dtype(list(fields), align=True)


def _f32(*shape: int) -> Any:
    return (np.float32, shape)


FRAME = np.dtype([("id", "<u4"), ("remote", "u1"), ("length", "u1"), ("data", "u1", 8), ("spare", "u1", 2)])
TYPES: dict[str, np.dtype[Any]] = {
    "tblook": _record(("speed", *_f32(120)), ("load", *_f32(120))),
    "matrix": _record(("a", np.float64, (14, 14)), ("b", np.float64, 14)),
    "a2time": _record(("stamp", np.uint32, 59), ("target", *_f32(64))),
    "pntrch": _record(("token", np.uint32, 16)),
    "ttsprk": _record(
        ("tooth_ticks", np.float32),
        ("load", np.float32),
        ("battery", np.float32),
        ("coolant", np.float32),
        ("knock", np.uint32),
    ),
    "iirflt": _record(("x", *_f32(100))),
    "canrdr": _record(("count", np.uint32), ("frame", FRAME, 256)),
    "bitmnp": _record(("text", np.uint8, 16), ("shift", np.uint32)),
    "rspeed": _record(("now", np.uint32), ("count", np.uint32, 4), ("stamp", np.uint32, (4, 800))),
    "puwm": _record(("period", np.uint32), ("dead", np.uint32), ("duty", np.uint16, (20, 6))),
    "aifirf": _record(("x", *_f32(64)), ("wanted", *_f32(64)), ("rate", np.float32)),
    "aifftr": _record(("x", *_f32(512))),
    "aiifft": _record(("x", *_f32(512, 2))),
    "idct": _record(("coefficient", *_f32(8, 8))),
}


def inputs(dtype: np.dtype[Any], kernel: str) -> NDArray[Any]:
    """Rows of a kernel's inputs, as many bytes each as its C++ type has."""
    kind = TYPES[kernel]
    if kind.itemsize != dtype.itemsize:
        raise ValueError(f"{kernel} takes {dtype.itemsize} bytes, {kind.itemsize} are made here")
    rng = np.random.default_rng(20261121)
    rows = np.zeros(ROWS, kind)
    for name in kind.names or ():
        member = rows[name]
        if member.dtype.kind == "f":
            member[...] = rng.normal(size=member.shape)
    _with_meaning(kernel, rows, rng)
    return rows.view(dtype)


def _with_meaning(kernel: str, rows: NDArray[Any], rng: np.random.Generator) -> None:
    """Makes values lie in a range, or in an order, where they must."""
    if kernel == "tblook":
        rows["speed"], rows["load"] = rng.uniform(200, 7600, (ROWS, 120)), rng.uniform(-8, 108, (ROWS, 120))
    elif kernel == "a2time":
        steps = np.full((ROWS, 59), 10_000) + rng.integers(100, size=(ROWS, 59))
        steps[:, 30] += 20_000
        rows["stamp"] = np.cumsum(steps, axis=1) + 2**32 - 300_000
        rows["target"] = rng.uniform(0, 720, (ROWS, 64))
    elif kernel == "pntrch":
        rows["token"] = (rng.integers(600, size=(ROWS, 16)) * 2654435761) % 2**32
    elif kernel == "ttsprk":
        rows["tooth_ticks"], rows["load"] = rng.uniform(400, 9000, ROWS), rng.uniform(-5, 105, ROWS)
        rows["battery"], rows["coolant"] = rng.uniform(5, 18, ROWS), rng.uniform(-30, 110, ROWS)
        rows["knock"] = rng.integers(256, size=ROWS)
    elif kernel == "canrdr":
        frame = rows["frame"]
        rows["count"] = 256
        frame["id"] = rng.integers(2**29, size=frame.shape)
        frame["remote"], frame["length"] = rng.integers(2, size=frame.shape), 8
        frame["data"] = rng.integers(256, size=(*frame.shape, 8))
    elif kernel == "bitmnp":
        rows["text"], rows["shift"] = rng.integers(256, size=(ROWS, 16)), rng.integers(128, size=ROWS)
    elif kernel == "rspeed":
        rows["now"], rows["count"] = np.arange(1, ROWS + 1) * 1_000_000, 800
        rows["stamp"] = rows["now"][:, None, None] - 1_000_000 + 1200 * np.arange(800)
    elif kernel == "puwm":
        rows["period"], rows["dead"] = 8000, 100
        rows["duty"] = rng.integers(65536, size=rows["duty"].shape)
    elif kernel == "aifirf":
        rows["wanted"], rows["rate"] = 0.5 * rows["x"], 0.01
