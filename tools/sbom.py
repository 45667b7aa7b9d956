# SPDX-License-Identifier: Apache-2.0
"""`make sbom`: writes what Consort needs as CycloneDX 1.6: versions, hashes of the files, licences.

Versions and hashes are those of the locks, licences those of the installed packages' metadata, corrected by
tools/licences.toml. Debian packages have the version that is installed, and none where they are not.
Exit status 3 where the environment of a lock is not installed.
"""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cyclonedx.model import HashAlgorithm, HashType, Property
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.model.license import LicenseExpression
from cyclonedx.output.json import JsonV1Dot6
from lock import ROOT, needed
from packageurl import PackageURL
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

LICENCES = tomllib.loads((ROOT / "tools" / "licences.toml").read_text(encoding="utf-8"))
# A lock and the environment that it is installed into; the first is that of this program.
LOCKS = {
    "requirements-build.lock": ROOT / ".venv",
    "requirements.lock": ROOT / ".venv",
    "remote-memory/rtl/requirements.lock": ROOT / "build" / "rtl-venv",
}


def locked(lock: Path) -> Iterator[tuple[str, str, list[str]]]:
    """Each package of a lock: its canonical name, its version and the SHA-256 hashes of its files."""
    text = lock.read_text(encoding="utf-8")
    pattern = r"^([^\s#-]\S*?)==([^\s\\;]+)((?:[^\n]*\\\n)*[^\n]*)"
    for found in re.finditer(pattern, text, re.MULTILINE):
        name, version, rest = found.groups()
        yield canonicalize_name(name), version, re.findall(r"--hash=sha256:([0-9a-f]{64})", rest)


def licence(metadata: Any) -> str:
    """The SPDX expression of a package's metadata; empty where none can be read from it."""
    name = canonicalize_name(metadata["Name"])
    if name in LICENCES["stated"]:
        return str(LICENCES["stated"][name])
    if expression := metadata.get("License-Expression"):
        return str(expression)
    known = {identifier: identifier for identifier in LICENCES["allowed"]} | LICENCES["spelling"]
    classifiers = [c for c in metadata.get_all("Classifier") or [] if c.startswith("License ::")]
    for words in (metadata.get("License") or "", *(c.rpartition(" :: ")[2] for c in classifiers)):
        if words in known:
            return str(known[words])
    return ""


def python_components() -> Iterator[Component]:
    """The packages of the locks. One that two locks have in one version appears once."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    required = needed([Requirement(line).name for line in project["project"]["dependencies"]])
    seen: set[tuple[str, str]] = set()
    for lock, environment in LOCKS.items():
        installed = {
            (canonicalize_name(d.name), d.version): d.metadata
            for d in importlib.metadata.distributions(
                path=[str(p) for p in environment.glob("lib/python3.*/site-packages")]
            )
        }
        for name, version, hashes in locked(ROOT / lock):
            if (name, version) in seen:
                continue
            seen.add((name, version))
            if (name, version) not in installed:
                print(
                    f"{lock}: {name} {version} is not installed in {environment.relative_to(ROOT)};"
                    " run make setup and remote-memory/tools/setup-rtl.sh",
                    file=sys.stderr,
                )
                sys.exit(3)
            yield component(
                PackageURL("pypi", name=name, version=version),
                licence(installed[name, version]),
                ComponentScope.REQUIRED if name in required else ComponentScope.EXCLUDED,
                name in LICENCES["programs"]["pypi"],
                lock,
                hashes,
            )


def debian_components() -> Iterator[Component]:
    """The packages that tools/install-packages.sh installs."""
    script = [str(ROOT / "tools" / "install-packages.sh"), "--list"]
    purposes: dict[str, list[str]] = {}
    for line in subprocess.run(script, check=True, capture_output=True, text=True).stdout.splitlines():
        package, purpose = line.split()
        purposes.setdefault(package, []).append(purpose)
    for package, wanted in purposes.items():
        try:
            ask = ["dpkg-query", "-W", "-f", "${Version}", package]
            version = subprocess.run(ask, capture_output=True, text=True).stdout or None
        except FileNotFoundError:
            version = None
        yield component(
            PackageURL("deb", namespace="debian", name=package, version=version),
            LICENCES["debian"].get(package, ""),
            ComponentScope.REQUIRED if "runtime" in wanted else ComponentScope.EXCLUDED,
            package in LICENCES["programs"]["debian"],
            "tools/install-packages.sh " + " ".join(wanted),
            [],
        )


def component(
    purl: PackageURL, spdx: str, scope: ComponentScope, program: bool, source: str, hashes: list[str]
) -> Component:
    return Component(
        name=purl.name,
        version=purl.version,
        type=ComponentType.APPLICATION if program else ComponentType.LIBRARY,
        scope=scope,
        purl=purl,
        bom_ref=str(purl),
        licenses=[LicenseExpression(spdx)] if spdx else [],
        # Every file of the version, for every platform; one of them is installed.
        properties=[
            Property(name="consort:from", value=source),
            *(Property(name="consort:file-sha256", value=digest) for digest in hashes),
        ],
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=hashes[0])] if len(hashes) == 1 else [],
    )


def bom() -> Bom:
    """The whole list. Leaves with status 3 where the environment of a lock is not installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    made = Bom(components=[*python_components(), *debian_components()])
    root = Component(
        name=project["name"],
        version=project["version"],
        type=ComponentType.APPLICATION,
        licenses=[LicenseExpression(project["license"])],
        bom_ref="consort",
    )
    made.metadata.component = root
    made.register_dependency(root, list(made.components))
    return made


def main() -> None:
    if len(sys.argv) != 2:
        print("usage: sbom.py FILE", file=sys.stderr)
        sys.exit(2)
    file = Path(sys.argv[1])
    made = bom()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(JsonV1Dot6(made).output_as_string(indent=2) + "\n", encoding="utf-8")
    print(f"{file}: {len(made.components)} components")


if __name__ == "__main__":
    main()
