# SPDX-License-Identifier: Apache-2.0
"""Runtime folders that another user could have prepared are refused; a process is more than its number."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from consort.base.errors import BadInput, EnvironmentLacks
from consort.base.runtime import Process, checked_name, private_folder, runtime_folder, socket_path
from consort.board import rtlinux, session
from consort.board.session import Board
from consort_remote import window

OTHER = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="gives folders to another user: run as root")


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "runtime"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    monkeypatch.delenv("CONSORT_BOARDS", raising=False)
    return folder


def test_the_runtime_directory_is_preferred(runtime: Path) -> None:
    for found, purpose in ((session.boards_folder(), "boards"), (window.folder(), "remote")):
        assert found == runtime / "consort" / purpose
        assert found.stat().st_mode & 0o777 == 0o700
    assert runtime_folder("boards") == runtime / "consort" / "boards", "found again"


def test_without_it_a_folder_of_the_users_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    assert runtime_folder("remote") == Path(f"/tmp/consort-{os.getuid()}/remote")


def a_link(prepared: Path, elsewhere: Path) -> None:
    prepared.symlink_to(elsewhere)


def open_to_a_group(prepared: Path, elsewhere: Path) -> None:
    prepared.mkdir(mode=0o700)
    prepared.chmod(0o770)


def readable(prepared: Path, elsewhere: Path) -> None:
    prepared.mkdir(mode=0o700)
    prepared.chmod(0o755)


def a_file(prepared: Path, elsewhere: Path) -> None:
    prepared.write_text("")


def another_users(prepared: Path, elsewhere: Path) -> None:
    prepared.mkdir(mode=0o700)
    os.chown(prepared, OTHER, OTHER)


@pytest.mark.parametrize("where", ["consort", "consort/boards", "consort/remote"])
@pytest.mark.parametrize(
    ("prepare", "says"),
    [
        (a_link, "not a folder but a link"),
        (open_to_a_group, "open to other users"),
        (readable, "open to other users"),
        (a_file, "not a folder but a file"),
        pytest.param(another_users, "belongs to another user", marks=as_root),
    ],
)
def test_a_prepared_folder_is_refused(
    runtime: Path, tmp_path: Path, where: str, prepare: Callable[[Path, Path], None], says: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    (runtime / where).parent.mkdir(mode=0o700, exist_ok=True)
    prepare(runtime / where, elsewhere)
    used = window.folder if where.endswith("remote") else session.boards_folder
    with pytest.raises(EnvironmentLacks, match=says) as refused:
        used()
    assert str(runtime / where) in str(refused.value) and refused.value.exit_status == 3
    assert list(elsewhere.iterdir()) == []


def test_a_prepared_folder_of_choice_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONSORT_BOARDS", str(tmp_path / "boards"))
    (tmp_path / "boards").mkdir(mode=0o700)
    assert session.running() == []
    # What is nobody's board stays; what a killed one left goes.
    for file in ("mine/notes", "mine/memory/notes", "killed/memory"):
        (tmp_path / "boards" / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "boards" / file).touch()
    (tmp_path / "boards" / "begun").mkdir()
    assert session.running() == []
    assert sorted(path.name for path in (tmp_path / "boards").iterdir()) == ["mine"]
    (tmp_path / "boards").chmod(0o777)
    for use in (session.running, lambda: session.named("mps2"), session.sweep):
        with pytest.raises(EnvironmentLacks, match="open to other users"):
            use()


@as_root
def test_a_parent_that_others_write_is_refused(tmp_path: Path) -> None:
    parent = tmp_path / "parent"
    parent.mkdir()
    parent.chmod(0o777)
    with pytest.raises(EnvironmentLacks, match="lets other users replace"):
        private_folder(parent / "mine")
    parent.chmod(0o1777)
    private_folder(parent / "mine")
    os.chown(parent, OTHER, OTHER)
    with pytest.raises(EnvironmentLacks, match="lets other users replace"):
        private_folder(parent / "mine")


def test_a_relative_or_missing_runtime_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for given in ("relative", str(tmp_path / "none")):
        monkeypatch.setenv("XDG_RUNTIME_DIR", given)
        with pytest.raises(EnvironmentLacks, match="XDG_RUNTIME_DIR"):
            runtime_folder("boards")


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    yield process
    process.kill()
    process.wait()


def test_a_signal_goes_to_the_process_that_was_meant(sleeper: subprocess.Popen[bytes]) -> None:
    meant = Process.of(sleeper.pid)
    assert meant.runs()
    # The same number, of a process that started before: it has ended, and this is another one.
    earlier = Process(meant.pid, meant.started - 1)
    assert not earlier.runs() and not earlier.send(signal.SIGKILL)
    assert sleeper.poll() is None
    assert meant.send(signal.SIGKILL)
    assert sleeper.wait() == -signal.SIGKILL
    assert not meant.runs() and not meant.send(signal.SIGKILL)
    with pytest.raises(ProcessLookupError):
        Process.of(meant.pid)
    for none in (0, -1, 1 << 70):
        assert not Process(none, 1).send(signal.SIGTERM)


def board_state(folder: Path, pid: int, started: int, **more: object) -> dict[str, object]:
    state: dict[str, object] = {"board": "mps2", "name": folder.name, "owner": pid, "qemu": pid}
    state |= {"owner_started": started, "qemu_started": started, "counted": False, "images": {}}
    return state | {"memory": "/elsewhere", "logs": "/elsewhere"} | more


def test_down_ends_no_process_that_has_only_the_number(
    runtime: Path, sleeper: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    from click.testing import CliRunner
    from consort.base.errors import SystemFails
    from consort.commands import board

    folder = session.boards_folder() / "mps2"
    folder.mkdir(mode=0o700)
    monkeypatch.setattr(session, "remove_unowned", lambda *_: False)
    monkeypatch.setattr(board, "STANDSTILL_S", 0.1)
    started = Process.of(sleeper.pid).started
    (folder / session.STATE_FILE).write_text(json.dumps(board_state(folder, sleeper.pid, started + 1)))
    found = session.named("mps2")
    assert (found["memory"], found["logs"]) == (
        str(folder / "memory"),
        str(session.logs_folder() / "mps2"),
    ), "what is written down leads nowhere else"
    result = CliRunner().invoke(board.command, ["down", "mps2"])
    assert isinstance(result.exception, SystemFails)
    assert sleeper.poll() is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "other"},
        {"images": {"m4f": "-x"}},
        {"images": {"m4f": 7}},
        {"images": None},
        {"owner": "x"},
        {"owner": None},
        {"board": 3},
    ],
)
def test_a_state_of_another_form_is_no_board(
    runtime: Path, wrong: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = session.boards_folder() / "mps2"
    folder.mkdir(mode=0o700)
    monkeypatch.setattr(session, "remove_unowned", lambda *_: False)
    (folder / session.STATE_FILE).write_text(json.dumps(board_state(folder, 1, 1, **wrong)))
    assert session.running() == []
    (folder / session.STATE_FILE).write_text("[]")
    assert session.running() == []


@pytest.mark.parametrize(
    "name", ["", "-rf", "--", "x,y=z", "a/b", "..", ".x", "x" * 41, "x" * 120, "ä", "a b", "a\n"]
)
def test_names_that_are_more_than_names(name: str) -> None:
    with pytest.raises(BadInput, match="not a name for a board") as refused:
        checked_name(name, "a board")
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize("name", ["x,y=z", "x" * 120, "-rf"])
def test_boards_take_no_such_name(runtime: Path, name: str) -> None:
    from consort.board.boards import board_named

    with pytest.raises(BadInput, match="not a name for a board"):
        Board(board_named("mps2"), {}, name=name)


def test_a_folder_too_deep_for_sockets(
    runtime: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from consort.board.boards import board_named

    monkeypatch.setenv("CONSORT_BOARDS", str(tmp_path / ("d" * 100)))
    with pytest.raises(EnvironmentLacks, match="too long for a socket"):
        Board(board_named("mps2"), {}, name="mps2")
    assert socket_path(Path("/" + "x" * 106)) == Path("/" + "x" * 106)


def test_a_comma_in_a_path_is_no_option(tmp_path: Path) -> None:
    from consort.board.boards import board_named

    spec = board_named("mps2")
    place = tmp_path / "a,id=b"
    line = rtlinux.command_line(
        Path("qemu"),
        spec,
        place / "memory",
        {core.name: place / "x.elf" for core in spec.cores},
        {core.name: place / "log" for core in spec.cores},
        place / "gdb",
        counted=False,
        threads=False,
    )
    assert not [word for word in line if "a,id=b" in word]
    assert len([word for word in line if "a,,id=b" in word]) >= 4


@as_root
def test_a_socket_of_another_user_is_not_talked_to(runtime: Path) -> None:
    place = window.folder() / "hardware"
    server = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import os, socket, sys\n"
            "s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
            f"s.bind({str(place)!r}); os.setuid({OTHER}); s.listen(); print('up', flush=True)\n"
            "sys.stdin.read()",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert server.stdout is not None and server.stdout.readline() == b"up\n"
    try:
        with pytest.raises(EnvironmentLacks, match="another user's"):
            window.running()
    finally:
        server.kill()
        server.communicate()


def test_a_daemon_that_ends_without_a_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from consort.commands import board

    program = tmp_path / "python"
    program.write_text("#!/bin/sh\ncat >/dev/null\necho 'it is broken' >&2\nexit 1\n")
    program.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(program))
    with pytest.raises(RuntimeError, match="ended without a word: it is broken"):
        board._daemon({})
