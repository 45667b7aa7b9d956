# SPDX-License-Identifier: Apache-2.0
"""Turns a step in C++ into C that any processor's compiler takes: WebAssembly, instrumented, as C again.

clang makes WebAssembly of the step, the checker says whether its migration has a bound, asyncify
instruments what can stand above a safepoint, and wasm2c makes C of it. At run time there is no interpreter,
and no compiler.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from consort.base.errors import BadInput
from consort.base.toolchain.builds import cpp_tree, digest, kept
from consort.base.toolchain.compiler import compiler, include_folders, version_of
from consort.migrate.c_code import (
    PARTS,
    TEMPLATES,
    Described,
    Tools,
    describe,
    own_memory,
    own_phase,
    owner_of,
    ran,
    tools,
)
from consort.migrate.check import Checker, Module, divided, module_of, places

TARGET = ("--target=wasm32", "-mmutable-globals", "-mbulk-memory")
FLAGS = ("-std=c++20", "-O2", "-g", "-ffreestanding", "-fno-exceptions", "-fno-rtti", "-ffp-contract=off")
LINK = (
    "--no-entry",
    "--stack-first",
    "--export=__stack_pointer",
    "--no-demangle",
    "--no-merge-data-segments",
)
# Functions that were kept apart stay so.
FEATURES = (
    "--enable-mutable-globals",
    "--enable-bulk-memory",
    "--strip-dwarf",
    "-ocimfs",
    "0",
    "-aimfs",
    "2",
)
ASYNCIFY = (
    "--asyncify",
    "--pass-arg=asyncify-imports@consort.safepoint",
    # The checker has seen that none of them leads to a safepoint.
    "--pass-arg=asyncify-ignore-indirect",
)
PAGE = 65536
LAYOUT_FILE, CODE_FILE = "module.json", "module.c"


@dataclass(frozen=True)
class Range:
    """Bytes of the linear memory."""

    at: int
    bytes: int


@dataclass(frozen=True)
class Step:
    """A step that was built to migrate. `folder` holds module.c, job.c, job.h, plain.c and module.json."""

    folder: Path
    file: Path
    name: str
    module_hash: str
    layout_hash: str
    memory_bytes: int
    ranges: dict[str, Range]
    above: tuple[str, ...]
    fresh: bytes
    described: dict[str, dict[str, int | str]]

    @property
    def image_bytes(self) -> int:
        """The longest image of its live state, with its header."""
        return 48 + sum(self.ranges[name].bytes for name in ("stack", "data", "frames"))


def build_module(file: Path, step: str) -> Step:
    """The C of a step, built if it is not cached. BadInput says what breaks the bound, with its place."""
    if not file.is_file():
        raise BadInput("there is no such file", file=file)
    found = tools()
    root = cpp_tree()
    port = root / "ports" / "wasm"
    parts: list[str | bytes] = [str(file), step, found.versions, compiler(), version_of(compiler())]
    here = Path(__file__).parent
    sources = [
        *sorted(file.parent.glob("*.h*")),
        *sorted((root / "include").rglob("*.h*")),
        *sorted(each for each in port.rglob("*") if each.is_file()),
        *sorted(here.glob("*.py")),
        *sorted((here / "templates").iterdir()),
    ]
    # A step may include more than the headers beside it.
    sources += _included(file)
    for source in dict.fromkeys(sources):
        parts += [str(source), source.read_bytes()]

    def make(target: Path, scratch: Path) -> None:
        target.mkdir()
        _Pipeline(found, file, step, target, scratch).make()

    return read_step(kept("migrate", f"{file.stem}-{digest(parts)}", "module", make), file, step)


def read_step(folder: Path, file: Path, step: str) -> Step:
    """The step that a folder of a built step describes."""
    said = json.loads((folder / LAYOUT_FILE).read_text(encoding="utf-8"))
    return Step(
        folder,
        file,
        step,
        said["module_hash"],
        said["layout_hash"],
        said["memory_bytes"],
        {name: Range(*each) for name, each in said["ranges"].items()},
        tuple(said["above"]),
        bytes.fromhex(said["fresh"]),
        said["parts"],
    )


def _included(file: Path) -> list[Path]:
    """The headers that the file names with quotation marks, and those that these name."""
    found: list[Path] = []
    more = [file]
    while more:
        current = more.pop()
        for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', current.read_text(errors="replace"), re.M):
            path = (current.parent / name).resolve()
            if path.is_file() and path not in found:
                found.append(path)
                more.append(path)
    return found


class _Pipeline:
    def __init__(self, found: Tools, file: Path, step: str, target: Path, scratch: Path) -> None:
        self.tools, self.file, self.step = found, file, step
        self.target, self.scratch = target, scratch

    def make(self) -> None:
        described = describe(self.file, self.step, self.scratch)
        text = self._intermediate(described)
        (self.scratch / "guest.ll").write_text(divided(text), encoding="utf-8")
        self._run(
            [self.tools.clang, *TARGET, "-O2", "-c", "guest.ll", "-o", "guest.o"], "the step does not compile"
        )
        linked = self._linked(PAGE)
        checker = Checker(self._module(linked), places(text), self.step)
        try:
            checker.check()
        except BadInput as error:
            raise error if error.file else BadInput(error.message, file=self.file, field=self.step) from None
        # Rounded as every frame is.
        stack = max(16, (checker.stack_bytes() + 15) // 16 * 16)
        linked = self._linked(stack)
        written = self._written()
        plain = self._optimized(linked, "plain.wasm", "-O2", "-g")
        instrumented = self._optimized(plain, "instrumented.wasm", "-g", "--optimize-level=2", *ASYNCIFY)
        frames = checker.frames_bytes(self._module(instrumented))
        final = self._optimized(instrumented, "job.wasm", "-O2")
        end = (max(each.at + each.bytes for each in written.values()) + 15) // 16 * 16
        ranges = {
            **{name: written[name] for name in ("in", "state", "out", "data")},
            "stack": Range(0, stack),
            # After the two words that describe the buffer.
            "frames": Range(end + 8, (frames + 7) // 8 * 8),
        }
        memory = (end + 8 + ranges["frames"].bytes + 15) // 16 * 16
        if memory > PAGE * 0x7FFF:
            raise BadInput(f"its memory has {memory} bytes; at most 2 GiB", file=self.file, field=self.step)
        parts: dict[str, dict[str, int | str]] = {
            name: {"size": part.size, "fingerprint": part.fingerprint}
            for name, part in described.parts.items()
        }
        layout = [memory, {name: [each.at, each.bytes] for name, each in ranges.items()}, parts]
        said = {
            "module_hash": hashlib.sha256(final.read_bytes()).hexdigest()[:16],
            "layout_hash": hashlib.sha256(json.dumps(layout, sort_keys=True).encode()).hexdigest()[:16],
            "memory_bytes": memory,
            "ranges": layout[1],
            "parts": parts,
            "above": [checker.describe(index) for index in sorted(checker.above)],
            "fresh": described.fresh.hex(),
        }
        self._as_c(said, memory, ranges)

    def _run(self, command: Sequence[str], what: str) -> str:
        inside = [
            str(self.scratch / word) if word.startswith(("guest.", "job.")) else word for word in command
        ]
        return ran(inside, self.scratch, what, self.file)

    def _intermediate(self, described: Described) -> str:
        """The step as LLVM's text, nothing inlined yet."""
        leaves = [
            (PARTS[name], leaf.name, leaf.offset)
            for name, part in described.parts.items()
            for leaf in part.leaves
            # Longer names were cut.
            if leaf.name and len(leaf.name) < 47
        ]
        unit = TEMPLATES.render(
            "guest.cpp.j2",
            header=self.file.resolve(),
            step=self.step,
            owner=owner_of(self.step),
            sizes=[(PARTS[name], part.size) for name, part in described.parts.items()],
            leaves=leaves,
            constants=", ".join(str(byte) for byte in described.constants),
        )
        (self.scratch / "guest.cpp").write_text(unit, encoding="utf-8")
        port = cpp_tree() / "ports" / "wasm"
        places_ = [port / "shim", include_folders()[0], *self.tools.libraries]
        command = [
            self.tools.clang,
            *TARGET,
            *FLAGS,
            "-nostdlibinc",
            *(f"-isystem{each}" for each in places_),
        ]
        command += ["-S", "-emit-llvm", "-Xclang", "-disable-llvm-passes", "guest.cpp", "-o", "guest.ll"]
        self._run(command, "the step does not compile as WebAssembly")
        return (self.scratch / "guest.ll").read_text(encoding="utf-8")

    def _linked(self, stack: int) -> Path:
        # A missing function becomes an import, which the checker names.
        linked = self.scratch / "linked.wasm"
        options = ["-z", f"stack-size={stack}", "--allow-undefined", f"-Map={self.scratch / 'guest.map'}"]
        self._run(
            [self.tools.linker, *LINK, *options, "guest.o", "-o", str(linked)], "the step does not link"
        )
        return linked

    def _module(self, file: Path) -> Module:
        details = self._run([self.tools.objdump, "-x", str(file)], "wasm-objdump")
        return module_of(details, self._run([self.tools.objdump, "-d", str(file)], "wasm-objdump"))

    def _optimized(self, file: Path, name: str, *options: str) -> Path:
        made = self.scratch / name
        command = [self.tools.optimizer, str(file), *FEATURES, *options, "-o", str(made)]
        self._run(command, "wasm-opt")
        return made

    def _written(self) -> dict[str, Range]:
        """Ranges of In, State and Out, and of all that can be written, as the linker placed them."""
        text = (self.scratch / "guest.map").read_text(encoding="utf-8")
        lines = re.findall(r"^ *([0-9a-f]+) +[0-9a-f]+ +([0-9a-f]+)( +)(\S.*)$", text, re.M)
        found = {}
        writable: list[Range] = []
        for at, size, _, name in lines:
            if name.startswith((".data", ".bss")):
                writable.append(Range(int(at, 16), int(size, 16)))
            for part in ("in", "state", "out"):
                if name == f"consort_{part}":
                    found[part] = Range(int(at, 16), int(size, 16))
        start = min(each.at for each in writable)
        found["data"] = Range(start, max(each.at + each.bytes for each in writable) - start)
        return found

    def _as_c(self, said: dict[str, object], memory: int, ranges: dict[str, Range]) -> None:
        phase = ""
        for name in ("job", "plain"):
            made = self.scratch / f"{name}.c"
            self._run(
                [self.tools.wasm2c, "-n", "job", str(self.scratch / f"{name}.wasm"), "-o", str(made)],
                "wasm2c",
            )
            for file in (made, made.with_suffix(".h")):
                text = own_memory(file.read_text(encoding="utf-8"), memory, strict=file.suffix == ".c")
                if file.name == "job.c":
                    text, phase = own_phase(text)
                (self.target / file.name).write_text(text, encoding="utf-8")
        table = re.search(r"allocate_funcref_table\([^,]*, (\d+)", (self.target / "job.c").read_text())
        text = TEMPLATES.render(
            "module.c.j2",
            file=self.file,
            step=self.step,
            memory=memory,
            ranges=ranges,
            table=int(table[1]) if table else 0,
            phase=phase,
            module_hash=said["module_hash"],
            layout_hash=said["layout_hash"],
        )
        (self.target / CODE_FILE).write_text(text, encoding="utf-8")
        shutil.copy(self.tools.header / "wasm-rt.h", self.target / "wasm-rt.h")
        (self.target / LAYOUT_FILE).write_text(json.dumps(said, indent=1), encoding="utf-8")
