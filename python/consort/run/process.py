# SPDX-License-Identifier: Apache-2.0
"""Runs a program that records: its machine set up for it, its end, its notes, the machine's deficiencies."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from consort.base.children import finished
from consort.base.environment import usable_cpus
from consort.base.errors import BadInput, EnvironmentLacks, SystemFails, remedy_for
from consort.base.waiting import STOPPED_S, Continuer, Progress, signal_words, stop_if_asked
from consort.judge.disturbance import INTERRUPT, PREEMPTED, THROTTLED
from consort.judge.stops import Stops, stops_of
from consort.machine.prepare import Prepared, prepared
from consort.machine.probe import Probe
from consort.plan import Plan
from consort.record.ran import write_plan
from consort.record.raw import MANIFEST
from consort.run.far_memory import interfering
from consort.run.options import Options, duration_of

# A finding ends the process by a signal, which the executive ascribes to a task and a job. What a process
# still has when it ends is not a leak of a step.
ENVIRONMENT = {
    "ASAN_OPTIONS": "abort_on_error=1:detect_leaks=0:print_legend=0",
    "UBSAN_OPTIONS": "halt_on_error=1:abort_on_error=1:print_stacktrace=1",
}

_UNDEFINED = re.compile(r"^(?P<where>\S+?:\d+:\d+): runtime error: (?P<what>.+)$")
_ADDRESS = re.compile(r"^SUMMARY: AddressSanitizer: (?P<what>\S+) (?P<where>.+)$")
_ACCESS = re.compile(r"^(?P<access>READ|WRITE) of size (?P<bytes>\d+) ")
_REPORT = re.compile(
    r"^(=+\d*=*|==\d+==.*|SUMMARY: .*|\s*#\d+ .*|(READ|WRITE) of size .*|\s*|"
    r"(?P<note>(0x[0-9a-f]+|Address 0x[0-9a-f]+|HINT|AddressSanitizer:DEADLYSIGNAL|allocated by|freed by|"
    r"previously allocated|Shadow bytes|\s*=?>?0x[0-9a-f]+:).*)|\s*\[\d+, \d+\).*|\s*This frame has .*|"
    r"\s*\(longjmp .*|.* is located .*|Thread T\d+ .*|(/\S*|\S+\.[ch]pp):\d+:\d+: note:.*)$"
)


def findings_in(words: str) -> tuple[list[str], str]:
    """The findings in what a program said, and what else it said."""
    lines = words.splitlines()
    if not any(_UNDEFINED.match(line) or _ADDRESS.match(line) for line in lines):
        return [], words
    findings: list[str] = []
    access = ""
    rest = []
    for line in lines:
        if undefined := _UNDEFINED.match(line):
            findings.append(f"undefined behaviour at {undefined['where']}: {undefined['what']}")
        elif address := _ADDRESS.match(line):
            findings.append(f"{address['what']}{access} at {address['where']}")
            access = ""
        elif found := _ACCESS.match(line):
            access = f", a {found['access'].lower()} of {found['bytes']} bytes,"
        elif not _REPORT.match(line):
            rest.append(line)
    return list(dict.fromkeys(findings)), "\n".join(rest).strip()


def execute(
    command: list[str],
    seconds: float,
    what: str,
    progress: Progress,
    *,
    environment: Mapping[str, str] | None = None,
    notes: list[str] | None = None,
    hangs: Callable[[int], bool] = lambda _pid: False,
) -> tuple[int, str]:
    """Runs a program to its end, and returns its status and its words on standard error.

    An interruption of this process ends it too. `seconds` is for the bar alone: how long it may take.
    `environment`: variables beside those of this process; `notes`: what happened to it is added to them.
    `hangs(pid)`, where it says so it is killed.
    """
    started = time.monotonic()
    with tempfile.TemporaryFile() as words:
        process = subprocess.Popen(
            command, stderr=words, stdout=subprocess.DEVNULL, env={**os.environ, **(environment or {})}
        )
        stops = Continuer(process.pid)
        try:
            while True:
                try:
                    status = process.wait(timeout=0.2)
                    break
                except subprocess.TimeoutExpired:
                    stop_if_asked()
                    stops.look()
                    if hangs(process.pid):
                        process.kill()
                    progress(what, min(1.0, (time.monotonic() - started) / max(seconds, 0.001)))
        except BaseException:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            raise
        if stops.times and notes is not None:
            notes.append(f"the supervisor was stopped, and was continued after {STOPPED_S:.0f} s")
        words.seek(0)
        return status, words.read().decode(errors="replace").strip()


def add_note(raw: Path, note: str) -> None:
    """Adds a note to a finished recording, beside those of the program itself."""
    from consort.base.files import write_json
    from consort.record.raw import MANIFEST

    manifest = json.loads((raw / MANIFEST).read_text(encoding="utf-8"))
    manifest["realtime"].setdefault("notes", []).append(note)
    write_json(raw / MANIFEST, manifest)


# The exit status of a run to whose end a core ended otherwise than by finishing (linux/program.hpp).
CORE_FAILS = 4


@dataclass(frozen=True)
class Launched:
    """The results of a program that ended.

    `command` started it and starts a replay with `--replay`. `status` is its exit status: 0, 1 where the run
    ended before its last job, or `CORE_FAILS`, with `words` on standard error, and `findings` of sanitizers
    among them.
    """

    raw: Path
    command: list[str]
    status: int
    words: str
    findings: tuple[str, ...]
    interference: Path | None
    notes: tuple[str, ...]


def launch(
    program: Path,
    config: Mapping[str, Any],
    folder: Path,
    what: str,
    progress: Progress,
    *,
    plan: Plan,
    sources: Sequence[str] = (),
    cpus: Sequence[int] = (),
    summary: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> Launched:
    """Runs `program` once, with interference from `sources` on `cpus`, and leaves the recording in `folder`.

    `what` names the run for the user; `plan` is the one that runs; `summary`: the memory that a watcher looks
    at; `environment`: variables beside those of this process. Without a recording it raises `BadInput`,
    `EnvironmentLacks` or `SystemFails`, as the program ended.
    """
    config_file = folder / "config.json"
    config_file.write_text(json.dumps(config), encoding="utf-8")
    raw = folder / "raw"
    raw.mkdir()
    seconds = config["record"]["duration_ns"] / 1e9
    command = [str(program), "--config", str(config_file), "--raw", str(raw)]
    with interfering(sources, cpus, 3 * seconds + 60, folder / "interference") as state:
        # The application ends with this process, also when it is killed.
        watched = ["--summary", summary] if summary is not None else []
        whole = [*command, *watched, "--parent", str(os.getpid())]
        notes: list[str] = []
        status, words = execute(whole, seconds, what, progress, environment=environment, notes=notes)
    findings, words = findings_in(words)
    if status < 0:
        words = "\n".join(filter(None, [words, f"the supervisor was ended by {signal_words(-status)}"]))
        if not (raw / MANIFEST).is_file():
            # Its processes ended with it. What the recorder had written is kept.
            finished([*command, "--complete"])
    # Bad input and a lacking machine end a run before its first job, perhaps after the recorder has begun.
    if not (raw / MANIFEST).is_file() or (status in (2, 3) and not _has_jobs(raw)):
        message = "; ".join([*findings, words] if words else findings)
        message = message or f"the application ended with status {status}"
        if status == 2:
            raise BadInput(message, file=plan.file)
        if status == 3:
            raise EnvironmentLacks(message, remedy_for(words) or "see `consort doctor`")
        raise SystemFails(f"{what}: {message}; nothing was recorded")
    # Not before: the recorder takes an empty folder alone.
    write_plan(raw, plan)
    other = state.raw if state.raw is not None and (state.raw / MANIFEST).is_file() else None
    return Launched(raw, command, status, words, tuple(findings), other, (*state.notes, *notes))


def _has_jobs(raw: Path) -> bool:
    tables = json.loads((raw / MANIFEST).read_text(encoding="utf-8"))["tables"]
    return any(table["name"] == "jobs" and table["rows"] for table in tables)


# Of all that can disturb a job, the causes that the settings of `--prepare` keep away.
KEPT_AWAY = (INTERRUPT, PREEMPTED, THROTTLED)


@contextmanager
def prepared_machine(made: Plan, options: Options) -> Iterator[Prepared]:
    """Sets the machine up while the block runs, and restores it however the block ends."""
    usable = usable_cpus()
    wanted = len(made.cores) + bool(made.three_phase_cores)
    cpus, housekeeping = usable[:wanted], usable[wanted:]
    if not housekeeping and made.run.time_base == "spin":
        raise BadInput(
            "the run uses every CPU and its cores never sleep: with the kernel's limit on real-time time"
            " lifted nothing else of the machine would run; write 'hybrid' or 'sleep'",
            file=made.file,
            field="run.time_base",
        )
    seconds = duration_of(made, options) * options.time_scale / 1e12
    configurations = len(options.configurations or made.run.configurations)
    with prepared(cpus, housekeeping, limit_s=configurations * (3 * seconds + 120)) as found:
        yield found


# A gap below this [µs] is that of a clock that is read.
GAP_US = 2.0
# A watch lasts as long as the jobs of a task were under way, but at least and at most so long [s].
SHORTEST, LONGEST = 2.0, 60.0
# So many gaps of each CPU have a length; the others are counted.
LISTED = 4096


def watch(cpus: Sequence[int], under_way_s: float, progress: Progress, *, realtime: bool) -> Stops | None:
    """Spins on all of `cpus` at once and returns what stopped that.

    `under_way_s`: the time in which jobs of a task were under way. `realtime`: in the class of the run's own
    threads (SCHED_FIFO) instead of the ordinary one. None where the program that watches cannot be built, or
    is refused a CPU.
    """
    options = ["--gap-us", str(GAP_US), "--lengths", str(LISTED), *([] if realtime else ["--ordinary"])]
    seconds = min(LONGEST, max(under_way_s, SHORTEST))

    began = time.monotonic()
    try:
        with ExitStack() as together:
            probes = {
                cpu: together.enter_context(Probe([cpu], seconds=seconds, parts=("busy",), options=options))
                for cpu in cpus
            }
            for probe in probes.values():
                while not probe.ended(0.2):
                    share = min(1.0, (time.monotonic() - began) / seconds)
                    progress("times were too long: watching what stops the CPUs", share)
            return stops_of({cpu: probe.report()["busy"][0] for cpu, probe in probes.items()})
    except (BadInput, EnvironmentLacks):
        return None
