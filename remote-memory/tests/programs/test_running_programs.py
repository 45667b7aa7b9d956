# SPDX-License-Identifier: Apache-2.0
"""`consort remote attach`, `detach` and `list` of a program that runs: under load, and refused."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from effort import PATIENCE
from remote_server import RUN, RemoteServer

# Takes orders by lines: fills blocks, checks them, gives them back; a thread writes all the time.
PROGRAM = """
import sys, threading
blocks, stop, laps = {}, threading.Event(), [0]
def write():
    while not stop.is_set():
        for block in list(blocks.values()):
            for at in range(1, len(block), 65536):
                block[at] = laps[0] & 255
        laps[0] += 1
worker = threading.Thread(target=write, daemon=True)
worker.start()
for line in sys.stdin:
    order, name, *rest = line.split()
    if order == "fill":
        block = bytearray(int(rest[0]) << 20)
        for at in range(0, len(block), 4096):
            block[at] = at >> 12 & 255
        blocks[name] = block
    elif order == "check":
        block = blocks[name]
        assert all(block[at] == at >> 12 & 255 for at in range(0, len(block), 4096))
        assert not any(block[2::4096])
    elif order == "free":
        del blocks[name]
        seen = laps[0]
        while laps[0] < seen + 2:  # the thread has let go of it
            pass
        block = None
    print("done", order, name, flush=True)
stop.set()
worker.join()
"""


class Running:
    def __init__(self, server: RemoteServer, *options: str, **more: str) -> None:
        self.server = server
        # Small objects stay here: with --faults in-thread no system call reads into a page that is elsewhere.
        variables = server.variables | {"PYTHONMALLOC": "malloc"} | more
        attach = f"memory,size=64MiB,cache=4MiB,key={server.key}"
        command = [str(server.consort), *RUN, "--attach", attach, *options, "--"]
        self.process = subprocess.Popen(
            [*command, sys.executable, "-c", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=variables,
        )

    def order(self, line: str) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline().startswith("done ")

    def consort(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.server.remote(*arguments, "--program", str(self.process.pid))

    def segments(self) -> dict[int, int]:
        """Bytes in use, by the number of the segment."""
        listed = json.loads(self.consort("list", "--json").stdout)["segments"]
        return {each["number"]: each["used"] for each in listed}

    def end(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(timeout=PATIENCE)


@pytest.mark.parametrize("faults", ["handler", pytest.param("in-thread", marks=pytest.mark.representative)])
def test_segments_come_and_go_while_a_program_runs(server: RemoteServer, faults: str) -> None:
    program = Running(server, "--faults", faults)
    program.order("fill first 40")
    assert list(program.segments()) == [0] and program.segments()[0] >= 40 << 20
    # There is no room for another one until a segment comes.
    attached = program.consort("attach", f"memory,size=64MiB,cache=4MiB,key={server.key}")
    assert attached.returncode == 0 and attached.stdout.startswith("1: attached to"), attached.stderr
    program.order("fill second 40")
    assert program.segments()[1] >= 40 << 20
    # A segment in use is not taken away.
    refused = program.consort("detach", "1")
    assert refused.returncode == 2
    assert re.search(r"\d+ bytes lie there, in 1 blocks; let their pages come home: --home", refused.stderr)
    # With its pages brought home it goes, while a thread writes to them.
    home = program.consort("detach", "1", "--home")
    assert home.returncode == 0 and "bytes came home" in home.stdout, home.stderr
    assert list(program.segments()) == [0]
    program.order("check second x")
    program.order("check first x")
    # And an empty one at once.
    third = program.consort("attach", f"memory,size=64MiB,cache=4MiB,key={server.key}")
    assert third.returncode == 0, third.stderr
    number = third.stdout.partition(":")[0]
    assert program.consort("detach", number).stdout.strip() == f"{number}: detached"
    program.order("free second x")
    program.order("check first x")
    assert program.end() == 0


def test_the_last_segment_leaves_a_program_to_its_own_memory(server: RemoteServer) -> None:
    program = Running(server)
    program.order("fill first 20")
    assert program.consort("detach", "0", "--home").returncode == 0
    program.order("fill second 200")  # more than the segment had
    program.order("check first x")
    program.order("check second x")
    assert program.segments() == {}
    # The server has the room again.
    assert program.consort("attach", f"memory,size=240MiB,key={server.key}").returncode == 0
    assert program.end() == 0


# Each way in which a connection may fail to be taken, once, before the first that is.
FAILING = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <sys/socket.h>

static atomic_uint calls;
int accept4(int socket, struct sockaddr *peer, socklen_t *length, int flags) {
    static const int errors[] = {EINTR, ECONNABORTED, EMFILE, ENFILE, ENOBUFS, ENOMEM, EPERM, EPROTO};
    const unsigned call = atomic_fetch_add(&calls, 1);
    if (call < sizeof errors / sizeof *errors) {
        errno = errors[call];
        return -1;
    }
    int (*real)(int, struct sockaddr *, socklen_t *, int) =
        (int (*)(int, struct sockaddr *, socklen_t *, int))dlsym(RTLD_NEXT, "accept4");
    return real(socket, peer, length, flags);
}
"""


def test_connections_that_cannot_be_taken(server: RemoteServer, tmp_path: Path) -> None:
    """A program that was short of descriptors or memory for a while still takes orders."""
    (tmp_path / "failing.c").write_text(FAILING)
    library = tmp_path / "failing.so"
    command = ["cc", "-shared", "-fPIC", str(tmp_path / "failing.c"), "-o", str(library), "-ldl"]
    subprocess.run(command, check=True)
    program = Running(server, LD_PRELOAD=str(library))
    program.order("fill first 2")
    assert list(program.segments()) == [0]
    assert program.end() == 0


def test_orders_that_cannot_be(server: RemoteServer) -> None:
    program = Running(server)
    program.order("fill first 2")
    for arguments, words in (
        (("detach", "7"), "there is no segment 7"),
        (("detach", "demo"), "'demo' is not a number of a segment"),
        (("attach", f"memory,size=16GiB,key={server.key}"), ""),
        (("attach", "memory,size=1GiB", "--size", "64KiB"), "NAME says all of the segment"),
    ):
        done = program.consort(*arguments)
        assert done.returncode == 2 and words in done.stderr, (arguments, done.stderr)
    assert program.end() == 0
    gone = program.consort("list")
    assert gone.returncode == 2 and "is not a program that `consort remote run` started" in gone.stderr
