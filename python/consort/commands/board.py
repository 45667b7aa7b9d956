# SPDX-License-Identifier: Apache-2.0
"""``consort board``: starts emulated boards, shows their consoles, attaches a debugger, ends them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import click

from consort.base.children import Child
from consort.base.errors import BadInput, EnvironmentLacks, SystemFails
from consort.base.runtime import NAME, checked_name
from consort.base.waiting import STANDSTILL_S, Standstill, progress_bar
from consort.commands.options import print_json, root_option


@click.group(
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example: consort board up BOARD && consort board log BOARD && consort board down BOARD",
)
def command() -> None:
    """Boards in a box: unlike processors, emulated, sharing memory with processes of this machine."""
    from consort.base.waiting import signals_to_exceptions

    signals_to_exceptions()


@command.command(epilog="Example: consort board up BOARD --name bench")
@click.argument("board", metavar="BOARD")
@click.option("--program", default="identity", show_default=True, help="A program's name, or its .cpp file.")
@click.option("--image", "given", multiple=True, metavar="CORE=ELF", help="An image instead, for a core.")
@click.option("--name", default="", help="The board's name; default: its kind and a number.")
@click.option("--counted", is_flag=True, help="Time is instructions executed: runs repeat to the tick.")
def up(board: str, program: str, given: tuple[str, ...], name: str, counted: bool) -> None:
    """Build the images, start the board, and leave it running."""
    from consort.board.boards import board_named
    from consort.board.image import build_image, check_image, program_source

    spec = board_named(board)
    if name:
        checked_name(name, "a board")
    images = dict(_image(spec.name, text) for text in given)
    for core in spec.cores:
        if not given:
            images[core.name] = build_image(core, program_source(program))
        if core.name in images:
            check_image(core, images[core.name])
    for first in spec.cores:
        if first.starts and first.name not in images:
            raise BadInput(f"--image: the core {first.name} starts first and needs an image")
    orders = {"board": spec.name, "name": name or _free_name(board), "counted": counted}
    orders["images"] = {core: str(path) for core, path in images.items()}
    up = _daemon(orders)
    click.echo(f"{up['name']} is up; its memory is {up['memory']}")


def _image(board: str, text: str) -> tuple[str, Path]:
    from consort.board.boards import board_named

    core, equals, path = text.partition("=")
    if not equals:
        raise BadInput(
            f"--image {text}: CORE=ELF is expected, such as {board_named(board).cores[0].name}=a.elf"
        )
    return board_named(board).core(core).name, Path(path).resolve()


def _free_name(kind: str) -> str:
    from consort.board import session

    taken = {b["name"] for b in session.running()}
    return next(n for n in (kind, *(f"{kind}-{i}" for i in range(2, 1000))) if n not in taken)


def _daemon(orders: dict[str, object]) -> dict[str, str]:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb", buffering=0) as answer:
        process = subprocess.Popen(
            [sys.executable, "-m", "consort.board.daemon", str(writing)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=(writing,),
        )
        os.close(writing)
        assert process.stdin is not None
        process.stdin.write(json.dumps(orders).encode())
        process.stdin.close()
        process.stdin = None  # closed: to wait for the words would flush it
        child = Child(process)
        said = child.read(answer.fileno())
    if not said:
        _, error = child.finish()
        raise RuntimeError(f"the board's daemon ended without a word: {error.decode(errors='replace')}")
    answered: dict[str, str] = json.loads(said)
    if "error" in answered:
        process.wait()
        error_kind = {2: BadInput, 1: SystemFails}.get(int(answered["status"]))
        if error_kind is not None:
            raise error_kind(answered["error"])
        what, _, how = answered["error"].rpartition("; ")
        raise EnvironmentLacks(what, how)
    return answered


@command.command(epilog="Example: consort board check BOARD")
@click.argument("board", metavar="BOARD")
@click.option("--json", "as_json", is_flag=True, help="Print what was found of each core as JSON.")
def check(board: str, as_json: bool) -> None:
    """Check a board's folder: board.yaml, an image for each core, its clock, its memories.

    The board is started twice in counted time. Exit status 1: a core is not what board.yaml says.
    """
    from consort.board.boards import board_named
    from consort.board.count import check_board

    with progress_bar(as_json) as progress:
        found = check_board(board_named(board), progress)
    if as_json:
        print_json({"board": board, "cores": [asdict(core) for core in found]})
    else:
        for core in found:
            state = "; ".join(core.problems) or (
                f"runs at {core.ticks_per_second / 1e6:g} MHz, 1,000 readings of its clock take"
                f" {core.clock_reads_ticks} ticks (counted)"
            )
            click.echo(f"{core.core}  {core.title}: {state}")
    if any(core.problems for core in found):
        sys.exit(1)


@command.command("list", epilog="Example: consort board list --known")
@click.option("--known", is_flag=True, help="The boards that there are: each core with its compiler.")
def list_boards(known: bool) -> None:
    """List the boards that are up."""
    from consort.board import session
    from consort.board.boards import all_boards

    if known:
        for spec in all_boards():
            for core in spec.cores:
                click.echo(f"{spec.name} {core.name} {core.compiler}")
        return
    for board in session.running():
        click.echo(f"{board['name']}  {board['board']}  pid {board['qemu'].pid}  {board['memory']}")


@command.command(epilog="Example: clang-tidy own.cpp -- $(consort board flags BOARD CORE)")
@click.argument("board")
@click.argument("core")
@click.option("--json", "as_json", is_flag=True, help="Print compiler, options, sources and scripts as JSON.")
def flags(board: str, core: str, as_json: bool) -> None:
    """Print the compiler's options for a core: flags, and include folders with the memory map's header."""
    from consort.board.boards import board_named
    from consort.board.image import compile_options

    options = compile_options(board_named(board).core(core))
    line = [*options.flags, *(f"-I{folder}" for folder in options.includes)]
    if as_json:
        parts = {"sources": options.sources, "scripts": options.scripts}
        found = {"compiler": options.compiler, "options": line}
        print_json(found | {k: [str(p) for p in v] for k, v in parts.items()})
    else:
        click.echo("\n".join(line))


@command.command(epilog="Example: consort board log BOARD")
@click.argument("board", required=False)
@click.option("--core", default=None, help="Only this core's console.")
def log(board: str | None, core: str | None) -> None:
    """Print the consoles of a board, also of one that has ended."""
    folder = _logs(board)
    consoles = sorted(folder.glob("*.log"))
    logs = [path for path in consoles if core in (None, path.stem)]
    if not logs:
        raise BadInput(f"no console '{core}'; there are {', '.join(path.stem for path in consoles)}")
    for path in logs:
        text = path.read_text(errors="replace").replace("\r\n", "\n").rstrip()
        if text or core:
            click.echo(f"-- {path.stem}\n{text}")


def _logs(name: str | None) -> Path:
    from consort.board import session

    try:
        return Path(session.named(name)["logs"])
    except BadInput:
        if name and NAME.fullmatch(name) and (session.logs_folder() / name).is_dir():
            return session.logs_folder() / name
        raise


@command.command(epilog="Example: consort board down BOARD")
@click.argument("board", required=False)
def down(board: str | None) -> None:
    """End a board and remove what it used; its console logs stay."""
    from consort.board import session

    found = session.named(board)
    folder = session.boards_folder() / found["name"]
    found["owner"].send(signal.SIGTERM)
    owner, machine = found["owner"], found["qemu"]
    standstill = Standstill(STANDSTILL_S, lambda: (owner.pid, machine.pid))
    while folder.exists():
        if standstill.over((owner.runs(), machine.runs())):
            raise SystemFails(f"{found['name']} does not end; its process is {found['owner'].pid}")
        time.sleep(0.02)
        session.sweep()
    click.echo(f"{found['name']} is down")


@command.command(epilog="Example: consort board gdb BOARD --core CORE")
@click.argument("board", required=False)
@click.option("--core", default=None, help="The core whose image's symbols are read; default: the first.")
def gdb(board: str | None, core: str | None) -> None:
    """Attach the debugger to a board (the cores of its other cluster: `add-inferior`, `attach 2`)."""
    from consort.board import session
    from consort.board.boards import board_named

    found = session.named(board)
    program = shutil.which("gdb-multiarch")
    if program is None:
        raise EnvironmentLacks("no gdb-multiarch was found", "install it: apt-get install gdb-multiarch")
    spec = board_named(found["board"])
    image = found["images"].get(spec.core(core).name if core else spec.cores[0].name)
    socket = session.boards_folder() / found["name"] / session.GDB
    line = [program, "-q", *([image] if image else []), "-ex", f"target extended-remote {socket}"]
    os.execv(program, line)


@command.command("count", epilog="Example: consort board count --output counts.csv")
@click.option("--store", is_flag=True, help="Store the figures instead of comparing with those stored.")
@click.option("--output", type=click.Path(path_type=Path), help="A table of the counts, for consort compare.")
@click.option("--json", "as_json", is_flag=True, help="Print the counts as JSON.")
def count_instructions(store: bool, output: Path | None, as_json: bool) -> None:
    """Count instructions of the servo's step, a mailbox and the master's cycle on every emulated core.

    Exit status 1: a count differs by more than 2 % from the one stored for the same compiler.
    """
    from dataclasses import asdict

    from consort.board import count

    counts = count.count()
    if store:
        count.store(counts, count.stored_file())
    if output is not None:
        count.store(counts, output)
    if as_json:
        print_json([asdict(c) for c in counts])
    else:
        click.echo("instructions a call, counted")
        for c in counts:
            click.echo(f"{c.core:<12} {c.operation:<32} {c.instructions:>8}")
    if changed := count.changes(counts, count.load(count.stored_file())):
        raise SystemFails("; ".join(changed))


@command.command(epilog="Example: consort board demo --jobs 500")
@click.option("--jobs", type=click.IntRange(1, 50_000), default=2000, show_default=True)
@click.option("--messages", type=click.IntRange(1000, 250_000), default=5000, show_default=True)
@root_option
def demo(jobs: int, messages: int, root: Path | None) -> None:
    """Run the servo and exchanges of messages on all boards; print one table, write one report.

    Exit status 1: an output or a message was wrong, or a deadline was missed where time is counted.
    """
    from consort.base.waiting import progress_bar
    from consort.commands import board_demo as demonstration
    from consort.report.terminal import files_of

    with progress_bar(False, lines=True) as progress:
        run = demonstration.demo(jobs, messages, root, ["consort", *sys.argv[1:]], progress)
    for line in demonstration.table(run):
        click.echo(line)
    reasons = "".join(f"{'; ' if n else ': '}{why}" for n, why in enumerate(run.verdict["reasons"]))
    click.echo("\nall held" if run.held else f"\n{run.held.headline}{reasons}")
    click.echo("\n".join(files_of(run)))
    sys.exit(run.held.exit_status)


@command.command("exchange", epilog="Example: consort board exchange BOARD CORE x86-64 --messages 100000")
@click.argument("board", metavar="BOARD")
@click.argument("asker")
@click.argument("answerer")
@click.option("--messages", type=click.IntRange(1, 2**32 - 1), default=10_000, show_default=True)
@click.option("--on-chip", is_flag=True, help="Through on-chip memory instead of DDR.")
@click.option("--counted", is_flag=True, help="Time is instructions executed; both sides on the board.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def exchange_messages(
    board: str, asker: str, answerer: str, messages: int, on_chip: bool, counted: bool, as_json: bool
) -> None:
    """Exchange messages of 0 to 1024 bytes between two processors, check every byte, print round trips.

    A side is a core of the board, a process of this machine (x86-64, armv7, aarch64, riscv64), or the core
    that runs Linux (a72-linux).
    Exit status 1: a content was wrong or a side refused the other.
    """
    from consort.board.boards import board_named
    from consort.board.exchange import exchange, pair

    spec = board_named(board)
    outside = [side for side in (asker, answerer) if side not in {core.name for core in spec.cores}]
    if counted and outside:
        raise BadInput(f"--counted: {outside[0]} does not run in the board's counted time")
    who = pair(asker, answerer, on_chip=on_chip)
    (found,) = exchange(spec, [who], messages, counted=counted)
    provenance = "counted" if counted else "emulated"
    rows = found.round_trips()
    if as_json:
        print_json({"messages": messages, "provenance": provenance, "round_trips": rows})
        return
    click.echo(f"{messages} messages {asker} to {answerer} and back, every byte as it should be")
    click.echo(f"round trips, ns, {provenance}\n{'bytes':>8}{'n':>9}{'p50':>12}{'p99':>12}{'p99.9':>12}")
    for row in rows:
        times = ("" if row[key] is None else f"{row[key]:.0f}" for key in ("p50_ns", "p99_ns", "p999_ns"))
        click.echo(f"{row['bytes']:>8}{row['n']:>9}" + "".join(f"{time:>12}" for time in times))
