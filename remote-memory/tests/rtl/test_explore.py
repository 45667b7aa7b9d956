# SPDX-License-Identifier: Apache-2.0
"""All states of the link's replay machine and of a port's credits at small sizes, and what wrong ones do."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from consort_remote import build

EXPLORE = Path(__file__).parent / "explore"
ROOT = Path(__file__).parents[2]
# Widths of the package that are smaller than in hardware.
LINK = {"MaxUnits": 1}
CREDIT = {"TagWidth": 3, "AddrWidth": 24, "OffsetWidth": 16}
MOST = 40_000_000


def replaced(text: str, changes: tuple[tuple[str, str], ...]) -> str:
    for right, wrong in changes:
        assert text.count(right) == 1, right
        text = text.replace(right, wrong)
    return text


@pytest.fixture(scope="session")
def explorer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("explore") / "explore"
    command = ["g++", "-std=c++20", "-O3", "-march=native", "-Wall", "-Wextra", "-Werror", "-Wno-psabi"]
    subprocess.run([*command, "-o", str(program), str(EXPLORE / "explore.cpp")], check=True)
    return program


def graph(
    folder: Path, top: str, sizes: dict[str, int], changes=None, parameters: tuple[str, ...] = ()
) -> Path:
    """The and-inverter graph of a world, with `changes` of the sources: {module: (right, wrong)}."""
    files = [build.configuration(ROOT, folder, **sizes)]
    for source in build.synthesised(ROOT):
        file = source
        if changes and build.short(source) in changes:
            file = folder / source.name
            file.write_text(replaced(source.read_text(), (changes[build.short(source)],)))
        if source.name != build.CONFIGURATION:
            files.append(file)
    files.append(EXPLORE / f"{top}.sv")
    python = build.tools() / "bin" / "python"
    large, small = folder / "large.aig", folder / "small.aig"
    command = [python, EXPLORE / "to_aiger.py", large, top, *files, *parameters]
    made = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert made.returncode == 0, made.stdout[-2000:] + made.stderr[-2000:]
    # Registers that are always equal become one.
    abc = next((build.tools() / "lib").glob("python3.*")) / "site-packages" / "pyosys" / "yosys-abc"
    steps = f"read_aiger {large}; strash; scleanup; lcorr; write_aiger -s {small}"
    subprocess.run([str(abc), "-c", steps], check=True, capture_output=True)
    return small


def explore(explorer: Path, aig: Path, choices: int, **inputs: int) -> dict[str, Any]:
    words = [str(explorer), str(aig), str(choices), str(MOST), *(f"{k}={v}" for k, v in inputs.items())]
    result = subprocess.run(words, capture_output=True, text=True)
    assert result.stdout, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    assert (result.returncode == 0) == found["verdict"].startswith("holds")
    print(words[2:], found)
    return found


def all_right(of: dict[str, int]) -> str:
    """The verdict on a world in which nothing is wrong; a large one is looked at for so many cycles."""
    return "holds so far" if "cycles" in of else "holds"


Graphs = Callable[[int], Path]


@pytest.fixture(scope="session")
def link(tmp_path_factory: pytest.TempPathFactory) -> Graphs:
    made: dict[int, Path] = {}

    def of(width: int) -> Path:
        if width not in made:
            folder = tmp_path_factory.mktemp("link")
            made[width] = graph(folder, "link_world", LINK, parameters=(f"SeqWidth={width}",))
        return made[width]

    return of


@pytest.fixture(scope="session")
def credit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return graph(tmp_path_factory.mktemp("credit"), "credit_world", CREDIT)


# ---- The link: each message once, in order, of its session, and never a deadlock ----


def world(**given: int) -> dict[str, int]:
    """The inputs of a world in which nothing happens but what is given."""
    none = ("errors", "idles", "cuts", "resets", "breaks", "lies", "mute", "pauses", "late")
    nothing = dict.fromkeys(none, 0)
    return nothing | {"timeout": 24, "down0": 120, "down1": 120, "most": 7} | given


CHOICES = 27
ONE_ERROR = world(errors=1)
ONE_CUT = world(cuts=1)
# A time so short that all is repeated before the first acknowledgement can come.
SOON_AGAIN = world(errors=1, timeout=10)
# Two errors, and so long until all is repeated that the numbers of the other direction can go round before
# it: the acknowledgement that a repeated frame brings again then looks like a new one.
ANSWERED_LATE = world(errors=2, timeout=60, down0=250, down1=250)
# One end is reset, and the other one waits as long, much longer, or a shorter time.
ONE_RESET = world(resets=1)
PATIENT_TARGET = world(resets=1, down1=250)
PATIENT_INITIATOR = world(resets=1, down0=250)
# All data of one direction is corrupted, and control frames are not.
ONE_BREAK = world(breaks=1)
# The wire queues what it is given for a while, and then gives it without the gaps that lay between. A first
# message that comes a little later than the session is then right behind the word that the session has begun,
# unless the initiator asks once more just then: it waits longer than a round trip before it does.
ONE_PAUSE = world(pauses=1, late=2, down0=160, down1=160)
# Large worlds are bounded by cycles from the reset: a session begins, and messages flow.
TWO_PAUSES = ONE_PAUSE | {"pauses": 2, "cycles": 430}
PAUSE_AND_RESET = ONE_PAUSE | {"resets": 1, "cycles": 380}
# Answers wait on the wire while the end that asked is reset. The other end has said twice that it takes the
# session, for it was asked again before the first such word came.
OLD_ANSWERS = world(resets=1, pauses=1, late=2, cycles=310)
# Acknowledgements of one direction come alone. The start of a session costs one repetition where messages
# come right behind it, and an error one more. The ends keep in touch so seldom that this brings no
# acknowledgement before the second time-out.
ONE_TALKS = world(errors=1, mute=2, down0=480, down1=480, most=2)
# The initiator is reset; the target, which sends nothing that could be in vain, hears it ask again and again.
FORGOTTEN = PATIENT_TARGET | {"mute": 2}
# One direction acknowledges numbers that were never sent.
ONE_LIE = ONE_BREAK | {"lies": 1, "mute": 2}


def test_one_error_anywhere_on_the_wire(explorer, link):
    found = explore(explorer, link(3), CHOICES, **ONE_ERROR)
    assert found["verdict"] == "holds"
    assert found["states"] > 10_000


def test_one_pause_at_any_time(explorer, link):
    assert explore(explorer, link(3), CHOICES, **ONE_PAUSE)["verdict"] == "holds"


@pytest.mark.representative
@pytest.mark.slow
@pytest.mark.parametrize(
    ("width", "of"),
    [
        (3, world(errors=1, idles=1)),
        (3, ONE_CUT),
        (3, SOON_AGAIN),
        (3, ONE_RESET),
        (3, PATIENT_TARGET),
        (3, PATIENT_INITIATOR),
        (3, ONE_BREAK),
        (3, FORGOTTEN),
        (3, TWO_PAUSES),
        (3, PAUSE_AND_RESET),
    ],
)
def test_all_states_of_the_link(explorer, link, width, of):
    assert explore(explorer, link(width), CHOICES, **of)["verdict"] == all_right(of)


WRONG_LINKS = [
    pytest.param(
        2,
        ONE_ERROR,
        "link_receiver",
        "wanted_q && match_q && up",
        "wanted_q && up",
        id="a repeated frame is taken again",
    ),
    pytest.param(
        2,
        ONE_ERROR,
        "link_deframer",
        "crc_good_q <= in_crc_q == rx_due_q &&",
        "crc_good_q <= 1'b1 &&",
        id="a corrupted frame is taken",
    ),
    pytest.param(
        2,
        ONE_ERROR,
        "link_sender",
        "replay_read_q <= replay_oldest_i;",
        "replay_read_q <= replay_write_i;",
        id="repetition begins after what was lost",
    ),
    pytest.param(
        2,
        ONE_ERROR,
        "link_timers",
        "late_o <= ack_timer_q >= ack_timeout_i",
        "late_o <= 1'b0",
        id="nothing is repeated in time",
    ),
    pytest.param(
        2,
        ONE_ERROR,
        "link_sender",
        "MaxInFlight = 2 ** (SeqWidth - 1) - 1",
        "MaxInFlight = 2 ** SeqWidth - 1",
        id="more in flight than the numbers tell apart",
    ),
    pytest.param(
        2,
        ANSWERED_LATE,
        "link_receiver",
        "end_header_i.kind inside {FrameData, FrameAck, FrameNak};",
        "end_header_i.kind inside {FrameData, FrameAck, FrameNak, FrameAgain};",
        id="an acknowledgement of long ago counts",
    ),
    pytest.param(
        2,
        ONE_CUT,
        "link_receiver",
        "      if (!up_i) begin\n        expected_q  <= '0;\n        following_q <= SeqWidth'(1);\n",
        "      if (!up_i) begin\n",
        id="numbers go on after a new start",
    ),
    pytest.param(
        2,
        ONE_PAUSE,
        "link_receiver",
        "      if (!up_i) refused_o <= 1'b1;\n      else if (first_i) refused_o",
        "      if (first_i) refused_o",
        id="a frame is taken whose first unit came before the link was up",
    ),
    pytest.param(
        3,
        ONE_TALKS,
        "link_acks",
        "ack_full_q || duplicate_i || confirms_i",
        "ack_full_q || confirms_i",
        id="what came twice is not acknowledged",
    ),
    pytest.param(
        3,
        ONE_TALKS,
        "link_sender",
        "if (!beat_valid_o || drop_o)",
        "if (!beat_valid_o || replay_due_q)",
        id="a repetition is broken off within a frame",
    ),
    pytest.param(
        2,
        FORGOTTEN,
        "link_session",
        "(!Initiator && heard_init_i)",
        "1'b0",
        id="a target that is up takes a new session for its own",
    ),
    pytest.param(
        3,
        OLD_ANSWERS,
        "link_session",
        "start_after_q <= down_after_i + (down_after_i >> 1);",
        "start_after_q <= '0;",
        id="no silence before a new session",
    ),
    pytest.param(
        2,
        ONE_BREAK,
        "link_session",
        "quiet_over_q || vain_over_i ||",
        "quiet_over_q ||",
        id="repeated for ever",
    ),
    pytest.param(
        3,
        ONE_LIE,
        "link_replay",
        " && !acked[SeqWidth-1] && !unacked[SeqWidth-1];",
        ";",
        id="any number is an acknowledgement",
    ),
]


# Worlds of the wrong ones, each once: what is wrong there has to be the change.
RIGHT_THERE = {repr(param.values[:2]): param.values[:2] for param in WRONG_LINKS}


@pytest.mark.representative
@pytest.mark.slow
@pytest.mark.parametrize(("width", "of"), RIGHT_THERE.values())
def test_the_right_link_holds_where_wrong_ones_are_found_out(explorer, link, width, of):
    assert explore(explorer, link(width), CHOICES, **of)["verdict"] == all_right(of)


@pytest.mark.representative
@pytest.mark.slow
@pytest.mark.parametrize(("width", "of", "module", "right", "wrong"), WRONG_LINKS)
def test_a_wrong_link_is_found_out(explorer, tmp_path, width, of, module, right, wrong):
    changed = graph(tmp_path, "link_world", LINK, {module: (right, wrong)}, (f"SeqWidth={width}",))
    found = explore(explorer, changed, CHOICES, **of)
    assert found["verdict"] == "deadlock" or found["verdict"].startswith("bad")


# ---- Credits ----


def more_credits(downs: int, idles: int, writes: int) -> dict[str, int]:
    return {"downs": downs, "idles": idles, "writes": writes}


@pytest.mark.parametrize("world", [more_credits(0, 1, 3), more_credits(1, 1, 3)])
def test_credits_are_given_back_once(explorer, credit, world):
    found = explore(explorer, credit, 12, **world)
    assert found["verdict"] == "holds"
    assert found["states"] > 5_000


@pytest.mark.slow
@pytest.mark.parametrize("world", [more_credits(0, 2, 4), more_credits(2, 1, 3)])
def test_credits_in_all_states(explorer, credit, world):
    assert explore(explorer, credit, 12, **world)["verdict"] == "holds"


WRONG_CREDITS = [
    pytest.param(
        "write_answers",
        "b_step && !head.local_error ?",
        "!head.local_error && (b_step || rsp_valid_i && rsp_index_i == index) ?",
        id="given back twice",
    ),
    pytest.param(
        "write_answers", "b_step && !head.local_error ?", "b_step ?", id="given back where none was taken"
    ),
    pytest.param(
        "write_answers",
        "b_step && !head.local_error ?",
        "1'b0 && !head.local_error ?",
        id="never given back",
    ),
    pytest.param("credit", "want_i <= free_q", "1'b1", id="taken where there is not enough"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("module", "right", "wrong"), WRONG_CREDITS)
def test_wrong_credits_are_found_out(explorer, tmp_path, module, right, wrong):
    changed = graph(tmp_path, "credit_world", CREDIT, {module: (right, wrong)})
    found = explore(explorer, changed, 12, **more_credits(0, 1, 3))
    assert found["verdict"] == "deadlock" or found["verdict"].startswith("bad")


@pytest.mark.representative
def test_what_is_made_wrong_is_in_the_sources():
    # The wrong ones run rarely; that their text has gone out of the sources is known at once.
    changes = [(param.values[2], param.values[3]) for param in WRONG_LINKS]
    changes += [(param.values[0], param.values[1]) for param in WRONG_CREDITS]
    for module, right in changes:
        assert build.module(ROOT, module).read_text().count(right) == 1, right
