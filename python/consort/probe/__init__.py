# SPDX-License-Identifier: Apache-2.0
"""What this machine costs a real-time application, measured, as a platform file."""

from __future__ import annotations

from consort.probe.measure import measure
from consort.probe.platform import platform_data

__all__ = ["measure", "platform_data"]
