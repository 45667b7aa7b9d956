# SPDX-License-Identifier: Apache-2.0
"""Requirements on a step for its migration to have a bound; everything else is refused, with its place.

The bound is that of docs/explanation/mode-changes.md, "Migration in mid-job": the stack in memory and the
frames above a safepoint are finite and known, and nothing else of the state grows.
"""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter
from dataclasses import dataclass, field

from consort.base.children import finished
from consort.base.errors import BadInput

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


SAFEPOINT_SYMBOL = "consort_safepoint"
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
    above = reaching({name: set(callees) for name, callees in called.items()}, SAFEPOINT_SYMBOL)
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


SAFEPOINT = "consort.safepoint"
ENTRY = "consort_step"


def plain(symbol: str) -> str:
    """A name of the linker as it is written in C++, where c++filt is there."""
    if shutil.which("c++filt") is None:
        return symbol
    said = finished(["c++filt", symbol], check=True).stdout
    return said.strip()


class Checker:
    """A linked module before it is instrumented, and where its functions are written."""

    def __init__(self, module: Module, places: dict[str, Place], step: str) -> None:
        self.module, self.step = module, step
        self.places = places
        entry = module.named(ENTRY)
        assert entry is not None
        self.entry = entry
        self.safepoint = next((i for i, name in module.imports.items() if name == SAFEPOINT), None)
        self.reached = self._reached(entry.index)
        self.above = self._above()

    def check(self) -> None:
        """Raises BadInput at the first thing that breaks the bound."""
        for name in self.module.imports.values():
            if name != SAFEPOINT:
                raise BadInput(
                    f"the step calls {plain(name.removeprefix('env.'))}, which it does not contain; a step "
                    "that migrates has no library: of <cmath> it may use sqrt, fabs, floor, ceil, trunc, "
                    "rint and copysign"
                )
        if self.safepoint is None or not self.above:
            raise BadInput(
                "the step reaches no safepoint; call consort::safepoint() where it may leave "
                "(consort/migrate/safepoint.hpp)"
            )
        self._no_cycle()
        self._no_indirect_call()
        for function in self._functions():
            for instruction, why in (
                ("memory.grow", "grows its memory: its state would have no bound"),
                ("memory.size", "asks for the size of its memory, which is another on each processor"),
            ):
                if function.uses(instruction):
                    raise self._refused(function, why)
            if function.stack_bytes() is None:
                raise self._refused(
                    function,
                    "takes an amount of stack that is not constant (an array of variable length, alloca, or "
                    "an alignment above 16): give the array a constant size",
                )
        if self.module.mutable_globals != 1:
            raise BadInput("the module has mutable globals beside its stack pointer; they would not be moved")

    def stack_bytes(self) -> int:
        """The stack in memory at most, of the longest chain of calls [bytes]."""
        return self._longest({f.index: f.stack_bytes() or 0 for f in self._functions()})

    def frames_bytes(self, instrumented: Module) -> int:
        """The largest content of asyncify's buffer: of the longest chain of calls to a safepoint [bytes].

        `instrumented`: the module that asyncify made, whose functions may be fewer and in another order.
        """
        there = Checker(instrumented, self.places, self.step)
        sizes = {index: instrumented.functions[index].frame_bytes() for index in there.above}
        missing = [index for index, size in sizes.items() if size == 0]
        if missing or not sizes:
            raise self._refused(
                self.entry, "it was not instrumented as expected: wasm-opt is of another version"
            )
        return there._longest(sizes)

    def describe(self, index: int) -> str:
        """A function's name and place; the step's own name for the function around it."""
        function = self.module.functions[index]
        if index == self.entry.index:
            return self.step
        place = self.places.get(function.name)
        return f"{place.name} ({place.file}:{place.line})" if place else function.name

    def _functions(self) -> list[Function]:
        return [
            self.module.functions[index] for index in sorted(self.reached) if index in self.module.functions
        ]

    def _reached(self, start: int) -> set[int]:
        found, more = {start}, [start]
        while more:
            new = self.module.callees(more.pop()) - found
            found |= new
            more += new
        return found

    def _above(self) -> set[int]:
        """The functions that can stand above a safepoint."""
        found: set[int] = set()
        more = set() if self.safepoint is None else {self.safepoint}
        while more:
            more = {
                index
                for index in self.module.functions
                if index in self.reached and index not in found and self.module.callees(index) & more
            }
            found |= more
        return found

    def _no_cycle(self) -> None:
        done: set[int] = set()

        def visit(index: int, path: list[int]) -> None:
            if index in path:
                names = " calls ".join(self.describe(each) for each in [*path[path.index(index) :], index])
                raise self._refused(
                    self.module.functions[index],
                    f"recursion: {names}; its stack would have no bound: write it as a loop",
                )
            if index in done or index not in self.module.functions:
                return
            for callee in sorted(self.module.callees(index)):
                visit(callee, [*path, index])
            done.add(index)

        visit(self.entry.index, [])

    def _no_indirect_call(self) -> None:
        """None may lead to a safepoint: what it leaves behind could not be found."""
        targets = sorted(self.module.table & self.above)
        for function in self._functions():
            if targets and function.uses("call_indirect"):
                raise self._refused(
                    function,
                    "an indirect call above a safepoint: through a pointer it may call "
                    f"{self.describe(targets[0])}, which reaches one; call it by its name",
                )

    def _longest(self, sizes: dict[int, int]) -> int:
        known: dict[int, int] = {}

        def visit(index: int) -> int:
            if index not in known:
                below = [visit(callee) for callee in self.module.callees(index)]
                known[index] = sizes.get(index, 0) + max(below, default=0)
            return known[index]

        return visit(self.entry.index)

    def _refused(self, function: Function, why: str) -> BadInput:
        place = self.places.get(function.name)
        if function is self.entry:
            # A function that it calls once was inlined there.
            last = self.step.rpartition("::")[2]
            place = next((each for each in self.places.values() if each.name == last), None)
        if place is None:
            return BadInput(why, field=function.name)
        return BadInput(why, file=place.file, line=place.line, field=place.name)
