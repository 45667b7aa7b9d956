# SPDX-License-Identifier: Apache-2.0
"""The policies of a board's cores."""

# The number of a policy is its place; and what the executive calls it.
POLICIES = {
    "fixed-priority": "fixed_priority",
    "fixed-priority-non-preemptive": "fixed_priority_non_preemptive",
    "edf": "edf",
}
# Not a way to dispatch: the core has an executive of its own (consort/bare/three_phase.hpp).
THREE_PHASE = "three-phase"
