# SPDX-License-Identifier: Apache-2.0
"""The C of a migrating step compiled for a processor, processes that run it, and a job moved among them."""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from consort.base.children import Child
from consort.base.errors import BadInput, ConsortError, EnvironmentLacks, SystemFails
from consort.base.toolchain.builds import cpp_tree, digest, kept
from consort.base.toolchain.compiler import (
    PROCESSES,
    ProcessSpec,
    compiled,
    include_folders,
    run_tool,
    version_of,
)
from consort.migrate.module import Step

# No warnings: the C is generated.
C_FLAGS = ("-O2", "-g", "-ffp-contract=off", "-w", "-ffunction-sections")
CPP_FLAGS = ("-std=c++20", "-O2", "-g", "-ffp-contract=off", "-Wall", "-Wextra")
# Where 8 GiB of addresses behind the memory can be kept free, no access is checked: on this machine. (An
# emulator keeps account of each page of them.) Elsewhere each access is compared with the memory's end.
GUARDED = ("x86-64",)
NEVER = 0xFFFFFFFF
TRAPS = {
    1: "an access outside of its memory",
    2: "an integer overflow",
    3: "a division by zero",
    4: "a conversion of NaN to an integer",
    5: "a place that cannot be reached",
    6: "an indirect call of something that is not a function",
}


def target_of(name: str) -> ProcessSpec:
    """A processor of this name. EnvironmentLacks where its compiler or emulator is not here."""
    spec = PROCESSES.get(name)
    if spec is None:
        raise BadInput(f"{name!r} is none of {', '.join(sorted(PROCESSES))}", field="--for")
    missing = [p for tool, p in ((spec.compiler, spec.package), (spec.emulator, "qemu-user"))
               if tool and shutil.which(tool) is None]  # fmt: skip
    if missing:
        raise EnvironmentLacks(
            f"nothing can be built and run for {name} here", f"install: apt-get install {' '.join(missing)}"
        )
    return spec


def compile_step(step: Step, spec: ProcessSpec, *more: str) -> Path:
    """The object of the step's C. `more`: further flags, such as those of the benchmark."""
    port = cpp_tree() / "ports" / "wasm" / "include"
    guarded = ("-DCONSORT_MIGRATE_GUARDED",) if spec.name in GUARDED else ()
    flags = [*C_FLAGS, *spec.flags, *guarded, *more]
    parts: list[str | bytes] = [spec.compiler, version_of(spec.compiler), *flags]
    headers = [
        *port.rglob("*.h"),
        *include_folders()[0].glob("consort/migrate/*.h"),
        *step.folder.glob("*.[ch]"),
    ]
    for file in sorted(headers):
        parts += [file.name, file.read_bytes()]

    def make(target: Path, scratch: Path) -> None:
        command = [spec.compiler, "-x", "c", *flags, f"-I{port}", f"-I{include_folders()[0]}"]
        command += [f"-I{step.folder}", "-c", str(step.folder / "module.c"), "-o", str(target)]
        done = compiled(command, scratch)
        if done.returncode != 0:
            raise ConsortError(
                f"the C of {step.name} does not compile for {spec.name}: {done.stderr[-2000:]}"
            )

    return kept("migrate", f"{step.file.stem}-{spec.name}-{digest(parts)}", "step.o", make)


def build_program(
    step: Step, spec: ProcessSpec, source: Path, *objects: Path, flags: Sequence[str] = ()
) -> Path:
    """A program around the step's objects."""
    parts: list[str | bytes] = [spec.compiler, version_of(spec.compiler), *CPP_FLAGS, *spec.flags, *flags]
    folders = include_folders()
    migrate = [
        *(folders[0] / "consort" / "migrate").iterdir(),
        *(folders[0] / "consort" / "task").iterdir(),
        *(folders[1] / "consort" / "linux").glob("guarded.hpp"),
        *sorted(step.file.parent.glob("*.h*")),
    ]
    for file in (source, *sorted(migrate)):
        parts += [file.name, file.read_bytes()]
    parts += [str(each) for each in objects]

    def make(target: Path, scratch: Path) -> None:
        command = [spec.compiler, *CPP_FLAGS, *spec.flags, *flags, *(f"-I{each}" for each in folders)]
        made = str(scratch / "program.o")
        done = compiled([*command, "-c", str(source), "-o", made], scratch)
        if done.returncode == 0:
            # Static: an emulator needs no libraries of the other processor.
            link = ["-static", "-Wl,--gc-sections", "-o", str(target)]
            done = run_tool([*command, made, *map(str, objects), *link, "-lm"], scratch)
        if done.returncode != 0:
            raise ConsortError(f"{source.name} does not build for {spec.name}: {done.stderr.strip()[-2000:]}")

    return kept("migrate", f"{step.file.stem}-{source.stem}-{spec.name}-{digest(parts)}", source.stem, make)


def build_server(step: Step, name: str) -> list[str]:
    """The command that runs the step's jobs on a processor, emulated where this machine is another one."""
    spec = target_of(name)
    program = build_program(step, spec, cpp_tree() / "ports" / "wasm" / "serve.cpp", compile_step(step, spec))
    return [*([spec.emulator] if spec.emulator else []), str(program)]


@dataclass(frozen=True)
class Done:
    """A job's results, little-endian."""

    moves: int
    state: bytes
    out: bytes


class Refused(SystemFails):
    """An image was not taken; the job was not gone on with."""


class Server:
    """A process that runs jobs of one step."""

    def __init__(self, step: Step, name: str) -> None:
        self.step, self.name = step, name
        self._process = subprocess.Popen(
            build_server(step, name),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._child = Child(self._process)

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.stdin:
            self._process.stdin.close()
        self._process.kill()
        self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()

    def start(self, given: bytes, state: bytes, others: int = NEVER) -> Done | bytes:
        """Begins a job; its end, or its image where it left at the safepoint after `others`."""
        return self._ask(1, others, given + state)

    def resume(self, image: bytes, others: int = NEVER) -> Done | bytes:
        """Goes on with a job. Raises Refused where the image is not one of this step."""
        return self._ask(2, others, image)

    def hops(self, given: bytes, state: bytes, others: int, *, images: bool = True) -> Done:
        """A job that moves at every safepoint after `others` between two instances of the process."""
        done = self._ask(3 if images else 4, others, given + state)
        assert isinstance(done, Done)
        return done

    def _ask(self, kind: int, others: int, payload: bytes) -> Done | bytes:
        assert self._process.stdin is not None
        try:
            order = struct.pack("<III", kind, len(payload) + 4, others)
            self._child.write(self._process.stdin.fileno(), order + payload)
        except BrokenPipeError:
            raise self._died() from None
        answer, length = struct.unpack("<II", self._read(8))
        said = self._read(length)
        if answer == 1:
            return said
        if answer == 2:
            raise Refused(f"{self.step.name} on {self.name}: the state was refused: {said.decode()}")
        if answer == 3:
            why = TRAPS.get(struct.unpack("<I", said)[0], "a trap")
            raise SystemFails(f"{self.step.name} on {self.name}: {why}")
        (moves,) = struct.unpack_from("<I", said)
        state = self.step.ranges["state"].bytes
        return Done(moves, said[4 : 4 + state], said[4 + state :])

    def _read(self, count: int) -> bytes:
        assert self._process.stdout is not None
        said = self._child.read(self._process.stdout.fileno(), count)
        if len(said) != count:
            raise self._died()
        return said

    def _died(self) -> SystemFails:
        status = self._process.wait()
        words = f"by signal {-status}" if status < 0 else f"with status {status}"
        return SystemFails(f"{self.step.name} on {self.name}: the process ended {words}")


@dataclass(frozen=True)
class Hopped:
    """`same`: whether state and output are those of the job that never moved, bit for bit."""

    order: tuple[str, ...]
    every: int
    moves: int
    largest_image: int
    same: bool
    state: bytes
    out: bytes


def hop(step: Step, order: Sequence[str], every: int, given: bytes, state: bytes) -> Hopped:
    """Moves a job at each `every`-th safepoint to the next processor of `order`, and round again."""
    with ExitStack() as stack:
        servers = [stack.enter_context(Server(step, name)) for name in order]
        stayed = servers[0].start(given, state)
        assert isinstance(stayed, Done)
        moves = largest = 0
        said = servers[0].start(given, state, every - 1)
        while not isinstance(said, Done):
            moves += 1
            largest = max(largest, len(said))
            said = servers[moves % len(servers)].resume(said, every - 1)
    same = (said.state, said.out) == (stayed.state, stayed.out)
    return Hopped(tuple(order), every, moves, largest, same, said.state, said.out)
