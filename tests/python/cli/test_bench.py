# SPDX-License-Identifier: Apache-2.0
"""`consort bench` finds the benchmarks in the source tree, and says so where there is none."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package alone in a folder, as a wheel's installation leaves it."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(
        ROOT / "python" / "consort", folder / "consort", ignore=shutil.ignore_patterns("__pycache__")
    )
    return folder


def bench(installed: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # Without site (-S) nothing redirects the import to the source tree.
    path = os.pathsep.join((str(installed), sysconfig.get_path("purelib")))
    return subprocess.run(
        [sys.executable, "-S", "-m", "consort.cli", "bench", *arguments],
        capture_output=True,
        text=True,
        cwd=installed,
        env={**os.environ, "PYTHONPATH": path},
    )


@pytest.mark.parametrize("arguments", [("icc",), ("--list",), ("icc", "--json", "--quick")])
def test_an_installed_package_has_no_benchmarks_and_says_so(
    installed: Path, arguments: tuple[str, ...]
) -> None:
    done = bench(installed, *arguments)
    assert done.returncode == 3
    assert "needs Consort's source tree" in done.stderr and "Traceback" not in done.stderr


def test_its_help_says_where_they_are(installed: Path) -> None:
    done = bench(installed, "--help")
    assert done.returncode == 0 and "source tree" in done.stdout


def test_the_source_tree_has_them() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "consort.cli", "bench", "--list"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "icc" in done.stdout and "figure7" in done.stdout
