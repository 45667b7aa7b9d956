# SPDX-License-Identifier: Apache-2.0
"""Each kernel of examples/automotive against a reference of NumPy or SciPy, over runs of jobs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import fft, interpolate, signal

JOBS = 25
EPS = np.finfo(np.float32).eps


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20261121)


def record(*fields: tuple) -> np.dtype:
    return np.dtype(list(fields), align=True)


def f32(*shape: int) -> tuple:
    return (np.float32, shape)


def clipped_interpolation(axes, table, points):
    """Linear in each direction, held at the ends of the axes."""
    grid = interpolate.RegularGridInterpolator(axes, table)
    return grid(tuple(np.clip(p, axis[0], axis[-1]) for axis, p in zip(axes, points, strict=True)))


def test_tblook(kernel, rng):
    k = kernel("tblook")
    c = k.constants(record(("speed", *f32(48)), ("load", *f32(40)), ("map", *f32(48, 40))))
    jobs = np.zeros(JOBS, record(("speed", *f32(120)), ("load", *f32(120))))
    # A tenth lies outside the map, some exactly on the axes.
    jobs["speed"] = rng.uniform(200, 7600, (JOBS, 120))
    jobs["load"] = rng.uniform(-8, 108, (JOBS, 120))
    jobs["speed"][:, :48], jobs["load"][:, :40] = c["speed"], c["load"]
    out = k.run(jobs, record(("value", *f32(120))))["value"]
    axes = (c["speed"].astype(float), c["load"].astype(float))
    expected = clipped_interpolation(axes, c["map"].astype(float), (jobs["speed"], jobs["load"]))
    np.testing.assert_allclose(out, expected, atol=40 * 8 * EPS)
    assert np.ptp(expected) > 20


def test_matrix(kernel, rng):
    n = 14
    jobs = np.zeros(JOBS, record(("a", np.float64, (n, n)), ("b", np.float64, n)))
    jobs["a"] = rng.normal(size=(JOBS, n, n))
    jobs["b"] = rng.normal(size=(JOBS, n))
    jobs["a"][0] = np.eye(n)[rng.permutation(n)]  # only pivoting finds a way
    jobs["a"][1, :, 3] = 0  # singular
    dtype = record(("x", np.float64, n), ("determinant", np.float64), ("inverse", np.float64, (n, n)))
    out = kernel("matrix").run(jobs, dtype)
    assert out["determinant"][1] == 0 and not out["x"][1].any() and not out["inverse"][1].any()
    good = np.arange(JOBS) != 1
    a, b = jobs["a"][good], jobs["b"][good]
    np.testing.assert_allclose(out["determinant"][good], np.linalg.det(a), rtol=1e-10)
    np.testing.assert_allclose(
        out["x"][good], np.linalg.solve(a, b[..., None])[..., 0], rtol=1e-7, atol=1e-10
    )
    np.testing.assert_allclose(out["inverse"][good], np.linalg.inv(a), rtol=1e-7, atol=1e-9)


def test_a2time(kernel, rng):
    teeth = 58
    jobs = np.zeros(JOBS, record(("stamp", np.uint32, teeth + 1), ("target", *f32(64))))
    gaps = np.empty(JOBS, int)
    turns = np.empty(JOBS)
    for j in range(JOBS):
        interval = rng.integers(8_000, 60_000)
        steps = interval + rng.integers(-50, 50, teeth)
        gaps[j] = rng.integers(teeth)
        steps[gaps[j]] += 2 * interval
        # The timer wraps within every other turn.
        start = rng.integers(2**31) if j % 2 else 2**32 - steps.sum() // 2
        jobs["stamp"][j] = (start + np.concatenate(([0], np.cumsum(steps)))) % 2**32
        turns[j] = steps.sum()
        jobs["target"][j] = rng.uniform(0, 720, 64)
    assert (jobs["stamp"][:, -1] < jobs["stamp"][:, 0]).any()
    out = kernel("a2time").run(
        jobs, record(("gap", np.uint32), ("speed", np.float32), ("time", np.uint32, 64))
    )
    np.testing.assert_array_equal(out["gap"], gaps + 1)
    speed = 60 * 4.0e6 / turns
    # An exponential filter that starts at its first value.
    filtered, _ = signal.lfilter([0.25], [1, -0.75], speed, zi=[0.75 * speed[0]])
    np.testing.assert_allclose(out["speed"], filtered, rtol=20 * EPS)
    reference = jobs["stamp"][np.arange(JOBS), gaps + 1].astype(float)
    ahead = np.floor(jobs["target"].astype(float) * (turns / 360)[:, None] + 0.5)
    np.testing.assert_array_equal(out["time"], (reference[:, None] + ahead) % 2**32)


def test_pntrch(kernel, rng):
    k = kernel("pntrch")
    nodes = k.constants(record(("node", record(("next", np.uint32), ("token", np.uint32)), 600)))["node"]
    order = [0]
    while nodes["next"][order[-1]] != 0xFFFFFFFF:
        order.append(int(nodes["next"][order[-1]]))
    assert sorted(order) == list(range(600)), "every node once"
    assert np.abs(np.diff(order)).min() > 100, "no two neighbours in memory follow each other"
    jobs = np.zeros(JOBS, record(("token", np.uint32, 16)))
    jobs["token"] = nodes["token"][rng.integers(600, size=(JOBS, 16))]
    jobs["token"][:, 5] = 1
    jobs["token"][0, :2] = nodes["token"][[order[0], order[-1]]]
    out = k.run(jobs, record(("steps", np.uint32, 16)))["steps"]
    place = {int(nodes["token"][at]): steps for steps, at in enumerate(order)}
    expected = [[place.get(int(t), 0xFFFFFFFF) for t in row] for row in jobs["token"]]
    np.testing.assert_array_equal(out, expected)


def test_ttsprk(kernel, rng):
    k = kernel("ttsprk")
    c = k.constants(
        record(
            ("speed", *f32(40)),
            ("load", *f32(40)),
            ("advance", *f32(40, 40)),
            ("dwell_voltage", *f32(8)),
            ("dwell", *f32(8)),
            ("offset", *f32(8)),
            ("least", np.float32),
            ("most", np.float32),
        )
    )
    inputs = record(
        ("tooth_ticks", np.float32),
        ("load", np.float32),
        ("battery", np.float32),
        ("coolant", np.float32),
        ("knock", np.uint32),
    )
    jobs = np.zeros(200, inputs)
    jobs["tooth_ticks"] = rng.uniform(400, 9000, 200)
    jobs["load"] = rng.uniform(-5, 105, 200)
    jobs["battery"] = rng.uniform(5, 18, 200)
    jobs["coolant"] = rng.uniform(-30, 110, 200)
    jobs["knock"] = rng.integers(256, size=200) & rng.integers(256, size=200)
    out = k.run(jobs, record(("speed", np.float32), ("spark", *f32(8)), ("charge", *f32(8))))
    per_degree = jobs["tooth_ticks"].astype(float) / 6
    speed = 4.0e6 * 60 / (per_degree * 360)
    axes = (c["speed"].astype(float), c["load"].astype(float))
    base = clipped_interpolation(axes, c["advance"].astype(float), (speed, jobs["load"]))
    base = base + np.clip((60 - jobs["coolant"]) / 10, 0, 6)
    dwell = np.interp(jobs["battery"], c["dwell_voltage"], c["dwell"]) * 4.0e6
    retard = np.zeros(8)
    reached = set()
    for j in range(200):
        knocked = (int(jobs["knock"][j]) >> np.arange(8)) & 1
        retard = np.clip(np.where(knocked, retard + 2, retard - 0.05), 0, 12)
        advance = np.clip(base[j] - retard, c["least"], c["most"])
        reached |= set(retard[(retard == 0) | (retard == 12)])
        spark = (c["offset"] - advance) * per_degree[j]
        np.testing.assert_allclose(out["spark"][j], spark, rtol=1e-5, atol=0.3)
        np.testing.assert_allclose(out["charge"][j], spark - dwell[j], rtol=1e-5, atol=0.5)
    np.testing.assert_allclose(out["speed"], speed, rtol=8 * EPS)
    assert reached == {0.0, 12.0}


def test_iirflt(kernel, rng):
    k = kernel("iirflt")
    c = k.constants(record(("b", *f32(4, 3)), ("a", *f32(4, 2))))
    sos = signal.butter(8, 0.2, output="sos")
    np.testing.assert_allclose(np.hstack([c["b"], np.ones((4, 1)), c["a"]]), sos, rtol=4 * EPS)
    jobs = np.zeros(JOBS, record(("x", *f32(100))))
    jobs["x"] = rng.normal(size=(JOBS, 100))
    out = k.run(jobs, record(("y", *f32(100))))["y"]
    expected = signal.sosfilt(sos, jobs["x"].astype(float).ravel()).reshape(JOBS, 100)
    np.testing.assert_allclose(out, expected, atol=2e-5)
    assert np.abs(expected).max() > 0.5


def test_canrdr(kernel, rng):
    k = kernel("canrdr")
    c = k.constants(record(("id", np.uint32, 128), ("mask", np.uint32, 128), ("length", np.uint8, 128)))
    frame = np.dtype(
        [("id", "<u4"), ("remote", "u1"), ("length", "u1"), ("data", "u1", 8), ("spare", "u1", 2)]
    )
    jobs = np.zeros(JOBS, record(("count", np.uint32), ("frame", frame, 256)))
    shape = (JOBS, 256)
    jobs["count"] = rng.integers(0, 300, JOBS)  # some say more than there is room for
    f = jobs["frame"]
    known = c["id"][rng.integers(128, size=shape)] | rng.integers(4, size=shape).astype(np.uint32)
    f["id"] = np.where(rng.random(shape) < 0.9, known, rng.integers(2**29, size=shape))
    f["remote"] = rng.random(shape) < 0.5
    f["length"] = np.where(rng.random(shape) < 0.95, rng.integers(9, size=shape), 200)
    f["data"] = rng.integers(256, size=(*shape, 8))
    counts = [(name, np.uint32) for name in ("answered", "updated", "ignored")]
    out = k.run(jobs, record(*counts, ("answer", frame, 256)))
    store = np.zeros((128, 8), np.uint8)
    total = np.zeros(3, int)
    for j in range(JOBS):
        answers, updated, ignored = [], 0, 0
        for one in f[j, : min(int(jobs["count"][j]), 256)]:
            owners = np.flatnonzero((one["id"] & c["mask"]) == c["id"])
            if one["length"] > 8 or not owners.size:
                ignored += 1
            elif one["remote"]:
                data = np.where(np.arange(8) < c["length"][owners[0]], store[owners[0]], 0)
                answers.append((one["id"], 0, c["length"][owners[0]], data, (0, 0)))
            else:
                store[owners[0], : one["length"]] = one["data"][: one["length"]]
                updated += 1
        assert [out[n][j] for n in ("answered", "updated", "ignored")] == [len(answers), updated, ignored]
        np.testing.assert_array_equal(out["answer"][j, : len(answers)], np.array(answers, frame))
        assert not out["answer"][j, len(answers) :].view(np.uint8).any()
        total += [len(answers), updated, ignored]
    assert (total > 100).all()


def test_bitmnp(kernel, rng):
    k = kernel("bitmnp")
    glyph = k.constants(record(("glyph", np.uint8, (64, 8))))["glyph"]
    jobs = np.zeros(JOBS, record(("text", np.uint8, 16), ("shift", np.uint32)))
    jobs["text"] = rng.integers(256, size=(JOBS, 16))
    jobs["shift"] = rng.integers(2**32, size=JOBS)
    jobs["shift"][:3] = 0, 8, 127
    line = ("line", np.uint8, (8, 16))
    out = k.run(jobs, record(line, ("mirrored", np.uint8, (8, 16)), ("dots", np.uint32)))
    for j in range(JOBS):
        dots = np.unpackbits(glyph[jobs["text"][j] % 64].T, axis=1)  # rows x 128
        dots = np.roll(dots, -(int(jobs["shift"][j]) % 128), axis=1)
        np.testing.assert_array_equal(out["line"][j], np.packbits(dots, axis=1))
        np.testing.assert_array_equal(out["mirrored"][j], np.packbits(dots[:, ::-1], axis=1))
        assert out["dots"][j] == dots.sum()


def test_rspeed(kernel, rng):
    inputs = record(("now", np.uint32), ("count", np.uint32, 4), ("stamp", np.uint32, (4, 800)))
    jobs = np.zeros(JOBS, inputs)
    # The timer wraps during the run; wheel 3 stands still for a while.
    time = 2**32 - 10_000_000
    last = np.full(4, time)
    stamps: list[list[np.ndarray]] = []
    for j in range(JOBS):
        end = time + 1_000_000
        row = []
        for w in range(4):
            speed = 3.0 + 2 * w + 0.2 * j
            steps = np.maximum(1, (0.0208e6 / speed * rng.uniform(0.8, 1.2, 790)).astype(np.int64))
            at = last[w] + np.cumsum(steps)
            at = at[at < end] if not (w == 3 and 5 < j < 9) else at[:0]
            row.append(at)
            last[w] = at[-1] if at.size else (end - 1 if w == 3 and j == 8 else last[w])
            jobs["count"][j, w] = at.size
            jobs["stamp"][j, w, : at.size] = at % 2**32
        stamps.append(row)
        time = end
        jobs["now"][j] = time % 2**32
    out = kernel("rspeed").run(jobs, record(("wheel", *f32(4)), ("vehicle", np.float32), ("way", np.float32)))
    speed, before, seen = np.zeros(4), [None] * 4, np.zeros(4, int)
    time = 2**32 - 10_000_000
    for j in range(JOBS):
        time += 1_000_000
        for w in range(4):
            at = stamps[j][w]
            if at.size:
                intervals = np.diff(at if before[w] is None else np.concatenate(([before[w]], at)))
                raw = 0.0208 * 1e6 / intervals
                filtered, _ = signal.lfilter([0.125], [1, -0.875], raw, zi=[0.875 * speed[w]])
                speed[w], before[w] = filtered[-1], at[-1]
                seen[w] += at.size
            if before[w] is None or time - before[w] > 500_000:
                speed[w] = 0
        np.testing.assert_allclose(out["wheel"][j], speed, rtol=1e-4)
        assert out["vehicle"][j] == pytest.approx(np.median(speed), rel=1e-4)
        assert out["way"][j] == pytest.approx(seen.sum() * 0.0208 / 4, rel=1e-5)
    assert out["wheel"][7, 3] == 0 and out["wheel"][12, 3] > 0


def test_puwm(kernel, rng):
    inputs = record(("period", np.uint32), ("dead", np.uint32), ("duty", np.uint16, (20, 6)))
    jobs = np.zeros(JOBS, inputs)
    jobs["period"], jobs["dead"] = 8_000, 100
    jobs["duty"] = rng.integers(2**16, size=(JOBS, 20, 6))
    jobs["duty"][:, 0, :3] = 0, 500, 65535
    names = ("upper_on", "upper_off", "lower_off", "lower_on")
    edges = record(*((n, np.uint32) for n in names))
    out = kernel("puwm").run(jobs, record(("edge", edges, (20, 6))))["edge"]
    start = (np.arange(JOBS * 20) * 8_000).reshape(JOBS, 20, 1)
    width = 8_000 * jobs["duty"].astype(np.int64) // 65536
    off, on = width <= 100, width + 200 >= 8_000
    begin = start + (8_000 - width) // 2
    middle = ~off & ~on
    for name, normal, full in zip(
        names,
        (begin + 100, begin + width, begin, begin + width + 100),
        (start + 0 * width, start + 8_000 + 0 * width, 0 * width, 0 * width),
        strict=True,
    ):
        np.testing.assert_array_equal(out[name], np.where(middle, normal, np.where(on, full, 0)) % 2**32)
    assert off.any() and on.any() and middle.any()
    inside = {n: out[n][middle].astype(np.int64) for n in names}
    assert (inside["upper_on"] - inside["lower_off"] == 100).all(), "never both switches on"
    assert (inside["lower_on"] - inside["upper_off"] == 100).all()


def test_aifirf(kernel, rng):
    unknown = signal.firwin(64, 0.3)
    jobs = np.zeros(60, record(("x", *f32(64)), ("wanted", *f32(64)), ("rate", np.float32)))
    x = rng.normal(size=60 * 64).astype(np.float32)
    jobs["x"] = x.reshape(60, 64)
    jobs["wanted"] = signal.lfilter(unknown, 1, x.astype(float)).reshape(60, 64)
    jobs["rate"] = 0.01
    out = kernel("aifirf").run(jobs, record(("y", *f32(64)), ("error", *f32(64))))
    weight, line = np.zeros(64), np.zeros(64)
    y = np.empty(60 * 64)
    for i, (sample, wanted) in enumerate(
        zip(x.astype(float), jobs["wanted"].ravel().astype(float), strict=True)
    ):
        line = np.concatenate(([sample], line[:-1]))
        y[i] = weight @ line
        weight += float(np.float32(0.01)) * (wanted - y[i]) * line
    np.testing.assert_allclose(out["y"].ravel(), y, atol=1e-5)
    np.testing.assert_allclose(out["error"], jobs["wanted"] - out["y"], atol=1e-6)
    assert np.abs(out["error"][-1]).max() < 0.01 < np.abs(out["error"][0]).max(), "it has learnt"


COMPLEX = np.complex64


def test_aifftr(kernel, rng):
    k = kernel("aifftr")
    jobs = np.zeros(JOBS, record(("x", *f32(512))))
    jobs["x"] = rng.normal(size=(JOBS, 512))
    jobs["x"][0] = np.cos(2 * np.pi * 37 * np.arange(512) / 512)
    out = k.run(jobs, record(("x", COMPLEX, 512)))["x"]
    np.testing.assert_allclose(out, np.fft.fft(jobs["x"].astype(float)), atol=512 * 4 * EPS)
    assert set(np.flatnonzero(np.abs(out[0]) > 1)) == {37, 512 - 37}


def test_aiifft(kernel, rng):
    jobs = np.zeros(JOBS, record(("x", COMPLEX, 512)))
    jobs["x"] = rng.normal(size=(JOBS, 512)) + 1j * rng.normal(size=(JOBS, 512))
    out = kernel("aiifft").run(jobs, record(("x", COMPLEX, 512)))["x"]
    np.testing.assert_allclose(out, np.fft.ifft(jobs["x"].astype(complex)), atol=4 * EPS)


def test_idct(kernel, rng):
    jobs = np.zeros(JOBS, record(("coefficient", *f32(8, 8))))
    jobs["coefficient"] = rng.integers(-1024, 1024, (JOBS, 8, 8))
    jobs["coefficient"][0] = 0
    jobs["coefficient"][0, 0, 0] = 800
    out = kernel("idct").run(jobs, record(("element", *f32(8, 8))))["element"]
    expected = fft.idctn(jobs["coefficient"].astype(float), axes=(1, 2), norm="ortho")
    np.testing.assert_allclose(out, expected, atol=8192 * 4 * EPS)
    np.testing.assert_allclose(out[0], 100, rtol=8 * EPS)
