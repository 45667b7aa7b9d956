# SPDX-License-Identifier: Apache-2.0
"""``consort generate``: partition configurations for real boards, tables for the scratchpad kernel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from consort.base.errors import BadInput
from consort.commands.options import ChoiceOf, on_option

if TYPE_CHECKING:
    from consort.board.generate.kernel import OnOverrun
    from consort.model.quantities import DataRate, Duration, Frequency, Quantity, Size

TABLES = "scratchpad"


class _Number(click.ParamType):  # type: ignore[type-arg]
    """An integer, also in hexadecimal."""

    name = "number"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return int(str(value), 0)
        except ValueError:
            self.fail(f"{value!r} is not a number, such as 0x4000000", param, ctx)


class _Quantity(click.ParamType):  # type: ignore[type-arg]
    """A quantity with its unit."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.name = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in kind).strip()

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Quantity:
        from consort.model import quantities

        try:
            kind: type[Quantity] = getattr(quantities, self.kind)
            return value if isinstance(value, kind) else kind.parse(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


class _Named(click.ParamType):  # type: ignore[type-arg]
    """NAME=VALUE."""

    def __init__(self, example: str) -> None:
        self.name = example

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        name, equals, rest = str(value).partition("=")
        if not name or not equals or not rest:
            self.fail(f"{value!r} is not of the form {self.name}", param, ctx)
        return name, rest


@click.command(
    epilog="Examples: consort generate system.yaml --for xen --window 0x4000000 --colors 4"
    " --llc-size 1MiB --llc-ways 16; consort generate system.yaml --for scratchpad"
    " --out generated",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.argument("description", type=click.Path(path_type=Path))
@click.option(
    "--for",
    "form",
    required=True,
    type=ChoiceOf("FORM", "consort.board.generate", "FORMATS", TABLES),
    help="Whose form: bao, jailhouse, linux, xen or zephyr; scratchpad: the tables of the"
    " scratchpad-centric kernel.",
)
@click.option("--out", type=click.Path(path_type=Path), default=Path(), help="Folder; default: this one.")
@click.option("--window", type=_Number(), help="Partitions: where the shared window begins.")
@click.option("--window-size", type=_Quantity("Size"), default="2MiB", show_default=True)
@click.option(
    "--partition-size",
    type=_Quantity("Size"),
    default="16MiB",
    show_default=True,
    help="Memory of a task's core.",
)
@click.option("--group", default="", help="The core group that is partitioned; default: the first task's.")
@click.option("--colors", type=click.IntRange(0), default=0, help="Cache colours for each task's core.")
@click.option("--llc-size", type=_Quantity("Size"), default="0B", help="The size of the last-level cache.")
@click.option("--llc-ways", type=click.IntRange(0), default=0, help="The ways of the last-level cache.")
@click.option("--gicd", type=_Number(), default=0, help="Jailhouse: where the interrupt distributor is.")
@click.option("--first-irq", type=int, default=136, show_default=True, help="Doorbells: two a core.")
@click.option(
    "--overshoot",
    type=click.IntRange(0),
    help="Linux, Jailhouse: memory accesses that pass before a regulator stops a core; with 'bandwidth'.",
)
@click.option(
    "--object",
    "objects",
    type=_Named("TASK=FILE"),
    multiple=True,
    help="Scratchpad: an object file of a task, whose size counts instead of the description's; may be given"
    " again.",
)
@click.option(
    "--scratchpad",
    "scratchpads",
    type=_Named("CORE=ADDRESS"),
    multiple=True,
    help="Scratchpad: where a core's begins; without it the linker places it.",
)
@click.option("--images", type=_Number(), help="Scratchpad: where tasks' images are in main memory.")
@click.option(
    "--region",
    default="",
    help="Scratchpad: the MEMORY region of the program's linker script for what has no address.",
)
@click.option(
    "--dma-rate", type=_Quantity("DataRate"), help="Scratchpad: the DMA's rate, instead of the platform's."
)
@click.option("--dma-setup", type=_Quantity("Duration"), help="Scratchpad: what programming the DMA takes.")
@click.option(
    "--clock",
    type=_Quantity("Frequency"),
    default="1GHz",
    show_default=True,
    help="Scratchpad: the I/O core's clock; each period, offset, deadline and slot is a whole number of its"
    " ticks.",
)
@click.option(
    "--on-overrun",
    type=click.Choice(["report", "stop-job", "stop-task"]),
    default="report",
    show_default=True,
    help="Scratchpad: what becomes of a job that executes longer than its WCET.",
)
@on_option
@click.option("--force", is_flag=True, help="Scratchpad: write tables of a set that is not schedulable too.")
def command(
    description: Path,
    form: str,
    out: Path,
    window: int | None,
    window_size: Size,
    partition_size: Size,
    group: str,
    colors: int,
    llc_size: Size,
    llc_ways: int,
    gicd: int,
    first_irq: int,
    overshoot: int | None,
    objects: tuple[tuple[str, str], ...],
    scratchpads: tuple[tuple[str, str], ...],
    images: int | None,
    region: str,
    dma_rate: DataRate | None,
    dma_setup: Duration | None,
    clock: Frequency,
    on_overrun: OnOverrun,
    on: str | None,
    force: bool,
) -> None:
    """Write the configuration that gives the tasks' cores, and their memory, to the system alone.

    Cores, memory, interrupts and cache colours are planned once for all forms; overlaps and options that
    cannot be granted are refused (exit status 2).

    --for scratchpad writes the static tables of the scratchpad-centric kernel instead: tasks, slots,
    subscriptions, partitions, linker scripts. A set that is not schedulable is refused (exit status 1), and
    one of which nobody knows it for want of a figure (4).
    """
    from consort.board.generate import (
        PartitionOptions,
        TableOptions,
        files,
        make_plan,
        make_tables,
        summary,
        table_files,
        write_together,
    )
    from consort.board.generate.sizes import with_symbols
    from consort.model import BadDescription, load_system

    if form == TABLES:
        options = TableOptions(
            _addresses(scratchpads),
            images,
            _files(objects),
            dma_rate,
            dma_setup,
            on_overrun,
            force,
            region,
            clock.hertz,
        )
        try:
            system = load_system(description, on)
        except BadDescription as error:
            raise with_symbols(error, options) from None
        tables = make_tables(system, options)
        written, said = table_files(tables), summary(tables)
    else:
        if window is None:
            raise BadInput("says where the shared window begins; it is needed here", field="--window")
        plan = PartitionOptions(
            window,
            window_size.bytes,
            partition_size.bytes,
            group,
            colors,
            llc_size.bytes,
            llc_ways,
            first_irq,
            gicd,
            overshoot,
        )
        written, said = files(make_plan(load_system(description, on), plan), form), []
    for path in write_together(out, written):
        click.echo(path)
    for line in said:
        click.echo(line)


def _addresses(given: tuple[tuple[str, str], ...]) -> dict[str, int]:
    found: dict[str, int] = {}
    for core, text in given:
        try:
            address = int(text, 0)
        except ValueError:
            raise BadInput(f"{text!r} is not an address, such as 0xFFFC0000", field="--scratchpad") from None
        if core in found:
            raise BadInput(f"{core!r} is given twice", field="--scratchpad")
        found[core] = address
    return found


def _files(given: tuple[tuple[str, str], ...]) -> dict[str, tuple[Path, ...]]:
    found: dict[str, tuple[Path, ...]] = {}
    for task, file in given:
        found[task] = (*found.get(task, ()), Path(file))
    return found
