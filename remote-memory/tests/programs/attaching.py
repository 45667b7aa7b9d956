# SPDX-License-Identifier: Apache-2.0
"""Segments come and go under threads that allocate, write, check and free, with delays at each system call.

`python attaching.py 10000` attaches and detaches so many; test_attaching.py takes a few.
"""

from __future__ import annotations

import json
import random
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from effort import PATIENCE
from remote_server import RUN, RemoteServer, serving

# Segments beside the first one: less than the server has room for.
MOST = 10

# Each thread fills blocks and looks at each page of them before it frees them, until its input ends. Where no
# segment has room an allocation fails, and is tried again later.
PROGRAM = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { threads = 4, slots = 6, page = 4096 };
static atomic_int stop;
static atomic_ulong made, wrong, refused;

static unsigned next(unsigned *seed) { return (*seed = *seed * 1664525u + 1013904223u) >> 8; }
static void *work(void *numbered) {
    unsigned seed = (unsigned)(uintptr_t)numbered + 1;
    uint64_t *blocks[slots] = {0}, marks[slots] = {0};
    size_t sizes[slots] = {0};
    for (uint64_t turn = 1; !stop; ++turn) {
        const unsigned at = next(&seed) % slots;
        if (blocks[at] == NULL) {
            sizes[at] = ((1 << 20) + (next(&seed) % 512) * page) / sizeof(uint64_t);
            blocks[at] = malloc(sizes[at] * sizeof(uint64_t));
            if (blocks[at] == NULL) {
                ++refused;
                usleep(200);
                continue;
            }
            ++made;
            marks[at] = turn << 8 | (uintptr_t)numbered;
            for (size_t i = 0; i < sizes[at]; i += page / sizeof(uint64_t)) blocks[at][i] = marks[at] + i;
            continue;
        }
        for (size_t i = 0; i < sizes[at]; i += page / sizeof(uint64_t))
            if (blocks[at][i] != marks[at] + i) ++wrong;
        if (next(&seed) % 2 == 0) {
            free(blocks[at]);
            blocks[at] = NULL;
        } else {
            marks[at] = turn << 8 | (uintptr_t)numbered;
            for (size_t i = 0; i < sizes[at]; i += page / sizeof(uint64_t)) blocks[at][i] = marks[at] + i;
        }
    }
    for (int at = 0; at < slots; ++at)
        for (size_t i = 0; blocks[at] != NULL && i < sizes[at]; i += page / sizeof(uint64_t))
            if (blocks[at][i] != marks[at] + i) ++wrong;
    return NULL;
}
int main(void) {
    pthread_t each[threads];
    for (uintptr_t i = 0; i < threads; ++i) pthread_create(&each[i], NULL, work, (void *)i);
    puts("ready");
    fflush(stdout);
    while (getchar() != EOF) {}
    stop = 1;
    for (int i = 0; i < threads; ++i) pthread_join(each[i], NULL);
    printf("{\"made\": %lu, \"wrong\": %lu, \"refused\": %lu}\n", made, wrong, refused);
    return 0;
}
"""

# Every 64th call of the pager to the kernel waits for up to 3 ms: before it, or after it.
DELAYS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <time.h>

static atomic_uint calls;
static void delay(void) {
    const unsigned call = atomic_fetch_add(&calls, 1) * 2654435761u;
    if (call >> 26 == 0) {
        const struct timespec moment = {0, (call >> 8) % 3000 * 1000L};
        clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL);
    }
}
int ioctl(int descriptor, unsigned long request, ...) {
    static int (*call)(int, unsigned long, ...);
    if (call == NULL) call = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
    va_list given;
    va_start(given, request);
    void *with = va_arg(given, void *);
    va_end(given);
    delay();
    const int result = call(descriptor, request, with);
    delay();
    return result;
}
long syscall(long number, ...) {
    static long (*call)(long, ...);
    if (call == NULL) call = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    long with[6];
    va_list given;
    va_start(given, number);
    for (int i = 0; i < 6; ++i) with[i] = va_arg(given, long);
    va_end(given);
    delay();
    const long result = call(number, with[0], with[1], with[2], with[3], with[4], with[5]);
    delay();
    return result;
}
"""


def built(source: str, program: Path, *options: str) -> Path:
    source_file = program.with_suffix(".c")
    source_file.write_text(source)
    subprocess.run(
        ["gcc", "-O1", "-pthread", *options, "-o", str(program), str(source_file), "-ldl"], check=True
    )
    return program


def order(control: str, words: str) -> str:
    """One order to a program: its answer; `OSError` where it gives none."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.settimeout(PATIENCE)
        connection.connect(control)
        connection.send(words.encode())
        answer = connection.recv(8192).decode()
    if not answer:
        raise ConnectionResetError("closed without an answer")
    return answer


def stress(server: RemoteServer, folder: Path, count: int, faults: str, seed: int = 1) -> dict[str, int]:
    """So many segments attached and detached; what the program counted, and how many left with blocks."""
    program = built(PROGRAM, folder / "allocating")
    delays = built(DELAYS, folder / "delays.so", "-shared", "-fPIC")
    line = f"memory,size=12MiB,cache=4MiB,key={server.key}"
    command = [str(server.consort), *RUN, "--attach", line, "--faults", faults, "--", str(program)]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=server.variables | {"LD_PRELOAD": str(delays)},
    ) as running:
        assert running.stdout is not None and running.stderr is not None
        assert running.stdout.readline() == "ready\n", running.stderr.read()
        variables = dict(
            pair.partition("=")[::2]
            for pair in Path(f"/proc/{running.pid}/environ").read_text().split("\0")
            if "=" in pair
        )
        control = variables["CONSORT_REMOTE_CONTROL"]
        fields = variables["CONSORT_REMOTE_SEGMENTS"].splitlines()[0]
        draw, attached, home, empty = random.Random(seed), list[str](), 0, 0

        def asked(words: str) -> str:
            try:
                return order(control, words)
            except OSError as error:
                # The program's own words say whether it lost its server, or memory.
                raise AssertionError((done, words, running.wait(PATIENCE), running.stderr.read())) from error

        for done in range(count):
            answer = asked(f"attach\t{fields}")
            limit = time.monotonic() + PATIENCE
            # The server has a segment's room again once it sees that its client has gone.
            while "has not that much memory left" in answer and time.monotonic() < limit:
                time.sleep(0.01)
                answer = asked(f"attach\t{fields}")
            assert answer.startswith("ok\t"), (done, answer)
            attached.append(answer.partition("\t")[2])
            if len(attached) <= MOST and draw.random() < 0.5:
                continue
            while attached and (len(attached) > MOST or draw.random() < 0.8):
                answer = asked(f"home\t{attached.pop(draw.randrange(len(attached)))}")
                assert answer.startswith("ok\tdetached"), (done, answer)
                home += "came home" in answer
                empty += "came home" not in answer
        said, errors = running.communicate(timeout=PATIENCE)
        assert running.returncode == 0, (running.returncode, errors)
    return json.loads(said) | {"home": home, "empty": empty}


if __name__ == "__main__":
    for way in ("handler", "in-thread"):
        with tempfile.TemporaryDirectory() as made, serving(Path(made)) as memory:
            print(way, stress(memory, Path(made), int(sys.argv[1]), way), flush=True)
