# SPDX-License-Identifier: Apache-2.0
"""Compilers are started through ccache where it is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path


def compiled(command: Sequence[str], scratch: Path) -> subprocess.CompletedProcess[str]:
    """Runs one compilation (`-c`, one source), through ccache if there is one that works.

    `scratch`: for the compiler's own temporary files, so that they go with it if the compiler is killed.
    """
    done = run_tool(through_ccache(command), scratch)
    failed = done.returncode != 0 and done.stderr.startswith("ccache: error:")
    return run_tool(command, scratch) if failed else done


def run_tool(command: Sequence[str], scratch: Path) -> subprocess.CompletedProcess[str]:
    """Runs a compiler or linker whose temporary files lie in `scratch`."""
    environment = {**os.environ, "TMPDIR": str(scratch)}
    return subprocess.run(command, capture_output=True, text=True, env=environment)


def for_make(root: Path) -> dict[str, str]:
    """Variables with which a makefile that knows OBJCACHE compiles through ccache, if there is one.

    `root`: what is compiled below it counts in other folders of the same contents too. Headers may be
    precompiled.
    """
    if shutil.which("ccache") is None:
        return {}
    return {
        "OBJCACHE": "ccache",
        "CCACHE_BASEDIR": str(root),
        "CCACHE_NOHASHDIR": "1",
        "CCACHE_SLOPPINESS": "pch_defines,time_macros",
    }


def through_ccache(command: Sequence[str]) -> list[str]:
    """The command of one compilation, through ccache if there is one on the path.

    ccache keeps what it compiled under the hash of the preprocessed source, the options and the compiler: a
    second compilation of the same is a copy. It does not keep what is linked: such commands are not for it.
    """
    found = shutil.which("ccache")
    return [found, *command] if found else list(command)
