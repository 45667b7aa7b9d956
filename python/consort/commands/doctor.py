# SPDX-License-Identifier: Apache-2.0
"""`consort doctor`: how ready this machine is for real time."""

from __future__ import annotations

import json
import shutil
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import click

from consort.base.errors import BadInput, EnvironmentLacks
from consort.commands.options import NumberRange

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
        click.echo(json.dumps(report, indent=1, ensure_ascii=False))
    else:
        show(findings)
    if require == "ready" and not ready(findings):
        bad = [finding.title.lower() for finding in findings if finding.status == "bad"]
        raise EnvironmentLacks(
            f"this machine is not ready for real time: {', '.join(bad)}",
            "`consort doctor` names the remedies",
        )
