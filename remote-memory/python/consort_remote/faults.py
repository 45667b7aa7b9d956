# SPDX-License-Identifier: Apache-2.0
"""What a fault on remote memory costs, measured with a server: ports/linux/remote/measure.cpp."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Mapping
from typing import Any

from consort.errors import BadInput, EnvironmentLacks
from consort.model.quantities import Duration, Size
from consort.remote.for_runs import OPTION, Server
from consort.toolchain import remote_part


def measure_faults(server: Server, cpu: int, *, samples: int) -> dict[str, Any]:
    """The program's report, times in picoseconds: faults in a thread on `cpu`, while the cache evicts.

    Raises BadInput where the server refuses, EnvironmentLacks where it is not there or is lost meanwhile.
    """
    command = [str(remote_part("measure")), "--server", server.address, "--key", str(server.key)]
    command += ["--cpu", str(cpu), "--samples", str(samples)]
    done = subprocess.run(command, capture_output=True, text=True)
    words = done.stderr.strip().removeprefix("consort-remote-measure: ")
    if done.returncode == 2:
        raise BadInput(words, field=OPTION)
    if done.returncode != 0:
        killed = signal.Signals(-done.returncode).name if done.returncode < 0 else ""
        raise EnvironmentLacks(f"measuring faults failed: {words or killed}", "see that the server runs")
    report: dict[str, Any] = json.loads(done.stdout)
    over_tcp = not server.address.startswith("/")
    return {"transport": f"{server.address} over TCP" if over_tcp else "a server of this machine", **report}


def fault_data(report: Mapping[str, Any], machine: str) -> dict[str, Any]:
    """`fault` of a memory in a platform file. No fault of the report took longer than it says."""
    page, write = report["page"], report["write"]
    apart = "" if report["apart"] else " on the same processor"
    how = (
        f"fault in a {report['policy']} thread, pages of {report['transport']}, while a cache of"
        f" {Size.spelled(report['cache'])} evicts{apart} ({report['evicted']} pages,"
        f" {report['waits']} waits for a free one); waits and interruptions included"
    )
    single = (run["max"] for run in report["runs"] if run["pages"] == 1)
    longest = max(page["max"], write.get("max", 0), *single)
    runs = [run for run in report["runs"] if run["pages"] > 1]
    made = {
        "page": {
            "value": str(Duration(longest)),
            "measured": f"{how}, high-water mark of n = {page['n'] + write['n']}, {machine}",
        }
    }
    if runs:
        # Above the median of one page, so that `page` and this together are at least what each run took.
        further = max(-(-(run["max"] - page["median"]) // (run["pages"] - 1)) for run in runs)
        made["further"] = {
            "value": str(Duration(max(0, further))),
            "measured": f"{how}, of n = {sum(run['n'] for run in runs)} faults that brought"
            f" {runs[0]['pages']} to {runs[-1]['pages']} pages, {machine}",
        }
    return made
