# SPDX-License-Identifier: Apache-2.0
"""`consort remote attach|detach|list --module`, against files that stand for the kernel's."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from consort.base.errors import BadInput, EnvironmentLacks, SystemFails
from consort_remote import loaded
from consort_remote.commands.remote import command

SIZE = 268435456
DEMO = {
    "address": 0x20000000, "size": SIZE, "offset": 0, "port": 0, "link": 0, "memory": 0, "node": 1,
    "windows": 1, "state": "attached", "online": SIZE, "movable": SIZE, "reads": 3, "writes": 4, "lost": 0,
}  # fmt: skip


def device_of(sys: Path, number: int, start: int, **segments: dict[str, object]) -> Path:
    """A device's folder, with a folder for each segment."""
    folder = sys / "class" / "remap" / f"remap{number}"
    for name in ("attach", "detach"):
        (folder / "segments").mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
    (folder / "aperture_start").write_text(f"{start:#x}\n")
    (folder / "aperture_size").write_text(f"{2 * SIZE}\n")
    (folder / "last_error").write_text("attach demo: the link is down (-67)\n")
    for name, values in segments.items():
        (folder / "segments" / name).mkdir()
        for key, value in values.items():
            (folder / "segments" / name / key).write_text(f"{value}\n")
    return folder


@pytest.fixture
def sys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    device_of(tmp_path, 0, 0x20000000, demo=DEMO)
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
    assert (sys / "class/remap/remap0/attach").read_text() == (
        "demo address=0x20000000 size=0x10000000 offset=0x0 link=0x0 memory=0x0 node=0x1"
    )


def test_what_the_kernel_left_offline_is_onlined_movable(sys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for key in ("online", "movable"):
        (sys / "class/remap/remap0/segments/demo" / key).write_text("0\n")
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
    shutil.rmtree(sys / "class/remap/remap0/segments/demo")
    assert "no segment is attached" in run("list", "--module").output


def test_detach_names_the_segment(sys: Path) -> None:
    assert run("detach", "demo", "--module").exit_code == 0
    assert (sys / "class/remap/remap0/detach").read_text() == "demo"
    with pytest.raises(BadInput, match="is not a name of a segment"):
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
    (tmp_path / "class/remap").mkdir(parents=True)
    with pytest.raises(EnvironmentLacks, match="no device; describe the cBlock"):
        loaded.Module(tmp_path)


def test_of_several_devices_the_one_that_serves_the_address_is_asked(sys: Path) -> None:
    other = device_of(sys, 1, 0x80000000, far=DEMO | {"address": 0x80000000})
    with pytest.raises(SystemFails, match="new was detached by another"):
        loaded.Module(sys).attach("new", {"address": 0x90000000, "size": SIZE})
    assert (other / "attach").read_text() == "new address=0x90000000 size=0x10000000"
    assert (sys / "class/remap/remap0/attach").read_text() == ""
    loaded.Module(sys).detach("far")
    assert (other / "detach").read_text() == "far"
    assert [segment["name"] for segment in loaded.Module(sys).segments()] == ["demo", "far"]


def test_a_name_that_two_devices_have_is_refused(sys: Path) -> None:
    device_of(sys, 1, 0x80000000, demo=DEMO)
    with pytest.raises(BadInput, match=r"remap0 and .*remap1 have a segment demo"):
        loaded.Module(sys).detach("demo")
