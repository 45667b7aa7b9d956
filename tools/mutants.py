# SPDX-License-Identifier: Apache-2.0
"""mutants.py [NAME...]: puts each defect of tests/mutants.toml into a copy of the tree; its tests must fail.

The same tests pass without it first. Minutes each. Exit status 0 when every defect was found, 1 when not.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "tests" / "mutants.toml"
COPY = ROOT / "build" / "mutants"


def mutants() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = tomllib.loads(LIST.read_text(encoding="utf-8"))["mutant"]
    return found


def passes(mutant: dict[str, Any]) -> bool:
    """Says whether the tests of a mutant pass in the copy as it is."""

    def good(*command: str) -> bool:
        log = COPY / "build" / "mutants.log"
        with log.open("ab") as out:
            return subprocess.run(command, cwd=COPY, stdout=out, stderr=subprocess.STDOUT).returncode == 0

    if "cpp" in mutant:
        target, pattern = mutant["cpp"]
        if not good("tools/build-preset.sh", "gcc", target):
            return False
        return good("ctest", "--preset", "gcc", "-R", pattern, "-E", "_NOT_BUILT", "--no-tests=error")
    if mutant.get("engine") and not good("tools/setup-python.sh"):
        return False
    return good(".venv/bin/python", "-m", "pytest", "-q", "-x", "--tier", "test", *mutant["python"])


def copied() -> None:
    """A clone of the tree with the changes that are not committed, and environments of its own."""
    shutil.rmtree(COPY, ignore_errors=True)
    subprocess.run(["git", "clone", "-q", str(ROOT), str(COPY)], check=True)
    changed = subprocess.run(["git", "diff", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
    if changed:
        subprocess.run(["git", "apply"], cwd=COPY, input=changed, check=True)
    (COPY / "build").mkdir()
    for step in ("setup-python.sh", "setup-rtl.sh"):
        subprocess.run([f"tools/{step}"], cwd=COPY, check=True)


def main() -> None:
    chosen = [m for m in mutants() if len(sys.argv) == 1 or m["name"] in sys.argv[1:]]
    copied()
    missed = []
    for mutant in chosen:
        file = COPY / mutant["file"]
        text = file.read_text(encoding="utf-8")
        before = passes(mutant)
        file.write_text(text.replace(mutant["right"], mutant["wrong"]), encoding="utf-8")
        found = before and not passes(mutant)
        file.write_text(text, encoding="utf-8")
        why = "found" if found else "NOT FOUND" if before else "its tests fail without it"
        print(f"{mutant['name']}: {why}", flush=True)
        if not found:
            missed.append(mutant["name"])
        # What was built with the defect is older than the file now.
        os.utime(file)
    print(f"{len(chosen) - len(missed)} of {len(chosen)} defects found")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
