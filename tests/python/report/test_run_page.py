# SPDX-License-Identifier: Apache-2.0
"""The HTML report: complete, self-contained, small, and fit for a browser."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from consort.commands.runs import command as runs_command
from consort.commands.runs import report_command as report_command
from consort.record import RawRun, Run, RunWriter
from consort.record.summary import Histogram, histogram
from consort.report import PAGES
from consort.report.figures import Distribution, bin_edges, tail, tail_svg, thin
from consort.report.page import caveats, realtime_rows
from effort import PATIENCE
from hypothesis import given
from hypothesis import strategies as st
from synthetic import make_activity, make_jobs, write_raw

NAMES = {
    "local-off": "local, interference off",
    "local-on": "local, interference on",
    "offloaded-off": "offloaded, interference off",
    "offloaded-on": "offloaded, interference on <b>",
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("report")
    published = {"metric": "response", "values": {"max": 21.25}, "unit": "us", "source": "made up for a test"}
    with RunWriter(
        "servo", "application", folder / "runs", command=["consort", "run"], pages=PAGES
    ) as writer:
        for seed, (key, name) in enumerate(NAMES.items()):
            tables = {"jobs": make_jobs(20_000, seed, offloaded=key.startswith("offloaded"))}
            if key.endswith("on"):
                tables["activity"] = make_activity(100, seed)
            raw = RawRun.load(write_raw(folder / key, tables))
            writer.add_configuration(key, name, raw, published=[published] if key == "offloaded-off" else [])
        writer.add_section(
            "Loopback",
            columns=[
                {"name": "size", "unit": "byte"},
                {"name": "paper", "unit": "µs", "provenance": "published"},
                {"name": "here", "unit": "µs", "provenance": "measured"},
            ],
            rows=[[8, 1.5, 0.31], [1024, 12345.5, None]],
            source="made up for a test",
        )
        writer.add_section(
            "Latencies",
            columns=[{"name": "access"}]
            + [
                {"name": f"window {n} of the memory", "unit": "ns", "provenance": "simulated"}
                for n in range(6)
            ],
            rows=[["row buffer hit", *range(1_000, 7_000, 1_000)]],
        )
        goal = {"name": "longest_response_of_all_jobs_us", "value": 1.5, "unit": "µs", "sense": "<="}
        writer.add_goals([{**goal, "limit": 100.0, "met": True, "provenance": "measured"}])
        writer.add_section(
            "Throughput",
            "figure",
            x={"label": "size", "unit": "byte", "log": True},
            y={"label": "throughput", "unit": "MB/s"},
            series=[{"name": "here", "provenance": "measured", "x": [1, 8], "y": [2.0, None]}],
        )
    assert writer.run is not None
    return writer.run


@pytest.fixture(scope="module")
def page(run: Run) -> str:
    return (run.path / "report.html").read_text()


class Ids(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.ids.append(str(value))
            if name in ("href", "src", "xlink:href") and value:
                self.links.append(value)


def test_every_configuration_metric_and_statistic_is_there(run: Run, page: str) -> None:
    for configuration in run.configurations:
        card = page[page.index(f'id="c-{configuration["key"]}"') :]
        card = card[: card.index("</table>")]
        for metric, summary in configuration["summary"].items():
            row = next(line for line in card.splitlines() if f'<tr><td class="metric">{metric}</td>' in line)
            for name in ("min", "median", "p99", "p999", "max"):
                shown = f"{summary[name] / 1e3:.3f}"
                assert f">{shown}</td>" in row
            assert "measured" in row
    assert "offloaded, interference on &lt;b&gt;" in page
    assert "on <b>" not in page


def test_it_needs_nothing_from_outside(page: str) -> None:
    parser = Ids()
    parser.feed(page)
    outside = [link for link in parser.links if not link.startswith(("#", "data:"))]
    assert outside == []
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)
    assert "<script" not in page


def test_ids_are_unique_and_links_lead_somewhere(page: str) -> None:
    parser = Ids()
    parser.feed(page)
    assert len(parser.ids) == len(set(parser.ids))
    targets = {link[1:] for link in parser.links if link.startswith("#")}
    assert targets <= set(parser.ids)


def test_published_stands_beside_measured(run: Run, page: str) -> None:
    measured = run.configuration("offloaded-off")["summary"]["response"]["max"]
    cells = [line for line in page.splitlines() if 'data-is="this run / published"' in line]
    assert [re.sub(r"<[^>]*>", " ", line).split()[3:6] for line in cells] == [
        ["21.250", f"{measured / 1e3:.3f}", f"{measured / 21250:.2f}"]
    ]
    loopback = page[page.index("<h2>Loopback</h2>") : page.index("<h2>Throughput</h2>")]
    assert 'paper [µs]<small><span class="chip published">published</span>' in loopback
    assert "<td>12\u202f346</td><td>–</td>" in loopback


def test_verdict_environment_and_interference(run: Run, page: str) -> None:
    assert run.held is False or "Holds." in page
    for reason in run.data["verdict"]["reasons"]:
        assert reason.split(":")[1] in page
    assert str(run.data["environment"]["kernel"]) in page
    assert page.count("<caption>Interference achieved</caption>") == 2
    assert page.count("<h3>The worst job</h3>") == 4


def test_it_can_be_made_again_from_the_folder(run: Run, page: str, tmp_path: Path) -> None:
    output = tmp_path / "again.html"
    result = CliRunner().invoke(report_command, [str(run.path), "--output", str(output)])
    assert result.exit_code == 0, result.output
    assert output.read_text() == page
    assert (tmp_path / "again.pftrace").read_bytes() == (run.path / "trace.pftrace").read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["again.html", "again.pftrace"]


def test_runs_are_listed(run: Run) -> None:
    root = str(run.path.parent)
    listed = CliRunner().invoke(runs_command, ["--root", root])
    assert run.id in listed.stdout
    assert "offloaded-on" in listed.stdout
    data = json.loads(CliRunner().invoke(runs_command, ["--root", root, "--json"]).stdout)
    assert [entry["id"] for entry in data] == [run.id]
    empty = CliRunner().invoke(runs_command, ["--root", root + "-none"])
    assert "no runs in" in empty.stdout
    assert CliRunner().invoke(runs_command, ["--root", root + "-none", "--json"]).stdout == "[]\n"


def test_many_samples_of_wide_spread_stay_small(tmp_path: Path) -> None:
    """The page grows with curves, not samples: the worst case is every histogram bucket in use."""
    rows = np.zeros(300_000, dtype=[("ticks", "<u8")])
    rows["ticks"] = np.geomspace(30, 3e10, rows.size)
    tables = {f"series_{n}": rows for n in range(8)}
    with RunWriter("icc", "icc", tmp_path / "runs", command=[], pages=PAGES) as writer:
        for key in ("idle", "loaded"):
            writer.add_configuration(key, key, RawRun.load(write_raw(tmp_path / key, tables)))
    assert writer.run is not None
    assert (writer.run.path / "report.html").stat().st_size < 1_500_000


def test_a_run_without_samples_has_a_page(tmp_path: Path) -> None:
    raw = RawRun.load(write_raw(tmp_path / "raw", {"jobs": make_jobs(0, 1)}))
    with RunWriter("servo", "application", tmp_path / "runs", command=[], pages=PAGES) as writer:
        writer.add_configuration("on", "on", raw)
    assert writer.run is not None
    assert "No samples were recorded." in (writer.run.path / "report.html").read_text()


def test_only_faults_are_painted_as_such(tmp_path: Path) -> None:
    names = (
        "master-started",
        "worker-started",
        "worker-died",
        "worker-restarted",
        "worker-lost",
        "worker-back",
    )
    events = [{"tick": 10_000_000_000 + n, "name": name} for n, name in enumerate(names)]
    raw = RawRun.load(write_raw(tmp_path / "raw", {"jobs": make_jobs(10, 1)}, events=events))
    with RunWriter("servo", "application", tmp_path / "runs", command=[], pages=PAGES) as writer:
        writer.add_configuration("on", "on", raw)
    assert writer.run is not None
    text = (writer.run.path / "report.html").read_text()
    painted = {name for name in names if f'<td class="left miss">{name}</td>' in text}
    assert painted == {"worker-died", "worker-lost"}
    assert {name for name in names if f'<td class="left">{name}</td>' in text} == set(names) - painted


def test_what_each_worker_was_refused_is_shown() -> None:
    rows = realtime_rows(
        {
            "cpu": 0,
            "notes": ["idle states are not limited", "the clock steps"],
            "workers": [{"name": "worker-0", "cpu": 1, "mlockall": False, "notes": ["SCHED_FIFO refused"]}],
        }
    )
    assert ("notes", "idle states are not limited; the clock steps") in rows
    assert ("worker-0", "cpu 1; mlockall no; notes SCHED_FIFO refused") in rows
    assert "workers" not in dict(rows)


def test_caveats_follow_from_the_environment() -> None:
    assert caveats({"hypervisor": False, "preemption": "rt", "isolated": "1-3"}) == []
    found = caveats({"hypervisor": True, "preemption": None, "isolated": ""})
    assert [text.split(" ")[0] for text in found] == ["Measured", "The", "No"]


@given(st.lists(st.integers(1, 10**10), min_size=1, max_size=200), st.sampled_from([0.4, 10.0, 41.7]))
def test_bins_and_tails_lose_no_sample(values: list[int], resolution: float) -> None:
    found = histogram(np.array(values, dtype=np.int64))
    assert found is not None
    edges_of, counts = found.values, found.counts
    edges = bin_edges(int(edges_of[0]), int(edges_of[-1]), resolution)
    assert (np.diff(edges) > 0).all()
    assert np.histogram(edges_of, bins=edges, weights=counts)[0].sum() == len(values)
    x, y = tail(edges_of, counts)
    assert y[0] == 1.0
    tx, ty = thin(x, y)
    assert (tx[-1], ty[-1]) == (x[-1], y[-1])


def chromium() -> str:
    for name in ("chromium", "chromium-browser", "google-chrome", "chrome"):
        if found := shutil.which(name):
            return found
    pytest.skip("no Chromium on this machine")


def headless(*arguments: str) -> subprocess.CompletedProcess[Any]:
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    command = [chromium(), *flags, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)


@pytest.mark.representative
@pytest.mark.browser
def test_a_browser_shows_it_without_complaint(run: Run, tmp_path: Path) -> None:
    address = (run.path / "report.html").as_uri()
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    shown = headless("--enable-logging=stderr", "--dump-dom", profile, address)
    assert "CONSOLE" not in shown.stderr
    assert shown.stdout.count("<svg") == (run.path / "report.html").read_text().count("<svg")
    assert 'id="verdict"' in shown.stdout
    picture = tmp_path / "page.png"
    headless(f"--screenshot={picture}", "--window-size=1200,2400", profile, address)
    import matplotlib.image

    pixels = matplotlib.image.imread(picture)
    assert pixels.shape[:2] == (2400, 1200)
    # Something is drawn down to the bottom, in more than the colours of text and paper.
    assert len(np.unique((pixels[1200:, :, :3] * 255).astype(np.uint32) @ [65536, 256, 1])) > 50


@pytest.mark.browser
def test_a_phone_moves_no_table(page: str, tmp_path: Path) -> None:
    """Nothing is wider than the window, and each figure says what it is, as no head is there."""
    from test_judged_page import in_a_window

    tables = "[...page.querySelectorAll('.scroll')]"
    wider = f"{tables}.filter(t=>t.scrollWidth>t.clientWidth).length"
    cells = "[...page.querySelectorAll('td')].filter(c=>c.previousElementSibling)"
    nameless = f"{cells}.filter(c=>!c.dataset.is).length"
    measures = f"[page.documentElement.scrollWidth,{tables}.length,{wider},{nameless}].join()"
    width, count, over, bare = in_a_window(page, 390, measures, tmp_path)
    assert width <= 390 and count >= 13 and over == 0
    assert bare == 4, "two rows of three columns stay a table"
    for table in re.findall(r'<table class="stack">.*?</table>', page, re.S):
        heads = re.findall(r"<th\b[^>]*>(.*?)(?:<small>.*?)?</th>", table)
        for row in re.findall(r"<tr><td.*?</tr>", table, re.S):
            shown = [name.split(", ")[0] for name in re.findall(r'data-is="([^"]*)"', row)]
            assert shown == heads[-len(shown) :]


@pytest.mark.browser
def test_the_browser_check_would_see_an_error(tmp_path: Path) -> None:
    broken = tmp_path / "broken.html"
    broken.write_text("<script>console.error('broken')</script>")
    shown = headless(
        "--enable-logging=stderr", "--dump-dom", f"--user-data-dir={tmp_path}/p", broken.as_uri()
    )
    assert "CONSOLE" in shown.stderr


@pytest.mark.parametrize(("n", "marks"), [(9_999, 1), (10_000, 0)])
def test_a_percentile_that_is_only_the_maximum_is_marked(tmp_path: Path, n: int, marks: int) -> None:
    rows = np.zeros(n, dtype=[("ticks", "<u8")])
    rows["ticks"] = np.arange(n) + 1
    raw = RawRun.load(write_raw(tmp_path / "raw", {"one_way": rows}))
    with RunWriter("icc", "icc", tmp_path / "runs", command=[], pages=PAGES) as writer:
        writer.add_configuration("idle", "idle", raw)
    assert writer.run is not None
    assert (writer.run.path / "report.html").read_text().count("†</td>") == marks


def test_no_share_above_one_is_drawn():
    one = Histogram(np.array([9_112]), np.array([1_608]))
    svg = tail_svg([Distribution("servo", one, 1.0)], "x", "response")
    assert "10⁰" in svg and "10¹" not in svg
    # As formulas the labels of axes were a fifth of a page's work.
    assert "mathdefault" not in svg
