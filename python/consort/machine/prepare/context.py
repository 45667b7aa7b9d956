# SPDX-License-Identifier: Apache-2.0
"""`prepared`: a machine that is set up for real time for the duration of a `with` block."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from consort.base.environment import show_cpus
from consort.base.errors import BadInput, EnvironmentLacks
from consort.machine.prepare import settings, watchdog
from consort.machine.prepare.settings import Refusal, Setting, Source, Target

# Heartbeats that may stay out before the watchdog restores. A machine on which the run's ordinary thread gets
# no processor for that long is locked up by its real-time threads.
MISSED_HEARTBEATS = 10


@dataclasses.dataclass(frozen=True)
class Restoration:
    """The restoration of the settings: `why`, what others had `changed` meanwhile, and what `failed`.

    `early`: they were restored before the block ended, so the rest of it ran on an unprepared machine.
    """

    why: str
    early: bool
    changed: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


class Prepared:
    """The settings of a run, those that could not be set, and, after the run, their restoration."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.settings: list[Setting] = []
        self.refusals: list[Refusal] = []
        self.notes: list[str] = []
        self.restoration: Restoration | None = None

    def to_json(self) -> dict[str, Any]:
        """Data for the run's record: `cpus`, `housekeeping`, `set`, `refused`, `notes`, `restored`.

        Each of `set` has `what`, `from`, `to`, and `names` where it stands for several alike; each of
        `refused` has `what`, `why` and `names`. `restored` is null until the block has ended.
        """
        return {
            "cpus": sorted(self.target.cpus),
            "housekeeping": sorted(self.target.housekeeping),
            "set": [
                {"what": group, "from": before, "to": after, **_names(group, names)}
                for (group, before, after), names in self._grouped().items()
            ],
            "refused": [
                {"what": group, "why": why, **_names(group, names)}
                for (group, why), names in self._grouped_refusals().items()
            ],
            "notes": list(self.notes),
            "restored": dataclasses.asdict(self.restoration) if self.restoration else None,
        }

    def lines(self) -> list[str]:
        """The same in words, one line each."""
        lines = [
            f"{_counted(group, names)}: {before} -> {after}"
            for (group, before, after), names in self._grouped().items()
        ]
        lines += [
            f"{_counted(group, names)}: not set: {why}"
            for (group, why), names in self._grouped_refusals().items()
        ]
        lines += self.notes
        if self.restoration is not None:
            if self.restoration.early:
                lines.append(f"restored before the run had ended: {self.restoration.why}")
            lines += [f"changed by another program, left so: {text}" for text in self.restoration.changed]
            lines += [f"NOT restored: {text}" for text in self.restoration.failed]
        return lines

    def _grouped(self) -> dict[tuple[str, str, str], list[str]]:
        groups: dict[tuple[str, str, str], list[str]] = {}
        for setting in self.settings:
            groups.setdefault((setting.group, setting.before, setting.after), []).append(setting.what)
        return groups

    def _grouped_refusals(self) -> dict[tuple[str, str], list[str]]:
        groups: dict[tuple[str, str], list[str]] = {}
        for refusal in self.refusals:
            groups.setdefault((refusal.group, refusal.why), []).append(refusal.what)
        return groups


def _names(group: str, names: list[str]) -> dict[str, list[str]]:
    return {} if names == [group] else {"names": names}


def _counted(group: str, names: list[str]) -> str:
    if names == [group]:
        return group
    return f"{group} {names[0]}" if len(names) == 1 else f"{group} ({len(names)})"


@contextlib.contextmanager
def prepared(
    cpus: Collection[int],
    housekeeping: Collection[int],
    *,
    limit_s: float = 3600.0,
    heartbeat_s: float = 1.0,
    sources: Sequence[Source] = settings.SOURCES,
    root: Path = Path("/"),
) -> Iterator[Prepared]:
    """Sets the machine up for real-time threads on `cpus` while the block runs, and restores it after.

    `housekeeping`: the CPUs that everything else is confined to, but for this process and what it starts,
    which place themselves. It may be empty, where the run uses every CPU: then nothing is moved. It may
    overlap `cpus`, where one CPU must serve both.
    `limit_s`: the watchdog restores after that time, whatever the run does.
    What the machine refuses stands in the result, never in an exception: the run goes on without it.

    Raises BadInput for CPUs that are not online, and EnvironmentLacks while another run has this machine
    prepared or where no watchdog can be started.
    """
    target = Target(frozenset(cpus), frozenset(housekeeping), root)
    _check(target)
    result = Prepared(target)
    try:
        (root / watchdog.STATE).parent.mkdir(parents=True, exist_ok=True)
        (root / watchdog.LOCK).touch(mode=0o600)
    except OSError as error:
        result.refusals.append(
            Refusal("everything", "everything", f"only root may prepare a machine ({error.strerror})")
        )
        yield result
        return
    link = _Link(target, limit_s, heartbeat_s)
    try:
        link.greet(result)
        _apply(sources, link, result)
        yield result
    finally:
        result.restoration = link.restore([setting.entry for setting in result.settings])


def _check(target: Target) -> None:
    try:
        text = (target.root / "sys/devices/system/cpu/online").read_text()
    except OSError:
        return  # Not known; each setting is then refused by itself.
    online = watchdog.parse_list(text)
    for field, given in (("cpus", target.cpus), ("housekeeping", target.housekeeping)):
        absent = sorted(given - online)
        if absent:
            raise BadInput(f"CPU {absent[0]} is not online; online are {show_cpus(online)}", field=field)
    if not target.cpus:
        raise BadInput("no CPU is given; name those of the run's real-time threads", field="cpus")


def _apply(sources: Sequence[Source], link: _Link, result: Prepared) -> None:
    target = result.target
    for source in sources:
        # New tasks appear while tasks are moved, and inherit what their parents still had: look again.
        for _ in range(5 if source is settings.tasks else 1):
            moved = 0
            for found in source(target):
                if isinstance(found, Refusal):
                    if found not in result.refusals:
                        result.refusals.append(found)
                elif found.entry.get("pid") not in (link.pid, os.getpid()):
                    moved += _set(found, link, result)
            if not moved:
                break
    if (target.root / "run/irqbalance").exists():
        result.notes.append("irqbalance is running and may move interrupts back: systemctl stop irqbalance")
    if target.cpus & target.housekeeping:
        shared = show_cpus(target.cpus & target.housekeeping)
        result.notes.append(f"CPU {shared} serves the run and everything else")


def _set(setting: Setting, link: _Link, result: Prepared) -> int:
    """Saves, writes and verifies one setting; 1 where it was set."""
    if setting.group == "sched_rt_runtime_us" and not result.target.housekeeping and not link.fifo:
        why = f"{settings.NO_CPU_LEFT}, and the watchdog was refused SCHED_FIFO"
        result.refusals.append(Refusal(setting.group, setting.what, why))
        return 0
    root, entry = result.target.root, setting.entry
    link.send({"save": entry})
    result.settings.append(setting)
    try:
        watchdog.write_value(root, entry, entry["to"])
        now = watchdog.read_value(root, entry)
    except ProcessLookupError:
        result.settings.pop()
        return 0
    except OSError as error:
        why = settings.why_refused(error, entry.get("path", ""))
    else:
        if watchdog.equal(entry["kind"], now, entry["to"]):
            return 1
        why = f"the kernel keeps {now}"
    result.settings.pop()
    result.refusals.append(Refusal(setting.group, setting.what, why))
    return 0


class _Link:
    """The run's end of the connection to its watchdog."""

    def __init__(self, target: Target, limit_s: float, heartbeat_s: float) -> None:
        self.target = target
        self.fifo = False
        self.channel, theirs = socket.socketpair()
        self.channel.settimeout(30.0)
        given = {
            "channel": theirs.fileno(),
            "runner": os.getpid(),
            "root": str(target.root),
            "cpus": sorted(target.housekeeping),
            "silence": MISSED_HEARTBEATS * heartbeat_s,
            "limit": limit_s,
        }
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-I", "-S", watchdog.__file__, json.dumps(given)],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            self.channel.close()
            raise EnvironmentLacks(
                f"the watchdog of prepared machines does not start ({error.strerror})",
                "run without --prepare",
            ) from error
        finally:
            theirs.close()
        self.pid = self.process.pid
        self._reader = self.channel.makefile("r", encoding="utf-8")
        self._sending = threading.Lock()
        self._over = threading.Event()
        self._beating = threading.Thread(target=self._beat, args=(heartbeat_s,), daemon=True)

    def greet(self, result: Prepared) -> None:
        """Waits until the watchdog is ready to restore. Raises EnvironmentLacks where it is not."""
        hello = self._hear()
        if "busy" in hello:
            raise EnvironmentLacks(
                f"another run has prepared this machine (watchdog: process {hello['busy']})",
                "wait for its end",
            )
        if "ready" not in hello:
            raise EnvironmentLacks("the watchdog of prepared machines ended at once", "run without --prepare")
        self.fifo = bool(hello["fifo"])
        recovered = hello["recovered"]
        if recovered is not None:
            result.notes.append("settings that an earlier run had left were restored first")
            result.notes += [f"NOT restored: {text}" for text in recovered["failed"]]
        self._beating.start()

    def send(self, message: dict[str, Any]) -> bool:
        """False where the watchdog is gone."""
        try:
            with self._sending:
                self.channel.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            return False
        return True

    def restore(self, entries: list[watchdog.Entry]) -> Restoration:
        """Has the settings restored and the watchdog ended."""
        self._over.set()
        self.send({"end": True})
        report = self._hear()
        if self._beating.ident is not None:
            self._beating.join()
        self._reader.close()
        self.channel.close()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if "restored" not in report:
            if not entries:
                return Restoration("nothing was set", early=False)
            return self._restore_alone(entries)
        return _restoration(report, early=report["why"] != "the run ended")

    def _restore_alone(self, entries: list[watchdog.Entry]) -> Restoration:
        """The watchdog was killed: its work is done here, unless the next run has done it already."""
        why = "the watchdog was killed"
        root = self.target.root
        with (root / watchdog.LOCK).open("r+b") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return Restoration(f"{why}, and the next run restored", early=True)
            report = watchdog.restore(root, entries)
            (root / watchdog.STATE).unlink(missing_ok=True)
        return _restoration({**report, "why": why}, early=False)

    def _hear(self) -> dict[str, Any]:
        """The watchdog's next message; empty where it has ended or keeps silent."""
        try:
            line = self._reader.readline()
            message: dict[str, Any] = json.loads(line) if line else {}
        except (OSError, ValueError):
            message = {}
        return message

    def _beat(self, every_s: float) -> None:
        while not self._over.wait(every_s) and self.send({"beat": True}):
            pass


def _restoration(report: dict[str, Any], *, early: bool) -> Restoration:
    return Restoration(report["why"], early, tuple(report["changed"]), tuple(report["failed"]))
