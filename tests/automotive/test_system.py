# SPDX-License-Identifier: Apache-2.0
"""examples/automotive/system.yaml says what the kernels and the paper say, and its bounds hold."""

from __future__ import annotations

import csv
import shutil
import subprocess
from pathlib import Path

import pytest
from consort import _engine
from consort.analysis.three_phase import DmaShare, bound_core
from consort.analysis.unitask import UniTask
from consort.model import System, load_system

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "automotive"
US = 10**6  # ps
CONTEXT_SWITCH = 460_000
SLOT = 160 * US


@pytest.fixture(scope="module")
def system() -> System:
    return load_system(EXAMPLE / "system.yaml")


@pytest.fixture(scope="module")
def footprints(probe) -> dict[str, list[int]]:
    text = subprocess.run([probe, "footprints"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return {name: [int(n) for n in rest] for name, *rest in map(str.split, text.splitlines())}


def published() -> dict[tuple[str, str], float]:
    path = ROOT / "experiments" / "spm-centric-os" / "figure7" / "published.csv"
    with path.open(encoding="utf-8") as file:
        rows = [r for r in csv.DictReader(file) if r["table"] == "V"]
    return {(r["benchmark"], r["statistic"]): float(r["value"]) for r in rows}


def test_the_tasks_are_those_of_table_v(system, footprints):
    names = {benchmark for benchmark, _ in published()}
    assert set(system.tasks) == set(footprints) == names
    assert len(names) == 14


def test_execution_times_are_the_published_ones(system):
    table = published()
    for name, task in system.tasks.items():
        assert task.wcet_on("e200z710", "three-phase").value == table[name, "SPM time"] * US
        assert task.wcet_on("e200z710", "local").value == table[name, "SRAM time"] * US


def test_footprints_are_those_of_the_kernels(system, footprints):
    for name, task in system.tasks.items():
        constants, state, inputs, outputs = footprints[name]
        size = task.footprint
        assert size.data.value.value == constants + state, name
        assert (size.inputs.value.value, size.outputs.value.value) == (inputs, outputs), name


def test_code_sizes(system, tmp_path):
    compiler = shutil.which("arm-none-eabi-g++")
    if compiler is None:
        pytest.skip("no arm-none-eabi-g++: apt-get install gcc-arm-none-eabi libstdc++-arm-none-eabi-newlib")
    flags = ["-std=c++20", "-O2", "-mcpu=cortex-r5", "-mfloat-abi=hard", "-mfpu=vfpv3-d16", "-ffreestanding"]
    flags += ["-fno-exceptions", "-fno-rtti", "-I", str(ROOT / "include"), "-I", str(EXAMPLE)]
    for name, task in system.tasks.items():
        source = tmp_path / f"{name}.cpp"
        source.write_text(
            '#include "kernels/all.hpp"\nvoid run(const consort::spm::Partition& p) {'
            f" automotive::TaskOf<automotive::{name.capitalize()}>::run(p); }}\n",
            encoding="utf-8",
        )
        target = source.with_suffix(".o")
        subprocess.run([compiler, *flags, "-c", source, "-o", target], check=True)
        sizes = subprocess.run(["arm-none-eabi-size", target], stdout=subprocess.PIPE, text=True, check=True)
        text = int(sizes.stdout.splitlines()[1].split()[0])
        # Another version of the compiler may make a little more or less of it.
        assert 0.8 * text - 64 <= task.footprint.code.value.value <= 1.25 * text + 64, name


def test_the_slot_carries_every_load(system):
    """In proportion to size, from a partition of 40 KiB in 432 us, and 3.16 us to program the DMA."""
    for name, task in system.tasks.items():
        size = task.footprint
        load = size.code.value.value + size.data.value.value + size.inputs.value.value
        unload = size.data.value.value + size.outputs.value.value
        assert 3.16 * US + max(load, unload) / (40 * 1024) * 432 * US <= SLOT, name


def core_of(system: System, core: str) -> list[UniTask]:
    tasks = [
        UniTask(
            name,
            t.wcet_on("e200z710", "three-phase").value + CONTEXT_SWITCH,
            t.period.value,
            t.deadline.value,
        )
        for name, t in system.tasks.items()
        if t.on == core
    ]
    return sorted(tasks, key=lambda t: t.deadline)


@pytest.mark.parametrize("core", ["app-0", "app-1"])
def test_every_bound_is_within_its_deadline_and_above_what_the_protocol_shows(system, core):
    tasks = core_of(system, core)
    bounds = bound_core(tasks, DmaShare.equal(SLOT, 2))
    assert all(b.schedulable for b in bounds)
    tick = 10_000  # ps; every time above is a multiple
    rows = [(t.execution // tick, t.period // tick, t.deadline // tick) for t in tasks]
    seen = [0] * len(rows)
    for shift in range(0, 2 * SLOT // tick, 997):
        arrivals = [(shift + 1, [], [], False)] * len(rows)
        for task, release, *_, end in _engine.spm_replay(
            rows, 2 * SLOT // tick, SLOT // tick, arrivals, 60_000_000_000 // tick
        ):
            seen[task] = max(seen[task], end - release)
    for bound, worst in zip(bounds, seen, strict=True):
        assert bound.response is not None and 0 < worst * tick <= bound.response
