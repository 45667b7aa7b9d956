# SPDX-License-Identifier: Apache-2.0
"""``consort mode``: asks a run in progress for another mode."""

from __future__ import annotations

import json
import time

import click

from consort.base.errors import BadInput, SystemFails
from consort.base.waiting import Standstill

# The recorder looks for requests every 20 ms where it gets a processor.
_PATIENCE_S = 30.0
_LOOK_S = 0.01


@click.command(
    epilog="Example: consort mode latest cruise",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.argument("run")
@click.argument("mode")
@click.option("--json", "as_json", is_flag=True, help="Print {run, mode} as JSON on standard output.")
def command(run: str, mode: str, as_json: bool) -> None:
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
            time.sleep(_LOOK_S)
    finally:
        requests.close()
    if as_json:
        click.echo(json.dumps({"run": asked.id, "mode": mode}))
    else:
        click.echo(f"{asked.id} was asked for {mode}")
