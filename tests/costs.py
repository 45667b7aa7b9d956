# SPDX-License-Identifier: Apache-2.0
"""Which tests are costly: tests/costly.txt lists them, as the last `make test-slow` found them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

LIST = Path(__file__).with_name("costly.txt")
# A test is costly that takes as long [s]. Where its set-up does, all tests of its file are: they share it.
COSTLY_S = 1.0
COSTLY = frozenset(LIST.read_text(encoding="utf-8").splitlines())


def found(tier: str) -> Path:
    """Where tools/run_tests.py keeps how long the tests of a tier took."""
    return LIST.parents[1] / "build" / "tests" / f"costs-{tier}.json"


def names(nodeid: str) -> tuple[str, str]:
    """The file of a test, and the test without its parameters."""
    return nodeid.partition("::")[0], nodeid.partition("[")[0]


class Recorder:
    """Keeps in a file how long [s] the set-up and the call of each test took."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.took: dict[str, dict[str, float]] = defaultdict(dict)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when in ("setup", "call"):
            self.took[report.nodeid][report.when] = report.duration

    def pytest_sessionfinish(self) -> None:
        self.file.write_text(json.dumps(self.took), encoding="utf-8")


def costly(took: Mapping[str, Mapping[str, float]]) -> list[str]:
    """What the list has to name: a file whose set-up is costly, a test whose calls are on average."""
    files = {names(test)[0] for test, times in took.items() if times.get("setup", 0.0) >= COSTLY_S}
    calls: dict[str, list[float]] = defaultdict(list)
    for test, times in took.items():
        file, function = names(test)
        if file not in files:
            calls[function].append(times.get("call", 0.0))
    tests = {test for test, each in calls.items() if sum(each) >= COSTLY_S * len(each)}
    return sorted(files | tests)


def write(file: Path) -> None:
    """Lists what is costly of the tests whose times are in the file."""
    listed = costly(json.loads(file.read_text(encoding="utf-8")))
    LIST.write_text("".join(f"{name}\n" for name in listed), encoding="utf-8")
