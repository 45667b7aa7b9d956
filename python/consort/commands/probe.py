# SPDX-License-Identifier: Apache-2.0
"""`consort probe`: measures this machine and writes a platform file."""

from __future__ import annotations

import json
from pathlib import Path

import click

from consort.base.cpus import parse_cpus, usable_cpus
from consort.base.errors import BadInput
from consort.base.waiting import progress_bar
from consort.commands.options import NumberRange

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
        raise BadInput(f"{text!r} is no list of CPUs; write one such as 1,2-3", field="--cpus")
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
    help="Measure faults on pages of this server, too, as the memory MEMORY of kind remote. Again and again.",
)
@click.option("--json", "as_json", is_flag=True, help="Print what was measured as one JSON object, too.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
def command(
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
    from consort.base.remote_memory import OPTION, parse_servers, remote_memory
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
        click.echo(json.dumps(report, indent=1, ensure_ascii=False))
        return
    click.echo(f"{output}: {len(platform.figures())} figures of CPUs {', '.join(map(str, chosen))}, measured")
    for line in comment(report, surroundings).splitlines()[3:]:
        click.echo(f"  {line}")
    for text in refusals(report):
        click.echo(f"consort: not measured: {text}", err=True)
    click.echo(f"Use it in a description: platform: {output}")
