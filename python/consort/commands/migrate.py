# SPDX-License-Identifier: Apache-2.0
"""``consort migrate``: steps whose jobs can move to another processor at safepoints, in mid-job."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from consort.base.errors import BadInput, SystemFails
from consort.base.waiting import progress_bar
from consort.commands.options import print_json

if TYPE_CHECKING:
    from consort.migrate.module import Step


@click.command(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Example: consort migrate step.hpp --step example::step --hop x86-64,ppc64 --every 7",
)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--step", "step_name", required=True, help="The step's function, with its namespaces.")
@click.option("--check", "checking", is_flag=True, help="Check it, and say what a move takes (the default).")
@click.option("--build", "building", is_flag=True, help="Also compile it for the processor of --for.")
@click.option("--for", "target", help="The processor: x86-64, aarch64, riscv64, armv7, i386 or ppc64.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="--build: the folder to write.")
@click.option("--hop", "order", help="Run a job that moves between these processors, such as x86-64,aarch64.")
@click.option(
    "--every",
    type=click.IntRange(1, 10**6),
    default=1,
    show_default=True,
    help="--hop: at each such one.",
)
@click.option(
    "--in",
    "given",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="--hop: the input's bytes, little-endian. Default: zeros.",
)
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def command(
    file: Path,
    step_name: str,
    checking: bool,
    building: bool,
    target: str | None,
    out: Path | None,
    order: str | None,
    every: int,
    given: Path | None,
    as_json: bool,
) -> None:
    """Build the step of FILE so that a job can leave at a safepoint and go on on another processor.

    What has no bound is refused with its place (exit status 2): recursion, an indirect call that may lead
    to a safepoint, memory that grows. --hop compares with the job that stays; exit status 1: they differ.
    3: a tool is missing (tools/install-packages.sh migrate).
    """
    from consort.migrate.c_code import checked_step
    from consort.migrate.module import build_module

    if building != (target is not None):
        raise BadInput("--build and --for go together", field="--for" if building else "--build")
    if out is not None and not building:
        raise BadInput("only with --build", field="--out")
    if given is not None and order is None:
        raise BadInput("only with --hop", field="--in")
    with progress_bar(as_json) as progress:
        progress("building the step", None)
        step = build_module(file.resolve(), checked_step(step_name))
        said = described(step)
        if target is not None:
            progress(f"compiling for {target}", None)
            said |= {"built": built(step, target, out)}
        if order is not None:
            progress("moving a job", None)
            said |= {"hop": hopped(step, order, every, given)}
    if as_json:
        print_json(said)
    else:
        show(said)
    if order is not None and not said["hop"]["same"]:
        raise SystemFails(f"a job of {step.name} that moved gives another result than one that stayed")


def described(step: Step) -> dict[str, Any]:
    """Data on a step before it runs. All lengths are in bytes."""
    ranges = step.ranges
    return {
        "step": step.name,
        "file": str(step.file),
        "module_hash": step.module_hash,
        "layout_hash": step.layout_hash,
        "memory": step.memory_bytes,
        "stack_at_most": ranges["stack"].bytes,
        "data": ranges["data"].bytes,
        "frames_at_most": ranges["frames"].bytes,
        "image_at_most": step.image_bytes,
        "above_safepoints": list(step.above),
        "provenance": "computed from the module",
    }


def built(step: Step, target: str, out: Path | None) -> dict[str, str]:
    """Compiles for a processor; copies the C and the object where `out` names a folder."""
    from consort.migrate.programs import compile_step, target_of

    made = compile_step(step, target_of(target))
    if out is None:
        return {"for": target, "object": str(made), "source": str(step.folder)}
    out.mkdir(parents=True, exist_ok=True)
    for each in (*step.folder.iterdir(), made):
        shutil.copy(each, out)
    return {"for": target, "object": str(out / made.name), "source": str(out)}


def hopped(step: Step, order: str, every: int, given: Path | None) -> dict[str, Any]:
    """One job moved between processes of these processors."""
    from consort.base.toolchain.compiler import PROCESSES
    from consort.migrate.programs import hop

    names = [name.strip() for name in order.split(",")]
    unknown = [name for name in names if name not in PROCESSES]
    if len(names) < 2 or unknown:
        raise BadInput(
            f"two or more of {', '.join(sorted(PROCESSES))}, with commas between them"
            + (f"; {unknown[0]!r} is none" if unknown else ""),
            field="--hop",
        )
    size = step.ranges["in"].bytes
    data = bytes(size) if given is None else given.read_bytes()
    if len(data) != size:
        raise BadInput(f"{len(data)} bytes; the step's input has {size}", file=given)
    done = hop(step, names, every, data, step.fresh)
    return {
        "between": list(done.order),
        "every": done.every,
        "moves": done.moves,
        "largest_image": done.largest_image,
        "same": done.same,
        "out": done.out.hex(),
        "provenance": "run on this machine, other processors emulated",
    }


def show(said: dict[str, Any]) -> None:
    click.echo(f"{said['step']}: can move at its safepoints; module {said['module_hash']}")
    click.echo(
        f"  moved: at most {said['image_at_most']} bytes (stack {said['stack_at_most']}, data {said['data']},"
        f" frames {said['frames_at_most']}, header 48); its memory: {said['memory']} bytes"
    )
    click.echo("  above safepoints: " + ", ".join(said["above_safepoints"]))
    if "built" in said:
        click.echo(f"  for {said['built']['for']}: {said['built']['object']}")
    if "hop" in said:
        hop = said["hop"]
        same = "the same result as without a move" if hop["same"] else "ANOTHER RESULT than without a move"
        click.echo(
            f"  {' -> '.join(hop['between'])}, every {hop['every']}: {hop['moves']} moves of at most"
            f" {hop['largest_image']} bytes, {same}"
        )
