# SPDX-License-Identifier: Apache-2.0
"""Progress of what takes minutes is said where no terminal is, now and then; of all else it is not."""

from __future__ import annotations

import pytest
from consort.base import waiting
from consort.base.waiting import progress_bar, silent


def test_lines_say_now_and_then_how_far_a_long_operation_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter([100.0, 110.0, 131.0, 140.0, 165.5])
    monkeypatch.setattr(waiting.time, "monotonic", lambda: next(clock))
    with progress_bar(False, lines=True) as show:
        for share in (None, 0.25, 0.5, None):
            show("the servo on versal", share)
    assert capsys.readouterr().err == "31 s: the servo on versal, 25%\n66 s: the servo on versal\n"


def test_nothing_is_said_where_nobody_asked_for_lines() -> None:
    for quiet, lines in ((True, True), (True, False), (False, False)):
        with progress_bar(quiet, lines=lines) as show:
            assert show is silent
