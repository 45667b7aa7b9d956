# SPDX-License-Identifier: Apache-2.0
"""`consort remote attach|detach|list --module`, against files that stand for the kernel's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from consort.base.errors import BadInput, EnvironmentLacks, SystemFails
from consort_remote import loaded
from consort_remote.commands.remote import command

LINE = (
    "demo address=0x20000000 size=268435456 offset=0x0 port=0 link=0 memory=0 node=1 state=attached "
    "online={online} movable={movable} reads=3 writes=4\n"
)
SIZE = 268435456


@pytest.fixture
def sys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "kernel" / "remap"
    folder.mkdir(parents=True)
    for name in ("attach", "detach"):
        (folder / name).write_text("")
    (folder / "segments").write_text(LINE.format(online=SIZE, movable=SIZE))
    (folder / "last_error").write_text("attach demo: the link is down (-67)\n")
    blocks = tmp_path / "devices" / "system" / "memory"
    for number in (3, 4, 5, 6):
        (blocks / f"memory{number}").mkdir(parents=True)
        (blocks / f"memory{number}" / "state").write_text("offline\n")
    (blocks / "block_size_bytes").write_text("8000000\n")
    monkeypatch.setattr(loaded, "SYS", tmp_path)
    return tmp_path


def run(*words: str) -> Result:
    return CliRunner().invoke(command, list(words), catch_exceptions=True)


def test_attach_writes_what_the_module_reads(sys: Path) -> None:
    done = run("attach", "demo", "--size", "256MiB", "--address", "0x20000000", "--module", "--node", "1")
    assert done.exit_code == 0, done.output
    assert "268435456 bytes at 0x20000000, NUMA node 1" in done.output
    assert (sys / "kernel/remap/attach").read_text() == (
        "demo address=0x20000000 size=0x10000000 offset=0x0 link=0x0 memory=0x0 node=0x1"
    )


def test_what_the_kernel_left_offline_is_onlined_movable(sys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (sys / "kernel/remap/segments").write_text(LINE.format(online=0, movable=0))
    with pytest.raises(SystemFails, match="0 of its 268435456 bytes are online as movable"):
        loaded.Module(sys).attach("demo", {"address": 0x20000000, "size": SIZE})
    states = {
        number: (sys / f"devices/system/memory/memory{number}/state").read_text() for number in (3, 4, 5, 6)
    }
    assert states == {3: "offline\n", 4: "online_movable", 5: "online_movable", 6: "offline\n"}


def test_list_shows_state_and_counters(sys: Path) -> None:
    listed = json.loads(run("list", "--module", "--json").output)["segments"]
    assert listed[0]["name"] == "demo" and listed[0]["reads"] == 3 and listed[0]["address"] == 0x20000000
    assert "attached  node 1" in run("list", "--module").output
    (sys / "kernel/remap/segments").write_text("")
    assert "no segment is attached" in run("list", "--module").output


def test_detach_names_the_segment(sys: Path) -> None:
    assert run("detach", "demo", "--module").exit_code == 0
    assert (sys / "kernel/remap/detach").read_text() == "demo"
    with pytest.raises(BadInput, match="is no name of a segment"):
        raise run("detach", "../x", "--module").exception or AssertionError


@pytest.mark.parametrize(
    ("number", "error"),
    [(16, SystemFails), (67, SystemFails), (110, SystemFails), (17, BadInput), (22, BadInput)],
)
def test_a_refusal_has_the_modules_reason(
    sys: Path, monkeypatch: pytest.MonkeyPatch, number: int, error: type[Exception]
) -> None:
    def refuse(_file: int, _words: bytes) -> int:
        raise OSError(number, "refused")

    monkeypatch.setattr(loaded.os, "write", refuse)
    with pytest.raises(error, match="attach demo: the link is down"):
        loaded.Module(sys).attach("demo", {"address": 0, "size": 4096})


@pytest.mark.parametrize(
    "words",
    [
        ("attach", "demo", "--size", "4KiB", "--module", "--rights", "r"),
        ("attach", "demo", "--size", "4KiB", "--node", "1"),
    ],
)
def test_what_does_not_go_together_is_refused(sys: Path, words: tuple[str, ...]) -> None:
    assert isinstance(run(*words).exception, BadInput)


def test_without_the_module_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentLacks, match="not loaded; consort remote module build"):
        loaded.Module(tmp_path)
