# SPDX-License-Identifier: Apache-2.0
"""``consort region``: shows what a shared-memory region holds."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from consort.base.errors import BadInput, EnvironmentLacks


@click.command(
    epilog="Example: consort region /dev/shm/servo        (a running application's: /proc/PID/fd/N)",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def command(path: Path, as_json: bool) -> None:
    """Attach read-only to the region in PATH and list its objects and their types' layouts.

    PATH is a file, a POSIX shared memory under /dev/shm, or a file descriptor of a running process under
    /proc.
    Exit status 1: there is no region to use; the reason is the one that a peer would be given.
    """
    region = inspect(path)
    if as_json:
        click.echo(json.dumps(region, indent=1))
    else:
        show(path, region)
    if region["refused"] is not None:
        sys.exit(1)


def inspect(path: Path) -> dict[str, Any]:
    """The region's header and table; `refused` holds the reason if a peer would be refused."""
    try:
        from consort import _engine
    except ImportError as error:
        raise EnvironmentLacks(
            f"Consort's native module is not built ({error})", "build it: make setup, or pip install ."
        ) from error
    try:
        return _engine.inspect_region(str(path))
    except OSError as error:
        raise BadInput(
            f"cannot be mapped ({error}); give a file, /dev/shm/NAME or /proc/PID/fd/N", file=path
        ) from error


def show(path: Path, region: dict[str, Any]) -> None:
    if region["refused"] is not None:
        click.echo(
            f"{path}: {region['refused']} (expected {region['expected']:#x}, found {region['found']:#x})",
            err=True,
        )
        return
    click.echo(
        f"{path}: region of {region['bytes']} bytes, version {region['version']},"
        f" generation {region['generation']},"
        f" made by {region['creator']} ({region['pointer_bits']}-bit), lines of {region['line_bytes']} bytes"
    )
    for item in region["objects"]:
        extra = f"[{item['parameter']}]" if item["parameter"] else ""
        click.echo(
            f"  {item['offset']:>8}  {item['bytes']:>7} B  {item['kind'] + extra:<16} {item['name']}"
            f"  payload {item['payload_bytes']} B, fingerprint {item['fingerprint']:016x}"
        )
        for leaf in item["leaves"]:
            times = f" x {leaf['count']}" if leaf["count"] > 1 else ""
            click.echo(f"{'':>26}+{leaf['offset']:<6} {leaf['kind']}{8 * leaf['bytes']}{times}")
