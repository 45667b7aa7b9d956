# SPDX-License-Identifier: Apache-2.0
"""The kernel module in a QEMU guest: runs a test of kernel-module/guest, reads its output."""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from consort.base.children import finished
from consort.base.errors import BadInput, EnvironmentLacks, SystemFails
from consort.base.owned import temporary_folder
from consort.base.toolchain.builds import digest, kept
from consort.base.toolchain.debian import archive_of
from consort.base.waiting import Standstill

from consort_remote.kernel import Kernel, Machine, module, sources

# The kernel's words when something is wrong with it, whose fault ever it is.
WRONG = re.compile(
    r"\bWARNING\b|\bBUG\b|Call [Tt]race:|\bOops\b|Kernel panic|general protection|INFO: task .* blocked"
)
SAID = re.compile(r"remap-test: (.*)")
NEAR, FAR, APERTURE = 512 << 20, 768 << 20, 512 << 20
# The test of a device tree: RAM behind the aperture stands for both blocks' registers, QEMU writes the words
# there that tell what they are; an interrupt of the virt machine's that nobody has, and where its controller
# is asked to raise it.
TREE = "tree"
REGISTERS = APERTURE
PAGE = 0x1000
SPI = 200
GIC_SET_PENDING = 0x0800_0200
WORDS = {
    0x000: 0x4342_0001,  # a cBlock
    0x004: 0x0008_0101,  # with 8 windows at one port, and one link
    0x00C: 1,  # that is up
    PAGE + 0x000: 0x4D42_0001,  # an mBlock
    PAGE + 0x004: 0x0010_0101,  # with 16 segments at one link, and one memory
    PAGE + 0x00C: 1,
}
# Options for an emulated processor that the host may leave without time: its clocks then look broken, it
# never hangs.
STARVED = "no_timer_check tsc=reliable nowatchdog rcupdate.rcu_cpu_stall_suppress=1"


@dataclass
class Said:
    """A guest's output until it switched off."""

    log: list[str] = field(default_factory=list)
    good: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    figures: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    ended: bool = False
    seconds: float = 0.0

    def hear(self, line: str) -> None:
        self.log.append(line)
        # The kernel may write into a line of the test.
        said = SAID.search(line)
        if said is not None:
            words = said[1]
            if words.startswith("ok "):
                self.good.append(words.removeprefix("ok "))
            elif words.startswith("FAILED"):
                self.failed.append(words)
            elif words.startswith("result "):
                self.ended = True
            else:
                self.figures.append(words)
        elif re.match(r"(stream|fuzz|load|hold|user \d):? ", line):
            self.figures.append(line)
        elif WRONG.search(line):
            self.wrong.append(line)

    @property
    def passed(self) -> bool:
        return self.ended and not self.failed and not self.wrong


def _tool(machine: Machine) -> Path:
    """The static program of the tests, for the guest."""
    compiler = machine.compiler()
    files = sorted((sources() / "guest").glob("*.[ch]"))
    parts: list[str | bytes] = [compiler]
    for file in files:
        parts += [file.name, file.read_bytes()]

    def make(target: Path, scratch: Path) -> None:
        command = [compiler, "-O2", "-static", "-Wall", "-Wextra", "-Werror", "-o", str(target)]
        command += [str(file) for file in files if file.suffix == ".c"]
        done = finished(command)
        if done.returncode != 0:
            raise SystemFails(f"the guest's program does not build: {done.stderr[-2000:]}")

    return kept("kernel-modules", digest(parts), "tool", make)


def _initrd(kernel: Kernel, folder: Path) -> Path:
    files = {"remap.ko": module(kernel), "bin/busybox": kernel.busybox, "bin/tool": _tool(kernel.machine)}
    files |= {path.name: path for path in (sources() / "guest").iterdir() if path.suffix in (".sh", "")}
    made = folder / "initrd"
    made.write_bytes(gzip.compress(archive_of(files, ("bin", "proc", "sys", "tmp")), 1, mtime=0))
    return made


def node(base: int) -> str:
    """A cBlock with its mBlock in source of a device tree, as an addition to a whole one."""
    ranges = (base + REGISTERS, PAGE), (base + REGISTERS + PAGE, PAGE), (base, APERTURE)
    reg = ", ".join(f"<{at >> 32:#x} {at & 0xFFFFFFFF:#x} 0x0 {size:#x}>" for at, size in ranges)
    return f"""
/ {{
    remote-memory@{base + REGISTERS:x} {{
        compatible = "consort,remap";
        reg = {reg};
        reg-names = "cblock", "mblock", "aperture";
        interrupts = <0 {SPI} 1>;
        interrupt-names = "cblock";
    }};
}};
"""


def _tree(command: Sequence[str], base: int, folder: Path) -> Path:
    """QEMU's device tree of its machine, and in it a cBlock with its mBlock."""
    if shutil.which("dtc") is None:
        raise EnvironmentLacks("no dtc was found", "install it: apt-get install device-tree-compiler")
    blob, source, target = (folder / name for name in ("qemu.dtb", "guest.dts", "guest.dtb"))
    _must([*command, "-machine", f"dumpdtb={blob}"])
    tree = _must(["dtc", "-q", "-I", "dtb", "-O", "dts", str(blob)])
    source.write_text(tree + node(base), encoding="utf-8")
    _must(["dtc", "-q", "-I", "dts", "-O", "dtb", "-o", str(target), str(source)])
    return target


def _must(command: Sequence[str]) -> str:
    done = finished(command)
    if done.returncode != 0:
        raise SystemFails(f"{Path(command[0]).name} failed: {done.stderr.strip()[-300:]}")
    return done.stdout


def _command(kernel: Kernel, initrd: Path, test: str, values: Mapping[str, object]) -> list[str]:
    machine = kernel.machine
    program = shutil.which(machine.emulator)
    if program is None:
        raise EnvironmentLacks(
            f"no {machine.emulator}", f"install it: apt-get install {machine.emulator_package}"
        )
    base = machine.ram + NEAR
    words = f"console={machine.console} panic=-1 {STARVED} rdinit=/init mem={NEAR >> 20}M remap.test={test}"
    if test == TREE:
        if not machine.tree:
            raise BadInput(f"{machine.name} has no device tree: --machine aarch64")
        pending = GIC_SET_PENDING + (SPI + 32) // 32 * 4
        # Words of registers are written by hand, behind the driver's back.
        words += f" iomem=relaxed remap.registers={base + REGISTERS} remap.gic={pending}"
        words += f" remap.line={1 << SPI % 32}"
    words += f" remap.base={base} remap.aperture={base:#x}+{APERTURE >> 20}M"
    words += "".join(f" remap.{key}={value}" for key, value in values.items())
    command = [program, *machine.options, "-accel", "tcg,thread=multi", "-smp", "2"]
    command += ["-display", "none", "-monitor", "none", "-nodefaults", "-no-reboot", "-serial", "stdio"]
    # The second node's memory is held back from the kernel (mem=): the aperture, and some behind it, where
    # QEMU puts its tables.
    command += ["-m", f"{(NEAR + FAR) >> 20}M"]
    command += ["-object", f"memory-backend-ram,id=near,size={NEAR}"]
    command += ["-object", f"memory-backend-ram,id=far,size={FAR}"]
    command += ["-numa", "node,nodeid=0,memdev=near,cpus=0-1", "-numa", "node,nodeid=1,memdev=far"]
    if test == TREE:
        command += ["-dtb", str(_tree(command, base, initrd.parent))]
        for at, value in WORDS.items():
            command += ["-device", f"loader,addr={base + REGISTERS + at:#x},data={value:#x},data-len=4"]
    return [*command, "-kernel", str(kernel.image), "-initrd", str(initrd), "-append", words]


def run(
    kernel: Kernel,
    test: str,
    patience_s: float,
    tell: Callable[[str], None] = lambda _: None,
    **values: object,
) -> Said:
    """Boots the kernel for one test; `tell` gets each line of its console.

    A guest that says nothing for `patience_s` is ended.
    """
    said = Said()
    begin = time.monotonic()
    with temporary_folder("guest") as folder:
        command = _command(kernel, _initrd(kernel, Path(folder)), test, values)
        for line in console_lines(command, patience_s):
            said.hear(line)
            tell(line)
    said.seconds = time.monotonic() - begin
    if not said.ended and not said.wrong:
        said.wrong.append(
            f"the guest ended, or said nothing for {patience_s:g} s; its last words: "
            + " | ".join(said.log[-3:])
        )
    return said


def console_lines(command: Sequence[str], patience_s: float) -> Iterator[str]:
    """The lines of a guest's console as they come, until it ends, or is silent for so long and is ended.

    Time for which a busy machine lets the emulator wait for a processor does not count.
    """
    heard = 0
    done = threading.Event()
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:

        def end_a_silent_one() -> None:
            silent = Standstill(patience_s, lambda: [process.pid])
            while not done.wait(silent.every_s):
                if silent.over(heard):
                    process.kill()
                    return

        guard = threading.Thread(target=end_a_silent_one, daemon=True)
        guard.start()
        try:
            assert process.stdout is not None
            for line in process.stdout:
                heard += 1
                yield line.decode(errors="replace").rstrip()
        finally:
            done.set()
            guard.join()
            process.kill()
