# SPDX-License-Identifier: Apache-2.0
"""A compiler's errors stand at the description's keys, or in the step's own file."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from pathlib import Path
from threading import Barrier, BrokenBarrierError

import consort.run.build as build_module
import pytest
from consort.base.errors import BadDescription, BadInput, EnvironmentLacks, SystemFails
from consort.base.waiting import silent
from consort.commands.check import command as check
from consort.model import load_system
from consort.plan import plan
from consort.run.build import refused
from effort import PATIENCE

STEPS = """#pragma once
namespace left {
struct In { int none; };
struct State { int n; };
struct Out { float command; };
inline void step(const In&, State& state, Out& out) noexcept { out.command = static_cast<float>(state.n++); }
}
namespace right {
struct In { double command; float other; };
struct State { int n; };
struct Out { float y; };
inline void step(const In& in, State&, Out& out) noexcept { out.y = static_cast<float>(in.command); }
}
"""
SYSTEM = """consort: 1
platform: linux-host
tasks:
  left:
    step: step.hpp::left::step
    period: 10ms
    wcet: {value: 1ms, assumed: chosen}
    on: master-0
    writes: {command: c}
  right:
    step: step.hpp::right::step
    period: 10ms
    wcet: {value: 1ms, assumed: chosen}
    on: worker-0
    reads: {other: c}
channels:
  c: {kind: periodic}
"""


@pytest.fixture
def system(tmp_path: Path) -> Path:
    (tmp_path / "step.hpp").write_text(STEPS, encoding="utf-8")
    file = tmp_path / "system.yaml"
    file.write_text(SYSTEM, encoding="utf-8")
    return file


def problems(system: Path, words: str) -> list[tuple[str, int | None, str, str]]:
    found = refused(words, plan(load_system(system), "virtual"))
    assert isinstance(found, BadDescription)
    return [(Path(p.file or "").name, p.line, p.field or "", p.message) for p in found.problems]


# Two types: what each compiler says of consort::app::detail::OneType.
GCC = """In file included from application.cpp:2:
/usr/consort/app/ends.hpp: In instantiation of 'struct Reader<int, double>':
tasks/right/reads/other:1:12:   required from here
/usr/consort/app/ends.hpp:170:24: error: static assertion failed: two types that ought to be one
/usr/consort/app/ends.hpp:170:24: note: constraints not satisfied
note: the expression 'is_same_v<Member, Block> [with Member = double; Block = float]' evaluated to 'false'
application.cpp:9:1: error: and so on
"""
CLANG = """In file included from application.cpp:2:
/usr/consort/app/ends.hpp:170:5: error: static_assert failed "two types that ought to be one"
    static_assert(OneType<Value, Block>, "two types that ought to be one");
tasks/right/reads/other:1:12: note: in instantiation of template class 'Reader' requested here
/usr/consort/app/ends.hpp:158:19: note: because 'std::is_same_v<double, float>' evaluated to false
"""


@pytest.mark.parametrize("words", [GCC, CLANG], ids=["gcc", "clang"])
def test_an_error_in_a_header_is_the_keys_that_led_to_it(system: Path, words: str) -> None:
    (found,) = problems(system, words)
    assert found[:3] == ("system.yaml", 15, "tasks.right.reads.other")
    assert found[3].endswith(
        "two types that ought to be one: double and float, as 'left' writes 'c';"
        " use one type, or name at both the members that the channel joins"
    )


def test_each_key_and_each_file_has_one_error(system: Path) -> None:
    step = system.parent / "step.hpp"
    words = (
        f"{step}:6:9: error: 'state' is not here\n{step}:7:1: error: what follows from it\n"
        "tasks/right/step:1:9: error: 'right::stepp' is none\ntasks/right/step:1:99: error: and again\n"
        "devices/plant/plant:1:1: error: no such plant\n"
    )
    assert [(file, line) for file, line, _, _ in problems(system, words)] == [
        ("step.hpp", 6),
        ("system.yaml", 1),
        ("system.yaml", 11),
    ]


def test_an_error_without_a_place_and_those_of_the_machine(system: Path) -> None:
    made = plan(load_system(system), "virtual")
    said = str(refused("application.cpp:1:1: error: something else\n", made))
    assert said.endswith("the application does not compile: application.cpp:1:1: error: something else")
    for words in ("x.hpp:1:1: fatal error: jsoncpp/json/json.h: No such file", "No space left on device"):
        with pytest.raises(EnvironmentLacks):
            refused(words, made)


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_each_mistake_has_its_place(system: Path, compiler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the compilers themselves: a wrong type, an unknown member, an unknown step, a pointer."""
    monkeypatch.setenv("CXX", compiler)
    mistakes = {
        "tasks.right.reads.command": (
            "reads: {other: c}",
            "reads: {command: c}",
            "double and float, as 'left'",
        ),
        "tasks.right.reads.othr": ("reads: {other: c}", "reads: {othr: c}", "no member named"),
        "tasks.left.writes.comand": ("writes: {command", "writes: {comand", "no member named"),
        "tasks.left.step": ("left::step", "left::stepp", "'left'"),
    }
    for field, (right, wrong, words) in mistakes.items():
        system.write_text(SYSTEM.replace(right, wrong), encoding="utf-8")
        first = refusal(system)[0]
        assert (first.field, Path(first.file or "").name) == (field, "system.yaml"), first
        assert words in first.message.replace("‘", "'").replace("’", "'"), first
        assert first.line == next(n for n, t in enumerate(SYSTEM.splitlines(), 1) if right in t)
    system.write_text(SYSTEM, encoding="utf-8")
    step = system.parent / "step.hpp"
    step.write_text(
        STEPS.replace("struct State { int n; };", "struct State { int n; char* p; };", 1), "utf-8"
    )
    first = refusal(system)[0]
    assert first.field == "tasks.left.step" and "pointers" in first.message
    step.write_text(STEPS.replace("out.command =", "out.comand ="), "utf-8")
    first = refusal(system)[0]
    assert (first.file, first.line) == (step, 6)
    step.write_text(STEPS, "utf-8")
    assert check.callback is not None and check.callback(system, None, None, True, False, True) == 0


def refusal(system: Path) -> list[BadInput]:
    """What the compiler found."""
    from consort.run.application import build

    with pytest.raises(BadDescription) as found:
        build(load_system(system), silent)
    return found.value.problems


def test_what_follows_from_another_error_is_not_said(system):
    words = """tasks/left/writes/comand:1:8: error: 'struct left::Out' has no member named 'comand'
tasks/right/reads/other:1:12: error: no match for call to 'Catalogue::reads<Channel_c_84ae12>(int)'
tasks/right/step:1:9: error: 'In' is not a member of '{anonymous}::Task_right_bbccb9'
"""
    (found,) = problems(system, words)
    assert found[2:] == (
        "tasks.left.writes.comand",
        "does not compile: 'struct left::Out' has no member named 'comand'",
    )
    # Alone it is all that there is to say.
    assert len(problems(system, words.partition("\n")[2])) == 2


def test_the_program_is_compiled_beside_the_units(system: Path, monkeypatch, tmp_path: Path) -> None:
    """A compiler of a unit waits for the one of the program: one after the other, nothing would end."""
    together = Barrier(3, timeout=PATIENCE)

    def fake(command: list[str], scratch: Path) -> subprocess.CompletedProcess[str]:
        with contextlib.suppress(BrokenBarrierError):
            together.wait()
            met.append(Path(command[command.index("-c") + 1]).stem)
        Path(command[command.index("-o") + 1]).write_bytes(b"")
        return subprocess.CompletedProcess(command, 0, "", "")

    met: list[str] = []
    monkeypatch.setenv("CONSORT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})
    monkeypatch.setattr(build_module, "compiled", fake)
    monkeypatch.setattr(build_module, "run_tool", fake_link)
    build_module.build_application(plan(load_system(system), "linux"))
    assert sorted(met) == ["application", "executive", "files"]


def fake_link(command: list[str], scratch: Path) -> subprocess.CompletedProcess[str]:
    Path(command[command.index("-o") + 1]).write_bytes(b"")
    return subprocess.CompletedProcess(command, 0, "", "")


@pytest.mark.parametrize(
    ("status", "words", "why"),
    [
        (-15, "", "signal 15"),
        (
            1,
            "g++: fatal error: Killed signal terminated program cc1plus\ncompilation terminated.\n",
            "Killed",
        ),
        (1, "clang: error: unable to execute command: Killed\n", "Killed"),
        (1, "collect2: fatal error: ld terminated with signal 9 [Killed]\n", "9 [Killed]"),
    ],
)
def test_a_compiler_that_was_killed_is_the_machines_lack(
    system: Path, status: int, words: str, why: str
) -> None:
    made = plan(load_system(system), "linux")
    with pytest.raises(EnvironmentLacks, match=re.escape(f"the compiler was ended by {why}")):
        build_module._built(subprocess.CompletedProcess([], status, "", words), made)


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        (
            "g++: fatal error: cannot execute ‘/usr/lib/cc1plus’: vfork: Resource temporarily unavailable\n"
            "compilation terminated.\n",
            "ulimit -u",
        ),
        (
            "clang: error: unable to execute command: posix_spawn failed: Resource temporarily unavailable\n",
            "ulimit -u",
        ),
        ("virtual memory exhausted: Cannot allocate memory\n", "ulimit -v"),
        ("g++: fatal error: /tmp/a.o: Too many open files\n", "ulimit -n"),
    ],
)
def test_what_the_system_refuses_a_compiler_is_the_machines_lack(
    system: Path, words: str, remedy: str
) -> None:
    made = plan(load_system(system), "linux")
    with pytest.raises(EnvironmentLacks) as error:
        build_module._built(subprocess.CompletedProcess([], 1, "", words), made)
    assert remedy in str(error.value)


def test_a_steps_own_words_are_no_lack(system: Path) -> None:
    """An assertion of a step that speaks of memory."""
    made = plan(load_system(system), "linux")
    said = refused("step.hpp:3:1: error: static assertion failed: Cannot allocate memory\n", made)
    assert "Cannot allocate memory" in str(said)


def test_words_of_a_compiler_without_a_place_are_said(system: Path) -> None:
    """As a linker's are, or those of an option that a compiler does not know."""
    made = plan(load_system(system), "linux")
    said = refused("g++: error: unrecognized command-line option '-x'\n", made)
    assert "the application does not compile: g++: error: unrecognized command-line option" in str(said)


def test_an_application_that_cannot_say_its_layouts(tmp_path: Path) -> None:
    program = tmp_path / "application"
    program.write_text("#!/bin/sh\nkill -KILL $$\n", encoding="utf-8")
    program.chmod(0o755)
    with pytest.raises(SystemFails, match=r"ended with signal 9 .* before it said its layouts"):
        build_module.describe(program)
