# SPDX-License-Identifier: Apache-2.0
"""Functional coverage: named bins in groups, how often each was seen, and the share of them that was."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path


class Coverage:
    """Bins are declared before they are hit: a hit of an unknown one is an error, not a new bin."""

    def __init__(self) -> None:
        self.groups: dict[str, Counter[str]] = {}

    def group(self, name: str, bins: list[str]) -> None:
        """Declares the bins of a group."""
        self.groups[name] = Counter(dict.fromkeys(bins, 0))

    def hit(self, group: str, name: str, count: int = 1) -> None:
        """Counts something that happened."""
        if name not in self.groups[group]:
            raise KeyError(f"{name!r} is not a bin of {group!r}")
        self.groups[group][name] += count

    def merge(self, other: dict[str, dict[str, int]]) -> None:
        """Adds what another run has seen."""
        for group, bins in other.items():
            for name, count in bins.items():
                self.hit(group, name, count)

    def missed(self) -> list[str]:
        """Bins never hit."""
        return [f"{g}: {name}" for g, bins in self.groups.items() for name, n in bins.items() if n == 0]

    @property
    def closure(self) -> float:
        """The share of bins that were hit."""
        total = sum(len(bins) for bins in self.groups.values())
        return 1 - len(self.missed()) / total

    def table(self) -> str:
        """A line for each group, then what was missed."""
        lines = [f"{'group':<28} {'bins':>5} {'hit':>5} {'least':>7}"]
        for group, bins in self.groups.items():
            hit = sum(count > 0 for count in bins.values())
            lines.append(f"{group:<28} {len(bins):>5} {hit:>5} {min(bins.values()):>7}")
        total = sum(len(bins) for bins in self.groups.values())
        lines.append(f"{'all':<28} {total:>5} {total - len(self.missed()):>5}   {100 * self.closure:.1f} %")
        lines += [f"missed: {name}" for name in self.missed()]
        return "\n".join(lines)

    def store(self, path: Path) -> None:
        """The counts as JSON, and the table beside them."""
        path.write_text(json.dumps(self.groups, indent=1))
        path.with_suffix(".txt").write_text(self.table() + "\n")


BURSTS = ("fixed", "incr", "wrap")
SIZES = (1, 2, 4, 8, 16)
LENGTHS = ("single", "short", "long")  # 1, 2 to 16, 17 to 256 beats
KINDS = ("read", "write")
# Those of a frame monitor's counters that only one end has.
ONLY_CBLOCK = ("init_frames", "first_read", "first_write", "first_strobed", "alone", "with_few", "with_many")
ONLY_MBLOCK = (
    "init_ack_frames",
    *("one_part", "two_parts", "error_part", "ack_part", "one_ack", "more_acks", "errors_carried"),
)
BOTH = ("data_frames", "ack_frames", "nak_frames", "no_units", "few_units", "full_units", "replays")
BOTH += ("replays_begun_anew", "cut_short", "phy_waits", "ups", "downs")
FRAME_COUNTERS = {"cblock": ONLY_CBLOCK + BOTH, "mblock": ONLY_MBLOCK + BOTH + ("rx_waits",)}
EVENTS = (
    "attach",
    "detach",
    "move to another segment",
    "rights taken",
    "rights given",
    "segment closed behind the window",
    "segment given another generation",
    "link cut",
    "link restored",
    "link switched off at the cblock",
    "link switched off at the mblock",
    "link switched on",
)


def length_class(beats: int) -> str:
    """The one of LENGTHS."""
    return "single" if beats == 1 else "short" if beats <= 16 else "long"


def model() -> Coverage:
    """All bins that count for closure. remote-memory/docs/hardware-verification.md names what is left out."""
    coverage = Coverage()
    shapes = [
        f"{kind} {burst} {size} B {length}"
        for kind in KINDS
        for burst in BURSTS
        for size in SIZES
        for length in LENGTHS
        # AXI4: fixed and wrapped bursts have up to 16 beats, wrapped ones at least two.
        if not (burst != "incr" and length == "long") and not (burst == "wrap" and length == "single")
    ]
    coverage.group("kind x burst x size x length", shapes)
    coverage.group(
        "start",
        [
            f"{kind} {burst} {start}"
            for kind in KINDS
            for burst in BURSTS
            for start in ("at a beat", "inside a beat")
            if not (burst == "wrap" and start == "inside a beat")
        ],
    )
    coverage.group(
        "4 KiB",
        [
            f"{kind} {where}"
            for kind in KINDS
            for where in (
                "begins a page",
                "ends a page",
                "fills a page",
                "one beat short of the end",
                "within",
            )
        ],
    )
    coverage.group("strobes", [f"{burst} {which}" for burst in BURSTS for which in ("all", "some", "none")])
    coverage.group(
        "ids",
        [f"{kind} {use}" for kind in KINDS for use in ("none outstanding", "the same outstanding", "others")],
    )
    coverage.group(
        "answer",
        [
            f"{kind} {answer}"
            for kind in KINDS
            for answer in (
                "okay",
                "unmapped",
                "forbidden",
                "memory error",
                "refused by the mblock",
                "link down",
            )
        ],
    )
    coverage.group("beats of one read", ["all good", "all bad", "both"])
    coverage.group(
        "outstanding", [f"{kind} {n}" for kind in KINDS for n in ("1", "2 to 7", "8 to 31", "32 or more")]
    )
    channels = [f"{side} {channel}" for side in ("port", "memory") for channel in ("AW", "W", "B", "AR", "R")]
    coverage.group(
        "back-pressure", [f"{channel} {level}" for channel in channels for level in ("none", "half", "most")]
    )
    coverage.group("PHY", ["clean", "flips", "bursts of flips", "drops", "repeats", "slow", "all of them"])
    coverage.group(
        "reconfiguration", [f"{event}{with_}" for event in EVENTS for with_ in ("", " under traffic")]
    )
    for end, counters in FRAME_COUNTERS.items():
        coverage.group(f"frames of the {end}", list(counters))
    coverage.group("credits", ["not enough"])
    return coverage
