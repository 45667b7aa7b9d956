# SPDX-License-Identifier: Apache-2.0
"""Proofs by induction of small modules, and that they fail when the module is wrong."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import pytest
from consort_remote import build
from effort import PATIENCE

FORMAL = Path(__file__).parent / "formal"
ROOT = Path(__file__).parents[2]


# Sizes of the proofs: of addresses and offsets the solver has no grip on the comparisons of 40 bits.
SMALL = {"AddrWidth": 18, "OffsetWidth": 16}
# The longer form of requests on the link; nothing is compared in it.
WIDE = {"AddrWidth": 40, "OffsetWidth": 38}
# Signals that are only handed on need no width.
NARROW = {"IdWidth": 4, "DataWidth": 16}
NARROW_IN = ("axi_gate", "axi_inflight", "burst_store", "order")
# The parts of a module.
PARTS = {
    "asked_tags": ("tag_flags",),
    "axi_gate": ("fifo",),
    "burst_store": ("fifo",),
    "fifo_ahead": ("fifo",),
    "memory_guard": ("fifo_head",),
    "phy_gearbox": ("fifo",),
    "read_parts": ("fifo_deep",),
    "request_issuer": ("fifo", "fifo_head", "write_lanes"),
    "request_splitter": ("fifo", "fifo_ahead"),
    "response_framer": ("fifo_deep",),
    "rr_switch": ("arbiter",),
    "write_acks": ("fifo",),
    "write_share": ("credit",),
}


# The common part of two modules' checks.
SHARED = {
    "fifo": "marked_word",
    "fifo_ahead": "marked_word",
    "fifo_deep": "marked_word",
    "fifo_head": "marked_word",
    "packetizer": "beat_grammar",
    "depacketizer": "beat_grammar",
    "request_issuer": "lanes_of_beat",
    "write_lanes": "lanes_of_beat",
}
# FIFOs that need not be deep.
SHALLOW = {"request_splitter": (".Depth(32)", ".Depth(4)")}


def proof(source: Path, module: str, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    sizes = WIDE if "wide" in words else SMALL | (NARROW if module in NARROW_IN else {})
    words = tuple(word for word in words if word != "wide")
    packages = [
        build.configuration(ROOT, folder, **sizes),
        build.source(ROOT, "consort_remote_pkg.sv"),
    ]
    if module in SHALLOW:
        text = source.read_text()
        assert text.count(SHALLOW[module][0]) == 1
        source = folder / f"shallow_{module}.sv"
        source.write_text(text.replace(*SHALLOW[module]))
    python = build.tools() / "bin" / "python"
    files = [*packages, *(build.module(ROOT, part) for part in PARTS.get(module, ())), source]
    if module in SHARED:
        files.append(FORMAL / f"{SHARED[module]}.sv")
    top = f"{module}_check"
    command = [python, FORMAL / "prove.py", *files, FORMAL / f"{top}.sv", top, *words]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=PATIENCE)


PROVEN = [
    ("credit", ()),
    ("arbiter", ()),
    ("class_arbiter", ()),
    ("fence", ()),
    ("read_room", ()),
    ("write_share", ()),
    ("fifo", ()),
    ("window_table", ()),
    ("tag_flags", ()),
    ("failed_tags", ()),
    ("asked_tags", ()),
    ("order", ()),
    ("rr_switch", ()),
    ("fifo_cdc", ("--clocks",)),
    ("lite_slave", ()),
    ("burst_store", ()),
    ("phy_gearbox", ("PhyWidth=64",)),
    ("phy_gearbox", ("PhyWidth=128",)),
    ("phy_gearbox", ("PhyWidth=256",)),
    ("response_parser", ()),
    ("packetizer", ()),
    ("depacketizer", ()),
    ("fifo_ahead", ()),
    ("fifo_deep", ()),
    ("answer_room", ()),
    ("fifo_head", ()),
    ("read_parts", ()),
    ("read_parts", ("Ordered=1",)),
    ("write_acks", ()),
    ("response_framer", ()),
    ("request_splitter", ()),
    ("request_splitter", ("wide",)),
    ("request_rights", ()),
    ("request_issuer", ()),
    ("write_lanes", ()),
    ("axi_inflight", ()),
    ("axi_atop", ()),
    ("axi_to_txn", ()),
    ("txn_to_axi", ()),
    ("axi_gate", ("Rename=0",)),
    ("axi_gate", ("Rename=1",)),
]


# The longest proofs: the sample chooses when they run.
LONG = {
    ("order", ()),
    ("request_issuer", ()),
    ("request_splitter", ("wide",)),
    ("phy_gearbox", ("PhyWidth=256",)),
    ("depacketizer", ()),
}


@pytest.mark.parametrize(
    ("module", "parameters"),
    [
        pytest.param(
            *each, marks=() if each in LONG else pytest.mark.representative, id=each[0] + "".join(each[1])
        )
        for each in PROVEN
    ],
)
def test_what_the_module_promises_is_proven(tmp_path, module, parameters):
    result = proof(build.module(ROOT, module), module, tmp_path, *parameters)
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-2000:]
    assert result.stdout.rstrip().endswith("proven")


@pytest.mark.slow
def test_no_run_of_twelve_cycles_breaks_what_the_guard_of_a_memory_promises(tmp_path):
    result = proof(build.module(ROOT, "memory_guard"), "memory_guard", tmp_path, "--refute")
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-2000:]
    assert result.stdout.rstrip().endswith("not refuted")


def test_no_run_of_twelve_cycles_breaks_what_places_of_reads_promise(tmp_path):
    result = proof(build.module(ROOT, "read_places"), "read_places", tmp_path, "--refute")
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-2000:]
    assert result.stdout.rstrip().endswith("not refuted")


# The first wrong version of each module runs in `make test`, the others under `make test-slow`.
FAST_WRONG = 1


def in_turn(versions):
    """The wrong versions, those slow that are none of their module's first ones."""
    seen = Counter()
    for version in versions:
        values, marks = (version.values, version.marks) if hasattr(version, "marks") else (version, ())
        module = values[0].split()[0]
        seen[module] += not marks
        slow = not marks and seen[module] > FAST_WRONG
        yield pytest.param(*values, marks=pytest.mark.slow if slow else marks)


WRONG_VERSIONS = [
    ("credit", "want_i <= free_q", "want_i <= free_q + 1'b1"),
    ("credit", "- (take_i ? want_i : '0) + give_i", "- (take_i ? want_i : give_i)"),
    ("credit", "if (!rst_ni) free_q <= Width'(Max)", "if (!rst_ni) free_q <= '0"),
    # Fixed priorities: somebody may wait for ever.
    ("arbiter", "masked != '0 ? first_masked : first_any", "first_any"),
    ("arbiter", "~(grant_o | (grant_o - 1'b1))", "~(grant_o - 1'b1)"),
    ("arbiter", "request_i & (~request_i + 1'b1)", "request_i"),
    # An operation is a plain write; a second answer is lost; a shown read changes; an answer is too long.
    ("axi_atop", "aw_i.lock || aw_atop_i != '0", "aw_i.lock"),
    ("axi_atop", "aw_valid_i && !(answers && due_q)", "aw_valid_i"),
    ("axi_atop", "due_q && !held_q;", "due_q;"),
    ("axi_atop", "(aw_i.len - 8'd1) >> 1", "aw_i.len"),
    ("axi_inflight", "before_none || (pop_i && earlier == found)", "before_none"),
    ("axi_inflight", "if (!youngest_q[find_index_o]) oldest_q", "if (1'b0) oldest_q"),
    ("axi_inflight", "if (!before_none) youngest_q[before_index] <= 1'b0;", ""),
    ("axi_inflight", "used_q[i] && oldest_q[i] && id_q", "used_q[i] && youngest_q[i] && id_q"),
    # Others go while one waits urgently; the urgent go for ever; no order among others, nor the urgent.
    ("class_arbiter", "holds ? waits : '1;", "'1;"),
    ("class_arbiter", "(turns_q < TurnWidth'(Turns) ||", "(1'b1 ||"),
    ("class_arbiter", " || (grant_o != '0 && !holds_q));", ");"),
    ("class_arbiter", "(holds_q ? mask_urgent_q : mask_others_q)", "mask_others_q"),
    ("class_arbiter", "else mask_others_q <=", "mask_others_q <="),
    ("fence", "tail_i + Width'(begins_i)", "tail_i"),
    ("fence", "else if (head_i == fence_q)", "else if (head_i == tail_i)"),
    ("fence", "end else if (head_i == fence_q) begin", "end else begin"),
    ("read_room", "11'(used_q) + 11'(len_i) < 11'(share_i)", "11'(used_q) < 11'(share_i)"),
    ("read_room", "waits_i && !moves_i && (", "("),
    ("read_room", "used_q == '0 || 11'(used_q)", "11'(used_q)"),
    ("read_room", "used_q + Width'(len_i) < Width'(Room)", "used_q < Width'(Room)"),
    ("read_room", "plenty_q && !long", "plenty_q"),
    ("read_room", "!(takes_i && long) && used_q", "used_q"),
    ("read_room", "Width'(Room - 2 * Short)", "Width'(Room - Short)"),
    ("read_room", "room_q <= waits_i && !moves_i &&", "room_q <="),
    ("write_share", "$signed(12'(free_i)) >= floor_q", "1'b1"),
    ("write_share", "seen_q && !pop_i && !takes_i && (", "("),
    ("write_share", "free_i == Width'(Credits) || ", ""),
    ("write_share", "- $signed(12'(share_i))", "- $signed(12'(share_i)) - 12'sd1"),
    ("fifo", "(PtrWidth + 1)'(Depth - 2)", "(PtrWidth + 1)'(Depth - 3)"),
    ("fifo", "assign push = valid_i && ready_o;", "assign push = valid_i;"),
    ("fifo", "push || !one_q", "push || one_q"),
    ("fifo", "pop || !one_left_q", "pop"),
    ("fifo", "memory[read_q[PtrWidth-1:0]]", "memory[write_q[PtrWidth-1:0]]"),
    ("fifo", "assign pop = valid_o && ready_i;", "assign pop = valid_o;"),
    (
        "window_table",
        "addr_i[AddrWidth-1:12] <= windows_i[i].last",
        "addr_i[AddrWidth-1:12] < windows_i[i].last",
    ),
    ("window_table", "hits & (~hits + 1'b1)", "hits"),
    ("window_table", "mapped_o = window.valid", "mapped_o = window_o != '0"),
    ("window_table", "Write ? window.writable : window.readable", "window.readable"),
    ("window_table", " - windows_i[i].first[OffsetWidth-13:0]", ""),
    ("tag_flags", "swept_o && !clears[set_at]", "swept_o && clears[set_at]"),
    ("tag_flags", "swept_o && sets[clear_at]", "swept_o && !sets[clear_at]"),
    ("tag_flags", "clear_i || !swept_o", "clear_i"),
    ("failed_tags", "{1'b0, answer_ahead} < reach", "{1'b0, answer_ahead} <= reach"),
    ("failed_tags", "else if (head_i == until_q[l]) begin", "else if (1'b0) begin"),
    # Another link's answer counts, one of a tag that ended, one that was refused here; half a period is one.
    ("asked_tags", "counts_o = asked && mine", "counts_o = asked"),
    ("asked_tags", "counts_o = asked && mine", "counts_o = mine"),
    ("asked_tags", "begins_i && asks_i", "begins_i"),
    ("asked_tags", "tick_i && old_q && waits_i ?", "tick_i && waits_i ?"),
    ("asked_tags", "waits_i && (old_q || tick_i)", "(old_q || tick_i)"),
    # More beats than were asked for, places of the tag before, what comes now is there already; one place for
    # two beats in a row, a beat of what ended.
    ("read_places", "counts_o && place_o != past_q;", "counts_o;"),
    ("read_places", "looked.mark == marks[look_i] ?", "1'b1 ?"),
    ("read_places", "<= !next[tail_i].mark;", "<= !marks[tail_i];"),
    (
        "read_places",
        "of_head.mark == marks[head_i] && |(of_head.place ^ read_i);",
        "|(of_head.place ^ read_i);",
    ),
    ("read_places", "there[ends_i][steps_i]", "there[ends_i][0]"),
    ("read_places", "again ? following : ", ""),
    ("read_places", "look_counts_i && !(ends_i && look_i == head_i)", "look_counts_i"),
    ("fifo_cdc --clocks", "(Ptr'(3) << (Ptr - 2))", "(Ptr'(1) << (Ptr - 1))"),
    ("fifo_cdc --clocks", "write_gray_q <= write_d ^ (write_d >> 1);", "write_gray_q <= write_d;"),
    ("fifo_cdc --clocks", "read_gray_q <= read_d ^ (read_d >> 1);", "read_gray_q <= read_d;"),
    ("fifo_cdc --clocks", "push = valid_i && ready_o", "push = valid_i"),
    ("fifo_cdc --clocks", "pop = valid_o && ready_i", "pop = ready_i"),
    ("fifo_cdc --clocks", "memory[read_q[Ptr-2:0]]", "memory[read_d[Ptr-2:0]]"),
    # Shown until it is taken; each taken once; its own data; nobody waits for ever.
    ("rr_switch", "held_q != '0 ? held_q : valid_i", "valid_i"),
    ("rr_switch", "ready_i ? grant : '0", "grant"),
    ("rr_switch", "if (grant[i]) data_o", "if (valid_i[i]) data_o"),
    ("rr_switch", ".taken_i(ready_i)", ".taken_i(1'b0)"),
    ("lite_slave", "else if (req_i.b_ready) bvalid_q <= 1'b0;", "else bvalid_q <= 1'b0;"),
    ("lite_slave", "&& !write_busy_q && !bvalid_q", "&& !write_busy_q"),
    ("lite_slave", "!read_busy_q && !rvalid_q", "!read_busy_q"),
    ("lite_slave", "if (read_ripe_q) begin", "if (read_ripe_q || rvalid_q) begin"),
    ("lite_slave", "assign write_o = write_q;", "assign write_o = write_busy_q && whole_q;"),
    ("lite_slave", "bresp_q <= write_good_i && whole_q ? 2'd0 : Slverr", "bresp_q <= 2'd0"),
    ("lite_slave", "write_busy_q && !write_ripe_q && whole_q;", "write_busy_q && !write_ripe_q;"),
    ("lite_slave", "if (arready) read_addr_o", "if (req_i.ar_valid) read_addr_o"),
    ("burst_store", "there && whole_q != '0", "there"),
    ("burst_store", "w_valid_i && w_ready_o && w_i.last", "w_valid_i && w_ready_o"),
    ("burst_store", "aw_ready_i && whole_q != '0", "aw_ready_i"),
    ("burst_store", "- CountWidth'(aw_valid_o && aw_ready_i)", "- CountWidth'(aw_ready_i)"),
    ("phy_gearbox PhyWidth=128", "assign tx_ready_o = phy_tx_ready_i;", "assign tx_ready_o = 1'b1;"),
    ("phy_gearbox PhyWidth=64", "upper_q && phy_tx_ready_i", "phy_tx_ready_i"),
    ("phy_gearbox PhyWidth=64", "upper_q ? {tx_beat_i.control[1]", "!upper_q ? {tx_beat_i.control[1]"),
    ("phy_gearbox PhyWidth=64", "(rx_upper_q || at_resync)", "rx_upper_q"),
    ("phy_gearbox PhyWidth=64", "rx_upper_q <= !rx_valid_o", "rx_upper_q <= !rx_upper_q"),
    pytest.param(
        "phy_gearbox PhyWidth=256", "!phy_tx_valid_o || phy_tx_ready_i;", "1'b1;", marks=pytest.mark.slow
    ),
    pytest.param(
        "phy_gearbox PhyWidth=256",
        "upper = fills ? {MarksWhole, GapBeat} : tx_beat_i",
        "upper = tx_beat_i",
        marks=pytest.mark.slow,
    ),
    ("phy_gearbox PhyWidth=256", "(left_q == '0 || waited_q == '1)", "1'b1"),
    pytest.param(
        "phy_gearbox PhyWidth=256",
        "rx_upper_q ? {word[259:258]",
        "!rx_upper_q ? {word[259:258]",
        marks=pytest.mark.slow,
    ),
    pytest.param(
        "phy_gearbox PhyWidth=256",
        "if (takes || fills) lower_valid_q",
        "if (takes) lower_valid_q",
        marks=pytest.mark.slow,
    ),
    pytest.param(
        "phy_gearbox PhyWidth=256", ".ready_i(rx_upper_q)", ".ready_i(1'b1)", marks=pytest.mark.slow
    ),
    ("response_parser", "part_done = beat_done && (left_q == '0 ||", "part_done = beat_done && (1'b1 ||"),
    ("response_parser", "parts_q[0].kind == RspNone && !acks_q[0].valid;", "parts_q[0].kind == RspNone;"),
    ("response_parser", "== RspData && read_ready_i", "== RspData"),
    ("response_parser", "parts_q <= meta.parts;", "parts_q[0] <= meta.parts[0];"),
    ("response_parser", "{ack_t'('0), acks_q[2:1]}", "{ack_t'('0), acks_q[2], acks_q[0]}"),
    ("response_parser", "== RspAck && !acks_q[0].valid", "== RspAck"),
    ("packetizer", "assign txn_ready_o = taken && beat_ready_i;", "assign txn_ready_o = taken;"),
    ("packetizer", "if (txn_valid_i || held_q.last) begin", "if (txn_valid_i) begin"),
    ("packetizer", "txn_i.mif == held_q.mif", "1'b1"),
    pytest.param("packetizer", "filled_d = !txn_i.last", "filled_d = 1'b0", marks=pytest.mark.slow),
    ("packetizer", "held_valid_q ? held_q.link", "1'b0 ? held_q.link"),
    ("packetizer", "taken ? 2'd0 : pos_q + 2'd2", "pos_q + 2'd2"),
    ("packetizer", "second = part[0]", "second = part[1]"),
    ("depacketizer", "!txn_valid_o || txn_ready_i", "1'b1"),
    ("depacketizer", "if (high.part == 2'd1) lower", "if (high.part == 2'd2) lower"),
    ("depacketizer", "if (high.valid && !high_ends)", "if (high.valid && !low_ends)"),
    ("depacketizer", "kept_q[mif][low.part[0]]", "kept_q[0][low.part[0]]"),
    ("depacketizer", "low_ends ? low : high", "high_ends ? low : high"),
    ("fifo_deep", "straight = moves && !behind_q && !some", "straight = moves && !some"),
    ("fifo_deep", "fetch = some && (!behind_q || moves)", "fetch = some"),
    ("fifo_deep", "(behind_q && !moves);", "behind_q;"),
    ("fifo_deep", "(Depth - 1);", "(Depth);"),
    ("fifo_deep", "moves = !valid_o || ready_i", "moves = ready_i"),
    ("fifo_deep", "empty_o <= goes && one_q;", "empty_o <= goes;"),
    # A long read goes after another one unseen, a refused one lends its length, what is kept does not count.
    ("answer_room", "!(takes_i && len_i[7:4] != '0) && used", "used"),
    ("answer_room", "Room - 2 * Short", "Room - Short"),
    ("answer_room", "used = owed_q + kept_q", "used = owed_q"),
    ("answer_room", "waits_i && used + Width", "used + Width"),
    ("fifo_ahead", "moves = !valid_o || ready_i", "moves = ready_i"),
    ("fifo_ahead", "empty_o = !valid_o && !behind_valid", "empty_o = !valid_o"),
    ("fifo_ahead", ".ready_i(moves)", ".ready_i(ready_i)"),
    ("fifo_ahead", "else if (moves) valid_o", "else valid_o"),
    ("fifo_ahead", "if (moves) data_o", "if (behind_valid) data_o"),
    ("fifo_head", "valid_o && !one_o ? memory", "valid_o ? memory"),
    ("fifo_head", "valid_o && !one_o ? memory", "!one_o ? memory"),
    ("fifo_head", "if (ready_i || !valid_o) data_o", "if (ready_i) data_o"),
    ("fifo_head", "ready_o <= pop || !one_left_q;", "ready_o <= 1'b1;"),
    ("fifo_head", "one_o <= push ? !valid_o :", "one_o <= push ? valid_o :"),
    ("fifo_head", "(PtrWidth + 1)'(Depth - 2) : !ready_o", "(PtrWidth + 1)'(Depth - 2) : ready_o"),
    (
        "fifo_head",
        "if (!rst_ni) begin\n      write_q <= '0;\n      next_q <= PtrWidth'(1)",
        "if (!rst_ni) begin\n      write_q <= '0;\n      next_q <= '0",
    ),
    ("fifo_head", "else if (clear_i) begin", "else if (1'b0) begin"),
    # An id for each access: the memory need not keep their order.
    ("memory_guard", "ar_now.id = IdWidth'(ar_stream);", "ar_now.id = l_ar_i.id;"),
    ("memory_guard", "aw_now.id = IdWidth'(aw_stream);", "aw_now.id = l_aw_i.id;"),
    # Data of a write wait until the memory takes its address.
    pytest.param(
        "memory_guard",
        "aw_room && aw_goes;",
        "aw_room && !orphans_q && m_aw_ready_i;",
        marks=pytest.mark.slow,
    ),
    pytest.param(
        "memory_guard",
        "ar_held_q <= m_ar_valid_o && !m_ar_ready_i",
        "ar_held_q <= 1'b0",
        marks=pytest.mark.slow,
    ),
    pytest.param(
        "memory_guard",
        "w_held_q  <= m_w_valid_o && !m_w_ready_i",
        "w_held_q  <= 1'b0",
        marks=pytest.mark.slow,
    ),
    pytest.param(
        "memory_guard",
        "strb: '0, last: m_left_q == '0",
        "strb: '1, last: m_left_q == '0",
        marks=pytest.mark.slow,
    ),
    pytest.param(
        "memory_guard", "b_some & ~(open_q ? open_of_q & b_one : '0)", "b_some", marks=pytest.mark.slow
    ),
    pytest.param("memory_guard", "m_clear = !r_owed &&", "m_clear =", marks=pytest.mark.slow),
    ("read_parts", ": part_q.tag != tag;", ": 1'b0;"),
    (
        "read_parts Ordered=1",
        "part_q.tag[TagWidth-1-:PortWidth] != tag[TagWidth-1-:PortWidth] :",
        "1'b0 :",
    ),
    ("read_parts", "<= differs && r_i.last", "<= 1'b0"),
    ("read_parts", "<= !ends || differs", "<= 1'b1"),
    ("read_parts", "takes && (differs || ends)", "takes && ends"),
    ("read_parts", "units_q + 5'd1 : 5'd1", "units_q + 5'd1 : 5'd0"),
    ("read_parts", "part_ready_i && !due_q && !drain_i", "part_ready_i && !drain_i"),
    # Isolated while an address waits, or something is owed; an address goes although it is to be isolated.
    pytest.param(
        "memory_guard", "m_ar_ready_i && (!isolate_q || ar_held_q)", "m_ar_ready_i", marks=pytest.mark.slow
    ),
    pytest.param(
        "memory_guard",
        "!silent_q && m_clear && !open_q && r_some == '0 && b_some == '0;",
        "!silent_q;",
        marks=pytest.mark.slow,
    ),
    pytest.param(
        "memory_guard", "ar_room && !mute && !isolate_q", "ar_room && !mute", marks=pytest.mark.slow
    ),
    ("write_acks", "open_q[port] && more_i && continues == '0", "1'b0"),
    ("write_acks", "valid_i && known_q && overtakes", "1'b0 && overtakes"),
    ("write_acks", "!whole_q[port] && !data_q;", "!whole_q[port];"),
    ("write_acks", "whole_q[p] && count_q[p] == '0 &&", "whole_q[p] &&"),
    ("write_acks", "done_q[p] <= open_q[p] && whole_q[p] &&", "done_q[p] <= open_q[p] &&"),
    ("write_acks", "done_i && !done_several_i && !done_good_i", "done_i && !done_good_i"),
    ("write_acks", "if (!good_i) resp_q[p] <= RespSlverr;", ""),
    ("write_acks", "ends_here && b_resp_q > resp_q[p]", "ends_here"),
    ("write_acks", " && !(takes_done && done_first[p]);", ";"),
    ("write_acks", "!shows_b && done_q == '0 && bad_due_q", "!shows_b && bad_due_q"),
    ("write_acks", "may_start_o = room_q && !bad_due_q &&", "may_start_o = room_q &&"),
    ("write_acks", "(known_q && !blocked_q)", "!blocked_q"),
    ("write_acks", "5'(starts_here && good_i)", "5'(starts_here)"),
    ("write_acks", "several_o = more_i || goes_on", "several_o = more_i"),
    ("write_acks", "assign takes_done = !shows_b && done_q", "assign takes_done = done_q"),
    (
        "response_framer",
        "closes = some_q && !frame_valid_q && !sending_q;",
        "closes = some_q && !frame_valid_q;",
    ),
    ("response_framer", "!frame_valid_q && !sending_q && none_waits", "!frame_valid_q && !sending_q"),
    ("response_framer", "(part_valid_i && !straight)", "(part_valid_i)"),
    ("response_framer", "!(error_went_q && next_valid)", "1'b1"),
    ("response_framer", "!free_q[5] && {1'b0, next.units} <= free_q", "1'b1"),
    ("response_framer", "next_valid && !error_goes && parts_q", "next_valid && parts_q"),
    ("response_framer", "(acks_q != 2'd3 || ack_as_part)", "1'b1"),
    (
        "response_framer",
        "parts_q != 2'd2 && !next_valid && !error_valid_i",
        "parts_q != 2'd2 && !next_valid",
    ),
    ("response_framer", "last_q <= frame_units_o == 5'd2", "last_q <= frame_units_o == 5'd3"),
    ("response_framer", "units_q <= units_q + next.units", "units_q <= next.units"),
    (
        "response_framer",
        "if (!frame_valid_q) begin\n      frame_q",
        "if (!frame_valid_q || some_q) begin\n      frame_q",
    ),
    ("response_framer", "else if (frame_taken) frame_valid_q", "else frame_valid_q"),
    (
        "request_splitter",
        "!request_valid_o && queue_empty && !frame_waited_i",
        "!request_valid_o && queue_empty",
    ),
    ("request_splitter", "!request_valid_o && queue_empty && ", "!request_valid_o && "),
    (
        "request_splitter",
        "push = (at_head || ahead) && frame_valid_i && !direct && ",
        "push = (at_head || ahead) && frame_valid_i && ",
    ),
    ("request_splitter", "push = pushed.op != OpNone;", "push = 1'b1;"),
    ("request_splitter", "some_q && !at_pairs_q && !drain_i", "some_q && !drain_i"),
    ("request_splitter", "data_taken_i || (odd_q && queue_ready)", "data_taken_i || odd_q"),
    ("request_splitter", "segments_i[looked.handle.index]", "segments_i[arrives.first.handle.index]"),
    ("request_splitter", "queue_valid ? legal(queued) : legal(arrived)", "legal(arrived)"),
    ("request_splitter", "unit_taken && (one_q || pairs_q == 5'd1)", "unit_taken && pairs_q == 5'd1"),
    ("request_splitter", "|| (odd_q && queue_ready) || drops", "|| (odd_q && queue_ready)"),
    ("request_splitter", "drops = unwanted_q && some_q;", "drops = unwanted_q;"),
    ("request_splitter", "data_none_o = at_head", "data_none_o = 1'b0"),
    ("request_splitter", "at_head || (at_pairs_q && !queue_ready)", "at_head"),
    ("request_splitter", "segments_i[looked.handle.index]", "segments_i[request_o.handle.index]"),
    ("request_splitter", "if (free) begin", "if (1'b1) begin"),
    ("request_splitter", "({1'b0, meta.extra} + 5'd1) >> 1", "{1'b0, meta.extra} >> 1"),
    ("request_splitter", "else if (drain_i) request_valid_o", "else if (1'b0) request_valid_o"),
    (
        "request_splitter",
        "    end else if (drain_i) begin\n      {some_q, next_q,",
        "    end else if (drain_i) begin\n      {next_q,",
    ),
    ("request_splitter", ".clear_i(drain_i)", ".clear_i(1'b0)"),
    # The next frame's first request, while data of the one at hand come.
    ("request_splitter", "!next_q && exact_q && !came_q &&", "!next_q && !came_q &&"),
    ("request_splitter", "exact_q && !came_q &&", "exact_q &&"),
    ("request_splitter", "!at_pairs_q && !next_q && exact_q", "!at_pairs_q && exact_q"),
    ("request_splitter", "ahead = some_q && !at_pairs_q &&", "ahead = some_q &&"),
    ("request_splitter", "!came_q && !unwanted_q &&", "!came_q &&"),
    ("request_splitter", "exact_q <= !came_q && spare_q", "exact_q <= spare_q"),
    ("request_splitter", "(!some_q || (one_q && unit_taken))", "!some_q"),
    ("request_splitter", "head_units != '0 : next_q && !moves", "head_units != '0 : next_q"),
    ("request_splitter", "head_taken ? some_q && head_units != '0 :", "head_taken ? some_q :"),
    ("request_splitter", "head_taken ? some_q && head_units", "head_taken ? head_units"),
    ("request_splitter", "at_head ? head_taken && head_units != '0 : some_q &&", "some_q &&"),
    ("request_splitter", "wants = 5'(came_pair_q) + ", "wants = "),
    ("request_splitter", "came_len_q > 4'd7 ? 5'd2", "came_len_q > 4'd8 ? 5'd2"),
    ("request_splitter", "came_first_q ? 10'(next_units_q) : spare_q", "spare_q"),
    # Where exactly the units are left that are wanted, they are dropped too when nobody wants them.
    (
        "request_splitter",
        "!next_q && queue_empty && !request",
        "!next_q && !exact_q && queue_empty && !request",
    ),
    (
        "request_splitter",
        "    end else if (drain_i) begin\n      {some_q, next_q, at_pairs_q,",
        "    end else if (drain_i) begin\n      {some_q, at_pairs_q,",
    ),
    # The upper bits of wide offsets, and the unit that they come in.
    ("request_splitter wide", "highs ? unit_i >> HighWidth : '0;", "highs ? unit_i : '0;"),
    ("request_splitter wide", "if (at_pairs_q && push && queue_ready) highs_q", "if (1'b0) highs_q"),
    ("request_splitter wide", "frame_units_i - 5'(highs)", "frame_units_i"),
    ("request_splitter wide", "queue_ready && (!highs || unit_valid_i);", "queue_ready;"),
    ("request_splitter wide", "!frame_waited_i && !highs;", "!frame_waited_i;"),
    ("request_splitter wide", "lone ? lone_read_of(arrives) : ", ""),
    ("request_splitter wide", "meta.highs && !lone", "meta.highs"),
    ("request_splitter wide", "!unwanted_q && !highs;", "!unwanted_q;"),
    ("request_rights", "segment_i.generation == request_i.handle.generation &&", ""),
    ("request_rights", "request_i.offset[OffsetWidth-1:12] <= segment_i.last", "1'b1"),
    (
        "request_rights",
        "OpRead ? segment_i.writable : segment_i.readable",
        "OpRead ? segment_i.readable : segment_i.readable",
    ),
    ("request_rights", "legal_i && segment_i.valid", "segment_i.valid"),
    ("request_rights", "legal_i && segment_i.valid &&", "legal_i &&"),
    ("request_rights", "valid_i && !spare_valid_q;", "valid_i;"),
    ("request_rights", "spare_valid_q ? spare_q : judged", "judged"),
    ("request_rights", "if (!spare_valid_q) spare_q", "spare_q"),
    ("request_rights", "else if (drain_i) begin", "else if (1'b0) begin"),
    ("request_issuer", ".valid_i(reads && good_i)", ".valid_i(reads)"),
    ("request_issuer", ".valid_i(start_o && good_i)", ".valid_i(start_o)"),
    ("request_issuer", ".valid_i(takes && good_q)", ".valid_i(takes)"),
    pytest.param("request_issuer", "drop_q ? 16'd0 : strobes", "strobes", marks=pytest.mark.slow),
    (
        "request_issuer",
        "segment_i.memory == memory_q || !(aw_valid_o || w_valid_o)",
        "segment_i.memory == memory_q || !aw_valid_o",
    ),
    ("request_issuer", "may_start_i && issue_q == IssueIdle", "may_start_i"),
    pytest.param(
        "request_issuer",
        "lane_q[0] ? {data_i, strobes_q[127:0]}",
        "1'b0 ? {data_i, strobes_q[127:0]}",
        marks=pytest.mark.slow,
    ),
    ("request_issuer", "strobes & lanes", "strobes"),
    ("request_issuer", ".next_i(takes)", ".next_i(1'b0)"),
    ("order", "some_q[i] && same_q[i]", "1'b0"),
    ("order", "else if (some_q[Others])", "else if (1'b0)"),
    ("order", "if (some_q[list]) next", "next"),
    ("order", "oldest_q[i] == newest_q[i]", "1'b0"),
    ("order", "(ends_i && end_list_i == list && !more_o)", "1'b0"),
    ("write_lanes", "at_q | bytes_q", "4'd15"),
    ("write_lanes", ">= low_q", ">= at_q"),
    ("write_lanes", "(len_i << size_i) | bytes", "'1"),
    ("write_lanes", "moves = '0;", "moves = '1;"),
    ("request_issuer", "last_q <= left_q == 4'd1", "last_q <= left_q == 4'd2"),
    ("request_issuer", "answer_room_i && !error_valid_o", "answer_room_i"),
    ("request_issuer", "ar_room && answer_room_i &&", "ar_room &&"),
    ("request_issuer", "(drain_i || data_none_i) && issue_q", "data_none_i && issue_q"),
    ("request_issuer", "(drain_i || data_none_i) && issue_q", "drain_i && issue_q"),
    ("request_issuer", "data_valid_i && !drop_q && (issue_q", "data_valid_i && (issue_q"),
    ("request_issuer", "aw_room && same_memory && !drain_i", "aw_room && same_memory"),
    ("request_issuer", ".ready_i(aw_ready_i)", ".ready_i(aw_ready_i || drain_i)"),
    ("request_issuer", "!ar_valid_o && !aw_valid_o && !w_valid_o", "!ar_valid_o && !aw_valid_o"),
    ("axi_to_txn", "granted_q <= txn_valid_o && !txn_ready_i;", "granted_q <= 1'b0;"),
    ("axi_to_txn", "ar_valid_i && !w_valid_i ? SelAr", "ar_valid_i ? SelAr"),
    ("axi_to_txn", "w_link_q <= aw_link_i", "w_link_q <= ar_link_i"),
    ("axi_to_txn", "if (sel == SelW && w_i.last)", "if (sel == SelW)"),
    ("axi_to_txn", "(reads_next_q || !aw_valid_i)", "!aw_valid_i"),
    ("axi_to_txn", "rsp_i.tid == TidRd ? r_ready_i : b_ready_i", "r_ready_i"),
    ("axi_to_txn", "sel == SelAr && txn_ready_i", "txn_ready_i"),
    ("txn_to_axi", "(b_held_q || !r_valid_i)", "1'b1"),
    ("txn_to_axi", "!burst_q && b_valid_i", "b_valid_i"),
    ("txn_to_axi", "(select_b || (r_valid_i && r_ready_o && r_i.last))", "select_b"),
    ("txn_to_axi", "!select_b && rsp_ready_i", "rsp_ready_i"),
    ("txn_to_axi", "txn_ready_o = ar_ready_i", "txn_ready_o = aw_ready_i"),
    ("axi_gate Rename=0", "ar_place_i.mapped && ar_place_i.allowed", "ar_place_i.mapped"),
    ("axi_gate Rename=0", "aw_place_i.mapped && aw_place_i.allowed", "aw_place_i.allowed"),
    ("axi_gate Rename=0", "ar_place_i.mapped ? RespSlverr : RespDecerr", "RespSlverr"),
    ("axi_gate Rename=0", "last: fail_left_q == '0}", "last: 1'b1}"),
    ("axi_gate Rename=0", "!ar_good && !fails_q && reads_q == '0", "!ar_good && !fails_q"),
    ("axi_gate Rename=0", "(reads_q == '0 || ar_place_i.to == m_ar_to_o) &&", ""),
    ("axi_gate Rename=0", "&& (!m_ar_valid_o || m_ar_ready_i);", ";"),
    pytest.param(
        "axi_gate Rename=0", "!refuses_q && writes_q == '0", "writes_q == '0", marks=pytest.mark.slow
    ),
    ("axi_gate Rename=0", "s_w_valid_i && data_q && !drops_q", "s_w_valid_i && data_q"),
    ("axi_gate Rename=0", "aw_good && !data_q && !writes_q", "aw_good && !writes_q"),
    ("axi_gate Rename=0", "else if (s_b_ready_i) refuses_q", "else refuses_q"),
    pytest.param(
        "axi_gate Rename=1",
        "!fails_q && !reads_q[CountWidth-1] &&",
        "!fails_q &&",
        marks=pytest.mark.slow,
    ),
    ("axi_gate Rename=1", ".ready_i(r_ends)", ".ready_i(m_r_valid_i)"),
    ("axi_gate Rename=1", "if (Rename) m_aw_o.id <= Id;", ""),
    ("axi_gate Rename=1", ".data_i(aw_q.id)", ".data_i(s_aw_i.id)"),
]


@pytest.mark.representative
@pytest.mark.parametrize(("module", "right", "wrong"), list(in_turn(WRONG_VERSIONS)))
def test_of_a_wrong_module_a_run_is_found_that_breaks_a_promise(tmp_path, module, right, wrong):
    module, *parameters = module.split()
    text = build.module(ROOT, module).read_text()
    assert text.count(right) == 1
    broken = tmp_path / f"{module}.sv"
    broken.write_text(text.replace(right, wrong))
    result = proof(broken, module, tmp_path, *parameters, "--refute")
    assert result.returncode != 0
    assert "model found for base case: FAIL" in result.stdout, result.stdout[-2000:] + result.stderr[-2000:]
