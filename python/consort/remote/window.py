# SPDX-License-Identifier: Apache-2.0
"""The simulated blocks as hardware that processes share: started, asked, ended."""

from __future__ import annotations

from pathlib import Path

from consort.errors import EnvironmentLacks
from consort.remote.build import simulation
from consort.remote.run import harness
from consort.source import need_source_tree


def program() -> Path:
    """The program that holds the model, built where it is not up to date."""
    root = need_source_tree("simulating the hardware")
    if not Path("/usr/include/lz4.h").exists():
        raise EnvironmentLacks("liblz4-dev is not installed", "install it: apt-get install liblz4-dev")
    options = ("--trace-fst", "rtl/sim/window.vlt", "-CFLAGS", f"-I{root / 'include'}")
    return simulation("remote_pair", harness("window.cpp"), options=options)
