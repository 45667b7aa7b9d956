# SPDX-License-Identifier: Apache-2.0
"""Page, trace and terminal output of a run that was judged."""

from __future__ import annotations

import base64
import csv
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from click.testing import CliRunner
from consort.base.errors import BadInput
from consort.cli import cli
from consort.judge import Bounds, Expected, Limit, judge
from consort.record import Run, RunWriter
from consort.record.findings import Row, findings_of
from consort.record.ran import EVENTS, STATUS
from consort.record.summary import histogram
from consort.report import PAGES, judged, timeline
from consort.report.jobs import Jobs
from consort.report.lines import WIDTH
from consort.report.page import render
from consort.report.terminal import tightness, verdict_lines
from consort.report.timeline import outputs_svg
from effort import PATIENCE
from matplotlib.figure import Figure
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace
from system_recording import Recording

US = 1_000
JOBS = 200
LONG = "diagnostics-and-condition-monitoring-of-the-second-axis"
BOUNDS = Bounds(
    (
        Limit("servo", "response", 40 * US, "theorem 4"),
        Limit(LONG, "response", None, "", "no wcet of diagnostics"),
        Limit("set-to-act", "reaction", 2500 * US, "theorem 11"),
    ),
    simulated=(Limit("servo", "response", 21 * US, "simulated, seed 1"),),
)
CHANNELS = [{"name": "set-points", "implementation": "snapshot", "writer": "hmi", "readers": ["servo"]}]
CHAINS = [{"name": "set-to-act", "path": ["hmi", "servo"], "reaction_ns": 3000 * US}]


def recording(offloaded: bool, *, endless: bool = False) -> Recording:
    """Ten hmi jobs, 200 servo jobs of which 20 to 29 were not served, and a third task with a long name."""
    made = Recording(
        {
            "servo": {
                "core": "m0",
                "worker": "w0" if offloaded else None,
                "execution": "offloaded" if offloaded else "local",
                "period_ns": 50 * US,
                "deadline_ns": 50 * US,
            },
            "hmi": {"core": "m1", "period_ns": 1000 * US, "deadline_ns": 1000 * US},
            LONG: {"core": "m0", "period_ns": 1000 * US, "deadline_ns": 1000 * US, "rank": 0},
        },
        duration_ns=JOBS * 50 * US,
        channels=CHANNELS,
        chains=CHAINS,
    )
    for seq in range(JOBS):
        served = not 20 <= seq < 30
        exchange: dict[str, Any] = {"sent": 2 * US, "worker_receive": 3 * US, "worker_send": 9 * US}
        exchange |= {"received": 10 * US, "compute": 6 * US} if offloaded else {}
        if endless and seq == 19:
            made.job("servo", seq, 1 * US, 540 * US)
        else:
            times = exchange if offloaded and served else {}
            made.job("servo", seq, 1 * US if served else 0, 11 * US if served else 0, **times)
        if served:
            made.operation("servo", seq, 0, 0, seq * 50 // 1000 + (seq * 50 % 1000 > 200), seq * 50 * US + US)
    for seq in range(JOBS // 20):
        made.job("hmi", seq, 1 * US, 150 * US)
        made.operation("hmi", seq, 0, 1, seq + 1, seq * 1000 * US + 150 * US)
        made.job(LONG, seq, 15 * US, 35 * US)
    made.event(11, 1500 * US, 490 * US, core="m0", why=1)
    for k in range(150):
        made.event(1, k * 60 * US, task="servo", core="m0")
        made.event(2, k * 60 * US + (3200 if k == 7 else 20), task="servo", core="m0")
    outputs = np.zeros(JOBS - 10, dtype=[("seq", "<u4"), ("torque", "<f8")])
    outputs["seq"] = [seq for seq in range(JOBS) if not 20 <= seq < 30]
    outputs["torque"] = outputs["seq"] / 8
    made.outputs[0] = outputs
    return made


WANT = np.zeros(JOBS, dtype=[("torque", "<f8")])
WANT["torque"] = np.arange(JOBS) / 8


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("judged")
    with RunWriter("drive", "application", folder / "runs", command=["consort"], pages=PAGES) as writer:
        for key in ("local-off", "offloaded-off"):
            raw = recording(key.startswith("off")).write(folder / key)
            verdict = judge(raw, BOUNDS, expected={"servo": Expected(WANT)})
            writer.add_configuration(key, key.replace("-", ", interference "), raw, verdict=verdict)
    assert writer.run is not None
    return writer.run


@pytest.fixture(scope="module")
def page(run: Run) -> str:
    return (run.path / "report.html").read_text()


def test_a_report_reads_its_tasks_from_the_plan(run: Run) -> None:
    for configuration in run.configurations:
        plan = run.plan(configuration["key"])
        assert plan is not None and [*plan.tasks] == [*configuration["tasks"]]
        assert all(facts.keys() == {"jobs"} for facts in configuration["tasks"].values())
        assert run.plan(configuration["key"]) is plan, "it is read once"
        assert configuration["cores"] == [*plan.cores]


def test_every_release_counts(run: Run) -> None:
    """Ten releases were not served: with 200 jobs the 96th percentile is infinite, and so is the maximum."""
    entry = run.configuration("local-off")
    response = entry["summary"]["servo.response"]
    assert (response["n"], response["unserved"]) == (200, 10)
    assert (response["median"], response["p99"], response["max"], response["mean"]) == (
        11 * US,
        None,
        None,
        None,
    )
    drawn = histogram(run.samples("local-off", "servo.response"))
    assert drawn is not None and drawn.unserved == 10 and drawn.counts.sum() == 190
    jobs = entry["tasks"]["servo"]["jobs"]
    assert (jobs["on_time"], jobs["late"], jobs["unserved"], jobs["jobs"]) == (190, 0, 10, 200)
    assert jobs["causes"] == {"unserved": 10}
    table = run.jobs("local-off", "servo")
    assert np.isinf(table["response_ns"].to_numpy()).sum() == 10
    assert table["disturbed"].to_numpy().sum() == 10
    assert set(table["task"].to_pylist()) == {"servo"} and set(table["core"].to_pylist()) == {"m0"}


def test_events_are_summarised_with_a_way_to_all_of_them(run: Run, page: str) -> None:
    summary = {e["name"]: e for e in run.configuration("local-off")["event_summary"]}
    assert (summary["worker-silent"]["count"], summary["worker-silent"]["longest_ns"]) == (150, 3200)
    assert (summary["worker-silent"]["task"], summary["worker-silent"]["core"]) == ("servo", "m0")
    assert summary["disturbed"]["longest_ns"] == 490 * US
    assert summary["disturbed"]["cause"] == "stopped" and "disturbed: stopped" in page
    causes = set(run.table("local-off", "events")["cause"].to_pylist())
    assert causes == {"", "stopped"}, "only what was disturbed has a cause"
    assert run.table("local-off", "events").num_rows == 301
    assert '<td data-is="times">150</td>' in page and "3.2 µs" in page and "local-off/events.parquet" in page


def test_the_verdict_comes_first_with_measured_beside_simulated_beside_bound(run: Run, page: str) -> None:
    verdicts = page[page.index('id="verdicts"') : page.index('id="tasks"')]
    servo = verdicts[verdicts.index("<strong>servo</strong>") :]
    row = servo[servo.index('class="quantity">response') :].split("</tr>")[0]
    cells = re.findall(r"<td[^>]*>([^<]*)", row)
    assert cells[0:5] == ["50.000", "40.000", "21.000", "11.000", "∞"]
    assert "190 of 200 on time, 0 late, 10 unserved" in verdicts
    assert "preempted by another thread" in verdicts
    assert page.index('id="verdicts"') < page.index('id="configurations"')


def test_pictures_of_jobs_chains_and_outputs(page: str) -> None:
    for heading in (
        "The worst job of servo",
        "Chain set-to-act",
        "Outputs of servo",
        f"The worst job of {LONG}",
    ):
        assert page.count(f"<h3>{heading}</h3>") == 2, heading
    assert "10 unserved)" in page


def test_outputs_are_drawn_over_time_and_over_the_whole_run(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Over the whole run" not in render(run), "the picture beside the expected ones has all of them"
    monkeypatch.setattr(judged, "OUTPUT_JOBS", 30)
    page = render(run)
    part = page[page.index("<h3>Outputs of servo</h3>") :]
    whole, some = part.split("<svg")[1:3]
    assert "member torque." in part and "members torque" not in part
    # 200 jobs, 50 µs apart; then those around the first wrong one, or the first 30.
    assert "time of the job's release [ms]" in whole and ">8<" in whole
    assert "time of the job's release [µs]" in some and ">expected<" in some


def test_marks_on_an_axis_keep_their_decimals() -> None:
    flat = np.full(3, 0.0118)
    assert ">0.0116<" in outputs_svg(np.arange(3), [("angle", flat, flat)], "o")


def test_a_worst_job_fills_a_third_of_its_axis(page: str) -> None:
    part = page[page.index("<h3>The worst job of hmi</h3>") :].split("</svg>")[0]
    marks = re.findall(r"<text[^>]*>([\N{MINUS SIGN}\d]+)</text>", part)
    labels = [float(text.replace("\N{MINUS SIGN}", "-")) for text in marks]
    # It takes 150 µs of a period of 1 ms.
    assert len(labels) > 2 and labels[0] >= -150 and labels[-1] <= 300


@pytest.mark.parametrize("lasted_us", [120, 9_000])
def test_no_name_of_a_line_covers_a_bar(monkeypatch: pytest.MonkeyPatch, lasted_us: int) -> None:
    """A worst job that ends after its deadline, on a whole and on a broken axis: the names stand above."""
    seen: list[Figure] = []
    monkeypatch.setattr(timeline, "inline", lambda figure, _ident: seen.append(figure) or "")
    named = ("release", "start", "finish", "sent", "worker_receive", "worker_send")
    times = {name: np.full(1, timeline.ABSENT, dtype=np.int64) for name in named}
    times |= {"release": np.array([0]), "start": np.array([5 * US]), "finish": np.array([lasted_us * US])}
    zero = np.zeros(1, dtype=np.int64)
    jobs = SimpleNamespace(cores=["m0"], tasks=["servo"], workers=[None], core=zero, task=zero, times=times)
    timeline.timeline_svg(cast(Jobs, jobs), 0, 50 * US, 50 * US, "t")
    (figure,) = seen
    figure.draw_without_rendering()
    marks = [text for axis in figure.axes for text in axis.texts]
    assert [text.get_text() for text in marks] == ["release", "deadline"]
    boxes = [text.get_window_extent() for text in marks]
    assert not boxes[0].overlaps(boxes[1])
    for box in boxes:
        assert not any(box.overlaps(axis.bbox) for axis in figure.axes)
        assert figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1


def test_names_are_whole_and_lines_fit_a_terminal(run: Run) -> None:
    lines = verdict_lines(run)
    text = " ".join(line.strip() for line in lines)
    assert LONG in text and "no wcet of diagnostics" in text
    paths = ("report:", "trace:")
    assert [line for line in lines if len(line) > WIDTH and not line.startswith(paths)] == []
    assert "  response             50.000      40.000      21.000      11.000           ∞ ~" in lines
    assert "190 of 200 on time, 0 late, 10 unserved" in text
    assert "(∞: 10 of 200 unserved)" in text
    assert "offloading servo cost 2.000 µs (median)" in text
    assert "m0: preempted by another thread once" in text
    assert "offloaded-off: The system held: all 209 jobs that the machine did not disturb met" in text


def test_the_terminal_says_what_became_of_a_worker_and_of_its_jobs(tmp_path: Path) -> None:
    made = recording(offloaded=True)
    made.event(EVENTS.index("worker-died"), 5100 * US, core="w0")
    for job in made.rows[100:103]:
        job["status"] |= STATUS["local_fallbacks"]
    raw = made.write(tmp_path / "raw")
    with RunWriter("drive", "application", tmp_path / "runs", command=[], pages=PAGES) as writer:
        writer.add_configuration("offloaded-off", "off", raw, verdict=judge(raw, BOUNDS))
    assert writer.run is not None
    text = " ".join(line.strip() for line in verdict_lines(writer.run))
    assert (
        "offloaded-off: events: servo: worker-silent 150 times, longest 3.2 µs; servo: worker-back 150"
        in text
    )
    assert "w0: worker-died once" in text and "3 computed by the master instead of a worker." in text


def test_a_page_of_a_run_that_decides_nothing_does_not_say_that_it_fails(tmp_path: Path) -> None:
    made = Recording({"servo": {"deadline_ns": 100 * US}})
    for seq in range(10):
        made.job("servo", seq, 1 * US, (70 if seq == 4 else 9) * US)
    made.event(EVENTS.index("disturbed"), 1000 * US, 1000 * US, core="m0")
    raw = made.write(tmp_path / "raw")
    with RunWriter("drive", "application", tmp_path / "runs", command=[], pages=PAGES) as writer:
        writer.add_configuration("on", "on", raw, verdict=judge(raw, BOUNDS))
    assert writer.run is not None and not writer.run.held
    page = (writer.run.path / "report.html").read_text(encoding="utf-8")
    assert "Undecided: it is not known whether the system holds" in page and "Fails" not in page
    assert any(line.startswith("on: Undecided: it is not known") for line in verdict_lines(writer.run))


def test_slices_and_tracks_are_called_after_tasks_and_cores(run: Run) -> None:
    trace = Trace()
    trace.ParseFromString((run.path / "trace.pftrace").read_bytes())
    described = [p.track_descriptor for p in trace.packet if p.HasField("track_descriptor")]
    processes = {d.process.process_name for d in described if d.HasField("process")}
    assert {"local, interference off: m0 (CPU 0)", "offloaded, interference off: w0 (CPU 2)"} <= processes
    assert {"servo", "hmi", LONG, "servo: compute"} <= {d.name for d in described}
    begins = {
        p.track_event.name for p in trace.packet if p.track_event.type == p.track_event.TYPE_SLICE_BEGIN
    }
    assert {"servo", "hmi", LONG} <= begins and "job" not in begins


def test_outputs_keep_what_was_expected(run: Run) -> None:
    table = run.table("local-off", "outputs-servo")
    assert table.column_names == ["seq", "torque", "torque_expected"]
    assert table["torque"].equals(table["torque_expected"])


def test_tables_as_csv(run: Run, tmp_path: Path) -> None:
    found = CliRunner().invoke(cli, ["runs", "export", str(run.path), "--csv", str(tmp_path / "csv")])
    assert found.exit_code == 0, found.output
    with (tmp_path / "csv" / "local-off-jobs.csv").open() as stream:
        rows = [row for row in csv.DictReader(stream) if row["task"] == "servo"]
    assert len(rows) == JOBS and rows[25]["response_ns"] == "inf" and rows[25]["start_ns"] == ""
    with (tmp_path / "csv" / "summary.csv").open() as stream:
        response = next(row for row in csv.DictReader(stream) if row["metric"] == "servo.response")
    assert (response["unserved"], response["median"], response["max"]) == ("10", "11000", "")


def test_the_report_command_prints_the_verdict_before_its_files(run: Run, tmp_path: Path) -> None:
    found = CliRunner().invoke(cli, ["report", str(run.path), "--output", str(tmp_path / "page.html")])
    assert found.exit_code == 0, found.output
    lines = found.stdout.splitlines()
    assert lines[-2:] == [str(tmp_path / "page.html"), str(tmp_path / "page.pftrace")]
    assert "  response             50.000      40.000      21.000      11.000           ∞ ~" in lines


def test_the_report_command_takes_the_last_run_and_says_which(run: Run, tmp_path: Path) -> None:
    words = ["report", "--root", str(run.path.parent), "--output", str(tmp_path / "page.html")]
    found = CliRunner().invoke(cli, words)
    assert found.exit_code == 0, found.output
    assert found.stdout.splitlines()[0] == f"The last run, {run.path}:"
    assert "The last run" not in CliRunner().invoke(cli, [*words, run.id]).stdout


def test_a_page_that_nothing_can_open_is_said(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    opened: list[str] = []
    monkeypatch.setattr("click.launch", opened.append)
    words = ["report", str(run.path), "--open", "--output", str(tmp_path / "page.html")]
    assert "this session has no display" in CliRunner().invoke(cli, words).stderr
    assert not opened
    monkeypatch.setenv("DISPLAY", ":0")
    assert not CliRunner().invoke(cli, words).stderr
    assert opened == [str(tmp_path / "page.html")]


def test_runs_are_compared_task_by_task(run: Run) -> None:
    found = CliRunner().invoke(cli, ["compare", str(run.path), str(run.path), "--json"])
    assert found.exit_code == 0, found.output
    assert '"metric": "servo.response"' in found.stdout and "Infinity" not in found.stdout
    assert "NaN" not in found.stdout


def test_an_emulated_time_above_its_deadline_is_never_said_to_hold(tmp_path: Path) -> None:
    made = recording(offloaded=False, endless=True)
    made.provenance = "emulated"
    raw = made.write(tmp_path / "raw")
    with RunWriter("drive", "application", tmp_path / "runs", command=[], pages=PAGES) as writer:
        writer.add_configuration("on", "on", raw, verdict=judge(raw, BOUNDS))
    assert writer.run is not None
    text = (writer.run.path / "report.html").read_text()
    assert "Holds" not in text and "The system held" not in text and "virtual machine" not in text
    assert "held" not in " ".join(verdict_lines(writer.run)).replace("held against nothing", "")


def test_counted_times_lead_to_exact_time_and_pauses_stand_once(tmp_path: Path) -> None:
    """The description is one of boards: without options it runs there again, and on no machine."""
    made = recording(offloaded=False, endless=True)
    made.provenance = "counted"
    raw = made.write(tmp_path / "raw")
    with RunWriter("drive", "application", tmp_path / "runs", command=[], pages=PAGES) as writer:
        writer.add_configuration("on", "on", raw, verdict=judge(raw, BOUNDS))
    assert writer.run is not None
    verdict = writer.run.configurations[0]["verdict"]
    assert verdict["pauses"] and verdict["machine"]
    text = (writer.run.path / "report.html").read_text()
    assert "consort run system.yaml --for virtual" in text and "names a target" not in text
    assert verdict["machine"] not in text, "the table of pauses has it"


def test_a_job_of_a_thousand_periods_breaks_the_axis(tmp_path: Path) -> None:
    made = Recording({"servo": {"period_ns": 50 * US, "deadline_ns": 50 * US}})
    for seq in range(5000):
        lasted = 1000 * 50 * US if seq == 1000 else 8 * US
        made.job("servo", seq, *((0, 0) if 1000 < seq < 2000 else (1 * US, lasted)))
    raw = made.write(tmp_path / "raw")
    with RunWriter("drive", "application", tmp_path / "runs", command=[], pages=PAGES) as writer:
        writer.add_configuration("on", "on", raw, verdict=judge(raw))
    assert writer.run is not None
    assert "between the two parts are left out" in (writer.run.path / "report.html").read_text()


def test_the_system_is_drawn_on_top(run: Run) -> None:
    assert 'id="system"' not in (run.path / "report.html").read_text(), "a run without a diagram"
    svg = '<svg xmlns="http://www.w3.org/2000/svg" width="1600" height="90"><script/></svg>'
    (run.path / "system.svg").write_text(svg)
    page = render(run)
    (run.path / "system.svg").unlink()
    assert page.index('id="system"') < page.index('id="verdicts"')
    found = re.search(r'style="--least:800px">.*?src="data:image/svg\+xml;base64,([^"]*)"', page)
    assert found is not None and base64.b64decode(found[1]).decode() == svg
    # As a picture it runs no script; in the page it would.
    assert "<script" not in page


def in_a_window(text: str, width: int, measure: str, folder: Path) -> list[int]:
    """The numbers that a JavaScript expression has of a page in a window of a width."""
    from test_run_page import chromium

    probe = folder / "probe.html"
    probe.write_text(text)
    # Headless Chromium has no window narrower than 500 pixels: a frame has the width that is asked for.
    frame = folder / "frame.html"
    frame.write_text(
        f'<body style="margin:0"><iframe id="f" src="{probe.as_uri()}" width="{width}" height="900"></iframe>'
        f"<script>f.onload=()=>{{const page=f.contentDocument;document.title={measure}}}</script>"
    )
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"]
    shown = subprocess.run(
        [chromium(), *flags, f"--user-data-dir={folder / 'profile'}", "--dump-dom", frame.as_uri()],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    title = re.search(r"<title>([\d,]+)</title>", shown.stdout)
    assert title is not None
    return [int(number) for number in title[1].split(",")]


@pytest.mark.browser
@pytest.mark.parametrize("width", [1400, 400])
def test_nothing_runs_off_the_page(run: Run, tmp_path: Path, width: int) -> None:
    """The page is never wider than the window: what is wider scrolls in a frame of its own."""
    text = (run.path / "report.html").read_text()
    (wide,) = in_a_window(text, width, "page.documentElement.scrollWidth", tmp_path)
    assert wide <= width


@pytest.mark.browser
def test_a_phone_shows_each_figure_of_a_run_without_moving_a_table(run: Run, tmp_path: Path) -> None:
    """All tables of the verdict and of a configuration; each figure says what it is, as no head is there."""
    text = (run.path / "report.html").read_text()
    tables = (
        "[...page.querySelectorAll('#verdicts .scroll,.card .scroll')].filter(t=>t.querySelector('table'))"
    )
    wider = f"{tables}.filter(t=>t.scrollWidth>t.clientWidth).length"
    count, over = in_a_window(text, 390, f"[{tables}.length,{wider}].join()", tmp_path)
    assert count >= 6 and over == 0
    page = text[text.index('id="configurations"') :]
    heads = re.search(r"<caption>Events</caption>\n<thead>(.*?)</thead>", page)
    first = re.search(r"<caption>Events</caption>.*?<tbody><tr>(.*?)</tr>", page, re.S)
    assert heads is not None and first is not None
    assert re.findall(r'data-is="([^"]*)"', first[1]) == re.findall(r"<th[^>]*>([^<]*)</th>", heads[1])[1:]


@pytest.mark.browser
def test_a_phone_shows_the_whole_system_and_a_large_one_when_asked(run: Run, tmp_path: Path) -> None:
    svg = '<svg xmlns="http://www.w3.org/2000/svg" width="1600" height="90"/>'
    (run.path / "system.svg").write_text(svg)
    page = render(run)
    (run.path / "system.svg").unlink()
    image = "Math.round(page.querySelector('.diagram img').getBoundingClientRect().width)"
    click = "page.querySelector('.diagram input').click()"
    small, large = in_a_window(page, 400, f"[{image},({click},{image})].join()", tmp_path)
    assert small < 400 and large == 800


def test_a_record_keeps_the_findings_of_its_judge(run: Run) -> None:
    for configuration in run.configurations:
        found = findings_of(configuration)
        assert found is not None and found.rows and found.data == configuration["verdict"]
    (first, *_) = run.configurations
    damaged = {**first, "verdict": {**first["verdict"], "rows": [{"subject": "servo"}]}}
    with pytest.raises(BadInput, match=r"configurations\.local-off\.verdict\.rows\.0\.kind"):
        findings_of(damaged)  # type: ignore[arg-type]
    assert findings_of({**first, "verdict": None}) is None  # type: ignore[typeddict-item]


def test_a_chain_that_never_ended_is_drawn_as_the_others_are(run: Run) -> None:
    (first, *_) = run.configurations
    kept = first["verdict"]
    rows = [
        row | {"seen": "inf", "undisturbed": "inf"} if row["kind"] == "chain" else row for row in kept["rows"]
    ]
    endless = {**first, "verdict": {**kept, "rows": rows}}
    drawn = judged.chains(Run(run.path, {**run.data, "configurations": [endless]}), endless, 0)  # type: ignore[arg-type]
    assert drawn and {chain["reaction"] for chain in drawn} == {"∞ µs"}


def test_how_near_the_bounds_were_is_the_median_over_those_that_have_one() -> None:
    row = Row(
        subject="servo", kind="task", quantity="response", seen=None, undisturbed=4.0, provenance="measured",
        bound=10.0, bound_source="", missing="", simulated=None, simulated_source="", required=None,
        count=1, above=0, late=0, outcome="holds",
    )  # fmt: skip
    rows = [
        row,
        replace(row, quantity="compute", undisturbed=5.0),
        replace(row, subject="chain", kind="chain", quantity="age", undisturbed=9.0),
        replace(row, subject="hmi", bound=None, undisturbed=9.0),
        replace(row, subject="hmi", quantity="compute", undisturbed=None),
    ]
    assert tightness(rows) == [
        "Longest undisturbed time over its bound: median 0.50 of 3 bounds, the closest 0.90 (age of chain)."
    ]
    assert tightness(rows[:1])[0].endswith("median 0.40 of 1 bound, the closest 0.40 (response of servo).")
    assert tightness(rows[3:]) == []
    # A release that was not served has an endless response.
    endless = [replace(row, undisturbed=float("inf"))]
    assert tightness(endless)[0].endswith("median ∞ of 1 bound, the closest ∞ (response of servo).")
