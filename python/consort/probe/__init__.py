# SPDX-License-Identifier: Apache-2.0
"""What this machine costs a real-time application, measured, as a platform file."""

from __future__ import annotations

from consort.probe.measure import measure
from consort.probe.platform import platform_data
from consort.probe.remote import measure_faults

__all__ = ["measure", "measure_faults", "platform_data"]
