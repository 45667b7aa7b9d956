# SPDX-License-Identifier: Apache-2.0
"""Settings of a Linux machine that a real-time run changes for its duration, and their safe restoration."""

from __future__ import annotations

from consort.machine.prepare.context import Prepared, Restoration, prepared
from consort.machine.prepare.settings import Refusal, Setting, left_over

__all__ = ["Prepared", "Refusal", "Restoration", "Setting", "left_over", "prepared"]
