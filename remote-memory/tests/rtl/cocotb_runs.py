# SPDX-License-Identifier: Apache-2.0
"""Simulations with cocotb: built once for their sources, and run with the tests of a folder."""

from __future__ import annotations

import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from consort_remote import build


def simulation(*sources: Path, **parameters: int) -> Path:
    """The blocks with a module `top` and what lets Python in; sources of rtl/'s names stand for those."""
    cocotb = next((build.tools() / "lib").glob("python3.*")) / "site-packages" / "cocotb"
    libraries = (cocotb / "libs").resolve()
    linked = (f"-Wl,-rpath,{libraries}", f"-L{libraries}", "-lcocotbvpi_verilator")
    main = cocotb / "share" / "lib" / "verilator" / "verilator.cpp"
    return build.simulation("top", main, dict(parameters), ("--vpi",), sources, libraries=linked)


def run(
    folder: Path, program: Path, suite: Path, module: str, tests: int, **environment: str
) -> tuple[list[str], str]:
    """The tests of a module of `suite` that failed, of so many as there have to be, and what was said."""
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
        "PYTHONPATH": str(suite),
        "PYTHONWARNINGS": "ignore",
        "COCOTB_TEST_MODULES": module,
        "COCOTB_TOPLEVEL": "top",
        "TOPLEVEL_LANG": "verilog",
        "COCOTB_RESULTS_FILE": str(folder / "results.xml"),
        "COCOTB_TRUST_INERTIAL_WRITES": "1",
        "COCOTB_LOG_LEVEL": "WARNING",
        "COCOTB_RANDOM_SEED": "1",
    }
    result = subprocess.run([str(program)], cwd=folder, env=env | environment, capture_output=True, text=True)
    results = ElementTree.parse(folder / "results.xml")
    cases = results.findall(".//testcase")
    assert len(cases) == tests, result.stdout[-3000:] + result.stderr[-3000:]
    failed = [
        case.get("name", "")
        for case in cases
        if case.find("failure") is not None or case.find("error") is not None
    ]
    return failed, result.stdout + result.stderr
