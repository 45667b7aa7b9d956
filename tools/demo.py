# SPDX-License-Identifier: Apache-2.0
"""The demo: an electric drive in exact time, the same on every machine, and its control loop on this one.

Exit status 1: the drive did not hold in exact time, or here outputs were wrong, records were lost or a worker
died, which no machine excuses.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from consort.base.errors import ConsortError
from consort.base.units import THIN_SPACE

ROOT = Path(__file__).parents[1]
CONSORT = Path(sys.executable).with_name("consort")
SHOWN = {"response", "reaction"}
HEAD = ("", "required", "bound", "simulated", "this run", "")
WORDS = {
    "holds": "holds",
    "disturbed": "holds where the machine did not disturb",
    "cannot be shown": "cannot be shown here",
    "above bound": "above its bound",
    "late": "late",
}
# The second act's choice of the drive's modes and of where its task runs.
MODE, ONLY = "control", "offloaded-off"
# A command may end with these statuses and leave a record: held, not held, undecided.
RECORDED = (0, 1, 4)


def consort(*words: object, runs: Path | None = None) -> subprocess.CompletedProcess[str]:
    place = {"CONSORT_RUNS": str(runs)} if runs is not None else {}
    line = [str(CONSORT), *map(str, words)]
    return subprocess.run(line, capture_output=True, text=True, env={**os.environ, **place})


def run(system: Path, *options: str) -> dict[str, Any]:
    """The one configuration of a run, with the run's folder; ends the demo where nothing was recorded."""
    done = consort("run", system, "--json", *options)
    if done.returncode not in RECORDED or not done.stdout:
        sys.stderr.write(done.stderr)
        raise SystemExit(done.returncode)
    found = json.loads(done.stdout)
    (configuration,) = found["configurations"]
    return {**configuration, "path": found["path"]}


def time(value: Any) -> str:
    """A time in ns as µs."""
    if value is None:
        return "-"
    return "not served" if value == "inf" else f"{float(value) / 1000:,.1f}"


def table(configuration: dict[str, Any]) -> None:
    lines = [HEAD] + [
        (
            f"{row['kind']} {row['subject']}".removeprefix("task "),
            *(time(row[name]) for name in ("required", "bound", "simulated", "undisturbed")),
            WORDS.get(row["outcome"], row["outcome"]),
        )
        for row in configuration["verdict"]["rows"]
        if row["quantity"] in SHOWN
    ]
    widths = [max(len(line[place]) for line in lines) for place in range(5)]
    for line in lines:
        cells = "  ".join(f"{cell:>{width}}" for cell, width in zip(line[1:5], widths[1:], strict=True))
        print(f"   {line[0]:<{widths[0]}}  {cells}  {line[5]}".rstrip())


def measured(folder: Path, seconds: float) -> dict[str, Any]:
    """The control loop on this machine, with this machine's costs and execution times in its description."""
    for name in ("drive", "servo"):
        shutil.copytree(ROOT / "examples" / name, folder / name)
    system = folder / "drive/system.yaml"
    here = folder / "here.yaml"
    probed = consort("probe", "-o", here, "--seconds", 0.3, "--samples", 3000, "--quiet")
    if probed.returncode == 0:
        text = system.read_text(encoding="utf-8")
        system.write_text(text.replace("platform: linux-host", f"platform: {here}"), encoding="utf-8")
    # The one task that runs here, beside no interference, as it then runs.
    alone = ("--mode", MODE, "--task", "servo", "--no-interference", "--duration", "500ms")
    # Where the machine leaves no job undisturbed, the execution times stay the assumed ones.
    consort("profile", system, *alone, "--write", runs=folder / "runs")
    prepare = ("--prepare",) if os.geteuid() == 0 else ()
    return run(system, "--mode", MODE, "--only", ONLY, "--duration", f"{seconds}s", *prepare)


def programs() -> None:
    """Builds the second act's program and its probe. A failure shows in that act."""
    from consort.base.toolchain.compiler import tool
    from consort.model import load_system
    from consort.run.application import build
    from consort.run.options import Options

    with suppress(ConsortError):
        tool("probe")
        system = load_system(ROOT / "examples/drive/system.yaml")
        build(system, lambda _stage, _share: None, Options(mode=MODE, configurations=(ONLY,)))


def sources() -> None:
    """Compiles what both acts need, beside the set-up, which has yet to install what Consort needs."""
    from consort.base.toolchain.compiler import compile_ahead

    with suppress(ConsortError):
        compile_ahead(["probe"])


def main(seconds: float) -> int:
    print("An electric drive moves an arm (examples/drive). All times in µs.")
    print(
        "1. As the paper draws it: a Cortex-R5F is master, a Cortex-A72 computes, x86 has panel and monitor."
    )
    print("   Exact time, the same on every machine:", flush=True)
    # The second act's programs are built beside the first act, whose end leaves a processor idle.
    with subprocess.Popen([sys.executable, __file__, "programs"], stderr=subprocess.DEVNULL):
        exact = run(ROOT / "examples/drive/figure1.yaml", "--for", "virtual")
        table(exact)
    print("2. Its control loop at 20 kHz on this machine, master and worker on a core each:", flush=True)
    with tempfile.TemporaryDirectory(prefix="consort-demo-") as folder:
        here = measured(Path(folder), seconds)
    table(here)
    counts = {task["task"]: task for task in here["verdict"]["tasks"]}["servo"]
    print(
        f"   {counts['on_time']:,} of {counts['released']:,} jobs on time, {counts['disturbed']:,} disturbed"
    )
    defects = [
        f"{here['counters'][key]:,} {key.replace('_', ' ')}"
        for key in ("worker_deaths", "records_lost")
        if here["counters"][key]
    ]
    if here["jobs"]["output_errors"]:
        defects.append(f"{here['jobs']['output_errors']:,} wrong outputs")
    said, stops = here["verdict"]["summary"], here["verdict"]["stops"]
    if defects:
        said = f"a defect: {', '.join(defects)}."
    elif stops is not None and stops["count"]:
        # The summary would say the same of each task.
        said = (
            f"{here['verdict']['ok']}; it stops a core {stops['per_second']:,.0f} times a second, for up to"
            f" {stops['longest_ns'] / 1e6:.1f} ms: shorter deadlines cannot be shown here."
        )
    print()
    print(f"The drive: {exact['verdict']['summary'].replace(THIN_SPACE, ',')}")
    print(f"This machine: {said.replace(THIN_SPACE, ',')}")
    print(
        f"Next: source .venv/bin/activate, then consort report {here['path']} (why each time was what it"
        " was), consort doctor (what stops the cores), consort init (a task of your own); make demo-boards."
    )
    return 0 if exact["verdict"]["ok"] == "held" and not defects else 1


if __name__ == "__main__":
    if sys.argv[1] == "sources":
        sources()
    elif sys.argv[1] == "programs":
        programs()
    else:
        raise SystemExit(main(float(sys.argv[1])))
