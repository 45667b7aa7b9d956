# SPDX-License-Identifier: Apache-2.0
"""Measures this machine's costs for a real-time application, and writes them as a platform file.

Every time is a high-water mark: the longest seen in a stated number of samples. It is not a bound: the next
sample may be longer. Samples that can hold an interruption of the measuring thread are not among them,
because an interruption is not the operation's cost; the file says how many there were and how long.
"""

from __future__ import annotations

import json
import os
import platform as host
import signal
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from consort.base.environment import show_cpus
from consort.base.errors import BadInput, EnvironmentLacks
from consort.base.toolchain.compiler import tool
from consort.base.waiting import Continuer, stop_if_asked
from consort.model.platform import find_platform, load_platform
from consort.model.quantities import DataRate, Duration, Size

_PARTS = ("wakeup", "busy", "switch", "memory", "exchange", "signal")


class Probe:
    """The program that measures, at work; it ends with the block, and with this process.

    `options`: what else the program is given; the others are those of `measure`.
    """

    def __init__(
        self,
        cpus: Sequence[int],
        *,
        seconds: float = 1.0,
        samples: int = 20_000,
        parts: Sequence[str] = _PARTS,
        options: Sequence[str] = (),
    ) -> None:
        self._command = [str(tool("probe")), "--measure", ",".join(parts), "--cpus", show_cpus(cpus)]
        self._command += ["--seconds", str(seconds), "--samples", str(samples), *options]

    def __enter__(self) -> Probe:
        # Files, because who waits for several reads none of them before its end.
        self._said, self._words = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            [*self._command, "--parent", str(os.getpid())], stdout=self._said, stderr=self._words
        )
        self._stops = Continuer(self._process.pid)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._said.close()
        self._words.close()

    def ended(self, within_s: float) -> bool:
        """True once the program has ended, which is waited for so long."""
        stop_if_asked()
        self._stops.look()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(within_s)
        return self._process.returncode is not None

    def report(self) -> dict[str, Any]:
        """What the program found, once it has ended."""
        status = self._process.wait()
        self._words.seek(0)
        words = self._words.read().decode(errors="replace").strip()
        if status == 2:
            raise BadInput(words.removeprefix("consort-probe: "))
        if status != 0:
            killed = signal.Signals(-status).name if status < 0 else ""
            raise EnvironmentLacks(
                f"measuring failed: {words or killed}", "see what the program says, or use fewer CPUs"
            )
        self._said.seek(0)
        report: dict[str, Any] = json.load(self._said)
        return report


def measure(
    cpus: Sequence[int],
    *,
    seconds: float = 1.0,
    samples: int = 20_000,
    parts: Sequence[str] = _PARTS,
) -> dict[str, Any]:
    """The program's report, times in picoseconds; blocks for some seconds and each pair of `cpus`.

    `seconds`: length of each series limited by time; `samples`: number of samples of each other one.
    Raises BadInput for CPUs that cannot be used, EnvironmentLacks where the machine or the program fails.
    """
    with Probe(cpus, seconds=seconds, samples=samples, parts=parts) as probe:
        while not probe.ended(0.2):
            pass
        return probe.report()


BASE = "linux-host"
MEMORY = "shm"
Series = dict[str, Any]


def platform_data(report: dict[str, Any], environment: dict[str, Any], name: str) -> dict[str, Any]:
    """The platform as plain data. `report` is the probe's, `environment` that of `consort.record`.

    A part that the machine refused (no permission for SCHED_FIFO) has no figures. Raises EnvironmentLacks
    where none was measured at all.
    """
    base = load_platform(find_platform(BASE, Path()))
    data: dict[str, Any] = base.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_unset=True)
    source = _Source(report, environment)
    data["name"] = name
    data["description"] = f"{environment.get('cpu') or host.machine()}, measured by consort probe"
    figures = _cores(report, source)
    for group in data["cores"].values():
        group |= figures
    access = _memory(report, source)
    if access:
        data["memories"][MEMORY]["access"] = access
    for memory, faults in report.get("remote", {}).items():
        data["memories"][memory] = {"kind": "remote", "fault": fault_data(faults, source.machine_only)}
    exchanges = dict(_exchanges(report, source)) | _signal(report, source)
    data["exchanges"] = data.get("exchanges", {}) | exchanges
    if not (figures or access or exchanges):
        by_machine = any("refused" in entry for part in _PARTS for entry in report.get(part, ()))
        remedy = "run as root, or give CAP_SYS_NICE" if by_machine else "give it more --seconds"
        raise EnvironmentLacks(f"nothing could be measured: {refusals(report)[0]}", remedy)
    return data


def refusals(report: dict[str, Any]) -> list[str]:
    """The machine's refusals, each with the part of the probe, and the series that have no sample."""
    found = []
    for part in _PARTS:
        for entry in report.get(part, ()):
            if "refused" in entry:
                found.append(f"{part}: {entry['refused']}")
            elif empty := _without_samples(entry):
                ways = ", ".join(filter(None, empty))
                found.append(f"{part}: no sample{f' of {ways}' if ways else ''} was taken; give more seconds")
    return found


def _without_samples(entry: dict[str, Any]) -> list[str]:
    """The series of an entry that have no sample, by their names; of the entry itself it is empty."""
    series = {"": entry, **{name: one for name, one in entry.items() if isinstance(one, dict)}}
    return [name for name, one in series.items() if "disturbed" in one and not one["n"]]


def comment(report: dict[str, Any], environment: dict[str, Any]) -> str:
    """Notes that a reader of the file must know before using a figure."""
    lines = [
        "SPDX-License-Identifier: Apache-2.0",
        f"Measured by `consort probe` on {environment['date']}, CPUs {', '.join(map(str, report['cpus']))}.",
        f"Linux {environment['kernel']} ({environment['preemption']}), isolated CPUs:"
        f" {environment['isolated'] or 'none'}, hypervisor: {'yes' if environment['hypervisor'] else 'no'},"
        f" clock: {report['clock']['name']}.",
        "Each time is the longest of n samples (a high-water mark), and no bound: the next may be longer.",
        "The shortest interruption of a busy thread was"
        f" {_us(report['interruption_ns'] * 1000) if report['interruption_ns'] else 'not seen'}. Samples that"
        " lasted longer than the median by that",
        "can hold one; they are counted as disturbed and are in no figure but timer_lateness and signal.",
    ]
    for entry in _measured(report, "wakeup"):
        lines.append(
            f"Wake-up from a sleep on CPU {entry['cpu']}: median {_us(entry['median'])}, p99.9"
            f" {_us(entry['p999'])}, longest {_us(entry['max'])} late, n = {entry['n']}."
        )
    for entry in _measured(report, "busy"):
        stopped, interrupted = entry["stopped"], entry["interrupted"]
        lines.append(
            f"Busy thread on CPU {entry['cpu']}, {entry['lasted'] / 1e12:.1f} s: throttled or preempted"
            f" {stopped['n']} times, longest {_us(stopped['longest'])}; interrupted {interrupted['n']} times,"
            f" longest {_us(interrupted['longest'])}."
        )
    for memory, faults in report.get("remote", {}).items():
        page = faults["page"]
        lines.append(
            f"Fault on {memory}, {faults['transport']}: median {_us(page['median'])}, p99.9"
            f" {_us(page['p999'])}, longest {_us(page['max'])}, n = {page['n']}."
        )
    return "\n".join([*lines, *(f"Not measured: {text}" for text in refusals(report))])


class _Source:
    """The source of a figure: what was timed, of how many samples, on which machine and kernel."""

    def __init__(self, report: dict[str, Any], environment: dict[str, Any]) -> None:
        virtual = ", virtual machine" if environment.get("hypervisor") else ""
        self.machine_only = (
            f"{environment.get('cpu') or host.machine()}{virtual}, Linux {environment['kernel']}"
        )
        self.machine = f"{self.machine_only}, {report['policy']}"

    def __call__(self, what: str, samples: Iterable[Series]) -> str:
        """`samples`: the series that the figure is the longest of."""
        series = list(samples)
        count, disturbed = (sum(entry[key] for entry in series) for key in ("n", "disturbed"))
        longest = max(entry["longest_disturbed"] for entry in series)
        apart = f"{disturbed} disturbed, longest {_us(longest)}" if disturbed else "none disturbed"
        return f"{what}, high-water mark of n = {count} ({apart}), {self.machine}"


def _measured(report: dict[str, Any], part: str) -> list[dict[str, Any]]:
    entries = report.get(part, ())
    return [entry for entry in entries if "refused" not in entry and not _without_samples(entry)]


def _longest(series: Iterable[Series]) -> int:
    return max(int(entry["max"]) for entry in series)


def _duration(picoseconds: int) -> str:
    return str(Duration(picoseconds))


def _us(picoseconds: int) -> str:
    return f"{picoseconds / 1e6:,.1f} µs"


def _cores(report: dict[str, Any], source: _Source) -> dict[str, Any]:
    """Figures that every core has. The analyses charge one figure for each way of getting from task to
    task."""
    figures: dict[str, Any] = {}
    switches = _measured(report, "switch")
    if switches:
        series = [entry[way] for entry in switches for way in ("yield", "dispatch", "resume")]
        what = "switch between two threads of a CPU by yield, wake-up and block"
        figures["context_switch"] = {"value": _duration(_longest(series)), "measured": source(what, series)}
    wakeups = _measured(report, "wakeup")
    if wakeups:
        what = "wake-up from an absolute sleep"
        figures["timer_lateness"] = {"value": _duration(_longest(wakeups)), "measured": source(what, wakeups)}
    return figures


def _memory(report: dict[str, Any], source: _Source) -> dict[str, Any]:
    entries = _measured(report, "memory")
    alone = [entry for entry in entries if not entry["loaded_by"]]
    if not alone:
        return {}
    result = _access(alone, "alone", source)
    if len(alone) < len(entries):
        # Figures that were seen alone can be seen under load as well.
        result["loaded"] = _access(entries, "with a memory stream on every other CPU or none", source)
    return result


def _access(entries: list[dict[str, Any]], how: str, source: _Source) -> dict[str, Any]:
    words, copies = ([entry[key] for entry in entries] for key in ("access", "copy"))
    block = entries[0]["block_bytes"]
    rate = block * 10**12 // _longest(copies)
    return {
        "base": {
            "value": _duration(_longest(words)),
            "measured": source(f"read of a word that no cache holds, {how}", words),
        },
        "rate": {
            "value": str(DataRate(rate)),
            "measured": source(f"slowest copy of {block} bytes, {how}", copies),
        },
    }


def _exchanges(report: dict[str, Any], source: _Source) -> Iterator[tuple[str, dict[str, Any]]]:
    for entry in _measured(report, "exchange"):
        first, second, size = entry["first"], entry["second"], entry["bytes"]
        ways = (
            ("there", f"cpu{first}-to-cpu{second}", False),
            ("back", f"cpu{second}-to-cpu{first}", False),
            ("round_trip", f"cpu{first}-cpu{second}-cpu{first}", True),
        )
        for way, path, round_trip in ways:
            series = entry[way]
            yield (
                f"{path}-{size}",
                {
                    "from": "host",
                    "to": "host",
                    "memory": MEMORY,
                    "size": f"{size}B",
                    **({"round_trip": True} if round_trip else {}),
                    **{key: _duration(series[key]) for key in ("min", "median", "max")},
                    "measured": source("mailbox between two spinning threads", [series]),
                },
            )


def _signal(report: dict[str, Any], source: _Source) -> dict[str, Any]:
    """The longest signal time of all CPUs: a description does not say which CPU plays a core."""
    series = [entry["wake"] for entry in _measured(report, "signal")]
    if not series:
        return {}
    what = "wake-up of a thread that sleeps on another CPU, by a futex"
    return {
        "signal": {
            "from": "host",
            "to": "host",
            "max": {"value": _duration(_longest(series)), "measured": source(what, series)},
        }
    }


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
