# SPDX-License-Identifier: Apache-2.0
"""The cost of a fault on remote memory, measured with a server: pager/measure.cpp."""

from __future__ import annotations

import json
import signal
from typing import Any

from consort.base.children import finished
from consort.base.errors import BadInput, EnvironmentLacks
from consort.base.packages import OPTION, Server

from consort_remote.toolchain import remote_part


def measure_faults(server: Server, cpu: int, *, samples: int) -> dict[str, Any]:
    """The program's report, times in picoseconds: faults in a thread on `cpu`, while the cache evicts.

    Raises BadInput where the server refuses, EnvironmentLacks where it is not there or is lost meanwhile.
    """
    command = [str(remote_part("measure")), "--server", server.address, "--key", str(server.key)]
    command += ["--cpu", str(cpu), "--samples", str(samples)]
    done = finished(command)
    words = done.stderr.strip().removeprefix("consort-remote-measure: ")
    if done.returncode == 2:
        raise BadInput(words, field=OPTION)
    if done.returncode != 0:
        killed = signal.Signals(-done.returncode).name if done.returncode < 0 else ""
        raise EnvironmentLacks(f"measuring faults failed: {words or killed}", "see that the server runs")
    report: dict[str, Any] = json.loads(done.stdout)
    over_tcp = not server.address.startswith("/")
    return {"transport": f"{server.address} over TCP" if over_tcp else "a server of this machine", **report}
