# SPDX-License-Identifier: Apache-2.0
"""`consort report`: the page and the trace of a recorded run, made again."""

from __future__ import annotations

from pathlib import Path

import click

from consort.base.errors import BadInput
from consort.base.files import written_whole
from consort.commands.options import root_option


@click.command(epilog="Example: consort report latest")
@click.argument("run", required=False)
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Where to write the page (default: report.html in the run's folder, the trace beside it).",
)
@click.option("--open", "open_page", is_flag=True, help="Open the page in the browser.")
@root_option
def command(run: str | None, output: Path | None, open_page: bool, root: Path | None) -> None:
    """Print the verdict on RUN, measured beside simulated beside bound; write its HTML report and trace.

    A run is named by its folder, its id, the beginning of its id, or `latest`. Without RUN it is the last
    one, which is named first.
    """
    from consort.record.checked import reading
    from consort.record.store import load_run
    from consort.report import write_report, write_trace
    from consort.report.terminal import verdict_lines

    chosen = load_run(run or "latest", root)
    page = output if output is not None else chosen.path / "report.html"
    if not page.parent.is_dir():
        raise BadInput("no such folder", file=page.parent, field="--output")
    trace = page.parent / "trace.pftrace" if output is None else page.with_suffix(".pftrace")
    if run is None:
        click.echo(f"The last run, {chosen.path}:")
    with reading(chosen.path):
        lines = verdict_lines(chosen, files=False)
    for line in lines:
        click.echo(line)
    # Written beside and renamed: a reader never sees half a page.
    for write, file in ((write_report, page), (write_trace, trace)):
        with written_whole(file) as draft, reading(chosen.path):
            write(chosen, draft)
        click.echo(str(file))
    if open_page:
        click.launch(str(page))
