# SPDX-License-Identifier: Apache-2.0
"""Percentiles of a metric over all its samples, and the histogram that the plots are drawn from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hdrh.histogram import HdrHistogram
from numpy.typing import NDArray

from consort.record.provenance import checked

# Names as they stand in run.json, and the quantile that each one is; in ten-thousandths, so that the rank of
# a quantile is found in whole numbers.
_PARTS = {"median": 5_000, "p99": 9_900, "p999": 9_990, "p9999": 9_999}
QUANTILES: dict[str, float] = {name: part / 10_000 for name, part in _PARTS.items()}
SIGNIFICANT_FIGURES = 3

Number = int | float


@dataclass(frozen=True)
class Summary:
    """Order statistics of all samples of one metric.

    The percentiles are exact: each is a value that was recorded (the nearest rank), never an interpolation
    and never a bucket's edge. Infinite samples (releases that were not served) count like all others: a
    statistic that is infinite is None, and `unserved` says how many of the `n` samples are.
    """

    n: int
    min: Number | None
    mean: float | None
    median: Number | None
    p99: Number | None
    p999: Number | None
    p9999: Number | None
    max: Number | None
    unit: str
    provenance: str
    unserved: int = 0

    def as_dict(self) -> dict[str, Any]:
        return dict(vars(self))


def summarise(values: NDArray[Any], unit: str, provenance: str) -> Summary | None:
    """The summary of all values, or None where there are none (a summary of nothing has no minimum)."""
    checked(provenance, field="provenance")
    if values.size == 0:
        return None
    ordered = np.sort(values)
    n = int(ordered.size)
    infinite = int(np.count_nonzero(np.isinf(ordered))) if ordered.dtype.kind == "f" else 0
    ranks = {name: -(-n * part // 10_000) for name, part in _PARTS.items()}
    points = {name: _finite(ordered[rank - 1]) for name, rank in ranks.items()}
    return Summary(
        n=n,
        min=_finite(ordered[0]),
        mean=None if infinite else float(ordered.mean()),
        max=_finite(ordered[-1]),
        unit=unit,
        provenance=provenance,
        unserved=infinite,
        **points,
    )


def _finite(value: Any) -> Number | None:
    """A sample as a plain number, whole where it is; None where it is infinite."""
    if np.isinf(value):
        return None
    plain: Number = value.item()
    return int(plain) if isinstance(plain, float) and plain.is_integer() else plain


def histogram(values: NDArray[np.int64], unserved: int = 0) -> dict[str, Any] | None:
    """An HdrHistogram of the values in its standard encoding, which other HdrHistogram tools can read.

    HdrHistogram has no place for negative values: they are counted in the bucket of 0, and ``negative``
    says how many there were. ``unserved`` samples are infinite and in no bucket.
    """
    if values.size == 0:
        return None
    negative = int(np.count_nonzero(values < 0))
    clipped = np.maximum(values, 0)
    hdr = HdrHistogram(1, max(2, int(clipped.max())), SIGNIFICANT_FIGURES)
    buckets, counts = np.unique(_bucket_floor(clipped), return_counts=True)
    for value, count in zip(buckets.tolist(), counts.tolist(), strict=True):
        hdr.record_value(value, count)
    return {
        "format": "HdrHistogram V2, compressed, base64",
        "significant_figures": SIGNIFICANT_FIGURES,
        "negative": negative,
        "unserved": unserved,
        "encoded": hdr.encode().decode("ascii"),
    }


def buckets_of(stored: dict[str, Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The upper edge and the count of each recorded bucket of a stored histogram."""
    hdr = HdrHistogram.decode(stored["encoded"])
    edges: list[int] = []
    counts: list[int] = []
    for item in hdr.get_recorded_iterator():
        edges.append(item.value_iterated_to)
        counts.append(item.count_added_in_this_iter_step)
    return np.array(edges, dtype=np.int64), np.array(counts, dtype=np.int64)


def _bucket_floor(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """The smallest value of the HdrHistogram bucket that each value falls into.

    Three significant figures need 2048 sub-buckets, so a bucket keeps a value's 11 leading bits. Doing
    this for the whole column first lets the histogram be fed once a bucket instead of once a sample.
    """
    # frexp's exponent is the bit length; float64 is exact below 2**53 ns, far above any sample.
    bits = np.frexp(values.astype(np.float64))[1]
    shift = np.maximum(bits - 11, 0).astype(np.int64)
    floor: NDArray[np.int64] = (values >> shift) << shift
    return floor
