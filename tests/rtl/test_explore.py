# SPDX-License-Identifier: Apache-2.0
"""All states of the link's replay machine and of a port's credits at small sizes, and what wrong ones do."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from consort.remote import build

EXPLORE = Path(__file__).parent / "explore"
RTL = Path(__file__).parents[2] / "rtl"
# What of the package is smaller than in hardware.
LINK = (("MaxUnits = 18;", "MaxUnits = 1;"),)
CREDIT = (
    ("TagWidth = 8;", "TagWidth = 3;"),
    ("CONSORT_ADDR_WIDTH 40", "CONSORT_ADDR_WIDTH 24"),
    ("OffsetWidth = 28;", "OffsetWidth = 16;"),
)
SIMULATED = ("phy_model", "paper_wire", "remote_pair", "paper_pair", "remote_figure4")
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


def graph(folder: Path, top: str, sizes, changes=None, parameters: tuple[str, ...] = ()) -> Path:
    """The and-inverter graph of a world, with `changes` of the sources: {module: (right, wrong)}."""
    package = folder / "consort_remote_pkg.sv"
    package.write_text(replaced((RTL / package.name).read_text(), sizes))
    files = [package]
    for source in build.sources(RTL.parent):
        file = source
        if changes and source.stem in changes:
            file = folder / source.name
            file.write_text(replaced(source.read_text(), (changes[source.stem],)))
        if source.name != package.name and source.stem not in SIMULATED:
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
    assert (result.returncode == 0) == (found["verdict"] == "holds")
    print(words[2:], found)
    return found


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


def test_one_error_anywhere_on_the_wire(explorer, link):
    found = explore(explorer, link(3), 21, errors=1, idles=0, cuts=0, timeout=24)
    assert found["verdict"] == "holds"
    assert found["states"] > 10_000


ONE_ERROR = {"errors": 1, "idles": 0, "cuts": 0, "timeout": 24}
ONE_CUT = {"errors": 0, "idles": 0, "cuts": 1, "timeout": 24}
# A time so short that all is repeated before the first acknowledgement can come.
SOON_AGAIN = {"errors": 1, "idles": 0, "cuts": 0, "timeout": 10}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("width", "world"),
    [
        (3, {"errors": 1, "idles": 1, "cuts": 0, "timeout": 24}),
        (3, SOON_AGAIN),
        (3, ONE_CUT),
    ],
)
def test_all_states_of_the_link(explorer, link, width, world):
    assert explore(explorer, link(width), 21, **world)["verdict"] == "holds"


WRONG_LINKS = [
    pytest.param(
        2,
        ONE_ERROR,
        "wanted_q && match_q && up",
        "wanted_q && up",
        id="a repeated frame is taken again",
    ),
    pytest.param(
        2,
        ONE_ERROR,
        "crc_good_q <= in_crc_q == rx_due_q;",
        "crc_good_q <= 1'b1;",
        id="a harmed frame is taken",
    ),
    pytest.param(
        2,
        ONE_ERROR,
        "replay_read_q <= replay_oldest_q;",
        "replay_read_q <= replay_write_q;",
        id="repetition begins after what was lost",
    ),
    pytest.param(
        2,
        ONE_ERROR,
        "ack_late_q <= ack_timer_q >= ack_timeout_i",
        "ack_late_q <= 1'b0",
        id="nothing is repeated in time",
    ),
    pytest.param(
        2,
        ONE_ERROR,
        "MaxInFlight = 2 ** (SeqWidth - 1) - 1",
        "MaxInFlight = 2 ** SeqWidth - 1",
        id="more in flight than the numbers tell apart",
    ),
    pytest.param(
        3,
        SOON_AGAIN,
        "ended_q.kind inside {FrameData, FrameAck, FrameNak};",
        "ended_q.kind inside {FrameData, FrameAck, FrameNak, FrameAgain};",
        id="an acknowledgement of long ago counts",
    ),
    pytest.param(
        2,
        ONE_CUT,
        "      if (!up) begin\n        expected_q  <= '0;\n        following_q <= SeqWidth'(1);\n",
        "      if (!up) begin\n",
        id="numbers go on after a new start",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("width", "world", "right", "wrong"), WRONG_LINKS)
def test_a_wrong_link_is_found_out(explorer, tmp_path, width, world, right, wrong):
    changed = graph(tmp_path, "link_world", LINK, {"link": (right, wrong)}, (f"SeqWidth={width}",))
    found = explore(explorer, changed, 21, **world)
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
        "port_write",
        "b_step && !head.local_error ?",
        "!head.local_error && (b_step || rsp_valid_i && rsp_index_i == index) ?",
        id="given back twice",
    ),
    pytest.param(
        "port_write", "b_step && !head.local_error ?", "b_step ?", id="given back where none was taken"
    ),
    pytest.param(
        "port_write",
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


def test_what_is_made_wrong_is_in_the_sources():
    # The wrong ones run rarely; that their text has gone out of the sources is known at once.
    changes = [("link", param.values[2]) for param in WRONG_LINKS]
    changes += [(param.values[0], param.values[1]) for param in WRONG_CREDITS]
    for module, right in changes:
        assert (RTL / f"{module}.sv").read_text().count(right) == 1, right
