# SPDX-License-Identifier: Apache-2.0
"""A temporary folder goes with its owner, however that ends, and never while it lives."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from consort.base import owned
from consort.base.owned import PREFIX, owned_folder, remove_unowned, sweep, temporary_folder

WORKS = """
import sys, time
from consort.base.owned import temporary_folder

with temporary_folder("work") as folder:
    (folder / "half").write_text("half")
    print(folder, flush=True)
    time.sleep(1000)
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(owned, "_swept", set())
    return tmp_path


def made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def is_owned(folder: Path) -> bool:
    """True if somebody holds the lock of the folder."""
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def test_a_folder_goes_with_its_block(place: Path) -> None:
    with temporary_folder("work") as folder, temporary_folder("part", place / folder) as hidden:
        assert folder.parent == place and folder.name.startswith(f"{PREFIX}work-")
        assert hidden.parent == folder and hidden.name.startswith(f".{PREFIX}part-")
        assert not folder.stat().st_mode & 0o077
        assert is_owned(folder) and not remove_unowned(folder)
    assert not list(place.iterdir())


def test_what_a_killed_process_left_goes_with_the_next(place: Path) -> None:
    others = [place / "consort-tmp", place / "consort-build-mine", place / f"x{PREFIX}work-1"]
    for other in others:
        other.mkdir()
    (place / f"{PREFIX}link").symlink_to(others[0])
    with subprocess.Popen([sys.executable, "-c", WORKS], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        with temporary_folder("work"):
            assert (folder / "half").is_file(), "its owner lives"
        process.send_signal(signal.SIGKILL)
    owned._swept.clear()
    with temporary_folder("work"):
        assert not folder.exists()
    assert all(other.is_dir() for other in others) and (place / f"{PREFIX}link").is_symlink()


def test_nobody_sweeps_between_a_folder_and_its_lock(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that is not locked yet may go: then another is made."""
    for function in ("open", "flock"):
        module: Any = os if function == "open" else owned.fcntl
        kept, calls = getattr(module, function), []

        def between(*arguments: Any, kept: Any = kept, calls: list[int] = calls) -> Any:
            calls.append(1)
            if len(calls) == 1:
                assert sweep(place, PREFIX)
            return kept(*arguments)

        with monkeypatch.context() as patch:
            patch.setattr(module, function, between)
            folder, lock = owned_folder(lambda: made(place / f"{PREFIX}{len(list(place.iterdir()))}"))
        assert is_owned(folder)
        owned.remove(folder, lock)


def test_what_a_folder_is_known_by_goes_last(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever removes it may be killed in the middle; the next one knows what it is."""
    folder, lock = owned_folder(lambda: made(place / "board"))
    for name in ("a", "memory", "z"):
        (folder / name).touch()

    def killed(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(owned.shutil, "rmtree", killed)
        owned.remove(folder, lock, "memory")
    os.close(lock)
    assert [path.name for path in folder.iterdir()] == ["memory"]
    assert remove_unowned(folder, "memory") and not folder.exists()


def test_without_locks_nobody_sweeps(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: Any) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(owned.fcntl, "flock", none)
    with temporary_folder("work") as folder:
        owned._swept.clear()
        with temporary_folder("other"):
            assert folder.is_dir()


def test_a_folder_of_another_user_stays(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(place / f"{PREFIX}theirs")
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert sweep(place, PREFIX) == []
