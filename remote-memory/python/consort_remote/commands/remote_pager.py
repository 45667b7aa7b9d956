# SPDX-License-Identifier: Apache-2.0
"""``consort remote serve`` and ``run``: memory for any program, by a user-level pager."""

from __future__ import annotations

import os
from pathlib import Path

import click
from consort.base.errors import BadInput, EnvironmentLacks
from consort.commands.options import ChoiceOf, nanoseconds_of, size_of

SETTINGS = {"help_option_names": ["-h", "--help"]}


@click.command(
    context_settings=SETTINGS,
    epilog="Example: consort remote serve --size 4GiB --listen 0.0.0.0:7070 --key remote.key",
)
@click.option("--size", required=True, help="The size of all segments together, with a unit.")
@click.option("--name", default="memory", show_default=True, help="By which programs of this machine attach.")
@click.option(
    "--listen", metavar="HOST:PORT", help="Serve over TCP, too; port 0: a free one, which is printed."
)
@click.option(
    "--key",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="The key that clients must know: a file of at least 32 bytes, yours alone. Default: one is made.",
)
@click.option(
    "--spin", default="0us", show_default=True, help="How long to poll for the next request before sleeping."
)
@click.option("--encrypt", is_flag=True, help="Refuse clients over TCP that do not encrypt.")
@click.option(
    "--huge-pages",
    is_flag=True,
    help="Segments lie in huge pages of 2 MiB, of those that this machine has reserved (vm.nr_hugepages).",
)
@click.option(
    "--fabric",
    "fabrics",
    multiple=True,
    metavar="PROVIDER",
    help="A provider of libfabric (tcp, shm, ...) that clients over TCP may use for pages. Repeatable.",
)
def serve(
    size: str,
    name: str,
    listen: str | None,
    key: Path | None,
    spin: str,
    encrypt: bool,
    huge_pages: bool,
    fabrics: tuple[str, ...],
) -> None:
    """Offer this machine's memory to programs until interrupted.

    Each segment is zeroed memory of its own. Exit status 2: an option, the key or the address cannot be used.
    3: a compiler, a library or huge pages are missing.
    """
    from consort_remote import pager

    if fabrics and encrypt:
        raise BadInput("pages cross a fabric as they are: not with --encrypt", field="--fabric")
    if fabrics and listen is None:
        raise BadInput("clients of a fabric attach over TCP: --listen", field="--fabric")
    size_bytes = size_of("--size", size)
    spin_us = nanoseconds_of("--spin", spin) // 1000
    used = key.absolute() if key is not None else pager.made_key(name)
    words = pager.serve_command(
        size_bytes, pager.socket_of(name), used, listen, spin_us, encrypt, fabrics, huge_pages=huge_pages
    )
    own = "" if key is None else f",key={used}"
    click.echo(f"on this machine: consort remote run --attach {name},size=...{own} -- PROGRAM")
    if listen is not None:
        click.echo(f"from others: consort remote run --attach HOST:PORT,size=...,key={used} -- PROGRAM")
    os.execv(words[0], words)


@click.command(
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
    "[,encrypt=yes][,fabric=PROVIDER][,page=4KiB|2MiB]",
    help="A segment: WHERE is a server's name or HOST:PORT; cache (half of size) is what lies here. Mapped "
    "pages of a server on this machine are not copied, and not checked by CRC. With several servers each "
    "replicas of them hold the same pages, and the program goes on when one is lost. "
    "A fabric is a provider of libfabric that the server offers. Pages of 2MiB take huge pages that this "
    "machine has reserved (vm.nr_hugepages).",
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
    type=ChoiceOf("WHO", "consort_remote.pager", "FAULTS"),
    default="handler",
    show_default=True,
    help="The server of a fault: a thread that sleeps, one that polls, or the faulting thread itself, which"
    " is fastest but makes system calls on absent pages fail (EFAULT).",
)
@click.option(
    "--fork",
    type=ChoiceOf("WHAT", "consort_remote.pager", "FORKS"),
    default="copy",
    show_default=True,
    help="The remote memory of a child after fork(): a copy, which lies on this machine, or nothing, "
    "which takes no time and is enough for a child that executes another program.",
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
    fork: str,
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
    from consort_remote import pager, programs

    program = pager.preloadable(words[0])
    threshold_bytes = size_of("--threshold", threshold)
    if threshold_bytes < pager.PAGE:
        raise BadInput("below 4KiB", field="--threshold")
    patience_ms = nanoseconds_of("--patience", patience) // 1_000_000
    if not 1 <= patience_ms <= 3_600_000:
        raise BadInput(f"{patience} is outside 1ms to 1h", field="--patience")
    reconnect_ms = nanoseconds_of("--reconnect", reconnect) // 1_000_000
    if reconnect_ms > 3_600_000:
        raise BadInput(f"{reconnect} is above 1h", field="--reconnect")
    if replicas is not None:
        attached = tuple(f"{each},replicas={replicas}" for each in attached)
    segments = [pager.Attachment.parse(each) for each in attached]
    for socket in (Path(server) for segment in segments for server in segment.servers if "/" in server):
        if not socket.exists():
            raise EnvironmentLacks(
                f"no server {socket.stem!r} runs on this machine",
                f"start it: consort remote serve --name {socket.stem} --size …",
            )
    variables = pager.environment(
        segments,
        threshold=threshold_bytes,
        faults=faults,
        fork=fork,
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
