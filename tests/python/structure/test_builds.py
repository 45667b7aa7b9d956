# SPDX-License-Identifier: Apache-2.0
"""Builds are kept under all that they are made of, built once, never seen half, and swept when unused."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from consort.base.errors import BadInput, EnvironmentLacks
from consort.base.toolchain.builds import UNUSED_S, digest, kept, sweep
from effort import PATIENCE
from filelock import FileLock


def writer(words: str) -> object:
    def make(target: Path, _scratch: Path) -> None:
        target.write_text(words, encoding="utf-8")

    return make


def test_parts_that_are_divided_otherwise_are_other_parts() -> None:
    assert digest(["ab", "c"]) != digest(["a", "bc"]) != digest(["abc"])
    assert digest(["a", b"b"]) == digest([b"a", "b"])
    assert digest(["a\0", "b"]) != digest(["a", "\0b"])


def test_it_is_built_once(tmp_path: Path) -> None:
    made = []

    def make(target: Path, scratch: Path) -> None:
        made.append(scratch)
        (scratch / "object").write_text("half", encoding="utf-8")
        target.write_text("whole", encoding="utf-8")

    for _ in range(2):
        assert kept("programs", "key", "p", make, root=tmp_path).read_text(encoding="utf-8") == "whole"
    assert len(made) == 1
    assert sorted(path.name for path in (tmp_path / "programs" / "key").iterdir()) == [".lock", "p"]


def test_several_wait_for_the_one_that_builds(tmp_path: Path) -> None:
    """Half a file is never seen: whoever comes meanwhile waits."""
    begun, go_on, count = threading.Event(), threading.Event(), []

    def make(target: Path, _scratch: Path) -> None:
        count.append(1)
        with target.open("w", encoding="utf-8") as file:
            file.write("first half, ")
            file.flush()
            begun.set()
            assert go_on.wait(PATIENCE)
            file.write("second half")

    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(kept, "programs", "key", "p", make, root=tmp_path) for _ in range(8)]
        assert begun.wait(PATIENCE)
        assert not (tmp_path / "programs" / "key" / "p").exists()
        go_on.set()
        assert {f.result().read_text(encoding="utf-8") for f in asked} == {"first half, second half"}
    assert len(count) == 1


def test_what_failed_is_built_again(tmp_path: Path) -> None:
    def fails(_target: Path, _scratch: Path) -> None:
        raise BadInput("does not compile")

    with pytest.raises(BadInput, match="does not compile"):
        kept("programs", "key", "p", fails, root=tmp_path)
    make = writer("right")
    assert kept("programs", "key", "p", make, root=tmp_path).read_text(encoding="utf-8") == "right"  # type: ignore[arg-type]


def test_a_folder_that_cannot_be_made_is_said_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "programs").write_text("", encoding="utf-8")
    with pytest.raises(EnvironmentLacks, match="CONSORT_CACHE"):
        kept("programs", "key", "p", pytest.fail, root=tmp_path)  # type: ignore[arg-type]


def test_what_was_not_used_for_long_is_swept_and_nothing_else(tmp_path: Path) -> None:
    for key in ("old", "used", "building"):
        kept("programs", key, "p", writer(key), root=tmp_path)  # type: ignore[arg-type]
    entries = tmp_path / "programs"
    long_ago = time.time() - UNUSED_S - 100
    for path in (*entries.iterdir(), *entries.glob("*/p")):
        os.utime(path, (long_ago, long_ago))
    kept("programs", "used", "p", pytest.fail, root=tmp_path)  # type: ignore[arg-type]
    with FileLock(entries / "building" / ".lock"):
        os.utime(entries / "building", (long_ago, long_ago))
        assert sweep(entries) == [entries / "old"]
    assert sorted(path.name for path in entries.iterdir()) == ["building", "used"]
