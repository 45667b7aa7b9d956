# SPDX-License-Identifier: Apache-2.0
"""Builds the benchmark programs in the source tree: C++ with CMake, the Rust peer with cargo."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from consort.base.errors import EnvironmentLacks
from consort.base.toolchain.builds import need_source_tree


def cpp_program(target: str, folder: str) -> Path:
    """A target of the bench preset, built if it is not up to date."""
    root = need_source_tree("building benchmarks")
    for tool, package in (("cmake", "cmake"), ("ninja", "ninja-build")):
        if shutil.which(tool) is None:
            raise EnvironmentLacks(f"{tool} is not installed", f"install it: apt-get install {package}")
    build = root / "build" / "bench"
    steps = [["cmake", "--preset", "bench"], ["cmake", "--build", str(build), "--target", target]]
    for step in steps:
        result = subprocess.run(step, cwd=root, capture_output=True, text=True)
        if result.returncode != 0:
            words = (result.stdout + result.stderr).strip()[-1500:]
            raise EnvironmentLacks(f"{' '.join(step)} failed:\n{words}", "correct what it says")
    return build / folder / target


def rust_peer(crate: str, program: str) -> Path:
    """A peer written in Rust. `EnvironmentLacks` where cargo, or a crate it needs, cannot be had."""
    root = need_source_tree("building benchmarks")
    cargo = shutil.which("cargo") or str(Path.home() / ".cargo" / "bin" / "cargo")
    if not os.access(cargo, os.X_OK):
        raise EnvironmentLacks("cargo is not installed", "install it: apt-get install cargo, or rustup")
    target = root / "build" / "peers" / crate
    command = [cargo, "build", "--release", "--locked", "--quiet", "--target-dir", str(target)]
    result = subprocess.run(command, cwd=root / "bench" / "peers" / crate, capture_output=True, text=True)
    if result.returncode != 0:
        words = " ".join(result.stderr.split())[-400:]
        raise EnvironmentLacks(
            f"the peer {crate} does not build: {words}", "check the network and the Rust version"
        )
    return target / "release" / program


def python_peer(name: str) -> tuple[Path, Path]:
    """A peer written in Python: the interpreter of an environment of its own, and its program.

    `EnvironmentLacks` where the packages that it is made of cannot be had.
    """
    folder = need_source_tree("measuring peers") / "bench" / "peers" / name
    return locked_environment(name, folder / "requirements.txt"), folder / "simulate.py"


def locked_environment(name: str, requirements: Path) -> Path:
    """The interpreter of build/peers/NAME, with the packages of this lock, made if need be."""
    root = need_source_tree("measuring peers")
    environment = root / "build" / "peers" / name
    python = environment / "bin" / "python"
    wanted = requirements.read_text(encoding="utf-8")
    stamp = environment / "installed.txt"
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != wanted:
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        steps = [
            [sys.executable, "-m", "venv", "--clear", str(environment)],
            # Packages that build others without a wheel come first: the build itself then fetches nothing.
            [*install, "--require-hashes", "--no-deps", "-r", str(root / "requirements-build.lock")],
            [*install, "--require-hashes", "--no-deps", "--no-build-isolation", "-r", str(requirements)],
        ]
        for step in steps:
            result = subprocess.run(step, capture_output=True, text=True)
            if result.returncode != 0:
                words = " ".join(result.stderr.split())[-400:]
                raise EnvironmentLacks(f"{name} cannot be had: {words}", "check the network")
        stamp.write_text(wanted, encoding="utf-8")
    return python
