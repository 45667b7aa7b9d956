# SPDX-License-Identifier: Apache-2.0
"""`consort remote attach`, `detach` and `list` with `--qmp`: a real guest uses a server's memory."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import machine_guest
import pytest
from effort import PATIENCE
from machine_guest import OWN_MIB, started
from remote_server import RemoteServer

REMOTE_MIB, FILE_MIB = 256, 256


class Guest(machine_guest.Guest):
    """One whose memory comes from a server."""

    def __init__(self, server: RemoteServer, folder: Path) -> None:
        self.server = server
        super().__init__(folder)

    def consort(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.server.remote(*words, "--qmp", str(self.monitor))

    def attach(self, device: str) -> str:
        text = f"memory,size={REMOTE_MIB}MiB,key={self.server.key}"
        done = self.consort("attach", text, "--device", device, "--node", "1", "--patience", f"{PATIENCE}s")
        assert done.returncode == 0, done.stderr
        return done.stdout.partition(":")[0]

    def segments(self) -> list[dict[str, object]]:
        return json.loads(self.consort("list", "--json").stdout)["segments"]


@pytest.fixture(scope="module")
def machine(server: RemoteServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guest]:
    made = started(lambda: Guest(server, tmp_path_factory.mktemp("m")))
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
