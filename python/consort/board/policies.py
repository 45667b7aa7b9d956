# SPDX-License-Identifier: Apache-2.0
"""The policies of a board's cores."""

POLICIES = ("fixed-priority", "fixed-priority-non-preemptive", "edf")
# Not a way to dispatch: the core has an executive of its own (consort/bare/three_phase.hpp).
THREE_PHASE = "three-phase"
