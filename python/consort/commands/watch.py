# SPDX-License-Identifier: Apache-2.0
"""``consort watch``, ``mode`` and ``region``: a run in progress, another of its modes asked for, and what a
shared-memory region holds."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from consort.base.errors import BadInput, EnvironmentLacks, SystemFails
from consort.base.waiting import Standstill
from consort.commands.options import NumberRange, print_json

if TYPE_CHECKING:
    from consort.run.live import LiveRun, Summary, SummaryReader

# How often the run is asked which configuration it is at.
_LOOK_S = 0.05
# From the top of the screen, cleared to its end, so that a shorter table leaves nothing of a longer one.
_REFRESH = "\x1b[H\x1b[J"


@click.command(
    epilog="Example: consort watch latest --interval 0.5",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.argument("run", required=False)
@click.option(
    "--interval",
    type=NumberRange(0.05, 3600),
    default=1.0,
    show_default=True,
    help="Seconds between two looks.",
)
@click.option("--wait", is_flag=True, help="Wait for such a run to begin.")
@click.option("--count", type=click.IntRange(1), help="End after so many looks; without it with the run.")
@click.option("--json", "as_json", is_flag=True, help="Print each look as one line of JSON.")
def command(run: str | None, interval: float, wait: bool, count: int | None, as_json: bool) -> None:
    """Show a run of yours that is in progress: for each task its rate, misses and response times, for each
    core what the machine did to it.

    RUN is the run's id, the beginning of its id, its name, or `latest`; it may be left out where one run is
    in progress. The figures are those that the run's recorder has collected so far; watching adds nothing to
    the run's threads. Ends when the run ends.

    Exit status 1: the run is failing so far: a deadline was missed, a process died or records were lost.
    3: no such run is in progress.
    """
    from consort.report.live import live_lines
    from consort.run.live import live_run

    watched = _begun(run) if wait else live_run(run)
    failing: dict[str, bool] = {}
    in_place = not as_json and sys.stdout.isatty()
    for looks, data in enumerate(_looks(watched, interval), start=1):
        failing[data["configuration"]] = bool(data["failing"])
        if as_json:
            print_json(data, one_line=True)
        else:
            text = "\n".join(live_lines(data))
            click.echo(_REFRESH + text if in_place else text + "\n")
        sys.stdout.flush()
        if looks == count:
            break
    if any(failing.values()):
        sys.exit(1)


def _begun(which: str | None) -> LiveRun:
    """A run as soon as there is one."""
    from consort.run.live import NoSuchRun, live_run

    if sys.stderr.isatty():
        click.echo("waiting for a run to begin", err=True)
    while True:
        with suppress(NoSuchRun):
            return live_run(which)
        time.sleep(_LOOK_S)


def _looks(run: LiveRun, interval: float) -> Iterator[dict[str, Any]]:
    """The data of the run's page, every `interval` seconds and at the end of each configuration."""
    from consort.run.live import SummaryReader

    reader: SummaryReader | None = None
    rates = _Rates()
    due = time.monotonic()
    ended = False
    try:
        while True:
            now = run.again()
            configuration = now.configuration if now is not None else None
            left = reader is not None and configuration != reader.configuration
            if reader is not None and not ended and (left or time.monotonic() >= due):
                summary = reader.read()
                if summary is not None:
                    data = _data(run, reader, summary, rates)
                    ended = data["state"] == "ended"
                    if left and not ended:
                        data["failing"].append("it ended before its last job")
                    due = max(due + interval, time.monotonic())
                    yield data
            if reader is not None and left:
                reader.close()
                reader = None
            if now is None:
                return
            if reader is None and configuration is not None:
                # The run may be at the next one already.
                with suppress(ProcessLookupError):
                    reader = SummaryReader(now.process, configuration)
                    rates, ended = _Rates(), False
            time.sleep(min(_LOOK_S, interval))
    finally:
        if reader is not None:
            reader.close()


def _data(run: LiveRun, reader: SummaryReader, summary: Summary, rates: _Rates) -> dict[str, Any]:
    from consort.report.live import live_data

    configuration = reader.configuration
    states = {number: name for name, number in configuration["layouts"]["states"].items()}
    state = states.get(summary.head["state"])
    if state is None:
        raise BadInput(
            f"the run's page is in state {summary.head['state']}, which this version does not know"
        )
    found = rates.of(summary)
    tasks = [{**row, "rate_per_s": rate} for row, rate in zip(summary.tasks, found, strict=True)]
    return live_data(run.id, configuration, reader.ran, state, summary.head, tasks, summary.cores)


class _Rates:
    """Jobs a second of each task since the last look, by the run's own clock."""

    def __init__(self) -> None:
        self._before: tuple[int, list[int]] | None = None
        self._last: list[float | None] = []

    def of(self, summary: Summary) -> list[float | None]:
        jobs = [int(task["jobs"] or 0) for task in summary.tasks]
        elapsed = summary.head["elapsed_ns"]
        before_ns, before = self._before or (0, [0] * len(jobs))
        if elapsed <= before_ns:
            return self._last or [None] * len(jobs)
        seconds = (elapsed - before_ns) / 1e9
        self._last = [(now - then) / seconds for now, then in zip(jobs, before, strict=True)]
        self._before = (elapsed, jobs)
        return self._last


# The recorder looks for requests every 20 ms where it gets a processor.
_PATIENCE_S = 30.0
_MODE_LOOK_S = 0.01


@click.command(
    epilog="Example: consort mode latest cruise",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.argument("run")
@click.argument("mode")
@click.option("--json", "as_json", is_flag=True, help="Print {run, mode} as JSON on standard output.")
def mode_command(run: str, mode: str, as_json: bool) -> None:
    """Ask a run of yours that is in progress for another of its modes.

    RUN is the run's id, the beginning of its id, its name, or `latest`; MODE one of the modes that
    `mode_changes` of its description names. It ends when the run has taken the request; the change goes on as
    any other, and stands in the run's record. A request for the mode that there is changes nothing.

    Exit status 1: the run did not take the request. 2: it has no such mode. 3: no such run is in progress.
    """
    from consort.run.live import ModeRequests, NoSuchRun, live_run, running

    asked = live_run(run)
    configuration = asked.configuration
    if configuration is None:
        raise NoSuchRun(f"the run {asked.id} has not begun", "ask again once it has")
    changes = running(configuration).plan.changes
    modes = () if changes is None else changes.modes
    if not modes:
        raise BadInput(
            f"the run {asked.id} has one mode; what changes modes is described by 'mode_changes'", field="RUN"
        )
    if mode not in modes:
        raise BadInput(f"the run {asked.id} has no mode {mode!r}; it has {', '.join(modes)}", field="MODE")
    try:
        requests = ModeRequests(asked.process, configuration)
    except ProcessLookupError:
        raise NoSuchRun(f"the run {asked.id} has ended", "start it again") from None
    try:
        requests.ask(modes.index(mode))
        standstill = Standstill(_PATIENCE_S, lambda: (asked.process.pid,))
        while not requests.taken():
            if standstill.over(mode) or asked.again() is None:
                raise SystemFails(f"the run {asked.id} ended or stands still: it did not take the request")
            time.sleep(_MODE_LOOK_S)
    finally:
        requests.close()
    if as_json:
        print_json({"run": asked.id, "mode": mode}, one_line=True)
    else:
        click.echo(f"{asked.id} was asked for {mode}")


@click.command(
    epilog="Example: consort region /dev/shm/servo        (a running application's: /proc/PID/fd/N)",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def region_command(path: Path, as_json: bool) -> None:
    """Attach read-only to the region in PATH and list its objects and their types' layouts.

    PATH is a file, a POSIX shared memory under /dev/shm, or a file descriptor of a running process under
    /proc.
    Exit status 1: there is no region to use; the reason is the one that a peer would be given.
    """
    region = inspect(path)
    if as_json:
        print_json(region)
    else:
        show(path, region)
    if region["refused"] is not None:
        sys.exit(1)


def inspect(path: Path) -> dict[str, Any]:
    """The region's header and table; `refused` holds the reason if a peer would be refused."""
    try:
        from consort import _engine
    except ImportError as error:
        raise EnvironmentLacks(
            f"Consort's native module is not built ({error})", "build it: make setup, or pip install ."
        ) from error
    try:
        return _engine.inspect_region(str(path))
    except OSError as error:
        raise BadInput(
            f"cannot be mapped ({error}); give a file, /dev/shm/NAME or /proc/PID/fd/N", file=path
        ) from error


def show(path: Path, region: dict[str, Any]) -> None:
    if region["refused"] is not None:
        click.echo(
            f"{path}: {region['refused']} (expected {region['expected']:#x}, found {region['found']:#x})",
            err=True,
        )
        return
    click.echo(
        f"{path}: region of {region['bytes']} bytes, version {region['version']},"
        f" generation {region['generation']},"
        f" made by {region['creator']} ({region['pointer_bits']}-bit), lines of {region['line_bytes']} bytes"
    )
    for item in region["objects"]:
        extra = f"[{item['parameter']}]" if item["parameter"] else ""
        click.echo(
            f"  {item['offset']:>8}  {item['bytes']:>7} B  {item['kind'] + extra:<16} {item['name']}"
            f"  payload {item['payload_bytes']} B, fingerprint {item['fingerprint']:016x}"
        )
        for leaf in item["leaves"]:
            times = f" x {leaf['count']}" if leaf["count"] > 1 else ""
            click.echo(f"{'':>26}+{leaf['offset']:<6} {leaf['kind']}{8 * leaf['bytes']}{times}")
