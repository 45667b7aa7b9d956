# SPDX-License-Identifier: Apache-2.0
"""Runs a program that records: its end, its notes, and the machine's deficiencies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from consort.base.waiting import Progress, stop_if_asked

# After so long somebody else's stop of a program is ended [s].
STOPPED_S = 2.0


class Continuer:
    """Continues a program that was stopped (SIGSTOP): whoever did it may be gone, and it would be waited for.

    A stop from the terminal stops this process, too.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._since: float | None = None
        self.times = 0

    def look(self) -> None:
        if _state(self._pid) != "T":
            self._since = None
            return
        now = time.monotonic()
        self._since = now if self._since is None else self._since
        if now - self._since >= STOPPED_S:
            self.times += 1
            self._since = None
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGCONT)


def _state(pid: int) -> str:
    """The state of a process, as /proc has it; T: stopped. Empty where it has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except (OSError, IndexError, UnicodeDecodeError):
        return ""


def signal_words(number: int) -> str:
    """A signal by its number and name."""
    return f"signal {number} ({signal.strsignal(number) or 'unknown'})"


def execute(
    command: list[str],
    seconds: float,
    what: str,
    progress: Progress,
    *,
    environment: Mapping[str, str] | None = None,
    notes: list[str] | None = None,
    hangs: Callable[[int], bool] = lambda _pid: False,
) -> tuple[int, str]:
    """Runs a program to its end, and returns its status and its words on standard error.

    An interruption of this process ends it too. `seconds` is for the bar alone: how long it may take.
    `environment`: variables beside those of this process; `notes`: what happened to it is added to them.
    `hangs(pid)`, where it says so it is killed.
    """
    started = time.monotonic()
    with tempfile.TemporaryFile() as words:
        process = subprocess.Popen(
            command, stderr=words, stdout=subprocess.DEVNULL, env={**os.environ, **(environment or {})}
        )
        stops = Continuer(process.pid)
        try:
            while True:
                try:
                    status = process.wait(timeout=0.2)
                    break
                except subprocess.TimeoutExpired:
                    stop_if_asked()
                    stops.look()
                    if hangs(process.pid):
                        process.kill()
                    progress(what, min(1.0, (time.monotonic() - started) / max(seconds, 0.001)))
        except BaseException:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            raise
        if stops.times and notes is not None:
            notes.append(f"the supervisor was stopped, and was continued after {STOPPED_S:.0f} s")
        words.seek(0)
        return status, words.read().decode(errors="replace").strip()


def add_note(raw: Path, note: str) -> None:
    """Adds a note to a finished recording, beside those of the program itself."""
    from consort.record.json_file import write_json
    from consort.record.raw import MANIFEST

    manifest = json.loads((raw / MANIFEST).read_text(encoding="utf-8"))
    manifest["realtime"].setdefault("notes", []).append(note)
    write_json(raw / MANIFEST, manifest)
