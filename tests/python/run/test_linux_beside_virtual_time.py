# SPDX-License-Identifier: Apache-2.0
"""What does not depend on time is the same on this machine as in virtual time: who is served in which order,
which block a job reads, which is dropped, who is asked, which modes are entered."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import beside_time
import pytest
from consort.run import application

pytestmark = [pytest.mark.realtime, pytest.mark.usefixtures("two_cpus")]


@pytest.fixture(autouse=True)
def nothing_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(application, "build_application", lambda *_, **__: pytest.fail("it was compiled"))


def compared(numbers: Iterable[int], folder: Path) -> int:
    """The frames that were compared of some descriptions; a machine that is busy cuts a run short."""
    frames = 0
    for number in numbers:
        here, virtual = (beside_time.run(number, folder / str(number), to) for to in ("linux", "virtual"))
        whole = beside_time.frames_undisturbed(here)
        keep = beside_time.within(whole, virtual)
        found, right = (beside_time.structure(one, keep) for one in (here, virtual))
        for part in ("jobs", "cores", "served", "channels"):
            assert getattr(found, part) == getattr(right, part), f"description {number}: {part}"
        assert found.modes == right.modes[: len(found.modes)], f"description {number}: modes"
        frames += whole
    return frames


@pytest.mark.representative
def test_three_descriptions_are_served_alike_here_and_in_virtual_time(tmp_path: Path) -> None:
    assert compared(range(3), tmp_path) > 0


@pytest.mark.slow
def test_two_hundred_descriptions_are_served_alike_here_and_in_virtual_time(tmp_path: Path) -> None:
    assert compared(range(1000, 1200), tmp_path) > 200
