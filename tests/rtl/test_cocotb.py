# SPDX-License-Identifier: Apache-2.0
"""The blocks between masters and slaves of cocotbext-axi: cocotb_suite, and what it has to cover."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from consort.remote import build

SUITE = Path(__file__).parent / "cocotb_suite"
# Shares of the bins of cocotb_suite/coverage.py that have to be hit.
CLOSURE_FAST = 0.95
CLOSURE_SLOW = 1.0


def simulation(*replaced: Path) -> Path:
    """The blocks with what lets Python in. Sources in `replaced` stand for those of the same name."""
    cocotb = next((build.tools() / "lib").glob("python3.*")) / "site-packages" / "cocotb"
    libraries = (cocotb / "libs").resolve()
    options = ("--vpi", "-CFLAGS", "-O1", "-LDFLAGS")
    options += (f"-Wl,-rpath,{libraries} -L{libraries} -lcocotbvpi_verilator",)
    main = cocotb / "share" / "lib" / "verilator" / "verilator.cpp"
    own = [SUITE / name for name in ("top.sv", "axi_pins.sv", "frame_monitor.sv", "public.vlt")]
    return build.simulation("top", main, None, options, (*own, *replaced))


def run(folder: Path, program: Path, **environment: str) -> tuple[list[str], str, dict[str, dict[str, int]]]:
    """The tests that failed, what was said, and the coverage."""
    python = build.tools() / "bin" / "python"
    ask = (
        "import find_libpython as f, cocotb_tools.config as c; "
        "print(f.find_libpython(), c.pygpi_entry_point())"
    )
    users = subprocess.run(
        [str(python), "-c", ask], capture_output=True, text=True, check=True
    ).stdout.split()
    env = build.environment() | {
        "GPI_USERS": ";".join(users),
        "PYGPI_PYTHON_BIN": str(python),
        "PYTHONPATH": str(SUITE),
        "PYTHONWARNINGS": "ignore",
        "COCOTB_TEST_MODULES": "suite",
        "COCOTB_TOPLEVEL": "top",
        "TOPLEVEL_LANG": "verilog",
        "COCOTB_RESULTS_FILE": str(folder / "results.xml"),
        "COCOTB_TRUST_INERTIAL_WRITES": "1",
        "COCOTB_LOG_LEVEL": "WARNING",
        "COCOTB_RANDOM_SEED": "1",
        "SUITE_COVERAGE": str(folder / "coverage.json"),
    }
    result = subprocess.run([str(program)], cwd=folder, env=env | environment, capture_output=True, text=True)
    results = ElementTree.parse(folder / "results.xml")
    cases = results.findall(".//testcase")
    assert len(cases) == 3, result.stdout[-3000:] + result.stderr[-3000:]
    failed = [
        case.get("name", "")
        for case in cases
        if case.find("failure") is not None or case.find("error") is not None
    ]
    stored = folder / "coverage.json"
    return failed, result.stdout + result.stderr, json.loads(stored.read_text()) if stored.exists() else {}


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
