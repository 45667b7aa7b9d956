# SPDX-License-Identifier: Apache-2.0
"""mutants.py [NAME...]: puts each defect of tests/mutants.toml into a copy of the tree; its tests must fail.

The test that fails must pass without it. Minutes each. Exit status 0 when every defect was found, 1 when one
was not or its line is no longer there, 2 for a name that is not listed.
"""

from __future__ import annotations

import json
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


def good(*command: str) -> bool:
    log = COPY / "build" / "mutants.log"
    with log.open("ab") as out:
        return subprocess.run(command, cwd=COPY, stdout=out, stderr=subprocess.STDOUT).returncode == 0


def builds(mutant: dict[str, Any]) -> bool:
    if "cpp" in mutant:
        preset, target, _ = mutant["cpp"]
        return good("tools/build-preset.sh", preset, target)
    return not mutant.get("engine") or good("tools/setup-python.sh")


def passes(mutant: dict[str, Any], *, again: bool) -> bool:
    """Says whether the tests of a mutant pass in the copy as it is; `again`: the one that failed last."""
    if "cpp" in mutant:
        preset, _, pattern = mutant["cpp"]
        which = ["--rerun-failed"] if again else ["-R", pattern, "-E", "_NOT_BUILT", "--stop-on-failure"]
        return good("ctest", "--preset", preset, "--no-tests=error", *which)
    which = ["--last-failed", "--last-failed-no-failures=none"] if again else ["--cache-clear"]
    return good(".venv/bin/python", "-m", "pytest", "-q", "-x", "--tier", "test", *which, *mutant["python"])


def failed(mutant: dict[str, Any]) -> str:
    """The test that failed last, by the name that its runner gives it."""
    if "cpp" in mutant:
        kept = COPY / "build" / mutant["cpp"][0] / "Testing" / "Temporary" / "LastTestsFailed.log"
        return str(kept.read_text(encoding="utf-8").splitlines()[0].partition(":")[2])
    kept = COPY / ".pytest_cache" / "v" / "cache" / "lastfailed"
    return str(next(iter(json.loads(kept.read_text(encoding="utf-8")))))


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
        file.write_text(text.replace(mutant["right"], mutant["wrong"]), encoding="utf-8")
        built = builds(mutant)
        red = built and not passes(mutant, again=False)
        test = failed(mutant) if red else ""
        file.write_text(text, encoding="utf-8")
        if not builds(mutant):
            sys.exit(f"{mutant['file']} does not build as it stands")
        found = red and passes(mutant, again=True)
        why = "NOT FOUND" if built else "does not build"
        if red:
            why = f"found by {test}" if found else f"{test} fails without it, too"
        print(f"{mutant['name']}: {why}, {time.monotonic() - begun:.0f} s", flush=True)
        if not found:
            missed.append(mutant["name"])
    print(f"{len(chosen) - len(missed)} of {len(chosen)} defects found")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
