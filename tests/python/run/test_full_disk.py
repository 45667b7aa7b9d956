# SPDX-License-Identifier: Apache-2.0
"""A disk that is full in the middle of a run: status 3, place and remedy, and nothing that stays."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from consort.base.errors import EnvironmentLacks, environment_errors
from consort.base.files import replace_file
from consort.record import RunWriter
from consort.record.store import list_runs
from consort.record.writer import scratch_folder
from consort.run import flow, process
from consort.run.options import Options


def full() -> OSError:
    """As a write says it: of no file."""
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_record_that_finds_no_room_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "runs"

    def recordings(*_: Any, **__: Any) -> Iterator[str]:
        with scratch_folder(root):
            yield "recording"

    def write(*_: Any) -> None:
        raise full()

    prepared: Any = SimpleNamespace(recordings=recordings)
    monkeypatch.setattr(flow, "add_judged", lambda writer, *_: writer.add_diagram("<svg/>"))
    monkeypatch.setattr("consort.record.writer.write_text", write)
    with (
        pytest.raises(EnvironmentLacks) as failed,
        environment_errors(),
        RunWriter("a", "application", root) as writer,
    ):
        flow.record_configuration(prepared, "local-off", Options(), writer, lambda *_: None)
    # What a test holds of an error holds its frames, too.
    assert list(root.iterdir()) == [] and list_runs(root) == []
    assert str(failed.value).startswith(
        f"{root}: no space left on device; make room, or name other folders: --root"
    )


def test_pages_that_find_no_room_are_named_by_the_folder_of_the_runs(tmp_path: Path) -> None:
    def page(*_: Any) -> None:
        raise full()

    root = tmp_path / "runs"
    with (
        pytest.raises(EnvironmentLacks) as failed,
        environment_errors(),
        RunWriter("a", "application", root, pages={"report.html": page}),
    ):
        pass
    assert str(failed.value).startswith(f"{root}: no space left on device") and list(root.iterdir()) == []


def test_a_recorder_that_finds_no_room_has_the_remedy(tmp_path: Path) -> None:
    program = tmp_path / "application"
    words = f"recorder: the record in {tmp_path}: {os.strerror(errno.ENOSPC)}"
    program.write_text(f"#!/bin/sh\necho '{words}' >&2\nexit 3\n", encoding="utf-8")
    program.chmod(0o700)
    plan: Any = SimpleNamespace(file=tmp_path / "system.yaml")
    with pytest.raises(EnvironmentLacks) as failed:
        config = {"record": {"duration_ns": 1}}
        process.launch(program, config, tmp_path, "a run", lambda *_: None, plan=plan)
    assert (
        words in str(failed.value) and "make room" in str(failed.value) and "doctor" not in str(failed.value)
    )


def test_a_file_that_finds_no_room_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(*_: Any, **__: Any) -> int:
        raise full()

    monkeypatch.setattr(Path, "write_text", write)
    with pytest.raises(EnvironmentLacks) as failed, environment_errors():
        replace_file(tmp_path / "page.html", "text")
    assert str(failed.value).startswith(f"{tmp_path / 'page.html'}: no space left on device; make room")
    assert not list(tmp_path.glob("*page*")) and not list(tmp_path.glob(".*page*"))
