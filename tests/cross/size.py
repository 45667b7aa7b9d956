# SPDX-License-Identifier: Apache-2.0
"""Code bytes of the channels' operations on each core: make size.

Counted in the object file of probe.cpp: one function for each operation, with all functions that it calls but
memcpy, memset and memcmp. --json prints the counts as data.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cores import CORES, Core, agreed, code_bytes, compile_probe

# A column: its head, and the probes it counts.
COLUMNS = {
    "mailbox read/write": ["mailbox_read", "mailbox_write"],
    "snapshot read/update": ["snapshot_read", "snapshot_update"],
    "double buffer read/update": ["double_buffer_read", "double_buffer_update"],
    "versions read/publish": ["versions_read", "versions_publish"],
    "queue read/write": ["queue_read", "queue_write"],
    "queue batch read/write": ["queue_read_batch", "queue_write_batch"],
    "region attach + open": ["region_open"],
}
OPTIMISATIONS = ["-Os", "-O2"]
POLICIES = ["coherent", "system_barrier", "non_coherent", "device"]

Counts = dict[str, int]


def count(core: Core, optimisation: str, policy: str, out: Path) -> tuple[Counts, int]:
    """Bytes of each probe, and of the message they move."""
    objects = compile_probe(core, optimisation, out)
    probes = [probe for column in COLUMNS.values() for probe in column]
    counts = {probe: code_bytes(core, objects, f"{probe}_{policy}") for probe in probes}
    return counts, agreed(core, objects)["sizeof Message"]


def print_table(rows: dict[str, Counts]) -> None:
    first = max(len(row) for row in rows)
    print(" " * first, *COLUMNS, sep="  ")
    for row, counts in rows.items():
        cells = ["/".join(str(counts[probe]) for probe in probes) for probes in COLUMNS.values()]
        print(
            row.ljust(first),
            *(cell.rjust(len(head)) for cell, head in zip(cells, COLUMNS, strict=True)),
            sep="  ",
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--policy", default="coherent", choices=POLICIES, help="how the core reaches the memory (coherent)"
    )
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")
    arguments = parser.parse_args()

    missing = [f"{core.name}: {lack}" for core in CORES if (lack := core.missing()) is not None]
    wanted = [(core, opt) for core in CORES if core.missing() is None for opt in OPTIMISATIONS]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda job: count(*job, arguments.policy, Path(folder)), wanted)
        found = {f"{core.name} {opt}": result for (core, opt), result in zip(wanted, results, strict=True)}
    rows = {row: counts for row, (counts, _) in found.items()}
    message_bytes = sorted({size for _, size in found.values()})

    if arguments.json:
        print(
            json.dumps(
                {
                    "policy": arguments.policy,
                    "message_bytes": message_bytes,
                    "unit": "byte",
                    "provenance": "counted",
                    "sizes": rows,
                    "missing": missing,
                },
                indent=1,
            )
        )
    elif rows:
        sizes = ", ".join(map(str, message_bytes))
        print(f"Code bytes (counted), access policy {arguments.policy}, message of {sizes} bytes\n")
        print_table(rows)
    for line in missing:
        print(f"left out: {line}", file=sys.stderr)
    if not rows:
        print("no compiler for any core is installed", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
