# SPDX-License-Identifier: Apache-2.0
"""The CPUs that a run may use."""

from __future__ import annotations

import os
import threading
from collections.abc import Collection
from pathlib import Path

import pytest
from consort.base.environment import usable_cpus, widest_mask


def usable(folder: Path, isolated: str, mask: Collection[int]) -> list[int]:
    """In a thread with this mask, on a system whose kernel isolates those CPUs."""
    (folder / "isolated").write_text(isolated + "\n", encoding="ascii")
    found: list[int] = []

    def look() -> None:
        os.sched_setaffinity(0, mask)
        found.extend(usable_cpus(folder))
        assert os.sched_getaffinity(0) == set(mask), "the mask is left as it was"

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    return found


@pytest.fixture
def cpus() -> list[int]:
    """All that the kernel gives to who asks for them."""
    found = sorted(widest_mask())
    if len(found) < 2:
        pytest.skip("needs two CPUs: one to isolate, and one to stay on")
    return found


def test_isolated_cpus_are_used_first(tmp_path: Path, cpus: list[int]) -> None:
    """Linux takes them out of the mask of everything that it starts; who asks for one gets it."""
    *others, last = cpus
    ordinary = sorted(others, key=lambda cpu: (cpu == 0, cpu))
    assert usable(tmp_path, str(last), others) == [last, *ordinary]
    assert usable(tmp_path, "", others) == ordinary
    # In the mask already, as where the kernel isolates by domains alone.
    assert usable(tmp_path, str(last), cpus)[0] == last
    # A list that nobody can read isolates nothing.
    assert usable(tmp_path, "(null)", others) == ordinary


def test_the_cpus_that_are_online_are_asked_for(tmp_path: Path, cpus: list[int]) -> None:
    """Their numbers need not follow one another."""
    (tmp_path / "online").write_text(f"{cpus[-1]}\n", encoding="ascii")
    assert widest_mask(tmp_path) == {cpus[-1]}


def test_a_mask_that_the_user_narrowed_is_kept(tmp_path: Path, cpus: list[int]) -> None:
    assert usable(tmp_path, str(cpus[0]), cpus[:1]) == cpus[:1]
    assert usable(tmp_path, "1023", cpus[:1]) == cpus[:1]
