# SPDX-License-Identifier: Apache-2.0
"""A segment that a server lends to another process, as a virtual machine holds it."""

from __future__ import annotations

import os
import time
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from consort.base.errors import BadInput, EnvironmentLacks
from consort_remote import machine_memory
from effort import PATIENCE
from remote_server import RemoteServer

SIZE = 256 << 20  # all that the server offers


@pytest.fixture(autouse=True)
def same_folder(server: RemoteServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(server.place))


def lent(
    server: RemoteServer, key: Path | None = None, size: str = "256MiB"
) -> AbstractContextManager[tuple[int, int]]:
    wanted = machine_memory.wanted_of(f"memory,size={size},key={key or server.key}", "pc-dimm")
    return machine_memory.lent(wanted)


@pytest.mark.representative
def test_it_is_kept_as_long_as_the_connection_is_open(server: RemoteServer) -> None:
    with lent(server) as (memory, connection):
        assert os.fstat(memory).st_size == SIZE
        os.pwrite(memory, b"secret", SIZE - 4096)
        # Another process may have them, as QEMU does: what this one closes does not count.
        kept = os.dup(connection), os.dup(memory)
    with pytest.raises(BadInput, match="not that much memory left"), lent(server):
        pass
    assert os.pread(kept[1], 6, SIZE - 4096) == b"secret"
    os.close(kept[0])
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            with lent(server) as (memory, _):
                # The content of before is not seen, and the memory of before is not this one.
                assert os.pread(memory, 6, SIZE - 4096) == bytes(6)
                os.pwrite(kept[1], b"late", 0)
                assert os.pread(memory, 4, 0) == bytes(4)
            break
        except BadInput:
            assert time.monotonic() < deadline
    os.close(kept[1])


def test_what_the_server_refuses(server: RemoteServer, tmp_path: Path) -> None:
    other = tmp_path / "key"
    other.write_text("another key, which is long enough to be one")
    other.chmod(0o600)
    for key, size, words in (
        (other, "128MiB", "key"),
        (server.key, "512MiB", "not that much memory left"),
        (tmp_path, "128MiB", str(tmp_path)),
    ):
        with pytest.raises(BadInput, match=words), lent(server, key, size):
            pass


def test_where_no_server_is(tmp_path: Path, server: RemoteServer, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with pytest.raises(EnvironmentLacks, match="start one: consort remote serve"), lent(server):
        pass
