# SPDX-License-Identifier: Apache-2.0
"""Consort's own programs are built when they are needed, and never older than their sources."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from consort.base.errors import EnvironmentLacks
from consort.base.toolchain import compiler as toolchain
from consort.base.toolchain.compiler import FLAGS
from consort.board import image
from consort.model import System, system_from_data
from consort.run import build


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A source tree with one program and one header that it includes."""
    root = tmp_path / "tree"
    for folder in ("include", "ports/linux/include", "ports/linux/tools"):
        (root / folder).mkdir(parents=True)
    (root / "include/answer.hpp").write_text("constexpr int answer = 1;\n")
    (root / "ports/linux/tools/say_it.cpp").write_text(
        '#include <cstdio>\n#include "answer.hpp"\nint main() { std::printf("%d", answer); }\n'
    )
    monkeypatch.setattr(toolchain, "cpp_tree", lambda: root)
    monkeypatch.setenv("CONSORT_CACHE", str(tmp_path / "cache"))
    toolchain.tool.cache_clear()
    yield root
    toolchain.tool.cache_clear()


def built() -> Path:
    toolchain.tool.cache_clear()
    return toolchain.tool("say-it")


def system() -> System:
    task = {"period": "10ms", "wcet": "1ms", "on": "master-0"}
    return system_from_data({"consort": 1, "platform": "linux-host", "tasks": {"t": task}})


def said(program: Path) -> str:
    return subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout


def test_program_is_built_once(tree: Path) -> None:
    first = built()
    made = first.stat().st_mtime_ns
    assert first.name == "consort-say-it" and said(first) == "1"
    assert built() == first and first.stat().st_mtime_ns == made


def test_what_was_compiled_ahead_is_not_compiled_again(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CCACHE_DIR", str(tree.parent / "ccache"))
    unit = tree / "ports/linux/src/unit.cpp"
    unit.parent.mkdir()
    unit.write_text('#include "answer.hpp"\nint unit() { return answer; }\n')
    monkeypatch.setattr(toolchain, "UNITS", ("linux/src/unit.cpp",))
    monkeypatch.setattr(toolchain, "VIRTUAL", ())
    toolchain.compile_ahead(["say-it"])
    assert not (tree.parent / "cache").exists()
    assert said(built()) == "1"
    build.build_unit(unit, FLAGS, system())
    printed = subprocess.run(["ccache", "--print-stats"], capture_output=True, text=True, check=True).stdout
    counts = {name: int(value) for name, value in (line.split("\t") for line in printed.splitlines())}
    assert counts["cache_miss"] == 2
    assert counts["direct_cache_hit"] + counts["preprocessed_cache_hit"] == 2


def test_changed_header_makes_another_program(tree: Path) -> None:
    first = built()
    header = tree / "include/answer.hpp"
    header.write_text("constexpr int answer = 2;\n")
    second = built()
    assert (said(first), said(second)) == ("1", "2")
    header.write_text("constexpr int answer = 1;\n")
    assert built() == first


def test_program_that_does_not_compile_is_said_with_the_compilers_words(tree: Path) -> None:
    (tree / "include/answer.hpp").write_text("constexpr int wrong = 1;\n")
    with pytest.raises(EnvironmentLacks, match=r"consort-say-it does not compile: (.|\n)*answer"):
        built()


def test_absent_compiler_is_named(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(EnvironmentLacks, match="no-such-compiler"):
        built()


def test_a_unit_of_the_executive_has_another_key_when_what_it_is_made_of_changes(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tree / "ports/virtual/include").mkdir(parents=True)
    (tree / "ports/linux/src").mkdir()
    unit, library = tree / "ports/linux/src/answers.cpp", tree / "version.h"
    monkeypatch.setattr(toolchain, "_VERSIONS", (library,))
    unit.touch()

    def key() -> str:
        return build._keys_of_own([unit], FLAGS)[unit]

    changes = [
        lambda: unit.write_text('#include "answer.hpp"\nint answers() { return answer; }\n'),
        lambda: (tree / "include/answer.hpp").write_text("constexpr int answer = 2;\n"),
        lambda: (tree / "ports/linux/src/beside.hpp").write_text("constexpr int beside = 2;\n"),
        lambda: library.write_text("1.9.5"),
        lambda: monkeypatch.setenv("CPATH", str(tree)),
        lambda: monkeypatch.setenv("CXX", shutil.which("clang++") or ""),
    ]
    keys = [key()]
    for change in changes:
        change()
        keys += [key()]
        assert key() == keys[-1]
    assert len(set(keys)) == len(keys)


def test_an_image_for_which_the_compiler_gets_no_process_is_the_machines_lack() -> None:
    words = (
        "arm-none-eabi-g++: fatal error: cannot execute ‘cc1plus’: vfork: Resource temporarily unavailable\n"
    )
    with pytest.raises(EnvironmentLacks) as error:
        image._said(subprocess.CompletedProcess([], 1, "", words), "an image")
    assert "ulimit -u" in str(error.value)
