# SPDX-License-Identifier: Apache-2.0
"""The kernel module in an emulated machine: attached, used, detached, refused, failing, again and again."""

from __future__ import annotations

import pytest
from consort.base.errors import BadInput, EnvironmentLacks
from consort_remote import guest, kernel
from effort import PATIENCE

MACHINES = list(kernel.MACHINES)
slow = pytest.mark.slow


def kernel_of(machine: str) -> kernel.Kernel:
    try:
        return kernel.kernel(kernel.MACHINES[machine])
    except EnvironmentLacks as error:
        pytest.skip(str(error))


def passed(machine: str, test: str, patience_s: float = PATIENCE, **values: object) -> guest.Said:
    said = guest.run(kernel_of(machine), test, patience_s, **values)
    assert said.ended and not said.failed and not said.wrong, "\n".join(
        [*said.failed, *said.wrong, *said.log[-60:]]
    )
    return said


@pytest.mark.parametrize("machine", ["x86-64", pytest.param("aarch64", marks=slow)])
def test_memory_is_attached_used_and_detached_and_what_is_wrong_refused(machine: str) -> None:
    said = passed(machine, "quick")
    # A check of each part of the script, so that none is left out by a mistake in it.
    assert {"all movable", "detach with pages in use", "nothing lost", "and leaves nothing"} <= set(said.good)
    assert sum(what.startswith("refused E") for what in said.good) >= 20


@pytest.mark.parametrize("machine", ["x86-64", pytest.param("aarch64", marks=slow)])
def test_an_interrupt_is_told_and_a_lost_page_given_up(machine: str) -> None:
    said = passed(machine, "events")
    assert {
        "the segment lost a page",
        "who waits at a file is told",
        "an event is sent",
        "who uses the page ends with SIGBUS, and no other page is lost",
        "an access that is wrong loses nothing",
        "detach with a page lost",
    } <= set(said.good)


def test_a_device_of_the_device_tree_with_an_interrupt_of_the_machine() -> None:
    said = passed("aarch64", guest.TREE)
    assert {"its registers are its own", "the interrupt is listed", "the module goes again"} <= set(said.good)
    assert "who uses the page ends with SIGBUS" in said.good


def test_a_machine_without_a_device_tree_is_refused() -> None:
    found = kernel_of("x86-64")
    with pytest.raises(BadInput, match="x86-64 has no device tree"):
        guest._command(found, found.image, guest.TREE, {})


@pytest.mark.parametrize("machine", [pytest.param("x86-64", marks=slow), pytest.param("aarch64", marks=slow)])
def test_faults_pins_users_and_random_requests(machine: str) -> None:
    said = passed(machine, "faults")
    assert {"pipe: detach refused", "ring: detach", "accesses that never end"} <= set(said.good)
    assert {"no state of links is made up", "no count is made up"} <= set(said.good)
    assert {"pipe: a detach that is killed ends", "pipe: and leaves the memory"} <= set(said.good)
    assert any(line.startswith("fuzz: ") for line in said.figures)


@pytest.mark.parametrize(
    ("machine", "cycles"),
    [pytest.param("x86-64", 1000, marks=slow), pytest.param("aarch64", 30, marks=slow)],
)
def test_cycles_under_memory_load(machine: str, cycles: int) -> None:
    said = passed(machine, "cycles", 8 * PATIENCE, cycles=cycles)
    assert "cycles" in said.good
    (in_use,) = [line for line in said.figures if line.startswith("pages were in use at")]
    # Else nothing was migrated.
    assert int(in_use.split()[5]) > cycles // 2


@slow
def test_stream_on_each_memory() -> None:
    said = passed("x86-64", "stream")
    lines = [line for line in said.figures if line.startswith("stream:")]
    on_far = [int(line.split("pages-on-1 ")[1].split()[0]) for line in lines]
    pages = 16 * 256
    assert on_far[0] == 0 and on_far[1] == pages and abs(on_far[2] - pages // 2) <= 1
    assert all("emulated" in line for line in lines)


@pytest.mark.parametrize("machine", MACHINES)
def test_the_module_builds(machine: str) -> None:
    try:
        module = kernel.module(kernel_of(machine))
    except EnvironmentLacks as error:
        pytest.skip(str(error))
    # ELF, and says under which licence it is.
    assert module.read_bytes()[:4] == b"\x7fELF" and b"license=GPL" in module.read_bytes()
    # What loads it where a device tree has the device.
    assert b"alias=of:N*T*Cconsort,remap" in module.read_bytes()


GOOD = ["remap-test: ok one", "remap-test: result 0 failed"]


@pytest.mark.parametrize(
    "line",
    [
        "[   12.5] WARNING: CPU: 1 PID: 77 at mm/page_alloc.c:5510 __alloc_pages+0x1d0",
        "[   12.5] BUG: unable to handle page fault for address: ffff888020000000",
        "[   12.5] Call Trace:",
        "[   12.5] INFO: task tool:88 blocked for more than 120 seconds.",
        "[   12.5] Oops: 0002 [#1] PREEMPT SMP NOPTI",
        "[   12.5] Kernel panic - not syncing: Attempted to kill init!",
        "[   12.5] x: remap-test: FAILED attach: 22 instead of 0",
    ],
)
def test_what_a_kernel_complains_of_fails_the_test(line: str) -> None:
    said = guest.Said()
    for each in (*GOOD[:1], line, *GOOD[1:]):
        said.hear(each)
    assert not said.passed and said.good == ["one"]
    good = guest.Said()
    for each in (*GOOD, "[ 0.1] debug: BUGS: x86/bugs", "user 1: 3 of 15"):
        good.hear(each)
    assert good.passed and good.figures == ["user 1: 3 of 15"]


def test_a_guest_that_goes_on_speaking_is_not_ended() -> None:
    speaks = ["sh", "-c", "for i in 0 1 2 3 4 5 6 7 8 9; do echo $i; sleep 0.5; done"]
    assert list(guest.console_lines(speaks, 4)) == list("0123456789")


def test_a_guest_that_hangs_is_ended_and_fails() -> None:
    def command_of(*_: object) -> list[str]:
        return ["sh", "-c", "echo booted; exec sleep 1000"]

    said = guest.Said()
    for line in guest.console_lines(command_of(), 0.5):
        said.hear(line)
    assert said.log == ["booted"] and not said.passed


def test_where_there_is_no_emulator_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    found = kernel_of("x86-64")
    guest._tool(found.machine)
    kernel.module(found)
    monkeypatch.setattr(guest.shutil, "which", lambda _: None)
    with pytest.raises(EnvironmentLacks, match="apt-get install qemu-system-x86"):
        guest._command(found, found.image, "quick", {})


def test_where_there_are_no_packages_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setenv("CONSORT_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentLacks, match="no apt-get to fetch packages of Debian with; copy "):
        kernel.kernel(kernel.MACHINES["x86-64"])
    assert not list(tmp_path.glob("kernels/amd64/*/about.json"))
