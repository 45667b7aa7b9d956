# SPDX-License-Identifier: Apache-2.0
"""The content of a WebAssembly module, as wasm-objdump prints it: functions, calls, frames, tables."""

from __future__ import annotations

import re
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
