# SPDX-License-Identifier: Apache-2.0
"""A connection to a machine's monitor: none, another's, and one that ends."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from consort.base.errors import BadInput, EnvironmentLacks, SystemFails
from consort_remote import qmp
from fake_qemu import FakeQemu


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[FakeQemu]:
    made = FakeQemu(tmp_path / "qmp")
    yield made
    made.end()


def text_file(path: Path) -> None:
    path.write_text("no socket")


def dead_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda _path: None, BadInput, "is not there"),
        (text_file, BadInput, "is not a socket"),
        (dead_socket, EnvironmentLacks, "no QEMU listens at"),
    ],
)
def test_where_no_machine_is(
    tmp_path: Path, make: Callable[[Path], None], error: type[Exception], words: str
) -> None:
    make(tmp_path / "qmp")
    with pytest.raises(error, match=words):
        qmp.Monitor(tmp_path / "qmp")


def test_a_monitor_that_another_client_holds(machine: FakeQemu) -> None:
    machine.greets = False
    with pytest.raises(BadInput, match="or another client holds it"):
        qmp.Monitor(machine.path, greeting_s=0.2)


def test_what_is_no_monitor(tmp_path: Path) -> None:
    path = tmp_path / "other"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()

        def answer() -> None:
            accepted, _ = listening.accept()
            with accepted:
                accepted.sendall(b"220 mail\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(BadInput, match="is not a QMP monitor: it says b'220 mail"):
            qmp.Monitor(path)
        thread.join()


def test_a_machine_that_ends_meanwhile(machine: FakeQemu) -> None:
    machine.ends_at = "query-status"
    with qmp.Monitor(machine.path) as monitor, pytest.raises(SystemFails, match="ended meanwhile"):
        monitor.ask("query-status")
