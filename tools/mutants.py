# SPDX-License-Identifier: Apache-2.0
"""mutants.py [NAME...]: puts each defect of tests/mutants.toml into a copy of the tree; its tests must fail.

The same tests pass without it first. Minutes each. Exit status 0 when every defect was found, 1 when one was
not or its line is no longer there, 2 for a name that is not listed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "tests" / "mutants.toml"
COPY = ROOT / "build" / "mutants"


def mutants() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = tomllib.loads(LIST.read_text(encoding="utf-8"))["mutant"]
    return found


def passes(mutant: dict[str, Any]) -> bool | None:
    """Says whether the tests of a mutant pass in the copy as it is; None where it does not build."""

    def good(*command: str) -> bool:
        log = COPY / "build" / "mutants.log"
        with log.open("ab") as out:
            return subprocess.run(command, cwd=COPY, stdout=out, stderr=subprocess.STDOUT).returncode == 0

    if "cpp" in mutant:
        preset, target, pattern = mutant["cpp"]
        if not good("tools/build-preset.sh", preset, target):
            return None
        return good("ctest", "--preset", preset, "-R", pattern, "-E", "_NOT_BUILT", "--no-tests=error")
    if mutant.get("engine") and not good("tools/setup-python.sh"):
        return None
    return good(".venv/bin/python", "-m", "pytest", "-q", "-x", "--tier", "test", *mutant["python"])


def copied() -> None:
    """A clone of the tree with the changes that are not committed, and environments of its own."""
    shutil.rmtree(COPY, ignore_errors=True)
    subprocess.run(["git", "clone", "-q", str(ROOT), str(COPY)], check=True)
    changed = subprocess.run(["git", "diff", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
    if changed:
        subprocess.run(["git", "apply"], cwd=COPY, input=changed, check=True)
    (COPY / "build").mkdir()
    for step in ("tools/setup-python.sh", "remote-memory/tools/setup-rtl.sh"):
        subprocess.run([step], cwd=COPY, check=True)


def main() -> None:
    listed = {mutant["name"]: mutant for mutant in mutants()}
    if unknown := set(sys.argv[1:]) - listed.keys():
        print(f"not in {LIST.name}: {', '.join(sorted(unknown))}", file=sys.stderr)
        sys.exit(2)
    chosen = [listed[name] for name in sys.argv[1:] or listed]
    copied()
    missed = []
    for mutant in chosen:
        file = COPY / mutant["file"]
        text = file.read_text(encoding="utf-8")
        if (times := text.count(mutant["right"])) != 1:
            print(f"{mutant['name']}: does not apply, for {mutant['file']} has its line {times} times")
            missed.append(mutant["name"])
            continue
        begun = time.monotonic()
        before = passes(mutant)
        file.write_text(text.replace(mutant["right"], mutant["wrong"]), encoding="utf-8")
        after = passes(mutant) if before else None
        file.write_text(text, encoding="utf-8")
        found = after is False
        why = "found" if found else "NOT FOUND" if after else "does not build, or its tests fail without it"
        print(f"{mutant['name']}: {why}, {time.monotonic() - begun:.0f} s", flush=True)
        if not found:
            missed.append(mutant["name"])
        # Files that were built with the defect are older than the source now.
        os.utime(file)
        if mutant.get("engine"):
            subprocess.run(["tools/setup-python.sh"], cwd=COPY, check=True, stdout=subprocess.DEVNULL)
    print(f"{len(chosen) - len(missed)} of {len(chosen)} defects found")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
