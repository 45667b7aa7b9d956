# SPDX-License-Identifier: Apache-2.0
"""PREEMPT_RT Linux on a core beside bare-metal ones: kernel, first file system, device tree.

Debian's real-time kernel, an initial RAM file system of two static programs, and QEMU's own device tree with
the other cores' memory and the shared window held back from Linux (board.yaml, `linux`).
"""

from __future__ import annotations

import gzip
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from consort.base.children import finished
from consort.base.errors import BadInput, EnvironmentLacks
from consort.base.files import written_whole
from consort.base.owned import temporary_folder
from consort.base.toolchain import debian
from consort.base.toolchain.builds import cache_folder, need_source_tree
from consort.base.toolchain.debian import archive_of
from consort.board.description import BoardSpec, CoreSpec, Emulator, LinuxSpec, MemoryRange
from consort.board.image import COMMON, build

# The oldest version that the boards were seen to work with; older ones lack the reset control that starts an
# R5F.
OLDEST = (7, 2)


def find(emulator: Emulator) -> Path:
    """A board's QEMU program, new enough; `EnvironmentLacks` says what to install."""
    name, package = emulator.program, emulator.package
    found = shutil.which(name)
    if found is None:
        raise EnvironmentLacks(f"no {name} was found", f"install it: apt-get install {package}")
    done = finished([found, "--version"])
    match = re.search(r"version (\d+)\.(\d+)", done.stdout)
    if done.returncode != 0 or match is None:
        raise EnvironmentLacks(
            f"{found} does not say its version ({(done.stderr or done.stdout).strip()[:200]})",
            f"install it again: apt-get install --reinstall {package}",
        )
    version = (int(match[1]), int(match[2]))
    if version < OLDEST:
        raise EnvironmentLacks(
            f"{found} is version {match[1]}.{match[2]}; {OLDEST[0]}.{OLDEST[1]} or newer is needed",
            f"install a newer {package}",
        )
    return Path(found)


def version(program: Path) -> str:
    """The version as QEMU writes it, for a run's record."""
    return finished([program, "--version"]).stdout.splitlines()[0]


def quoted(path: Path) -> str:
    """A path within a list of options (a=b,c=d), where a comma ends a value and two are one."""
    return str(path).replace(",", ",,")


def command_line(
    program: Path,
    board: BoardSpec,
    memory: Path,
    images: Mapping[str, Path],
    consoles: Mapping[str, Path],
    gdb: Path,
    *,
    counted: bool,
    threads: bool,
    shift: int = 0,
    linux: Sequence[str] = (),
    lines: Sequence[str] = (),
    serial: Mapping[str, str] | None = None,
    semihosting: bool = False,
) -> list[str]:
    """The command line that starts the board. `counted`: time is instructions executed, one in 2 to the
    `shift` nanoseconds.

    `threads`: each core in a thread of its own; else they take turns, one handing over where it waits.
    `lines`: options for what the board's controllers are connected to.
    `serial`: what a core's UART is connected to, instead of a file for its console.
    `semihosting`: programs of the board may open files of this machine.
    `linux`: options that boot Linux; images are then put into memory by who started the board, once it is up.
    """
    line = [str(program), "-M", f"{board.emulator.machine},memory-backend=memory"]
    line += [
        "-object",
        f"memory-backend-file,id=memory,size={board.memory_bytes},share=on,mem-path={quoted(memory)}",
    ]
    if board.emulator.takes_size:
        line += ["-m", f"{board.memory_bytes >> 20}M"]
    line += ["-nodefaults", "-display", "none", "-monitor", "none"]
    for core in board.cores:
        line += [
            "-chardev",
            (serial or {}).get(core.name, f"file,path={quoted(consoles[core.name])}") + f",id={core.name}",
            "-serial",
            f"chardev:{core.name}",
        ]
        if core.name in images and not linux:
            start = f",cpu-num={core.starts_on_cpu}" if core.starts else ""
            line += ["-device", f"loader,file={quoted(images[core.name])}{start}"]
    line += linux or board.emulator.options
    line += lines
    if semihosting:
        line += ["-semihosting-config", "enable=on,target=native"]
    # A spinning core must not starve the others: with instruction counting they take turns.
    if counted:
        line += ["-icount", f"shift={shift},sleep=off"]
    else:
        line += ["-accel", f"tcg,thread={'multi' if threads else 'single'}"]
    line += ["-chardev", f"socket,id=gdb,path={quoted(gdb)},server=on,wait=off", "-gdb", "chardev:gdb"]
    return line


def with_linux(spec: BoardSpec) -> BoardSpec:
    """The board with the memory that Linux needs; window and images stay where they are."""
    linux, backend = _linux(spec), spec.emulator.memory
    larger = MemoryRange(address=spec.memory[backend].address, size=linux.memory)
    made = spec.model_copy(update={"memory": {**spec.memory, backend: larger}})
    made._name = f"{spec.name}-linux"
    return made


def _linux(spec: BoardSpec) -> LinuxSpec:
    if spec.linux is None:
        raise BadInput(f"the board {spec.name} has no core that runs Linux")
    return spec.linux


@dataclass(frozen=True)
class LinuxBoot:
    """Files and arguments that QEMU boots Linux with."""

    kernel: Path
    initrd: Path
    device_tree: Path
    arguments: str

    def options(self) -> list[str]:
        return [
            *("-kernel", str(self.kernel), "-initrd", str(self.initrd), "-dtb", str(self.device_tree)),
            *("-append", self.arguments),
        ]


def kernel(linux: LinuxSpec) -> Path:
    """Debian's real-time kernel, fetched once into the cache with apt, without installing anything."""
    found = sorted((cache_folder() / "rt-kernel").glob(f"vmlinuz-*-rt-{linux.architecture}"))
    if found:
        return found[-1]
    with temporary_folder("rt-kernel") as folder:
        archive = debian.Archive(linux.architecture, Path(folder), _instead())
        image = archive.download(archive.dependency(linux.package, r"linux-image-\S+"))
        (path,) = (debian.unpacked([image], Path(folder) / "unpacked") / "boot").glob("vmlinuz-*")
        target = cache_folder() / "rt-kernel" / path.name
        target.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(target) as staged:
            shutil.copyfile(path, staged)
    return target


def _instead() -> str:
    return f"put its vmlinuz into {cache_folder() / 'rt-kernel'}"


def static_program(spec: BoardSpec, sources: Sequence[Path], name: str, *flags: str) -> Path:
    """A static program; memory held back from Linux is device memory: aligned accesses only."""
    root = need_source_tree("building for a board")
    linux = _linux(spec)
    compiler = linux.tools + "g++"
    if shutil.which(compiler) is None:
        raise EnvironmentLacks(f"no {compiler}", f"install it: apt-get install {linux.tools_package}")
    includes = [root / "include", root / "ports/bare/include", root / "ports/bare/linux", root]
    own = [f'-DCONSORT_CORE_NAME="{_core(spec).title} (Linux)"', *linux.flags]
    return build(compiler, [*COMMON, *own, *flags], includes, sources, ["-static"], name)


def _core(spec: BoardSpec) -> CoreSpec:
    return spec.core(_linux(spec).core)


def program(spec: BoardSpec, source: Path, *flags: str) -> Path:
    """A board's program as a process of its Linux."""
    main = need_source_tree("building for a board") / "ports/bare/linux/main.cpp"
    return static_program(spec, [main, source], f"{source.stem}-{spec.linux_side}", *flags)


def boot(spec: BoardSpec, program: Path, place: int, folder: Path) -> LinuxBoot:
    """Everything QEMU needs to boot Linux and start `program` at a control block; files go to `folder`."""
    root = need_source_tree("a board")
    linux = _linux(spec)
    init = static_program(spec, [root / "ports/bare/linux/init.cpp"], f"init-{spec.linux_side}")
    initrd = folder / "initrd"
    initrd.write_bytes(gzip.compress(archive_of({"init": init, "program": program}), 1, mtime=0))
    arguments = f"console={linux.console} earlycon quiet panic=-1 rdinit=/init -- "
    arguments += f"{spec.window.address:#x} {spec.window_bytes:#x} {place}"
    arguments += f" {spec.registers[linux.release_register]:#x}"
    return LinuxBoot(kernel(linux), initrd, _device_tree(spec, folder), arguments)


def _device_tree(spec: BoardSpec, folder: Path) -> Path:
    """QEMU's device tree of the board, with the ranges reserved that are held back from Linux."""
    if shutil.which("dtc") is None:
        raise EnvironmentLacks("no dtc was found", "install it: apt-get install device-tree-compiler")
    blob, source, target = (folder / name for name in ("qemu.dtb", "board.dts", "board.dtb"))
    machine = [str(find(spec.emulator)), "-M", f"{spec.emulator.machine},dumpdtb={quoted(blob)}"]
    _run([*machine, "-m", f"{spec.memory_bytes >> 20}M", "-display", "none"])
    text = _run(["dtc", "-q", "-I", "dtb", "-O", "dts", str(blob)])
    nodes = "\treserved-memory {\n\t\t#address-cells = <2>;\n\t\t#size-cells = <2>;\n\t\tranges;\n"
    for name in _linux(spec).reserved:
        held = spec.memory[name]
        label = f"consort-{name.replace('_', '-')}@{held.address:x}"
        nodes += f"\t\t{label} {{ reg = <0x0 {held.address:#x} 0x0 {held.size.bytes:#x}>; no-map; }};\n"
    head, brace, tail = text.rpartition("};")
    source.write_text(head + nodes + "\t};\n" + brace + tail, encoding="utf-8")
    _run(["dtc", "-q", "-I", "dts", "-O", "dtb", "-o", str(target), str(source)])
    return target


def _run(command: Sequence[str]) -> str:
    done = finished(command)
    if done.returncode != 0:
        raise EnvironmentLacks(
            f"{Path(command[0]).name} failed: {done.stderr.strip()[-300:]}", "install it again"
        )
    return done.stdout
