# SPDX-License-Identifier: Apache-2.0
"""Loaded by each worker of this machine: an interrupt from the terminal is for the client."""

from __future__ import annotations

import signal


def dask_setup(_worker: object) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
