# SPDX-License-Identifier: Apache-2.0
"""The blocks in the compact packetization: nothing is lost over a bad link, faults end as they must."""

from __future__ import annotations

import pytest
from bounds_of_faults import DECERR, SLVERR, ended_in_time, refused_at_once
from consort_remote import run
from consort_remote_bench import remap_campaign
from consort_remote_bench.remap_campaign import MENDED


@pytest.mark.representative
@pytest.mark.parametrize(
    ("load", "minimum"),
    [
        # Every kind of error has to have happened, or the test says nothing.
        (run.Soak(beats=100_000, seed=1), 0),
        (run.Soak(beats=250_000, bit_error_rate=1e-6, seed=2), 10),
        (run.Soak(beats=250_000, bit_error_rate=1e-5, span=20, pause_percent=20, seed=3), 200),
        (run.Soak(beats=250_000, bit_error_rate=1e-4, seed=4), 2000),
        (run.Soak(beats=250_000, drop=2e-3, repeat=2e-3, pause_percent=40, seed=5), 500),
        (run.Soak(beats=250_000, bit_error_rate=2e-5, span=60, drop=5e-4, repeat=5e-4, seed=6), 800),
        pytest.param(
            run.Soak(
                beats=300_000, bit_error_rate=2e-5, drop=1e-4, repeat=1e-4, pause_percent=10, seed=7, shape=2
            ),
            500,
            marks=pytest.mark.slow,
        ),
        # On a PHY of half a beat each lost word shifts all after it.
        pytest.param(run.Soak(beats=100_000, seed=8, phy_width=64), 0, marks=pytest.mark.slow),
        pytest.param(
            run.Soak(beats=250_000, bit_error_rate=2e-5, span=60, seed=9, phy_width=64),
            500,
            marks=pytest.mark.slow,
        ),
        pytest.param(
            run.Soak(beats=250_000, drop=2e-3, repeat=2e-3, pause_percent=40, seed=10, phy_width=64),
            1000,
            marks=pytest.mark.slow,
        ),
    ],
)
def test_random_traffic_over_a_link_with_errors(load, minimum):
    result = run.soak(load)
    assert result["beats"] >= load.beats
    assert result["corrupted"] >= minimum
    assert result["downs"] == 0
    assert all(count > 20 for count in result["covered"].values()), result["covered"]


@pytest.mark.slow
@pytest.mark.parametrize("rate", [1e-4, 1e-5, 1e-6])
@pytest.mark.parametrize("kind", ["single", "bursts", "dropped and repeated"])
def test_a_hundred_million_beats(rate, kind):
    drop = {"dropped and repeated": rate * 50}.get(kind, 0)
    span = 40 if kind == "bursts" else 0
    load = run.Soak(
        beats=11_200_000,
        bit_error_rate=rate,
        span=span,
        drop=drop,
        repeat=drop,
        seed=int(1e6 * rate) + len(kind),
    )
    assert run.soak(load)["beats"] >= 11_200_000


@pytest.mark.slow
@pytest.mark.parametrize("phy_width", [64, 256])
@pytest.mark.parametrize("kind", ["single", "bursts", "dropped and repeated"])
def test_the_other_widths_of_the_phy_for_long(phy_width, kind):
    drop = 1e-3 if kind == "dropped and repeated" else 0
    load = run.Soak(
        beats=5_600_000,
        bit_error_rate=1e-5,
        span=40 if kind == "bursts" else 0,
        drop=drop,
        repeat=drop,
        pause_percent=10,
        seed=phy_width + len(kind),
        phy_width=phy_width,
    )
    result = run.soak(load)
    assert result["beats"] >= load.beats
    assert result["corrupted"] > 3000
    assert result["downs"] == 0


@pytest.mark.slow
@pytest.mark.parametrize(("addresses", "ids"), [(44, 12), (36, 10)])
def test_other_widths_of_addresses_and_ids(addresses, ids):
    load = run.Soak(
        beats=1_000_000,
        bit_error_rate=1e-5,
        drop=1e-4,
        repeat=1e-4,
        pause_percent=10,
        seed=addresses,
        addresses=addresses,
        ids=ids,
    )
    result = run.soak(load)
    assert result["corrupted"] > 800
    assert all(count > 100 for count in result["covered"].values()), result["covered"]


@pytest.mark.slow
def test_windows_of_228_gb_in_longer_requests():
    # 38 bits: the 228 GB that a port of the paper reaches, with pages from the window's first to its last.
    load = run.Soak(
        beats=1_000_000,
        bit_error_rate=1e-5,
        drop=1e-4,
        repeat=1e-4,
        pause_percent=10,
        seed=39,
        offsets=38,
    )
    result = run.soak(load)
    assert result["corrupted"] > 800
    assert result["downs"] == 0
    assert all(count > 100 for count in result["covered"].values()), result["covered"]


@pytest.mark.slow
@pytest.mark.parametrize("pause", [0, 30])
def test_three_cblocks_and_two_mblocks(pause):
    load = run.Soak(
        beats=1_000_000, bit_error_rate=1e-5, drop=1e-4, repeat=1e-4, pause_percent=pause, seed=50 + pause
    )
    result = run.figure4(load)
    assert result["beats"] >= load.beats
    assert result["corrupted"] > 1000
    assert result["downs"] == 0
    assert all(count > 100 for count in result["covered"].values()), result["covered"]


@pytest.mark.slow
@pytest.mark.parametrize("pause", [0, 10, 40])
def test_four_ports_links_and_memories(pause):
    load = run.Soak(
        beats=1_500_000,
        bit_error_rate=1e-5,
        drop=1e-4,
        repeat=1e-4,
        pause_percent=pause,
        seed=40 + pause,
        shape=4,
    )
    result = run.soak(load)
    assert result["corrupted"] > 1500
    assert result["downs"] == 0
    assert all(count > 100 for count in result["covered"].values()), result["covered"]


@pytest.mark.slow
def test_of_four_links_one_is_cut():
    cut = run.faults(shape=4)["cut"]
    ended_in_time(cut, errors=20)
    assert cut["errors"] < cut["outstanding"]


@pytest.fixture(
    scope="module",
    params=[pytest.param(w, marks=pytest.mark.representative if w == "cdc" else ()) for w in run.WIRES],
)
def campaign(request):
    return run.campaign(1, wire=request.param, faults=2) | {"wire": request.param}


def test_a_round_of_a_campaign_has_every_kind_of_fault(campaign):
    assert campaign["rounds"] == 1 and campaign["transactions"] > 3000
    for mode, counts in campaign["modes"].items():
        assert counts["transactions"] > 100, mode
        assert (counts["faults"] > 0) == (mode != "none"), mode
        # A fault that the link mends ends no access with an error; others end some.
        assert (counts["errors"] == 0) == (mode in MENDED), mode
    # PHYs that pause have kept words and given them without gaps.
    assert (campaign["kept"] > 1000) == (campaign["wire"] != "plain")


def test_a_campaign_that_was_ended_goes_on_where_it_was(monkeypatch, tmp_path):
    ran = []
    monkeypatch.setattr(remap_campaign, "campaign", lambda *of: ran.append(of) or {"transactions": 1})
    for seed in (1, 1, 2, 1):
        assert remap_campaign.counted(1, seed, "plain", tmp_path) == {"transactions": 1, "wire": "plain"}
    assert ran == [(1, 1, "plain"), (1, 2, "plain")]
    # Other sources are another simulation.
    other = tmp_path / "rtl" / "other" / "simulation"
    monkeypatch.setattr(remap_campaign, "campaign_program", lambda: other)
    remap_campaign.counted(1, 1, "plain", tmp_path)
    assert ran[2:] == [(1, 1, "plain")]


def test_a_campaign_counts_what_crossed_the_link(campaign):
    assert campaign["transactions"] < campaign["beats"] < 2 * campaign["cycles"]


@pytest.mark.slow
@pytest.mark.parametrize("wire", run.WIRES)
def test_a_campaign_over_all_faults_loses_nothing(wire):
    # Ten million: consort bench remap-campaign.
    assert run.campaign(100_000, seed=77, wire=wire)["transactions"] >= 100_000


def test_memories_take_address_and_data_in_any_order():
    # The harness fails if an access is stuck or wrong.
    counts = run.orders(1)
    assert len(counts) == 8 and all(count > 300 for count in counts.values()), counts


def test_a_new_session_gets_nothing_that_a_memory_owed_to_the_old_one():
    result = run.owed(1)
    assert result["kept"] > 60 and result["errors"] > 100
    assert result["transactions"] > 3000


@pytest.fixture(scope="module")
def faults():
    return run.faults()


@pytest.mark.parametrize("what", ["read", "write"])
def test_what_is_not_mapped_is_decerr_within_8_cycles_and_never_on_the_link(faults, what):
    refused_at_once(faults[f"{what}_unmapped"], DECERR)


@pytest.mark.parametrize("what", ["read", "write"])
def test_what_is_forbidden_is_slverr_within_8_cycles_and_never_on_the_link(faults, what):
    refused_at_once(faults[f"{what}_forbidden"], SLVERR)


@pytest.mark.representative
@pytest.mark.parametrize("what", ["read", "write"])
def test_a_detached_segment_is_not_reached_by_a_late_request(faults, what):
    # The harness itself fails if the memory saw a transaction.
    assert faults[f"{what}_detached"]["resp"] == SLVERR


@pytest.mark.representative
def test_on_a_cut_link_everything_outstanding_ends_in_time(faults):
    cut = faults["cut"]
    assert cut["outstanding"] > 100
    ended_in_time(cut, errors=50)
    assert cut["down_after"] / 2 < cut["longest"]


@pytest.mark.representative
@pytest.mark.slow
def test_of_two_links_one_is_cut():
    # The harness fails if anything is stuck or wrong afterwards.
    cut = run.faults(shape=2)["cut"]
    ended_in_time(cut, errors=50)
    assert cut["errors"] < cut["outstanding"]


@pytest.fixture(scope="module")
def beats():
    return run.compact_beats()


def on_the_wire(rows):
    return {
        (row["burst"], row["what"]): (row["request_beats"], row["response_beats"])
        for row in rows
        if row["load"] == "idle"
    }


@pytest.mark.slow
def test_a_phy_of_64_bits_carries_as_many_bits(beats):
    half, whole = on_the_wire(run.compact_beats(64)), on_the_wire(beats)
    assert len(half) == len(whole) == 18
    for access, directions in half.items():
        if access[0] < 256:
            assert directions == whole[access], access
        else:
            # Takes so long that what came before it is acknowledged alone.
            assert sum(whole[access]) < sum(directions) <= 1.005 * sum(whole[access]), access


@pytest.mark.slow
def test_a_phy_of_256_bits_carries_whole_words(beats):
    double = on_the_wire(run.compact_beats(256))
    count = next(row["count"] for row in beats if row["load"] == "idle")
    for access, directions in on_the_wire(beats).items():
        for narrow, wide in zip(directions, double[access], strict=True):
            assert wide % 2 == 0
            # Each of an access' frames is filled up to whole words, at the most.
            assert narrow <= wide <= narrow + count * -(-access[0] // 16), access


def test_single_accesses_take_the_beats_of_the_frame_format(beats):
    for row in beats:
        if row["load"] != "idle":
            continue
        burst = row["burst"]
        parts = -(-burst // (16 if row["what"] == "writes" else 18))
        assert (row["request_beats"] + row["response_beats"]) / row["count"] == burst + parts + 1, row


def test_a_cache_line_read_adds_at_most_28_cycles(beats):
    (row,) = (r for r in beats if (r["load"], r["what"], r["burst"]) == ("latency", "reads", 4))
    assert 0 < row["cycles"] - row["memory_cycles"] <= 28


def test_a_stream_of_cache_line_reads_fills_the_data_direction(beats):
    (row,) = (r for r in beats if (r["load"], r.get("what"), r["burst"]) == ("backlog", "reads", 4))
    assert 0.85 <= 4 * row["reads"] / (row["cycles"] * row["rate"]) <= 0.89


def test_what_is_offered_comes_through_up_to_what_the_blocks_carry():
    """Of reads of 64 bytes that is 8/9 of the wire, of writes 4/5: each has a frame of its own."""
    rates = {(row["what"], row["offered"]): row for row in run.offered(4)}
    assert len(rates) == 20
    for offered in (0.1, 0.4, 0.5, 0.6, 0.7, 0.8):
        assert rates["writes", offered]["taken"] == pytest.approx(offered, abs=0.002)
    # All of the wire, beat by beat.
    assert rates["writes", 1.0]["taken"] >= 0.8
    assert rates["writes", 1.0]["payload"] >= 0.8
    for offered in (0.1, 0.4, 0.8):
        assert rates["reads", offered]["taken"] == pytest.approx(offered, abs=0.002)
    assert rates["reads", 1.0]["payload"] > 0.88
    assert all(row["payload"] <= 8 / 9 + 0.001 for row in rates.values())
