# SPDX-License-Identifier: Apache-2.0
"""Processes beside a board that live in its time: what a run records depends on the description alone."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from board_support import ROOT, board
from board_support import recorded_and_judged as ran
from consort.base.errors import BadInput, SystemFails
from consort.base.waiting import silent
from consort.board import session
from consort.board.application import prepare_board
from consort.board.control_block import NEVER, STOP_BYTES, Token
from consort.board.image import build_image
from consort.board.placement import placement
from consort.board.programs import SYNCHRONIZER, TEMPLATES
from consort.model import load_system
from consort.record import RawRun
from consort.record.ran import OPERATIONS
from consort.run.options import Options
from effort import PATIENCE
from test_channels_on_boards import NOT_PREEMPTIVE, PREEMPTIVE, check, column, let_system, system
from test_servo_on_boards import description as servo
from test_servo_on_boards import raw, wrong
from test_stand_ins_on_boards import EXECUTION, JOBS, drawn
from test_stand_ins_on_boards import described as stand_ins

sys.path.append(str(ROOT / "tests/python/run"))
from let_support import GRAPH, in_logical_order

TABLES = ("jobs", "operations")
_TIME = struct.Struct("<Q")


def same(first: RawRun, second: RawRun) -> None:
    """Byte for byte: every table, and what the manifest says."""
    names = sorted(file.name for file in first.path.glob("*.bin"))
    assert names and names == sorted(file.name for file in second.path.glob("*.bin"))
    for name in (*names, "manifest.json"):
        assert (first.path / name).read_bytes() == (second.path / name).read_bytes(), name


@contextmanager
def disturbed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Drawn delays where the token is handed on, and processes beside the board stopped now and then."""
    chance = random.Random(62)
    over = threading.Event()
    stopping: list[threading.Thread] = []

    def delay() -> None:
        if chance.random() < 0.05:
            time.sleep(chance.random() * 2e-3)

    class Delayed(Token):
        def __init__(self, folder: Path, now: Callable[[], int]) -> None:
            super().__init__(folder, now, delay)

    def stop(process: subprocess.Popen[bytes]) -> None:
        while not over.wait(chance.random() * 0.1):
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGSTOP)
                over.wait(chance.random() * 5e-3)
                os.kill(process.pid, signal.SIGCONT)

    starts = session.Board.start_process

    def start(self: session.Board, *arguments: Any) -> subprocess.Popen[bytes]:
        process = starts(self, *arguments)
        stopping.append(threading.Thread(target=stop, args=(process,)))
        stopping[-1].start()
        return process

    with monkeypatch.context() as patch:
        patch.setattr(session, "Token", Delayed)
        patch.setattr(session.Board, "start_process", start)
        try:
            yield
        finally:
            over.set()
            for thread in stopping:
                thread.join()


def test_offloaded_jobs_repeat_to_the_tick_whatever_delays_the_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = load_system(servo(tmp_path, "embedded-plus"))
    made = prepare_board(system, silent, Options(target="board", must_count=True))
    first = raw(made, tmp_path / "first", 20, counted=True)
    with disturbed(monkeypatch):
        again = raw(made, tmp_path / "again", 20, counted=True)
    same(first, again)
    jobs = first.tables["jobs"].rows
    assert wrong(made, first) == 0 and not jobs["status"].any()
    assert first.manifest.clock.provenance == "counted"
    # Its worker took the declared 2 us for each, and the answer came no sooner.
    assert set(jobs["compute"]) == {2000} and (jobs["received"] - jobs["sent"] >= 2000).all()


@pytest.mark.slow
def test_who_suspends_the_emulator_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its call that stops the board ends then, which takes instructions that no other run has."""
    system = load_system(servo(tmp_path, "embedded-plus"))
    made = prepare_board(system, silent, Options(target="board", must_count=True))
    hand_overs = iter(range(10**9))
    machines: list[int] = []
    starts = session.Board.start_process

    def suspend() -> None:
        if next(hand_overs) == 100:
            os.kill(machines[0], signal.SIGSTOP)
            threads = list(Path(f"/proc/{machines[0]}/task").iterdir())
            while any("State:\tT" not in (one / "status").read_text() for one in threads):
                time.sleep(0.01)
            os.kill(machines[0], signal.SIGCONT)

    def start(self: session.Board, *arguments: Any) -> subprocess.Popen[bytes]:
        assert self.machine is not None
        machines.append(self.machine.pid)
        return starts(self, *arguments)

    monkeypatch.setattr(session.Board, "start_process", start)
    monkeypatch.setattr(session, "Token", lambda folder, now: Token(folder, now, suspend))
    with pytest.raises(SystemFails, match="the emulator got a signal while it stood still"):
        raw(made, tmp_path / "raw", 5, counted=True)


def described(file: Path, wcet: str = "20us", **changes: Any) -> Path:
    """The same with execution times, as steps on processes need them."""
    data = json.loads(file.read_text(encoding="utf-8"))
    for task in data["tasks"].values():
        task["wcet"] = wcet
        task.pop("bcet", None)
    data |= changes
    file.write_text(json.dumps(data), encoding="utf-8")
    return file


# A reader takes what was written half a period before; an input that is missed waits for the next.
CHAINS = {"through": {"path": ["source", "reader"], "age": "1ms", "reaction": "2ms"}}


@pytest.mark.slow
@pytest.mark.parametrize("cores", [("x86-0", "r5f-0", "a72-0"), ("a72-0", "x86-0", "x86-1")])
def test_each_kind_of_channel_between_a_board_and_processes(
    tmp_path: Path, cores: tuple[str, str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = system(tmp_path / "beside", "embedded-plus", cores, policy=NOT_PREEMPTIVE)
    described(file, chains=CHAINS)
    first, verdict = ran(file, tmp_path / "raw", "versal", 40)
    check(first, verdict)
    with disturbed(monkeypatch):
        again, _ = ran(file, tmp_path / "again", "versal", 40)
    same(first, again)


@pytest.mark.parametrize(
    ("platform", "name", "cores", "policy"),
    [
        pytest.param("stm32mp157", "mps2", ("m4-0", "a7-0"), PREEMPTIVE, marks=pytest.mark.slow),
        pytest.param("embedded-plus", "versal", ("x86-0", "r5f-0"), NOT_PREEMPTIVE, marks=pytest.mark.slow),
    ],
)
def test_logical_execution_time_beside_a_board_gives_what_virtual_time_gives(
    tmp_path: Path, platform: str, name: str, cores: tuple[str, ...], policy: str
) -> None:
    file = described(let_system(tmp_path / "let", platform, cores, policy, "let"), "200us")
    record, verdict = ran(file, tmp_path / "raw", name, 24)
    assert verdict.ok, verdict.reasons
    found = {task: column(record, number, "value") for number, task in enumerate(GRAPH)}
    assert found == in_logical_order(GRAPH, 96_000)
    assert record.manifest.clock.provenance == "counted"


@pytest.mark.slow
def test_a_more_urgent_job_of_a_process_preempts(tmp_path: Path) -> None:
    step = f"{ROOT}/tests/board/tasks/step.hpp"
    tasks = {
        "fast": {"step": f"{step}::fast::step", "period": "1ms", "wcet": "100us", "on": "a7-0"},
        "middle": {"step": f"{step}::middle::step", "period": "5ms", "wcet": "2500us", "on": "a7-0"},
        "mine": {"step": f"{step}::fast::step", "period": "1ms", "on": "m4-0"},
    }
    data = {"consort": 1, "platform": "stm32mp157", "tasks": tasks, "run": {"iterations": 10}}
    file = tmp_path / "system.yaml"
    file.write_text(json.dumps(data), encoding="utf-8")
    record, verdict = ran(file, tmp_path / "raw", "mps2", 10)
    assert verdict.ok, verdict.reasons
    jobs = record.tables["jobs"].rows
    middle = jobs[jobs["task"] == 1]
    # Its own time and that of the two jobs on top of it, but for how exactly the board stops.
    took = middle["finish"] - middle["start"]
    assert len(middle) == 2 and ((took >= 2_700_000) & (took < 2_750_000)).all()
    assert record.manifest.counters["preemptions"] == 4


def test_stand_ins_of_processes_take_the_time_that_is_drawn(tmp_path: Path) -> None:
    file = stand_ins(tmp_path, "stm32mp157", {"fast": "m4-0", "slow": "a7-0", "third": "a7-1"})
    record, verdict = ran(file, tmp_path / "raw", "mps2", JOBS, stand_ins=True)
    assert verdict.ok, verdict.reasons
    # Every block came whole; at the first instant none of `stream` was there, then one a job is taken.
    moved = record.tables["operations"].rows
    assert {OPERATIONS[kind] for kind in np.unique(moved["kind"])} == {"write", "read"}
    taken = moved[(moved["channel"] == 0) & (moved["kind"] == OPERATIONS.index("read"))]["count"]
    assert taken.tolist() == [0, *[1] * (JOBS // 5 - 1)]
    jobs = np.sort(record.tables["jobs"].rows, order="seq")
    slow = jobs[jobs["task"] == 1]["compute"].tolist()
    assert slow == [drawn(1, job, EXECUTION, 1_000_000, 1_500_000) for job in range(JOBS // 5)]
    assert set(jobs[jobs["task"] == 2]["compute"]) == {300_000}


def test_what_cannot_be_in_one_time_is_refused(tmp_path: Path) -> None:
    board("mps2")
    file = system(tmp_path / "s", "stm32mp157", ("m4-0", "a7-0", "m4-0"))
    with pytest.raises(BadInput, match=r"tasks\.reader\.wcet: 'a7-0' is a process in the board's time"):
        placement(load_system(file))
    data = json.loads(file.read_text(encoding="utf-8"))
    data["tasks"]["reader"]["wcet"] = "20us"
    file.write_text(json.dumps(data), encoding="utf-8")
    found = placement(load_system(file))
    assert found.synchronized and found.counted and not found.on_board


@pytest.mark.parametrize(
    "name",
    [
        "versal",
        "mps2",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("zynqmp", "vexpress-r5f", "riscv-virt", "riscv-virt32")
        ),
    ],
)
def test_a_board_stops_at_the_horizon(tmp_path: Path, name: str) -> None:
    """Each port's, by its own timer and its own instruction set's call; the same in each run."""
    spec = board(name)
    assert spec.synchronizer is not None
    source = tmp_path / "synchronizer.cpp"
    source.write_text(TEMPLATES.render(SYNCHRONIZER), encoding="utf-8")
    images = {spec.synchronizer.name: build_image(spec.synchronizer, source)}
    found = []
    for _ in range(2):
        with session.Board(
            spec, images, orders={spec.synchronizer.place: (1, ())}, counted=True, synchronized=True
        ) as up:
            assert up.token is not None
            with up.token.join(8) as end:
                up.token.start()
                stops = [_handed_over(end, 0)]
                for ns in (1_000, 10_000, 100_000, 3_000_000):
                    stops.append(_handed_over(end, stops[-1] + ns))
                    # An interrupt later, and its handler's instructions.
                    assert 0 <= stops[-1] - stops[-2] - ns < 2_000
        found.append(stops)
    assert found[0] == found[1]


def _handed_over(end: socket.socket, until: int) -> int:
    """The instant at which the token comes back."""
    end.settimeout(PATIENCE)
    end.sendall(_TIME.pack(until))
    return int(_TIME.unpack(end.recv(_TIME.size))[0])


def test_the_earliest_goes_first_and_none_before_its_time(tmp_path: Path) -> None:
    """Without a board: what a process sees is never of a later time, nor hidden from an earlier one."""
    now = 50
    token = Token(tmp_path, lambda: now)
    wants = {8: iter([0, 300, 700, NEVER]), 9: iter([0, 300, 400, NEVER])}
    seen: list[tuple[int, int]] = []

    def process(place: int, end: socket.socket) -> None:
        for until in wants[place]:
            end.sendall(_TIME.pack(until))
            if until == NEVER:
                return
            seen.append((place, _TIME.unpack(end.recv(8))[0]))

    threads = [threading.Thread(target=process, args=(place, token.join(place))) for place in wants]
    for thread in threads:
        thread.start()
    stop, horizons = (os.open(tmp_path / name, os.O_RDWR) for name in ("stop", "horizon"))
    token.start()
    stopped: list[int] = []
    while len(stopped) < 4:
        # Goes on when all have done what they do at this instant.
        assert os.write(stop, bytes(STOP_BYTES)) == STOP_BYTES
        stopped.append(_TIME.unpack(os.read(horizons, 8))[0])
        # Ten late at each stop.
        now = stopped[-1] + 10
    for thread in threads:
        thread.join()
    token.close()
    assert seen == [(8, 50), (9, 50), (8, 310), (9, 310), (9, 410), (8, 710)]
    assert stopped[:3] == [300, 400, 700]
    for file in (stop, horizons):
        os.close(file)
