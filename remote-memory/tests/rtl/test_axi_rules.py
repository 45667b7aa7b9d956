# SPDX-License-Identifier: Apache-2.0
"""The list of AXI4's rules: each has a checker that exists or a reason; each assertion has a rule."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.representative
PAGE = (ROOT / "docs" / "axi-rules.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (AXI4_\w*)(?:\{([\w, ]+)\}(\w*))? \| [^|]+ \| ([^|]+) \|$", re.MULTILINE)
# A row has one rule, or those of which the names in braces make one each.
RULES = {
    f"{head}{name}{tail}": checked_by
    for head, names, tail, checked_by in ROW.findall(PAGE)
    for name in names.split(", ")
}
PROPERTIES = re.findall(r"^\| (?!AXI4_|rule|property|---)[^|]+ \| ([^|]+) \|$", PAGE, re.MULTILINE)
CHECKERS = {name: (ROOT / "rtl" / "check" / f"consort_{name}.sv").read_text() for name in ("axi_checker",)}
CHECKERS["stream_checker"] = (ROOT / "rtl" / "check" / "consort_stream_checker.sv").read_text()
ASSERTIONS = {label for text in CHECKERS.values() for label in re.findall(r"(\w+) : assert \(", text)}


def names_of(checked_by: str) -> list[str]:
    return re.findall(r"`([^`]+)`", checked_by)


def family(channel: str, side: str, signals: str, ending: str) -> set[str]:
    return {f"AXI4_ERR{side}_{channel}{signal}_{ending}" for signal in signals.split()}


def test_every_rule_has_a_checker_that_exists_or_a_reason():
    assert len(RULES) > 140 and len(PROPERTIES) == 12
    for rule, checked_by in [*RULES.items(), *((text, text) for text in PROPERTIES)]:
        for name in names_of(checked_by):
            exists = name in ASSERTIONS or (name.endswith(".py") and (ROOT / "tests" / "rtl" / name).exists())
            assert exists, f"{rule}: {name}"
        reason = checked_by.startswith("not checked") and len(checked_by.split(": ", 1)[-1]) > 30
        assert reason or (names_of(checked_by) and not checked_by.startswith("not checked")), rule


def test_every_assertion_stands_for_a_rule():
    named = {name for checked_by in RULES.values() for name in names_of(checked_by)}
    assert ASSERTIONS - named == set()


def test_no_rule_of_a_family_is_left_out():
    address = "ADDR BURST CACHE ID LEN LOCK PROT SIZE QOS REGION USER VALID"
    wanted: set[str] = set()
    for ending in ("STABLE", "X"):
        for channel in ("AW", "AR"):
            wanted |= family(channel, "M", address, ending)
        wanted |= family("W", "M", "DATA LAST STRB USER VALID", ending)
        wanted |= family("B", "S", "ID RESP USER VALID", ending)
        wanted |= family("R", "S", "DATA ID LAST RESP USER VALID", ending)
    for channel in ("AW", "AR"):
        functional = "ADDR_BOUNDARY ADDR_WRAP_ALIGN BURST LEN_LOCK CACHE LEN_FIXED LEN_WRAP SIZE VALID_RESET"
        wanted |= {f"AXI4_ERRM_{channel}{rule}" for rule in functional.split()}
    wanted |= {"AXI4_ERRM_WDATA_NUM", "AXI4_ERRM_WSTRB", "AXI4_ERRM_WVALID_RESET"}
    wanted |= {f"AXI4_ERRS_BRESP_{rule}" for rule in ("WLAST", "AW", "ALL_DONE_EOS", "EXOKAY")}
    wanted |= {"AXI4_ERRS_RDATA_NUM", "AXI4_ERRS_RID", "AXI4_ERRS_RRESP_EXOKAY", "AXI4_ERRS_RVALID_RESET"}
    wanted |= {"AXI4_ERRS_BVALID_RESET", "AXI4_ERRS_RLAST_ALL_DONE_EOS"}
    wanted |= {f"AXI4_ERRM_EXCL_{rule}" for rule in ("ALIGN", "LEN", "MAX")}
    assert wanted - RULES.keys() == set()
