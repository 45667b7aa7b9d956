# SPDX-License-Identifier: Apache-2.0
"""``consort doctor`` and ``consort probe``: how ready this machine is for real time, and a platform file of
what it measures."""

from __future__ import annotations

import shutil
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import click

from consort.base.environment import parse_cpus, usable_cpus
from consort.base.errors import BadInput, EnvironmentLacks
from consort.base.waiting import progress_bar
from consort.commands.options import NumberRange, print_json

if TYPE_CHECKING:
    from consort.machine.doctor import Finding, Machine

COLOURS = {"ok": "green", "warn": "yellow", "bad": "red", "unknown": "cyan"}


def machine_facts(machine: Machine) -> dict[str, object]:
    """The machine of the findings: enough to tell two reports apart."""
    cpuinfo = machine.read("proc/cpuinfo") or ""
    model = next(
        (line.split(":", 1)[1].strip() for line in cpuinfo.splitlines() if line.startswith("model name")), ""
    )
    return {
        "kernel": machine.read("proc/version") or "",
        "command_line": machine.read("proc/cmdline") or "",
        "processor": model,
        "processors": machine.online,
        "virtual": machine.virtual,
    }


def show(findings: list[Finding]) -> None:
    width = min(shutil.get_terminal_size().columns, 110)
    margin = " " * 8

    def wrapped(label: str, text: str) -> str:
        return textwrap.fill(
            f"{label}{text}",
            width,
            initial_indent=margin,
            subsequent_indent=margin + " " * len(label),
            break_on_hyphens=False,
            break_long_words=False,
        )

    for finding in findings:
        status = click.style(f"{finding.status:<8}", fg=COLOURS[finding.status], bold=finding.status == "bad")
        body = wrapped("", f"{finding.title}: {finding.found}").lstrip()
        click.echo(f"{status}{body}")
        if finding.status in {"warn", "bad"}:
            click.echo(wrapped("costs:  ", finding.cost))
        if finding.remedy:
            click.echo(wrapped("remedy: ", finding.remedy))
    counts = ((status, sum(f.status == status for f in findings)) for status in COLOURS)
    click.echo("\n" + ", ".join(f"{count} {status}" for status, count in counts))


@click.command(
    epilog="Examples: consort doctor; consort doctor --json | jq '.findings[] | select(.status == \"bad\")'; "
    "consort doctor --require ready && make bench"
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object, with the sources of each finding."
)
@click.option(
    "--require",
    type=click.Choice(["ready"]),
    help="Exit with status 3 when a finding is bad. Without it findings never fail the command.",
)
@click.option(
    "--seconds",
    type=NumberRange(0.1, 60.0),
    default=1.5,
    show_default=True,
    help="How long each measurement lasts; throttling comes once a second.",
)
@click.option("--sysroot", type=click.Path(path_type=Path), default=Path("/"), hidden=True)
def command(as_json: bool, require: str | None, seconds: float, sysroot: Path) -> None:
    """Say how ready this machine is for real time, what each finding costs and its remedy.

    Reads /proc and /sys, tries SCHED_FIFO for an instant, and measures steal time, wake-up latency and what
    stops a busy thread. Changes nothing.
    """
    from consort.machine.doctor import Machine, examine, ready

    if not sysroot.is_dir():
        raise BadInput("not a directory", file=sysroot, field="--sysroot")
    machine = Machine(sysroot, seconds=seconds)
    findings = examine(machine)
    if as_json:
        report = {
            "doctor": 2,
            "ready": ready(findings),
            "machine": machine_facts(machine),
            "findings": [finding.to_json() for finding in findings],
        }
        print_json(report)
    else:
        show(findings)
    if require == "ready" and not ready(findings):
        bad = [finding.title.lower() for finding in findings if finding.status == "bad"]
        raise EnvironmentLacks(
            f"this machine is not ready for real time: {', '.join(bad)}",
            "`consort doctor` names the remedies",
        )


# More would take long: the exchanges are measured between each two.
MOST = 8


def _cpus(text: str | None) -> list[int]:
    """The CPUs to measure, and those that a run would take where none are given."""
    if text is None:
        return usable_cpus()[:MOST]
    try:
        cpus = parse_cpus(text)
    except ValueError:
        cpus = []
    if not cpus:
        raise BadInput(f"{text!r} is not a list of CPUs; write one such as 1,2-3", field="--cpus")
    return cpus


@click.command(epilog="Examples: consort probe -o probed.yaml; consort probe --cpus 2-3 --remote far=memory")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("probed.yaml"),
    show_default=True,
    help="The platform file to write; its name without .yaml is the platform's.",
)
@click.option("--cpus", help=f"CPUs to measure, such as 1,2-3. Default: what a run takes, up to {MOST}.")
@click.option(
    "--seconds",
    type=NumberRange(0.05, 3600.0),
    default=2.0,
    show_default=True,
    help="How long timer and busy thread are watched on each CPU.",
)
@click.option(
    "--samples",
    type=click.IntRange(100, 10**8),
    default=20_000,
    show_default=True,
    help="Samples of each other figure.",
)
@click.option(
    "--remote",
    "remote",
    multiple=True,
    metavar="MEMORY=WHERE[,key=FILE]",
    help="Measure faults on pages of this server, too, as the remote memory MEMORY; again for more.",
)
@click.option("--json", "as_json", is_flag=True, help="Print what was measured as one JSON object, too.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
def probe_command(
    output: Path,
    cpus: str | None,
    seconds: float,
    samples: int,
    remote: tuple[str, ...],
    as_json: bool,
    quiet: bool,
) -> None:
    """Measure this machine and write a platform file that `platform:` of a description takes.

    Measured are context switches, the lateness of timers, accesses to shared memory alone and under load,
    messages between each two CPUs and signals that wake a sleeper. Every figure is a high-water mark of a
    stated number of samples, and no bound: what is analysed with it is conditional on it. Needs permission
    for SCHED_FIFO.
    """
    from consort.base.environment import environment
    from consort.base.packages import OPTION, parse_servers, remote_memory
    from consort.machine.probe import MEMORY, comment, measure, platform_data, refusals
    from consort.model.emit import yaml_text
    from consort.model.platform import platform_from_data

    if output.suffix != ".yaml":
        raise BadInput(f"{output.name!r} does not end in .yaml; platform files do", field="--output")
    if not output.parent.is_dir():
        raise BadInput(f"the folder {output.parent} does not exist; make it first", field="--output")
    chosen = _cpus(cpus)
    servers = parse_servers(remote)
    if MEMORY in servers:
        raise BadInput(f"{MEMORY!r} is the machine's own memory; name the remote one otherwise", field=OPTION)
    with progress_bar(quiet) as progress:
        progress(f"measuring CPUs {', '.join(map(str, chosen))}", None)
        report = measure(chosen, seconds=seconds, samples=samples)
        for memory, server in servers.items():
            progress(f"measuring faults on {memory}", None)
            faults = remote_memory().measure_faults(server, chosen[0], samples=samples)
            report.setdefault("remote", {})[memory] = faults
    surroundings = environment()
    data = platform_data(report, surroundings, output.stem)
    # Whatever is wrong with it is found here, not by the first who uses it.
    platform = platform_from_data(data, output)
    output.write_text(yaml_text(data, comment(report, surroundings)), encoding="utf-8")
    if as_json:
        print_json(report)
        return
    click.echo(f"{output}: {len(platform.figures())} figures of CPUs {', '.join(map(str, chosen))}, measured")
    for line in comment(report, surroundings).splitlines()[3:]:
        click.echo(f"  {line}")
    for text in refusals(report):
        click.echo(f"consort: not measured: {text}", err=True)
    click.echo(f"Use it in a description: platform: {output}")
