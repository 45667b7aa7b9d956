# SPDX-License-Identifier: Apache-2.0
"""Scratch folders that a killed process does not leave behind."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from consort.record.partial import lock_in
from consort.record.store import PARTIAL, default_root


@contextmanager
def scratch_folder(root: Path | None) -> Iterator[Path]:
    """A folder under the runs' root (None: the default one) that goes with the block.

    Nobody can remove the scratch of a process that was killed at the time. Here it looks like a run folder
    under construction, so the next writer of runs sweeps it away: the lock in it has been released.
    """
    folder = (default_root() if root is None else root) / f"{PARTIAL}scratch-{secrets.token_hex(4)}"
    folder.mkdir(parents=True)
    lock = -1
    try:
        lock = lock_in(folder)
        yield folder.resolve()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock >= 0:
            os.close(lock)
