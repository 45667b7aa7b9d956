# SPDX-License-Identifier: Apache-2.0
"""``consort remote``: segments attached to simulated hardware, programs, the kernel or virtual machines."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from consort.base.errors import BadInput
from consort.commands.options import print_json, size_of

from consort_remote import loaded
from consort_remote.commands import remote_machine
from consort_remote.commands.remote_machine import MACHINE, PATIENCE
from consort_remote.commands.remote_module import module
from consort_remote.commands.remote_pager import run_program, serve

SETTINGS = {"help_option_names": ["-h", "--help"]}
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,30}")
PROGRAM = click.option(
    "--program",
    type=click.IntRange(1),
    metavar="PID",
    help="For a program that `consort remote run` started, while it runs.",
)
IN_KERNEL = click.option(
    "--module", "in_kernel", is_flag=True, help="As memory of this machine, by the kernel module remap."
)


@click.group(
    context_settings=SETTINGS,
    epilog="Example: consort remote attach demo --size 64KiB && consort remote list",
)
def command() -> None:
    """Memory that sits elsewhere.

    serve, run: for any program, by a user-level pager (docs/remote-pager.md of remote-memory/). attach, list,
    hops, detach: windows behind the simulated cBlock and mBlock of rtl/ (docs/remote-window.md), or with
    --module memory of this machine's kernel (docs/remote-kernel.md), or with --qmp memory of a virtual
    machine (docs/remote-machine.md). module: builds and tests the kernel module.
    """


for each in (serve, run_program, module):
    command.add_command(each)


@command.command(
    context_settings=SETTINGS,
    epilog="Example: consort remote attach demo --size 64KiB --rights r --wave demo.fst",
)
@click.argument("name")
@click.option(
    "--size", help="Bytes of the window, with a unit; a multiple of 4KiB. Needed but for --program and --qmp."
)
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
@IN_KERNEL
@PROGRAM
@click.option(
    "--node",
    type=click.IntRange(0, 4095),
    help="The NUMA node. With --module: one of its own by default; with --qmp: of the guest, 0 by default.",
)
@MACHINE
@remote_machine.DEVICE
@remote_machine.BUS
@PATIENCE
def attach(
    name: str,
    size: str | None,
    address: str,
    offset: str,
    link: int,
    memory: int,
    rights: str,
    wave: Path | None,
    in_kernel: bool,
    program: int | None,
    node: int | None,
    qmp: Path | None,
    device: str,
    bus: str | None,
    patience: str,
) -> None:
    """Attach a segment of remote memory as NAME; start the hardware where it does not run.

    With --module it becomes memory of this machine, online and movable. With --program NAME is a segment as
    `consort remote run --attach` takes it, for a program that runs; with --qmp
    `SERVER,size=SIZE[,key=FILE]` for a virtual machine that QEMU runs. Exit status 1: the module or the guest
    does not take it now. 2: the driver, the server or QEMU refuses it, and says why. 3: its tools are not
    there, the module is not loaded, or no server or QEMU runs.
    """
    from consort_remote import pager, programs, window

    if remote_machine.chosen(qmp, "name", "node", "device", "bus", "patience"):
        remote_machine.attach(qmp, name, device, node, bus, patience)
        return
    if program is not None:
        if size is not None or in_kernel or wave is not None:
            raise BadInput("NAME says all of the segment: memory,size=1GiB", field="--program")
        number = programs.attach(program, pager.Attachment.parse(name))
        click.echo(f"{number}: attached to {program}")
        return
    if size is None:
        raise BadInput("how large is the window? write --size 64KiB", field="--size")
    if not NAME.fullmatch(name):
        raise BadInput(f"{name!r} is not a name: letters, digits, and _ . - after the first", field="NAME")
    size_bytes = size_of("--size", size)
    places = [_number("--address", address), size_bytes, _number("--offset", offset)]
    if link < 0 or memory < 0:
        raise BadInput("not below 0", field="--link" if link < 0 else "--memory")
    if wave is not None and not wave.resolve().parent.is_dir():
        raise BadInput(f"there is no folder {wave.resolve().parent}", field="--wave")
    if in_kernel:
        if wave is not None or rights != "rw":
            raise BadInput("memory of the kernel is rw, and has no --wave", field="--module")
        words = dict(zip(("address", "size", "offset"), places, strict=True)) | {
            "link": link,
            "memory": memory,
        }
        made = loaded.Module().attach(name, words if node is None else words | {"node": node})
        click.echo(f"{name}: {size_bytes} bytes at {places[0]:#x}, NUMA node {made['node']}")
        return
    if node is not None:
        raise BadInput("only with --module or --qmp", field="--node")
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
        raise BadInput(f"{text!r} is not an address; write it as 0x... or in decimal", field=field) from None
    if not 0 <= value < 1 << 63:
        raise BadInput(f"{text} is outside 0 to 2^63", field=field)
    return value


@command.command(context_settings=SETTINGS, epilog="Example: consort remote detach demo")
@click.argument("name")
@click.option("--home", is_flag=True, help="With --program: what lies there comes home first, and stays.")
@IN_KERNEL
@PROGRAM
@MACHINE
@PATIENCE
def detach(
    name: str, home: bool, in_kernel: bool, program: int | None, qmp: Path | None, patience: str
) -> None:
    """Detach the window NAME; with the last one the hardware, and what its memory holds, ends.

    With --module its pages in use are migrated to other memory first. Exit status 1: they cannot be. With
    --program NAME is the segment's number (`list --program`): refused while blocks of the program lie there,
    but for --home, which leaves them where they are, as memory of this machine, while the program goes on.
    With --qmp NAME is what `attach` said: the guest is asked for its memory. Exit status 1: it keeps it, and
    the segment stays. 3: QEMU cannot remove the device.
    """
    from consort_remote import programs, window

    if remote_machine.chosen(qmp, "name", "patience"):
        remote_machine.detach(qmp, name, patience)
        return
    if program is not None:
        if not name.isdecimal() or in_kernel:
            raise BadInput(
                f"{name!r} is not a number of a segment; see: consort remote list --program {program}"
            )
        click.echo(f"{name}: {programs.detach(program, int(name), home=home)}")
        return
    if home:
        raise BadInput("only with --program", field="--home")
    if in_kernel:
        if not NAME.fullmatch(name):
            raise BadInput(f"{name!r} is not a name of a segment")
        loaded.Module().detach(name)
        click.echo(f"{name}: detached")
        return
    with window.alone():
        hardware = window.running()
        if hardware is None:
            raise BadInput(f"there is no window {name}: no simulated hardware runs")
        if not NAME.fullmatch(name):
            raise BadInput(f"{name!r} is not a name of a window")
        left = int(hardware.expect(f"detach {name}"))
        if left == 0:
            hardware.ask("stop")
    click.echo(f"{name}: detached" + ("" if left else "; the hardware has ended"))


@command.command("list", context_settings=SETTINGS, epilog="Example: consort remote list --json")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
@IN_KERNEL
@PROGRAM
@MACHINE
def list_windows(as_json: bool, in_kernel: bool, program: int | None, qmp: Path | None) -> None:
    """List the attached windows, with the counters of their registers; or what a program, the kernel or a
    virtual machine has."""
    from consort_remote import window

    if remote_machine.chosen(qmp, "as_json"):
        remote_machine.show(qmp, as_json)
        return
    if program is not None:
        _list_of_program(program, as_json)
        return
    if in_kernel:
        _list_segments(as_json)
        return
    hardware = window.running()
    listed: dict[str, Any] = {"windows": []} if hardware is None else hardware.listing()
    if as_json:
        print_json(listed)
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


def _list_of_program(program: int, as_json: bool) -> None:
    from consort_remote import programs

    found = programs.attached(program)
    if as_json:
        print_json({"segments": [asdict(each) for each in found]})
        return
    for each in found:
        click.echo(f"{each.number:<4} {each.size:>14} B  {each.used:>14} B in use  {each.state}")
    if not found:
        click.echo("no segment is attached")


def _list_segments(as_json: bool) -> None:
    segments = loaded.Module().segments()
    if as_json:
        print_json({"segments": segments})
        return
    for each in segments:
        click.echo(
            f"{each['name']:<16} {each['address']:#012x}  {each['size']:>12} B  {each['state']}"
            f"  node {each['node']}  {each['movable']} B online and movable"
            f"  {each['reads']} reads, {each['writes']} writes"
            + (f"  {each['lost']} pages lost" if each["lost"] else "")
        )
    if not segments:
        click.echo("no segment is attached")


@command.command(context_settings=SETTINGS, epilog="Example: consort remote hops")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def hops(as_json: bool) -> None:
    """Show where the cycles of the last load and the last store went."""
    from consort_remote import window

    hardware = window.running()
    accesses = [] if hardware is None else hardware.hops()
    if as_json:
        print_json(accesses)
        return
    if not accesses:
        raise BadInput("nothing came to the remote memory yet")
    click.echo(f"{'cycles':<16}" + "".join(f"{a['access']:>8}" for a in accesses))
    for i, hop in enumerate(accesses[0]["hops"]):
        click.echo(f"{hop['hop']:<16}" + "".join(f"{a['hops'][i]['cycles']:>8}" for a in accesses))
    click.echo(f"{'all':<16}" + "".join(f"{a['cycles']:>8}" for a in accesses))
