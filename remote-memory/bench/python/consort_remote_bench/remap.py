# SPDX-License-Identifier: Apache-2.0
"""`consort bench remap`: use of the link in three packetizations, counted in the RTL, cycles and clock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from consort.base.environment import environment
from consort_bench.published import Published, experiment_folder, read_published
from consort_bench.registry import BenchResult, Options, goal
from consort_bench.run_folder import series
from consort_remote import formulas
from consort_remote.run import (
    NEIGHBOUR_BOUND,
    START_PAUSES,
    Beats,
    FullLoad,
    Neighbour,
    attack,
    compact_beats,
    faults,
    neighbour,
    offered,
    outstanding,
    paper_beats,
    same_id_order,
    starts,
    stuck_link,
    worst,
)
from consort_remote.worst_case import Share

from consort_remote_bench.place_and_route import clocks

# At which a block of 128 bits a cycle keeps up with the paper's wire: 20 Gb/s less 64b/66b.
WIRE_MHZ = 20_000 * 64 / 66 / 128
# Forged frames on a wire with errors, and tries of two accesses of one id.
FORGED = 1_000_000
FORGED_BIT_ERRORS = 2e-5
ORDER_TRIES = 2000
# On a link as fast as the blocks, and on one of 20 Gb/s with 50 cycles of wire.
FULL_LOADS = (FullLoad(150), FullLoad(150, link_latency=50, rate=31775, seed=2))
# The other link's PHY takes no answers for so long, again and again, and its bursts are so long.
STALLS = (0, 3_000, 30_000)
NEIGHBOURS = tuple(Neighbour(stalls, beats) for stalls in STALLS for beats in (1, 16, 256))
# Urgent accesses over a PHY of a beat in four cycles, against others that have a share.
FLOOD = FullLoad(60, rate=16384, seed=5, share=Share(16, 20), longest=16)


def run(options: Options) -> BenchResult:
    """Simulates; every figure is a count of beats or cycles, but for the clock that `--quick` leaves out."""
    options.progress("b2b and pipelined, bursts of 1 to 256", None)
    counted = paper_beats()
    rows, mismatches = paper_rows(counted)
    printed = read_published(experiment_folder("remap", "table1") / "published.csv")
    options.progress("compact", None)
    compact = compact_beats()
    made, latencies = compact_rows(compact)
    rows += made
    share = {(row["packetization"], row["burst"]): row["utilisation"] for row in made}
    goals = [
        goal(f"{name}_table1_mismatches", mismatches[name], "bursts", "<=", 0, provenance="counted")
        for name in ("b2b", "pipelined")
    ]
    goals += [
        goal(name, share[load, burst], "ratio", ">=", limit, provenance="counted")
        for name, load, burst, limit in (
            # 2/3 and 8/9: one beat beside the data of each frame.
            ("compact_64B_idle", "compact, idle", 4, 0.6666),
            ("compact_64B_backlog", "compact, backlog of reads and writes", 4, 0.80),
            ("compact_256B_idle", "compact, idle", 16, 0.8888),
            ("compact_4096B_idle", "compact, idle", 256, 0.938),
        )
    ]
    (line,) = (r for r in latencies if r["burst"] == 4 and r["what"] == "reads")
    goals.append(goal("read64_added_cycles", line["added_cycles"], "cycles", "<=", 28, provenance="counted"))
    (stream,) = (r for r in made if (r["packetization"], r["burst"]) == ("compact, backlog of reads", 4))
    goals.append(
        goal(
            "read64_stream_of_direction",
            stream["of_read_direction"],
            "ratio",
            ">=",
            0.85,
            provenance="counted",
        )
    )
    for phy_width in (64,) if options.quick else (64, 256):
        options.progress(f"compact over a PHY of {phy_width} bits", None)
        made, slower = compact_rows(compact_beats(phy_width), phy_width)
        rows += made
        latencies += slower
        if phy_width == 64:
            goals += narrow_goals(made)
    options.progress("64 bytes at all rates, over a PHY as fast as the blocks", None)
    rates = offered(4)
    goals.append(full_rate(rates))
    options.progress("what is outstanding, errors, full load", None)
    goals += limits()
    options.progress("starts over PHYs that pause", None)
    goals += at_the_start()
    options.progress("forged frames, order of an id, a stuck wire", None)
    goals += trust(options.quick)
    clock_goals, clock_rows = ([], []) if options.quick else clocks(options.progress)
    goals += clock_goals
    notes = [
        "Utilisation: payload over all beats of both directions, as the paper's Figure 7 has it; "
        "acknowledgements count.",
        "Backlog: reads and writes at once, so both directions are full; with one of them alone the other "
        "direction idles and its beats are not packed, see the rows.",
        "Beats are of 128 bits whatever the PHY's width: what its words hold, filling included.",
        "The placed and routed clock is of a Lattice ECP5 (40 nm, LUTs of four inputs), by nextpnr's delays "
        "and with the best of eight seeds: with wires, but not the paper's device. With that one's wire 128 "
        f"bits a cycle keep up from {WIRE_MHZ:.1f} MHz on.",
    ]
    return BenchResult(
        goals,
        rows + example(counted, printed) + clock_rows,
        environment(),
        notes,
        {"latency": latencies, "offered": [row | {"provenance": "simulated"} for row in rates]},
        figures=[utilisation(rows, printed), over_offered_rate(rates)],
        lacking=any(found["value"] is None for found in goals),
    )


def full_rate(rates: list[dict[str, Any]]) -> dict[str, Any]:
    """Goal of 64-byte writes: their data among all beats of a PHY of one a cycle, 4/5 with a frame each."""
    (full,) = (row for row in rates if (row["what"], row["offered"]) == ("writes", 1.0))
    return goal(
        "write64_full_rate_payload",
        round(100 * full["taken"], 2),
        "% of the PHY's beats",
        ">=",
        80,
        provenance="simulated",
    )


def over_offered_rate(rates: list[dict[str, Any]]) -> dict[str, Any]:
    """What comes through of accesses of 64 bytes, and the wire's use, over the rate that is offered."""
    curves = [
        series(
            f"{what} of 64 bytes, {name}",
            "simulated",
            [(row["offered"], row[column]) for row in rates if row["what"] == what],
        )
        for what in ("writes", "reads")
        for column, name in (("taken", "beats a cycle"), ("payload", "payload of the wire's beats"))
    ]
    return {
        "title": "Accesses of 64 bytes over a PHY of a beat a cycle",
        "x": {"label": "offered", "unit": "beats/cycle", "log": False},
        "y": {"label": "beats a cycle, and payload over the beats of their direction"},
        "series": curves,
        "note": "The compact packetization; one port, a wire of 10 cycles and a memory of 20.",
        "source": "simulated",
    }


def example(counted: Sequence[Beats], printed: Sequence[Published]) -> list[dict[str, Any]]:
    """The write of 128 bytes that section V and Figure 6 reckon with, as printed and as the RTL takes it."""
    beats = {(row.packetization, row.burst): row.request_beats for row in counted}
    rows = []
    for row in printed:
        if not row.statistic.endswith("of a write"):
            continue
        packetization, burst = row.of["packetization"], int(row.of["burst"])
        taken = beats[packetization, burst]
        saved = 1 - taken / beats["b2b", burst]
        rows.append(
            {
                "item": "figure6",
                "packetization": packetization,
                "burst": burst,
                "statistic": row.statistic,
                "published": row.value,
                "value": 100 * (burst / taken if row.statistic.startswith("utilisation") else saved),
                "unit": row.unit,
                "provenance": "counted",
            }
        )
    return rows


def utilisation(rows: Sequence[dict[str, Any]], printed: Sequence[Published]) -> dict[str, Any]:
    """Figure 7: Table I's formulas and what the text prints of the curves, beside what was counted."""
    bursts = sorted({row["burst"] for row in rows if row["packetization"] == "b2b"})
    curves = []
    for name, beats in (("b2b", formulas.b2b), ("pipelined", formulas.pipelined)):
        points = [
            (float(row.of["burst"]), float(row.value or 0) / 100)
            for row in printed
            if (row.of["packetization"], row.statistic) == (name, "utilisation")
        ]
        curves += [
            series(f"{name}, printed", "published", points),
            series(
                f"{name}, Table I's formulas",
                "derived",
                [(float(burst), formulas.utilisation(burst, *beats(burst))) for burst in bursts],
            ),
        ]
    for name in dict.fromkeys(row["packetization"] for row in rows if row["phy_width"] == 128):
        of = [row for row in rows if (row["packetization"], row["phy_width"]) == (name, 128)]
        curves.append(
            series(f"{name}, counted", "counted", [(float(r["burst"]), r["utilisation"]) for r in of])
        )
    return {
        "title": "Figure 7: payload over all beats of both directions",
        "x": {"label": "burst", "unit": "databeats", "log": True},
        "y": {"label": "utilisation of the link"},
        "series": curves,
        "note": "The compact packetization is not the paper's.",
        "source": "REMAP, Table I, Figure 7 and section V",
    }


def narrow_goals(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Over a PHY of 64 bits as much of the wire is payload as over one of 128."""
    share = {(row["packetization"], row["burst"]): row["utilisation"] for row in rows}
    return [
        goal(name, share[load, 4], "ratio", ">=", limit, provenance="counted")
        for name, load, limit in (
            ("compact_64B_idle_phy64", "compact, idle", 0.6666),
            ("compact_64B_backlog_phy64", "compact, backlog of reads and writes", 0.80),
        )
    ]


def trust(quick: bool) -> list[dict[str, Any]]:
    """Goals of what a borrower, a memory that reorders and a stuck wire can do."""
    forged = attack(FORGED // 20 if quick else FORGED, FORGED_BIT_ERRORS, seed=1)
    order = same_id_order(ORDER_TRIES)
    stuck = stuck_link()
    return [
        # Bytes that came to another segment, accesses beside it that failed, refused requests.
        goal(
            "injection_successes",
            forged["reached"] + forged["errors"] + forged["refused"],
            "of forged frames",
            "<=",
            0,
            provenance="simulated",
        ),
        goal(
            "same_id_reorders",
            order["reordered_writes"] + order["reordered_reads"],
            "pairs of accesses",
            "<=",
            0,
            provenance="simulated",
        ),
        # The time of the end that notices, that of the other one after it, and two cycles for each beat.
        goal(
            "stuck_link_ends_in_cycles",
            max(end["cycles"] for end in stuck),
            "cycles",
            "<=",
            2 * stuck[0]["down_after"] + 2048,
            provenance="simulated",
        ),
    ]


def of_bound(*loads: FullLoad) -> float:
    """The longest access of 64 bytes, as a part of its bound."""
    return max(
        row[longest] / load.bound
        for load in loads
        for row in worst(load)
        for longest in ("longest_read", "longest_write")
    )


def at_the_start() -> list[dict[str, Any]]:
    """Goal of what is lost as a session begins, over PHYs that pause, with `consort_phy_cdc` and without."""
    ran = [starts(pause, cdc) for cdc in (False, True) for pause in START_PAUSES]
    total = sum(part["starts"] for part in ran)
    losses = sum(part["losses"] for part in ran)
    return [goal("start_losses", losses, f"of {total} starts", "<=", 0, provenance="simulated")]


def limits() -> list[dict[str, Any]]:
    """Goals of what is outstanding at once, of errors, and of the longest access under full load."""
    most = outstanding()
    ends = faults()
    refused = [ends[f"{what}_{why}"] for what in ("read", "write") for why in ("unmapped", "forbidden")]
    cut = ends["cut"]
    return [
        goal("outstanding_reads", most["reads"], "transactions", ">=", 32, provenance="counted"),
        goal("outstanding_writes", most["writes"], "transactions", ">=", 32, provenance="counted"),
        goal("refused_cycles", max(r["cycles"] for r in refused), "cycles", "<=", 8, provenance="counted"),
        goal("refused_link_beats", sum(r["beats"] for r in refused), "beats", "<=", 0, provenance="counted"),
        # The programmed time, and a cycle for each beat of the answers.
        goal(
            "cut_link_last_error_cycles",
            cut["longest"],
            "cycles",
            "<=",
            cut["down_after"] + 2048,
            provenance="simulated",
        ),
        goal(
            "neighbour_worst_cycles",
            max(neighbour(load)["longest"] for load in NEIGHBOURS),
            "cycles",
            "<=",
            NEIGHBOUR_BOUND,
            provenance="simulated",
        ),
        goal("worst64_of_bound", of_bound(*FULL_LOADS), "ratio", "<=", 1, provenance="simulated"),
        goal("urgent64_of_bound", of_bound(FLOOD), "ratio", "<=", 1, provenance="simulated"),
    ]


def paper_rows(counted: Sequence[Beats]) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Rows of the paper's packetizations, and for how many bursts the count differs from Table I."""
    table = {"b2b": formulas.b2b, "pipelined": formulas.pipelined}
    mismatches = dict.fromkeys(table, 0)
    rows: list[dict[str, Any]] = []
    for row in counted:
        if row.packetization in table:
            mismatches[row.packetization] += (row.write_beats, row.read_beats) != table[row.packetization](
                row.burst
            )
        rows.append(
            {
                "packetization": row.packetization,
                "phy_width": 128,
                "burst": row.burst,
                "write_beats": row.write_beats,
                "read_beats": row.read_beats,
                "utilisation": formulas.utilisation(row.burst, row.write_beats, row.read_beats),
                "provenance": "counted",
            }
        )
    return rows, mismatches


def compact_rows(
    counts: list[dict[str, Any]], phy_width: int = 128
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Rows of utilisation, and of latency."""
    rows: list[dict[str, Any]] = []
    idle = {(r["burst"], r["what"]): r for r in counts if r["load"] == "idle"}
    for burst in sorted({burst for burst, _ in idle}):
        reads, writes = idle[burst, "reads"], idle[burst, "writes"]
        beats = {
            what: (r["request_beats"] + r["response_beats"]) / r["count"]
            for what, r in (("reads", reads), ("writes", writes))
        }
        rows.append(
            {
                "packetization": "compact, idle",
                "phy_width": phy_width,
                "burst": burst,
                "write_beats": beats["writes"],
                "read_beats": beats["reads"],
                "utilisation": formulas.utilisation(burst, beats["writes"], beats["reads"]),
                "of_read_direction": burst * reads["count"] / reads["response_beats"],
                "of_write_direction": burst * writes["count"] / writes["request_beats"],
                "provenance": "counted",
            }
        )
    names = {"reads": "reads", "writes": "writes", "both": "reads and writes"}
    for r in counts:
        if r["load"] != "backlog":
            continue
        slots = r["cycles"] * r["rate"]  # beats that the wire could have carried in each direction
        payload = r["burst"] * (r["reads"] + r["writes"])
        rows.append(
            {
                "packetization": f"compact, backlog of {names[r['what']]}",
                "phy_width": phy_width,
                "burst": r["burst"],
                "utilisation": payload / (r["request_beats"] + r["response_beats"]),
                "of_read_direction": r["burst"] * r["reads"] / slots,
                "of_write_direction": r["burst"] * r["writes"] / slots,
                "provenance": "counted",
            }
        )
    latencies = [
        {
            "what": r["what"],
            "phy_width": phy_width,
            "burst": r["burst"],
            "cycles": r["cycles"],
            "memory_cycles": r["memory_cycles"],
            "added_cycles": r["cycles"] - r["memory_cycles"],
            "provenance": "simulated",
        }
        for r in counts
        if r["load"] == "latency"
    ]
    return rows, latencies
