# SPDX-License-Identifier: Apache-2.0
"""Every package that is installed has its version and its hashes in a lock, and pip is made to check them."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from lock import ROOT, needed
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from sbom import locked

LOCKS = [
    "requirements-build.lock",
    "requirements.lock",
    "remote-memory/rtl/requirements.lock",
    "bench/peers/simso/requirements.txt",
    "remote-memory/rtl/synth/place.lock",
    "tools/site/requirements.lock",
]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def versions(*locks: str) -> dict[str, str]:
    return {name: version for lock in locks for name, version, _ in locked(ROOT / lock)}


@pytest.mark.parametrize("lock", LOCKS)
def test_each_pin_has_hashes(lock: str) -> None:
    found = list(locked(ROOT / lock))
    assert len(found) >= 3
    assert [name for name, _, hashes in found if not hashes] == []
    # Nothing but pins, their hashes, comments and the other lock.
    foreign = re.compile(r"(?!#|    --hash=sha256:[0-9a-f]{64}|[\w.\[\]-]+==|-r requirements-build\.lock$|$)")
    lines = (ROOT / lock).read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if foreign.match(line)] == []


def test_all_that_the_project_needs_is_locked() -> None:
    extras = PROJECT["project"]["optional-dependencies"].values()
    wanted = {
        Requirement(line).name for lines in (PROJECT["project"]["dependencies"], *extras) for line in lines
    }
    missing = needed(sorted(wanted - {PROJECT["project"]["name"]})) - versions(*LOCKS[:2]).keys()
    assert missing == set()


def test_build_requirements_are_locked_in_the_versions_that_the_project_names() -> None:
    found = versions("requirements-build.lock")
    for line in PROJECT["build-system"]["requires"]:
        requirement = Requirement(line)
        assert requirement.specifier.contains(found[canonicalize_name(requirement.name)]), line
    names = [Requirement(line).name for line in PROJECT["build-system"]["requires"]]
    assert needed(names) <= found.keys()


@pytest.mark.representative
def test_what_is_installed_is_what_is_locked() -> None:
    freeze = [sys.executable, "-m", "pip", "freeze", "--all"]
    lines = subprocess.run(freeze, check=True, capture_output=True, text=True).stdout.splitlines()
    installed = dict(line.split("==") for line in lines if re.fullmatch(r"[^\s@]+==\S+", line))
    here = {canonicalize_name(name): version for name, version in installed.items()}
    for name, version in versions(*LOCKS[:2]).items():
        assert here.get(name) == version, name


def commands(script: str) -> list[str]:
    """The lines of a script that install packages; continued ones as one."""
    text = (ROOT / script).read_text(encoding="utf-8").replace("\\\n", " ")
    return [line for line in text.splitlines() if re.search(r" -r |pip install.*-r", line)]


@pytest.mark.parametrize("script", ["tools/setup-python.sh", "remote-memory/tools/setup-rtl.sh"])
def test_the_set_up_checks_hashes(script: str) -> None:
    found = commands(script)
    assert found
    for line in found:
        assert "--require-hashes" in line, line
        # A build in isolation would fetch what it needs without a hash.
        assert "--no-build-isolation" in line or "--only-binary :all:" in line, line


def test_a_file_that_was_changed_is_refused(tmp_path: Path) -> None:
    """The whole chain with a package of our own: pip, the options of the set-up, and one changed byte."""
    wheel = tmp_path / "tiny-1.0-py3-none-any.whl"

    def build(content: str) -> None:
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr(zipfile.ZipInfo("tiny.py"), content)
            info = "tiny-1.0.dist-info/"
            archive.writestr(
                zipfile.ZipInfo(info + "METADATA"), "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n"
            )
            archive.writestr(zipfile.ZipInfo(info + "WHEEL"), "Wheel-Version: 1.0\nTag: py3-none-any\n")
            archive.writestr(zipfile.ZipInfo(info + "RECORD"), "")

    def install(lock: Path) -> subprocess.CompletedProcess[str]:
        command = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--isolated",
            "--no-index",
            f"--find-links={tmp_path}",
        ]
        command += ["--require-hashes", "--no-deps", "--target", str(tmp_path / "into"), "-r", str(lock)]
        return subprocess.run(command, capture_output=True, text=True)

    build("answer = 42\n")
    hashed = subprocess.run(
        ["sha256sum", str(wheel)], check=True, capture_output=True, text=True
    ).stdout.split()[0]
    lock = tmp_path / "lock"
    lock.write_text(f"tiny==1.0 \\\n    --hash=sha256:{hashed}\n", encoding="utf-8")
    assert install(lock).returncode == 0
    build("answer = 43\n")
    done = install(lock)
    assert done.returncode != 0 and "DO NOT MATCH THE HASHES" in done.stderr
    lock.write_text("tiny==1.0\n", encoding="utf-8")
    done = install(lock)
    assert done.returncode != 0 and "Hashes are required" in done.stderr
