# SPDX-License-Identifier: Apache-2.0
"""What does not depend on time is the same on this machine as in virtual time: who is served in which order,
which block a job reads, which is dropped, who is asked, which modes are entered."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import beside_time
import pytest
from consort.run import application

pytestmark = [pytest.mark.realtime(when="run"), pytest.mark.usefixtures("two_cpus")]


@pytest.fixture(autouse=True)
def nothing_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(application, "build_application", lambda *_, **__: pytest.fail("it was compiled"))


def compare(numbers: Iterable[int], folder: Path) -> None:
    """Compares the runs of some descriptions, in the frames from the first one on in which the machine kept
    no job from its slot: on a busy machine none, in virtual time all but the last (whose jobs go on)."""
    for number in numbers:
        here, virtual = (beside_time.run(number, folder / str(number), to) for to in ("linux", "virtual"))
        whole = beside_time.frames_undisturbed(here)
        assert beside_time.frames_undisturbed(virtual) == beside_time.FRAMES - 1
        keep = beside_time.within(whole, virtual)
        found, right = (beside_time.structure(one, keep) for one in (here, virtual))
        for part in ("jobs", "cores", "served", "channels"):
            assert getattr(found, part) == getattr(right, part), f"description {number}: {part}"
        assert found.modes == right.modes[: len(found.modes)], f"description {number}: modes"


@pytest.mark.representative
def test_three_descriptions_are_served_alike_here_and_in_virtual_time(tmp_path: Path) -> None:
    compare(range(3), tmp_path)


@pytest.mark.slow
def test_two_hundred_descriptions_are_served_alike_here_and_in_virtual_time(tmp_path: Path) -> None:
    compare(range(1000, 1200), tmp_path)
