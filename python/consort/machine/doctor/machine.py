# SPDX-License-Identifier: Apache-2.0
"""Read access to a machine: its /proc and /sys, what must be tried out; and the result of one check.

Everything is read below a root, so that a recorded or made-up tree can stand for a machine. Where the root is
not `/` nothing is tried out: such properties are unknown.
"""

from __future__ import annotations

import dataclasses
import gzip
import json
import os
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from consort.base.children import finished
from consort.base.environment import parse_cpus
from consort.base.errors import EnvironmentLacks
from consort.base.toolchain.compiler import tool

CAP_IPC_LOCK = 14
CAP_SYS_NICE = 23


def try_fifo() -> str | None:
    """Makes this process real-time for an instant; returns why that was refused, or None."""
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except OSError as error:
        return error.strerror or str(error)
    os.sched_setscheduler(0, policy, parameters)
    return None


def run_probe(seconds: float, cpu: int) -> dict[str, Any] | str:
    """Measures wake-ups and what stops a busy thread on a CPU; returns why there is no result, if so."""
    arguments = ["--measure", "wakeup,busy", "--cpus", str(cpu), "--seconds", str(seconds), "--deep-idle"]
    if try_fifo() is not None:
        arguments.append("--ordinary")
    try:
        done = finished([tool("probe"), *arguments])
        if done.returncode != 0:
            return f"the probe failed: {done.stderr.strip()}"
        result = json.loads(done.stdout)
    except EnvironmentLacks as error:
        return str(error)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        return f"the probe failed: {error}"
    assert isinstance(result, dict)
    return result


class Machine:
    """One machine, seen through its file tree and, where it is this machine, through a few trials."""

    def __init__(
        self,
        root: Path = Path("/"),
        *,
        seconds: float = 1.0,
        fifo: Callable[[], str | None] | None = None,
        probe: Callable[[float, int], dict[str, Any] | str] | None = None,
        pause: Callable[[float], None] | None = None,
    ) -> None:
        live = root == Path("/")
        self.root = root
        self.seconds = seconds
        self.fifo = fifo if fifo is not None or not live else try_fifo
        self.probe = probe if probe is not None or not live else run_probe
        self.pause = pause if pause is not None or not live else time.sleep

    def read(self, path: str) -> str | None:
        """The text of a file without the white space around it, or None where it cannot be read."""
        try:
            return (self.root / path).read_text(errors="replace").strip()
        except OSError:
            return None

    def number(self, path: str) -> int | None:
        text = self.read(path)
        try:
            return int(text) if text is not None else None
        except ValueError:
            return None

    def cpus(self, path: str) -> list[int]:
        """A processor list; empty where there is none (`(null)` is what some kernels print for that)."""
        try:
            return parse_cpus(self.read(path) or "")
        except ValueError:
            return []

    def glob(self, pattern: str) -> list[Path]:
        return sorted(self.root.glob(pattern))

    def writable(self, path: str) -> bool:
        return os.access(self.root / path, os.W_OK)

    def relative(self, path: Path) -> str:
        return str(path.relative_to(self.root))

    # Properties that several checks ask for.

    @property
    def online(self) -> list[int]:
        return self.cpus("sys/devices/system/cpu/online")

    @property
    def isolated(self) -> list[int]:
        return self.cpus("sys/devices/system/cpu/isolated")

    @property
    def candidates(self) -> list[int]:
        """The processors that real-time threads would get: the isolated ones, else all but the first."""
        return self.isolated or self.online[1:] or self.online

    @property
    def parameters(self) -> dict[str, str]:
        """The kernel's command line."""
        words = (self.read("proc/cmdline") or "").split()
        return {name: value for name, _, value in (word.partition("=") for word in words)}

    @property
    def flags(self) -> set[str] | None:
        """The processor's features as x86 kernels list them; None where they are not listed."""
        found = re.search(r"^flags\s*:(.*)$", self.read("proc/cpuinfo") or "", re.MULTILINE)
        return set(found.group(1).split()) if found else None

    @property
    def kernel(self) -> tuple[int, int] | None:
        found = re.search(r"Linux version (\d+)\.(\d+)", self.read("proc/version") or "")
        return (int(found.group(1)), int(found.group(2))) if found else None

    def configured(self, option: str) -> bool | None:
        """True if the kernel was built with an option; None if its configuration is not to be found."""
        release = re.search(r"Linux version (\S+)", self.read("proc/version") or "")
        text = self.read(f"boot/config-{release.group(1)}") if release else None
        try:
            packed = (self.root / "proc/config.gz").read_bytes()
            text = gzip.decompress(packed).decode(errors="replace")
        except (OSError, EOFError):
            pass
        return None if text is None else f"{option}=y" in text.splitlines()

    @property
    def virtual(self) -> bool | None:
        """True if a hypervisor is beneath; None if the tree does not say."""
        if self.read("sys/hypervisor/type") or (self.root / "proc/device-tree/hypervisor").exists():
            return True
        flags = self.flags
        return None if flags is None else "hypervisor" in flags

    def capability(self, bit: int) -> bool | None:
        found = re.search(r"^CapEff:\s*([0-9a-fA-F]+)$", self.read("proc/self/status") or "", re.MULTILINE)
        return bool(int(found.group(1), 16) >> bit & 1) if found else None

    def limit(self, name: str) -> float | None:
        """A soft limit of this process; infinity for `unlimited`."""
        found = re.search(rf"^{re.escape(name)}\s+(\S+)", self.read("proc/self/limits") or "", re.MULTILINE)
        if not found:
            return None
        return float("inf") if found.group(1) == "unlimited" else float(found.group(1))

    def processor_times(self) -> dict[str, int] | None:
        """The sums of /proc/stat's first line, in clock ticks, by name."""
        names = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
        for line in (self.read("proc/stat") or "").splitlines():
            words = line.split()
            if words and words[0] == "cpu" and len(words) > len(names):
                return dict(zip(names, map(int, words[1:]), strict=False))
        return None


Status = Literal["ok", "warn", "bad", "unknown"]


@dataclasses.dataclass(frozen=True)
class Finding:
    """One property of the machine that real time depends on.

    `cost` names the mechanism; a figure in it says where it comes from (counted from settings,
    published, measured).
    `remedy` is the exact command or kernel parameter, empty where nothing has to be repaired.
    """

    id: str
    title: str
    status: Status
    found: str
    cost: str = ""
    remedy: str = ""
    sources: tuple[str, ...] = ()
    figures: dict[str, float] = dataclasses.field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        return dataclasses.asdict(self) | {"sources": list(self.sources)}
