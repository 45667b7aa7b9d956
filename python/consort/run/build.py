# SPDX-License-Identifier: Apache-2.0
"""Builds the program of an application: its tasks' steps, and Consort's executive around them.

A program is kept under the hash of everything that it is made of, so a second run starts at once.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from consort.base.children import finished
from consort.base.errors import BadDescription, BadInput, EnvironmentLacks, SystemFails
from consort.base.owned import temporary_folder
from consort.base.packages import remote_memory
from consort.base.toolchain.builds import cpp_tree, digest, kept
from consort.base.toolchain.compiler import (
    FLAGS,
    LIBRARIES,
    UNITS,
    VIRTUAL,
    command_of,
    compiled,
    compiler,
    need_headers,
    need_resources,
    of_units,
    own_parts,
    run_tool,
    together,
    version_of,
)
from consort.base.waiting import signal_words
from consort.model import StepReference
from consort.model.channel import STAND_IN
from consort.plan import Plan
from consort.plan.channels import link_of
from consort.plan.lacks import Places
from consort.run.source import location_of, program_source

_ERROR = re.compile(r"^(?P<file>[^:\n]+):(?P<line>\d+):(?P<column>\d+): (?:fatal )?error: (?P<words>.*)$")
_PLACE = re.compile(r"^(?P<file>[^:\n]+):\d+:\d+:")
# The words of the two compilers for a concept that is false; the types are those of consort::app::OneType.
_TYPES = (
    re.compile(r"is_same_v<\w+, \w+> \[with \w+ = (?P<one>.+); \w+ = (?P<other>.+)\]. evaluated to"),
    re.compile(r"'std::is_same_v<(?P<one>.+), (?P<other>.+)>' evaluated to false"),
)
# Names of `consort.run.source`, and of the class that it tells of them.
_GENERATED = re.compile(r"\b(?:Task|Channel)_\w+_[0-9a-f]{6}\b|\bCatalogue::")
# A compiler's words for a part of it that a signal ended: the kernel, where there is too little memory.
_KILLED = re.compile(
    r"(?P<gcc>Killed|Terminated) signal terminated program"
    r"|internal compiler error: (?P<old>Killed|Terminated)"
    r"|unable to execute command: (?P<clang>Killed|Terminated)|terminated with signal (?P<linker>.+)"
)
_ASSERTION = re.compile(r'^(?:static assertion failed(?:: )?|static_assert failed )"?(.*?)"?$')


def refused(text: str, plan: Plan) -> BadInput:
    """The error of a program that does not compile, from the compiler's words.

    Each error stands at the key of the description that the compiler comes from, or in a step's own file.
    `EnvironmentLacks` where this machine is to blame.
    """
    need_headers(text)
    if "No space left on device" in text:
        raise EnvironmentLacks("the compiler found no space left on device", "make room, or set $TMPDIR")
    need_resources(text)
    at = Places(plan.file, plan.mode)
    problems = list(_problems(text.splitlines(), plan, at))
    # What names the program's own parts follows from another error, where there is one.
    problems = [one for one in problems if not _GENERATED.search(one.message)] or problems
    if problems:
        return BadDescription(problems)
    errors = [line for line in text.splitlines() if _ERROR.match(line)] or [text.strip()[-2000:]]
    return BadInput(f"the application does not compile: {errors[0]}", file=plan.file)


def _problems(lines: Sequence[str], plan: Plan, at: Places) -> Iterator[BadInput]:
    """One for each key and each of the user's files: what follows a first error is mostly its doing."""
    starts = [n for n, line in enumerate(lines) if _ERROR.match(line)]
    seen: set[str] = set()
    for n, end in pairwise([*starts, len(lines)]):
        found = _ERROR.match(lines[n])
        assert found is not None
        words = _assertion(found["words"])
        place = location_of(found["file"])
        own = place is None and Path(found["file"]).is_file() and not _is_ours(Path(found["file"]), plan)
        if not own and place is None:
            place = _came_from(lines, n, end)
        if not own and place is None:
            continue
        key = found["file"] if place is None else "/".join(place)
        if key in seen:
            continue
        seen.add(key)
        if own:
            yield BadInput(
                f"does not compile: {words}",
                file=Path(found["file"]),
                line=int(found["line"]),
                column=int(found["column"]),
            )
        elif place is not None:
            yield at(place, f"does not compile: {words}{_types(lines[n:end], place, plan)}")


def _is_ours(file: Path, plan: Plan) -> bool:
    """True for a header that is not part of the application: a user's type is wrong, not the header."""
    steps = [task.step for task in plan.tasks.values() if isinstance(task.step, StepReference)]
    folders = {plan.path(step.file).resolve().parent for step in steps} | {plan.file.resolve().parent}
    return not any(file.resolve().is_relative_to(folder) for folder in folders)


def _assertion(words: str) -> str:
    found = _ASSERTION.match(words)
    return found[1] if found else words


def _came_from(lines: Sequence[str], error: int, end: int) -> tuple[str, ...] | None:
    """The description's place that led to an error in a header. GCC says it before, Clang afterwards."""
    before = []
    for line in reversed(lines[:error]):
        if _ERROR.match(line):
            break
        before.append(line)
    for line in (*before, *lines[error:end]):
        found = _PLACE.match(line)
        place = None if found is None else location_of(found["file"])
        if place is not None:
            return place
    return None


def _types(lines: Sequence[str], place: Sequence[str], plan: Plan) -> str:
    """The two types that ought to be one, and who gives the channel its blocks."""
    for line in lines:
        for pattern in _TYPES:
            found = pattern.search(line)
            if found is None:
                continue
            text = f": {found['one']} and {found['other']}"
            if len(place) < 3 or place[0] != "tasks" or place[2] != "reads":
                return text
            member = place[3] if len(place) > 3 else ""
            for binding in plan.tasks[place[1]].reads:
                channel = plan.channels.get(binding.source)
                if binding.member == member and channel is not None:
                    remedy = "use one type, or name at both the members that the channel joins"
                    return f"{text}, as {channel.writer!r} writes {channel.name!r}; {remedy}"
            return text
    return ""


# The first finding ends the process, so that it is that of the job that the executive names.
SANITIZE = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer")
# The programs of stand-ins, and the largest channels that they have.
STAND_INS = ("linux/src/stand_ins.cpp",)
STAND_INS_HERE = (*UNITS, *STAND_INS, "linux/src/stand_ins_here.cpp")
STAND_INS_IN_VIRTUAL_TIME = (*UNITS, *VIRTUAL, *STAND_INS, "linux/src/stand_ins_in_virtual_time.cpp")
MOST_QUEUED, MOST_VERSIONS = 4096, 16
# Their blocks are one word, whatever the size: in virtual time no time goes by while a block is copied.
WORD_BYTES = 4


def build_application(plan: Plan, *, sanitize: bool = False) -> Path:
    """A plan's executable, for this machine's clock or for virtual time, built if it is not cached.

    `BadInput` has the compiler's words. The executive itself is compiled once and kept: only the
    application's own unit depends on the steps.
    """
    flags = (*FLAGS, *SANITIZE) if sanitize else FLAGS
    units = [cpp_tree() / "ports" / unit for unit in (UNITS + VIRTUAL if plan.target == "virtual" else UNITS)]
    objects: tuple[Path, ...] = ()
    if any(task.remote_state is not None for task in plan.tasks.values()):
        objects = (remote_memory().state_library(),)
    return build_program(plan, program_source(plan), flags, units, objects)


def reads_its_plan(plan: Plan) -> bool:
    """True if a plan runs on a program that is made for no plan: of stand-ins alone, whose channels it has.

    On this machine a block takes its time, and is one word there, too.
    """
    if any(task.step != STAND_IN for task in plan.tasks.values()):
        return False
    channels = plan.carried
    if plan.target != "virtual":
        if plan.target != "linux" or plan.three_phase_cores:
            return False
        if any(channel.bytes is None or channel.bytes > WORD_BYTES for channel in channels):
            return False
    if any(link_of(plan, channel) is not None for channel in channels):
        return False
    most = {"queue": MOST_QUEUED, "versions": MOST_VERSIONS}
    return all((c.capacity or 0) <= most.get(c.implementation, c.capacity or 0) for c in channels)


def stand_ins_program(plan: Plan, *, sanitize: bool = False) -> Path:
    """The program that reads from a plan image what others compile in, built if it is not cached."""
    flags = (*FLAGS, *SANITIZE) if sanitize else FLAGS
    virtual = plan.target == "virtual"
    named = STAND_INS_IN_VIRTUAL_TIME if virtual else STAND_INS_HERE
    units = [cpp_tree() / "ports" / unit for unit in named]
    key = digest([*flags, *_keys_of_own(units, flags).values()])
    command = command_of(flags)

    def make(target: Path, scratch: Path) -> None:
        with together() as pool:
            objects = list(pool.map(lambda unit: str(build_unit(unit, flags, plan)), units))
        made = run_tool([*command, *objects, "-o", str(target), *LIBRARIES], scratch)
        _built(made, plan)

    return kept("programs", f"stand-ins-{plan.target}-{key}", "application", make)


def build_program(
    plan: Plan, source: str, flags: tuple[str, ...], units: Sequence[Path], objects: tuple[Path, ...]
) -> Path:
    """The executable of an application's translation unit, built if it is not cached.

    It is linked with Consort's own `units`, compiled beside it where they are not cached, and `objects`.
    """
    also = [_entry(one, key) for one, key in _keys_of_own(units, flags).items()]
    also += [str(o.parent.name) for o in objects]
    with temporary_folder("build") as folder:
        unit = Path(folder) / "application.cpp"
        unit.write_text(source, encoding="utf-8", errors="surrogateescape")
        key, command = _key(unit, flags, plan, also)

    def make(target: Path, scratch: Path) -> None:
        # Where it stays: a debugger shows it, and ccache knows it again.
        unit = target.parents[2] / "application.cpp"
        unit.write_text(source, encoding="utf-8", errors="surrogateescape")
        made = str(scratch / "application.o")
        with together() as pool:
            built = [pool.submit(build_unit, one, flags, plan) for one in units]
            own = pool.submit(compiled, [*command, "-c", str(unit), "-o", made], scratch)
        _built(own.result(), plan)
        parts = [*(one.result() for one in built), *objects]
        linked = [*command, made, *map(str, parts), "-o", str(target), *LIBRARIES]
        _built(run_tool(linked, scratch), plan)

    return kept("programs", f"{plan.file.stem}-{key}", "application", make)


def _entry(unit: Path, key: str) -> str:
    """The folder of a unit's object among what is kept."""
    return f"{unit.stem}-{key}"


def build_unit(unit: Path, flags: tuple[str, ...], plan: Plan) -> Path:
    """The object of one of Consort's own translation units, built if it is not cached."""
    key, command = _keys_of_own([unit], flags)[unit], command_of(of_units(flags))

    def make(target: Path, scratch: Path) -> None:
        _built(compiled([*command, "-c", str(unit), "-o", str(target)], scratch), plan)

    return kept("programs", _entry(unit, key), f"{unit.stem}.o", make)


def _keys_of_own(units: Sequence[Path], flags: tuple[str, ...]) -> dict[Path, str]:
    """The keys of units whose text changes only with a file of Consort's own."""
    around = {
        folder: digest(own_parts(of_units(flags), (folder,))) for folder in {unit.parent for unit in units}
    }
    return {unit: digest([around[unit.parent], unit.name, unit.read_bytes()]) for unit in units}


def _key(unit: Path, flags: tuple[str, ...], plan: Plan, also: list[str]) -> tuple[str, list[str]]:
    """The key of a unit's build, and the compiler with its options.

    The whole text that the compiler sees is the surest key of what a program is made of.
    """
    cxx, command = compiler(), command_of(flags)
    seen = finished([*command, "-E", "-P", str(unit)])
    _built(seen, plan)
    return digest([cxx, version_of(cxx), *flags, *also, seen.stdout]), command


def _built(done: subprocess.CompletedProcess[str], plan: Plan) -> None:
    """Raises why a compiler failed, if it did: `EnvironmentLacks` where it was ended, and not by itself."""
    if done.returncode == 0:
        return
    killed = _KILLED.search(done.stderr)
    if done.returncode < 0 or killed is not None:
        why = signal_words(-done.returncode) if killed is None else killed[killed.lastgroup or 0].strip()
        raise EnvironmentLacks(
            f"the compiler was ended by {why}", "run it again, and see that there is memory enough"
        )
    if not done.stderr.strip():
        raise EnvironmentLacks(
            f"{compiler()} ended with status {done.returncode} and no word", "correct $CXX, or unset it"
        )
    raise refused(done.stderr, plan)


def describe(program: Path, image: Path | None = None) -> dict[str, Any]:
    """The layouts of the tasks' types, as the compiler has them.

    `image`: the plan, of a program that reads it.
    """
    command = [str(program), "--describe", *(() if image is None else ("--image", str(image)))]
    done = finished(command)
    if done.returncode != 0:
        why = signal_words(-done.returncode) if done.returncode < 0 else f"status {done.returncode}"
        words = f": {done.stderr.strip()[-2000:]}" if done.stderr.strip() else ""
        raise SystemFails(f"the application ended with {why} before it said its layouts{words}")
    described: dict[str, Any] = json.loads(done.stdout)
    return described
