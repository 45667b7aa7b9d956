# SPDX-License-Identifier: Apache-2.0
"""Bounds: response times, channel and chain latencies, each with its source and its assumptions."""
