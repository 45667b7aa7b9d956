# SPDX-License-Identifier: Apache-2.0
"""Programs that do not suit a preloaded pager: they work, or the library refuses them in words."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from remote_server import RUN, RemoteServer, serving

# Each function runs in a process of its own: `main` takes its name, and answers 0 where all is right.
PROGRAM = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { size = 12 << 20, step = 4096 };
static char *block;
static char *volatile buffer; /* volatile: else the compiler leaves out malloc and free */

static int filled(char with) {
    for (int i = 0; i < size; i += step)
        if (block[i] != with) return 0;
    return 1;
}
/* A child's own large blocks are its own: they are made and freed as ever. */
static int forks(void) {
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 40; ++i) {
            char *mine = malloc(3 << 20);
            memset(mine, i, 3 << 20);
            char *more = realloc(mine, 5 << 20);
            if (more[0] != i || more[(3 << 20) - 1] != i) _exit(9);
            free(more);
        }
        free(block); /* its copy: the parent's is left as it is */
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status == 0 && filled('x') ? 0 : 1;
}
/* The child finds what there was at the fork, whatever its parent writes then; and the parent its own. */
static int shares_with_its_child(void) {
    char *never = malloc(size), *given = malloc(size);
    memset(given, 'g', size);
    free(given);
    memset(block + size / 2, 'h', step);
    int ways[2], status = 0;
    if (pipe(ways) != 0) return 2;
    pid_t child = fork();
    if (child < 0) return 3;
    if (child == 0) {
        close(ways[1]);
        if (read(ways[0], &status, 1) != 0) _exit(2);
        if (block[size / 2] != 'h') _exit(3);
        memset(block + size / 2, 'x', step);
        if (!filled('x') || never[0] != 0 || never[size - 1] != 0) _exit(4);
        memset(block, 'y', size);
        if (madvise(block + step, step, MADV_DONTNEED) != 0 || block[step] != 0) _exit(5);
        block[step] = 'y';
        if (mprotect(block, step, PROT_READ) != 0) _exit(6);
        if (mprotect(block, step, PROT_READ | PROT_WRITE) != 0) _exit(6);
        pid_t next = fork();
        if (next == 0) _exit(filled('y') ? 0 : 7);
        if (waitpid(next, &status, 0) != next || status != 0) _exit(8);
        block = realloc(block, 2 * size);
        if (block == NULL || !filled('y')) _exit(9);
        never = mremap(never, size, 2 * size, MREMAP_MAYMOVE);
        _exit(never != MAP_FAILED && never[2 * size - 1] == 0 ? 0 : 10);
    }
    memset(block, 'z', size); /* more than the cache holds */
    if (!filled('z')) return 4;
    close(ways[1]);
    waitpid(child, &status, 0);
    return status == 0 && filled('z') ? 0 : 10 + WEXITSTATUS(status);
}
static int forks_for_nothing(void) {
    pid_t child = fork();
    if (child == 0) _exit(block[0]);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS ? 0 : 1;
}
/* The first cell is never behind the last one, nor further ahead than by one; in no copy either. */
static _Atomic int *first, *last;
static _Atomic int ends;
static void *counts(void *nothing) {
    while (!ends) {
        ++*first;
        ++*last;
    }
    return nothing;
}
static int forks_while_a_thread_writes(void) {
    first = (_Atomic int *)block;
    last = (_Atomic int *)(block + size - step);
    *first = *last = 0;
    pthread_t thread;
    pthread_create(&thread, NULL, counts, NULL);
    int wrong = 0;
    for (int i = 0; i < 20; ++i) {
        pid_t child = fork();
        if (child < 0) return 2;
        if (child == 0) _exit(*first - *last == 0 || *first - *last == 1 ? 0 : 9);
        int status = 0, seen = *last;
        waitpid(child, &status, 0);
        wrong += status != 0;
        while (*last == seen) { } /* it goes on after each */
    }
    ends = 1;
    pthread_join(thread, NULL);
    return wrong;
}
/* One that discards, and signal handlers that write: neither waits for ever. */
static void writes(int number) { block[0] = 'x'; (void)number; }
static void *discards(void *area) {
    while (!ends) madvise(area, size, MADV_DONTNEED);
    return NULL;
}
static int forks_while_others_are_busy(void) {
    char *area = malloc(size);
    pthread_t thread;
    pthread_create(&thread, NULL, discards, area);
    signal(SIGALRM, writes);
    struct itimerval often = {{0, 500}, {0, 500}};
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < 10; ++i) {
        pid_t child = fork();
        if (child == 0) _exit(filled('x') ? 0 : 9);
        int status = 0;
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) { }
        if (status != 0) return 2;
    }
    ends = 1;
    pthread_join(thread, NULL);
    return filled('x') ? 0 : 1;
}
static int forks_without_room(void) {
    struct rlimit before, none = {64 << 20, 64 << 20};
    getrlimit(RLIMIT_AS, &before);
    none.rlim_max = before.rlim_max;
    setrlimit(RLIMIT_AS, &none);
    errno = 0;
    if (fork() != -1 || errno != ENOMEM) return 2;
    setrlimit(RLIMIT_AS, &before);
    pid_t child = fork();
    if (child == 0) _exit(filled('x') ? 0 : 9);
    int status = 0;
    waitpid(child, &status, 0);
    return status == 0 && filled('x') ? 0 : 1;
}
static int is_refused_a_child(void) { return fork() == -1 && errno == ENOMEM && filled('x') ? 0 : 1; }
static int forks_without_a_server(void) {
    int status = 0;
    kill(atoi(getenv("VICTIM")), SIGKILL);
    pid_t child = fork();
    if (child == 0) _exit(0); /* it touches nothing */
    /* The connection may have told already. */
    if (child == -1) return errno == EIO && puts("known") >= 0 ? 0 : 4;
    if (waitpid(child, &status, 0) != child || status != 0) return 2;
    errno = 0;
    return fork() == -1 && errno == EIO ? 0 : 3;
}
static int closes_all(void) {
    closefrom(3);
    return filled('x') ? 0 : 1;
}
static void *blocking(void *nothing) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    return filled('x') ? nothing : NULL;
}
static int blocks_signals(void) {
    pthread_t thread;
    void *right = NULL;
    pthread_create(&thread, NULL, blocking, &right);
    pthread_join(thread, &right);
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    return right != NULL && filled('x') ? 0 : 1;
}
static volatile sig_atomic_t ran;
static void handler(int number) { ran = filled('x') ? number : -1; }
static int handles_signals(void) {
    struct sigaction action = {.sa_handler = handler};
    sigfillset(&action.sa_mask);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    return ran == SIGUSR1 ? 0 : 1;
}
static int advises(void) {
    char *area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(area, 'y', size);
    if (madvise(area + step, step, MADV_DONTNEED) != 0) return 2;
    if (area[step] != 0 || area[0] != 'y' || area[2 * step] != 'y') return 3;
    if (munmap(area + 4 * step, 4 * step) != 0 || area[3 * step] != 'y' || area[8 * step] != 'y') return 4;
    area = mremap(area, 4 * step, size / 2, MREMAP_MAYMOVE);
    if (area == MAP_FAILED || area[0] != 'y' || area[step] != 0 || area[3 * step] != 'y') return 5;
    for (int i = 4 * step; i < size / 2; ++i)
        if (area[i] != 0) return 6;
    return filled('x') ? 0 : 1;
}
/* A size that wraps in whole pages: what was there stays, and stays its owner's. */
static int asks_for_all(void) {
    for (size_t less = 0; less < 2 * step; less += step / 2) {
        size_t all = SIZE_MAX - less;
        if (realloc(block, all) != NULL || errno != ENOMEM) return 2;
        if (mremap(block, size, all, MREMAP_MAYMOVE) != MAP_FAILED) return 3;
        if (munmap(block, all) == 0 || errno != EINVAL) return 4;
        if (madvise(block, all, MADV_DONTNEED) == 0 || errno != EINVAL) return 5;
        /* From here to beyond all memory: nothing of it is unmapped. */
        if (munmap(block, (size_t)1 << 62) == 0 || errno != EINVAL || block[0] != 'x') return 7;
        if ((buffer = malloc(all)) != NULL || (buffer = calloc(1, all)) != NULL) return 6;
        if ((buffer = valloc(all)) != NULL) return 8;
    }
    char *other = malloc(size);
    memset(other, 'y', size);
    return filled('x') ? 0 : 1;
}
static int advises_what_is_no_advice(void) {
    for (int advice = 0; advice < 128; ++advice) {
        errno = 0;
        int done = madvise(block, step, advice);
        int drops = advice == MADV_DONTNEED || advice == 24;
        int hint = advice < 4 || advice == 8 || advice == 10 || (advice >= 12 && advice <= 17) ||
                   (advice >= 19 && advice <= 21);
        if ((done == 0) != (drops || hint) || (done != 0 && errno != EINVAL)) return advice;
        if (block[0] != (drops ? 0 : 'x')) return advice;
        block[0] = 'x';
    }
    return 0;
}
static int remaps_what_is_none(void) {
    char *area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mremap(area, 0, size, MREMAP_MAYMOVE) != MAP_FAILED || errno != EINVAL) return 2;
    if (mremap(area + 1, step, size, MREMAP_MAYMOVE) != MAP_FAILED || errno != EINVAL) return 3;
    munmap(area + 4 * step, step);
    if (mremap(area, 8 * step, size, MREMAP_MAYMOVE) != MAP_FAILED || errno != EFAULT) return 4;
    if (mremap(area + 4 * step, step, size, MREMAP_MAYMOVE) != MAP_FAILED || errno != EFAULT) return 5;
    return mremap(area, 4 * step, step, 0) == area && filled('x') ? 0 : 1;
}
/* A range with a hole or of no bytes is answered as by the kernel; what is beside the hole heeds the call. */
static int names_holes_and_nothing(void) {
    char *area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(area, 'y', size);
    munmap(area + 4 * step, step);
    if (madvise(area, 8 * step, MADV_DONTNEED) != -1 || errno != ENOMEM) return 2;
    if (area[3 * step] != 0 || area[7 * step] != 0 || area[8 * step] != 'y') return 3;
    if (mprotect(area, 8 * step, PROT_READ) != -1 || errno != ENOMEM) return 4;
    if (mprotect(area + 4 * step, step, PROT_READ) != -1 || errno != ENOMEM) return 5;
    if (munmap(area, 0) != -1 || errno != EINVAL) return 6;
    if (madvise(area, 0, 99) != -1 || errno != EINVAL || madvise(area, 0, MADV_DONTNEED) != 0) return 7;
    if (mprotect(area, 0, PROT_READ) != 0) return 8;
    area[8 * step] = 'z';
    return filled('x') ? 0 : 1;
}
static int direct(void) {
    errno = 0;
    int file = open(getenv("FILE"), O_RDWR | O_CREAT | O_DIRECT, 0600);
    if (file >= 0 || errno != EINVAL) return 1;
    file = open(getenv("FILE"), O_RDWR | O_CREAT, 0600);
    return file >= 0 && fcntl(file, F_SETFL, O_DIRECT) < 0 && errno == EINVAL ? 0 : 2;
}
static int reads_only(void) {
    if (mprotect(block, size, PROT_READ) != 0 || !filled('x')) return 2;
    pid_t child = fork();
    if (child == 0) _exit(0);
    waitpid(child, NULL, 0);
    if (mprotect(block, size, PROT_READ | PROT_WRITE) != 0) return 3;
    memset(block, 'z', size);
    if (mprotect(block + step, size - step, PROT_READ) != 0 || !filled('z')) return 4;
    free(block); /* the next one that gets the place may write to it */
    block = malloc(size);
    memset(block, 'a', size);
    return filled('a') && mprotect(block, size, PROT_NONE) < 0 && errno == EACCES ? 0 : 1;
}
static int writes_to_what_it_may_only_read(void) {
    mprotect(block, size, PROT_READ);
    block[size / 2] = 'y';
    return 0;
}
/* A buffer for each request, as servers have; a block of calloc is zeros all the same. */
static int uses_buffers(void) {
    for (int i = 1; i <= 1000; ++i) {
        buffer = malloc(20000);
        memset(buffer, i, 20000);
        free(buffer);
    }
    char *zeros = calloc(5, 4000);
    for (int i = 0; i < 20000; ++i)
        if (zeros[i] != 0) return 1;
    /* Blocks that are kept give way where there is no other room. */
    char *all[64];
    int count = 0;
    while (count < 64 && (all[count] = malloc(1 << 20)) != NULL) ++count;
    for (char *small; (small = malloc(20000)) != NULL;) ++count;
    return count > 48 && errno == ENOMEM ? 0 : 2;
}
static int frees_twice(void) {
    buffer = malloc(20000);
    free(buffer);
    free(buffer);
    return 0;
}
#define RUN(name) if (strcmp(what, #name) == 0) return name()
int main(int argc, char **words) {
    const char *what = argc > 1 ? words[1] : "";
    block = malloc(size);
    memset(block, 'x', size);
    RUN(forks);
    RUN(shares_with_its_child);
    RUN(forks_for_nothing);
    RUN(forks_while_a_thread_writes);
    RUN(forks_while_others_are_busy);
    RUN(forks_without_room);
    RUN(is_refused_a_child);
    RUN(forks_without_a_server);
    RUN(closes_all);
    RUN(blocks_signals);
    RUN(handles_signals);
    RUN(advises);
    RUN(asks_for_all);
    RUN(advises_what_is_no_advice);
    RUN(remaps_what_is_none);
    RUN(names_holes_and_nothing);
    RUN(direct);
    RUN(reads_only);
    RUN(writes_to_what_it_may_only_read);
    RUN(uses_buffers);
    RUN(frees_twice);
    return 99;
}
"""


@pytest.fixture(scope="module")
def program(server: RemoteServer) -> Path:
    place = server.place
    (place / "program.c").write_text(PROGRAM)
    subprocess.run(
        ["cc", "-O1", "-pthread", str(place / "program.c"), "-o", str(place / "program")], check=True
    )
    return place / "program"


# The library's words at a program's end.
SUMMARY = re.compile(
    r"consort remote: at most ([0-9.]+) MiB of ([0-9.]+) MiB attached were in use; (\d+) faults, "
    r"\d+ pages fetched\n"
)


def run(
    server: RemoteServer, faults: str, *command: str, options: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    attach = ("--attach", "memory,size=64MiB,cache=2MiB", "--faults", faults, *options)
    return server.remote("run", *attach, "--", *command, FILE=str(server.place / "file"))


@pytest.mark.representative
@pytest.mark.parametrize(
    ("what", "faults", "words"),
    [
        ("forks", "handler", ""),
        ("shares_with_its_child", "handler", ""),
        ("shares_with_its_child", "in-thread", ""),
        ("forks_while_a_thread_writes", "handler", ""),
        ("forks_while_a_thread_writes", "in-thread", ""),
        ("forks_while_others_are_busy", "handler", ""),
        ("forks_while_others_are_busy", "in-thread", ""),
        ("forks_without_room", "handler", "fork() is refused (ENOMEM)"),
        ("closes_all", "handler", ""),
        ("blocks_signals", "in-thread", ""),
        ("handles_signals", "in-thread", ""),
        ("advises", "handler", ""),
        ("asks_for_all", "handler", "have no room for an allocation"),
        ("advises_what_is_no_advice", "handler", ""),
        ("remaps_what_is_none", "handler", ""),
        ("names_holes_and_nothing", "handler", ""),
        ("direct", "handler", "direct I/O (O_DIRECT) is refused (EINVAL)"),
        ("reads_only", "handler", "are refused (EACCES)"),
        ("reads_only", "in-thread", "are refused (EACCES)"),
    ],
)
def test_a_program_that(server: RemoteServer, program: Path, what: str, faults: str, words: str) -> None:
    done = run(server, faults, str(program), what)
    assert done.returncode == 0, done.stderr
    assert words in done.stderr if words else SUMMARY.fullmatch(done.stderr), done.stderr


def test_a_fork_that_is_to_copy_nothing(server: RemoteServer, program: Path) -> None:
    done = run(server, "handler", str(program), "forks_for_nothing", options=("--fork", "nothing"))
    assert done.returncode == 0, done.stderr
    assert "a child after fork() has no remote memory; SIGBUS at 0x" in done.stderr


@pytest.mark.parametrize("faults", ["handler", "in-thread"])
def test_a_write_to_what_is_only_readable(server: RemoteServer, program: Path, faults: str) -> None:
    assert run(server, faults, str(program), "writes_to_what_it_may_only_read").returncode == -11


def test_a_buffer_for_each_request_is_no_fault_each_time(
    server: RemoteServer, program: Path, tmp_path: Path
) -> None:
    """1,000 buffers of five pages beside a block of 3,072; 8,072 pages, did no block keep its own."""
    report = tmp_path / "report.json"
    options = ("--threshold", "16KiB", "--report", str(report))
    done = run(server, "handler", str(program), "uses_buffers", options=options)
    assert done.returncode == 0, done.stderr
    counted = json.loads(report.read_text())["segments"][0]
    assert counted["zeroed"] < 3072 + 100


def test_a_block_that_is_freed_twice(server: RemoteServer, program: Path) -> None:
    done = run(server, "handler", str(program), "frees_twice", options=("--threshold", "16KiB"))
    assert done.returncode == -6
    assert "free() of something that is not an allocation" in done.stderr


@pytest.mark.parametrize("comes", ["linked", "preloaded"])
def test_a_program_with_an_allocator_of_its_own(server: RemoteServer, tmp_path: Path, comes: str) -> None:
    """Its small blocks are the C library's all the same: no other one sizes or frees them."""
    other = (
        "#include <stdlib.h>\nsize_t malloc_usable_size(void *block) { (void)block; abort(); }\n"
        "void *valloc(size_t bytes) { (void)bytes; abort(); }\n"
    )
    asking = (
        "#include <malloc.h>\n#include <stdlib.h>\n"
        "int main(void) {\n"
        "    void *small = malloc(100), *page = valloc(100);\n"
        "    int wrong = malloc_usable_size(small) < 100 || malloc_usable_size(page) < 100;\n"
        "    small = realloc(small, 4 << 20);\n"
        "    free(small);\n    free(page);\n    return wrong;\n}\n"
    )
    (tmp_path / "other.c").write_text(other)
    (tmp_path / "asking.c").write_text(asking)
    library, program = tmp_path / "libother.so", tmp_path / "asking"
    subprocess.run(["cc", "-shared", "-fPIC", str(tmp_path / "other.c"), "-o", str(library)], check=True)
    link = ["-Wl,--no-as-needed", str(library), f"-Wl,-rpath,{tmp_path}"] if comes == "linked" else []
    subprocess.run(["cc", str(tmp_path / "asking.c"), "-o", str(program), *link], check=True)
    attach = ("--attach", "memory,size=64MiB,cache=2MiB")
    others = {"LD_PRELOAD": str(library)} if comes == "preloaded" else {}
    done = server.remote("run", *attach, "--", str(program), **others)
    assert done.returncode == 0 and SUMMARY.fullmatch(done.stderr), done.stderr


def test_children_of_a_shell_are_not_preloaded(server: RemoteServer) -> None:
    """bash has an unsetenv() of its own, and hands on what it found at its start."""
    shell = "env | grep LD_PRELOAD; sh -c 'grep -c libpreload /proc/self/maps'; exit 3"
    done = run(server, "handler", "bash", "-c", shell)
    assert done.returncode == 3, done.stderr
    assert "LD_PRELOAD" not in done.stdout
    assert len(SUMMARY.findall(done.stderr)) == 1, "the shell's own"


def test_the_end_says_how_much_lay_remote(server: RemoteServer) -> None:
    large = "block = bytearray(8 << 20); block[::4096] = bytes(2048)"
    done = run(server, "handler", sys.executable, "-c", large)
    found = SUMMARY.search(done.stderr)
    assert found is not None, done.stderr
    assert 8 <= float(found[1]) < 16 and float(found[2]) == 64 and int(found[3]) > 0
    none = run(server, "handler", "true")
    assert "consort remote: at most 0.0 MiB of 64.0 MiB attached were in use" in none.stderr


def test_a_fork_copies_mapped_pages(server: RemoteServer, program: Path) -> None:
    attach = ("--attach", "memory,size=64MiB,cache=2MiB,pages=mapped")
    done = server.remote("run", *attach, "--", str(program), "shares_with_its_child")
    assert done.returncode == 0, done.stderr


def test_processes_of_python(server: RemoteServer, tmp_path: Path) -> None:
    """multiprocessing forks: each worker computes on what its parent has."""
    script = tmp_path / "workers.py"
    script.write_text(
        "import multiprocessing\n"
        "block = bytearray(range(256)) * (1 << 16)\n"
        "def total(part):\n"
        "    return sum(block[part << 20 : part + 1 << 20])\n"
        "with multiprocessing.get_context('fork').Pool(2) as workers:\n"
        "    found = workers.map(total, range(16))\n"
        "assert found == [sum(range(256)) << 12] * 16, found\n"
        "print('the same')\n"
    )
    done = run(server, "handler", sys.executable, str(script))
    assert (done.returncode, done.stdout) == (0, "the same\n"), done.stderr


def test_a_fork_for_which_the_machine_has_too_little_memory(
    server: RemoteServer, program: Path, tmp_path: Path
) -> None:
    """As /proc/meminfo says, which is another one here."""
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 20000 kB\nMemAvailable: 6144 kB\nSwapFree: 2048 kB\n")
    namespace = ("unshare", "--mount", "sh", "-c", 'mount --bind "$0" /proc/meminfo && "$@"', str(meminfo))
    if subprocess.run([*namespace, "true"], capture_output=True).returncode != 0:
        pytest.skip("another /proc/meminfo needs a mount namespace")
    attach = ("--attach", "memory,size=64MiB,cache=2MiB", "--", str(program), "is_refused_a_child")
    done = subprocess.run(
        [*namespace, str(server.consort), *RUN, *attach],
        capture_output=True,
        text=True,
        env=server.variables,
    )
    assert done.returncode == 0, done.stderr
    assert "fork() is refused (ENOMEM)" in done.stderr
    assert "it has 12 MiB, where 8 MiB are available" in done.stderr


@pytest.mark.parametrize("faults", ["handler", "in-thread"])
def test_a_fork_whose_server_is_lost(program: Path, tmp_path: Path, faults: str) -> None:
    """The first finds out, and its child has no copy, or knows it already; the next one is refused."""
    with serving(tmp_path) as lost:
        attach = f"127.0.0.1:{lost.port},size=64MiB,cache=2MiB,key={lost.key}"
        command = (str(program), "forks_without_a_server")
        done = lost.remote(
            "run", "--faults", faults, "--attach", attach, "--", *command, VICTIM=str(lost.pid)
        )
    assert done.returncode == 0, done.stderr
    found_out = "not all pages can be had: the child after fork() gets no copy of them" in done.stderr
    assert found_out == ("known" not in done.stdout), done.stderr
    assert "fork() is refused (EIO)" in done.stderr
