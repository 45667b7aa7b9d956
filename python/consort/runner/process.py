# SPDX-License-Identifier: Apache-2.0
"""Running a program that records, for whoever runs one: its end, its notes, what the machine lacks."""

from __future__ import annotations

import errno
import json
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from consort.errors import EnvironmentLacks
from consort.progress import Progress
from consort.record.raw import MANIFEST

# What the machine, not Consort and not the user's description, is to blame for.
LACKING = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EROFS,
    errno.EACCES,
    errno.EPERM,
    errno.ENOTDIR,
    errno.EEXIST,
    errno.EIO,
    errno.ENOMEM,
    errno.EMFILE,
    errno.EAGAIN,
}


@contextmanager
def environment_errors() -> Iterator[None]:
    """A full disk, or a folder that may not be written: `EnvironmentLacks`, not a defect."""
    try:
        yield
    except OSError as error:
        if error.errno not in LACKING:
            raise
        where = f"{error.filename}: " if error.filename is not None else ""
        words = error.strerror or str(error)
        raise EnvironmentLacks(
            where + words[:1].lower() + words[1:],
            "make room, or name other folders: --root (runs), $CONSORT_CACHE (built programs), $TMPDIR",
        ) from error


def execute(command: list[str], seconds: float, what: str, progress: Progress) -> tuple[int, str]:
    """Runs a program to its end, and returns its status and what it said on standard error.

    An interruption of this process ends it too. `seconds` is for the bar alone: how long it may take.
    """
    started = time.monotonic()
    with tempfile.TemporaryFile() as words:
        process = subprocess.Popen(command, stderr=words, stdout=subprocess.DEVNULL)
        try:
            while True:
                try:
                    status = process.wait(timeout=0.2)
                    break
                except subprocess.TimeoutExpired:
                    progress(what, min(1.0, (time.monotonic() - started) / max(seconds, 0.001)))
        except BaseException:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            raise
        words.seek(0)
        return status, words.read().decode(errors="replace").strip()


def add_note(raw: Path, note: str) -> None:
    """Adds a note to a finished recording, beside those of the program itself."""
    manifest = json.loads((raw / MANIFEST).read_text(encoding="utf-8"))
    manifest["realtime"].setdefault("notes", []).append(note)
    (raw / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
