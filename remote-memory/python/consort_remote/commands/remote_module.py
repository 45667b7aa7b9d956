# SPDX-License-Identifier: Apache-2.0
"""``consort remote module``: the kernel module of remote memory, built and tested in an emulated machine."""

from __future__ import annotations

import click
from consort.base.errors import SystemFails
from consort.base.waiting import progress_bar
from consort.commands.options import ChoiceOf, print_json

SETTINGS = {"help_option_names": ["-h", "--help"]}
TESTS = {
    "quick": "attach 256 MiB, use it, detach it with pages in use; what is refused",
    "events": "interrupts: told, counted, a page whose line is lost given up",
    "tree": "a device of the device tree, with a real interrupt (aarch64)",
    "faults": "blocks that fail, pinned pages, several users at once, random requests",
    "cycles": "attach, use and detach again and again under memory load",
    "stream": "copy, scale, add and triad on local, remote and both memories",
}


@click.group("module", context_settings=SETTINGS, epilog="Example: consort remote module test quick")
def module() -> None:
    """The Linux kernel module that attaches remote memory as hot-plugged memory.

    It is GPL-2.0, alone in Consort (remote-memory/docs/remote-kernel.md).
    """


_MACHINE = click.option(
    "--machine",
    type=ChoiceOf("MACHINE", "consort_remote.kernel", "MACHINES"),
    default="x86-64",
    show_default=True,
    help="x86-64 or aarch64.",
)


@module.command(context_settings=SETTINGS, epilog="Example: consort remote module build --machine aarch64")
@_MACHINE
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def build(machine: str, as_json: bool) -> None:
    """Build remap.ko for Debian's kernel, whose headers are fetched once; nothing is installed.

    For the kernel that runs here: make -C kernel-module. Exit status 3: the compiler or the headers
    cannot be had.
    """
    from consort_remote import kernel

    found = kernel.kernel(kernel.MACHINES[machine])
    path = kernel.module(found)
    if as_json:
        print_json({"module": str(path), "release": found.release, "version": found.version}, one_line=True)
        return
    click.echo(f"{path}\nfor {found.release} (Debian {found.version})")


@module.command(context_settings=SETTINGS, epilog="Example: consort remote module test cycles --cycles 1000")
@click.argument("name", type=click.Choice(list(TESTS)), default="quick")
@_MACHINE
@click.option(
    "--cycles", type=click.IntRange(1, 100_000), default=10, show_default=True, help="The number of cycles."
)
@click.option(
    "--patience",
    type=click.IntRange(1),
    default=900,
    show_default=True,
    help="Seconds for which the guest may say nothing.",
)
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def test(name: str, machine: str, cycles: int, patience: int, as_json: bool) -> None:
    """Run one of the module's tests in a QEMU guest (software emulation, a model of the registers).

    quick, events, tree, faults, cycles or stream. Exit status 1: a check fails, or the kernel's log has
    a warning.
    """
    from consort_remote import guest, kernel

    found = kernel.kernel(kernel.MACHINES[machine])
    with progress_bar(as_json) as show:
        said = guest.run(found, name, patience, lambda _: show(f"{name} in a guest", None), cycles=cycles)
    if as_json:
        print_json(
            {
                "test": name,
                "machine": machine,
                "kernel": f"{found.release} ({found.version})",
                "good": said.good,
                "failed": said.failed,
                "warnings": said.wrong,
                "said": said.figures,
                "provenance": "emulated: no figure of hardware",
            }
        )
    else:
        for line in said.figures:
            click.echo(line)
        click.echo(f"{len(said.good)} checks hold; {found.release} (Debian {found.version}), emulated")
    if not said.passed:
        raise SystemFails("; ".join([*said.failed, *said.wrong[:5]]))
