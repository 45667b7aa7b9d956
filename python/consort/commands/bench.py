# SPDX-License-Identifier: Apache-2.0
"""``consort bench``: the benchmarks are not part of an installation; this finds them in the source tree."""

from __future__ import annotations

import importlib
import sys

import click

from consort.base.toolchain.builds import need_source_tree, source_tree


@click.command(
    epilog="Example: consort bench icc --json",
    context_settings={"help_option_names": ["-h", "--help"], "ignore_unknown_options": True},
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="NAME [OPTIONS]")
def without_tree(arguments: tuple[str, ...]) -> None:
    """Run benchmark NAME and hold its figures against their goals.

    The benchmarks, and what they build and compare with, are in Consort's source tree; there is none here.
    """
    need_source_tree("a benchmark")


def find() -> click.Command:
    """The command of the source tree's benchmarks, or one that says that there is no source tree."""
    root = source_tree()
    if root is None:
        return without_tree
    folder = str(root / "bench" / "python")
    if folder not in sys.path:
        sys.path.append(folder)
    command = importlib.import_module("consort_bench.command").command
    assert isinstance(command, click.Command)
    return command


command = find()
