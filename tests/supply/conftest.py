# SPDX-License-Identifier: Apache-2.0
"""The programs of tools/ can be imported by these tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
