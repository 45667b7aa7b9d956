# SPDX-License-Identifier: Apache-2.0
"""A bare core as a remote of Linux's own rpmsg on the emulated Versal: it is first, and both restart."""

from __future__ import annotations

import json
import mmap
import os
import re
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest
from board_support import ROOT, board_with_linux
from consort.base.errors import EnvironmentLacks
from consort.board import rtlinux
from consort.board.control_block import BYTES, ControlBlock
from consort.board.description import BoardSpec
from consort.board.image import build_image
from effort import PATIENCE
from rpmsg_linux import fetched, first_files

pytestmark = pytest.mark.slow
HERE = Path(__file__).parent
# The image of this core begins at the high vectors; the low ones are where QEMU's Linux begins.
CORE, RELEASED = "r5f-1", 0x16
WINDOW, KEPT, KEPT_BYTES = 0x1000000, 0x1200000, 4096


class Box:
    """The board; the remote is released before any other processor runs."""

    def __init__(self, spec: BoardSpec, script: str, rounds: int, folder: Path) -> None:
        assert spec.linux is not None
        self.spec, self.folder, self.said = spec, folder, list[str]()
        self.image = build_image(spec.core(CORE), ROOT / "examples/rpmsg/remote.cpp")
        program = rtlinux.static_program(spec, [ROOT / "examples/rpmsg/linux.cpp"], "rpmsg-linux")
        initrd = first_files(spec.linux, program, HERE / script, folder)
        window = spec.window.address + WINDOW
        reset = spec.registers[spec.linux.release_register]
        # A host that leaves the emulator without time makes the kernel's watchdogs bark.
        words = f"console={spec.linux.console} panic=-1 quiet nowatchdog rcupdate.rcu_cpu_stall_suppress=1"
        words += f" rdinit=/init test.rounds={rounds}"
        words += f" test.window={window:#x} test.kept={spec.window.address + KEPT + KEPT_BYTES:#x}"
        words += f" test.reset={reset:#x}"
        tree = rtlinux._device_tree(spec, folder)
        boot = rtlinux.LinuxBoot(fetched(spec.linux) / "vmlinuz", initrd, tree, words)
        file = os.open(folder / "memory", os.O_RDWR | os.O_CREAT)
        os.ftruncate(file, spec.memory_bytes)
        self.memory = mmap.mmap(file, spec.memory_bytes)
        os.close(file)
        core = spec.core(CORE)
        self.block = ControlBlock(self.memory, spec.window_offset + core.place * BYTES)
        self.block.order(1, [WINDOW, window, KEPT, 0x5001])
        sockets = [f"unix:{folder / name},server=on,wait=off" for name in ("qmp", "qtest")]
        line = rtlinux.command_line(
            rtlinux.find(spec.emulator),
            spec,
            folder / "memory",
            {},
            {each.name: folder / f"{each.name}.log" for each in spec.cores},
            folder / "gdb",
            counted=False,
            threads=True,
            serial={"a72": "stdio"},
            linux=boot.options(),
            lines=[
                *("-global", "cortex-r5f-arm-cpu.reset-hivecs=on", "-device", f"loader,file={self.image}"),
                *("-no-reboot", "-S", "-qmp", sockets[0], "-qtest", sockets[1], "-qtest-log", "/dev/null"),
            ],
        )
        self.machine = subprocess.Popen(
            line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        with self._connected("qtest") as control:
            control.sendall(f"writel {reset:#x} {RELEASED:#x}\n".encode())
            assert control.recv(100) == b"OK\n"
        with self._connected("qmp") as control, control.makefile("rw") as lines:
            assert "QMP" in json.loads(lines.readline())
            for command in ("qmp_capabilities", "cont"):
                lines.write(json.dumps({"execute": command}) + "\n")
                lines.flush()
                # The event that it goes on may come before the answer.
                assert "error" not in json.loads(lines.readline())

    def _connected(self, name: str) -> socket.socket:
        end = time.monotonic() + PATIENCE
        while True:
            made = socket.socket(socket.AF_UNIX)
            try:
                made.connect(str(self.folder / name))
                return made
            except OSError:
                made.close()
                assert self.machine.poll() is None and time.monotonic() < end, "QEMU is not up"
                time.sleep(0.05)

    def version_of_the_table(self) -> int:
        at = self.spec.window_offset + WINDOW
        return int.from_bytes(self.memory[at : at + 4], "little")

    def hear(self, patience_s: float) -> list[str]:
        """The output of the script and of the program beside it until Linux switches off."""
        guard = threading.Timer(patience_s, self.machine.kill)
        guard.start()
        assert self.machine.stdout is not None
        for line in self.machine.stdout:
            self.said.append(line.decode(errors="replace").rstrip())
            # Where the test fails, all of it is shown.
            print(self.said[-1], flush=True)
        guard.cancel()
        self.machine.wait()
        return [found[1] for line in self.said if (found := re.search(r"rpmsg-(?:test|example): (.*)", line))]

    def close(self) -> None:
        self.machine.kill()
        self.machine.wait()
        self.block.release()
        self.memory.close()


def spec_of_versal() -> BoardSpec:
    spec = board_with_linux("versal")
    assert spec.linux is not None
    try:
        fetched(spec.linux)
    except EnvironmentLacks as error:
        pytest.skip(str(error))
    return spec


def heard(box: Box, patience_s: float) -> list[str]:
    said = box.hear(patience_s)
    assert said and said[-1] == "ended" and not any("FAILED" in line for line in said), box.said
    # No warning of the kernel, no fault of the rings.
    assert "kernel 0" in said
    assert any(re.fullmatch(r"epochs .* faults 0x0+", line) for line in said), said
    return said


def test_linux_attaches_to_a_core_that_was_first(tmp_path: Path) -> None:
    box = Box(spec_of_versal(), "attach.sh", 1000, tmp_path)
    try:
        end = time.monotonic() + PATIENCE
        while box.version_of_the_table() != 1:
            assert time.monotonic() < end
            time.sleep(0.01)
        said = heard(box, PATIENCE)
        results = box.block.results
    finally:
        box.close()
    assert "greetings 100" in said
    for number in (1000, 2000):
        assert any(
            line.startswith(f"{number} messages acknowledged, {number} answers, 0 wrong, 0 refused")
            for line in said
        ), said
    answered, wrong, faults, *_ = results
    assert (answered, wrong, faults) == (2000, 0, 0)


@pytest.mark.parametrize("rounds", [20, 1000])
def test_nothing_acknowledged_is_lost_whoever_restarts(tmp_path: Path, rounds: int) -> None:
    box = Box(spec_of_versal(), "restarts.sh", rounds, tmp_path)
    try:
        said = heard(box, PATIENCE + 10 * rounds)
        answered, wrong, faults, *_ = box.block.results
    finally:
        box.close()
    assert any(line.startswith(f"restarts of linux {rounds},") for line in said)
    assert any(line.startswith(f"restarts of the remote {rounds} in ") for line in said)
    (last,) = [line for line in said if "messages acknowledged" in line]
    # The first program was killed; the second one ended with what both had written.
    found = re.match(r"(\d+) messages acknowledged, (\d+) answers, 0 wrong, 0 refused", last)
    assert found and int(found[1]) == int(found[2]) == answered > rounds and (wrong, faults) == (0, 0)
    (epochs,) = [line for line in said if line.startswith("epochs ")]
    attached, acknowledged, begun = (int(word, 16) for word in epochs.split()[1:4])
    assert attached == acknowledged >= 1 + 2 * rounds and begun >= 1 + rounds
