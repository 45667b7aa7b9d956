# SPDX-License-Identifier: Apache-2.0
"""The blocks between masters and slaves of cocotbext-axi: cocotb_suite, and what it has to cover."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import cocotb_runs
import pytest
from consort_remote import build

SUITE = Path(__file__).parent / "cocotb_suite"
# Shares of the bins of cocotb_suite/coverage.py that have to be hit.
CLOSURE_FAST = 0.95
CLOSURE_SLOW = 1.0


def simulation(*replaced: Path) -> Path:
    """The blocks with what lets Python in. Sources in `replaced` stand for those of the same name."""
    own = [SUITE / name for name in ("top.sv", "axi_pins.sv", "frame_monitor.sv", "public.vlt")]
    return cocotb_runs.simulation(*own, *replaced)


def run(folder: Path, program: Path, **environment: str) -> tuple[list[str], str, dict[str, dict[str, int]]]:
    """The tests that failed, what was said, and the coverage."""
    stored = folder / "coverage.json"
    environment["SUITE_COVERAGE"] = str(stored)
    failed, said = cocotb_runs.run(folder, program, SUITE, "suite", 3, **environment)
    return failed, said, json.loads(stored.read_text()) if stored.exists() else {}


def empty_coverage():
    spec = importlib.util.spec_from_file_location("suite_coverage", SUITE / "coverage.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.model()


@pytest.mark.slow
def test_random_traffic_and_reconfiguration(tmp_path):
    failed, said, counts = run(tmp_path, simulation(), SUITE_SEED="1", SUITE_PHASES="1", SUITE_COUNT="20")
    assert not failed, said[-6000:]
    coverage = empty_coverage()
    coverage.merge(counts)
    print(coverage.table())
    assert coverage.closure >= CLOSURE_FAST, coverage.table()


@pytest.mark.slow
def test_random_traffic_and_reconfiguration_for_long(tmp_path):
    coverage = empty_coverage()
    program = simulation()
    for seed in range(10, 14):
        folder = tmp_path / str(seed)
        folder.mkdir()
        failed, said, counts = run(folder, program, SUITE_SEED=str(seed), SUITE_PHASES="3", SUITE_COUNT="40")
        assert not failed, f"seed {seed}: {said[-6000:]}"
        coverage.merge(counts)
    coverage.store(build.tools().parent / "rtl" / "coverage.json")
    print(coverage.table())
    assert coverage.closure >= CLOSURE_SLOW, coverage.table()


def test_a_bin_that_was_not_hit_lowers_the_closure():
    coverage = empty_coverage()
    assert coverage.closure == 0
    for group, bins in coverage.groups.items():
        for name in bins:
            coverage.hit(group, name)
    assert coverage.closure == 1
    coverage.groups["answer"]["read unmapped"] = 0
    assert coverage.missed() == ["answer: read unmapped"]
    assert coverage.closure < 1
    with pytest.raises(KeyError):
        coverage.hit("answer", "read of the moon")
