# SPDX-License-Identifier: Apache-2.0
"""The commands of README, tutorials and how-to pages run as they stand, and print what the pages show.

A page is run in an empty folder, from its first line to its last. A fenced block after "Save this as
`NAME`" is written to that file. Each line of a block `sh` is a command. In a block `console` commands begin
with `$ `, and their output follows; `…` there stands for any lines. A comment before a block says more, and
readers do not see it:

    <!-- run: status 2 -->         the last command's exit status, 0 otherwise
    <!-- run: this machine -->     it runs in the time of this machine, whose verdict may be any
    <!-- run: not here, REASON --> no test runs it
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from effort import PATIENCE, VERDICTS, needs_own_time

ROOT = Path(__file__).parents[3]
PAGES = [
    "README.md",
    *sorted(
        page.relative_to(ROOT).as_posix()
        for folder in ("tutorial", "how-to")
        for page in (ROOT / "docs" / folder).glob("*.md")
    ),
]
BLOCK = re.compile(
    r"(?:save this as `(?P<file>[^`\n]+)`[^\n]*\n\n)?"
    r"(?:^ *<!-- run: (?P<said>.*?) -->\n)?"
    r"^(?P<indent> *)```(?P<language>\w+)\n(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)
RUN = re.compile(r"\d{8}T\d{6}Z-[\w-]+-[0-9a-f]{4}")


@dataclass(frozen=True)
class Block:
    """A block of a page: a file, or commands, each with the output that is shown, if any is."""

    file: str | None
    commands: list[tuple[str, str | None]]
    text: str
    said: str

    @property
    def this_machine(self) -> bool:
        return self.said == "this machine"

    @property
    def status(self) -> int:
        return int(self.said.removeprefix("status ")) if self.said.startswith("status ") else 0


def commands(language: str, text: str) -> list[tuple[str, str | None]]:
    if language == "sh":
        joined = text.replace("\\\n", " ")
        return [(line, None) for line in joined.splitlines() if line and not line.startswith("#")]
    if language == "console":
        head, *parts = re.split(r"^\$ ", text, flags=re.MULTILINE)
        assert not head, f"a block of a console begins with a command: {head}"
        return [(line, output) for line, _, output in (part.partition("\n") for part in parts)]
    return []


def blocks(page: str) -> Iterator[Block]:
    for found in BLOCK.finditer((ROOT / page).read_text(encoding="utf-8")):
        text = textwrap.dedent(found["text"])
        if found["said"] is None or not found["said"].startswith("not here, "):
            yield Block(found["file"], commands(found["language"], text), text, found["said"] or "")


def pattern(shown: str) -> str:
    """The shown output as a regular expression; each run has a name of its own."""
    lines = [
        r"(?:.*\n)*?" if line == "…" else RUN.pattern.join(map(re.escape, RUN.split(line))) + r" *\n"
        for line in shown.splitlines()
    ]
    return "".join(lines)


class Shell:
    """Runs commands one after another; each begins in the folder in which the one before ended."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ended = folder.parent / "ended"
        bin_ = Path(sys.executable).parent
        kept = {key: value for key, value in os.environ.items() if not key.startswith("CONSORT_")}
        self.environment = kept | {"PATH": f"{bin_}:{os.environ['PATH']}", "COLUMNS": "80", "TERM": "dumb"}

    def run(self, command: str) -> tuple[int, str]:
        done = subprocess.run(
            ["bash", "-c", f"trap 'pwd > \"{self.ended}\"' EXIT\n{command}"],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        self.folder = Path(self.ended.read_text().strip())
        return done.returncode, done.stdout


def run_page(page: str, folder: Path, this_machine: bool) -> None:
    """All of a page, or only its files and what runs in the time of this machine."""
    (folder / "empty").mkdir()
    (folder / "empty" / "examples").symlink_to(ROOT / "examples")
    shell = Shell(folder / "empty")
    try:
        run_blocks(page, shell, this_machine)
    finally:
        # What a page starts in the background it names in a file. Its number may be another process's by now.
        for pid in (file.read_text().strip() for file in shell.folder.glob("*.pid")):
            with contextlib.suppress(ProcessLookupError, FileNotFoundError):
                if Path(f"/proc/{pid}/cwd").readlink() == shell.folder:
                    os.kill(int(pid), signal.SIGTERM)


def run_blocks(page: str, shell: Shell, this_machine: bool) -> None:
    for block in blocks(page):
        if block.file:
            (shell.folder / block.file).write_text(block.text, encoding="utf-8")
        if block.this_machine != this_machine:
            continue
        for number, (command, shown) in enumerate(block.commands, 1):
            status, output = shell.run(command)
            last = number == len(block.commands)
            allowed = VERDICTS if this_machine else (block.status,) if last else (0,)
            assert status in allowed, f"{page}: {command}: exit status {status}\n{output}"
            if shown is not None and not re.fullmatch(pattern(shown), output):
                assert output == shown, f"{page}: {command}"


HERE = [page for page in PAGES if any(b.commands and not b.this_machine for b in blocks(page))]
THIS_MACHINE = [page for page in PAGES if any(b.this_machine for b in blocks(page))]


# What a newcomer reads first.
FIRST = ("README.md", "docs/tutorial/quadrotor.md")


@pytest.mark.parametrize(
    "page", [pytest.param(p, marks=pytest.mark.representative) if p in FIRST else p for p in HERE]
)
def test_a_page_does_what_it_shows(page: str, tmp_path: Path) -> None:
    run_page(page, tmp_path, this_machine=False)


@pytest.mark.realtime
@pytest.mark.parametrize("page", THIS_MACHINE)
def test_what_a_page_runs_on_this_machine_ends_with_a_verdict(page: str, tmp_path: Path) -> None:
    needs_own_time()
    run_page(page, tmp_path, this_machine=True)


def test_the_pages_are_found() -> None:
    assert {*FIRST} <= {*HERE}
    assert FIRST[1] in THIS_MACHINE


def test_another_output_is_noticed() -> None:
    shown = "a 1.5 µs\n…\nruns/20261127T140600Z-first-f2dc/report.html\n"
    named = "runs/20270101T000000Z-second-0123/report.html\n"
    assert re.fullmatch(pattern(shown), f"a 1.5 µs\nb\nc\n{named}")
    assert not re.fullmatch(pattern(shown), f"a 1x5 µs\nb\n{named}")
    assert not re.fullmatch(pattern(shown), f"a 1.5 µs\nb\n{named}more\n")
