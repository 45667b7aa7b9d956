# SPDX-License-Identifier: Apache-2.0
"""Memory of a virtual machine over QMP, with a machine that is only played: all that it may answer."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from consort.base.errors import BadInput, ConsortError, EnvironmentLacks, SystemFails
from consort_remote import machine_memory
from consort_remote.commands.remote import command
from fake_qemu import Event, FakeQemu, deleted, ost

MIB = 1 << 20
SIZE = 256 * MIB
# Long for a machine that is played, short for a guest that never answers.
PATIENT, IMPATIENT = "60s", "300ms"


class Lending:
    """Stands for the server: what it lent, and whether it has its room again."""

    def __init__(self) -> None:
        self.ends: list[socket.socket] = []
        self.failure: ConsortError | None = None

    @contextmanager
    def lent(self, _wanted: object) -> Iterator[tuple[int, int]]:
        if self.failure is not None:
            raise self.failure
        theirs, ours = socket.socketpair()
        self.ends.append(ours)
        memory = os.memfd_create("segment")
        try:
            yield memory, theirs.fileno()
        finally:
            os.close(memory)
            theirs.close()

    def has_room(self) -> bool:
        """True if nobody has the connection of any segment any more."""
        for end in self.ends:
            end.setblocking(False)
            try:
                if end.recv(1) != b"":
                    return False
            except BlockingIOError:
                return False
        return True


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lending]:
    made = Lending()
    monkeypatch.setattr(machine_memory, "lent", made.lent)
    yield made
    for end in made.ends:
        end.close()


@pytest.fixture
def machine(tmp_path: Path, server: Lending, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeQemu]:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    tmp_path.chmod(0o700)
    made = FakeQemu(tmp_path / "qmp")
    yield made
    made.end()


def run(*words: str) -> Result:
    return CliRunner().invoke(command, list(words), catch_exceptions=True)


def attach(machine: FakeQemu, device: str = "pc-dimm", patience: str = PATIENT, *more: str) -> Result:
    words = ("attach", "memory,size=256MiB", "--qmp", str(machine.path), "--device", device)
    return run(*words, "--patience", patience, *more)


def detach(machine: FakeQemu, patience: str = PATIENT, name: str = "consort-1") -> Result:
    return run("detach", name, "--qmp", str(machine.path), "--patience", patience)


def listed(machine: FakeQemu) -> list[dict[str, object]]:
    return json.loads(run("list", "--qmp", str(machine.path), "--json").output)["segments"]


def nothing_is_left(machine: FakeQemu, server: Lending) -> bool:
    return not machine.devices and not machine.memory and not machine.holds and server.has_room()


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("device", ["pc-dimm", "virtio-mem"])
def test_a_segment_comes_and_goes(machine: FakeQemu, server: Lending, device: str, early: bool) -> None:
    machine.before_answer = early
    machine.busy = 2  # QEMU deletes a device before it lets go of its memory
    done = attach(machine, device, PATIENT, "--node", "1")
    assert done.exit_code == 0 and f"consort-1: {SIZE} bytes attached" in done.output, done.exception
    memory = machine.memory["consort-1-memory"]
    # Else the guest would write to a copy.
    assert memory["share"] is True and memory["mem-path"] == "/proc/self/fd/17" and memory["size"] == SIZE
    assert not server.has_room()
    (segment,) = listed(machine)
    assert segment == {
        "id": "consort-1", "device": device, "size": SIZE, "in_guest": SIZE, "address": 1 << 32, "node": 1,
        "state": "attached",
    }  # fmt: skip
    assert f"{device:<10}" in run("list", "--qmp", str(machine.path)).output
    machine.asked.clear()
    done = detach(machine)
    assert done.exit_code == 0 and done.output == "consort-1: detached\n", done.exception
    # The server has its room when nobody can write to the memory any more.
    names = machine.names()
    assert names.index("device_del") < names.index("object-del") < names.index("chardev-remove")
    assert nothing_is_left(machine, server) and listed(machine) == []
    assert "no segment is attached" in run("list", "--qmp", str(machine.path)).output


def test_a_virtio_mem_grows_in_blocks(machine: FakeQemu) -> None:
    assert attach(machine, "virtio-mem").exit_code == 0
    assert [each["value"] for name, each in machine.asked if name == "qom-set"] == [128 * MIB, SIZE]
    (added,) = [each for name, each in machine.asked if name == "device_add"]
    assert added["prealloc"] is True


def test_segments_have_names_of_their_own(machine: FakeQemu) -> None:
    machine.plugged = [ost(1, 0), ost(1, 0, "consort-2")]
    assert attach(machine).exit_code == 0
    assert attach(machine).output.startswith("consort-2: ")
    machine.unplugged = [deleted("consort-1")]
    assert detach(machine).exit_code == 0
    assert [each["id"] for each in listed(machine)] == ["consort-2"]
    assert attach(machine).output.startswith("consort-1: ")


@pytest.mark.parametrize(
    "events",
    [
        [ost(3, 0x81)],
        [ost(3, 0x84), ost(3, 0x01)],
        [ost(0x103, 0x82)],
        [deleted("other"), ost(1, 0), ost(3, 0x80), deleted("consort-2")],
        [("MEM_UNPLUG_ERROR", {"device": "consort-1", "msg": "it is in use"})],
        [("DEVICE_UNPLUG_GUEST_ERROR", {"device": "consort-1", "path": "/machine/peripheral/consort-1"})],
    ],
)
def test_a_guest_that_keeps_a_pc_dimm(machine: FakeQemu, server: Lending, events: list[Event]) -> None:
    assert attach(machine).exit_code == 0
    machine.unplugged = events
    done = detach(machine)
    assert isinstance(done.exception, SystemFails) and "the guest keeps the memory" in str(done.exception)
    assert [each["state"] for each in listed(machine)] == ["attached"] and not server.has_room()
    # Later it does not.
    machine.unplugged = [ost(3, 0x84), deleted()]
    assert detach(machine).exit_code == 0 and nothing_is_left(machine, server)


def test_a_guest_that_gives_a_pc_dimm_back_late(machine: FakeQemu, server: Lending) -> None:
    assert attach(machine).exit_code == 0
    machine.unplugged = [deleted("other")]
    done = detach(machine, IMPATIENT)
    assert isinstance(done.exception, SystemFails) and "detach it again" in str(done.exception)
    assert not server.has_room()
    machine.delete()
    (segment,) = listed(machine)
    assert segment["state"] == "given back" and segment["size"] == SIZE and segment["in_guest"] == 0
    assert "given back" in run("list", "--qmp", str(machine.path)).output
    assert "no device used it any more" in detach(machine).output
    assert nothing_is_left(machine, server)


def test_a_guest_that_gives_a_pc_dimm_back_this_moment(machine: FakeQemu, server: Lending) -> None:
    assert attach(machine).exit_code == 0
    machine.gone_first = True
    assert detach(machine).exit_code == 0 and nothing_is_left(machine, server)


def test_a_device_that_is_being_removed_already(machine: FakeQemu, server: Lending) -> None:
    assert attach(machine).exit_code == 0
    machine.refused["device_del"] = "Device consort-1 is already in the process of unplug"
    done = detach(machine, IMPATIENT)
    assert isinstance(done.exception, SystemFails) and "did not give the memory back" in str(done.exception)
    machine.refused["device_del"] = "Device 'consort-1' does not support hotplugging"
    done = detach(machine)
    assert isinstance(done.exception, SystemFails) and "QEMU does not remove the device" in str(
        done.exception
    )
    assert not server.has_room()


def test_blocks_of_a_virtio_mem_may_be_larger(machine: FakeQemu) -> None:
    machine.block = SIZE
    assert attach(machine, "virtio-mem").exit_code == 0
    assert [each["value"] for name, each in machine.asked if name == "qom-set"] == [SIZE]


def test_a_guest_that_keeps_some_of_a_virtio_mem(machine: FakeQemu, server: Lending) -> None:
    assert attach(machine, "virtio-mem").exit_code == 0
    machine.keeps = 2 * MIB
    done = detach(machine, IMPATIENT)
    assert isinstance(done.exception, SystemFails) and f"keeps {2 * MIB} bytes" in str(done.exception)
    # It is offered what it had.
    assert listed(machine)[0]["in_guest"] == SIZE and "device_del" not in machine.names()
    assert not server.has_room()
    machine.keeps = 0
    assert detach(machine).exit_code == 0 and nothing_is_left(machine, server)


def test_a_qemu_that_cannot_remove_a_virtio_mem(machine: FakeQemu, server: Lending) -> None:
    assert attach(machine, "virtio-mem").exit_code == 0
    machine.refused["device_del"] = "virtio based memory devices cannot be unplugged."
    for _ in range(2):
        done = detach(machine)
        assert isinstance(done.exception, EnvironmentLacks) and "QEMU 7.2.22 cannot" in str(done.exception)
        assert "8.1" in str(done.exception)
        assert listed(machine)[0]["in_guest"] == 0 and not server.has_room()


@pytest.mark.parametrize(
    ("device", "behaves", "words"),
    [
        ("pc-dimm", {"plugged": [ost(1, 0x01)]}, "the guest does not take the memory"),
        ("pc-dimm", {"plugged": [ost(1, 0, "consort-2"), ost(3, 0)]}, "the guest did not answer"),
        ("virtio-mem", {"takes": 0}, f"took 0 of {128 * MIB} bytes"),
        ("virtio-mem", {"takes": 128 * MIB}, f"took {128 * MIB} of {SIZE} bytes"),
    ],
)
def test_a_guest_that_does_not_take_it(
    machine: FakeQemu, server: Lending, device: str, behaves: dict[str, object], words: str
) -> None:
    for name, value in behaves.items():
        setattr(machine, name, value)
    done = attach(machine, device, IMPATIENT)
    assert isinstance(done.exception, SystemFails) and words in str(done.exception)
    # Nothing of it stays.
    assert nothing_is_left(machine, server)


def test_a_guest_that_neither_takes_it_nor_gives_it_back(machine: FakeQemu, server: Lending) -> None:
    machine.plugged, machine.unplugged = [], []
    done = attach(machine, "pc-dimm", IMPATIENT)
    assert isinstance(done.exception, SystemFails)
    assert "did not answer" in str(done.exception) and "consort-1 stays" in str(done.exception)
    assert [each["id"] for each in listed(machine)] == ["consort-1"] and not server.has_room()


@pytest.mark.parametrize(
    ("command_refused", "desc", "words"),
    [
        ("device_add", "memory devices (e.g. for memory hotplug) are not enabled, please specify the maxmem"
         " option", "-m 2G,slots=4,maxmem=8G"),
        ("device_add", "no slots where allocated, please specify the 'slots' option", "slots=4"),
        ("device_add", "not enough space, currently 0x0 in use of total space", "the machine with room"),
        ("device_add", "Bus 'pcie.0' does not support hotplugging", "--bus ID"),
        ("device_add", "'DIMM property node has value 7' which exceeds the number of numa nodes: 1", "node"),
        ("object-add", "can't open backing store", "backing store"),
        ("chardev-add", "File descriptor named 'consort-1-server' has not been found", "not been found"),
        ("getfd", "No file descriptor supplied via SCM_RIGHTS", "SCM_RIGHTS"),
    ],
)  # fmt: skip
def test_what_qemu_refuses_leaves_nothing(
    machine: FakeQemu, server: Lending, command_refused: str, desc: str, words: str
) -> None:
    machine.refused[command_refused] = desc
    done = attach(machine)
    assert isinstance(done.exception, BadInput)
    assert desc in str(done.exception) and words in str(done.exception)
    assert not machine.devices and not machine.memory and not machine.holds
    # With getfd refused the descriptors never got further than the monitor's socket.
    assert command_refused == "getfd" or server.has_room()


@pytest.mark.parametrize(
    "failure", [BadInput("more than the server has"), EnvironmentLacks("no server", "x")]
)
def test_what_the_server_refuses_reaches_no_machine(
    machine: FakeQemu, server: Lending, failure: ConsortError
) -> None:
    server.failure = failure
    assert attach(machine).exception is failure
    assert not {"getfd", "add-fd", "object-add", "device_add"} & set(machine.names())


def test_a_server_that_is_gone_is_listed_as_lost(machine: FakeQemu) -> None:
    assert attach(machine).exit_code == 0
    machine.lost.add("consort-1-server")
    assert listed(machine)[0]["state"] == "lost"


def test_a_machine_that_stands_still_is_asked_nothing(machine: FakeQemu, server: Lending) -> None:
    machine.status = "paused"
    done = attach(machine)
    assert isinstance(done.exception, BadInput) and "the machine is paused" in str(done.exception)
    assert not server.ends


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("attach", "memory,size=200MiB"), "not a multiple of 128MiB"),
        (("attach", "memory,size=129MiB", "--device", "virtio-mem"), "not a multiple of 2MiB"),
        (("attach", "memory,size=128MiB,cache=64MiB"), "cache=64MiB"),
        (("attach", "memory,size=128MiB,replicas=1"), "replicas=1"),
        (("attach", "memory"), "lacks its size"),
        (("attach", "host:7070,size=128MiB,key=k"), "not a server of this machine"),
        (("attach", "one+two,size=128MiB,key=k"), "not a server of this machine"),
        (("attach", "memory,size=128MiB", "--size", "64KiB"), "--size: not with --qmp"),
        (("attach", "memory,size=128MiB", "--rights", "r"), "--rights: not with --qmp"),
        (("attach", "memory,size=128MiB", "--module"), "--module: not with --qmp"),
        (("attach", "memory,size=128MiB", "--bus", "pci.0"), "is on no bus"),
        (("attach", "memory,size=128MiB", "--patience", "3601s"), "outside 0 to 1h"),
        (("detach", "consort-1", "--home"), "--home: not with --qmp"),
        (("detach", "consort-1"), "the machine has no consort-1"),
        (("detach", "disk"), "the machine has no disk"),
        (("list", "--program", "7"), "--program: not with --qmp"),
    ],
)
def test_what_cannot_be(machine: FakeQemu, words: tuple[str, ...], says: str) -> None:
    done = run(*words, "--qmp", str(machine.path))
    assert isinstance(done.exception, BadInput) and says in str(done.exception), done.exception
    assert "device_add" not in machine.names() and "device_del" not in machine.names()


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("attach", "demo", "--size", "4KiB", "--device", "pc-dimm"), "--device"),
        (("attach", "demo", "--size", "4KiB", "--bus", "x"), "--bus"),
        (("detach", "demo", "--patience", "1s"), "--patience"),
    ],
)
def test_without_a_machine_its_options_are_refused(words: tuple[str, ...], option: str) -> None:
    done = run(*words)
    assert isinstance(done.exception, BadInput) and f"{option}: only with --qmp" in str(done.exception)
