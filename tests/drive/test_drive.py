# SPDX-License-Identifier: Apache-2.0
"""The drive of examples/drive: its spectrum against NumPy's, its closed loop against a reference in
Python, and that the arm moves the same way wherever the controller is computed.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from consort.analysis.system import analyze_system
from consort.model import load_system
from consort.plan import TARGETS, problems_of
from consort.record.ran import STATUS
from effort import PATIENCE, VERDICTS

pytestmark = pytest.mark.realtime

ROOT = Path(__file__).parents[2]
DRIVE = ROOT / "examples" / "drive"
SYSTEM = DRIVE / "system.yaml"
CONSORT = Path(sys.executable).with_name("consort")
BREAKS = STATUS["unserved"] | STATUS["outputs_held"]

PROBE = """
#include "monitor.hpp"
#include "arm.hpp"
using namespace drive;
extern "C" void spectrum(const float* window, float* re, float* im) {
    static const monitor::Constants constants = monitor::constants();
    monitor::transform(constants, window, re, im);
}
extern "C" void feed(const float* samples, const unsigned* counts, unsigned batches, Health* health) {
    static const monitor::Constants constants = monitor::constants();
    monitor::State state{};
    for (unsigned b = 0; b < batches; ++b) {
        monitor::In in{};
        in.taken.count = counts[b];
        for (unsigned i = 0; i < counts[b]; ++i) in.taken.items[i] = *samples++;
        monitor::Out out{};
        monitor::step(constants, in, state, out);
        health[b] = out.health;
    }
}
extern "C" void move(const float* torques, unsigned steps, float* angles) {
    arm::State state{};
    for (unsigned i = 0; i < steps; ++i) {
        arm::Out out{};
        arm::step({torques[i]}, state, out);
        angles[i] = out.measured.angle;
    }
}
"""
HEALTH = np.dtype([("windows", "<u4"), ("peak_bin", "<u4"), ("peak", "<f4"), ("rms", "<f4")])


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("drive")
    (folder / "probe.cpp").write_text(PROBE)
    flags = ["-std=c++20", "-O2", "-ffp-contract=off", "-Wall", "-Wextra", "-Wshadow", "-Werror"]
    includes = [f"-I{DRIVE}", f"-I{ROOT / 'include'}"]
    made = folder / "probe.so"
    subprocess.run(
        [
            os.environ.get("CXX", "c++"),
            *flags,
            *includes,
            "-shared",
            "-fPIC",
            str(folder / "probe.cpp"),
            "-o",
            str(made),
        ],
        check=True,
    )
    return ctypes.CDLL(str(made))


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    return array.ctypes.data_as(ctypes.c_void_p)


@pytest.mark.parametrize("seed", range(4))
def test_the_spectrum_is_that_of_numpy(library: ctypes.CDLL, seed: int) -> None:
    window = np.random.default_rng(seed).normal(size=512).astype(np.float32)
    re, im = np.zeros(512, np.float32), np.zeros(512, np.float32)
    library.spectrum(pointer(window), pointer(re), pointer(im))
    expected = np.fft.fft(window.astype(np.float64))
    assert np.abs(re + 1j * im - expected).max() < 1e-5 * np.abs(expected).max()


def test_the_monitor_collects_windows_from_uneven_batches(library: ctypes.CDLL) -> None:
    counts = np.array([500, 12, 0, 512, 300, 300], np.uint32)
    time = np.arange(counts.sum()) / 20_000
    samples = (0.8 * np.sin(2 * np.pi * 1250 * time) + 0.1).astype(np.float32)
    health = np.zeros(counts.size, HEALTH)
    library.feed(pointer(samples), pointer(counts), counts.size, pointer(health))
    assert health["windows"].tolist() == [0, 1, 1, 2, 2, 3]
    assert health["peak_bin"].tolist() == [0, 32, 32, 32, 32, 32]
    assert health["peak"][1:] == pytest.approx(0.8, rel=1e-4)
    assert health["rms"][1] == pytest.approx(np.sqrt(np.mean(samples[:512].astype(float) ** 2)), rel=1e-5)


def test_the_plant_obeys_its_equations(library: ctypes.CDLL) -> None:
    """Against an integrator that shares nothing with it, held to steps a hundred times as short as its
    own.
    """
    from scipy.integrate import solve_ivp

    def derivative(time: float, state: np.ndarray) -> list[float]:
        angle, speed, torque = state
        crank = np.sin(angle) + 0.15 * np.sin(2 * angle)
        slope = np.cos(angle) + 0.3 * np.cos(2 * angle)
        load = 1.5e-3 * crank * slope * speed**2 + 0.01 * speed + 0.5 * np.sin(angle)
        load += 0.1 * np.tanh(speed / 0.5) + 0.3 * np.sin(2 * np.pi * time / 0.2)
        return [speed, (torque - load) / (2e-3 + 1.5e-3 * crank**2), (0.4 - torque) / 0.2e-3]

    steps = 400
    angles, torques = np.zeros(steps, np.float32), np.full(steps, 0.4, np.float32)
    library.move(pointer(torques), steps, pointer(angles))
    instants = (1 + np.arange(steps)) * 50e-6
    exact = solve_ivp(derivative, (0, instants[-1]), [0, 0, 0], t_eval=instants, rtol=1e-9, atol=1e-12)
    assert np.abs(angles - exact.y[0]).max() < 1e-6 * np.abs(exact.y[0]).max() + 1e-7


def test_it_can_be_planned_analysed_and_holds_by_its_bounds() -> None:
    system = load_system(SYSTEM)
    for target in ("linux", "analysis"):
        assert target in TARGETS
        assert problems_of(system, target) == []
    assert problems_of(system, "linux", mode="control") == []
    found = {(b.task, b.kind): b for b in analyze_system(system)}
    assert all(found[name, "response time"].schedulable for name in system.tasks)
    assert all(
        found[chain, kind].schedulable for chain in system.chains for kind in ("reaction time", "data age")
    )


def test_the_arm_moves_the_same_way_wherever_the_controller_is_computed(tmp_path: Path) -> None:
    """Outputs equal the reference in logical order in both runs, and each other as long as both serve
    all releases.
    """
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("an offloaded task needs two CPUs")
    done = subprocess.run(
        [
            str(CONSORT),
            "run",
            str(SYSTEM),
            "--mode",
            "control",
            "--time-scale",
            "40",
            "--iterations",
            "1000",
            "--only",
            "local-off",
            "--only",
            "offloaded-off",
            "--root",
            str(tmp_path),
            "--json",
        ],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode in VERDICTS, done.stderr
    found = json.loads(done.stdout)
    torques = []
    for configuration in found["configurations"]:
        folder = Path(found["path"]) / configuration["key"]
        jobs = pq.read_table(folder / "jobs.parquet").to_pydict()
        assert not any(status & STATUS["output_errors"] for status in jobs["status"])
        broken = [s for s, status in zip(jobs["seq"], jobs["status"], strict=True) if status & BREAKS]
        outputs = pq.read_table(folder / "outputs-servo.parquet").to_pydict()
        assert outputs["torque_expected"]
        upto = min(broken, default=1000)
        torques.append([t for s, t in zip(outputs["seq"], outputs["torque"], strict=True) if s < upto])
    length = min(map(len, torques))
    assert length > 0
    assert torques[0][:length] == torques[1][:length]
    if length > 1:
        assert len(set(torques[0][:length])) > 1


def test_all_of_it_runs_stretched_and_every_output_is_right(tmp_path: Path) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("an offloaded task needs two CPUs")
    done = subprocess.run(
        [
            str(CONSORT),
            "run",
            str(SYSTEM),
            "--time-scale",
            "20",
            "--duration",
            "2s",
            "--only",
            "offloaded-off",
            "--root",
            str(tmp_path),
            "--json",
        ],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode in VERDICTS, done.stderr
    found = json.loads(done.stdout)
    (configuration,) = found["configurations"]
    jobs = pq.read_table(Path(found["path"]) / "offloaded-off" / "jobs.parquet")["status"].to_pylist()
    assert not any(status & STATUS["output_errors"] for status in jobs)
    assert configuration["counters"]["records_lost"] == 0
    assert {t["task"] for t in configuration["verdict"]["tasks"]} == {"servo", "hmi", "monitor"}
    chains = {r["subject"] for r in configuration["verdict"]["rows"] if r["kind"] == "chain"}
    assert chains == {"command", "diagnosis"}


def test_the_arithmetic_of_the_plant_is_that_of_the_servo_example() -> None:
    text = (ROOT / "examples" / "servo" / "controller.yaml").read_text(encoding="utf-8")
    arm = (DRIVE / "arm.hpp").read_text(encoding="utf-8")
    for key, value in {
        "inertia_base": 2.0e-3,
        "inertia_crank": 1.5e-3,
        "torque_time_constant": 0.2e-3,
    }.items():
        given = re.search(rf"{key}: (\S+)", text)
        assert given is not None and float(given[1]) == value
    assert "inertia_base = 2.0e-3, inertia_crank = 1.5e-3" in arm and "lag = 0.2e-3" in arm
