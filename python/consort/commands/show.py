# SPDX-License-Identifier: Apache-2.0
"""``consort show``: a diagram of a system or a platform, as SVG."""

from __future__ import annotations

from pathlib import Path

import click

from consort.base.errors import BadInput
from consort.commands.options import on_option


@click.command(
    "show",
    epilog="Example: consort show system.yaml -o vehicle.svg",
    help="Draw the system description or platform file FILE as SVG: cores by processor, tasks with their"
    " times, channels between them, memories, links and chains.",
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, allow_dash=True),
    help="Where to write; - is standard output (default: FILE's name with .svg, in the current folder).",
)
@on_option
@click.option("--mode", help="Draw the system as it is in this mode.")
def command(file: Path, output: Path | None, on: str | None, mode: str | None) -> None:
    from consort.base.problems import nearest
    from consort.model import Platform
    from consort.model.load import load_description
    from consort.report.draw import draw_platform, draw_system

    described = load_description(file, on)
    if isinstance(described, Platform):
        if mode is not None:
            raise BadInput("a platform has no modes; leave --mode out", file=file)
        text = draw_platform(described)
    else:
        system = described
        if mode is not None and mode not in system.modes:
            raise BadInput(
                f"there is no mode {mode!r}; {nearest(mode, system.modes, 'modes')}", file=file, field="modes"
            )
        text = draw_system(system, mode=mode)
    if output == Path("-"):
        click.echo(text, nl=False)
        return
    path = output or Path(file.with_suffix(".svg").name)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadInput(f"cannot be written: {error.strerror}; name another file with -o", file=path) from None
    click.echo(f"{path}: written", err=True)
