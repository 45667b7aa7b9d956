# SPDX-License-Identifier: Apache-2.0
"""Models of APP4MC 0.7.0 to 0.9.2 brought to the form that the importer reads, one release after another."""

from __future__ import annotations

from collections.abc import Callable

from consort.exchange.amalthea.migration import v071, v072, v080, v081, v083, v090, v093
from consort.exchange.report import Report
from consort.exchange.xmltree import Element

Release = tuple[int, int, int]
Step = Callable[[Element, Report], None]
# The release that a step leads to, from the one before. Releases without one changed nothing that is read.
STEPS: tuple[tuple[Release, Step], ...] = (
    ((0, 7, 1), v071.migrate),
    ((0, 7, 2), v072.migrate),
    ((0, 8, 0), v080.migrate),
    ((0, 8, 1), v081.migrate),
    ((0, 8, 3), v083.migrate),
    ((0, 9, 0), v090.migrate),
    ((0, 9, 3), v093.migrate),
)


def migrate(root: Element, release: Release, report: Report) -> bool:
    """The model in place, by all steps to releases later than its own; whether there were any."""
    steps = [(later, step) for later, step in STEPS if later > release]
    for _, step in steps:
        step(root, report)
    return bool(steps)
