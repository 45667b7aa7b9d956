# SPDX-License-Identifier: Apache-2.0
"""Progress of long operations, and the bar that shows it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# Called with what is being done, and how much of it (0 to 1; None: not known).
Progress = Callable[[str, float | None], None]
# A bar that is gone at once only flickers.
BAR_AFTER_S = 2.0


def silent(_what: str, _share: float | None) -> None:
    """The progress of an operation that nobody watches."""


@contextmanager
def progress_bar(quiet: bool, *, after: float = BAR_AFTER_S) -> Iterator[Progress]:
    """A bar on a terminal, once `after` seconds have gone by; `silent` elsewhere, and where `quiet`."""
    if quiet or not sys.stderr.isatty():
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    bar = Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    row = bar.add_task("", total=None)
    began = time.monotonic()

    def show(what: str, share: float | None) -> None:
        if not bar.live.is_started and time.monotonic() - began >= after:
            bar.start()
        bar.update(row, description=what, total=None if share is None else 1.0, completed=share or 0.0)

    try:
        yield show
    finally:
        bar.stop()
