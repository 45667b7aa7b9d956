# SPDX-License-Identifier: Apache-2.0
"""`consort remote attach`, `detach` and `list` with `--qmp`: a real guest uses a server's memory."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from consort.base.errors import EnvironmentLacks
from consort.base.toolchain.initramfs import archive_of
from consort_remote import guest, kernel
from effort import PATIENCE
from guest_drivers import drivers
from remote_server import RemoteServer

OWN_MIB, REMOTE_MIB, FILE_MIB = 224, 256, 256
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

    def __init__(self, server: RemoteServer, folder: Path) -> None:
        self.server, self.monitor = server, folder / "qmp"
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
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
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

    def consort(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.server.remote(*words, "--qmp", str(self.monitor))

    def attach(self, device: str) -> str:
        text = f"memory,size={REMOTE_MIB}MiB,key={self.server.key}"
        done = self.consort("attach", text, "--device", device, "--node", "1", "--patience", f"{PATIENCE}s")
        assert done.returncode == 0, done.stderr
        return done.stdout.partition(":")[0]

    def segments(self) -> list[dict[str, object]]:
        return json.loads(self.consort("list", "--json").stdout)["segments"]

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()


@pytest.fixture(scope="module")
def machine(server: RemoteServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guest]:
    if shutil.which(MACHINE.emulator) is None:
        pytest.skip(f"no {MACHINE.emulator}: apt-get install {MACHINE.emulator_package}")
    try:
        made = Guest(server, tmp_path_factory.mktemp("m"))
    except EnvironmentLacks as error:
        pytest.skip(str(error))
    try:
        yield made
    finally:
        made.end()


def server_has_room(server: RemoteServer) -> bool:
    """For a segment of all that it offers."""
    attach = f"memory,size={REMOTE_MIB}MiB,key={server.key}"
    return server.remote("run", "--attach", attach, "--", "true").returncode == 0


def used_and_kept(machine: Guest, device: str) -> tuple[str, str]:
    """A segment that the guest uses, and does not give back while some of it cannot be moved: its name, and
    the sum of a small file that lies there."""
    before = machine.movable()
    name = machine.attach(device)
    (segment,) = [each for each in machine.segments() if each["id"] == name]
    assert segment["device"] == device and segment["node"] == 1 and segment["state"] == "attached"
    assert segment["size"] == segment["in_guest"] == REMOTE_MIB << 20
    assert machine.movable() - before == REMOTE_MIB << 8
    assert not server_has_room(machine.server)
    # More than the guest's own memory holds, and read back.
    assert int(machine.does("memory")) > (OWN_MIB + REMOTE_MIB // 2) << 10
    written = machine.does(f"fill /far/large {FILE_MIB}")
    assert machine.does("md5sum < /far/large") == written
    machine.does("umount /far")
    small = machine.does("fill /far/small 32")
    # Memory that is pinned for I/O cannot be moved: the guest keeps it.
    machine.does("rm -f /tmp/go; tool hold 1 16 pipe /tmp/go > /tmp/held & sleep 1")
    machine.does("until grep ready /tmp/held; do sleep 1; done")
    refused = machine.consort("detach", name, "--patience", "3s")
    assert refused.returncode == 1 and "the guest" in refused.stderr, refused.stderr
    assert name in {each["id"] for each in machine.segments()}
    assert not server_has_room(machine.server)
    # Nothing of it was lost (the tool checks what it wrote), and without the pins it goes.
    machine.does("touch /tmp/go; wait")
    return name, small


@pytest.mark.slow
def test_a_pc_dimm_comes_is_used_and_goes(machine: Guest) -> None:
    name, small = used_and_kept(machine, "pc-dimm")
    # The guest may have gone on meanwhile, and given it back.
    done = machine.consort("detach", name, "--patience", f"{PATIENCE}s")
    assert done.returncode == 0 and f"{name}: detached" in done.stdout, done.stderr
    assert machine.segments() == [] and machine.movable() == 0
    # Its pages were moved to the guest's own memory.
    assert machine.does("md5sum < /far/small && umount /far") == small
    assert server_has_room(machine.server)


def test_a_virtio_mem_comes_is_used_and_goes_with_its_machine(machine: Guest) -> None:
    name, small = used_and_kept(machine, "virtio-mem")
    done = machine.consort("detach", name, "--patience", f"{PATIENCE}s")
    if done.returncode == 3:
        # QEMU before 8.1: the guest gave everything back, the device stays.
        assert "cannot remove a virtio-mem" in done.stderr
        (segment,) = machine.segments()
        assert segment["id"] == name and segment["in_guest"] == 0
        assert not server_has_room(machine.server)
    else:
        assert done.returncode == 0 and machine.segments() == [], done.stderr
    assert machine.movable() == 0
    assert machine.does("md5sum < /far/small && umount /far") == small
    # Without any further order, however the machine ends.
    machine.end()
    deadline = time.monotonic() + PATIENCE
    while not server_has_room(machine.server) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert server_has_room(machine.server)
