# SPDX-License-Identifier: Apache-2.0
"""The checkers of rtl/check: silent on good traffic, and each of their rules can fail."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from consort_remote import build

HERE = Path(__file__).parent
RTL = HERE.parents[1] / "rtl"


@pytest.fixture(scope="module")
def user() -> Path:
    top = HERE / "checkers_top.sv"
    options, includes = ("-Wno-UNUSEDSIGNAL",), (f"-I{RTL / 'tb'}",)
    return build.simulation("checkers_top", HERE / "checker_user.cpp", None, options, (top,), includes)


def found(user: Path, what: str) -> str:
    result = subprocess.run([str(user), what], capture_output=True, text=True)
    said = result.stdout + result.stderr
    assert (result.returncode == 0) == ("nothing found" in said), said
    return said


def test_good_traffic_is_not_complained_of(user):
    assert "nothing found" in found(user, "good")


@pytest.mark.parametrize(
    ("what", "complaint"),
    [
        *((f"{channel} goes", "valid went before ready") for channel in ("AW", "W", "B", "AR", "R")),
        *((f"{channel} changes", "changed before ready") for channel in ("AW", "W", "B", "AR", "R")),
        ("answer before the data", "an answer to no write of id 5"),
        ("answer of another id", "an answer to no write of id 6"),
        ("answer twice", "an answer to no write of id 5"),
        ("WLAST too early", "WLAST on beat 0 of 1"),
        ("WLAST missing", "WLAST on beat 1 of 1"),
        ("data before an address of another length", "a write of"),
        ("data of another id", "data of no read of id 9"),
        ("data of nobody", "data of no read of id 1"),
        ("RLAST too early", "RLAST on beat 0 of 1"),
        ("RLAST missing", "RLAST on beat 0 of 0"),
        ("read over 4 KiB", "a read crosses 4 KiB"),
        ("write over 4 KiB", "a write crosses 4 KiB"),
        ("wrapped read of 3", "a read's burst is not one of AXI4"),
        ("wrapped write that is not aligned", "a write's burst is not one of AXI4"),
        ("fixed write of 17", "a write's burst is not one of AXI4"),
        ("beat wider than the bus", "a read's burst is not one of AXI4"),
        ("AW after the reset", "AW valid in the cycle after the reset"),
        ("W after the reset", "W valid in the cycle after the reset"),
        ("B after the reset", "B valid in the cycle after the reset"),
        ("AR after the reset", "AR valid in the cycle after the reset"),
        ("R after the reset", "R valid in the cycle after the reset"),
        ("strobe below the address", "strobes beside the lanes of beat 0"),
        ("strobe of the next beat", "strobes beside the lanes of beat 1"),
        (
            "strobe of another beat, before its address",
            "strobes beside the lanes of beat 1, before its address",
        ),
        (
            "strobe below the address that comes later",
            "strobes beside the lanes of beat 0, before its address",
        ),
        ("strobe of the next beat, after its address", "strobes beside the lanes of beat 1"),
        ("strobe of a wrapped burst that does not wrap", "strobes beside the lanes of beat 1"),
        ("strobe of a fixed burst that moves", "strobes beside the lanes of beat 1"),
        ("reserved AWCACHE", "a write's attributes are reserved"),
        ("reserved ARCACHE", "a read's attributes are reserved"),
        ("EXOKAY of an ordinary write", "EXOKAY of a write that is not exclusive"),
        ("EXOKAY of an ordinary read", "EXOKAY of a read that is not exclusive"),
        *(
            (f"exclusive {what} {fault}", f"an exclusive {what} is not one of AXI4")
            for what in ("read", "write")
            for fault in ("that is not aligned", "of 48 bytes", "of 256 bytes", "of 32 beats")
        ),
    ],
)
def test_what_axi_forbids_is_found(user, what, complaint):
    assert complaint in found(user, what)


@pytest.mark.parametrize(
    ("what", "complaint"),
    [
        *(
            (f"{stream} {does}", f"{name}: {complaint}")
            for stream, name in (
                ("stream", "stream"),
                ("PHY", "link PHY"),
                ("frames", "link frames"),
                ("units", "link units"),
            )
            for does, complaint in (
                ("goes", "valid went before ready"),
                ("changes", "changed before ready"),
            )
        ),
        ("stream goes without a reason", "stream: valid went before ready"),
        ("stream changes after it was cleared", "stream: changed before ready"),
        ("PHY goes with the link", "link PHY: valid went before ready"),
        ("frames go without the link", "link frames: valid went before ready"),
        ("taken where there was not enough", "credit: taken where there was not enough"),
        ("more given back than taken", "credit: more given back than was taken"),
        ("given back twice", "credit: more given back than was taken"),
        ("given back after all were cleared", "credit: more given back than was taken"),
        ("more out than there is", "credit: more out than there is"),
        ("more than the checker can hold", "more outstanding than the checker can hold"),
        ("a unit was dropped", "link buffer: 4 units kept of a frame of 5"),
        ("data after their address", "data wait until their address is taken"),
    ],
)
def test_what_streams_and_credits_forbid_is_found(user, what, complaint):
    assert complaint in found(user, what)


def test_each_rule_of_the_checkers_is_broken_here():
    # A rule that is added needs a case: its words stand in one of the lists above.
    cases = Path(__file__).read_text()
    for checker in build.checkers(RTL.parent):
        for words in re.findall(r'\$error\(\s*"(?:%s: )?([^"%]*)', checker.read_text()):
            # Rules of reads and of writes alike stand there once.
            general = re.sub(r"exclusive (read|write)", "exclusive {what}", words.strip())
            assert general in cases, f"{checker.name}: {words}"
