# SPDX-License-Identifier: Apache-2.0
"""`consort bench remap-campaign`: ten million transactions over every kind of fault, and nothing lost.

Simulations take turns on the wires between the blocks: one alone, PHYs that pause and then give what they
kept without gaps, and such PHYs behind `consort_phy_cdc` with a clock of their own.
A transaction that is lost, wrong or does not end is an error of the simulation, which ends the campaign.
What a part of it counted is kept under the simulation's key: a campaign that was ended goes on where it was,
and one of other sources begins anew.
"""

from __future__ import annotations

import json
import os
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from consort.base.environment import environment
from consort.base.toolchain.builds import kept
from consort_bench.registry import BenchResult, Options, goal
from consort_remote.run import WIRES, campaign, campaign_program

TRANSACTIONS = 10_000_000
QUICK = 20_000
# Transactions of one simulation; a seed each.
PART = 100_000
# Words of 128 bits that crossed the PHY of a campaign of ten million; what the soaks have to reach together.
BEATS = 100_000_000
# Errors that the link repairs: no access ends with an error there.
MENDED = (
    "none",
    "single bits, rarely",
    "single bits, often",
    "bursts of bits",
    "words lost",
    "words repeated",
    "all of these",
    "cBlock reset",
    "mBlock reset",
)


def run(options: Options) -> BenchResult:
    """Simulates on all CPUs; `--iterations` says how many transactions, `--seconds` for how long at most."""
    asked = options.iterations or (QUICK if options.quick else TRANSACTIONS)
    total: dict[str, Any] = {
        "transactions": 0,
        "cycles": 0,
        "beats": 0,
        "corrupted": 0,
        "kept": 0,
        "rounds": 0,
    }
    modes: dict[str, dict[str, int]] = {}
    wires = {wire: dict.fromkeys(total, 0) for wire in WIRES}
    seeds = 0
    for part in parts(asked, options):
        seeds += 1
        for name in total:
            total[name] += part[name]
            wires[part["wire"]][name] += part[name]
        for mode, counts in part["modes"].items():
            sums = modes.setdefault(mode, dict.fromkeys(counts, 0))
            for name, value in counts.items():
                sums[name] += value
    rows: list[dict[str, Any]] = [
        {"mode": mode, **counts, "provenance": "simulated"} for mode, counts in modes.items()
    ]
    rows += [{"wire": wire, **counts, "provenance": "simulated"} for wire, counts in wires.items()]
    ended = sum(counts["errors"] for mode, counts in modes.items() if mode in MENDED)
    goals = [
        goal(
            "transactions",
            total["transactions"],
            "transactions",
            ">=",
            0 if options.seconds else asked,
            provenance="simulated",
        ),
        goal(
            "beats_on_the_link",
            total["beats"],
            "beats",
            ">=",
            BEATS if asked >= TRANSACTIONS and not options.seconds else 0,
            provenance="simulated",
        ),
        goal("errors_where_the_link_mends", ended, "accesses", "<=", 0, provenance="simulated"),
        goal(
            "fault_modes_with_faults",
            sum(counts["faults"] > 0 for mode, counts in modes.items() if mode != "none"),
            "modes",
            ">=",
            len(modes) - 1,
            provenance="simulated",
        ),
        goal(
            "wires_with_transactions",
            sum(counts["transactions"] > 0 for counts in wires.values()),
            "wires",
            ">=",
            len(wires),
            provenance="simulated",
        ),
    ]
    notes = [
        f"{total['transactions']} transactions in {total['cycles']} cycles with the seeds 1 to {seeds}; "
        f"{total['corrupted']} of {total['beats']} words of the PHY corrupted, {total['kept']} kept by a PHY "
        "while it paused.",
        f"Simulation {campaign_program().parent.name}; the last digits are of all that it was built from.",
        "Every access ended; every byte that was read is what was written; each round ends with a read of "
        "every page. The memory carries out accesses of different ids in any order.",
    ]
    return BenchResult(goals, rows, environment(), notes, total)


def parts(asked: int, options: Options) -> list[dict[str, Any]]:
    """Simulations with seeds 1, 2, ... until so many transactions are done, or the time is over."""
    over = time.monotonic() + (options.seconds or float("inf"))
    cpus = len(os.sched_getaffinity(0))
    done: list[dict[str, Any]] = []
    begun = finished = 0
    with ThreadPoolExecutor(cpus) as pool:
        running: set[Future[dict[str, Any]]] = set()
        while True:
            # Each wire has its turn, however few are asked for.
            while (finished + PART * len(running) < asked or begun < len(WIRES)) and time.monotonic() < over:
                if len(running) == cpus:
                    break
                begun += 1
                running.add(pool.submit(counted, min(PART, asked), begun, wire_of(begun)))
            if not running:
                return done
            ready, running = wait(running, return_when=FIRST_COMPLETED)
            for future in ready:
                part = future.result()
                done.append(part)
                finished += part["transactions"]
            options.progress(f"{finished} of {asked} transactions", min(1.0, finished / asked))


def wire_of(seed: int) -> str:
    """The wire on which a campaign's simulation with this seed is."""
    return tuple(WIRES)[seed % len(WIRES)]


def counted(transactions: int, seed: int, wire: str, root: Path | None = None) -> dict[str, Any]:
    """The counts of one simulation: from the last time that the same one ran, or run now.

    `root`: where it is kept, instead of beside the simulation.
    """
    program = campaign_program()

    def make(target: Path, scratch: Path) -> None:
        target.write_text(json.dumps(campaign(transactions, seed, wire)), encoding="utf-8")

    # A key of its own: what is made under one waits for one another.
    key = f"{program.parent.name}-{wire}-{transactions}-from-{seed}"
    found = kept("campaign", key, "counted.json", make, root=root or program.parents[2])
    result: dict[str, Any] = json.loads(found.read_text(encoding="utf-8"))
    return result | {"wire": wire}
