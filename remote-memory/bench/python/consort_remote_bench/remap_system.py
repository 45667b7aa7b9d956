# SPDX-License-Identifier: Apache-2.0
"""`consort bench remap-system`: Figures 12, 13 and Table II, published beside simulated.

The parameters and where they are from: experiments/remap/system/parameters.csv.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from consort.base.environment import environment
from consort.base.errors import BadInput
from consort_bench.published import Published, experiment_folder, read_published
from consort_bench.registry import BenchResult, Options, goal
from consort_remote import formulas
from consort_remote import run as hardware

from consort_remote_bench.remap_figures import figures

# The first is this project's, which the goals are of.
PACKETIZATIONS = ("compact", "b2b", "pipelined")
KERNELS = ("copy", "scale", "add", "triad")
LINE = 64  # bytes
UNITS = {
    "clock": "ns",
    "memory_latency": "ns",
    "memory_rate": "MB/s",
    "link_latency": "ns",
    "link_rate": "Gb/s",
    "in_flight": "lines",
}


@dataclass(frozen=True)
class Parameters:
    """Parameters of the board: times in ns, rates as printed."""

    clock: float
    memory_latency: float
    memory_rate: float
    link_latency: float
    link_rate: float
    in_flight: float

    def cycles(self, ns: float) -> int:
        """Whole cycles of the blocks' clock."""
        return round(ns / self.clock)

    def board(self, samples: int) -> hardware.Board:
        """In cycles of the blocks' clock."""
        return hardware.Board(
            memory_latency=self.cycles(self.memory_latency),
            memory_rate=self.share(self.memory_rate / 1000),
            link_latency=self.cycles(self.link_latency),
            link_rate=self.share(self.payload_rate),
            in_flight=int(self.in_flight),
            samples=samples,
        )

    @property
    def payload_rate(self) -> float:
        """The link's payload rate, in bytes a nanosecond: without the two bits of 66 that mark a block."""
        return self.link_rate / 8 * 64 / 66

    def said(self) -> str:
        """The inputs of a result over one hop, and its outputs, in words."""
        return (
            f"1-hop, what goes in: clock {self.clock:g} ns, link {self.link_rate:g} Gb/s and "
            f"{self.link_latency:g} ns each way, memory {self.memory_rate:g} MB/s and "
            f"{self.memory_latency:g} ns, {self.in_flight:g} lines in flight. The link's latency is half of "
            "what the paper's hop adds, and the lines are its throughput times its latency: that 1-hop is "
            "near both is not a finding. What comes out: the cycles of the blocks, how the wire is used, and "
            "so which of wire, memory and lines in flight is the limit."
        )

    def share(self, bytes_per_ns: float) -> int:
        """Beats of 16 bytes a cycle, of 65536; 0 where it is one or more."""
        share = round(bytes_per_ns * self.clock / 16 * 65536)
        return 0 if share >= 65536 else share


def read_parameters(file: Path) -> Parameters:
    """All of parameters.csv; BadInput names the line that is wrong."""
    values: dict[str, float] = {}
    with file.open(encoding="utf-8", newline="") as stream:
        reader = csv.DictReader(stream)
        for row in reader:
            at = reader.line_num
            name = row.get("name") or ""
            if UNITS.get(name) != row.get("unit"):
                raise BadInput(f"'{name}' in {row.get('unit')} is not a parameter", file=file, line=at)
            if row.get("kind") not in ("published", "derived", "assumed"):
                raise BadInput("is not published, derived or assumed", file=file, line=at, field="kind")
            try:
                values[name] = float(row["value"])
            except ValueError:
                raise BadInput(
                    f"'{row['value']}' is not a number", file=file, line=at, field="value"
                ) from None
            if values[name] <= 0:
                raise BadInput(f"{name} must be above 0", file=file, line=at, field="value")
    lacking = sorted(UNITS.keys() - values.keys())
    if lacking:
        raise BadInput(f"lacks {', '.join(lacking)}", file=file)
    return Parameters(**values)


def run(options: Options) -> BenchResult:
    """Simulates; every figure is a count of cycles, times the parameters' clock."""
    folder = experiment_folder("remap", "system")
    parameters = read_parameters(folder / "parameters.csv")
    published = read_published(folder / "published.csv")
    rows: list[dict[str, Any]] = []
    compared = 0
    for packetization in PACKETIZATIONS:
        options.progress(f"STREAM and single reads through the blocks, {packetization}", None)
        board = parameters.board(samples=2 if options.quick else 4)
        alone = hardware.configurations(board, packetization)
        options.progress(f"STREAM at both ports of one cBlock, {packetization}", None)
        both = hardware.combined(board, packetization)
        compared += alone["compared"] + both["compared"]
        streams = alone["streams"] + both["streams"]
        made = throughputs(parameters, streams, published) + latencies(parameters, alone, published)
        for row in made:
            row["packetization"] = None if row["configuration"] == "baseline" else packetization
        # The baseline is the same memory each time.
        rows += made if not rows else [row for row in made if row["packetization"]]
    rows += expected(parameters, published, rows)
    rows += others(published, rows)
    by = {
        (r["item"], r["configuration"], r["what"]): r["simulated"]
        for r in rows
        if r["packetization"] in (None, "compact")
    }
    base = by["figure12", "baseline", "average"]
    goals = [
        goal("latency_0_hop", by["figure13", "0-hop", "64"], "ns", "<=", 323, provenance="simulated"),
        goal("latency_1_hop", by["figure13", "1-hop", "64"], "ns", "<=", 748, provenance="simulated"),
        goal(
            "stream_0_hop_of_baseline",
            by["figure12", "0-hop", "average"] / base,
            "ratio",
            ">=",
            0.83,
            provenance="simulated",
        ),
        goal(
            "stream_1_hop_of_baseline",
            by["figure12", "1-hop", "average"] / base,
            "ratio",
            ">=",
            0.5,
            provenance="simulated",
        ),
        goal(
            "stream_combined_of_baseline",
            by["figure12", "combined", "average"] / base,
            "ratio",
            ">=",
            1.2,
            provenance="simulated",
        ),
    ]
    notes = [
        "Limits are the published values. The baseline's throughput is a parameter.",
        "Simulated: this project's blocks at the paper's clock, link and memory; that they reach this clock "
        "is assumed, not shown. Goals are of the compact packetization; b2b and pipelined stand beside it, "
        "on the paper's link without CRC or repetition.",
        "Combined: one cBlock of two ports, four instances of STREAM at once, each port with all of its "
        "lines in flight. With the lines shared by both it is less.",
        f"STREAM: of its 10 million elements an array, samples; {compared} lines of memory compared.",
    ]
    return BenchResult(
        goals,
        rows,
        environment(),
        notes,
        {"parameters": parameters.__dict__},
        figures=figures(rows, parameters.said()),
    )


def throughputs(
    parameters: Parameters, streams: list[dict[str, Any]], published: list[Published]
) -> list[dict[str, Any]]:
    """Figure 12 in MB/s: lines moved, as STREAM counts the bytes of its arrays."""
    rows = []
    for name in dict.fromkeys(row["configuration"] for row in streams):
        of: dict[str, list[dict[str, Any]]] = {kernel: [] for kernel in KERNELS}
        for row in streams:
            if row["configuration"] == name:
                of[row["kernel"]].append(row)
        rates = {kernel: [rate(parameters, [sample]) for sample in of[kernel]] for kernel in KERNELS}
        means = {kernel: rate(parameters, of[kernel]) for kernel in KERNELS}
        least = {kernel: min(rates[kernel]) for kernel in KERNELS}
        most = {kernel: max(rates[kernel]) for kernel in KERNELS}
        for what in (*KERNELS, "average"):
            value, low, high = (
                sum(of.values()) / len(of) if what == "average" else of[what] for of in (means, least, most)
            )
            rows.append(
                {
                    "item": "figure12",
                    "configuration": name,
                    "what": what,
                    "simulated": value,
                    "least_of_samples": low,
                    "most_of_samples": high,
                    "published": printed(published, "figure12", name.split(",")[0], what, "throughput")
                    if "alone" not in name
                    else None,
                    "unit": "MB/s",
                    "provenance": "simulated",
                }
            )
    return rows


def rate(parameters: Parameters, samples: list[dict[str, Any]]) -> float:
    """MB/s of these samples together, both ports."""
    moved = sum(sum(sample["lines"]) for sample in samples) * LINE
    ns: float = sum(sample["cycles"] for sample in samples) * parameters.clock
    return float(moved / ns * 1000)


def expected(
    parameters: Parameters, published: list[Published], rows: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The paper's expectation of its 1-hop throughput, the use of the link times its rate; and ours.

    The use is Table I's for a line, which the RTL takes to the beat (`consort bench remap`).
    """
    use = formulas.utilisation(LINE // 16, *formulas.pipelined(LINE // 16))
    (own,) = (
        row["simulated"]
        for row in rows
        if (row["item"], row["configuration"], row["what"], row["packetization"])
        == ("figure12", "1-hop", "average", "pipelined")
    )
    wanted = printed(published, "figure12", "1-hop", "average", "expected throughput")
    common = {"item": "expected", "configuration": "1-hop", "packetization": "pipelined", "unit": "MB/s"}
    return [
        {
            **common,
            "what": "use of the link times its rate",
            "simulated": use * parameters.payload_rate * 1000,
            "published": wanted,
            "provenance": "derived",
        },
        {
            **common,
            "what": "STREAM, average",
            "simulated": own,
            "published": wanted,
            "provenance": "simulated",
        },
    ]


def latencies(
    parameters: Parameters, measured: dict[str, Any], published: list[Published]
) -> list[dict[str, Any]]:
    """Figure 13 in ns: one read of each size, nothing else under way."""
    return [
        {
            "item": "figure13",
            "configuration": name,
            "what": str(row["bytes"]),
            "simulated": row[name] * parameters.clock,
            "published": printed(published, "figure13", name, str(row["bytes"]), "latency"),
            "unit": "ns",
            "provenance": "simulated",
        }
        for name in ("baseline", "0-hop", "1-hop")
        for row in measured["singles"]
    ]


def others(published: list[Published], rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Table II: the paper's rows, and this project's."""
    own = {
        r["configuration"]: r["simulated"]
        for r in rows
        if (r["item"], r["what"], r["packetization"]) == ("figure13", "64", "compact")
    }
    table = [
        {
            "item": "table2",
            "configuration": row.of["configuration"],
            "what": row.of["what"],
            "packetization": None,
            "simulated": None,
            "published": row.value,
            "unit": row.unit,
            "provenance": row.provenance,
        }
        for row in published
        if row.of["item"] == "table2"
    ]
    for name, value in (
        ("0-hop", own["0-hop"]),
        ("1-hop", own["1-hop"]),
        ("0-hop + 50 ns", own["0-hop"] + 50),
    ):
        table.append(
            {
                "item": "table2",
                "configuration": name,
                "what": "Consort",
                "packetization": "compact",
                "simulated": value,
                "published": None,
                "unit": "ns",
                "provenance": "simulated",
            }
        )
    return table


def printed(
    published: list[Published], item: str, configuration: str, what: str, statistic: str
) -> float | None:
    """The figure in the paper's text, if any."""
    for row in published:
        if row.statistic == statistic and (row.of["item"], row.of["configuration"], row.of["what"]) == (
            item,
            configuration,
            what,
        ):
            return row.value
    return None
