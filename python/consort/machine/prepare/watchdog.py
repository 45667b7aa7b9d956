# SPDX-License-Identifier: Apache-2.0
"""The process that restores a machine's settings, however the run that changed them ends.

It runs as a script of its own (`python -I -S watchdog.py ARGUMENTS`) and imports nothing but the standard
library: it starts quickly and depends on nothing that could be missing when it is needed. The run starts it
before it changes anything. It holds every saved value, in memory and in a file below /run.

It restores when the run asks it to, when the run's process ends (its pidfd becomes readable; the socket's end
of file says the same, unless a forked child holds the other end open), when heartbeats stop, and after a time
limit. A value that somebody else has changed since is left as it is, and reported.

`restore`, `read_value`, `write_value` and `equal` are used by the run as well: they stand here once.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import select
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

# A saved setting, as it travels through the socket and stands in the state file:
#   {"kind": "text" | "list" | "mask", "path": PATH BELOW THE ROOT, "from": TEXT, "to": TEXT}
#   {"kind": "task", "pid": PID, "tid": TID, "started": TICKS, "from": LIST, "to": LIST}
Entry = dict[str, Any]

STATE = "run/consort/prepare.json"
LOCK = "run/consort/prepare.lock"
# Above the threads of a run and their supervisor: it must get a processor while they spin.
PRIORITY = 98


def parse_list(text: str) -> set[int]:
    """The kernel's list form, such as 0-3,8. Raises ValueError for anything else."""
    cpus: set[int] = set()
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        cpus.update(range(int(first), int(last or first) + 1))
    return cpus


def parse_mask(text: str) -> set[int]:
    """The kernel's mask form, such as 00000001,ffffffff. Raises ValueError for anything else."""
    value = int(text.strip().replace(",", ""), 16)
    return {cpu for cpu in range(value.bit_length()) if value >> cpu & 1}


def read_value(root: Path, entry: Entry) -> str:
    """The present value of a setting. Raises OSError."""
    if entry["kind"] == "task":
        cpus = os.sched_getaffinity(entry["tid"])
        if started(root, entry["pid"], entry["tid"]) != entry["started"]:
            raise ProcessLookupError(errno.ESRCH, "another task has its number now")
        return ",".join(map(str, sorted(cpus)))
    return (root / str(entry["path"])).read_text(errors="replace").strip()


def write_value(root: Path, entry: Entry, value: str) -> None:
    """Raises OSError; ProcessLookupError where the task has ended."""
    if entry["kind"] == "task":
        read_value(root, entry)
        os.sched_setaffinity(entry["tid"], parse_list(value))
        return
    # In one write, without creating anything: a file of the kernel takes a value whole.
    descriptor = os.open(root / entry["path"], os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
    try:
        os.write(descriptor, value.encode() + b"\n")
    finally:
        os.close(descriptor)


def equal(kind: str, one: str, other: str) -> bool:
    """True if two spellings are the same value: the kernel pads masks and merges lists."""
    if one.strip() == other.strip():
        return True
    parse = {"list": parse_list, "task": parse_list, "mask": parse_mask}.get(kind)
    try:
        return parse is not None and parse(one) == parse(other)
    except ValueError:
        return False


def stat_fields(root: Path, pid: int, tid: int) -> tuple[str, list[str]]:
    """A task's name, and the fields of its stat file from the third on. Raises OSError or ValueError."""
    text = (root / "proc" / str(pid) / "task" / str(tid) / "stat").read_text(errors="replace")
    # The name stands in parentheses and may hold any character.
    begin, end = text.index("("), text.rindex(")")
    return text[begin + 1 : end], text[end + 1 :].split()


def started(root: Path, pid: int, tid: int) -> int:
    """The start of a task [clock ticks since boot]; with its number it names the task for good."""
    try:
        return int(stat_fields(root, pid, tid)[1][19])
    except (ValueError, IndexError) as error:
        raise ProcessLookupError(errno.ESRCH, "no such task") from error


def tasks(root: Path) -> list[tuple[int, int]]:
    """The process and thread numbers of every task there is."""
    found = []
    for process in (root / "proc").iterdir():
        if process.name.isdigit():
            with contextlib.suppress(OSError):
                found += [(int(process.name), int(task.name)) for task in (process / "task").iterdir()]
    return sorted(found)


def restore(root: Path, entries: list[Entry]) -> dict[str, list[str]]:
    """Writes every saved value back; returns what was `changed` by others meanwhile, and what `failed`."""
    report: dict[str, list[str]] = {"changed": [], "failed": []}
    for entry in entries:
        where = f"task {entry['tid']}" if entry["kind"] == "task" else f"/{entry['path']}"
        try:
            now = read_value(root, entry)
            if equal(entry["kind"], now, entry["from"]):
                continue
            if equal(entry["kind"], now, entry["to"]):
                write_value(root, entry, entry["from"])
            else:
                report["changed"].append(f"{where} is {now}, was set to {entry['to']}")
        except ProcessLookupError:
            continue
        except OSError as error:
            report["failed"].append(f"{where}: {error.strerror or error}; was {entry['from']}")
    restore_descendants(root, [entry for entry in entries if entry["kind"] == "task"])
    return report


def restore_descendants(root: Path, moved: list[Entry]) -> None:
    """Gives tasks that were born of moved ones, and inherited their CPUs, the CPUs of their ancestor."""
    if not moved:
        return
    saved = {(entry["tid"], entry["started"]) for entry in moved}
    by_process: dict[int, Entry] = {}
    for entry in moved:
        if entry["pid"] not in by_process or entry["tid"] == entry["pid"]:
            by_process[entry["pid"]] = entry
    earliest = min(entry["born_after"] for entry in moved)
    # A task may fork between two looks: until a look finds none.
    for _ in range(5):
        found = False
        for pid, tid in tasks(root):
            try:
                begun = started(root, pid, tid)
                if begun < earliest or (tid, begun) in saved:
                    continue
                ancestor = _ancestor(root, pid, by_process)
                cpus = os.sched_getaffinity(tid)
                if ancestor is None or cpus != parse_list(ancestor["to"]):
                    continue
                os.sched_setaffinity(tid, parse_list(ancestor["from"]))
                found = True
            except OSError:
                continue
        if not found:
            return


def _ancestor(root: Path, pid: int, by_process: dict[int, Entry]) -> Entry | None:
    for _ in range(64):
        if pid in by_process:
            return by_process[pid]
        try:
            pid = int(stat_fields(root, pid, pid)[1][1])
        except (OSError, ValueError, IndexError):
            return None
        if pid <= 1:
            return None
    return None


def boot_id(root: Path) -> str:
    try:
        return (root / "proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def load_state(root: Path) -> list[Entry]:
    """The entries that a watchdog of this boot had saved and not restored; empty if there are none."""
    try:
        lines = (root / STATE).read_text().splitlines()
        if not lines or json.loads(lines[0]).get("boot_id") != boot_id(root):
            return []
    except (OSError, ValueError):
        return []
    entries = []
    for line in lines[1:]:
        # The last line may be cut short by whatever killed the watchdog.
        with contextlib.suppress(ValueError):
            entries.append(json.loads(line))
    return entries


class Watchdog:
    """One run's watchdog. `channel` is its end of a socket pair; times in seconds."""

    def __init__(self, channel: socket.socket, runner: int, root: Path, silence: float, limit: float) -> None:
        self.channel = channel
        self.runner = os.pidfd_open(runner)
        self.root = root
        self.silence = silence
        self.end = time.monotonic() + limit
        self.entries: list[Entry] = []
        self.pending = b""
        self.lock = os.open(root / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self.reason = ""
        # A signal's handler writes here, for poll() goes on waiting after a signal.
        self.asked, asking = os.pipe()
        signal.signal(signal.SIGTERM, lambda *_: os.write(asking, b"t"))

    def say(self, message: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):
            self.channel.sendall(json.dumps(message).encode() + b"\n")

    def take_lock(self) -> bool:
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self.lock, 32, 0).decode(errors="replace").strip()
            self.say({"busy": holder})
            return False
        os.ftruncate(self.lock, 0)
        os.pwrite(self.lock, str(os.getpid()).encode(), 0)
        return True

    def run(self) -> int:
        # An earlier watchdog may have been killed: its values are the machine's own.
        stale = load_state(self.root)
        recovered = restore(self.root, stale) if stale else None
        state = os.open(self.root / STATE, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        os.write(state, json.dumps({"boot_id": boot_id(self.root)}).encode() + b"\n")
        self.say({"ready": os.getpid(), "fifo": self.raise_priority(), "recovered": recovered})
        heard = time.monotonic()
        poller = select.poll()
        for descriptor in (self.channel.fileno(), self.runner, self.asked):
            poller.register(descriptor, select.POLLIN)
        while not self.reason:
            now = time.monotonic()
            wait = min(heard + self.silence, self.end) - now
            if wait <= 0:
                late = now >= self.end
                self.reason = "the time limit has passed" if late else "heartbeats have stopped"
                break
            ready = dict(poller.poll(min(wait, 3600.0) * 1e3 + 1))
            if self.asked in ready:
                self.reason = "the watchdog was asked to end"
            elif self.channel.fileno() in ready:
                if self.receive(state):
                    heard = time.monotonic()
            elif self.runner in ready:
                self.reason = "the run's process has ended"
        report = restore(self.root, self.entries)
        os.close(state)
        # Settings that could not be restored stay on file, for the next try.
        if not report["failed"]:
            (self.root / STATE).unlink(missing_ok=True)
        self.say({"restored": len(self.entries), "why": self.reason, **report})
        return 0

    def receive(self, state: int) -> bool:
        """Takes in what has come. Returns whether it was anything at all."""
        try:
            data = self.channel.recv(1 << 16)
        except OSError:
            data = b""
        if not data:
            self.reason = "the run's process has ended"
            return False
        *lines, self.pending = (self.pending + data).split(b"\n")
        for line in filter(None, lines):
            message = json.loads(line)
            if "save" in message:
                os.write(state, json.dumps(message["save"]).encode() + b"\n")
                self.entries.append(message["save"])
            elif "end" in message:
                self.reason = "the run ended"
            # Anything else is a heartbeat.
        return True

    def raise_priority(self) -> bool:
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
        except OSError:
            return False
        return True


def main(arguments: list[str]) -> int:
    """`arguments`: one JSON object with channel, runner, root, cpus, silence, limit."""
    given = json.loads(arguments[0])
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGTTOU):
        signal.signal(number, signal.SIG_IGN)
    # Confined by choice, not by what it inherited: the run's own mask may be narrow.
    if given["cpus"]:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, given["cpus"])
    channel = socket.socket(fileno=given["channel"])
    root = Path(given["root"])
    try:
        watchdog = Watchdog(channel, given["runner"], root, given["silence"], given["limit"])
    except ProcessLookupError:
        # The run has ended already; nothing was changed.
        return 0
    return watchdog.run() if watchdog.take_lock() else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
