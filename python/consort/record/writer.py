# SPDX-License-Identifier: Apache-2.0
"""Writes a run folder that is complete or absent.

The folder is built beside its final place under a name that no listing shows, made durable, and then
renamed. An exception removes it. A process that is killed cannot remove anything: its folder stays
unseen, and the next writer under the same root sweeps it away (its lock has been released).
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from consort.base.environment import environment
from consort.base.errors import FULL, BadInput, EnvironmentLacks
from consort.base.files import as_json, as_read, write_json, write_text
from consort.base.owned import owned_folder, remove, sweep
from consort.base.packages import naming_extras
from consort.record.columns import ACTIVITY
from consort.record.ran import PLAN_FILE, write_plan
from consort.record.raw import RawRun
from consort.record.sections import Held, Judgement, Section, make_published, make_section
from consort.record.store import (
    DESCRIPTION,
    DIAGRAM,
    PARTIAL,
    RUN_FILE,
    RUN_VERSION,
    Run,
    default_root,
)
from consort.record.summary import Configuration
from consort.record.tables import activity_of, add_tables, entry_of


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


def made_root(root: str | Path | None) -> Path:
    """The folder that holds runs, made if it is not there; None: the default one."""
    folder = default_root() if root is None else Path(root)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        # A file, a pipe, or a folder of somebody else.
        raise _not_here(folder, error) from None
    return folder


def _not_here(folder: Path, error: OSError) -> BadInput:
    return BadInput(f"runs cannot lie here: {error.strerror}", file=folder)


def run_name(file: Path) -> str:
    """The name of a description's run: that of its folder, as far as a run may be called so."""
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", file.resolve().parent.name)
    return plain.lstrip("-_.")[:64] or "system"


@contextmanager
def scratch_folder(root: Path | None) -> Iterator[Path]:
    """A folder under the runs' root (None: the default one) that goes with the block.

    It looks like a run folder under construction, so the next writer of runs removes that of a killed one.
    """
    where = made_root(root)
    folder, lock = owned_folder(lambda: _new(where / f"{PARTIAL}scratch-{secrets.token_hex(4)}"))
    try:
        yield folder.resolve()
    finally:
        remove(folder, lock)


def _new(folder: Path) -> Path:
    try:
        folder.mkdir()
    except FileNotFoundError as error:
        # The folder for it is there, and takes none, as those of /proc do.
        raise _not_here(folder.parent, error) from None
    return folder


KINDS = ("application", "loopback", "icc", "experiment", "simulation")
# Files that are made of a finished record, such as its report: by name what writes each.
Pages = Mapping[str, Callable[[Run, Path], None]]
# Events that make a run fail unless the caller says that it provoked them.
FATAL_EVENTS = ("worker-died",)
# Counters that make a run fail when they are not zero, and what one and several of them are called.
COUNTED = {
    "deadline_misses": ("deadline miss", "deadline misses"),
    "output_errors": ("wrong output", "wrong outputs"),
    "records_lost": ("record that found no room", "records that found no room"),
}


class RunWriter:
    """Collects configurations, and on `finish` makes them one run folder.

    Used as a context manager: leaving it without an exception finishes the run, leaving it with one
    removes every trace of it. `pages` are written into the folder at the end, from the complete record
    (`consort.report.PAGES` are the report and the trace).
    """

    def __init__(
        self,
        name: str,
        kind: str,
        root: str | Path | None = None,
        *,
        command: list[str] | None = None,
        source: str | Path | None = None,
        pages: Pages | None = None,
    ) -> None:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", name):
            raise BadInput(
                f"'{name}' is not a name for a run: at most 64 letters, digits, - _ .", field="name"
            )
        if kind not in KINDS:
            raise BadInput(f"'{kind}' is not a kind of run; use one of {', '.join(KINDS)}", field="kind")
        self._root = made_root(root)
        sweep(self._root, PARTIAL)
        now = datetime.now(UTC)
        self.id = f"{now:%Y%m%dT%H%M%SZ}-{name}-{secrets.token_hex(2)}"
        self._folder, self._lock = owned_folder(lambda: _new(self._root / f"{PARTIAL}{self.id}"))
        self._reasons: list[str] = []
        self._open: list[str] = []
        self._pages = dict(pages or {})
        self.run: Run | None = None
        self._data: dict[str, Any] = {
            "consort_run": RUN_VERSION,
            "id": self.id,
            "name": name,
            "kind": kind,
            "created": now.isoformat(timespec="microseconds"),
            "command": list(sys.argv if command is None else command),
            "environment": environment(source),
            "configurations": [],
            "sections": [],
            "goals": [],
        }

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.abandon()
        elif self.run is None:
            self.finish()

    def add_configuration(
        self,
        key: str,
        name: str,
        raw: RawRun,
        *,
        interference: RawRun | None = None,
        published: Collection[dict[str, Any]] = (),
        expected_events: Collection[str] = (),
        verdict: Judgement | None = None,
    ) -> None:
        """Converts a recording: every sample to Parquet, and the summaries of its metrics; keeps its plan.

        `interference` is the recording of the load that ran beside the program, on the same clock.
        `published` rows ({metric, values, unit, source}) stand beside the measured ones in the report.
        `expected_events` names events (a worker killed on purpose) that do not make the run fail.
        `verdict`: what the judge found; its reasons then decide instead of the counts of misses, wrong
        outputs and deaths.
        """
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", key):
            raise BadInput(f"'{key}' is not a key: letters, digits, - _ .", field="key")
        if any(c["key"] == key for c in self._data["configurations"]):
            raise BadInput(f"configuration '{key}' was added before", field="key")
        entry = entry_of(key, name, raw, [make_published(row).model_dump() for row in published])
        tables = dict(raw.tables)
        if interference is not None:
            tables[ACTIVITY] = activity_of(interference, raw)
            entry["interference_config"] = interference.manifest.config
        folder = self._folder / key
        folder.mkdir()
        try:
            with _naming(self._root):
                add_tables(entry, list(tables.values()), raw, folder, verdict)
                if raw.ran is not None:
                    write_plan(folder, raw.ran.plan)
                    entry["plan"] = f"{key}/{PLAN_FILE}"
        except BaseException:
            # The caller may go on with other configurations: nothing of this one may stay.
            shutil.rmtree(folder)
            raise
        self._reasons += _failures(entry, expected_events, verdict)
        if verdict is not None:
            reasons = [f"{entry['name']}: {reason}" for reason in verdict.reasons]
            (self._open if verdict.ok is Held.UNDECIDED else self._reasons).extend(reasons)
        self._data["configurations"].append(entry)

    def add_section(self, title: str, kind: str = "table", **content: Any) -> None:
        """Adds a table (columns, rows) or a figure (x, y, series) to the report; see sections.py."""
        section: Section = make_section(title, kind, content)
        self._data["sections"].append(section.model_dump())

    def add_goals(self, goals: Collection[dict[str, Any]]) -> None:
        """Goals as `consort bench --json` prints them; one that is not met makes the run fail."""
        for goal in goals:
            self._data["goals"].append(dict(goal))
            if not goal["met"]:
                value = f"{goal['value']} {goal['unit']}".strip()
                limit = f"{goal['sense']} {goal['limit']}"
                self._reasons.append(f"goal {goal['name']}: {value}, not {limit}")

    def add_environment(self, key: str, value: Any) -> None:
        """Adds what is known of the machine beyond `consort.base.environment`, as plain data."""
        self._data["environment"][key] = value

    def add_description(self, file: str | Path) -> None:
        """Keeps a copy of the system description that was run."""
        with _naming(self._root):
            shutil.copyfile(file, self._folder / DESCRIPTION)

    def add_diagram(self, svg: str) -> None:
        """Keeps a picture of the system as it ran; the page shows it."""
        with _naming(self._root):
            write_text(self._folder / DIAGRAM, svg)

    def fail(self, reason: str) -> None:
        """Makes the verdict a failure, for a reason that the recordings do not show."""
        self._reasons.append(reason)

    def leave_open(self, reason: str) -> None:
        """Adds something that the run does not show: its verdict is no longer that the system held."""
        self._open.append(reason)

    def finish(self) -> Run:
        """Writes the record and its pages, makes all durable, and gives the folder its name."""
        if self.run is not None:
            return self.run
        try:
            with _naming(self._root):
                self._data["verdict"] = {
                    "ok": Held.of(self._reasons, self._open),
                    "reasons": [*self._reasons, *self._open],
                }
                text = write_json(self._folder / RUN_FILE, self._data)
                partial = Run(self._folder, self._data)
                for file, write in self._pages.items():
                    try:
                        with naming_extras():
                            write(partial, self._folder / file)
                    except EnvironmentLacks as error:
                        # The record is whole without its pages, and `consort report` writes them later.
                        print(f"consort: {file} is not written: {error}", file=sys.stderr)
                make_durable(self._folder)
                final = self._root / self.id
                self._folder.rename(final)
                fsync(self._root)
        except BaseException:
            self.abandon()
            raise
        os.close(self._lock)
        # To read all of a large record again takes as long as to write it.
        verdict = as_read(as_json(self._data["verdict"]))
        self.run = Run(final, text, verdict)
        return self.run

    def abandon(self) -> None:
        """Removes the unfinished folder; a finished run stays."""
        if self.run is None and self._folder.exists():
            shutil.rmtree(self._folder)
            os.close(self._lock)


@contextmanager
def _naming(root: Path) -> Iterator[None]:
    """Names the folder where there is no room: a write to a full disk names no file."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno in FULL:
            error.filename = str(root)
        raise


def _failures(entry: Configuration, expected_events: Collection[str], verdict: Judgement | None) -> list[str]:
    """Reasons that this configuration fails beside those of a judge, and without one those from its counts.

    Counters that the samples contradict and records that were lost fail it either way: the record itself is
    then not to be trusted.
    """
    name = entry["name"]
    reasons: list[str] = []
    counters = entry["counters"]
    jobs = entry.get("jobs", {})
    total = jobs.get("jobs")
    for counter, (one, many) in COUNTED.items():
        seen = jobs.get(counter)
        stated = counters.get(counter)
        judged = verdict is not None and counter == "output_errors"
        if seen is not None and stated is not None and seen != stated and not judged:
            reasons.append(f"{name}: the program counted {stated} {many}, its samples show {seen}")
        count = max(seen or 0, stated or 0)
        if count and (verdict is None or counter == "records_lost"):
            what = f"{count} {one if count == 1 else many}"
            reasons.append(f"{name}: {what}" + (f" in {total} jobs" if seen is not None else ""))
    if verdict is not None:
        return reasons
    for event in entry["event_summary"]:
        if event["name"] in FATAL_EVENTS and event["name"] not in expected_events:
            where = "" if event["first_ns"] is None else f" at {event['first_ns'] / 1e6:.3f} ms"
            times = "" if event["count"] == 1 else f" {event['count']} times, first"
            reasons.append(f"{name}: {event['name']}{times}{where}")
    return reasons
