# SPDX-License-Identifier: Apache-2.0
"""Measures this machine's costs for a real-time application, and writes them as a platform file."""

from __future__ import annotations

from consort.machine.probe.measure import measure
from consort.machine.probe.platform import platform_data

__all__ = ["measure", "platform_data"]
