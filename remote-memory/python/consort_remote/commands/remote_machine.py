# SPDX-License-Identifier: Apache-2.0
"""``consort remote attach``, ``detach`` and ``list`` with ``--qmp``: segments of a virtual machine."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TypeGuard

import click
from click.core import ParameterSource
from consort.base.errors import BadInput
from consort.commands.options import ChoiceOf, nanoseconds_of, print_json

from consort_remote.qmp import Monitor

LONGEST_S = 3600
MACHINE = click.option(
    "--qmp",
    type=click.Path(path_type=Path),
    metavar="SOCKET",
    help="For a virtual machine: the socket of its QEMU's monitor (-qmp unix:SOCKET,server=on,wait=off).",
)
DEVICE = click.option(
    "--device",
    type=ChoiceOf("KIND", "consort_remote.machine_memory", "DEVICES"),
    default="pc-dimm",
    show_default=True,
    help="With --qmp: what the guest gets. A pc-dimm comes and goes as a whole; a virtio-mem in blocks.",
)
BUS = click.option("--bus", metavar="ID", help="With --qmp: of the machine, for a virtio-mem.")
PATIENCE = click.option(
    "--patience",
    default="60s",
    show_default=True,
    help="With --qmp: how long the guest may take to answer, for each block of a virtio-mem.",
)
OWN = {"qmp": "--qmp", "device": "--device", "bus": "--bus", "patience": "--patience"}


def chosen(qmp: Path | None, *takes: str) -> TypeGuard[Path]:
    """True if the command is for a virtual machine. `BadInput` where an option was given that does not go
    together with that; `takes` names the parameters that do."""
    context = click.get_current_context()
    options = {each.name: each.opts[-1] for each in context.command.params if each.name is not None}
    given = {
        name
        for name in options
        if context.get_parameter_source(name) not in (ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP)
    }
    if qmp is None:
        for name in sorted(given & OWN.keys()):
            raise BadInput("only with --qmp", field=options[name])
        return False
    for name in sorted(given - {"qmp", *takes}):
        raise BadInput("not with --qmp", field=options[name])
    return True


def attach(qmp: Path, text: str, device: str, node: int | None, bus: str | None, patience: str) -> None:
    from consort_remote import machine_memory

    if bus is not None and device != "virtio-mem":
        raise BadInput(f"a {device} is on no bus", field="--bus")
    wanted = machine_memory.wanted_of(text, device)
    patience_s = _patience(patience)
    with Monitor(qmp) as monitor:
        name = machine_memory.attach(monitor, wanted, device, node, bus, patience_s)
    click.echo(f"{name}: {wanted.size} bytes attached to the machine at {qmp}, as {device}")


def detach(qmp: Path, name: str, patience: str) -> None:
    from consort_remote import machine_memory

    patience_s = _patience(patience)
    with Monitor(qmp) as monitor:
        click.echo(f"{name}: {machine_memory.detach(monitor, name, patience_s)}")


def show(qmp: Path, as_json: bool) -> None:
    from consort_remote import machine_memory

    with Monitor(qmp) as monitor:
        found = machine_memory.attached(monitor)
    if as_json:
        print_json({"segments": [asdict(each) for each in found]})
        return
    for each in found:
        place = "" if each.address is None else f"  {each.address:#012x}  node {each.node}"
        click.echo(
            f"{each.id:<12} {each.device:<10} {each.size:>14} B  {each.in_guest:>14} B in the guest{place}"
            f"  {each.state}"
        )
    if not found:
        click.echo("no segment is attached")


def _patience(text: str) -> float:
    seconds = nanoseconds_of("--patience", text) / 1e9
    if not 0 < seconds <= LONGEST_S:
        raise BadInput(f"{text} is outside 0 to 1h", field="--patience")
    return seconds
