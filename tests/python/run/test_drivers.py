# SPDX-License-Identifier: Apache-2.0
"""examples/drivers: a socket and a serial line as devices of a run, and a CAN bus where there is one."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest
from consort.record import load_run
from effort import PATIENCE, VERDICTS
from run_support import consort

pytestmark = pytest.mark.realtime

EXAMPLE = Path(__file__).parents[3] / "examples" / "drivers"
JOBS = 100


@pytest.fixture(scope="module")
def peer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("peer", EXAMPLE / "peer.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_checksum_is_the_published_one(peer: ModuleType) -> None:
    assert peer.crc16(b"123456789") == b"\x29\xb1"


def test_a_socket_and_a_line_are_read_and_written_once_a_job(
    peer: ModuleType, tmp_path: Path, runs: Path
) -> None:
    folder = tmp_path / "drivers"
    shutil.copytree(EXAMPLE, folder)
    peers = peer.Peers()
    try:
        environment = os.environ | peers.environment
        line = ("run", folder / "system.yaml", "--ordinary", "--iterations", JOBS)
        ended = consort(*line, env=environment)
    finally:
        peers.close()
    assert ended.returncode in VERDICTS, ended.stdout + ended.stderr
    rows = load_run("latest", runs).table("local-off", "outputs-control")
    torques, numbers = rows["torque_torque"].to_pylist(), rows["torque_number"].to_pylist()
    # The amplifier was given what each job computed, and not a second time when the outputs were judged.
    assert list(peers.torques()) == list(zip(torques, numbers, strict=True))
    # A job without a new value keeps that of the job before; noise and short datagrams are not values.
    wished = rows["report_number"].to_pylist()
    assert numbers == sorted(numbers) and numbers[-1] > numbers[0]
    assert wished == sorted(wished) and wished[-1] > 0
    for torque, number, wish in zip(torques, numbers, wished, strict=True):
        assert torque == 0.5 * ((peer.WISHED if wish else 0.0) - 0.5 * number)
    # Before the first wish nobody is known to take a report.
    assert [number for _, _, number in peers.reports] == [number for number in wished if number]


def test_a_bus_that_is_not_there_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "drivers"
    shutil.copytree(EXAMPLE, folder)
    environment = os.environ | {"DRIVERS_CAN": "no-such-bus"}
    ended = consort("run", folder / "can.yaml", "--ordinary", "--iterations", JOBS, env=environment)
    assert "CAN interface no-such-bus: " in ended.stderr and "Traceback" not in ended.stderr
    # The machine lacks it.
    assert ended.returncode == 3


def test_frames_on_a_can_bus(tmp_path: Path) -> None:
    if not Path("/sys/class/net/vcan0").exists():
        pytest.skip("no vcan0: ip link add vcan0 type vcan && ip link set up vcan0, where the kernel has it")
    source = tmp_path / "echo.cpp"
    source.write_text(
        '#include "devices.hpp"\n'
        "int main() {\n"
        '    drivers::Can<drivers::Angle, drivers::Torque> here("vcan0", 0x181, 0x201);\n'
        '    drivers::Can<drivers::Torque, drivers::Angle> there("vcan0", 0x201, 0x181);\n'
        "    drivers::Angle angle{};\n"
        "    for (std::uint32_t i = 1; i < 100; ++i) {\n"
        "        there.write({0.5F, i});\n"
        "        if (!here.read(angle) || angle.number != i || here.read(angle)) return 1;\n"
        "    }\n"
        "}\n",
        encoding="utf-8",
    )
    program = tmp_path / "echo"
    command = ["g++", "-std=c++20", "-Wall", "-Wextra", "-Wshadow", "-Werror", f"-I{EXAMPLE}"]
    subprocess.run([*command, str(source), "-o", str(program)], check=True)
    assert subprocess.run([program], timeout=PATIENCE, check=False).returncode == 0
