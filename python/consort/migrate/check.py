# SPDX-License-Identifier: Apache-2.0
"""Requirements on a step for its migration to have a bound; everything else is refused, with its place.

The bound is that of docs/explanation/mode-changes.md, "Migration in mid-job": the stack in memory and the
frames above a safepoint are finite and known, and nothing else of the state grows.
"""

from __future__ import annotations

import shutil
import subprocess

from consort.base.errors import BadInput
from consort.migrate.listings import Function, Module, Place

SAFEPOINT = "consort.safepoint"
ENTRY = "consort_step"


def plain(symbol: str) -> str:
    """A name of the linker as it is written in C++, where c++filt is there."""
    if shutil.which("c++filt") is None:
        return symbol
    said = subprocess.run(["c++filt", symbol], check=True, capture_output=True, text=True).stdout
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
