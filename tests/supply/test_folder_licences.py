# SPDX-License-Identifier: Apache-2.0
"""Sources under another licence than Apache-2.0 stay in the folders that tools/licences.toml names."""

from __future__ import annotations

import re
import subprocess

import sbom

SPDX = re.compile(r"SPDX-License-Identifier: ([\w.-]*\w)")
FOLDERS: dict[str, str] = sbom.LICENCES["folders"]


def sources() -> dict[str, str]:
    """The licence of each source of the tree that says one."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=sbom.ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    found = {}
    for name in listed.stdout.splitlines():
        path = sbom.ROOT / name
        if path.is_file() and path.suffix not in (".md", ".toml", ".lock"):
            said = SPDX.search(path.read_bytes()[:500].decode(errors="replace"))
            if said is not None:
                found[name] = said[1]
    return found


def test_each_folder_has_its_licence_and_no_other_folder_has_it() -> None:
    found = sources()
    assert len(found) > 500
    for name, licence in found.items():
        folder = next((each for each in FOLDERS if name.startswith(each + "/")), None)
        assert licence == (FOLDERS[folder] if folder else "Apache-2.0"), name
    for folder in FOLDERS:
        inside = {name for name in found if name.startswith(folder + "/")}
        files = {
            str(path.relative_to(sbom.ROOT))
            for path in (sbom.ROOT / folder).rglob("*")
            if path.is_file() and path.suffix in (".c", ".h", ".sh", ".yaml", "") and path.name != "LICENSE"
        }
        assert inside == files and "GNU GENERAL PUBLIC LICENSE" in (sbom.ROOT / folder / "LICENSE").read_text(
            encoding="utf-8"
        )


def test_nothing_is_compiled_across_the_border() -> None:
    for name in sources():
        text = (sbom.ROOT / name).read_text(encoding="utf-8", errors="replace")
        includes = re.findall(r'^\s*#\s*include\s*["<]([^">]+)', text, re.MULTILINE)
        inside = any(name.startswith(folder + "/") for folder in FOLDERS)
        for included in includes:
            ours = included.startswith(("remap", "../remap", "tool."))
            assert ours <= inside, f"{name} includes {included}"
            assert not (inside and included.startswith("consort")), f"{name} includes {included}"
    installed = (sbom.ROOT / "engine" / "CMakeLists.txt").read_text(encoding="utf-8")
    assert not any(folder in installed for folder in FOLDERS)
