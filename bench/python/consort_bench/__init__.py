# SPDX-License-Identifier: Apache-2.0
"""Benchmarks: figures of this machine beside floors, peers and what papers print."""

import sys
from pathlib import Path

# The benchmarks of remote memory lie with it.
sys.path.append(str(Path(__file__).parents[3] / "remote-memory" / "bench" / "python"))
