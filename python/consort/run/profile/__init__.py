# SPDX-License-Identifier: Apache-2.0
"""Execution times by measurement: every step alone and under interference, and what to write for it."""

from consort.run.profile.edit import edited
from consort.run.profile.figures import Observation, Proposal, proposals
from consort.run.profile.measure import Settings, profile_system

__all__ = ["Observation", "Proposal", "Settings", "edited", "profile_system", "proposals"]
