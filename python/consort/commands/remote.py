# SPDX-License-Identifier: Apache-2.0
"""``consort remote``: windows of remote memory, in simulated hardware that processes share."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import click

from consort.errors import BadInput
from consort.model.quantities import Size
from consort.model.textvalue import WrongValue
from consort.remote import window

SETTINGS = {"help_option_names": ["-h", "--help"]}
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,30}")


@click.group(
    context_settings=SETTINGS,
    epilog="Example: consort remote attach demo --size 64KiB && consort remote list",
)
def command() -> None:
    """Remote memory behind the cBlock and mBlock of rtl/, simulated in a process of its own.

    A program's plain loads and stores to a window go through them: see docs/how-to/remote-window.md.
    """


@command.command(
    context_settings=SETTINGS,
    epilog="Example: consort remote attach demo --size 64KiB --rights r --wave demo.fst",
)
@click.argument("name")
@click.option("--size", required=True, help="Bytes of the window, with a unit; a multiple of 4KiB.")
@click.option("--address", default="0x400000000", show_default=True, help="Where the processor sees it.")
@click.option("--offset", default="0", show_default=True, help="Where it begins in the remote memory.")
@click.option("--link", type=int, default=0, show_default=True)
@click.option("--memory", type=int, default=0, show_default=True, help="The mBlock's memory controller.")
@click.option("--rights", type=click.Choice(["r", "w", "rw"]), default="rw", show_default=True)
@click.option(
    "--wave",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Record all signals as .fst; of the first window.",
)
def attach(
    name: str, size: str, address: str, offset: str, link: int, memory: int, rights: str, wave: Path | None
) -> None:
    """Attach a segment of remote memory as NAME; start the hardware where it does not run.

    Exit status 2: the hardware's driver refuses the window, and says why. 3: its tools are not there.
    """
    if not NAME.fullmatch(name):
        raise BadInput(f"{name!r} is no name: letters, digits, and _ . - after the first", field="NAME")
    try:
        size_bytes = Size.parse(size).value
    except WrongValue as error:
        raise BadInput(str(error), field="--size") from error
    places = [_number("--address", address), size_bytes, _number("--offset", offset)]
    if link < 0 or memory < 0:
        raise BadInput("not below 0", field="--link" if link < 0 else "--memory")
    if wave is not None and not wave.resolve().parent.is_dir():
        raise BadInput(f"there is no folder {wave.resolve().parent}", field="--wave")
    with window.alone():
        hardware = window.running()
        if hardware is not None and wave is not None:
            raise BadInput("the hardware runs already; detach all windows first", field="--wave")
        started = hardware is None
        hardware = hardware or window.start(wave)
        try:
            hardware.expect(
                " ".join(["attach", name, *map(str, places), "0", str(link), str(memory), rights])
            )
        except BadInput:
            if started:
                hardware.ask("stop")
            raise
    click.echo(f"{name}: {size_bytes} bytes at {places[0]:#x}")


def _number(field: str, text: str) -> int:
    try:
        value = int(text, 0)
    except ValueError:
        raise BadInput(f"{text!r} is no address; write it as 0x... or in decimal", field=field) from None
    if not 0 <= value < 1 << 63:
        raise BadInput(f"{text} is outside 0 to 2^63", field=field)
    return value


@command.command(context_settings=SETTINGS, epilog="Example: consort remote detach demo")
@click.argument("name")
def detach(name: str) -> None:
    """Detach the window NAME; with the last one the hardware, and what its memory holds, ends."""
    with window.alone():
        hardware = window.running()
        if hardware is None:
            raise BadInput(f"there is no window {name}: no simulated hardware runs")
        if not NAME.fullmatch(name):
            raise BadInput(f"{name!r} is no name of a window")
        left = int(hardware.expect(f"detach {name}"))
        if left == 0:
            hardware.ask("stop")
    click.echo(f"{name}: detached" + ("" if left else "; the hardware has ended"))


@command.command("list", context_settings=SETTINGS, epilog="Example: consort remote list --json")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def list_windows(as_json: bool) -> None:
    """List the attached windows, with the counters of their registers."""
    hardware = window.running()
    listed: dict[str, Any] = {"windows": []} if hardware is None else hardware.listing()
    if as_json:
        click.echo(json.dumps(listed, indent=1))
        return
    if hardware is None:
        click.echo("no window is attached")
    for item in listed["windows"]:
        rights = ("r" if item["readable"] else "-") + ("w" if item["writable"] else "-")
        click.echo(
            f"{item['name']:<16} {item['address']:#012x}  {item['size']:>9} B  {rights}  link {item['link']}"
            f"  memory {item['memory']} at {item['offset']:#x}"
            f"  {item['reads']} reads, {item['writes']} writes"
        )


@command.command(context_settings=SETTINGS, epilog="Example: consort remote hops")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def hops(as_json: bool) -> None:
    """Show where the cycles of the last load and the last store went."""
    hardware = window.running()
    accesses = [] if hardware is None else hardware.hops()
    if as_json:
        click.echo(json.dumps(accesses, indent=1))
        return
    if not accesses:
        raise BadInput("nothing came to the remote memory yet")
    click.echo(f"{'cycles':<16}" + "".join(f"{a['access']:>8}" for a in accesses))
    for i, hop in enumerate(accesses[0]["hops"]):
        click.echo(f"{hop['hop']:<16}" + "".join(f"{a['hops'][i]['cycles']:>8}" for a in accesses))
    click.echo(f"{'all':<16}" + "".join(f"{a['cycles']:>8}" for a in accesses))
