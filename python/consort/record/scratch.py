# SPDX-License-Identifier: Apache-2.0
"""Folders under construction and scratch folders: a maker that is killed leaves none behind."""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from consort.record.store import PARTIAL, default_root

LOCK = ".lock"


def lock_in(folder: Path) -> int:
    """Locks a folder until the returned descriptor is closed, by its maker or by its end."""
    lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


def sweep(root: Path) -> list[Path]:
    """Removes the folders of writers that were killed; returns what was removed."""
    removed: list[Path] = []
    for folder in root.glob(f"{PARTIAL}*"):
        try:
            lock = os.open(folder / LOCK, os.O_RDWR)
        except FileNotFoundError:
            # Another writer is about to lock or to rename it, or died between two system calls; only an
            # old one is surely dead.
            if datetime.now(UTC).timestamp() - _mtime(folder) < 3600:
                continue
            lock = None
        try:
            if lock is not None:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        else:
            shutil.rmtree(folder, ignore_errors=True)
            removed.append(folder)
        finally:
            if lock is not None:
                os.close(lock)
    return removed


def _mtime(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except FileNotFoundError:
        return float("inf")


def make_durable(folder: Path) -> None:
    """Leaves nothing of a folder in the system's caches only."""
    for path in sorted(folder.rglob("*"), reverse=True):
        fsync(path)
    fsync(folder)


def fsync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


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
