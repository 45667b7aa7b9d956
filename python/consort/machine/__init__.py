# SPDX-License-Identifier: Apache-2.0
"""The machine that runs go on: its readiness, its costs, the settings that a run changes and restores."""
