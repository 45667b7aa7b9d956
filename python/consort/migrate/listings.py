# SPDX-License-Identifier: Apache-2.0
"""Listings of a step: LLVM's text of it before it is optimized, and wasm-objdump's of its WebAssembly."""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import dataclass, field

_FUNCTION = re.compile(r"^[0-9a-f]+ func\[(\d+)\](?: <(.*)>)?:$")
_INSTRUCTION = re.compile(r"^ [0-9a-f]+: [0-9a-f ]+\| *(.*)$")
_CALL = re.compile(r"call (\d+)")
# Asyncify's prologue takes back what it left: (get data, get data, load, const N, sub, store).
_POPPED = re.compile(
    r"global\.get (\d+);global\.get \1;i32\.load 2 0;i32\.const (\d+);i32\.sub;i32\.store 2 0(?:;|$)"
)


def _constant(code: list[str], at: int) -> int | None:
    """The number that the instruction there is, if it is one and another follows."""
    found = re.fullmatch(r"i32\.const (\d+)", code[at]) if at + 1 < len(code) else None
    return int(found[1]) if found else None


@dataclass
class Function:
    """One function with its instructions, names of globals left away."""

    index: int
    name: str
    instructions: list[str] = field(default_factory=list)

    @property
    def calls(self) -> set[int]:
        """Indices of the functions that it calls directly."""
        found = (_CALL.fullmatch(each) for each in self.instructions)
        return {int(call[1]) for call in found if call}

    def uses(self, prefix: str) -> bool:
        """True if it has an instruction that begins so."""
        return any(each.startswith(prefix) for each in self.instructions)

    def stack_bytes(self) -> int | None:
        """The bytes that it takes of the stack in memory; None if that is not constant."""
        code, taken = self.instructions, 0
        for at, each in enumerate(code):
            if each == "global.get 0" and (size := _constant(code, at + 1)) and code[at + 2] == "i32.sub":
                taken += size
            if each != "global.set 0":
                continue
            # The prologue stores what it has just computed; the epilogue adds the same constant again.
            last = at - 2 if code[at - 1].startswith("local.tee") else at - 1
            if last < 1 or code[last] not in ("i32.sub", "i32.add") or _constant(code, last - 1) is None:
                return None
        return taken

    def frame_bytes(self) -> int:
        """The bytes that it leaves in asyncify's buffer; of a module that asyncify made and nothing changed
        since."""
        return sum(int(pop[2]) for pop in _POPPED.finditer(";".join(self.instructions)))


@dataclass(frozen=True)
class Module:
    """Functions by index, imported ones apart; `table`: those that indirect calls may reach."""

    functions: dict[int, Function]
    imports: dict[int, str]
    table: frozenset[int]
    mutable_globals: int

    def callees(self, index: int) -> set[int]:
        """The functions that a function may call, directly or not."""
        function = self.functions.get(index)
        if function is None:
            return set()
        return function.calls | (set(self.table) if function.uses("call_indirect") else set())

    def named(self, name: str) -> Function | None:
        return next((each for each in self.functions.values() if each.name == name), None)


def module_of(details: str, code: str) -> Module:
    """The module in the output of `wasm-objdump -x` and of `wasm-objdump -d`."""
    imports = {
        int(i): name for i, name in re.findall(r"^ - func\[(\d+)\] sig=\d+ .*<- (\S+)$", details, re.M)
    }
    table = frozenset(
        int(i) for i in re.findall(r"^  - elem\[\d+\] = (?:ref\.func:|func\[)(\d+)", details, re.M)
    )
    functions: dict[int, Function] = {}
    current: Function | None = None
    for line in code.splitlines():
        if head := _FUNCTION.match(line):
            current = Function(int(head[1]), head[2] or f"func[{head[1]}]")
            functions[current.index] = current
        elif current is not None and (said := _INSTRUCTION.match(line)):
            current.instructions.append(re.sub(r" <.*>$", "", said[1]))
    globals_ = len(re.findall(r"^ - global\[\d+\] \S+ mutable=1", details, re.M))
    return Module(functions, imports, table, globals_)


SAFEPOINT = "consort_safepoint"
# Lines of LLVM's unoptimized text, those of its debugger among them.
SHORT = 12
_DEFINED = re.compile(r"^define [^@]*@\"?([\w.$]+)\"?\(.*$", re.M)
_BODY_END = "\n}\n"
_CALLED = re.compile(r"\b(?:call|invoke)\b[^@\n]*@\"?([\w.$]+)\"?\(")


@dataclass(frozen=True)
class Place:
    """The place of a function in the source."""

    name: str
    file: str
    line: int


def bodies(text: str) -> dict[str, str]:
    """The text of each defined function, with its first line."""
    found = {}
    for head in _DEFINED.finditer(text):
        end = text.find(_BODY_END, head.start())
        found[head[1]] = text[head.start() : end]
    return found


def reaching(calls: dict[str, set[str]], target: str) -> set[str]:
    """The functions that may call `target`, directly or not."""
    found: set[str] = set()
    more = {target}
    while more:
        more = {name for name, callees in calls.items() if name not in found and callees & more}
        found |= more
    return found


def divided(text: str) -> str:
    """Merges the functions that can stand above a safepoint into few; one that reaches none stays separate.

    The former are instrumented, each at some cost; the latter are as fast and as small as ever, but would be
    instrumented where they were inlined. Short ones without a loop are inlined all the same: they cost less
    there than a call.
    """
    found = bodies(text)
    called = {name: _CALLED.findall(body) for name, body in found.items()}
    above = reaching({name: set(callees) for name, callees in called.items()}, SAFEPOINT)
    times = Counter(callee for callees in called.values() for callee in callees)
    fixed = set(re.findall(r"^attributes #(\d+) = \{[^\n]*\b(?:noinline|alwaysinline)\b", text, re.M))
    attributes: dict[str, list[str]] = {name: ["minsize", "optsize"] for name in above & found.keys()}
    for name in {callee for each in above for callee in called[each]} & found.keys():
        if name in above and times[name] == 1:
            attributes[name].append("alwaysinline")
        elif name not in above and ("!llvm.loop" in found[name] or found[name].count("\n") > SHORT):
            attributes[name] = ["noinline"]
    for name, more in attributes.items():
        head = found[name].split("\n", 1)[0]
        group = re.search(r" #(\d+)", head)
        # Its author has said otherwise.
        if group is None or fixed & {group[1]}:
            continue
        text = text.replace(head, re.sub(r"( #\d+)", rf" {' '.join(more)}\1", head, count=1), 1)
    return text


def places(text: str) -> dict[str, Place]:
    """The place of each function in the source, by the name that the linker knows."""
    files = {
        number: (folder.rstrip("/") + "/" if not name.startswith("/") and folder else "") + name
        for number, name, folder in re.findall(
            r"^(!\d+) = !DIFile\(filename: \"([^\"]*)\", directory: \"([^\"]*)\"", text, re.M
        )
    }
    found = {}
    for body in re.findall(r"!DISubprogram\((.*)\)$", text, re.M):
        name = re.search(r"\bname: \"([^\"]*)\"", body)
        linked = re.search(r"linkageName: \"([^\"]*)\"", body)
        file = re.search(r"\bfile: (!\d+)", body)
        line = re.search(r"\bline: (\d+)", body)
        if name and file and line:
            place = Place(name[1], os.path.normpath(files.get(file[1], "")), int(line[1]))
            found[(linked or name)[1]] = place
    return found
