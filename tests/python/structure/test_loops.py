# SPDX-License-Identifier: Apache-2.0
"""A loop that is one property runs all of its cases and names each that failed."""

from __future__ import annotations

import traceback

import pytest
from loops import MOST, for_each


def failure(loop, **fixtures) -> str:
    with pytest.raises(BaseExceptionGroup) as caught:
        loop(**fixtures)
    return "".join(traceback.format_exception(caught.value))


def test_every_case_runs_and_each_that_failed_is_named(tmp_path) -> None:
    seen = []

    @for_each("number, word", [(1, "one"), pytest.param(2, "two", id="the second"), (3, "three")])
    def loop(number, word, tmp_path) -> None:
        assert tmp_path.is_dir()
        seen.append((number, word))
        if number == 2:
            pytest.fail("not this one")
        assert number == 1

    said = failure(loop, tmp_path=tmp_path)
    assert seen == [(1, "one"), (2, "two"), (3, "three")]
    assert "2 of 3 cases failed: the second, 3-'three'" in said
    assert "in the case the second" in said and "in the case 3-'three'" in said
    assert "not this one" in said and "1-'one'" not in said


@for_each("number", range(3), ids="abc")
def test_pytest_runs_a_loop_as_one_test(number, request) -> None:
    assert number in range(3)
    assert "[" not in request.node.name


def test_all_failures_are_named_and_the_first_shown() -> None:
    @for_each("number", range(MOST + 5), ids=lambda number: f"<{number}>")
    def loop(number) -> None:
        raise ValueError

    said = failure(loop)
    assert f"{MOST + 5} of {MOST + 5} cases failed: <0>, <1>," in said and f"<{MOST + 4}>" in said
    assert f"in the case <{MOST - 1}>" in said and f"in the case <{MOST}>" not in said


def test_a_loop_skips_where_its_first_case_does() -> None:
    @for_each("number", range(2))
    def loop(number) -> None:
        raise pytest.skip.Exception("not here")

    with pytest.raises(pytest.skip.Exception):
        loop()


def test_no_cases_and_marked_cases_are_refused() -> None:
    with pytest.raises(AssertionError, match="no cases"):
        for_each("number", [])
    with pytest.raises(AssertionError, match="no marks"):
        for_each("number", [pytest.param(1, marks=pytest.mark.slow)])
