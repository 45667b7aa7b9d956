# SPDX-License-Identifier: Apache-2.0
"""Prints one table of the demo's runs: bound, simulated, measured and verdict, and last who did what.

Exit status 1: outputs were wrong, records were lost or a worker died, which no machine excuses.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from consort.record import Held
from consort.record.status import STATUS
from consort.report.lines import headline

WORDS = {
    "holds": "holds",
    "above bound": "ABOVE",
    "late": "LATE",
    "disturbed": "holds where undisturbed",
    "no bound": "no bound",
    "not seen": "NOT SEEN",
    "not due": "not seen",
    "not judged": "not judged",
}
SHOWN = {"response", "reaction", "age"}
HEAD = ("", "required", "bound", "simulated", "undisturbed", "longest", "verdict")


def time(value: Any) -> str:
    """A time in ns as µs; nothing where there is none."""
    if value is None:
        return "-"
    if value == "inf":
        return "not served"
    return f"{float(value) / 1000:,.1f}"


def rows(configuration: dict[str, Any]) -> list[tuple[str, ...]]:
    verdict = configuration["verdict"]
    return [
        (
            f"{row['subject']} {row['quantity']}",
            time(row["required"]),
            time(row["bound"]),
            time(row["simulated"]),
            time(row["undisturbed"]),
            time(row["seen"]),
            WORDS[row["outcome"]],
        )
        for row in verdict["rows"]
        if row["quantity"] in SHOWN
    ]


def printed(configurations: list[dict[str, Any]]) -> None:
    tables = [(c, rows(c)) for c in configurations]
    widths = [max(len(line[i]) for line in (HEAD, *(row for _, t in tables for row in t))) for i in range(7)]

    def line(cells: tuple[str, ...]) -> str:
        middle = "  ".join(f"{cell:>{width}}" for cell, width in zip(cells[1:6], widths[1:6], strict=True))
        return f"  {cells[0]:<{widths[0]}}  {middle}  {cells[6]}".rstrip()

    print("All times in µs; undisturbed: the longest where the machine did not disturb.")
    print(line(HEAD))
    for configuration, table in tables:
        counts = configuration["verdict"]["tasks"]
        on_time = ", ".join(f"{c['task']} {c['on_time']:,} of {c['released']:,} on time" for c in counts)
        print(f"{configuration['name']}: {on_time}")
        for row in table:
            print(line(row))


def main(files: list[str]) -> int:
    loaded = [json.loads(Path(file).read_text(encoding="utf-8")) for file in files]
    configurations = []
    for run in loaded:
        for one in run["configurations"]:
            folder = Path(run["path"])
            record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
            config = next(c for c in record["configurations"] if c["key"] == one["key"])["config"]
            slow = f", {config['time_scale']:g} times slower" if config["time_scale"] != 1 else ""
            part = "the whole drive" if len(config["tasks"]) > 1 else "the control loop alone"
            status = pq.read_table(folder / one["key"] / "jobs.parquet", columns=["status"])[
                "status"
            ].to_numpy()
            wrong = int(np.count_nonzero(status & STATUS["output_errors"]))
            configurations.append({**one, "wrong": wrong, "name": f"{part}{slow}; {one['name']}"})
    printed(configurations)
    print()
    defects = []
    for one in configurations:
        found = {"wrong outputs": one["wrong"]}
        found |= {key.replace("_", " "): one["counters"][key] for key in ("worker_deaths", "records_lost")}
        defects += [f"{one['name']}: {count:,} {what}" for what, count in found.items() if count]
    for run in loaded:
        print(f"report: {run['path']}/report.html")
    disturbed = sum(c["disturbed"] for one in configurations for c in one["verdict"]["tasks"])
    missed = sum(c["disturbed_misses"] for one in configurations for c in one["verdict"]["tasks"])
    own = sum(
        c["late"] + c["unserved"] - c["disturbed_misses"]
        for one in configurations
        for c in one["verdict"]["tasks"]
    )
    jobs = sum(c["released"] for one in configurations for c in one["verdict"]["tasks"])
    above = sum(row["above"] for one in configurations for row in one["verdict"]["rows"])
    machine = (
        f"The machine disturbed {disturbed:,} of {jobs:,} jobs; {missed:,} of these missed their deadlines."
    )
    if defects:
        print(f"{machine} The system did not hold: {'; '.join(defects)}.")
        return 1
    expected = sum(u["expected"] for one in configurations for u in one["verdict"]["unseen"])
    host = (
        f" By how often the host takes cores that wait, it came into {expected:,.0f} of these jobs or more"
        " without a trace."
        if expected >= 1
        else ""
    )
    undecided = [
        reason
        for one in configurations
        if one["verdict"]["ok"] == Held.UNDECIDED
        for reason in one["verdict"]["reasons"]
    ]
    failed = [
        reason
        for one in configurations
        if one["verdict"]["ok"] == Held.NOT_HELD
        for reason in one["verdict"]["reasons"]
    ]
    if own or above:
        last = (
            f"Of the jobs that it was not seen to disturb, {own:,} missed their deadlines, and {above:,}"
            " samples were above their bounds: the system did not hold, or the machine stopped it unseen"
            f" (`consort doctor` says what it lacks).{host} No output was wrong."
        )
    elif failed or undecided:
        word = Held.NOT_HELD if failed else Held.UNDECIDED
        last = f"{headline(word)}: {'; '.join(failed or undecided)}. No output was wrong."
    else:
        last = "The system held: every other job met its deadline and its bound, and no output was wrong."
    print(f"{machine} {last}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
