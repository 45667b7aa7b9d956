# SPDX-License-Identifier: Apache-2.0
"""Running a described system: inputs, golden outputs, processes."""
