# SPDX-License-Identifier: Apache-2.0
"""Stops of a core that does nothing else: a measured run cannot show times within their length.

A host takes a processor from a guest without a trace, and an interrupt of firmware leaves none either. A
thread that only looks at the clock sees both, as osnoise does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

# A number of stops that comes by chance once in a thousand runs of this rate explains nothing.
_CHANCE = 1e-3


@dataclass(frozen=True)
class Stops:
    """The stops that were seen on the CPUs of a run, longest first [ns], in `seconds` of each of them."""

    seconds: float
    cpus: tuple[int, ...]
    lengths_ns: NDArray[np.float64]
    threshold_ns: float
    count: int
    """All that lasted `threshold_ns` or more; only the longest have a length here."""
    seen_ns: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    """Those that the run itself saw while its cores waited, in `seen_for_ns` of all of them together."""
    seen_for_ns: float = 0.0

    @property
    def longest_ns(self) -> float:
        return float(max(self.lengths_ns.max(initial=0.0), self.seen_ns.max(initial=0.0)))

    @property
    def per_second(self) -> float:
        """Stops of one core a second."""
        return self.count / (self.seconds * len(self.cpus))

    def explain(self, excess_ns: NDArray[np.float64], exposed_ns: float) -> bool:
        """Says whether such stops may have made jobs longer by these excesses.

        None is longer than the longest stop, and there are no more of them than stops of that length come
        in `exposed_ns`, the time that such jobs were under way, but for once in a thousand times. A job that
        failed and took no longer than it may was not stopped.
        """
        if not excess_ns.size:
            return False
        least = float(excess_ns.min())
        if least <= 0 or float(excess_ns.max()) > self.longest_ns:
            return False
        listed = self.lengths_ns.size and least > self.lengths_ns[-1]
        as_long = int(np.sum(self.lengths_ns >= least)) if listed else self.count
        # The stops of a short watch are a sample, too: one more may have come.
        rate = (as_long + 1) / (self.seconds * len(self.cpus) * 1e9)
        if self.seen_for_ns:
            rate += int(np.sum(self.seen_ns >= least)) / self.seen_for_ns
        return _at_least(excess_ns.size, rate * exposed_ns) > _CHANCE

    def as_data(self) -> dict[str, Any]:
        return {
            "seconds": self.seconds,
            "cpus": list(self.cpus),
            "count": self.count,
            "per_second": self.per_second,
            "threshold_ns": self.threshold_ns,
            "longest_ns": self.longest_ns,
        }


def _at_least(count: int, mean: float) -> float:
    """The probability of `count` events or more where `mean` are expected (Poisson).

    Computed here because SciPy is in an extra: a run on Linux is judged without it.
    """
    if mean <= 0:
        return float(count <= 0)
    fewer = (math.exp(k * math.log(mean) - mean - math.lgamma(k + 1)) for k in range(count))
    return max(0.0, 1.0 - math.fsum(fewer))


def stops_of(reports: Mapping[int, Mapping[str, Any]]) -> Stops | None:
    """The series `busy` of consort-probe, by CPU; None where a CPU could not be watched."""
    if not reports or any("refused" in report for report in reports.values()):
        return None
    # Those that the kernel makes itself leave a trace, in a run as well.
    untraced = [report["interrupted"] for report in reports.values()]
    lengths = np.concatenate([np.asarray(one["lengths"], dtype=np.float64) for one in untraced])
    return Stops(
        seconds=min(report["lasted"] for report in reports.values()) / 1e12,
        cpus=tuple(sorted(reports)),
        lengths_ns=np.sort(lengths)[::-1] / 1000,
        threshold_ns=float(max(report["threshold_ns"] for report in reports.values())),
        count=sum(one["n"] for one in untraced),
    )
