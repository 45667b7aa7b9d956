# SPDX-License-Identifier: Apache-2.0
"""Builds go through ccache where there is one, and are the same where there is none."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from consort.base.errors import BadInput
from consort.board.image import build

ROOT = Path(__file__).resolve().parents[3]
LOG = 'echo "$@" >> {log}; exec "$@"'


def tools(folder: Path, ccache: str | None) -> None:
    """A path with the compiler's programs, and a ccache that is this script."""
    folder.mkdir()
    for name in ("g++", "as", "ld", "cat"):
        found = shutil.which(name)
        assert found
        (folder / name).symlink_to(found)
    if ccache is not None:
        (folder / "ccache").write_text(f"#!/bin/sh\n{ccache}\n", encoding="utf-8")
        (folder / "ccache").chmod(0o755)


def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, ccache: str | None) -> bytes:
    tools(tmp_path / name, ccache)
    monkeypatch.setenv("PATH", f"{tmp_path / name}")
    monkeypatch.setenv("CONSORT_CACHE", str(tmp_path / f"cache-{name}"))
    sources = [tmp_path / "one.cpp", tmp_path / "two.cpp"]
    sources[0].write_text("int two(); int main() { return two(); }\n", encoding="utf-8")
    sources[1].write_text("int two() { return 2; }\n", encoding="utf-8")
    return build("g++", ["-O1"], [], sources, [], "program").read_bytes()


def test_each_source_is_compiled_through_it_and_none_is_linked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log"
    through = built(tmp_path, monkeypatch, "with", LOG.format(log=log))
    lines = log.read_text(encoding="utf-8").splitlines()
    assert len(lines) == 2
    assert all(" -c " in line for line in lines)
    assert through == built(tmp_path, monkeypatch, "without", None)


def test_a_ccache_that_cannot_work_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = "echo 'ccache: error: Failed to create directory /x: Permission denied' >&2; exit 1"
    assert built(tmp_path, monkeypatch, "broken", broken) == built(tmp_path, monkeypatch, "without", None)


def test_an_error_of_the_compiler_stays_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadInput, match=r"does not build: .*words"):
        built(tmp_path, monkeypatch, "wrong", "echo 'error: words' >&2; exit 1")


def test_the_engine_counts_in_another_clone(tmp_path: Path) -> None:
    """It includes from the clone's environment too, which stands beside its folder."""
    clone = tmp_path / "clone"
    (clone / "engine").mkdir(parents=True)
    shutil.copytree(ROOT / "cmake", clone / "cmake")
    script = tmp_path / "script.cmake"
    script.write_text(
        f"set(CONSORT_CCACHE ccache)\ninclude({clone}/engine/../cmake/ccache.cmake)\n"
        'message("${CMAKE_CXX_COMPILER_LAUNCHER}")\n',
        encoding="utf-8",
    )
    said = subprocess.run(
        ["cmake", "-P", str(script)],
        cwd=clone / "engine",
        check=True,
        capture_output=True,
        text=True,
        env={k: v for k, v in os.environ.items() if k != "CMAKE_CXX_COMPILER_LAUNCHER"},
    ).stderr
    assert f"CCACHE_BASEDIR={clone};" in said


def compiled_in(clone: Path) -> dict[str, int]:
    """Builds a library of one unit in a clone; the hits and misses of ccache since its cache is there."""
    clone.mkdir(parents=True)
    shutil.copytree(ROOT / "cmake", clone / "cmake")
    (clone / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.24)\nproject(one LANGUAGES CXX)\ninclude(cmake/ccache.cmake)\n"
        "add_library(one OBJECT one.cpp two.cpp)\nset_target_properties(one PROPERTIES UNITY_BUILD ON)\n",
        encoding="utf-8",
    )
    for name in ("one", "two"):
        (clone / f"{name}.cpp").write_text(f"const char* {name}() {{ return __FILE__; }}\n", encoding="utf-8")
    for command in (["cmake", "-G", "Ninja", "-B", "build"], ["cmake", "--build", "build"]):
        subprocess.run(command, cwd=clone, check=True, capture_output=True)
    statistics = subprocess.run(
        ["ccache", "--print-stats"], check=True, capture_output=True, text=True
    ).stdout
    counts = dict(line.split("\t") for line in statistics.splitlines())
    hits = int(counts["direct_cache_hit"]) + int(counts["preprocessed_cache_hit"])
    return {"hits": hits, "misses": int(counts["cache_miss"])}


def test_a_unity_file_counts_in_another_clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It includes its sources by their absolute paths, and they print where an assertion stands."""
    for name in ("CMAKE_CXX_COMPILER_LAUNCHER", "CCACHE_BASEDIR", "CCACHE_NOHASHDIR", "CCACHE_DISABLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CCACHE_DIR", str(tmp_path / "ccache"))
    assert compiled_in(tmp_path / "one" / "a clone") == {"hits": 0, "misses": 1}
    assert compiled_in(tmp_path / "two" / "another") == {"hits": 1, "misses": 1}


def test_no_definition_has_a_path_of_the_clone(tmp_path: Path) -> None:
    """Such a unit would be compiled anew in each clone."""
    for preset in ("gcc", "asan"):
        into = ["-B", str(tmp_path / preset)]
        subprocess.run(["cmake", "--preset", preset, *into], cwd=ROOT, check=True, capture_output=True)
        commands = json.loads((tmp_path / preset / "compile_commands.json").read_text(encoding="utf-8"))
        assert commands
        for each in commands:
            defined = [word for word in shlex.split(each["command"]) if word.startswith("-D")]
            assert not [word for word in defined if str(ROOT) in word or str(tmp_path) in word], each["file"]
