# SPDX-License-Identifier: Apache-2.0
"""``consort remote``: windows of remote memory in simulated hardware, and the user-level pager."""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from consort.commands.remote_module import module
from consort.errors import BadInput
from consort.model.quantities import Duration, Size
from consort.model.textvalue import WrongValue
from consort.remote import loaded, pager, programs, window

SETTINGS = {"help_option_names": ["-h", "--help"]}
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,30}")
PROGRAM = click.option(
    "--program",
    type=click.IntRange(1),
    metavar="PID",
    help="Of a program that `consort remote run` started, while it runs.",
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

    serve, run: for any program, by a user-level pager (docs/how-to/remote-pager.md). attach, list, hops,
    detach: windows behind the simulated cBlock and mBlock of rtl/ (docs/how-to/remote-window.md), or with
    --module memory of this machine's kernel (docs/how-to/remote-kernel.md). module: builds and tests that.
    """


command.add_command(module)


@command.command(
    context_settings=SETTINGS,
    epilog="Example: consort remote attach demo --size 64KiB --rights r --wave demo.fst",
)
@click.argument("name")
@click.option(
    "--size", help="Bytes of the window, with a unit; a multiple of 4KiB. Needed but for --program."
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
    "--node", type=click.IntRange(0, 4095), help="With --module: the NUMA node. Default: one of its own."
)
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
) -> None:
    """Attach a segment of remote memory as NAME; start the hardware where it does not run.

    With --module it becomes memory of this machine, online and movable. With --program NAME is a segment as
    `consort remote run --attach` takes it, for a program that runs. Exit status 2: the driver or the server
    refuses it, and says why. 3: its tools are not there, or the module is not loaded.
    """
    if program is not None:
        if size is not None or in_kernel or wave is not None:
            raise BadInput("NAME says all of the segment: memory,size=1GiB", field="--program")
        number = programs.attach(program, pager.Attachment.parse(name))
        click.echo(f"{number}: attached to {program}")
        return
    if size is None:
        raise BadInput("how large is the window? write --size 64KiB", field="--size")
    if not NAME.fullmatch(name):
        raise BadInput(f"{name!r} is no name: letters, digits, and _ . - after the first", field="NAME")
    size_bytes = _size("--size", size)
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
        raise BadInput("only with --module", field="--node")
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


def _size(field: str, text: str) -> int:
    try:
        return Size.parse(text).value
    except WrongValue as error:
        raise BadInput(str(error), field=field) from error


def _nanoseconds(field: str, text: str) -> int:
    try:
        return int(Duration.parse(text).nanoseconds)
    except WrongValue as error:
        raise BadInput(str(error), field=field) from error


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
@click.option("--home", is_flag=True, help="With --program: what lies there comes home first, and stays.")
@IN_KERNEL
@PROGRAM
def detach(name: str, home: bool, in_kernel: bool, program: int | None) -> None:
    """Detach the window NAME; with the last one the hardware, and what its memory holds, ends.

    With --module its pages in use are migrated to other memory first. Exit status 1: they cannot be. With
    --program NAME is the segment's number (`list --program`): refused while blocks of the program lie there,
    but for --home, which leaves them where they are, as memory of this machine, while the program goes on.
    """
    if program is not None:
        if not name.isdecimal() or in_kernel:
            raise BadInput(
                f"{name!r} is no number of a segment; see: consort remote list --program {program}"
            )
        click.echo(f"{name}: {programs.detach(program, int(name), home=home)}")
        return
    if home:
        raise BadInput("only with --program", field="--home")
    if in_kernel:
        if not NAME.fullmatch(name):
            raise BadInput(f"{name!r} is no name of a segment")
        loaded.Module().detach(name)
        click.echo(f"{name}: detached")
        return
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
@IN_KERNEL
@PROGRAM
def list_windows(as_json: bool, in_kernel: bool, program: int | None) -> None:
    """List the attached windows, with the counters of their registers; or a program's segments."""
    if program is not None:
        _list_of_program(program, as_json)
        return
    if in_kernel:
        _list_segments(as_json)
        return
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


def _list_of_program(program: int, as_json: bool) -> None:
    found = programs.attached(program)
    if as_json:
        click.echo(json.dumps({"segments": [asdict(each) for each in found]}, indent=1))
        return
    for each in found:
        click.echo(f"{each.number:<4} {each.size:>14} B  {each.used:>14} B in use  {each.state}")
    if not found:
        click.echo("no segment is attached")


def _list_segments(as_json: bool) -> None:
    segments = loaded.Module().segments()
    if as_json:
        click.echo(json.dumps({"segments": segments}, indent=1))
        return
    for each in segments:
        click.echo(
            f"{each['name']:<16} {each['address']:#012x}  {each['size']:>12} B  {each['state']}"
            f"  node {each['node']}  {each['movable']} B online and movable"
            f"  {each['reads']} reads, {each['writes']} writes"
        )
    if not segments:
        click.echo("no segment is attached")


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


@command.command(
    context_settings=SETTINGS,
    epilog="Example: consort remote serve --size 4GiB --listen 0.0.0.0:7070 --key remote.key",
)
@click.option("--size", required=True, help="What all segments may take together, with a unit.")
@click.option("--name", default="memory", show_default=True, help="By which programs of this machine attach.")
@click.option(
    "--listen", metavar="HOST:PORT", help="Serve over TCP, too; port 0: a free one, which is printed."
)
@click.option(
    "--key",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="What clients must know: a file of at least 32 bytes, yours alone. Default: one is made.",
)
@click.option(
    "--spin", default="0us", show_default=True, help="How long to poll for the next request before sleeping."
)
@click.option("--encrypt", is_flag=True, help="Refuse clients over TCP that do not encrypt.")
def serve(size: str, name: str, listen: str | None, key: Path | None, spin: str, encrypt: bool) -> None:
    """Offer this machine's memory to programs until interrupted.

    Each segment is zeroed memory of its own. Exit status 2: an option, the key or the address cannot be used.
    3: a compiler or a library is missing.
    """
    size_bytes = _size("--size", size)
    spin_us = _nanoseconds("--spin", spin) // 1000
    used = key.absolute() if key is not None else pager.made_key(name)
    words = pager.serve_command(size_bytes, pager.socket_of(name), used, listen, spin_us, encrypt)
    own = "" if key is None else f",key={used}"
    click.echo(f"on this machine: consort remote run --attach {name},size=...{own} -- PROGRAM")
    if listen is not None:
        click.echo(f"from others: consort remote run --attach HOST:PORT,size=...,key={used} -- PROGRAM")
    os.execv(words[0], words)


@command.command(
    "run",
    context_settings=SETTINGS | {"ignore_unknown_options": True},
    epilog="Example: consort remote run --attach memory,size=2GiB,cache=1GiB -- sort -S 1G numbers.txt",
)
@click.option(
    "--attach",
    "attached",
    required=True,
    multiple=True,
    metavar="WHERE[+WHERE]...,size=SIZE[,cache=SIZE][,key=FILE][,pages=copied|mapped][,replicas=N]"
    "[,encrypt=yes]",
    help="A segment: WHERE is a server's name or HOST:PORT; cache (half of size) is what lies here. Mapped "
    "pages of a server on this machine are not copied, and not checked by CRC. With several servers each "
    "replicas of them hold the same pages, and the program goes on when one is lost.",
)
@click.option(
    "--replicas",
    type=click.IntRange(1, 8),
    help="The same as replicas= in each --attach.",
)
@click.option(
    "--reconnect",
    default="0ms",
    show_default=True,
    help="How long a connection that was cut is tried again; its server keeps the segment as long, at most 10"
    " minutes.",
)
@click.option(
    "--threshold", default="1MiB", show_default=True, help="Allocations from this size on are remote."
)
@click.option(
    "--faults",
    type=click.Choice(pager.FAULTS),
    default="handler",
    show_default=True,
    help="Who serves a fault: a thread that sleeps, one that polls, or the faulting thread itself, which is "
    "fastest but makes system calls on absent pages fail (EFAULT).",
)
@click.option(
    "--prefetch", type=click.IntRange(1, 64), default=64, show_default=True, help="Most pages a fault."
)
@click.option("--patience", default="5s", show_default=True, help="How long a server may take to answer.")
@click.option("--report", type=click.Path(path_type=Path, dir_okay=False), help="Write counters here (JSON).")
@click.option(
    "--record-set",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write which pages came, in their order, at the end of the program.",
)
@click.option(
    "--prefetch-set",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="Bring the pages of such a file ahead of the program.",
)
@click.argument("words", metavar="PROGRAM [ARGS]...", nargs=-1, required=True, type=click.UNPROCESSED)
def run_program(
    attached: tuple[str, ...],
    threshold: str,
    faults: str,
    prefetch: int,
    patience: str,
    replicas: int | None,
    reconnect: str,
    report: Path | None,
    record_set: Path | None,
    prefetch_set: Path | None,
    words: tuple[str, ...],
) -> None:
    """Run an unmodified PROGRAM whose large allocations lie in remote memory.

    The exit status is the program's. Before it starts: 2 where the server refuses or an option cannot be
    used, 3 where there is no server, or no userfaultfd.
    """
    program = pager.preloadable(words[0])
    threshold_bytes = _size("--threshold", threshold)
    if threshold_bytes < pager.PAGE:
        raise BadInput("below 4KiB", field="--threshold")
    patience_ms = _nanoseconds("--patience", patience) // 1_000_000
    if not 1 <= patience_ms <= 3_600_000:
        raise BadInput(f"{patience} is outside 1ms to 1h", field="--patience")
    reconnect_ms = _nanoseconds("--reconnect", reconnect) // 1_000_000
    if reconnect_ms > 3_600_000:
        raise BadInput(f"{reconnect} is above 1h", field="--reconnect")
    if replicas is not None:
        attached = tuple(f"{each},replicas={replicas}" for each in attached)
    variables = pager.environment(
        [pager.Attachment.parse(each) for each in attached],
        threshold=threshold_bytes,
        faults=faults,
        prefetch=prefetch,
        patience_ms=patience_ms,
        reconnect_ms=reconnect_ms,
        report=report,
        record_set=record_set,
        prefetch_set=prefetch_set,
        # The program has this process's number.
        control=programs.control_of(os.getpid()),
    )
    os.execve(program, list(words), variables)
