# SPDX-License-Identifier: Apache-2.0
"""The checks of stated bounds and the checkers at their places fail on blocks of which one thing is wrong.

All wrong blocks are one simulation, which looks up in a file which of them it is.
"""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from bounds_of_faults import DECERR, SLVERR, ended_in_time, refused_at_once
from consort_remote import build
from consort_remote.run import harness
from effort import PATIENCE

# A simulation of its own, and each wrong block another run: minutes in all.
pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
FAULTS = ("faults",)
# Over a bad and slow link, with pauses on every side.
SOAK = ("soak", "20000", "1e-5", "1e-4", "1e-4", "0", "30", "1")
# With memories that are seldom ready: the checker sees what changed before a memory takes it, and says so.
SELDOM_READY = ("soak", "20000", "1e-5", "1e-4", "1e-4", "0", "90", "1")
# With a PHY that repeats many words, for it takes none meanwhile; else it takes one in every cycle.
REPEATING = ("soak", "20000", "0", "0", "1e-2", "0", "30", "1")


@dataclass(frozen=True)
class Wrong:
    """In `module` each first text of `changes` becomes the second; CHOSEN there says: it is this one.

    Where there are several modules to look in, the texts are regular expressions.
    """

    name: str
    module: str
    changes: tuple[tuple[str, str], ...]
    does: tuple[str, ...] = FAULTS
    # The words of the harness or of a checker, or a count before it fails.
    says: str = ""
    # Or the counted figures that are out of bounds, all others in them.
    breaks: tuple[str, ...] = ()
    slow: bool = False


def changed(name: str, module: str, right: str, wrong: str, **more: Any) -> Wrong:
    return Wrong(name, module, ((right, wrong),), **more)


# ---- Refused within 8 cycles, with the right answer, and nothing on the link ----

REFUSALS = [
    Wrong(
        "a refused read is answered late",
        "read_failing",
        (
            ("unused_failed, failed_q;", "unused_failed, failed_q, slow_q;"),
            (
                "settled_q <= !answered_i && known_i;",
                "settled_q <= !answered_i && known_i; slow_q <= answered_i ? '0 : {slow_q[2:0], settled_q};",
            ),
            ("settled_q && !shows_data_i &&", "(CHOSEN ? slow_q[3] : settled_q) && !shows_data_i &&"),
        ),
        breaks=("read_.* cycles",),
    ),
    Wrong(
        "a refused write is answered late",
        "write_answers",
        (
            ("logic b_ripe_q,", "logic [1:0] slow_q; logic b_ripe_q,"),
            (
                "assign ends_now = b_ripe_q &&",
                "always_ff @(posedge clk_i) slow_q <= b_step ? '0 : {slow_q[0], b_ripe_q};"
                " assign ends_now = (CHOSEN ? slow_q[1] : b_ripe_q) &&",
            ),
        ),
        breaks=("write_.* cycles",),
    ),
    changed(
        "a refused read goes to the link",
        "port_read",
        "tag_free_q && good &&",
        "tag_free_q && (CHOSEN || good) &&",
        breaks=("read_.* beats",),
    ),
    changed(
        "a refused write goes to the link",
        "write_collector",
        "good_q <= good;",
        "good_q <= CHOSEN || good;",
        # Its later effect is another matter.
        says=r'"write_unmapped": {"resp": 3, "cycles": \d+, "beats": [1-9]',
    ),
    changed(
        "what is not mapped is SLVERR, of reads",
        "port_read",
        "decerr: !mapped",
        "decerr: !mapped && !CHOSEN",
        breaks=("read_unmapped resp",),
    ),
    changed(
        "what is not mapped is SLVERR, of writes",
        "write_answers",
        "decerr: !mapped_i",
        "decerr: !mapped_i && !CHOSEN",
        breaks=("write_unmapped resp",),
    ),
    changed(
        "rights are not looked at",
        "window_table",
        "(Write ? window.writable : window.readable)",
        "(CHOSEN || (Write ? window.writable : window.readable))",
        breaks=(".*_forbidden .*",),
    ),
]

# ---- A cut link: all ends, with SLVERR, in the programmed time ----

CUTS = [
    # An end notices a cut by silence and by what finds no acknowledgement: one alone is in time.
    Wrong(
        "down after twice the time",
        "link_session|link_timers",
        (
            (
                r"(?<=quiet_over_q <= !quiet_clear && quiet_q > )down_after_i",
                r"(CHOSEN ? \g<0> << 1 : \g<0>)",
            ),
            (
                r"(?<=vain_over_o <= vain_q > )down_after_i",
                r"(CHOSEN ? \g<0> << 1 : \g<0>)",
            ),
        ),
        breaks=("cut longest",),
    ),
    changed(
        "the last tag is forgotten",
        "failed_tags",
        "until_q[l] <= tail_i;",
        "until_q[l] <= tail_i - Width'(CHOSEN);",
        says="no answer: a transaction is stuck",
    ),
    changed(
        "writes are forgotten",
        "write_answers",
        "assign failed = head.local_error ||",
        "assign failed = head.local_error || !CHOSEN &&",
        says="no answer: a transaction is stuck",
        slow=True,
    ),
    changed(
        "reads end without an error",
        "port_read",
        "RespDecerr : RespSlverr) : beat_q.resp",
        "RespDecerr : CHOSEN && !broken ? RespOkay : RespSlverr) : beat_q.resp",
        says="port 0 read .* was written|a read while the link is down is not SLVERR",
    ),
]

# ---- The mBlock's own check of a segment ----

# In whichever module of the mBlock it is.
MBLOCK = "mblock_link|request_rights"
SEGMENT = r"segment(?:_i)?"


def looked_at(name: str, text: str, says: str) -> Wrong:
    return changed(
        name, MBLOCK, text, r"(CHOSEN || \g<0>)", says=f"a detached segment was reached: it is {says}"
    )


HANDLES = [
    looked_at(
        "the generation is not compared",
        rf"{SEGMENT}\.generation == request(?:_i)?\.handle\.generation",
        "another generation",
    ),
    looked_at("a closed segment is open", rf"(?<=assign good = legal_i && ){SEGMENT}\.valid", "closed"),
    looked_at(
        "the mBlock looks at no rights",
        rf"\(request(?:_i)?\.op != OpRead \? {SEGMENT}\.writable : {SEGMENT}\.readable\)",
        "without the right",
    ),
    looked_at(
        "the mBlock looks at no end",
        rf"request(?:_i)?\.offset\[OffsetWidth-1:12\] <= {SEGMENT}\.last",
        "smaller",
    ),
]

# ---- The checkers see what they are bound to ----


def heard(name: str, module: str, right: str, wrong: str, says: str, **more: Any) -> Wrong:
    return changed(name, module, right, wrong, says=says, **({"does": SOAK} | more))


GONE = "valid went before ready|changed before ready"
CHECKED = [
    Wrong(
        "answers do not wait for the master",
        "port_read",
        (
            ("comes, there, failing,", "comes, there, shown_q, failing,"),
            (
                "assign r_valid_o = shows_data || failing;",
                "assign r_valid_o = !(CHOSEN && shown_q) && (shows_data || failing);",
            ),
            ("if (looks) look_q <=", "shown_q <= r_valid_o && !r_ready_i; if (looks) look_q <="),
        ),
        does=SOAK,
        says=f"cblock port R: ({GONE})",
    ),
    heard(
        "acknowledgements do not wait for the master",
        "write_answers",
        "if (!b_valid_o || b_ready_i) b_valid_o <= b_due_q;",
        "if (CHOSEN || !b_valid_o || b_ready_i) b_valid_o <= b_due_q;",
        f"cblock port B: ({GONE})",
    ),
    *(
        heard(
            f"{channel} does not wait for the memory",
            "mblock",
            f".m_{channel}_ready_i(m_{channel}_ready[m]),",
            f".m_{channel}_ready_i(CHOSEN || m_{channel}_ready[m]),",
            f"mblock memory {channel.upper()}: ({GONE})",
            does=SELDOM_READY,
        )
        for channel in ("aw", "w", "ar")
    ),
    heard(
        "the link does not wait for the PHY",
        "link_replay",
        "assign advance = !phy_tx_valid_o || phy_tx_ready_i;",
        "assign advance = CHOSEN || !phy_tx_valid_o || phy_tx_ready_i;",
        f"link PHY: ({GONE})",
        does=REPEATING,
    ),
    heard(
        "frames do not wait for their user",
        "link_buffer",
        ".ready_i(ready_i)",
        ".ready_i(CHOSEN || ready_i)",
        f"link frames: ({GONE})",
    ),
    heard(
        "units do not wait for their user",
        "link_buffer",
        "moves = behind_q && counts && (!unit_valid_q || rx_unit_ready_i);",
        "moves = behind_q && counts && (CHOSEN || !unit_valid_q || rx_unit_ready_i);",
        f"link units: ({GONE})",
    ),
    heard(
        "credits are taken where there are not enough",
        "write_sender",
        "enough_q <= message_valid_i && credit_enough &&",
        "enough_q <= message_valid_i && (CHOSEN || credit_enough) &&",
        "credit: taken where there was not enough",
    ),
    heard(
        "there are always enough credits",
        "credit",
        "want_i <= free_q",
        "CHOSEN || want_i <= free_q",
        "credit: more out than there is",
    ),
    heard(
        "credits are given back that were not taken",
        "write_answers",
        "CreditWidth'(units[index])",
        "CreditWidth'(units[index]) + CreditWidth'(CHOSEN)",
        "credit: more given back than was taken",
        does=FAULTS,
    ),
]

ALL = REFUSALS + CUTS + HANDLES + CHECKED
# The top module reads which one it is; the package has the number.
READS = """
  initial begin
    automatic int file = $fopen("chosen", "r");
    if (file == 0 || $fscanf(file, "%d", consort_remote_pkg::chosen) != 1) $fatal(1, "no choice");
    $fclose(file);
  end
endmodule
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wrong")
    sources = {build.short(file): file for file in build.sources(ROOT)}
    texts = {name: sources[name].read_text() for name in ("remote_pkg", "remote_pair")}
    head = "package consort_remote_pkg;"
    assert texts["remote_pkg"].count(head) == 1
    texts["remote_pkg"] = texts["remote_pkg"].replace(head, head + "\n  int chosen = 0;")
    texts["remote_pair"] = texts["remote_pair"].rstrip().removesuffix("endmodule") + READS
    for number, wrong in enumerate(ALL, start=1):
        for right, instead in wrong.changes:
            pattern = re.compile(right if "|" in wrong.module else re.escape(right))
            by = instead.replace("CHOSEN", f"(consort_remote_pkg::chosen == {number})")
            found = 0
            for module in wrong.module.split("|"):
                if module in sources:
                    text = texts.get(module) or sources[module].read_text()
                    texts[module], count = pattern.subn(
                        by if "|" in wrong.module else lambda _, by=by: by, text
                    )
                    found += count
            assert found == 1, (wrong.name, right)
    files = []
    for name, text in texts.items():
        files.append(folder / sources[name].name)
        files[-1].write_text(text)
    options = ("-Wno-fatal", "-Wno-lint")
    return build.simulation("consort_remote_pair", harness("remote.cpp"), None, options, tuple(files))


def tried(program: Path, folder: Path, number: int, does: tuple[str, ...]) -> tuple[dict[str, Any], str]:
    """The counts of a run that came to its end, and all of its output."""
    (folder / "chosen").write_text(str(number))
    result = subprocess.run(
        [str(program), *does], cwd=folder, capture_output=True, text=True, timeout=PATIENCE
    )
    return json.loads(result.stdout) if result.returncode == 0 else {}, result.stdout + result.stderr


def in_bounds(faults: dict[str, Any]) -> None:
    for what in ("read", "write"):
        refused_at_once(faults[f"{what}_unmapped"], DECERR)
        refused_at_once(faults[f"{what}_forbidden"], SLVERR)
        assert faults[f"{what}_detached"]["resp"] == SLVERR
    ended_in_time(faults["cut"], errors=50)


@pytest.fixture(scope="module")
def right(program: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    faults, said = tried(program, tmp_path_factory.mktemp("right"), 0, FAULTS)
    assert faults, said
    return faults


@pytest.mark.representative
def test_with_nothing_wrong_all_checks_pass(program, right, tmp_path):
    in_bounds(right)
    counted, said = tried(program, tmp_path, 0, SOAK)
    assert counted, said
    assert counted["beats"] >= int(SOAK[1])


@pytest.mark.parametrize(
    "wrong",
    # The first ones run in `make test`.
    [
        pytest.param(w, id=w.name, marks=[pytest.mark.slow] if w.slow or number >= 8 else [])
        for number, w in enumerate(ALL)
    ],
)
def test_what_is_wrong_is_found(program, right, tmp_path, wrong):
    counted, said = tried(program, tmp_path, ALL.index(wrong) + 1, wrong.does)
    if wrong.says:
        assert re.search(wrong.says, said), said[-2000:]
        return
    assert counted, said
    with pytest.raises(AssertionError):
        in_bounds(counted)
    for figures in wrong.breaks:
        found = [
            (fault, figure)
            for fault, counts in counted.items()
            for figure in counts
            if re.fullmatch(figures, f"{fault} {figure}") and counts[figure] != right[fault][figure]
        ]
        assert found, (figures, counted)
        for fault, figure in found:
            counted[fault][figure] = right[fault][figure]
    in_bounds(counted)
