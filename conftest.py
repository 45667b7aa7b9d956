# SPDX-License-Identifier: Apache-2.0
"""Settings of all Python tests: tiers, samples, tests of real time, and tests that hang (tests/README.md)."""

from __future__ import annotations

import faulthandler
import hashlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import costs
import pytest
import stacks
from by_files import pytest_xdist_make_scheduler  # noqa: F401
from effort import PATIENCE, REALTIME, THOROUGH, Time, examples, lock
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).parent
HERE = ROOT / "tests"

# One profile, named: what is tested of a commit is the same everywhere. `make test-slow` draws at random, and
# prints what reproduces a failure.
settings.register_profile(
    "consort",
    # The machine's speed does not decide what is right: neither an example nor its making is timed.
    deadline=None,
    max_examples=examples(100),
    suppress_health_check=[HealthCheck.too_slow],
    database=None,
    derandomize=not THOROUGH,
    print_blob=True,
)
settings.load_profile("consort")

# A shell starts background jobs with SIGINT ignored, `nohup` with SIGHUP, and an ignored signal stays so in
# every process that a test starts: what interrupts a run would then never reach it.
for number, default in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, default)

# Families whose tests compile, emulate or simulate hardware. Of these `make test` runs the tests marked
# `representative` and one of so many of the others; of the tests of real time, and of those that
# tests/costly.txt lists, one of TENTH; all others it runs.
TENTH = 10
HEAVY = {
    "remote-memory/tests/programs": 20,
    "remote-memory/tests/rtl": 40,
    "tests/board": 20,
    "tests/cross": 20,
    "tests/migrate": 20,
    "tests/python/bench": 40,
    "tests/python/experiments": 40,
    "tests/python/migrate": 20,
    "tests/python/machine/probe": 20,
    "tests/python/run": 20,
}
# A test hangs when it has run so long [s] and used no CPU time in the last third of it, or more than this in
# all: a machine that does much else makes neither true.
HANGS_S = PATIENCE
MOST_CPU_S = HANGS_S if not THOROUGH else float("inf")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--tier",
        choices=("check", "test", "rest", "slow"),
        default="slow",
        help="check: no heavy families; test: representatives and a sample of these; rest: of what `test`"
        " leaves out, each function once; slow: all tests",
    )


def is_realtime(item: pytest.Item) -> bool:
    return item.get_closest_marker("realtime") is not None


def is_alone_at_once(item: pytest.Item) -> bool:
    """A test of real time has the machine from its beginning, or (`when="run"`) in its runs alone."""
    marker = item.get_closest_marker("realtime")
    return marker is not None and marker.kwargs.get("when") != "run"


def one_of(item: pytest.Item) -> int:
    """How many tests of its kind there are for each that `make test` runs; 1 where it runs all of them."""
    file, test = costs.names(item.nodeid)
    family = next((number for folder, number in HEAVY.items() if file.startswith(f"{folder}/")), 1)
    rare = is_realtime(item) or not costs.COSTLY.isdisjoint((file, test))
    return max(family, TENTH if rare else 1)


def sampled(item: pytest.Item, number: str) -> bool:
    """Says whether a test belongs to the part of its family that `number` (of tests/sample) chooses.

    Tests that share a costly set-up are chosen together.
    """
    file, _ = costs.names(item.nodeid)
    name = file if file in costs.COSTLY else item.nodeid
    return int.from_bytes(hashlib.sha256(f"{number}:{name}".encode()).digest()[:4]) % one_of(item) == 0


def runs_in(tier: str, item: pytest.Item, number: str) -> bool:
    if tier == "slow":
        return True
    if item.get_closest_marker("slow") is not None:
        return False
    if tier == "check":
        return one_of(item) == 1 and item.path.is_relative_to(HERE / "python")
    return item.get_closest_marker("representative") is not None or sampled(item, number)


def rest(items: Iterable[pytest.Item], number: str) -> Iterator[pytest.Item]:
    """Each function of the tests that `make test` leaves out, with the first of its parameters left."""
    met: set[str] = set()
    for item in items:
        _, function = costs.names(item.nodeid)
        slow = item.get_closest_marker("slow") is not None
        if function not in met and not slow and not runs_in("test", item, number):
            met.add(function)
            yield item


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """One process after the other: the first compiles all tests, which takes most of the time, for all."""
    if not hasattr(session.config, "workerinput"):
        return (yield)
    held = lock("collecting.lock", exclusive=True)
    try:
        return (yield)
    finally:
        os.close(held)


# Before pytest selects by markers.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    tier = config.getoption("--tier")
    number = (HERE / "sample").read_text(encoding="ascii").strip()
    left = rest(items, number) if tier == "rest" else (i for i in items if runs_in(tier, i, number))
    chosen = dict.fromkeys(left)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    # Tests of real time come last: each waits until it is alone, and others are not held up by them.
    items[:] = sorted(chosen, key=is_realtime)
    for item in items:
        if is_realtime(item):
            item.add_marker(pytest.mark.flaky(reruns=2))


class Hang:
    """Ends a test that hangs: writes where every process of it stands, ends its children, and then itself."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.over = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def _cpu_s(self) -> float:
        own = stacks.process(os.getpid())
        return (own.cpu_s if own else 0.0) + sum(each.cpu_s for each in stacks.below(os.getpid()))

    def _watch(self) -> None:
        begun = time.monotonic()
        used = [self._cpu_s()]
        while not self.over.wait(HANGS_S / 3):
            if Time.waits:
                begun, used = time.monotonic(), [self._cpu_s()]
                continue
            used.append(self._cpu_s())
            took = time.monotonic() - begun
            stands = used[-1] - used[-2] < 1.0
            if took >= HANGS_S and (stands or used[-1] - used[0] > MOST_CPU_S):
                break
        else:
            return
        print(f"\n{self.name} hangs after {took:.0f} s:\n{stacks.all_standing(os.getpid())}", file=sys.stderr)
        faulthandler.dump_traceback(file=sys.__stderr__)
        for each in stacks.below(os.getpid()):
            try:
                os.kill(each.pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        if not self.over.wait(HANGS_S / 3):
            os._exit(70)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    Time.own, Time.alone = is_realtime(item), is_alone_at_once(item)
    Time.lock = held = lock(REALTIME, Time.alone)
    hang = Hang(item.nodeid)
    try:
        return (yield)
    finally:
        hang.over.set()
        os.close(held)


class Unsteady:
    """Tests of real time that passed only when they were run again."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.failed: set[str] = set()
        self.found: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.outcome == "rerun":
            self.failed.add(report.nodeid)
        elif report.when == "call" and report.passed and report.nodeid in self.failed:
            self.found.append(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("a", encoding="utf-8") as out:
            out.writelines(f"{name}\n" for name in self.found)


def pytest_configure(config: pytest.Config) -> None:
    # Only the process that collects the results of the processes that share the tests does this.
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Unsteady(ROOT / "build" / "tests" / "unsteady.txt"))
        # The runner's own run of all tests, and no other after it.
        if file := os.environ.get("CONSORT_COSTS"):
            config.pluginmanager.register(costs.Recorder(Path(file)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    tier = config.getoption("--tier")
    if tier == "test":
        number = (HERE / "sample").read_text(encoding="ascii").strip()
        terminalreporter.line(
            f"costly tests: representatives and sample {number} of tests/sample; the same again: "
            f".venv/bin/pytest --tier test"
        )
