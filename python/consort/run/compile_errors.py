# SPDX-License-Identifier: Apache-2.0
"""A compiler's errors as errors of the description: file, line and key, in GCC's words or Clang's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from consort.base.errors import BadInput, EnvironmentLacks
from consort.base.problems import BadDescription
from consort.model import StepReference
from consort.plan import Plan
from consort.plan.lacks import Places
from consort.run.source import location_of

_ERROR = re.compile(r"^(?P<file>[^:\n]+):(?P<line>\d+):(?P<column>\d+): (?:fatal )?error: (?P<words>.*)$")
_PLACE = re.compile(r"^(?P<file>[^:\n]+):\d+:\d+:")
# The words of the two compilers for a concept that is false; the types are those of consort::app::OneType.
_TYPES = (
    re.compile(r"is_same_v<\w+, \w+> \[with \w+ = (?P<one>.+); \w+ = (?P<other>.+)\]. evaluated to"),
    re.compile(r"'std::is_same_v<(?P<one>.+), (?P<other>.+)>' evaluated to false"),
)
# Names of `consort.run.source`, and of the class that it tells of them.
_GENERATED = re.compile(r"\b(?:Task|Channel)_\w+_[0-9a-f]{6}\b|\bCatalogue::")
_ASSERTION = re.compile(r'^(?:static assertion failed(?:: )?|static_assert failed )"?(.*?)"?$')


def refused(text: str, plan: Plan) -> BadInput:
    """The error of a program that does not compile, from the compiler's words.

    Each error stands at the key of the description that the compiler comes from, or in a step's own file.
    `EnvironmentLacks` where this machine is to blame.
    """
    if re.search(r"fatal error: .*nlohmann/json\.hpp", text):
        raise EnvironmentLacks(
            "the header nlohmann/json.hpp is missing", "install it: apt-get install nlohmann-json3-dev"
        )
    if "No space left on device" in text:
        raise EnvironmentLacks("the compiler found no space left on device", "make room, or set $TMPDIR")
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
    for n, end in zip(starts, [*starts[1:], len(lines)], strict=True):
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
    """True for a header that is no part of the application: a user's type is wrong, not the header."""
    steps = [task.step for task in plan.tasks.values() if isinstance(task.step, StepReference)]
    folders = {plan.path(step.header).resolve().parent for step in steps} | {plan.file.resolve().parent}
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
                    return f"{text}, as {channel.writer!r} writes {channel.name!r}"
            return text
    return ""
