# SPDX-License-Identifier: Apache-2.0
"""``consort export``: a system description as a model for another tool."""

from __future__ import annotations

import json
from pathlib import Path

import click

from consort.base.errors import BadInput
from consort.commands.options import ChoiceOf, on_option


@click.command(
    "export",
    epilog="Example: consort export system.yaml --to mast -o system.mast",
    help="Write FILE, a system description, as a model for another tool: amalthea (APP4MC, release 1.0),"
    " rt-app (JSON, runs the task set on Linux), sag (the jobs of a hyperperiod as CSV for analyses by"
    " schedule-abstraction graphs) or mast (text). What the form cannot hold is listed. Nothing is written"
    " after an error.",
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--to",
    "form",
    type=ChoiceOf("FORM", "consort.exchange.formats", "EXPORTS"),
    required=True,
    help="The form to write.",
)
@click.option(
    "-o", "--output", "out", type=click.Path(path_type=Path), required=True, help="The file to write."
)
@on_option
@click.option("--core", help="For sag: the core whose jobs are written, where tasks are on several.")
@click.option("--json", "as_json", is_flag=True, help="Print what was written and left out as JSON.")
def command(file: Path, form: str, out: Path, on: str | None, core: str | None, as_json: bool) -> None:
    from consort.exchange.exports import export_sag
    from consort.exchange.formats import EXPORTS
    from consort.exchange.report import Report, write_files
    from consort.model import load_system

    system = load_system(file, on)
    if out.resolve() == file.resolve():
        raise BadInput("the output is the input; name another file", file=out)
    report = Report()
    if core is not None and form != "sag":
        raise BadInput("--core is for --to sag; the other forms hold all cores", file=file)
    text = export_sag(system, report, core) if form == "sag" else EXPORTS[form](system, report)
    write_files({out: text})
    if as_json:
        result = {"ok": True, "form": form, "written": [str(out)]}
        click.echo(json.dumps(result | report.to_json(), indent=2, ensure_ascii=False))
        return
    click.echo(f"wrote {out}")
    click.echo(report.text())
