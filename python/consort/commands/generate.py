# SPDX-License-Identifier: Apache-2.0
"""``consort generate``: writes partition configurations for real boards."""

from __future__ import annotations

from pathlib import Path

import click

from consort.errors import BadInput, EnvironmentLacks
from consort.generate import FORMATS, Wishes, files, make_plan
from consort.model import load_system
from consort.model.quantities import Size


class _Number(click.ParamType):  # type: ignore[type-arg]
    """An integer, also in hexadecimal."""

    name = "number"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return int(str(value), 0)
        except ValueError:
            self.fail(f"{value!r} is no number, such as 0x4000000", param, ctx)


class _Bytes(click.ParamType):  # type: ignore[type-arg]
    """A size with its unit."""

    name = "size"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return value if isinstance(value, int) else Size.parse(str(value)).bytes
        except ValueError as error:
            self.fail(str(error), param, ctx)


@click.command(
    epilog="Example: consort generate examples/servo/versal.yaml --for xen --window 0x4000000 --colors 4"
    " --llc-size 1MiB --llc-ways 16",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.argument("description", type=click.Path(path_type=Path))
@click.option("--for", "form", required=True, type=click.Choice(sorted(FORMATS)), help="Whose form.")
@click.option("--out", type=click.Path(path_type=Path), default=Path(), help="Folder; default: this one.")
@click.option("--window", required=True, type=_Number(), help="Where the shared window begins.")
@click.option("--window-size", type=_Bytes(), default="2MiB", show_default=True)
@click.option(
    "--partition-size", type=_Bytes(), default="16MiB", show_default=True, help="Memory of a task's core."
)
@click.option("--group", default="", help="The core group that is partitioned; default: the first task's.")
@click.option("--colors", type=click.IntRange(0), default=0, help="Cache colours for each task's core.")
@click.option("--llc-size", type=_Bytes(), default="0B", help="Of the last-level cache.")
@click.option("--llc-ways", type=click.IntRange(0), default=0, help="Of the last-level cache.")
@click.option("--gicd", type=_Number(), default=0, help="Jailhouse: where the interrupt distributor is.")
@click.option("--first-irq", type=int, default=136, show_default=True, help="Doorbells: two a core.")
def command(
    description: Path,
    form: str,
    out: Path,
    window: int,
    window_size: int,
    partition_size: int,
    group: str,
    colors: int,
    llc_size: int,
    llc_ways: int,
    gicd: int,
    first_irq: int,
) -> None:
    """Write the configuration that gives the tasks' cores, and their memory, to the system alone.

    Cores, memory, interrupts and cache colours are planned once for all forms; overlaps and wishes that
    cannot be granted are refused (exit status 2).
    """
    wishes = Wishes(window, window_size, partition_size, group, colors, llc_size, llc_ways, first_irq, gicd)
    written = files(make_plan(load_system(description), wishes), form)
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, text in written.items():
            (out / name).write_text(text, encoding="utf-8")
            click.echo(out / name)
    except FileExistsError as error:
        raise BadInput("is no folder", file=out) from error
    except OSError as error:
        raise EnvironmentLacks(
            f"{out} cannot be written ({error.strerror})", "choose another --out"
        ) from error
