# SPDX-License-Identifier: Apache-2.0
"""The code a new user copies first: snippets of two pages, and examples/icc; compiled strictly and run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from effort import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
WARNINGS = ["-std=c++20", "-Wall", "-Wextra", "-Wshadow", "-Werror"]
INCLUDES = [f"-I{ROOT / 'include'}", f"-I{ROOT / 'ports' / 'linux' / 'include'}"]

# Runs both halves of the channels' snippet in one memory.
CHANNELS_MAIN = """
int main() {
    alignas(consort::line_bytes) static unsigned char memory[16384];
    In in{};
    return write_one(memory, sizeof(memory), {1.5F, -2.0F}) && read_one(memory, sizeof(memory), in) &&
                   in.reference == 1.5F && in.position == -2.0F
               ? 0
               : 1;
}
"""
STEP_MAIN = """
int main() {
    State state{};
    Out out{};
    step({1.0F, 0.5F}, state, out);
    return out.command > 2.0F && state.integral > 0.0F ? 0 : 1;
}
"""

Compile = Callable[..., Path]


@pytest.fixture(params=["g++", "clang++"], scope="module")
def compile_program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """Compiles one source with strict warnings, with each compiler there is; the same source once."""
    compiler = request.param
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}: apt-get install {'clang' if compiler == 'clang++' else compiler}")
    folder = tmp_path_factory.mktemp("programs")
    made: dict[tuple[str, ...], Path] = {}

    def compiled(source: Path, *flags: str) -> Path:
        key = (str(source), *flags)
        if key not in made:
            made[key] = folder / f"{len(made)}-{source.stem}"
            command = [compiler, *WARNINGS, *INCLUDES, *flags, str(source), "-o", str(made[key])]
            subprocess.run(command, check=True)
        return made[key]

    return compiled


def first_snippet(page: str) -> str:
    """The first block of C++ on a page of the documentation, whose path starts at the project's root."""
    block = re.search(r"^ *```cpp\n(.*?)^ *```$", (ROOT / page).read_text(), re.M | re.S)
    assert block is not None, f"{page} has no block of C++"
    return textwrap.dedent(block[1])


@pytest.mark.parametrize(
    ("page", "main"),
    [("README.md", STEP_MAIN), ("docs/reference/icc.md", CHANNELS_MAIN)],
    ids=["step", "channels"],
)
def test_the_first_snippet_of_a_page_compiles_and_does_what_it_says(
    page: str, main: str, compile_program: Compile, tmp_path: Path
) -> None:
    source = tmp_path / "snippet.cpp"
    source.write_text(first_snippet(page) + main)
    subprocess.run([compile_program(source)], check=True, timeout=PATIENCE)


def both(writer: Path, reader: Path, tmp_path: Path, reader_first: bool) -> list[tuple[int, str, str]]:
    """Exit status, output and errors of the two programs, run at once over one memory."""
    name = f"/consort-test-{os.getpid()}-{tmp_path.name}"
    order = [reader, writer] if reader_first else [writer, reader]
    running = {
        program: subprocess.Popen([program, name], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for program in order
    }
    try:
        ended = {program: process.communicate(timeout=PATIENCE) for program, process in running.items()}
    finally:
        for process in running.values():
            process.kill()
            process.wait()
        Path("/dev/shm", name[1:]).unlink(missing_ok=True)
    return [(running[program].returncode, *ended[program]) for program in (writer, reader)]


@pytest.mark.parametrize("reader_first", [False, True], ids=["writer first", "reader first"])
def test_the_example_runs(compile_program: Compile, tmp_path: Path, reader_first: bool) -> None:
    programs = [compile_program(ROOT / "examples" / "icc" / f"{name}.cpp") for name in ("writer", "reader")]
    writer, reader = both(*programs, tmp_path, reader_first)
    assert writer[0] == 0 and reader[0] == 0, (writer, reader)
    assert "10000 samples written" in writer[1]
    assert "10000 samples read, in order" in reader[1]
    assert writer[2] == reader[2] == ""


def test_the_example_starts_again_where_its_writer_was_killed(
    compile_program: Compile, tmp_path: Path
) -> None:
    """The reader comes first, and does not take the dead writer's region for the living one's."""
    writer, reader = (
        compile_program(ROOT / "examples" / "icc" / f"{name}.cpp") for name in ("writer", "reader")
    )
    name = f"/consort-test-{os.getpid()}-{tmp_path.name}"
    killed = subprocess.Popen([writer, name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    memory = Path("/dev/shm", name[1:])
    try:
        while killed.poll() is None and not (memory.exists() and any(memory.read_bytes())):
            pass
    finally:
        killed.kill()
        killed.wait()
    try:
        ended = both(writer, reader, tmp_path, reader_first=True)
    finally:
        memory.unlink(missing_ok=True)
    assert [each[0] for each in ended] == [0, 0], ended


def test_the_example_refuses_a_reader_of_another_layout(compile_program: Compile, tmp_path: Path) -> None:
    example = ROOT / "examples" / "icc"
    writer = compile_program(example / "writer.cpp")
    reader = compile_program(example / "reader.cpp", "-DEXAMPLE_OTHER_LAYOUT")
    name = f"/consort-test-{os.getpid()}-{tmp_path.name}"
    waiting = subprocess.Popen([writer, name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        refused = subprocess.run([reader, name], capture_output=True, text=True, timeout=PATIENCE)
    finally:
        waiting.kill()
        waiting.wait()
        Path("/dev/shm", name[1:]).unlink(missing_ok=True)
    line = "reader: the type's layout differs between the two sides: position: offset is 8 here, 4 there"
    assert (refused.returncode, refused.stderr.strip()) == (1, line)
    assert line in (example / "README.md").read_text()


@pytest.mark.parametrize("name", ["writer", "reader"])
def test_the_example_says_how_it_is_called(name: str, compile_program: Compile) -> None:
    program = compile_program(ROOT / "examples" / "icc" / f"{name}.cpp")
    called = subprocess.run([program], capture_output=True, text=True)
    assert called.returncode == 2
    assert called.stderr.startswith(f"usage: {name} NAME")


def test_the_example_builds_by_its_own_cmake_file(tmp_path: Path) -> None:
    source = ROOT / "examples" / "icc"
    subprocess.run(["cmake", "-S", source, "-B", tmp_path], check=True, capture_output=True)
    subprocess.run(["cmake", "--build", tmp_path], check=True, capture_output=True)
    assert (tmp_path / "writer").exists()
    assert (tmp_path / "reader").exists()
