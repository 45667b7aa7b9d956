# SPDX-License-Identifier: Apache-2.0
"""``consort init``: a folder with a small application that runs, to begin one's own from."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from consort.base.errors import BadInput

SKELETON = Path(__file__).resolve().parent.parent / "skeleton"
FILES = ("system.yaml", "step.hpp", "inputs.py")
# A repository that was just made is an empty folder to whoever made it.
PASSED_OVER = {".git"}


@click.command(
    "init",
    epilog="Example: consort init my-controller && cd my-controller && consort run system.yaml",
    help="Write a small application that passes check, plan, analyze, simulate and run into DIR (default: the"
    " current folder): a description, a step and its inputs. DIR is made where there is none. Exit status 2:"
    " DIR is not empty, or cannot be written; nothing is changed then.",
)
@click.argument("folder", metavar="[DIR]", type=click.Path(path_type=Path), default=Path())
def command(folder: Path) -> None:
    write_skeleton(folder)
    for name in FILES:
        click.echo(folder / name)
    place = "" if folder == Path() else f"cd {shlex.quote(str(folder))} && "
    click.echo(f"next: {place}consort run system.yaml")


def write_skeleton(folder: Path) -> None:
    """Writes the skeleton into a folder that is empty or not there yet; `BadInput` otherwise."""
    try:
        if folder.exists():
            if not folder.is_dir():
                raise BadInput("is a file; name a folder that is empty, or a new one", file=folder)
            there = sorted(path.name for path in folder.iterdir() if path.name not in PASSED_OVER)
            if there:
                raise BadInput(
                    f"the folder is not empty (it has {there[0]!r}); name one that is empty, or a new one",
                    file=folder,
                )
        folder.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            with (folder / name).open("x", encoding="utf-8") as file:
                file.write((SKELETON / name).read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"cannot be written: {error.strerror}", file=error.filename or folder) from None
