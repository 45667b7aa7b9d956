# SPDX-License-Identifier: Apache-2.0
"""The target library on other instruction sets: what its object code needs, what it exchanges with this one.

The exchange runs under user-mode emulation: it tests layouts, byte orders and refusals, not weak memory,
which tests/relacy does.
"""

from __future__ import annotations

import functools
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet
from effort import PATIENCE, THOROUGH, examples

sys.path.insert(0, str(Path(__file__).parent))
from cores import CORES, HERE, ROOT, Core, agreed, compile_probe, symbols

# GCC and Clang ask for these of every freestanding environment (GCC manual, "Standards").
FREESTANDING_NEEDS = {"memcpy", "memmove", "memset", "memcmp"}
# Division and floating point that a core has no instruction for: the compiler's own library, always linked.
COMPILER_ARITHMETIC = re.compile(r"__aeabi_(uidiv|uidivmod|fadd|fmul)$")
OPTIMISATIONS = [pytest.param("-O0", marks=pytest.mark.slow), "-O2"]

Probe = Callable[..., Path]


@pytest.fixture(scope="session")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Probe:
    """The probe's object file for a core and an optimisation, compiled once and where a test asks for it."""
    folder = tmp_path_factory.mktemp("probe")

    @functools.cache
    def compiled(core: Core, optimisation: str = "-O2") -> Path:
        if (lack := core.missing()) is not None:
            pytest.skip(lack)
        return compile_probe(core, optimisation, folder)

    return compiled


def instructions(core: Core, objects: Path) -> dict[str, list[str]]:
    """The disassembled instructions of each function."""
    listing = subprocess.run(
        [core.tool("objdump"), "-d", "--no-show-raw-insn", str(objects)],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    functions: dict[str, list[str]] = {}
    current: list[str] = []
    for line in listing.splitlines():
        if head := re.match(r"[0-9a-f]+ <(.+)>:$", line):
            # A local label inside of a function (RISC-V keeps them for the linker) begins no new one.
            if not head[1].startswith(".L"):
                current = functions.setdefault(head[1], [])
        elif body := re.match(r"\s+[0-9a-f]+:\s+(.+?)\s*(?:[;@#].*)?$", line):
            current.append(body[1])
    return functions


@pytest.mark.parametrize("optimisation", OPTIMISATIONS)
@pytest.mark.parametrize("core", CORES, ids=lambda core: core.name)
def test_needs_no_library_below_it(core: Core, optimisation: str, probe: Probe) -> None:
    undefined = {name for name, kind, _ in symbols(core, probe(core, optimisation)) if kind == "U"}
    surplus = {name for name in undefined - FREESTANDING_NEEDS if not COMPILER_ARITHMETIC.match(name)}
    assert not surplus, "a heap, exceptions, atomics by library call, or another hosted function"


@pytest.mark.parametrize("core", CORES, ids=lambda core: core.name)
def test_system_barrier_orders_for_every_observer(core: Core, probe: Probe) -> None:
    # Inlined whole at -O2; at -Os some compilers keep the operation in a function of its own.
    functions = instructions(core, probe(core, "-O2"))

    def barriers(function: str) -> int:
        return sum(bool(re.match(core.barrier, line)) for line in functions[function])

    assert barriers("mailbox_read_system_barrier") == 2, "one for the acquire, one for the release"
    assert barriers("mailbox_write_non_coherent") == 2
    assert barriers("snapshot_read_device") >= 3, "the announcement is ordered on both of its sides"
    assert barriers("versions_publish_system_barrier") == 2, "one before the slot, one after it"
    # Too large to be inlined everywhere.
    (read,) = {
        name
        for name in functions
        if ("read_as_of" in name and "SystemBarrier" in name)
        or (name == "versions_read_system_barrier" and barriers(name))
    }
    # After the load of `latest`, and before that of `begun`, which is relaxed itself, on both ways out.
    assert barriers(read) == 3
    if core.name.startswith(("Cortex", "AArch64")):
        narrow = [line for line in functions["mailbox_read_system_barrier"] if re.match(r"dmb\s+ish", line)]
        assert not narrow, "inner-shareable barriers say nothing to a processor outside the domain"


def test_all_cores_agree_on_every_layout(probe: Probe) -> None:
    tables = {core.name: agreed(core, probe(core)) for core in CORES if core.missing() is None}
    if len(tables) < 2:
        pytest.skip(
            "fewer than two compilers: apt-get install " + " ".join(sorted({c.package for c in CORES}))
        )
    first, *others = tables
    assert len(tables[first]) > 20
    for other in others:
        different = {
            what: (value, tables[other].get(what))
            for what, value in tables[first].items()
            if tables[other].get(what) != value
        }
        assert not different, f"{first} and {other} disagree"


@dataclass(frozen=True)
class Machine:
    """An instruction set whose Linux programs run here, emulated or not."""

    name: str
    compiler: str
    emulator: str | None
    package: str


NATIVE = Machine("native", "g++", None, "g++")
BIG_ENDIAN = Machine("ppc64", "powerpc64-linux-gnu-g++", "qemu-ppc64", "g++-powerpc64-linux-gnu qemu-user")
FOREIGN = [
    Machine("aarch64", "aarch64-linux-gnu-g++", "qemu-aarch64", "g++-aarch64-linux-gnu qemu-user"),
    Machine("armhf", "arm-linux-gnueabihf-g++", "qemu-arm", "g++-arm-linux-gnueabihf qemu-user"),
    Machine("riscv64", "riscv64-linux-gnu-g++", "qemu-riscv64", "g++-riscv64-linux-gnu qemu-user"),
    BIG_ENDIAN,
]


def pairs(sides: list[str], *whole: Machine) -> list[ParameterSet]:
    """Each machine on each side; in the ordinary tier the first side, of `whole` or, without it, of all."""
    return [
        pytest.param(
            machine,
            first,
            id=f"{machine.name}-{side}",
            marks=() if first and machine in (whole or FOREIGN) else pytest.mark.slow,
        )
        for machine in FOREIGN
        for first, side in zip((True, False), sides, strict=True)
    ]


@pytest.fixture(scope="session")
def peer(tmp_path_factory: pytest.TempPathFactory):
    """The command that runs one side of an exchange on a machine."""
    made: dict[tuple[str, str], list[str]] = {}

    def built(machine: Machine, source: str = "peer.cpp") -> list[str]:
        for tool in filter(None, (machine.compiler, machine.emulator)):
            if shutil.which(tool) is None:
                pytest.skip(f"no {tool}: apt-get install {machine.package}")
        if (machine.name, source) not in made:
            program = tmp_path_factory.mktemp("peer") / machine.name
            command = [machine.compiler, "-std=c++20", "-O1", "-static", "-Wall", "-Wextra", "-Werror"]
            subprocess.run(
                [*command, f"-I{ROOT / 'include'}", str(HERE / source), "-o", str(program)], check=True
            )
            emulated = [machine.emulator] if machine.emulator else []
            made[machine.name, source] = [*emulated, str(program)]
        return made[machine.name, source]

    return built


def exchange(
    ping: list[str], echo: list[str], region: Path, policies: tuple[str, str] = ("coherent", "coherent")
) -> None:
    subprocess.run([*ping, "make", str(region), policies[0]], check=True)
    # Two sides that wait in turn cost a time slice each where other tests have the processors.
    count = str(20000 if THOROUGH else 1000)
    other = subprocess.Popen(
        [*echo, "echo", str(region), policies[1], count], stderr=subprocess.PIPE, text=True
    )
    try:
        one = subprocess.run(
            [*ping, "ping", str(region), policies[0], count],
            stderr=subprocess.PIPE,
            text=True,
            timeout=PATIENCE,
        )
        _, errors = other.communicate(timeout=PATIENCE)
    finally:
        other.kill()
    assert (one.returncode, one.stderr) == (0, "")
    assert (other.returncode, errors) == (0, "")


@pytest.mark.parametrize(("machine", "native_makes"), pairs(["native makes it", "it makes it"]))
def test_exchanges_with_this_machine(machine: Machine, native_makes: bool, peer, tmp_path: Path) -> None:
    sides = peer(NATIVE), peer(machine)
    exchange(*(sides if native_makes else sides[::-1]), tmp_path / "region")


@pytest.mark.parametrize(
    "machine",
    [pytest.param(FOREIGN[0], marks=pytest.mark.slow), BIG_ENDIAN],
    ids=lambda machine: machine.name,
)
@pytest.mark.parametrize(
    "policies",
    [
        ("coherent", "system-barrier"),
        ("coherent", "device"),
        ("device", "coherent"),
        ("whole-lines", "non-coherent"),
    ],
    ids="-".join,
)
def test_each_side_chooses_its_access_policy(
    policies: tuple[str, str], machine: Machine, peer, tmp_path: Path
) -> None:
    exchange(peer(NATIVE), peer(machine), tmp_path / "region", policies)


def test_sides_that_lay_lines_out_differently_refuse_one_another(peer, tmp_path: Path) -> None:
    region = tmp_path / "region"
    subprocess.run([*peer(NATIVE), "make", str(region), "coherent"], check=True)
    refused = subprocess.run(
        [*peer(NATIVE), "echo", str(region), "non-coherent", "1"], stderr=subprocess.PIPE, text=True
    )
    assert refused.returncode == 1
    assert "the other kind of access policy" in refused.stderr


@pytest.mark.parametrize(
    "other", [pytest.param(FOREIGN[1], marks=pytest.mark.slow), BIG_ENDIAN], ids=lambda machine: machine.name
)
def test_unlike_foreign_machines_exchange_with_one_another(other: Machine, peer, tmp_path: Path) -> None:
    exchange(peer(FOREIGN[0]), peer(other), tmp_path / "region")


@pytest.mark.parametrize(("machine", "native_serves"), pairs(["native serves", "it serves"], BIG_ENDIAN))
def test_a_link_joins_unlike_machines(machine: Machine, native_serves: bool, peer, tmp_path: Path) -> None:
    here, there = (peer(side, "link_peer.cpp") for side in (NATIVE, machine))
    engine, host = (here, there) if native_serves else (there, here)
    file = str(tmp_path / "link")
    subprocess.run([*here, "make", file], check=True)
    served = subprocess.Popen([*engine, "serve", file], stderr=subprocess.PIPE, text=True)
    try:
        done = subprocess.run(
            [*host, "host", file, str(examples(2000))], stderr=subprocess.PIPE, text=True, timeout=PATIENCE
        )
        assert (done.returncode, done.stderr) == (0, "")
        _, errors = served.communicate(timeout=PATIENCE)
    finally:
        served.kill()
    assert (served.returncode, errors) == (0, "")


@pytest.mark.parametrize(("machine", "native_hosts"), pairs(["native hosts", "it hosts"], BIG_ENDIAN))
def test_unlike_machines_share_a_region(machine: Machine, native_hosts: bool, peer, tmp_path: Path) -> None:
    here, there = (peer(side, "shared_peer.cpp") for side in (NATIVE, machine))
    host, other = (here, there) if native_hosts else (there, here)
    file = str(tmp_path / "region")
    subprocess.run([*here, "make", file], check=True)
    uses = str(examples(300))
    beside = subprocess.Popen(
        [*other, "peer", file, uses], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        done = subprocess.run([*host, "host", file, uses], capture_output=True, text=True, timeout=PATIENCE)
        seen, errors = beside.communicate(timeout=PATIENCE)
    finally:
        beside.kill()
    assert (done.returncode, done.stderr, beside.returncode, errors) == (0, "", 0, "")
    assert done.stdout == seen != "0\n"


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the native object is compared as x86-64")
def test_the_atomics_of_the_coherent_policy_are_plain_instructions(probe: Probe) -> None:
    core = next(core for core in CORES if core.name == "x86-64")
    body = instructions(core, probe(core))["mailbox_read_coherent"]
    assert not [line for line in body if line.startswith(("lock", "xchg", "mfence"))], (
        "acquire and release are free"
    )
