# SPDX-License-Identifier: Apache-2.0
"""Runs in progress: how `consort run` makes itself known, and how a watcher reads it without disturbing it.

A run writes one small file into this user's runtime folder: which process it is, what it runs at present, and
which of its file descriptors is the summary page (`summary_page.hpp`). The page is anonymous memory, which
the recorder of the executive fills; a watcher opens it through /proc. So nothing but the small file can be
left behind, and one whose process is gone is swept away by whoever looks next.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from consort.base.errors import BadInput, EnvironmentLacks
from consort.base.files import replace_file
from consort.base.runtime import Process, runtime_folder
from consort.plan import Plan
from consort.plan.image import restored, stored
from consort.record.ran import Ran
from consort.run.data import struct_dtype

PURPOSE = "runs"
# A word behind the page: 1 and the number of the mode that is asked for; 0: taken.
REQUEST_BYTES = 8
# How often a copy of the page is tried again that the recorder was writing meanwhile.
_TRIES = 1000


class NoSuchRun(EnvironmentLacks):
    """An error: no run in progress matches."""


class Announcement:
    """A run's entry in the runtime folder, for as long as it runs."""

    def __init__(self, run: str, name: str, description: Path) -> None:
        # Those of killed runs go, and what one had half written.
        live_runs()
        self._file = runtime_folder(PURPOSE) / f"{run}.json"
        me = Process.of(os.getpid())
        self._said: dict[str, Any] = {
            "run": run,
            "name": name,
            "description": str(description),
            "pid": me.pid,
            "started": me.started,
            "configuration": None,
        }
        self._page: int | None = None
        self._number = 0
        self._write()

    def page(
        self,
        key: str,
        title: str,
        layouts: Mapping[str, Any],
        plan: Plan,
        facts: Mapping[str, Any],
    ) -> str:
        """Makes the page of a configuration and says so; returns the path at which the executive opens it.

        `facts`: what the run makes of its plan (consort.record.ran).
        """
        page = os.memfd_create("consort-summary", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        size = page_bytes(layouts, len(plan.tasks), len(plan.cores))
        # Behind the page: the mode that `consort mode` asks for.
        os.ftruncate(page, size + REQUEST_BYTES)
        self._drop_page()
        self._page = page
        self._number += 1
        self._said["configuration"] = {
            "number": self._number,
            "key": key,
            "title": title,
            "plan": stored(plan),
            "facts": dict(facts),
            "request_at": size,
            "fd": page,
            "inode": os.fstat(page).st_ino,
            "layouts": dict(layouts),
        }
        self._write()
        return f"/proc/{os.getpid()}/fd/{page}"

    def close(self) -> None:
        """The run has ended: its entry goes."""
        with suppress(FileNotFoundError):
            self._file.unlink()
        self._drop_page()

    def _drop_page(self) -> None:
        if self._page is not None:
            os.close(self._page)
            self._page = None

    def _write(self) -> None:
        replace_file(self._file, json.dumps(self._said))


@contextmanager
def announced(run: str, name: str, description: Path) -> Iterator[Announcement | EnvironmentLacks]:
    """The announcement of a run, withdrawn however it ends.

    Where the runtime folder is not this user's alone the reason comes instead: the run needs no watcher.
    """
    try:
        made = Announcement(run, name, description)
    except EnvironmentLacks as error:
        yield error
        return
    try:
        yield made
    finally:
        made.close()


@dataclass(frozen=True)
class LiveRun:
    """A run in progress, as its entry says."""

    id: str
    name: str
    description: str
    process: Process
    configuration: Mapping[str, Any] | None
    """The present configuration; None before the first and if nothing has a page."""
    file: Path

    def again(self) -> LiveRun | None:
        """The present content of its entry; None once it has ended."""
        return _read(self.file)


def live_runs() -> list[LiveRun]:
    """This user's runs in progress, oldest first. `EnvironmentLacks` where the folder is not this user's."""
    folder = runtime_folder(PURPOSE)
    for part in folder.glob(".*.json.*"):
        _, _, pid = part.name.rpartition(".")
        if not Path("/proc", pid).exists():
            part.unlink(missing_ok=True)
    found = [_read(file) for file in sorted(folder.glob("*.json"))]
    return [run for run in found if run is not None]


def live_run(which: str | None) -> LiveRun:
    """A run in progress by its id, the beginning of its id, its name, or `latest`; without one the only one.

    `NoSuchRun` where it is not in progress, `BadInput` where it is not clear which is meant.
    """
    runs = live_runs()
    if not runs:
        raise NoSuchRun("no run of yours is in progress", "start one: consort run FILE")
    if which == "latest":
        return runs[-1]
    found = [run for run in runs if which is None or run.id.startswith(which) or run.name == which]
    exact = [run for run in found if run.id == which]
    if len(exact or found) == 1:
        return (exact or found)[0]
    ids = ", ".join(run.id for run in found or runs)
    if not found:
        raise NoSuchRun(f"no run in progress is called {which!r}", f"name one of these: {ids}")
    raise BadInput(f"{len(found)} runs are in progress; name one of them, or latest: {ids}", field="RUN")


def _read(file: Path) -> LiveRun | None:
    try:
        said = json.loads(file.read_text(encoding="utf-8"))
        process = Process(int(said["pid"]), int(said["started"]))
        run = LiveRun(
            str(said["run"]),
            str(said["name"]),
            str(said["description"]),
            process,
            said["configuration"],
            file,
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if not process.runs():
        # Its process was killed.
        file.unlink(missing_ok=True)
        return None
    return run


def running(configuration: Mapping[str, Any]) -> Ran:
    """The system that a run in progress runs in a configuration."""
    return Ran.of(restored(configuration["plan"]), configuration["facts"])


def page_bytes(layouts: Mapping[str, Any], tasks: int, cores: int) -> int:
    """The size of a summary page."""
    return int(layouts["head"]["bytes"] + tasks * layouts["task"]["bytes"] + cores * layouts["core"]["bytes"])


@dataclass(frozen=True)
class Summary:
    """A copy of a summary page: structs by the names of their members."""

    head: Mapping[str, int]
    tasks: Sequence[Mapping[str, int | None]]
    """In the order of the configuration; a time that was not seen is None."""
    cores: Sequence[Mapping[str, int]]


def _opened(process: Process, configuration: Mapping[str, Any], access: int) -> int:
    """The page of a run; `ProcessLookupError` where it is at another configuration by now, or has ended."""
    try:
        page = os.open(f"/proc/{process.pid}/fd/{configuration['fd']}", access | os.O_CLOEXEC)
    except OSError as error:
        raise ProcessLookupError(f"the page is gone ({error.strerror})") from None
    # The number may belong to another file by now.
    if os.fstat(page).st_ino != configuration["inode"] or not process.runs():
        os.close(page)
        raise ProcessLookupError("the page is gone")
    return page


class SummaryReader:
    """Reads the page of one configuration of a run in progress, also after the run has let go of it."""

    def __init__(self, process: Process, configuration: Mapping[str, Any]) -> None:
        """`ProcessLookupError` where the run is at another configuration by now, or has ended."""
        self.configuration = configuration
        layouts = configuration["layouts"]
        self._head, self._task, self._core = (
            struct_dtype(layouts[name]) for name in ("head", "task", "core")
        )
        self._none = layouts["no_time"]
        self.ran = running(configuration)
        self._bytes = page_bytes(layouts, len(self.ran.tasks), len(self.ran.cores))
        self._fd = _opened(process, configuration, os.O_RDONLY)

    def close(self) -> None:
        os.close(self._fd)

    def read(self) -> Summary | None:
        """A copy that is whole; None before the executive has written the page, or if it died writing."""
        for _ in range(_TRIES):
            found = self._copy()
            if found is not None:
                return found
        return None

    def _copy(self) -> Summary | None:
        before = os.pread(self._fd, 8, 0)
        page = os.pread(self._fd, self._bytes, 0)
        after = os.pread(self._fd, 8, 0)
        words = np.frombuffer(page, dtype="<u8")
        head = np.frombuffer(page, dtype=self._head, count=1)[0]
        version, check = int(head["version"]), int(head["check"])
        total = (int(words.sum(dtype=np.uint64)) - version - check) % 2**64
        torn = before != after or before != page[:8] or total != check
        if version == 0 or version % 2 or torn:
            return None
        at = self._head.itemsize
        tasks, cores = int(head["tasks"]), int(head["cores"])
        task_rows = np.frombuffer(page, dtype=self._task, count=tasks, offset=at)
        core_rows = np.frombuffer(
            page, dtype=self._core, count=cores, offset=at + tasks * self._task.itemsize
        )
        return Summary(
            _plain(head), [self._timed(_plain(row)) for row in task_rows], [_plain(row) for row in core_rows]
        )

    def _timed(self, row: Mapping[str, int]) -> dict[str, int | None]:
        return {name: None if value == self._none else value for name, value in row.items()}


class ModeRequests:
    """The place at which a run in progress takes requests for modes."""

    def __init__(self, process: Process, configuration: Mapping[str, Any]) -> None:
        """`ProcessLookupError` where the run is at another configuration by now, or has ended."""
        self._at = configuration["request_at"]
        self._fd = _opened(process, configuration, os.O_RDWR)

    def ask(self, mode: int) -> None:
        os.pwrite(self._fd, (mode + 1).to_bytes(4, "little"), self._at)

    def taken(self) -> bool:
        return os.pread(self._fd, 4, self._at) == bytes(4)

    def close(self) -> None:
        os.close(self._fd)


def _plain(row: Any) -> dict[str, int]:
    return {name: int(row[name]) for name in row.dtype.names}
