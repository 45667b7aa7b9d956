# SPDX-License-Identifier: Apache-2.0
"""Windows of remote memory in processes: a program's own loads and stores go through the simulated blocks."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from consort_remote import window
from effort import PATIENCE

ROOT = Path(__file__).parents[2]
CONSORT = [sys.executable, "-m", "consort.cli", "remote"]

needs_zydis = pytest.mark.skipif(
    not Path("/usr/include/Zydis/Zydis.h").exists(), reason="libzydis-dev is not installed"
)


@pytest.fixture(scope="module", autouse=True)
def built():
    window.program()


@pytest.fixture
def runtime(monkeypatch):
    # A socket's path is short.
    path = tempfile.mkdtemp(prefix="consort-window-", dir="/tmp")
    monkeypatch.setenv("XDG_RUNTIME_DIR", path)
    yield Path(path)
    hardware = window.running()
    if hardware is not None:
        hardware.ask("stop")
    shutil.rmtree(path)


def remote(*words: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    result = subprocess.run([*CONSORT, *words], capture_output=True, text=True, timeout=PATIENCE)
    assert result.returncode == status, result.stdout + result.stderr
    return result


@pytest.fixture(scope="module")
def user(tmp_path_factory):
    program = tmp_path_factory.mktemp("user") / "user"
    command = [
        "g++",
        "-std=c++20",
        "-O1",
        "-pthread",
        f"-I{ROOT / 'include'}",
        f"-I{ROOT.parent / 'include'}",
    ]
    command += [
        f"-I{ROOT.parent / 'ports' / 'linux' / 'include'}",
        str(Path(__file__).parent / "window_user.cpp"),
    ]
    subprocess.run([*command, "-lZydis", "-o", str(program)], check=True)
    return program


def use(user: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(user), *words], capture_output=True, text=True, timeout=PATIENCE)


@pytest.mark.representative
@needs_zydis
def test_the_example_runs_end_to_end(runtime, tmp_path):
    script = ROOT / "examples" / "window" / "run.sh"
    consort = shutil.which("consort", path=str(Path(sys.executable).parent))
    assert consort is not None
    result = subprocess.run(
        [str(script), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env=os.environ | {"CONSORT": consort},
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.count(": right") == 3
    table = {line[:16].strip(): line[16:].split() for line in result.stdout.splitlines()}
    assert table["cycles"] == ["load", "store"]
    hops = list(table)[list(table).index("cycles") + 1 : list(table).index("all")]
    assert len(hops) == 7
    for column in (0, 1):
        assert sum(int(table[hop][column]) for hop in hops) == int(table["all"][column])
    # Cycles of a simulation are the same on every machine: the example's page shows those of today.
    said = (script.parent / "README.md").read_text()
    for hop in (*hops, "all"):
        assert f"    {hop:16}{table[hop][0]:>8}{table[hop][1]:>8}\n" in said
    assert window.running() is None


@needs_zydis
def test_instructions_do_to_remote_memory_what_they_do_to_memory(runtime, user):
    remote("attach", "w", "--size", "64KiB")
    result = use(user, "moves", "arithmetic", "vectors", "threads")
    assert result.returncode == 0, result.stdout + result.stderr
    (listed,) = json.loads(remote("list", "--json").stdout)["windows"]
    # Two threads alone load and store 100 times each; two accesses crossed a page and are two bursts each.
    assert listed["reads"] > 200 and listed["writes"] > 200


@needs_zydis
def test_every_access_is_one_transaction_in_the_hardware(runtime, user):
    remote("attach", "w", "--size", "4KiB")
    assert use(user, "store", "load", "load").stdout == "7\n7\n"
    (listed,) = json.loads(remote("list", "--json").stdout)["windows"]
    assert (listed["reads"], listed["writes"]) == (2, 1)


@needs_zydis
@pytest.mark.parametrize(
    ("what", "number", "words"),
    [
        ("atomic", signal.SIGILL, "no atomic instructions"),
        ("string", signal.SIGILL, "'movsb': this instruction is not supported"),
        ("push", signal.SIGILL, "'push'"),
        ("edge", signal.SIGBUS, "over the window's edge"),
        ("outside", signal.SIGSEGV, ""),
    ],
)
def test_what_cannot_go_over_the_link_ends_the_process_with_its_reason(runtime, user, what, number, words):
    remote("attach", "w", "--size", "4KiB")
    result = use(user, what)
    assert result.returncode == -number, result.stderr
    assert words in result.stderr


@needs_zydis
def test_the_hardwares_errors_are_bus_errors(runtime, user):
    remote("attach", "w", "--size", "4KiB", "--rights", "r")
    assert use(user, "load").returncode == 0
    result = use(user, "store")
    assert result.returncode == -signal.SIGBUS and "a store was answered slverr" in result.stderr


def test_windows_are_listed_and_the_last_one_ends_the_hardware(runtime):
    assert remote("list").stdout == "no window is attached\n"
    assert json.loads(remote("list", "--json").stdout) == {"windows": []}
    remote("attach", "one", "--size", "64KiB")
    remote("attach", "two", "--size", "4KiB", "--address", "0x400010000", "--offset", "0x10000")
    names = [item["name"] for item in json.loads(remote("list", "--json").stdout)["windows"]]
    assert names == ["one", "two"]
    assert "another window" in remote("attach", "three", "--size", "4KiB", status=2).stderr
    assert "has this name" in remote("attach", "one", "--size", "4KiB", status=2).stderr
    remote("detach", "one")
    assert "has ended" in remote("detach", "two").stdout
    assert window.running() is None
    assert "no simulated hardware runs" in remote("detach", "two", status=2).stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["a b", "--size", "4KiB"], "is not a name"),
        (["w", "--size", "4096"], "--size"),
        (["w", "--size", "5KiB"], "multiple of 4 KiB"),
        (["w", "--size", "4KiB", "--address", "here"], "--address: 'here' is not an address"),
        (["w", "--size", "4KiB", "--link", "2"], "no such link"),
        (["w", "--size", "4KiB", "--wave", "/nowhere/a.fst"], "--wave: there is no folder"),
    ],
)
def test_a_wrong_order_says_what_is_wrong_and_leaves_nothing_behind(runtime, words, message):
    assert message in remote("attach", *words, status=2).stderr
    assert window.running() is None


# Its simulation is another one, which takes minutes to build.
@pytest.mark.slow
def test_waves_are_recorded(runtime, tmp_path):
    file = tmp_path / "all.fst"
    remote("attach", "w", "--size", "4KiB", "--wave", str(file))
    remote("detach", "w")
    written = file.read_bytes()
    # The header's block: its kind, and its length of 329 bytes.
    assert written[0] == 0 and int.from_bytes(written[1:9], "big") == 329
    assert len(written) > 10_000


def test_what_a_crash_leaves_is_cleaned_up(runtime):
    remote("attach", "w", "--size", "4KiB")
    listening = subprocess.run(
        ["pgrep", "-f", str(runtime / "consort" / "remote" / "hardware")], capture_output=True, text=True
    )
    (pid,) = listening.stdout.split()
    os.kill(int(pid), signal.SIGKILL)
    while Path(f"/proc/{pid}").exists() and " Z " not in Path(f"/proc/{pid}/stat").read_text():
        pass
    assert remote("list").stdout == "no window is attached\n"
    assert not (runtime / "consort" / "remote" / "hardware").exists()
    remote("attach", "w", "--size", "4KiB")


def test_without_its_tools_the_command_says_how_to_get_them(runtime, tmp_path):
    result = subprocess.run(
        [*CONSORT, "attach", "w", "--size", "4KiB"],
        capture_output=True,
        text=True,
        env=os.environ | {"PATH": str(tmp_path)},
    )
    assert result.returncode == 3
    assert "apt-get install" in result.stderr
