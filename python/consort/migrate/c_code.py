# SPDX-License-Identifier: Apache-2.0
"""Changes to the C that wasm2c makes of a step: its memory, and its test for a job that is leaving."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from consort.base.children import finished
from consort.base.errors import BadInput, ConsortError, EnvironmentLacks
from consort.base.toolchain.builds import Templates
from consort.base.toolchain.compiler import FLAGS, compiled, compiler, include_folders, run_tool

# The replacements in the C of wasm2c: its text, the new text, and how often at least.
# - The size of the memory is a constant.
# - A load need not be kept where nothing uses it: none is there to trap a page.
# - Blocks lie in reverse on big-endian processors.
# - What was kept apart from what is instrumented stays so, and the latter is optimized for size: the compiler
#   would thread the instrumentation's branches through all of it.
# - All functions are the unit's own.
_CHANGES = (
    (r"mem->size", "{memory}u", 1),
    (r"(?<![\w.])m\.size", "{memory}u", 1),
    (r"(dest|src)->size(?= *\))", "{memory}u", 0),
    (r"#define wasm_asm __asm__", "#define wasm_asm(X)", 1),
    (r"memset\(mem->data \+ d, val, n\)", "memset(CONSORT_MEMORY_AT(mem, d, n), val, n)", 1),
    (
        r"memmove\(dest->data \+ dest_addr, src->data \+ src_addr, n\)",
        "memmove(CONSORT_MEMORY_AT(dest, dest_addr, n), CONSORT_MEMORY_AT(src, src_addr, n), n)",
        1,
    ),
    (r"(?m)^static (?=\w+ w2c_(?!asyncify|consort)\w+\([^{;]*\);$)", "static __attribute__((noinline)) ", 0),
    (r"(?m)^static (?=void w2c_consort_step\()", 'static __attribute__((noinline, optimize("Os"))) ', 1),
    (r"(?m)^(?=(?:void|u32|u64|f32|f64|u32\*|wasm_rt_memory_t\*) Z_)", "static ", 1),
)


def own_memory(text: str, memory: int, *, strict: bool) -> str:
    for pattern, instead, least in _CHANGES:
        text, times = re.subn(pattern, instead.format(memory=memory), text)
        if strict and times < least:
            raise ConsortError(
                f"wasm2c wrote C without {pattern!r}: it is of a version that is not known here"
            )
    return text


_FUNCTION = re.compile(r"^static [^;{}\n]*\bw2c_(\w+)\([^;{}\n]*\{\n.*?^\}$", re.M | re.S)
# A call, alone in its line or with its result used: of the step's own functions, of those outside.
_CALL = re.compile(r"^( *)(?:\w+ = )?(?:w2c_(\w+)\(instance\b.*\);|\(\*Z_\w+\)\(.*\);)$", re.M)


def own_phase(text: str) -> tuple[str, str]:
    """Turns asyncify's two globals in the instrumented step into something a compiler can reason about.

    Whether a job runs, leaves or returns changes at a safepoint alone. So a function that can stand above one
    keeps it in a variable, and reads it again after the calls that can lead there. No job leaves while a
    function begins, and none returns any more behind a safepoint: the port's own functions see to that. (But
    behind another function it may: the frames of an image choose what is called.) The buffer is always the
    same one, so its address is a constant. Returns the C, and the name of the variable in the instance.
    """
    phase = re.search(r"u32 w2c_asyncify_get_state\([^{;]*\{[^}]*?instance->(w2c_g\d+);", text)
    buffer = re.search(
        r"void w2c_asyncify_start_unwind\([^{;]*\{[^}]*?instance->(w2c_g\d+) = w2c_i0;\s*w2c_i0 = w2c_p0;"
        r"\s*instance->(w2c_g\d+) = ",
        text,
    )
    if phase is None or buffer is None or buffer[1] != phase[1]:
        raise ConsortError("asyncify's functions are not as known here: wasm-opt is of another version")
    state = f"instance->{phase[1]}"
    above = {
        found[1]
        for found in _FUNCTION.finditer(text)
        if state in found[0] and not found[1].startswith("asyncify_")
    }

    def call(found: re.Match[str]) -> str:
        if found[2] is None:
            return f"{found[0]}\n{found[1]}consort_phase = {state} != 0u;"
        return f"{found[0]}\n{found[1]}consort_phase = {state};" if found[2] in above else found[0]

    def changed(found: re.Match[str]) -> str:
        body = found[0].replace(f"instance->{buffer[2]}", "CONSORT_DESCRIPTION")
        if found[1] not in above:
            return body
        body = _CALL.sub(call, body.replace(state, "consort_phase"))
        body = _own_end(body)
        begin = f"  u32 consort_phase = {state} != 0u ? 2u : 0u;\n"
        return body.replace("  FUNC_PROLOGUE;\n", f"  FUNC_PROLOGUE;\n{begin}", 1)

    # The buffer's address that asyncify's own functions store is read no more.
    text = re.sub(r"^ *CONSORT_DESCRIPTION = .*\n", "", _FUNCTION.sub(changed, text), flags=re.M)
    return text, phase[1]


_END = r"CONSORT_DESCRIPTION;\n *w2c_i\d = i32_load\(&instance->w2c_memory, \(u64\)\(w2c_i\d\)\);"
_MOVED = re.compile(
    rf"w2c_i(\d) = CONSORT_DESCRIPTION;\n *w2c_i(\d) = {_END}\n"
    r" *w2c_i\d = (\d+)u;\n *w2c_i\2 ([+-])= w2c_i\d;\n"
    r"( *)i32_store\(&instance->w2c_memory, \(u64\)\(w2c_i\1\), w2c_i\2\);"
)


def _own_end(body: str) -> str:
    """Keeps the fill level of the buffer in a variable while one function's frame is taken back or left.

    Its memory is written when both parts of the frame are taken, and read before the first one is left. A
    function that moves it otherwise stays as it is.
    """
    moves = list(_MOVED.finditer(body))
    if [each[4] for each in moves] != ["-", "-", "+", "+"]:
        return body
    ends = [each.end() for each in moves]
    memory = "i32_load(&instance->w2c_memory, CONSORT_DESCRIPTION)"
    store = "i32_store(&instance->w2c_memory, CONSORT_DESCRIPTION, consort_end);"
    # The index of the call is read as soon as the frame is taken, and left before it.
    reads = list(re.finditer(_END, body[ends[1] : moves[2].start()]))
    if len(reads) != 2:
        return body
    instead = [
        f"consort_end = {memory} - {moves[0][3]}u;",
        f"consort_end -= {moves[1][3]}u;\n{moves[1][5]}{store}",
        f"consort_end += {moves[2][3]}u;",
        f"consort_end += {moves[3][3]}u;\n{moves[3][5]}{store}",
    ]
    made = [body[: moves[0].start()]]
    for at, text in enumerate(instead):
        between = body[ends[at] : moves[at + 1].start()] if at < 3 else body[ends[3] :]
        if at == 1:
            between = f"{between[: reads[1].start()]}consort_end = {memory};{between[reads[1].end() :]}"
        made += [text, re.sub(_END, "consort_end;", between)]
    return "".join(made).replace("  FUNC_PROLOGUE;\n", "  FUNC_PROLOGUE;\n  u32 consort_end;\n", 1)


INSTALL = "install them: tools/install-packages.sh migrate"
# A program's names, without and with the version that Debian adds.
NAMES = {
    "clang": ("clang", *(f"clang-{n}" for n in range(19, 13, -1))),
    "wasm-ld": ("wasm-ld", *(f"wasm-ld-{n}" for n in range(19, 13, -1))),
    "wasm-opt": ("wasm-opt",),
    "wasm2c": ("wasm2c",),
    "wasm-objdump": ("wasm-objdump",),
}
# Where Debian's wabt puts the header of the C that wasm2c makes.
HEADERS = (Path("/usr/src/wasm2c"), Path("/usr/share/wabt/wasm2c"), Path("/usr/include"))


@dataclass(frozen=True)
class Tools:
    """Paths of the programs; `header`: the folder of wasm-rt.h; `libraries`: those of libstdc++'s headers."""

    clang: str
    linker: str
    optimizer: str
    wasm2c: str
    objdump: str
    header: Path
    libraries: tuple[str, ...]
    versions: str


@lru_cache
def tools() -> Tools:
    """The tools of the migration; raises EnvironmentLacks with the names of missing ones."""
    found = {name: next(filter(None, map(shutil.which, names)), None) for name, names in NAMES.items()}
    header = next((folder for folder in HEADERS if (folder / "wasm-rt.h").is_file()), None)
    missing = [name for name, path in found.items() if path is None]
    missing += ["wasm-rt.h (wabt)"] if header is None else []
    if missing or header is None:
        raise EnvironmentLacks(f"migration in mid-job needs {', '.join(missing)}", INSTALL)
    paths = {name: str(path) for name, path in found.items()}
    said = [
        finished([paths[name], "--version"]).stdout.split("\n")[0]
        for name in ("clang", "wasm-ld", "wasm-opt", "wasm2c")
    ]
    return Tools(
        paths["clang"],
        paths["wasm-ld"],
        paths["wasm-opt"],
        paths["wasm2c"],
        paths["wasm-objdump"],
        header,
        _standard_headers(paths["clang"]),
        "; ".join(said),
    )


def _standard_headers(clang: str) -> tuple[str, ...]:
    """The folders of the C++ library's own headers: those of this machine, which are the same for all."""
    said = finished([clang, "-x", "c++", "-E", "-v", "/dev/null"]).stderr
    listed = re.search(r"search starts here:\n(.*?)End of search list", said, re.S)
    folders = [line.strip() for line in (listed[1] if listed else "").splitlines()]
    return tuple(folder for folder in folders if "c++" in folder)


def ran(command: Sequence[str], scratch: Path, what: str, file: Path) -> str:
    """A tool's output; BadInput with its first error, and the user's file, if it fails."""
    done = run_tool(list(command), scratch)
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if re.search(r"\berror\b", line)]
        words = errors[0] if errors else done.stderr.strip()[-1000:]
        raise BadInput(f"{what}: {words}", file=file)
    return done.stdout


TEMPLATES = Templates("consort.migrate")
STEP = re.compile(r"[A-Za-z_]\w*(::[A-Za-z_]\w*)*")
PARTS = {"in": "In", "state": "State", "out": "Out", "constants": "Constants"}


@dataclass(frozen=True)
class Leaf:
    """Some equal elements within a part. Kinds as in consort/icc/layout.hpp."""

    name: str
    offset: int
    count: int
    kind: int
    size: int


@dataclass(frozen=True)
class Part:
    """In, State, Out or Constants of a step."""

    size: int
    fingerprint: str
    leaves: tuple[Leaf, ...]


@dataclass(frozen=True)
class Described:
    """A step's parts, a fresh state and the constants, all little-endian."""

    parts: dict[str, Part]
    fresh: bytes
    constants: bytes


def checked_step(step: str) -> str:
    """The name, without `::` at its beginning."""
    name = step.removeprefix("::")
    if not STEP.fullmatch(name):
        raise BadInput(f"{step!r} is not a function; write for example control::step", field="--step")
    return name


def owner_of(step: str) -> str:
    """The namespace of a step; empty: none."""
    return step.rpartition("::")[0]


def describe(file: Path, step: str, scratch: Path) -> Described:
    """Compiles and runs the description; BadInput has the compiler's words."""
    unit = scratch / "describe.cpp"
    unit.write_text(
        TEMPLATES.render("describe.cpp.j2", header=file, step=step, owner=owner_of(step)), encoding="utf-8"
    )
    program, made = scratch / "describe", scratch / "describe.o"
    command = [compiler(), *FLAGS, *(f"-I{folder}" for folder in include_folders())]
    done = compiled([*command, "-c", str(unit), "-o", str(made)], scratch)
    if done.returncode == 0:
        done = run_tool([*command, str(made), "-o", str(program)], scratch)
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if re.search(r"\berror\b", line)]
        words = errors[0] if errors else done.stderr.strip()[-1000:]
        raise BadInput(f"the step does not compile: {words.replace(str(unit), 'its description')}", file=file)
    said = json.loads(finished([program], check=True).stdout)
    parts = {
        name: Part(
            said[name]["size"], said[name]["fingerprint"], tuple(Leaf(*leaf) for leaf in said[name]["leaves"])
        )
        for name in PARTS
    }
    return Described(parts, bytes.fromhex(said["fresh"]), bytes.fromhex(said["made"]))
