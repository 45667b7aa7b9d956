# SPDX-License-Identifier: Apache-2.0
"""Settings of all Python tests."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# What is right does not depend on how fast the machine is: neither an example nor its making is timed.
settings.register_profile("consort", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("consort")
