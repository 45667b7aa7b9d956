# SPDX-License-Identifier: Apache-2.0
"""Outputs that users see stay the same: `tools/goldens.py --write` keeps a change, which its commit then
names."""

from __future__ import annotations

import contextlib
import importlib.util
import itertools
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import featured
import pytest
from consort.model import BadDescription, system_from_data, system_schema
from consort.plan import plan
from consort.plan.image import restored, stored

ROOT = Path(__file__).parents[3]
WALK = ROOT / "tests" / "python" / "plan" / "walk"


@pytest.fixture(scope="module")
def goldens() -> ModuleType:
    spec = importlib.util.spec_from_file_location("goldens", ROOT / "tools" / "goldens.py")
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def differing(goldens: ModuleType, kind: str) -> str:
    found = goldens.differences(kind, goldens.kept(kind), goldens.made(kind))
    return "\n".join(found[: goldens.MOST_LINES])


@pytest.mark.representative
@pytest.mark.parametrize("kind", ["examples", "random"])
def test_commands_say_what_they_said(goldens: ModuleType, kind: str) -> None:
    assert differing(goldens, kind) == ""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["more-random", "records"])
def test_commands_say_what_they_said_of_more(goldens: ModuleType, kind: str) -> None:
    assert differing(goldens, kind) == ""


def test_what_is_said_of_broken_descriptions_is_written_as_it_stands(goldens: ModuleType) -> None:
    corpus = goldens.corpus
    for file in corpus.BASES:
        assert corpus.said_again(file, [case.says for case in corpus.cases(file)]) == corpus.read(file)


@pytest.mark.representative
def test_every_two_features_meet() -> None:
    met = {frozenset(pair) for one in featured.choices() for pair in itertools.combinations(one, 2)}
    assert met == {frozenset(pair) for pair in itertools.combinations(featured.FEATURES, 2)}
    assert {name for one in featured.choices()[: featured.QUICK] for name in one} == set(featured.FEATURES)


def test_a_stored_plan_of_a_random_system_is_the_same_plan() -> None:
    seen: set[str] = set()
    for number, features in enumerate(featured.choices()[: featured.QUICK]):
        # Some features do not go together.
        with contextlib.suppress(BadDescription):
            system = system_from_data(featured.system(number, features), file=WALK / "system.yaml")
            for mode in (None, *system.modes):
                made = plan(system, "analysis", mode=mode)
                assert restored(json.loads(json.dumps(stored(made)))) == made
            seen |= set(features)
    assert len(seen) >= 0.6 * len(featured.FEATURES)


def test_features_have_every_key() -> None:
    schema = system_schema()
    parts = [schema, *schema["$defs"].values()]
    known = {key for part in parts for key in part.get("properties", {})}

    def keys(value: Any) -> set[str]:
        inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        return set(value if isinstance(value, dict) else ()) | {key for one in inside for key in keys(one)}

    # tests/python/model/test_targets.py lays each of these systems on targets.
    assert known - keys([featured.BASE, featured.FEATURES]) == {"targets", "cores", "memories"}
