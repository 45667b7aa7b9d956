# SPDX-License-Identifier: Apache-2.0
"""A server that is short of descriptors, memory or threads goes on; of two at one place one serves."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from consort_remote.toolchain import remote_part
from effort import PATIENCE

FAILING = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static atomic_uint accepted, threads;
int accept4(int socket, struct sockaddr *peer, socklen_t *length, int flags) {
    static const int errors[] = {EINTR, ECONNABORTED, EMFILE, ENFILE, ENOBUFS, ENOMEM, EPERM,
                                 EPROTO, ENETDOWN};
    const unsigned call = atomic_fetch_add(&accepted, 1);
    if (getenv("FAIL_ACCEPT") && call < sizeof errors / sizeof *errors) {
        errno = errors[call];
        return -1;
    }
    int (*real)(int, struct sockaddr *, socklen_t *, int) =
        (int (*)(int, struct sockaddr *, socklen_t *, int))dlsym(RTLD_NEXT, "accept4");
    return real(socket, peer, length, flags);
}

int pthread_create(pthread_t *made, const pthread_attr_t *how, void *(*run)(void *), void *with) {
    const unsigned call = atomic_fetch_add(&threads, 1);
    const char *failing = getenv("FAIL_THREAD");
    if (failing && call == (unsigned)atoi(failing)) {
        return EAGAIN;
    }
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
        (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(
            RTLD_NEXT, "pthread_create");
    return real(made, how, run, with);
}

int connect(int socket, const struct sockaddr *peer, socklen_t length) {
    if (getenv("FAIL_CONNECT")) {
        errno = EMFILE;
        return -1;
    }
    int (*real)(int, const struct sockaddr *, socklen_t) =
        (int (*)(int, const struct sockaddr *, socklen_t))dlsym(RTLD_NEXT, "connect");
    const int done = real(socket, peer, length), error = errno;
    if (getenv("PAUSE_CONNECT")) {
        puts("pauses");
        fflush(stdout);
        char go;
        if (read(0, &go, 1) < 0) {
            abort();
        }
    }
    errno = error;
    return done;
}
"""


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("failing")
    (folder / "failing.c").write_text(FAILING)
    library = folder / "failing.so"
    command = ["cc", "-shared", "-fPIC", str(folder / "failing.c"), "-o", str(library), "-ldl"]
    subprocess.run(command, check=True)
    return library


class Place:
    """A key and a path for servers, which are started with what fails in them."""

    def __init__(self, folder: Path, library: Path) -> None:
        self.path, self.key, self.library = folder / "socket", folder / "key", library
        self.key.write_text("k" * 64)
        self.key.chmod(0o600)

    @contextmanager
    def server(self, *more: str, **fails: str) -> Iterator[subprocess.Popen[str]]:
        command = [str(remote_part("serve")), "--bytes", str(1 << 20), "--key", str(self.key)]
        variables: Mapping[str, str] = os.environ | {"LD_PRELOAD": str(self.library)} | fails
        with subprocess.Popen(
            [*command, "--socket", str(self.path), *more],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=variables,
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    def served(self) -> bool:
        """True if a server has a word for who connects; False where it hangs up."""
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(PATIENCE)
            client.connect(str(self.path))
            return client.recv(1) != b""

    def leave_a_dead_socket(self) -> None:
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(str(self.path))


@pytest.fixture
def place(tmp_path: Path, failing: Path) -> Place:
    tmp_path.chmod(0o700)
    return Place(tmp_path, failing)


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def test_connections_that_cannot_be_taken(place: Place) -> None:
    with place.server(FAIL_ACCEPT="1") as server:
        assert said(server).startswith("ready")
        assert place.served()


def test_a_connection_without_a_thread(place: Place) -> None:
    """Who came hangs up; the next is served."""
    with place.server(FAIL_THREAD="2") as server:
        assert said(server).startswith("ready")
        assert [place.served() for _ in range(3)] == [True, False, True]


def test_a_server_without_a_thread(place: Place) -> None:
    with place.server("--listen", "127.0.0.1:0", FAIL_THREAD="1") as server:
        _, words = server.communicate(timeout=PATIENCE)
        assert server.returncode == 3 and "Resource temporarily unavailable" in words, words
    assert sorted(path.name for path in place.path.parent.iterdir()) == ["key"]


def test_two_servers_find_the_socket_of_a_dead_one(place: Place) -> None:
    place.leave_a_dead_socket()
    with ExitStack() as stack:
        first = stack.enter_context(place.server(PAUSE_CONNECT="1"))
        assert said(first) == "pauses\n"
        second = stack.enter_context(place.server())
        _, words = second.communicate(timeout=PATIENCE)
        assert second.returncode == 2 and f"a server listens at {place.path} already" in words, words
        assert first.stdin is not None
        first.stdin.write("g")
        first.stdin.flush()
        assert said(first).startswith("ready")
        assert place.served()
        first.terminate()
        first.wait(PATIENCE)
    assert sorted(path.name for path in place.path.parent.iterdir()) == ["key"], "nothing is left"


def test_what_is_no_dead_socket_stays(place: Place) -> None:
    """A file of the user's; a server that cannot be asked whether it lives."""
    place.path.write_text("mine")
    with place.server() as server:
        _, words = server.communicate(timeout=PATIENCE)
        assert server.returncode == 2 and "is not a socket" in words, words
    assert place.path.read_text() == "mine"
    place.path.unlink()
    with socket.socket(socket.AF_UNIX) as living:
        living.bind(str(place.path))
        living.listen()
        with place.server(FAIL_CONNECT="1") as server:
            _, words = server.communicate(timeout=PATIENCE)
            assert server.returncode == 3 and "Too many open files" in words, words
        with place.server() as server:
            _, words = server.communicate(timeout=PATIENCE)
            assert server.returncode == 2 and "already" in words, words
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(place.path))


def test_one_after_another_takes_the_place(place: Place) -> None:
    for _ in range(3):
        with place.server() as server:
            assert said(server).startswith("ready") and place.served()
            # Killed: its socket and its lock stay there.
            server.kill()
            server.wait(PATIENCE)
            assert place.path.exists()
