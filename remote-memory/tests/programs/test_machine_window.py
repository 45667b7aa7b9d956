# SPDX-License-Identifier: Apache-2.0
"""A guest's memory behind the simulated blocks: what its programs load and store goes through them."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from consort_remote import window
from consort_remote.qmp import Monitor, Refused
from effort import PATIENCE
from machine_guest import Guest, started

# Its simulation takes minutes to build.
pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
MIB = 128  # a memory block of the guest's
PAGES = 2
WORDS = PAGES * 512


def remote(*words: str) -> str:
    command = [sys.executable, "-m", "consort.cli", "remote", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def counted() -> dict[str, int]:
    """Reads and writes that the window's counters in the cBlock say."""
    hardware = window.running()
    assert hardware is not None
    (found,) = [each for each in hardware.listing()["windows"] if each["name"] == "far"]
    return {what: found[what] for what in ("reads", "writes")}


class Far(Guest):
    """One with a window of the hardware as memory that can be plugged in: a device of QEMU's."""

    def __init__(self, folder: Path) -> None:
        library = folder / "window_memory.so"
        command = ["g++", "-std=c++20", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
        command += [f"-I{ROOT / 'include'}", f"-I{ROOT.parent / 'include'}"]
        command += [f"-I{ROOT.parent / 'ports' / 'linux' / 'include'}"]
        command += [str(ROOT / "examples" / "machine" / "window_memory.cpp"), "-lZydis", "-o", str(library)]
        subprocess.run(command, check=True)
        self.file = folder / "far"
        self.file.touch()
        super().__init__(folder, {"LD_PRELOAD": str(library), "CONSORT_WINDOW": f"far:{self.file}"})

    def plug(self) -> None:
        """Until the guest has the memory."""
        backend = {"qom-type": "memory-backend-file", "id": "far-memory", "mem-path": str(self.file)}
        with Monitor(self.monitor) as monitor:
            monitor.ask("object-add", backend | {"size": MIB << 20, "share": True})
            monitor.ask("device_add", {"driver": "pc-dimm", "id": "far", "memdev": "far-memory", "node": 1})
        deadline = time.monotonic() + PATIENCE
        while self.movable() != MIB << 8:
            assert time.monotonic() < deadline, self.log[-60:]
            time.sleep(0.1)

    def unplug(self) -> None:
        """Until the guest has moved what lay there, and the device is gone."""
        deadline = time.monotonic() + PATIENCE
        with Monitor(self.monitor) as monitor:
            monitor.ask("device_del", {"id": "far"})
            event = None
            while event is None or event["event"] != "DEVICE_DELETED":
                event = monitor.event(deadline)
                assert event is not None and "ERROR" not in event["event"], event
            while True:
                # A device that is deleted lets go of its memory a little later.
                try:
                    monitor.ask("object-del", {"id": "far-memory"})
                    return
                except Refused:
                    assert time.monotonic() < deadline
                    time.sleep(0.1)

    def hold(self) -> None:
        """A program has its pages there, written, and waits."""
        self.does(f"rm -f /tmp/go; tool hold 1 {PAGES * 4}K plain /tmp/go > /tmp/held & sleep 1")
        self.does("until grep ready /tmp/held; do sleep 1; done")

    def held(self) -> str:
        """The program's words, when it has read its pages and found them right."""
        return self.does("touch /tmp/go; wait $! && cat /tmp/held")


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Far]:
    # A socket's path is short.
    runtime = tempfile.mkdtemp(prefix="consort-window-", dir="/tmp")
    monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
    made = None
    try:
        remote("attach", "far", "--size", f"{MIB}MiB")
        # So that the hardware stays when the other window goes.
        remote("attach", "near", "--size", "64KiB", "--address", "0x500000000", "--offset", str(MIB << 20))
        made = started(lambda: Far(tmp_path_factory.mktemp("m")))
        yield made
    finally:
        if made is not None:
            made.end()
        hardware = window.running()
        if hardware is not None:
            hardware.ask("stop")
        shutil.rmtree(runtime)


def test_loads_and_stores_of_a_guest_go_through_the_blocks(machine: Far) -> None:
    machine.plug()
    before = counted()
    machine.hold()
    # The guest's kernel zeroed the pages, the program wrote them.
    written = counted()
    assert written["writes"] - before["writes"] >= 2 * WORDS
    assert f"then {PAGES} pages on node 1" in machine.held()
    assert counted()["reads"] - written["reads"] >= WORDS

    # Unplugged while a program has its pages there: they are moved, through the blocks, and right.
    machine.hold()
    before = counted()
    machine.unplug()
    assert counted()["reads"] - before["reads"] >= WORDS
    moved = counted()
    assert "then 0 pages on node 1" in machine.held() and counted() == moved
    assert machine.movable() == 0

    # The window goes while a program has its pages there: its next load ends the machine, as an error of the
    # bus would.
    machine.plug()
    machine.hold()
    assert "far" in remote("detach", "far")
    with pytest.raises((AssertionError, BrokenPipeError)):
        machine.held()
    assert machine.process.wait(PATIENCE) == -signal.SIGBUS
    assert any("a load was answered decerr" in line for line in machine.log), machine.log[-10:]
