# SPDX-License-Identifier: Apache-2.0
"""Benchmarks: figures of this machine beside floors, peers and what papers print."""
