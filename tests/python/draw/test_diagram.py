# SPDX-License-Identifier: Apache-2.0
"""`consort show`: everything that a description says is in the picture, and nothing covers anything else."""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from consort.cli import main
from consort.model import Duration, Frequency, System, load_platform, load_system, system_from_data
from consort.report.draw import draw_platform, draw_system
from consort.report.draw.layout import spread
from consort.report.draw.svg import Box, about, plain, shortened, width_of
from effort import PATIENCE, examples
from hypothesis import given, settings
from hypothesis import strategies as st

ROOT = Path(__file__).parents[3]
VEHICLE = ROOT / "examples" / "vehicle" / "system.yaml"
VERSAL = ROOT / "platforms" / "versal.yaml"
MODEL = ROOT / "tests" / "python" / "model"
FILES = [
    VEHICLE,
    ROOT / "examples" / "servo" / "system.yaml",
    MODEL / "design.yaml",
    *sorted((MODEL / "data").glob("*.yaml")),
]
IDS = [file.parent.name if file.stem == "system" else file.stem for file in FILES]
SVG = "{http://www.w3.org/2000/svg}"


def parsed(text: str) -> ET.Element:
    root = ET.fromstring(text)
    assert root.tag == f"{SVG}svg"
    return root


def boxes(root: ET.Element, *kinds: str) -> dict[tuple[str, str, int], Box]:
    """The boxes of some kinds by kind, name and a count, for devices that are drawn twice."""
    found: dict[tuple[str, str, int], Box] = {}
    for shape in root.iter(f"{SVG}rect"):
        kind, name = shape.get("class", ""), shape.get("data-name", "")
        if kind in kinds:
            again = sum(key[:2] == (kind, name) for key in found)
            sides = [float(shape.get(side, "0")) for side in ("x", "y", "width", "height")]
            found[kind, name, again] = Box(*sides)
    return found


def names(root: ET.Element, kind: str) -> list[str]:
    return [name for _, name, _ in boxes(root, kind)]


def lines(root: ET.Element, kind: str) -> list[str]:
    return [path.get("data-name", "") for path in root.iter(f"{SVG}path") if path.get("class") == kind]


def words(root: ET.Element) -> str:
    return "\n".join("".join(text.itertext()) for text in root.iter(f"{SVG}text"))


def check(root: ET.Element) -> None:
    """Boxes lie apart or inside one another as they should, and all lies on the page."""
    apart = [boxes(root, "processor", "channel", "device", "memory", "dma")]
    apart += [boxes(root, "core"), boxes(root, "task", "stub")]
    for group in apart:
        for (a, box), (b, other) in itertools.combinations(group.items(), 2):
            assert not box.overlaps(other), (a, b)
    _, _, width, height = (float(part) for part in root.get("viewBox", "").split())
    page = Box(0, 0, width, height)
    for group in apart:
        for key, box in group.items():
            assert box.x >= 0 and box.right <= page.right and box.y >= 0 and box.bottom <= page.bottom, key
    for (_, _, _), box in boxes(root, "task", "stub").items():
        inside = [b for b in boxes(root, "core").values() if b.overlaps(box)]
        assert len(inside) == 1
        assert inside[0].x < box.x and box.right < inside[0].right and box.bottom <= inside[0].bottom
    for text in root.iter(f"{SVG}text"):
        x, size = float(text.get("x", "0")), float(text.get("font-size", "11"))
        if text.get("text-anchor", "start") == "start":
            assert x + 0.8 * width_of(text.text or "", size) <= width, text.text
    for path in root.iter(f"{SVG}path"):
        if path.get("class"):
            coordinates = [float(part) for part in re.findall(r"-?[0-9]+(?:\.[0-9]+)?", path.get("d", ""))]
            assert all(0 <= x <= width for x in coordinates[::2]), path.get("data-name")
            assert all(0 <= y <= height for y in coordinates[1::2]), path.get("data-name")


@pytest.mark.parametrize("file", FILES, ids=IDS)
def test_all_is_there_and_apart(file: Path) -> None:
    system = load_system(file)
    for mode in (None, *system.modes):
        shown = system if mode is None else system.in_mode(mode)
        root = parsed(draw_system(system, mode=mode))
        check(root)
        assert sorted(names(root, "task")) == sorted(shown.tasks)
        assert set(names(root, "core")) == set(shown.cores())
        masters = [name for name, task in shown.tasks.items() if task.master is not None]
        assert sorted(names(root, "stub")) == sorted(masters)
        free = [name for name in shown.channels if "." not in name]
        assert sorted(names(root, "channel")) == sorted(free + [f"{name}.in/.out" for name in masters])
        assert set(names(root, "memory")) == set(shown.platform_description.memories)
        assert set(names(root, "dma")) == set(shown.platform_description.dmas)
        # A line from the writer, and one to each reader.
        ends = [f"{name}:" for name in free] + [f"{n}:{r}" for n in free for r in shown.readers(n)]
        ends += [f"{name}.in/.out:{end}" for name in masters for end in ("", name)]
        assert sorted(lines(root, "line")) == sorted(ends)
        assert set(lines(root, "chain")) == {name for name, c in shown.chains.items() if len(c.path) > 1}
        for name, chain in shown.chains.items():
            assert {f"{name}:{task}" for task in chain.path} <= set(names(root, "dot"))


@pytest.mark.parametrize("file", sorted((ROOT / "platforms").glob("*.yaml")), ids=lambda file: file.stem)
def test_platforms(file: Path) -> None:
    platform = load_platform(file)
    root = parsed(draw_platform(platform))
    check(root)
    assert names(root, "processor") == list(platform.processors)
    if sum(group.count for group in platform.cores.values()) <= 16:
        assert sorted(names(root, "core")) == sorted(platform.core_names())
    drawn = lines(root, "link")
    assert all(name in drawn or name in words(root) for name in platform.links)


def test_cores_that_are_not_drawn_are_counted_where_they_are_cores(tmp_path: Path) -> None:
    host = ROOT / "platforms" / "linux-host.yaml"
    assert "more: 64 of 80 cores" in words(parsed(draw_platform(load_platform(host))))
    # Of this machine's names to choose from, no reader of a system wants to know how many there are.
    tasks = {"t": {"period": "1ms", "on": "worker-0"}}
    data = {"consort": 1, "platform": "linux-host", "tasks": tasks}
    assert "cores" not in words(parsed(draw_system(system_from_data(data))))
    many = tmp_path / "linux-host.yaml"
    many.write_text(host.read_text(encoding="utf-8").replace("    cpu: auto\n", ""), encoding="utf-8")
    system = system_from_data(data, platform=load_platform(many))
    assert "unused: 79 of 80 cores" in words(parsed(draw_system(system)))


def test_what_a_task_says() -> None:
    text = words(parsed(draw_system(load_system(VEHICLE))))
    for line in (
        "every 1ms · deadline 1ms · offset 850us",
        "wcet 220us (best 160us) · 400uJ",
        "≥ 20ms apart · deadline 20ms",
        "priority 40",
        "send 12us · receive 8us",
        "three-phase · slot 60us · tdma · 2 × 64KiB",
        "snapshot · 512B · ddr",
        "snapshot · 64B · ddr",
        "flow front · 2 × 3MiB · host-ddr",
        "mailboxes · 512B/64B · ocm",
        "U 0.48",
        "unused: x86-2, x86-3",
        "3.3GB/s (peak 4GB/s)",
    ):
        assert line in text, line
    assert "camera → fusion → planner → drive-control → brake — reaction ≤ 180ms · age ≤ 150ms" in text
    assert "drive-control: period 2ms, deadline 2ms, on r5f-0, execution local" in text


def test_devices_that_tasks_use_themselves_are_drawn() -> None:
    root = parsed(draw_system(load_system(ROOT / "examples" / "drive" / "loop.yaml")))
    check(root)
    assert names(root, "device") == ["arm", "operator"]
    assert "plant · every 50us · motor and" in words(root) and "function · what the operator" in words(root)
    arrows = {
        path.get("data-name"): path for path in root.iter(f"{SVG}path") if path.get("class") == "played"
    }
    assert set(arrows) == {"arm of servo:servo", "operator of hmi:hmi"}
    # The plant is read and written, the operator is read.
    assert [arrows[name].get("marker-start") is not None for name in sorted(arrows)] == [True, False]
    tasks = {"a": {"period": "1ms", "on": "master-0", "writes": ["log"]}}
    data = {"consort": 1, "platform": "linux-host", "tasks": tasks, "devices": {"log": {"sink": "record"}}}
    root = parsed(draw_system(system_from_data(data)))
    check(root)
    assert names(root, "device") == ["log"] and lines(root, "played") == ["log of a:"]


def test_the_same_twice() -> None:
    assert draw_system(load_system(VEHICLE)) == draw_system(load_system(VEHICLE))


def test_the_picture_in_the_example_is_of_today() -> None:
    drawn = (VEHICLE.parent / "vehicle.svg").read_text(encoding="utf-8")
    assert drawn == draw_system(load_system(VEHICLE)), (
        "run: consort show examples/vehicle/system.yaml -o examples/vehicle/vehicle.svg"
    )


def test_text_that_looks_like_markup() -> None:
    described = {
        "consort": 1,
        "name": "<a> & \"b\" 'c'",
        "description": "</svg>",
        "platform": "linux-host",
        "tasks": {"t": {"period": "1ms", "on": "worker-0"}},
    }
    root = parsed(draw_system(system_from_data(described)))
    assert root.find(f"{SVG}title").text == "<a> & \"b\" 'c'"  # type: ignore[union-attr]
    assert "</svg> — on linux-host" in words(root)


@st.composite
def systems(draw: st.DrawFn) -> dict[str, Any]:
    count = draw(st.integers(1, 14))
    cores = [f"x86-{n}" for n in range(4)] + [f"{group}-{n}" for group in ("a72", "r5f") for n in range(2)]
    tasks: dict[str, Any] = {}
    # A worker does nothing else.
    workers = draw(st.lists(st.sampled_from(cores), max_size=len(cores) - 1, unique=True))
    masters = [core for core in cores if core not in workers]
    for number in range(count):
        task: dict[str, Any] = {"period": "10ms", "on": draw(st.sampled_from(cores))}
        if task["on"] in workers:
            task |= {"execution": "offloaded", "master": draw(st.sampled_from(masters))}
        tasks[f"task-{number}-{'long-name-' * draw(st.integers(0, 4))}"] = task
    channels: dict[str, Any] = {}
    everyone = list(tasks)
    for number in range(draw(st.integers(0, 12)) if count > 1 else 0):
        writer = draw(st.sampled_from([*everyone, "bus", "eye"]))
        others = [task for task in everyone if task != writer]
        to = draw(st.lists(st.sampled_from(others), min_size=1, max_size=4, unique=True))
        channels[f"channel-{number}"] = {"kind": "sporadic", "from": writer, "to": to, "size": "64B"}
    steps = [(c["from"], to) for c in channels.values() for to in c["to"] if c["from"] in tasks]
    chains: dict[str, Any] = {}
    if steps:
        for number in range(draw(st.integers(0, 9))):
            chains[f"chain-{number}"] = {"path": list(draw(st.sampled_from(steps)))}
    devices = {"bus": {}, "eye": {"kind": "camera"}}
    return {
        "consort": 1,
        "platform": "embedded-plus",
        "devices": devices,
        "tasks": tasks,
        "channels": channels,
        "chains": chains,
    }


@settings(max_examples=examples(60))
@given(systems())
def test_any_system(described: dict[str, Any]) -> None:
    system: System = system_from_data(described)
    root = parsed(draw_system(system))
    check(root)
    assert sorted(names(root, "channel")) == sorted(
        [*system.channels, *(f"{name}.in/.out" for name, task in system.tasks.items() if task.master)]
    )


@given(
    st.lists(st.integers(-500, 2000), max_size=30).map(sorted),
    st.integers(1, 100),
    st.integers(0, 200),
)
def test_spread(wanted: list[int], distance: int, begin: int) -> None:
    places = spread([float(place) for place in wanted], float(distance), float(begin))
    assert len(places) == len(wanted)
    assert all(place >= begin - 1e-6 for place in places)
    assert all(b - a >= distance - 1e-6 for a, b in itertools.pairwise(places))
    free = (
        all(b - a >= distance for a, b in itertools.pairwise(wanted)) and min(wanted, default=begin) >= begin
    )
    if free:
        assert places == pytest.approx(wanted)


def test_plain() -> None:
    assert plain(Frequency.parse("1200MHz")) == "1.2GHz"
    assert plain(Duration.parse("1500us")) == "1.5ms"
    assert plain(Duration.parse("1234567ps")) == "1234567ps"
    assert plain(Duration.parse("3160ns")) == "3.16us"
    assert plain(Duration(0)) == "0ns"


def test_a_measured_figure_is_rounded_where_it_is_drawn() -> None:
    assert about(Duration.parse("1281905ps")) == "≈1.28us" and about(Duration.parse("258855ps")) == "≈259ns"
    assert about(Duration.parse("3160ns")) == "3.16us" and about(Duration(0)) == "0ns"
    assert about(Duration.parse("999999ps")) == "≈1us" and about(Duration.parse("123456s")) == "≈123000s"


def test_shortened() -> None:
    assert shortened("short", 10, 100) == "short"
    cut = shortened("a text that is much too long", 10, 60)
    assert cut.endswith("…") and width_of(cut, 10) <= 60
    assert shortened("x", 10, 0) == "…"


def call(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(["show", *arguments])
    assert isinstance(caught.value.code, int)
    return caught.value.code


def test_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert call(str(VEHICLE)) == 0
    assert (tmp_path / "system.svg").read_text(encoding="utf-8") == draw_system(load_system(VEHICLE))
    assert call(str(VEHICLE), "-o", "parked.svg", "--mode", "parked") == 0
    assert "Vehicle, mode parked" in (tmp_path / "parked.svg").read_text(encoding="utf-8")
    assert call(str(ROOT / "platforms" / "versal.yaml")) == 0
    assert (tmp_path / "versal.svg").is_file()
    capsys.readouterr()
    assert call(str(VEHICLE), "-o", "-") == 0
    assert capsys.readouterr().out == draw_system(load_system(VEHICLE))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((str(VEHICLE), "--mode", "park"), "modes: there is no mode 'park'; did you mean 'parked'?"),
        (
            (str(ROOT / "platforms" / "versal.yaml"), "--mode", "x"),
            "a platform has no modes; leave --mode out",
        ),
        (("none.yaml",), "none.yaml: there is no such file"),
        ((str(VEHICLE), "-o", "no/such/folder.svg"), "cannot be written: No such file or directory"),
    ],
)
def test_bad_input(
    arguments: tuple[str, ...],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert call(*arguments) == 2
    assert says in capsys.readouterr().err


def test_a_browser_draws_it(tmp_path: Path) -> None:
    """The picture is more than a white page in a real browser."""
    found = [name for name in ("chromium", "chromium-browser", "google-chrome") if shutil.which(name)]
    if not found:
        pytest.skip("no browser")
    import matplotlib.image

    (tmp_path / "v.svg").write_text(draw_system(load_system(VEHICLE)), encoding="utf-8")
    command = [found[0], "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    command += [f"--user-data-dir={tmp_path / 'profile'}", "--window-size=2100,1200"]
    command += [f"--screenshot={tmp_path / 'v.png'}", (tmp_path / "v.svg").as_uri()]
    subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE)
    pixels = matplotlib.image.imread(tmp_path / "v.png")
    assert pixels.shape[:2] == (1200, 2100)
    grey = pixels[:, :, :3].mean(axis=2)
    assert 0.02 < (grey < 0.95).mean() < 0.6
