# SPDX-License-Identifier: Apache-2.0
"""Folders that go with the work that is done in them, also when whoever works there is killed.

Their owner holds a lock of each, which the kernel drops however the owner ends; whoever looks next removes
what nobody holds. No clock is asked and no number of a process, which another one could have by now.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# No folder of a user's begins like that.
PREFIX = "consort-tmp-"
# Where this process has swept already.
_swept: set[Path] = set()


@contextmanager
def temporary_folder(purpose: str, parent: Path | None = None) -> Iterator[Path]:
    """A new folder in `parent` ($TMPDIR if None) that goes with the block; those of killed owners go before.

    In a folder of the user's it is hidden.
    """
    prefix = PREFIX if parent is None else f".{PREFIX}"
    where = Path(tempfile.gettempdir()) if parent is None else parent
    if where not in _swept:
        _swept.add(where)
        sweep(where, prefix)
    folder, lock = owned_folder(lambda: Path(tempfile.mkdtemp(prefix=f"{prefix}{purpose}-", dir=where)))
    try:
        yield folder
    finally:
        remove(folder, lock)


def owned_folder(make: Callable[[], Path]) -> tuple[Path, int]:
    """A folder that `make` makes, and its lock: it is this process's until the descriptor is closed."""
    while True:
        folder = make()
        try:
            lock = os.open(folder, _FLAGS)
        except FileNotFoundError:
            # Whoever sweeps came between: nobody owned it yet.
            continue
        except OSError:
            folder.rmdir()
            raise
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
        except OSError:
            # A file system without locks, on which nobody sweeps either.
            return folder, lock
        if _is(folder, lock):
            return folder, lock
        os.close(lock)


def remove(folder: Path, lock: int, last: str = "") -> None:
    """The folder goes, and then its lock. `last`: the file by which a folder is known, if any."""
    with suppress(OSError):
        for path in folder.iterdir() if last else ():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != last:
                path.unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    os.close(lock)


def sweep(parent: Path, prefix: str) -> list[Path]:
    """Removes this user's folders of such names that nobody owns; returns them."""
    try:
        with os.scandir(parent) as entries:
            found = [Path(entry.path) for entry in entries if entry.name.startswith(prefix)]
    except OSError:
        return []
    return [folder for folder in sorted(found) if remove_unowned(folder)]


def remove_unowned(folder: Path, last: str = "") -> bool:
    """Removes the folder if it is this user's and nobody owns it; `last` as for `remove`."""
    lock = _free(folder)
    if lock is None:
        return False
    remove(folder, lock, last)
    return True


_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def _free(folder: Path) -> int | None:
    """The lock of a folder that nobody owns; None where somebody does, it is another user's, or is gone."""
    try:
        lock = os.open(folder, _FLAGS)
    except OSError:
        return None
    try:
        if os.fstat(lock).st_uid == os.getuid():
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is(folder, lock):
                return lock
    except OSError:
        pass
    os.close(lock)
    return None


def _is(folder: Path, lock: int) -> bool:
    """True if the folder that is locked is still the one of this path."""
    try:
        return os.path.samestat(folder.lstat(), os.fstat(lock))
    except OSError:
        return False
