# SPDX-License-Identifier: Apache-2.0
"""A virtual machine of QEMU's with Debian's kernel, to which memory comes while it runs."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import pytest
from consort.base.errors import EnvironmentLacks
from consort.base.toolchain.debian import archive_of
from consort_remote import guest, kernel
from guest_drivers import drivers

OWN_MIB = 224
MACHINE = kernel.MACHINES["x86-64"]
# The first process of the guest does what comes over its console, one line at a time.
INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
stty -echo
echo 1 > /proc/sys/kernel/printk
for module in MODULES; do insmod /$module; done
mkdir /tmp /far
mount -t tmpfs tmp /tmp
head -c 1048560 /dev/urandom > /tmp/block
memory() { sed -n 's/^MemTotal: *\\([0-9]*\\) kB/\\1/p' /proc/meminfo; }
movable() { sed -n '/Node 1, zone *Movable/,/present/s/.*present *//p' /proc/zoneinfo; }
# fill FILE MIB: with blocks of 1 MiB, each with its number, and the sum of what was written
fill() {
    # Of the node that the memory came to, as far as there is any.
    mount -t tmpfs -o size=2g,mpol=prefer:1 far /far
    for part in $(seq $2); do
        printf "%-16s" $part
        cat /tmp/block
    done | tee $1 | md5sum
}
echo guest: ready
while read -r line; do
    eval "$line"
    echo "guest: done $?"
done
poweroff -f
"""


class Guest:
    """A machine with a monitor, whose kernel puts memory that comes into use as movable memory."""

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        self.monitor = folder / "qmp"
        self.monitor.unlink(missing_ok=True)
        found = kernel.kernel(MACHINE)
        modules = drivers(found, ("virtio_pci", "virtio_mem"))
        init = folder / "init"
        init.write_text(INIT.replace("MODULES", " ".join(path.name for path in modules)))
        files = {"init": init, "bin/busybox": found.busybox, "bin/tool": guest._tool(MACHINE)}
        files |= {path.name: path for path in modules}
        initrd = folder / "initrd"
        initrd.write_bytes(gzip.compress(archive_of(files, ("bin", "proc", "sys")), 1))
        words = f"console={MACHINE.console} panic=-1 quiet {guest.STARVED} rdinit=/init"
        command = [MACHINE.emulator, *MACHINE.options, "-accel", "tcg,thread=multi", "-smp", "2"]
        command += ["-display", "none", "-monitor", "none", "-nodefaults", "-no-reboot", "-serial", "stdio"]
        command += ["-kernel", str(found.image), "-initrd", str(initrd)]
        command += ["-append", f"{words} memhp_default_state=online_movable"]
        command += ["-m", f"{OWN_MIB}M,slots=2,maxmem=2G"]
        command += ["-object", f"memory-backend-ram,id=near,size={OWN_MIB}M"]
        command += ["-numa", "node,nodeid=0,memdev=near,cpus=0-1", "-numa", "node,nodeid=1"]
        command += ["-qmp", f"unix:{self.monitor},server=on,wait=off"]
        self.log: list[str] = []
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=os.environ | (environment or {}),
        )
        self._until("guest: ready")

    def _until(self, word: str) -> tuple[list[str], str]:
        assert self.process.stdout is not None
        lines: list[str] = []
        for data in self.process.stdout:
            line = data.decode(errors="replace").strip()
            self.log.append(line)
            assert not guest.WRONG.search(line), self.log[-60:]
            if word in line:
                return lines, line.partition(word)[2].strip()
            lines.append(line)
        raise AssertionError(f"the guest ended: {self.log[-60:]}")

    def does(self, line: str) -> str:
        """The output of the guest's shell for this line; it must succeed."""
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        lines, status = self._until("guest: done ")
        assert status == "0", (line, lines, status)
        return "\n".join(lines)

    def movable(self) -> int:
        """Pages of movable memory on the node that remote memory comes to."""
        return sum(map(int, self.does("movable").split()))

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()


Made = TypeVar("Made", bound=Guest)


def started(make: Callable[[], Made]) -> Made:
    """The machine that this makes; the test is skipped where there is no emulator, or no kernel for it."""
    if shutil.which(MACHINE.emulator) is None:
        pytest.skip(f"no {MACHINE.emulator}: apt-get install {MACHINE.emulator_package}")
    try:
        return make()
    except EnvironmentLacks as error:
        pytest.skip(str(error))
