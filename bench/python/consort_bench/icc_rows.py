# SPDX-License-Identifier: Apache-2.0
"""The rows of `consort bench icc`: links and streams between floors, by regime; the latest value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from consort.base.errors import ConsortError
from consort.record import RawRun
from numpy.typing import NDArray

from consort_bench.blocks import Block, Ratio, central, combine

# Two processors are far from one another when the bare floor between them takes longer one way. Measured:
# 30 to 60 ns between neighbours, 143 to 250 ns across a package or between two last-level caches.
FAR_NS = 100.0
REGIMES = ("near", "far")
# A regime with a smaller part of the floor's blocks is a moment on the way to the other one.
LEAST_PART = 0.1

# The subject, bytes, spin (of a link) or capacity (of a stream).
Key = tuple[str, int, str]


def regime_of(floor_ns: float) -> str:
    return "near" if floor_ns < FAR_NS else "far"


@dataclass
class Figures:
    """Ratios to the bare floor and messages a second, by regime; and how the run divides among these."""

    ratios: dict[str, dict[Key, float | None]] = field(default_factory=lambda: {r: {} for r in REGIMES})
    streams: dict[str, dict[Key, float | None]] = field(default_factory=lambda: {r: {} for r in REGIMES})
    floors: dict[str, int] = field(default_factory=lambda: dict.fromkeys(REGIMES, 0))

    def present(self) -> list[str]:
        """The regimes that count in this run, that with the most floors first."""
        total = sum(self.floors.values())
        found = [r for r in REGIMES if self.floors[r] and self.floors[r] >= LEAST_PART * total]
        return sorted(found, key=lambda r: -self.floors[r])

    def add(self, rows: Iterable[dict[str, Any]]) -> None:
        """Takes a peer's rows in, which were measured against its own floor."""
        for row in rows:
            key = (row["what"], row["bytes"], row["spin"])
            self.ratios[row["regime"]][key] = row["ratio"]


@dataclass(frozen=True)
class _Blocks:
    """The blocks of a run: which link each measures, and the centre of its samples."""

    link: NDArray[Any]
    first: NDArray[Any]
    samples: NDArray[Any]
    centre: NDArray[Any]
    ticks: NDArray[Any]
    ns: float  # one way: half a round trip

    @classmethod
    def of(cls, raw: RawRun) -> _Blocks:
        ticks = np.asarray(raw.tables["samples"].rows["ticks"])
        rows = raw.tables["blocks"].rows
        first, samples = np.asarray(rows["first_sample"]), np.asarray(rows["samples"])
        centre = np.array(
            [central(ticks[a : a + n]) for a, n in zip(first, samples, strict=True)], dtype=float
        )
        ns = 1e9 / raw.manifest.clock.ticks_per_second / 2
        return cls(np.asarray(rows["link"]), first, samples, centre, ticks, ns)

    def times(self, index: int) -> NDArray[Any]:
        first = self.first[index]
        return self.ticks[first : first + self.samples[index]]

    def floor_ns(self, index: int) -> float:
        """The floor around a block, or, of a floor's block, itself."""
        if self.link[index] == 0:
            return float(self.centre[index]) * self.ns
        return float(self.centre[index - 1] + self.centre[index + 1]) / 2 * self.ns


def link_rows(raw: RawRun) -> tuple[list[dict[str, Any]], Figures]:
    """A row for each link and regime: its ratio to the bare floor and to the raw copy, and its quantiles."""
    blocks = _Blocks.of(raw)
    links = raw.manifest.config["links"]
    if np.count_nonzero(blocks.link == 0) < 2:
        raise ConsortError("the benchmark ended before two floors were measured; give it more --seconds")
    figures = Figures()
    rows: list[dict[str, Any]] = []
    members: dict[tuple[int, str], list[int]] = {}
    for index, link in enumerate(blocks.link.tolist()):
        if link == 0 or index + 1 < blocks.link.size:
            members.setdefault((link, regime_of(blocks.floor_ns(index))), []).append(index)
    for regime in REGIMES:
        figures.floors[regime] = len(members.get((0, regime), []))
    for (link, regime), indices in sorted(members.items()):
        described = links[link]
        if described["stream_capacity"]:
            continue
        if link == 0:
            ratio = Ratio(1.0, 1.0, 1.0, len(indices), 0)
        else:
            ratio = combine([Block(*blocks.centre[i - 1 : i + 2]) for i in indices])
        what, size, spin = described["what"], described["bytes"], described["spin"]
        figures.ratios[regime][what, size, spin] = ratio.value
        times = np.concatenate([blocks.times(i) for i in indices]) * blocks.ns
        rows.append(_row(what, size, spin, regime, times, ratio))
    for row in rows:
        copy = figures.ratios[row["regime"]].get(("copy", row["bytes"], row["spin"]))
        row["over_copy"] = row["ratio"] / copy if copy and row["ratio"] and row["what"] != "copy" else None
    return rows + stream_rows(blocks, links, members, figures), figures


def _row(what: str, size: int, spin: str, regime: str, times: Any, ratio: Ratio) -> dict[str, Any]:
    quantiles = np.percentile(times, [50, 99, 99.9], method="inverted_cdf")
    return {
        "what": what,
        "bytes": size,
        "spin": spin,
        "regime": regime,
        "ratio": ratio.value,
        "ratio_low": ratio.low,
        "ratio_high": ratio.high,
        "median_ns": float(quantiles[0]),
        "p99_ns": float(quantiles[1]),
        "p999_ns": float(quantiles[2]),
        "max_ns": float(times.max()),
        "samples": int(times.size),
        "blocks_kept": ratio.kept,
        "blocks_dropped": ratio.dropped,
        "provenance": "measured",
    }


def stream_rows(
    blocks: _Blocks,
    links: Sequence[dict[str, Any]],
    members: dict[tuple[int, str], list[int]],
    figures: Figures,
) -> list[dict[str, Any]]:
    """A row for each queue, size, capacity and regime: messages a second, each block a sample."""
    rows = []
    for (link, regime), indices in sorted(members.items()):
        described = links[link]
        if not described["stream_capacity"]:
            continue
        # As everywhere: a block counts where the floors before and after it agree.
        kept = [i for i in indices if Block(*blocks.centre[i - 1 : i + 2]).agrees]
        seconds = np.array([blocks.centre[i] for i in kept]) * 2 * blocks.ns / 1e9
        rates = described["messages"] / seconds
        value = float(np.median(rates)) if kept else None
        what, size, capacity = described["what"], described["bytes"], described["stream_capacity"]
        figures.streams[regime][what, size, str(capacity)] = value
        low, high = np.percentile(rates, [25, 75]) if kept else (None, None)
        rows.append(
            {
                "what": f"{what}, stream",
                "bytes": size,
                "capacity": capacity,
                "regime": regime,
                "messages_per_s": value,
                "low": None if low is None else float(low),
                "high": None if high is None else float(high),
                "blocks_kept": len(kept),
                "blocks_dropped": len(indices) - len(kept),
                "provenance": "measured",
            }
        )
    return rows


def peer_rows(measured: Sequence[dict[str, Any]], floor_name: str) -> list[dict[str, Any]]:
    """The rows of a peer's program, each block between floors of its own process."""
    blocks: dict[tuple[str, int, str], list[dict[str, Any]]] = {}
    for block in measured:
        regime = regime_of((block["floor_before_ns"] + block["floor_after_ns"]) / 2)
        blocks.setdefault((block["what"], block["bytes"], regime), []).append(block)
    rows = []
    for (what, size, regime), mine in sorted(blocks.items()):
        ratio = combine([Block(b["floor_before_ns"], b["central_ns"], b["floor_after_ns"]) for b in mine])
        rows.append(
            {
                "what": floor_name if what == "floor-spin-hint" else what,
                "bytes": size,
                "spin": "pause",
                "regime": regime,
                "ratio": ratio.value,
                "ratio_low": ratio.low,
                "ratio_high": ratio.high,
                # The median of blocks, not of all samples: the peer reports each block by itself.
                "median_ns": float(np.median([b["median_ns"] for b in mine])),
                "p99_ns": float(np.median([b["p99_ns"] for b in mine])),
                "p999_ns": float(np.median([b["p999_ns"] for b in mine])),
                "max_ns": max(b["max_ns"] for b in mine),
                "samples": sum(b["n"] for b in mine),
                "blocks_kept": ratio.kept,
                "blocks_dropped": ratio.dropped,
                "provenance": "measured",
            }
        )
    return rows


def latest_rows(raw: RawRun) -> list[dict[str, Any]]:
    """Reads of 1 KiB of the latest value: idle, and under a writer that never pauses."""
    ns = 1e9 / raw.manifest.clock.ticks_per_second
    rows = []
    for name, what in (("snapshot", "Snapshot"), ("seqlock", "seqlock"), ("double_buffer", "DoubleBuffer")):
        reads = {phase: raw.tables[f"{name}-{phase}"].rows for phase in ("idle", "flat")}
        for phase, table in reads.items():
            times = np.asarray(table["ticks"]) * ns
            counters = raw.manifest.counters
            row: dict[str, Any] = {
                "what": f"{what} read, writer {'flat out' if phase == 'flat' else 'idle'}",
                "key": f"{name}-{phase}",
                "bytes": 1024,
                "samples": int(times.size),
                "provenance": "measured",
            }
            if times.size:
                q = np.percentile(times, [50, 99, 99.9], method="inverted_cdf")
                row |= {
                    "median_ns": float(q[0]),
                    "p99_ns": float(q[1]),
                    "p999_ns": float(q[2]),
                    "max_ns": float(times.max()),
                }
            if phase == "flat":
                row |= {
                    k: int(counters[f"{name}_{k}"]) for k in ("torn", "backward", "max_retries", "updates")
                }
                row["p999_over_idle"] = tail_over_idle(reads["idle"], reads["flat"])
            rows.append(row)
    return rows


# A round with fewer reads has no percentile that far out.
LEAST_READS = 1000


def tail_over_idle(idle: NDArray[np.void], flat: NDArray[np.void]) -> float | None:
    """The median over rounds of the 99.9th percentile of reads beside a busy writer over that of idle ones.

    A round has both, one after the other: what the machine stops in one of them it does not stop in all.
    None: no round has enough of both.
    """
    ratios = []
    for number in np.intersect1d(idle["round"], flat["round"]):
        tails = [reads["ticks"][reads["round"] == number] for reads in (flat, idle)]
        if min(tail.size for tail in tails) >= LEAST_READS:
            busy, quiet = (np.percentile(tail, 99.9, method="inverted_cdf") for tail in tails)
            ratios.append(float(busy / quiet))
    return float(np.median(ratios)) if ratios else None
