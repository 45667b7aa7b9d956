# SPDX-License-Identifier: Apache-2.0
"""Boards start, run programs on all their cores, and leave nothing behind, however they end."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from board_support import CONSORT, PATIENCE, board, consort, images
from consort.base.errors import BadInput, EnvironmentLacks, SystemFails
from consort.board import Board, State
from consort.board.image import board_program, read_elf

# QEMU's Versal has two UARTs.
WITHOUT_CONSOLE = ("a72-1", "r5f-1")


def all_ordered(name: str) -> Board:
    spec = board(name)
    return Board(spec, images(spec, "identity"), orders={core.place: (0, ()) for core in spec.cores})


@pytest.mark.parametrize("name", ["versal", "mps2"])
def test_every_core_runs_its_program(name: str) -> None:
    with all_ordered(name) as up:
        places = [core.place for core in up.spec.cores]
        up.wait(places, PATIENCE)
        ids = [up.control_blocks[place].results[0] for place in places]
        assert len(set(ids)) == len(places), "cores tell themselves apart"
        for core in up.spec.cores:
            _, hertz, ticks, checked = up.control_blocks[core.place].results[:4]
            assert hertz >= 1_000_000 and ticks > 0
            assert checked == (4096 if name == "versal" else 0)
            if core.name not in WITHOUT_CONSOLE:
                assert f"{core.title} is done" in up.log(core.name).read_text()


def test_core_without_orders_is_not_released() -> None:
    spec = board("versal")
    with Board(spec, images(spec, "identity"), orders={0: (0, ())}) as up:
        up.wait([0], PATIENCE)
        time.sleep(0.3)
        assert up.control_blocks[1].state == State.SILENT and up.log("r5f").read_text() == ""


def test_a_core_that_faults_says_where(tmp_path: Path) -> None:
    # 3 GiB: nothing is there on either board, and neither the A72 nor the R5F has mapped it.
    source = tmp_path / "stray.cpp"
    source.write_text(
        '#include "consort/bare/program.hpp"\n#include "consort/bare/registers.hpp"\n'
        "int consort_program(consort::bare::ControlBlock&) noexcept {\n"
        "    return static_cast<int>(consort::bare::reg(0xc0000000));\n}\n"
    )
    for name in ("versal", "mps2"):
        spec = board(name)
        for core in spec.cores:
            given = images(spec, "identity") | images(spec, str(source), cores=(core.name,))
            orders = {c.place: (0, ()) for c in spec.cores}
            with Board(spec, given, orders=orders) as up:
                said = r"failed: consort: (second )?Cortex-.*address 0xc0000000"
                with pytest.raises(SystemFails, match=said):
                    up.wait([core.place], PATIENCE)
                if core.name not in WITHOUT_CONSOLE:
                    assert core.title in up.log(core.name).read_text()


def program(folder: Path, body: str) -> Path:
    source = folder / "own.cpp"
    source.write_text(
        '#include "consort/bare/program.hpp"\n'
        "int consort_program(consort::bare::ControlBlock& block) noexcept {\n"
        "    using Port = consort::bare::ThisPort;\n" + body + "    return 0;\n}\n"
    )
    return source


def test_only_a_standstill_is_given_up(tmp_path: Path) -> None:
    spec = board("mps2")
    # Moves a little, again and again, for much longer than the patience of one wait; then never again.
    source = program(
        tmp_path,
        "    for (std::uint32_t n = 1; n <= block.argument(0); ++n) {\n"
        "        const auto begin = Port::now();\n"
        "        while (Port::now() - begin < Port::ticks_per_second() / 20) {\n"
        "            Port::relax();\n        }\n"
        "        block.progress(n);\n    }\n"
        "    while (block.argument(1) != 0 && !block.stop_requested()) {\n        Port::relax();\n    }\n",
    )
    given = images(spec, str(source))
    with Board(spec, given, orders={0: (0, (60, 0))}) as up:
        begin = time.monotonic()
        up.wait([0], 2)
        assert time.monotonic() - begin > 2
    raised = pytest.raises(SystemFails, match=r"nothing has moved for 2 s \(m4f running at 3\)")
    with Board(spec, given, orders={0: (0, (3, 1))}) as up, raised:
        up.wait([0], 2)


def test_linux_is_waited_for_while_it_boots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, boards_folder: Path
) -> None:
    """However long it takes: only one that says nothing is given up."""
    up = Board(board("versal"), {})
    up.logs = tmp_path
    up.control_blocks = [SimpleNamespace(state=State.SILENT, order=lambda role: None)] * 16
    console = tmp_path / "a72.log"
    console.touch()
    passed = 0.0

    def sleep(_seconds: float) -> None:
        nonlocal passed
        passed += 9
        if passed < 9000:
            with console.open("a", encoding="utf-8") as file:
                file.write("a line\n")

    monkeypatch.setattr(time, "sleep", sleep)
    monkeypatch.setattr(time, "monotonic", lambda: passed)
    monkeypatch.setattr(up, "ended", lambda: None)
    with pytest.raises(SystemFails, match="Linux is not up, and silent for 10 s"):
        up.release_beside_linux(10)
    assert passed > 9000


def test_cores_take_turns_where_processors_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = board("versal")
    for processors, threads in ((2, "single"), (5, "single"), (6, "multi"), (16, "multi")):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, n=processors: set(range(n)))
        with all_ordered("versal") as up:
            assert up.machine is not None
            line = Path(f"/proc/{up.machine.pid}/cmdline").read_bytes().split(b"\0")
            assert f"tcg,thread={threads}".encode() in line
            up.wait([core.place for core in spec.cores], PATIENCE)


def test_two_boards_at_once_share_nothing() -> None:
    with all_ordered("versal") as a, all_ordered("mps2") as b, all_ordered("versal") as c:
        for up in (a, b, c):
            up.wait([core.place for core in up.spec.cores], PATIENCE)
        assert len({a.memory, b.memory, c.memory}) == 3
        a.write(0x100000, b"only here")
        assert c.read(0x100000, 9) == bytes(9)


def test_killed_board_is_an_error_with_its_name(boards_folder: Path) -> None:
    spec = board("mps2")
    with Board(spec, images(spec, "identity")) as up:
        assert up.machine is not None
        up.machine.kill()
        with pytest.raises(SystemFails, match=rf"board {up.name}: QEMU was killed by signal 9"):
            up.wait([0], PATIENCE)
    assert list(boards_folder.iterdir()) == []


def test_missing_and_old_qemu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = board("mps2")
    given = images(spec, "identity")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        EnvironmentLacks, match=r"no qemu-system-arm was found; .*apt-get install qemu-system-arm"
    ):
        Board(spec, given).__enter__()
    fake = tmp_path / "qemu-system-arm"
    fake.write_text("#!/bin/sh\necho QEMU emulator version 6.2.0\n")
    fake.chmod(0o755)
    with pytest.raises(EnvironmentLacks, match=r"is version 6\.2; 7.2 or newer is needed"):
        Board(spec, given).__enter__()


def test_missing_compiler_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = board("mps2")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentLacks, match=r"arm-none-eabi-g\+\+; .*apt-get install gcc-arm-none-eabi"):
        images(spec, "identity")


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small file system: run as root")
def test_full_disk_is_told_before_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = board("mps2")
    given = images(spec, "identity")
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4M,mode=700", "none", str(small)]).returncode != 0:
        pytest.skip("no file system can be mounted here")
    try:
        monkeypatch.setenv("CONSORT_BOARDS", str(small))
        with pytest.raises(
            EnvironmentLacks, match=r"no room for the board's memory of 16 MiB.*No space left"
        ):
            Board(spec, given).__enter__()
        assert list(small.iterdir()) == []
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_image_for_the_wrong_core_is_refused(tmp_path: Path) -> None:
    versal, mps2 = board("versal"), board("mps2")
    have = images(versal, "identity") | images(mps2, "identity")
    assert (read_elf(have["r5f"]).profile, read_elf(have["m4f"]).profile) == ("R", "M")
    for core, wrong, said in (
        ("a72", "r5f", "the image is for Arm, but the core a72 is a Cortex-A72"),
        ("r5f", "a72", "the image is for AArch64, but the core r5f is a Cortex-R5F"),
        ("r5f", "m4f", "the image is for a Cortex-M, but the core r5f is a Cortex-R5F"),
    ):
        with pytest.raises(BadInput, match=said):
            Board(versal, have | {core: have[wrong]}).__enter__()
    broken = tmp_path / "broken.elf"
    for content, said in (
        (b"text", "not an ELF image"),
        (have["m4f"].read_bytes()[:60], "damaged or cut off"),
    ):
        broken.write_bytes(content)
        with pytest.raises(BadInput, match=said):
            Board(mps2, {"m4f": broken}).__enter__()


def test_program_that_does_not_compile_says_why(tmp_path: Path) -> None:
    source = tmp_path / "broken.cpp"
    source.write_text("int consort_program() { return nothing; }\n")
    with pytest.raises(BadInput, match="'nothing' was not declared"):
        images(board("mps2"), str(source))


@pytest.mark.parametrize(("name", "core"), [("versal", "a72"), ("versal", "r5f"), ("mps2", "m4f")])
@pytest.mark.parametrize("program", ["identity", pytest.param("exchange", marks=pytest.mark.slow)])
def test_own_programs_compile_without_a_warning(program: str, name: str, core: str) -> None:
    images(board(name), program, "-Werror", cores=(core,))


@pytest.mark.slow
def test_benchmarks_of_boards_alone_compile_without_a_warning() -> None:
    versal = board("versal")
    images(versal, "one_way", "-Werror")
    for program in ("interrupt", "io-core-count"):
        board_program(versal, program, "-Werror")


def test_global_constructors_are_refused(tmp_path: Path) -> None:
    # Nothing would run them: silently zero at run time.
    source = tmp_path / "constructed.cpp"
    source.write_text(
        '#include "consort/bare/program.hpp"\n'
        "volatile int seed = 3;\nint taken = seed;\n"
        "int consort_program(consort::bare::ControlBlock&) noexcept { return taken; }\n"
    )
    for core in ("a72", "r5f"):
        with pytest.raises(BadInput, match="global objects with constructors"):
            images(board("versal"), str(source), cores=(core,))


def daemons(folder: Path) -> list[int]:
    """The processes that keep boards of this folder up, or are about to."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if (
                entry.name.isdigit()
                and b"consort.board.daemon" in (entry / "cmdline").read_bytes()
                and f"CONSORT_BOARDS={folder}".encode() in (entry / "environ").read_bytes().split(b"\0")
            ):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


class TestCommand:
    def test_up_list_log_down(self, boards_folder: Path) -> None:
        board("mps2")
        done = consort("board", "up", "mps2")
        assert done.returncode == 0, done.stderr
        again = consort("board", "up", "mps2")
        assert again.stdout.startswith("mps2-2 is up")
        assert [line.split()[0] for line in consort("board", "list").stdout.splitlines()] == [
            "mps2",
            "mps2-2",
        ]
        end = time.monotonic() + PATIENCE
        while "is done" not in (log := consort("board", "log", "mps2").stdout):
            assert time.monotonic() < end, log
        for name in ("mps2", "mps2-2"):
            assert consort("board", "down", name).stdout == f"{name} is down\n"
        assert list(boards_folder.iterdir()) == []
        # The console outlives the board.
        assert "Cortex-M4F is done" in consort("board", "log", "mps2").stdout

    def test_names_and_mistakes(self) -> None:
        board("mps2")
        for arguments, status, said in (
            (["up", "stm32"], 2, "no board 'stm32'; there are mps2, "),
            (["up", "mps2", "--program", "nothing"], 2, "no program 'nothing'"),
            (["up", "mps2", "--image", "a72=x"], 2, "the board mps2 has no core 'a72'; it has m4f"),
            (["up", "mps2", "--image", "m4f=/nowhere.elf"], 2, "the image cannot be read"),
            (["up", "mps2", "--name", "../x"], 2, "is not a name for a board"),
            (["up", "mps2", "--name", "x,y=z"], 2, "'x,y=z' is not a name for a board"),
            (["up", "mps2", "--name=-rf"], 2, "'-rf' is not a name for a board"),
            (["up", "mps2", "--name", "x" * 120], 2, "is not a name for a board"),
            (["up", "mps2", "--name", "x\n"], 2, "is not a name for a board"),
            (["down"], 2, "no board is up"),
            (["log", "never-was"], 2, "no board is up"),
        ):
            done = consort("board", *arguments)
            assert (done.returncode, said in done.stderr) == (status, True), done.stderr

    def test_debugger_command_names_what_is_missing(self, tmp_path: Path) -> None:
        board("mps2")
        assert consort("board", "up", "mps2").returncode == 0
        try:
            done = consort("board", "gdb", "mps2", env={**os.environ, "PATH": str(tmp_path)})
            assert done.returncode == 3 and "apt-get install gdb-multiarch" in done.stderr
        finally:
            consort("board", "down", "mps2")

    @pytest.mark.skipif(shutil.which("gdb-multiarch") is None, reason="apt-get install gdb-multiarch")
    def test_debugger_attaches(self) -> None:
        board("mps2")
        assert consort("board", "up", "mps2").returncode == 0
        try:
            done = consort("board", "gdb", "mps2", input="info symbol $pc\nquit\ny\n")
            assert "in section .text" in done.stdout, done.stdout + done.stderr
        finally:
            consort("board", "down", "mps2")

    @pytest.mark.parametrize("whom", ["owner", "qemu"])
    def test_nothing_is_left_of_a_killed_board(self, boards_folder: Path, whom: str) -> None:
        board("mps2")
        assert consort("board", "up", "mps2").returncode == 0
        from consort.board.session import named, running

        state = named("mps2")
        os.kill(state[whom].pid, signal.SIGKILL)
        end = time.monotonic() + PATIENCE
        # Killed with its owner; or its owner cleans up.
        while Path(f"/proc/{state['qemu'].pid}/stat").exists() or running() or any(boards_folder.iterdir()):
            assert time.monotonic() < end
            time.sleep(0.02)

    def test_interrupted_start_leaves_nothing(self, boards_folder: Path) -> None:
        """The command is killed at moments across a start, as long as one takes here and now."""
        board("mps2")
        from consort.board.session import running

        assert consort("board", "up", "mps2").returncode == 0
        assert consort("board", "down").returncode == 0
        begin = time.monotonic()
        assert consort("board", "up", "mps2").returncode == 0
        takes = time.monotonic() - begin
        assert consort("board", "down").returncode == 0
        for moment in range(13):
            process = subprocess.Popen([str(CONSORT), "board", "up", "mps2"], stdout=subprocess.DEVNULL)
            with suppress(subprocess.TimeoutExpired):
                process.wait(takes * moment / 12)
            process.kill()
            process.wait()
            # A daemon that nobody listens to any more ends; one that had said so keeps its board up.
            end = time.monotonic() + PATIENCE
            while daemons(boards_folder):
                assert time.monotonic() < end, f"moment {moment} left a daemon behind"
                for found in running():
                    found["owner"].send(signal.SIGTERM)
                time.sleep(0.02)
            assert list(boards_folder.iterdir()) == [], f"moment {moment} left something behind"
