# SPDX-License-Identifier: Apache-2.0
"""Rows of single members."""

from __future__ import annotations

import numpy as np


def made(dtype: np.dtype, rows: int, seed: int = 1) -> np.ndarray:
    found = np.zeros(rows, dtype)
    flat = found if dtype.names is None else found["value"]
    flat[:] = np.random.default_rng(seed).integers(1, 1000, rows)
    return found
