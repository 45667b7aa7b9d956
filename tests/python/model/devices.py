# SPDX-License-Identifier: Apache-2.0
"""Named by data/devices.yaml."""

from __future__ import annotations

from typing import Any

import numpy as np


def wishes(dtype: np.dtype[Any], seed: int) -> Any:
    return np.zeros(seed, dtype)


def golden(inputs: Any) -> Any:
    return inputs
