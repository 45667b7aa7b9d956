# SPDX-License-Identifier: Apache-2.0
"""Certificates checked by Coq, against the library of proofs that comes with Consort."""

from __future__ import annotations

import shutil
import subprocess
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

from consort.base.errors import EnvironmentLacks, SystemFails

LIBRARY = Path(__file__).resolve().parents[1] / "proofs"
# In the order in which they need each other.
FILES = ("ResponseTime.v", "Certificate.v")
# Coq's output for a theorem that rests on no axiom.
CLOSED = "Closed under the global context"
LONGEST = 900


def coqc() -> str:
    """The program; `EnvironmentLacks` where there is none."""
    found = shutil.which("coqc")
    if found is None:
        raise EnvironmentLacks(
            "checking a certificate needs coqc", "install it: tools/install-packages.sh prove"
        )
    return found


@lru_cache
def library() -> TemporaryDirectory[str]:
    """The proofs that a certificate rests on, checked once in a process."""
    folder = TemporaryDirectory(prefix="consort-proofs-")
    for name in FILES:
        shutil.copyfile(LIBRARY / name, Path(folder.name) / name)
        _accepted(Path(folder.name) / name, name, folder.name)
    return folder


def check(certificate: Path, theorems: int) -> str:
    """Coq's version, if it accepts so many theorems of the file, none of which rests on an axiom."""
    program = coqc()
    with TemporaryDirectory(prefix="consort-certificate-") as folder:
        copy = Path(folder) / "Bounds.v"
        shutil.copyfile(certificate, copy)
        said = _accepted(copy, str(certificate), library().name)
    if said.count(CLOSED) != theorems:
        raise SystemFails(f"{certificate}: not every theorem is free of axioms: {said.strip()}")
    return _run([program, "--print-version"]).stdout.split()[0]


def _accepted(path: Path, name: str, proofs: str) -> str:
    # Coq leaves a cache of its arithmetic in the folder that it runs in.
    done = _run([coqc(), "-q", "-Q", proofs, "Consort", str(path)], proofs)
    if done.returncode != 0:
        said = " ".join(done.stderr.replace(str(path), name).split())
        raise SystemFails(f"{name}: Coq does not accept it: {said}")
    return done.stdout


def _run(command: list[str], folder: str | None = None) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, cwd=folder)
    except subprocess.TimeoutExpired:
        raise SystemFails(f"{command[-1]}: Coq was not done after {LONGEST} s") from None
