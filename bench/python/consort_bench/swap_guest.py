# SPDX-License-Identifier: Apache-2.0
"""Swap and remote memory side by side in a QEMU guest: swap on this machine would be everybody's.

The guest runs the host's own programs, which it sees read-only. Each processor is emulated, so what its clock
says is no time of any machine: only what one guest did in the same run is compared.
"""

from __future__ import annotations

import gzip
import json
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from consort.errors import EnvironmentLacks, SystemFails
from consort.initramfs import archive_of
from consort.remote import pager
from consort.remote.guest import STARVED, console_lines
from consort.remote.kernel import MACHINES, kernel
from consort.remote.kernel import drivers as kernel_modules
from consort.source import need_source_tree

from consort_bench.remote_programs import Workload, with_memory

Row = dict[str, Any]

MODULES = ("virtio_pci", "virtio_blk", "9p", "9pnet_virtio", "zram")
ALL_LOCAL, ZRAM, FILE, PAGER = "all local", "swap on zram", "swap on a file", "pager"
WAYS = (ZRAM, FILE, PAGER)
MEMORY, SWAP = 2 << 30, 512 << 20
KEY, SOCKET, PROGRAM_SOCKET = "/run/key", "/run/socket", "/run/program"
INSIDE = ("chroot", "/host")
SAID = re.compile(r"guest: (row|swapped|FAILED) ?(\S*) ?(.*)")


@dataclass(frozen=True)
class Job:
    """One program, and how much of its working set may be in the guest's memory proper."""

    workload: Workload
    set_bytes: int
    share: int  # percent
    way: str = ALL_LOCAL

    @property
    def label(self) -> str:
        return f"{self.workload.name}/{self.way.replace(' ', '-')}/{self.share}"

    @property
    def local(self) -> int:
        return max(pager.LEAST_CACHE, self.set_bytes * self.share // 100 // pager.PAGE * pager.PAGE)

    def script(self) -> str:
        """Its lines of the guest's shell."""
        command = self.workload.command(PROGRAM_SOCKET)
        job = ["job", self.label]
        if self.way == ALL_LOCAL:
            return shlex.join([*job, *INSIDE, *command])
        job += ["limited", str(self.local + self.workload.beside), *INSIDE]
        if self.way == PAGER:
            size = self.workload.segment_bytes(self.set_bytes)
            variables = pager.environment(
                [pager.Attachment((SOCKET,), Path(KEY), size, self.local)],
                threshold=self.workload.threshold,
                faults=self.workload.faults,
                prefetch=64,
                patience_ms=600_000,
                reconnect_ms=0,
                report=None,
            )
            return shlex.join([*job, *with_memory(command, self.workload.at, variables)])
        device = "/dev/zram0" if self.way == ZRAM else "/dev/vda"
        return "\n".join([f"swapon {device}", shlex.join([*job, *command]), f"swapoff {device}"])


def jobs_of(workload: Workload, shares: Sequence[int]) -> list[Job]:
    """One program all local, and with each share of its set local by each way."""
    with tempfile.TemporaryDirectory(prefix="consort-") as folder:
        said = subprocess.run(workload.command(f"{folder}/program"), capture_output=True, text=True)
    if said.returncode != 0:
        raise SystemFails(f"{workload.name} fails with all memory here: {said.stderr.strip()[-300:]}")
    size = int(json.loads(said.stdout)["set"])
    return [Job(workload, size, 100), *(Job(workload, size, s, way) for way in WAYS for s in shares)]


def script(jobs: Sequence[Job]) -> str:
    """What the guest runs: a server for the pager, devices to swap on, and the jobs."""
    largest = max(job.workload.segment_bytes(job.set_bytes) for job in jobs)
    serve = pager.serve_command(2 * largest, Path(SOCKET), Path(KEY), None, 0, False)
    lines = [
        f"(umask 077; head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \\n' > /host{KEY})",
        shlex.join([*INSIDE, *serve]) + " > /dev/null &",
        f"echo {SWAP} > /sys/block/zram0/disksize",
        "mkswap /dev/zram0 > /dev/null; mkswap /dev/vda > /dev/null",
        f"while [ ! -S /host{SOCKET} ]; do usleep 10000; done",
    ]
    return "\n".join([*lines, *(job.script() for job in jobs), ""])


def run(
    jobs: Sequence[Job], patience_s: float, tell: Callable[[str], None] = lambda _: None
) -> tuple[dict[str, Row], list[str]]:
    """What each job printed, by its label, with the pages that were swapped in; and what went wrong."""
    machine = MACHINES["x86-64"]
    program = shutil.which(machine.emulator)
    if program is None:
        raise EnvironmentLacks(
            f"no {machine.emulator}", f"install it: apt-get install {machine.emulator_package}"
        )
    system = kernel(machine)
    modules = kernel_modules(system, MODULES)
    found: dict[str, Row] = {}
    wrong: list[str] = []
    with tempfile.TemporaryDirectory(prefix="consort-guest-") as scratch:
        folder = Path(scratch)
        (folder / "jobs.sh").write_text(script(jobs))
        (folder / "modules").write_text("\n".join(path.name for path in modules))
        files = {"bin/busybox": system.busybox, "jobs.sh": folder / "jobs.sh", "modules": folder / "modules"}
        files["init"] = need_source_tree("the guest") / "bench" / "remote" / "swap-guest" / "init"
        files |= {path.name: path for path in modules}
        initrd = folder / "initrd"
        folders = ("bin", "proc", "sys", "tmp", "host")
        initrd.write_bytes(gzip.compress(archive_of(files, folders), 1, mtime=0))
        disk = folder / "swap"
        with disk.open("wb") as file:
            file.truncate(SWAP)
        command = [program, *machine.options, "-accel", "tcg,thread=multi", "-smp", "2"]
        command += ["-m", f"{MEMORY >> 20}M"]
        command += ["-display", "none", "-monitor", "none", "-nodefaults", "-no-reboot", "-serial", "stdio"]
        command += ["-kernel", str(system.image), "-initrd", str(initrd)]
        command += ["-append", f"console={machine.console} quiet panic=-1 {STARVED} rdinit=/init"]
        command += ["-drive", f"file={disk},format=raw,if=virtio"]
        command += ["-virtfs", "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap"]
        swapped = 0
        ended = False
        for line in console_lines(command, patience_s):
            tell(line)
            said = SAID.search(line)
            ended = ended or "guest: end" in line
            if said is None:
                continue
            kind, label, words = said.groups()
            if kind == "FAILED":
                wrong.append(f"{label} {words}")
            elif kind == "row":
                found[label] = json.loads(words)
            else:
                pages = int(words)
                if label in found:
                    found[label]["swapped_in"] = pages - swapped
                swapped = pages
    if not ended:
        wrong.append(f"the guest did not end in {patience_s:g} s")
    return found, wrong
