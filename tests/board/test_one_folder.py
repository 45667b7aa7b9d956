# SPDX-License-Identifier: Apache-2.0
"""A board is one folder and one platform file: a copy of both under another name runs."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from board_support import PATIENCE, ROOT, board
from consort.base.errors import BadInput
from consort.board import all_boards
from consort.board.boards import load_board
from consort.commands.board_demo import parts
from consort.model import load_system

# Runs Consort from the scratch tree, whichever tree is installed.
MAIN = """
import sys
sys.meta_path = [finder for finder in sys.meta_path if "Redirecting" not in type(finder).__name__]
sys.path.insert(0, {python!r})
import consort.cli
assert consort.cli.__file__.startswith({python!r})
consort.cli.main()
"""


def copied(folder: Path, name: str, platform: str, new: str, example: str) -> Path:
    """A tree with the package, the target library and one board under a new name, and a system for it."""
    # The drive's controller is the servo's.
    for part in ("python", "include", "ports/bare", "ports/linux", "examples/servo", "examples/drive"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    engine = importlib.util.find_spec("consort._engine")
    assert engine is not None and engine.origin is not None
    shutil.copy(engine.origin, folder / "python/consort")
    # A description's targets name other platforms.
    shutil.copytree(ROOT / "platforms", folder / "platforms")
    text = (ROOT / f"platforms/{platform}.yaml").read_text(encoding="utf-8")
    assert f"\nname: {platform}\n" in text
    text = text.replace(f"\nname: {platform}\n", f"\nname: {new}\n")
    text = text.replace(f"board: {name}", f"board: {new}")
    (folder / f"platforms/{new}.yaml").write_text(text, encoding="utf-8")
    shutil.copytree(ROOT / "ports" / name, folder / "ports" / new)
    alone = ROOT / f"examples/{example}/{platform}.yaml"
    system = load_system(alone if alone.is_file() else alone.with_name("loop.yaml"), platform)
    file = folder / f"examples/{example}/mine.yaml"
    system.to_yaml(file)
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace(f"platform: {platform}", f"platform: {new}"), encoding="utf-8")
    return file


def drives() -> list[object]:
    """Each system of the drive that a board stands for: the board, its platform, and the example."""
    found = {(part.where.board.name, part.system.platform) for part in parts(ROOT / "examples/drive")}
    return [pytest.param(name, platform, "drive", marks=pytest.mark.slow) for name, platform in sorted(found)]


@pytest.mark.parametrize(("name", "platform", "example"), [("mps2", "stm32mp157", "servo"), *drives()])
def test_a_copied_folder_is_a_board(tmp_path: Path, name: str, platform: str, example: str) -> None:
    board(name)
    file = copied(tmp_path, name, platform, "other-one", example)
    # The drive's panel takes its first set point after a few hundred periods; before that no chain is whole.
    iterations = 50 if example == "servo" else 2000
    line = ["run", str(file), "--iterations", str(iterations), "--root", str(tmp_path / "runs"), "--json"]
    main = MAIN.format(python=str(tmp_path / "python"))
    done = subprocess.run(
        [sys.executable, "-c", main, *line], capture_output=True, text=True, timeout=PATIENCE, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    (run,) = json.loads(done.stdout)["configurations"]
    # The drive's panel, and what else is slower, has jobs beside the first task's.
    assert run["counters"]["jobs"] == 50 if example == "servo" else run["counters"]["jobs"] > iterations
    assert run["jobs"]["output_errors"] == 0


def test_no_program_outside_of_the_ports_names_a_board() -> None:
    names = [spec.name for spec in all_boards()]
    word = re.compile(rf"\b({'|'.join(names)})\b")
    tracked = subprocess.run(
        ["git", "ls-files", "python", "include", "bench", "engine", "tools", "Makefile"],
        capture_output=True, text=True, check=True, cwd=ROOT,
    ).stdout.split()  # fmt: skip
    # A description names its platform, which may be called as the board is.
    programs = [f for f in tracked if not f.endswith(".yaml")]
    found = [f for f in programs if word.search((ROOT / f).read_text(encoding="utf-8", errors="replace"))]
    assert found == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("title: Cortex-M4F", "titel: Cortex-M4F", "cores.m4f.titel: unknown key 'titel'"),
        ("memory: window", "memory: psram", "emulator.memory: 'psram' is not a memory range of this board"),
        (
            "{code: code, data: data}",
            "{code: flash}",
            "cores.m4f.regions.code: 'flash' is not a memory range",
        ),
        ("[start.S, preempt.S", "[begin.S, preempt.S", "there is no file m4f/begin.S"),
        ("    starts_on_cpu: 0\n", "", "cores: no core starts with the board"),
        ("size: 16MiB", "size: 16", "memory.window.size: 16 has no unit"),
        ("data: {address: 0x20000000", "data: {address: 0x21000000", "it overlaps"),
        ("answerer: armv7", "answerer: armv9", "exchanges[1].answerer: 'armv9' is not a processor"),
        ("machine: Arm", "machine: ARM", "cores.m4f.machine: the text 'ARM' is not one of the values"),
        ("profile: M", "profile: Q", "cores.m4f.profile: the text 'Q' is not one of the values"),
        ("uart0: 0x40004000", "data: 0x40004000", "registers.data: 'data' is a memory range too"),
    ],
)
def test_a_mistake_in_a_board_is_named_with_its_place(tmp_path: Path, old: str, new: str, said: str) -> None:
    shutil.copytree(ROOT / "ports/mps2", tmp_path / "mine")
    file = tmp_path / "mine/board.yaml"
    text = file.read_text(encoding="utf-8")
    assert text.count(old) == 1
    file.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(BadInput) as refused:
        load_board(file)
    assert said in str(refused.value) and re.search(r"board\.yaml:\d+:\d+: ", str(refused.value))
