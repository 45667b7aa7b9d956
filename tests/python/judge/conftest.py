# SPDX-License-Identifier: Apache-2.0
"""Makes the generator of made-up recordings importable from these tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "record"))
