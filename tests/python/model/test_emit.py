# SPDX-License-Identifier: Apache-2.0
"""YAML that was written reads back as it was."""

from __future__ import annotations

from typing import Any

from consort.model.emit import yaml_text
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

# Characters that YAML allows at all.
TEXT = st.text(
    st.characters(
        codec="utf-8", exclude_categories=["Cc", "Cs", "Cn"], exclude_characters="\ufeff\ufffe\uffff"
    ),
    max_size=12,
)
TRICKY = st.sampled_from(
    [
        *("true", "No", "on", "null", "~", "1", "1.5", "0x10", "0b1", "0o7", "1e5", "1e", ".5", "-", "- a"),
        *(
            "a: b",
            "a #b",
            "#a",
            "*a",
            "&a",
            "!a",
            "%a",
            "@a",
            "`a",
            "|",
            ">",
            "?",
            "? a",
            "a,b",
            "[a]",
            "{a}",
        ),
        *(
            "'a'",
            '"a"',
            "a ",
            " a",
            "",
            "2001-01-01",
            "12:30:45",
            "=",
            "<<",
            "432us",
            "3.3GB/s",
            "5B",
            "1_000",
        ),
        *(
            "step.hpp::servo::step",
            "a::b",
            "golden.py::golden",
            "wheel/",
            "a-b_c",
            "Table IV, page 2",
            ".inf",
            ".nan",
        ),
        *("0x", "0xFF", "1E", "2E5", "12kB", "1.2.3", "a:", ":a", "a:b", "http://x", "---", "...", "é", "\\"),
    ]
)
SCALARS = st.booleans() | st.integers(-(2**63), 2**64) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    SCALARS | TEXT | TRICKY,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT | TRICKY, inner, max_size=4),
    max_leaves=25,
)


def back(text: str) -> Any:
    return YAML(typ="safe", pure=True).load(text)


@given(st.dictionaries(TEXT | TRICKY, VALUES, min_size=1, max_size=5))
def test_reads_back(data: dict[str, Any]) -> None:
    assert back(yaml_text(data)) == data


@given(TRICKY)
def test_tricky_texts_stay_texts(text: str) -> None:
    written = yaml_text({"a": {"b": {"c": text}}, "d": [text], text: 1})
    assert back(written) == {"a": {"b": {"c": text}}, "d": [text], text: 1}


def test_looks_as_a_person_would_write_it() -> None:
    data = {
        "consort": 1,
        "tasks": {
            "a": {"period": "10ms", "wcet": {"published": "spm-centric-os, Table IV", "value": "432us"}},
            "b": {"step": "step.hpp::servo::step", "description": "x" * 60, "reads": ["c", "d"] * 12},
        },
        "memories": {"ocm": {"address": 0xFFFC0000, "size": "256KiB"}},
        "empty": {},
        "list": ["yes", "a b"],
    }
    assert yaml_text(data, "Made up.\n\nFor a test.").splitlines() == [
        "# Made up.",
        "#",
        "# For a test.",
        "consort: 1",
        "tasks:",
        '  a: {period: 10ms, wcet: {value: 432us, published: "spm-centric-os, Table IV"}}',
        "  b:",
        "    step: step.hpp::servo::step",
        "    description: " + "x" * 60,
        "    reads: [c, d, c, d, c, d, c, d, c, d, c, d, c, d, c, d, c, d, c, d, c, d, c, d]",
        "memories:",
        "  ocm: {address: 0xfffc0000, size: 256KiB}",
        "empty: {}",
        'list: ["yes", a b]',
    ]
