# SPDX-License-Identifier: Apache-2.0
"""AMALTHEA models read: a small one, the same in other releases, a large one, and a published one."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from consort.base.errors import BadInput
from consort.exchange.amalthea.importer import import_amalthea
from consort.exchange.conventions import Imported, Order, fill_in_delays
from consort.model import platform_from_data, system_from_data
from large import large_model

HERE = Path(__file__).parent
SMALL = HERE / "data" / "small.amxmi"
# Models published by others lie beside the project, where they are at all.
FOLDERS = [parent / "shared" / "data" / "amalthea" for parent in HERE.parents]

TASKS = {
    "sample": {
        "period": "1ms",
        "offset": "250us",
        "jitter": "20us",
        # 1000 cycles at 1 GHz and 3000 at 300 MHz, and the dearer branch of 900 or the cheaper of 100.
        "wcet": {"big": "1921ns", "little": "13030ns"},
        "bcet": {"big": "1100ns", "little": "3666666ps"},
        "on": "big-0",
        "priority": 7,
    },
    "control": {
        "period": "5ms",
        "deadline": "4ms",
        "wcet": {"big": "10021ns", "little": "33363334ps"},
        "bcet": {"big": "10us", "little": "33333333ps"},
        "on": "big-0",
        "priority": 3,
    },
    "log": {
        "period": "5ms",
        # It is released by `control`, whose bound is its own time: `sample` comes 240 us after its end.
        "jitter": "10021ns",
        "wcet": {"big": "8ns", "little": "13334ps"},
        "bcet": {"big": "1ns", "little": "3333ps"},
        "on": "little-0",
    },
    "alarm": {
        "min_interarrival": "30ms",
        "wcet": {"big": "10021ns", "little": "33363334ps"},
        "bcet": {"big": "10us", "little": "33333333ps"},
        "on": "little-0",
    },
}
NO_SWITCH = {"value": "0ns", "assumed": "the AMALTHEA model has none"}
CHANNELS = {
    "speed": {
        "kind": "sporadic",
        "from": "sample",
        "to": ["control", "alarm"],
        "size": "4B",
        "memory": "ram",
    },
    "torque-control": {"kind": "sporadic", "from": "control", "to": ["log"], "size": "2B"},
    "torque-alarm": {"kind": "sporadic", "from": "alarm", "to": ["log"], "size": "2B"},
}


def valid(imported: Imported) -> None:
    assert imported.platform is not None and imported.system is not None
    platform = platform_from_data(imported.platform)
    system_from_data(imported.system, platform=platform)


def edited(tmp_path: Path, *changes: tuple[str, str]) -> Path:
    text = SMALL.read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    path = tmp_path / "edited.amxmi"
    path.write_text(text, encoding="utf-8")
    return path


def test_small_model() -> None:
    imported = import_amalthea(SMALL)
    assert imported.system == {
        "consort": 1,
        "platform": "board.yaml",
        "scheduling": {"little-0": {"policy": "edf"}},
        "tasks": TASKS,
        "channels": CHANNELS,
        "chains": {"whole": {"path": ["sample", "control", "log"], "reaction": "40ms"}},
    }
    assert imported.platform == {
        "consort": 1,
        "name": "board",
        "description": "board, from an AMALTHEA model",
        "processors": {
            "big": {"isa": "other", "clock": "1GHz"},
            "little": {"isa": "other", "clock": "300MHz"},
        },
        "cores": {
            "big": {"processor": "big", "count": 1, "context_switch": NO_SWITCH, "timer_lateness": NO_SWITCH},
            "little": {
                "processor": "little",
                "count": 1,
                "context_switch": NO_SWITCH,
                "timer_lateness": NO_SWITCH,
            },
        },
        "memories": {
            "ram": {
                "kind": "sram",
                "size": "64KiB",
                "access": {"from": {"big": {"base": "7ns"}, "little": {"base": "10ns"}}},
            }
        },
    }
    valid(imported)


XMI = {
    "am": "http://app4mc.eclipse.org/amalthea/1.0.0",
    "xmi": "http://www.omg.org/XMI",
    "xsi": "http://www.w3.org/2001/XMLSchema-instance",
}


def split(folder: Path) -> list[Path]:
    """The small model, a file for each of its parts: references across files are children with an href."""
    for prefix, uri in XMI.items():
        ElementTree.register_namespace(prefix, uri)
    whole = ElementTree.parse(SMALL).getroot()
    home = {e.get(f"{{{XMI['xmi']}}}id"): part for part in whole for e in part.iter()}
    made = []
    for number, part in enumerate(whole):
        for element in list(part.iter()):
            for name, text in list(element.attrib.items()):
                keys = text.split()
                if "}" not in name and any(home.get(key, part) is not part for key in keys):
                    del element.attrib[name]
                    for key in keys:
                        ElementTree.SubElement(element, name, href=f"amlt:/#{key}")
        root = ElementTree.Element(whole.tag, whole.attrib)
        root.append(part)
        made.append(folder / f"{number}-{part.tag}.amxmi")
        ElementTree.ElementTree(root).write(made[-1], encoding="UTF-8", xml_declaration=True)
    return made


def test_several_files_or_a_folder_are_one_model(tmp_path: Path) -> None:
    files = split(tmp_path)
    assert len(files) >= 6 and sum("amlt:/#" in file.read_text(encoding="utf-8") for file in files) >= 3
    (tmp_path / "notes.txt").write_text("no model", encoding="utf-8")
    whole = import_amalthea(SMALL)
    for imported in (import_amalthea(tmp_path), import_amalthea(*files)):
        assert (imported.system, imported.platform) == (whole.system, whole.platform)
        assert imported.report == whole.report
        assert all(file.name in imported.comment for file in files)
    # In another order the tasks are the same, whichever file names them first.
    backwards = import_amalthea(*reversed(files))
    assert backwards.system is not None and backwards.system["tasks"] == TASKS


def test_parts_of_one_kind_in_two_files_are_one(tmp_path: Path) -> None:
    text = SMALL.read_text(encoding="utf-8")
    task = re.search(r"    <tasks xmi:id=.alarm.*?</tasks>\n", text, re.DOTALL)
    assert task is not None
    head, tail = text[: text.index("  <swModel>")], "</am:Amalthea>\n"
    (tmp_path / "a.amxmi").write_text(text.replace(task[0], ""), encoding="utf-8")
    (tmp_path / "b.amxmi").write_text(f"{head}<swModel>{task[0]}</swModel>{tail}", encoding="utf-8")
    found = import_amalthea(tmp_path)
    assert found.system is not None and found.system["tasks"] == TASKS


def test_what_is_wrong_with_several_files(tmp_path: Path) -> None:
    files = split(tmp_path)
    with pytest.raises(BadInput, match=r"7-again\.amxmi.*stands twice, here and in 0-swModel\.amxmi, line"):
        copy = tmp_path / "7-again.amxmi"
        copy.write_bytes(files[0].read_bytes())
        import_amalthea(tmp_path)
    copy.write_text(files[0].read_text(encoding="utf-8").replace("/1.0.0", "/2.0.0"), encoding="utf-8")
    with pytest.raises(BadInput, match=r"7-again\.amxmi.*is of release 2\.0, and 0-swModel\.amxmi of 1\.0"):
        import_amalthea(tmp_path)
    # The error of a value names the file that it is in.
    text = copy.read_text(encoding="utf-8").replace("/2.0.0", "/1.0.0")
    copy.write_text(text.replace('value="500"', 'value="5x"'), encoding="utf-8")
    with pytest.raises(BadInput, match=r"7-again\.amxmi:[0-9]+: .*'5x' is not a number"):
        import_amalthea(copy, *files[1:])
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match=r"no \.amxmi file lies in the folder"):
        import_amalthea(tmp_path / "empty")


def test_the_order_of_priorities_is_stated_and_can_be_given() -> None:
    def imported(order: Order | None) -> tuple[list[str], dict[str, int]]:
        found = import_amalthea(SMALL, order=order)
        assert found.system is not None
        tasks = found.system["tasks"]
        return found.report.notes, {n: task["priority"] for n, task in tasks.items() if "priority" in task}

    notes, by_higher = imported(None)
    assert notes == [
        "priorities: the higher number is the more urgent (assumed: AMALTHEA does not say; see"
        " --priority-order)"
    ]
    notes, by_lower = imported("lower")
    assert notes == ["priorities: the lower number is the more urgent (--priority-order)"]
    assert imported("higher")[1] == by_higher
    assert by_higher["sample"] > by_higher["control"] and by_lower["sample"] < by_lower["control"]
    # The numbers stay within the model's.
    assert sorted(by_higher.values()) == sorted(by_lower.values()) == [3, 7]


def test_what_an_unbounded_task_releases_has_no_execution_time() -> None:
    """Its own bound would rest on a delay that nobody knows."""
    imported = import_amalthea(SMALL)
    system, platform = imported.system, imported.platform
    assert system is not None and platform is not None
    assert ("release jitter", "as late as the bound of the task that triggers it") in imported.report.changed
    system["tasks"]["control"]["wcet"] = {"big": "6ms", "little": "6ms"}
    fill_in_delays(system, platform, {"log": "control"}, imported.report)
    assert "wcet" not in system["tasks"]["log"]
    assert any(what == "execution times of tasks" for what, _ in imported.report.left_out)


def test_what_was_left_out_is_named() -> None:
    report = import_amalthea(SMALL).report
    assert {(what, tuple(names)) for (what, _), names in report.left_out.items()} == {
        ("stimulus", ("once",)),
        ("task", ("boot",)),
        ("label", ("raw",)),
        ("label", ("gains",)),
    }
    changed = {what: names for (what, _), names in report.changed.items()}
    assert changed["core"] == ["'c0' is big-0", "'c1' is little-0"]
    assert changed["release"] == ["log by control"]
    for group in report.to_json()["left_out"]:
        assert group["count"] == len(group["names"]) > 0


WITHIN = "its ticks have the times of its accesses to labels (--label-accesses)"
SIZED = ('<size value="4" unit="B"/>', '<size value="10" unit="B"/>')
OFTEN = (
    'data="raw?type=Label" access="write"/>',
    'data="raw?type=Label" access="write"><statistic>'
    '<value xsi:type="am:MinAvgMaxStatistic" min="1" avg="2.0" max="10"/></statistic></items>',
)
PORT = '<ports xsi:type="am:HwPort" name="p" bitWidth="32" portType="initiator"/>'
OWN = '<accessElements name="c0-ram"'
WRITTEN = '<writeLatency xsi:type="am:DiscreteValueConstant" value="7"/>'
BESIDE = (
    f'<accessElements name="beside" destination="ram?type=Memory">{WRITTEN}'
    '<dataRate value="1000" unit="MBPerSecond"/></accessElements>'
)
FASTER = '<accessElements name="c1-ram" destination="ram?type=Memory">'
NO_PATH = (FASTER, FASTER.replace("ram?", "none?"))
UNMAPPED = ('<memoryMapping abstractElement="speed?type=Label" memory="ram?type=Memory"/>', "")


@pytest.mark.parametrize(
    ("changes", "wcet"),
    [
        # 1,900 cycles and three accesses of 7.
        ((), "1921ns"),
        # Nine times more.
        ((OFTEN,), "1984ns"),
        # Three times as wide as the port.
        ((SIZED, (OWN, PORT + OWN)), "1935ns"),
        # The same beside a way that is dearer for the two of 2 B alone: 7 and 2.
        ((SIZED, (OWN, PORT + BESIDE + OWN)), "1939ns"),
        # 4 B at 4 B a microsecond, and twice 2 B.
        (((WRITTEN, f'{WRITTEN}<dataRate value="4" unit="MBPerSecond"/>'),), "3921ns"),
    ],
    ids=["each", "often", "wide", "two ways", "rate"],
)
def test_accesses_to_labels_take_what_the_hardware_says(
    tmp_path: Path, changes: tuple[tuple[str, str], ...], wcet: str
) -> None:
    imported = import_amalthea(edited(tmp_path, *changes))
    valid(imported)
    assert imported.system is not None
    assert imported.system["tasks"]["sample"]["wcet"]["big"] == wcet


def test_ticks_may_have_the_times_of_accesses(tmp_path: Path) -> None:
    """As where the hardware says nothing of accesses."""
    path = edited(tmp_path, ('destination="ram?type=Memory"', 'destination="none?type=Memory"'))
    without, found = import_amalthea(path), import_amalthea(SMALL, within=True)
    assert without.system is not None and found.system is not None
    times = [
        {name: task.get("wcet") for name, task in one.system["tasks"].items()} for one in (without, found)
    ]
    assert times[0] == times[1]
    assert [what for what, how in found.report.changed if how == WITHIN] == ["execution times of task"]


@pytest.mark.parametrize(
    "changes",
    [
        (NO_PATH,),
        (NO_PATH, UNMAPPED),
        (('value="3"/>\n        </acc', 'lowerBound="3"/>\n        </acc'),),
    ],
    ids=["no path", "no path and no memory", "no bound"],
)
def test_an_access_of_unknown_length_leaves_no_execution_time(
    tmp_path: Path, changes: tuple[tuple[str, str], ...]
) -> None:
    imported = import_amalthea(edited(tmp_path, *changes))
    valid(imported)
    assert imported.system is not None
    assert "wcet" not in imported.system["tasks"]["alarm"]
    assert "time of accesses to label" in {what for what, _ in imported.report.left_out}


@pytest.mark.parametrize("release", ["0.9.0", "0.9.9", "1.1.0", "2.2.0", "3.0.0", "3.3.0"])
def test_releases(tmp_path: Path, release: str) -> None:
    path = edited(tmp_path, ("amalthea/1.0.0", f"amalthea/{release}"))
    assert import_amalthea(path).system == import_amalthea(SMALL).system


def test_spelling_of_release_0_9(tmp_path: Path) -> None:
    """Call graphs, and instructions at two a cycle instead of ticks."""
    path = edited(
        tmp_path,
        ("amalthea/1.0.0", "amalthea/0.9.2"),
        ("<activityGraph>", "<callGraph>"),
        ("</activityGraph>", "</callGraph>"),
        (
            '<items xsi:type="am:Ticks"><default xsi:type="am:DiscreteValueConstant" value="10000"/></items>',
            '<items xsi:type="am:RunnableInstructions"><default xsi:type="am:DiscreteValueConstant"'
            ' value="20000"/></items>',
        ),
        (
            'name="big"/>',
            'name="big" features="Instructions/IPC?type=HwFeature"/>',
        ),
        (
            'name="little"/>',
            'name="little" features="Instructions/IPC?type=HwFeature"/>'
            '<featureCategories name="Instructions"><features name="IPC" value="2.0"/></featureCategories>',
        ),
    )
    assert import_amalthea(path).system == import_amalthea(SMALL).system


def test_spelling_of_release_3(tmp_path: Path) -> None:
    """Schedulers and their parameters by definition, chains of items, ids that follow from names left out."""
    path = edited(
        tmp_path,
        ("amalthea/1.0.0", "amalthea/3.1.0"),
        (
            '<schedulingParameters priority="7"/>',
            '<schedulingParameters key="priority"><value'
            ' xsi:type="am:IntegerObject" value="7"/></schedulingParameters>',
        ),
        ("<segments ", "<items "),
        ("</segments>", "</items>"),
        ('<schedulingAlgorithm xsi:type="am:EarliestDeadlineFirst"/></taskSchedulers>', "</taskSchedulers>"),
        ('name="s1">', 'name="s1" definition="EarliestDeadlineFirst?type=SchedulerDefinition">'),
        ("</osModel>", '<schedulerDefinitions name="EarliestDeadlineFirst"/></osModel>'),
        ('xmi:id="sample?type=Task" ', ""),
        ('xmi:id="read+sensor?type=Runnable" ', ""),
        ('xmi:id="begin?type=ProcessEvent" ', ""),
    )
    assert import_amalthea(path).system == import_amalthea(SMALL).system


CURVE = '<entries numberOfOccurrences="2"><lowerTimeBorder value="30" unit="ms"/></entries>'
TYPE = 'xsi:type="am:ArrivalCurveStimulus" xmi:id="rare?type=ArrivalCurveStimulus"'


def entry(occurrences: int, apart: str) -> str:
    border = f'<lowerTimeBorder value="{apart}" unit="ms"/>' if apart else ""
    return f'<entries numberOfOccurrences="{occurrences}">{border}</entries>'


@pytest.mark.parametrize(
    ("entries", "apart", "distances"),
    [
        (entry(2, "1") + entry(3, "2") + entry(4, "40"), "1ms", ["1ms", "2ms", "40ms"]),
        # More releases take no less time than fewer, and what the first one says already is not a list.
        (entry(5, "40") + entry(2, "1"), "1ms", ["1ms", "1ms", "1ms", "40ms"]),
        (entry(2, "10") + entry(3, "20") + entry(4, ""), "10ms", None),
    ],
)
def test_an_arrival_curve_is_least_distances(
    tmp_path: Path, entries: str, apart: str, distances: list[str] | None
) -> None:
    imported = import_amalthea(edited(tmp_path, (CURVE, entries)))
    valid(imported)
    task = imported.system["tasks"]["alarm"]
    assert (task["min_interarrival"], task.get("min_distances")) == (apart, distances)


@pytest.mark.parametrize(
    ("count", "length", "inside", "apart", "distances"),
    [
        ("3", "4", "1", "1ms", ["1ms", "2ms", "48ms"]),
        ("1", "4", "1", "46ms", None),
        # The first of a burst may follow the last of the one before closer than they follow each other.
        ("2", "48", "10", "2ms", ["2ms", "12ms"]),
        ("40", "40", "1", "1ms", [*(f"{n}ms" for n in range(1, 40)), "49ms"]),
        ("400", "40", "0.1", "100us", None),
    ],
)
def test_periodic_bursts_are_least_distances(
    tmp_path: Path, count: str, length: str, inside: str, apart: str, distances: list[str] | None
) -> None:
    text = "".join(
        f'<{name} value="{value}" unit="ms"/>'
        for name, value in (("recurrence", "50"), ("burstLength", length), ("occurrenceMinDistance", inside))
    )
    burst = TYPE.replace("ArrivalCurveStimulus", "PeriodicBurstStimulus") + f' occurrenceCount="{count}"'
    file = edited(
        tmp_path,
        ("rare?type=ArrivalCurveStimulus", "rare?type=PeriodicBurstStimulus"),
        (TYPE.replace("rare?type=ArrivalCurveStimulus", "rare?type=PeriodicBurstStimulus"), burst),
        (CURVE, text),
    )
    imported = import_amalthea(file)
    valid(imported)
    task = imported.system["tasks"]["alarm"]
    assert (task["min_interarrival"], task.get("min_distances")) == (apart, distances)


def test_a_jitter_beyond_the_period_keeps_its_least_distance(tmp_path: Path) -> None:
    jitter = '<upperBound value="20" unit="us"/></jitter>'
    late = jitter.replace("20", "2500") + '<minDistance value="100" unit="us"/>'
    imported = import_amalthea(edited(tmp_path, (jitter, late)))
    task = next(t for t in imported.system["tasks"].values() if "jitter" in t)
    assert (task["period"], task["jitter"], task["min_distances"]) == ("1ms", "2500us", ["100us"])


def test_task_without_mapping_is_placed_and_said(tmp_path: Path) -> None:
    path = edited(tmp_path, ('<taskAllocation task="log?type=Task" scheduler="s1?type=TaskScheduler"/>', ""))
    imported = import_amalthea(path)
    assert imported.system is not None
    assert imported.system["tasks"]["log"]["on"] in ("big-0", "little-0")
    assert any(what == "placement" for what, _ in imported.report.changed)
    valid(imported)


def test_equal_priorities_stay_equal(tmp_path: Path) -> None:
    path = edited(tmp_path, ('priority="7"', 'priority="3"'))
    imported = import_amalthea(path)
    assert imported.system is not None
    tasks = imported.system["tasks"]
    assert (tasks["sample"]["priority"], tasks["control"]["priority"]) == (3, 3)
    kept = [names for (what, _), names in imported.report.changed.items() if what == "equal priorities"]
    assert kept == [["sample on big-0", "control on big-0"]]
    valid(imported)


def test_without_priorities_the_order_is_said(tmp_path: Path) -> None:
    none = ('<schedulingParameters priority="7"/>', ""), ('<schedulingParameters priority="3"/>', "")
    imported = import_amalthea(edited(tmp_path, *none))
    said = [names for (_, how), names in imported.report.changed.items() if "shorter deadline" in how]
    assert said == [["sample on big-0", "control on big-0"]]


def test_deadline_that_cannot_be_held_is_imported(tmp_path: Path) -> None:
    """The verdict is the analysis's: exit status 1, not a refused model."""
    path = edited(tmp_path, ('<limitValue value="4" unit="ms"/>', '<limitValue value="9" unit="us"/>'))
    imported = import_amalthea(path)
    assert imported.system is not None and imported.system["tasks"]["control"]["deadline"] == "9us"
    valid(imported)


def test_zero_needs_no_unit(tmp_path: Path) -> None:
    path = edited(tmp_path, ('<limitValue value="4" unit="ms"/>', '<limitValue value="0"/>'))
    imported = import_amalthea(path)
    assert imported.system is not None and "deadline" not in imported.system["tasks"]["control"]


@pytest.mark.parametrize(
    ("root", "words"),
    [
        (
            '<central:AMALTHEA xmlns:central="http://www.amalthea.itea2.org/model/1.3.0/central"/>',
            "ITEA2 release 1.3.0",
        ),
        ('<am:SWModel xmlns:am="http://www.amalthea.itea2.org/model/1.2.0/sw"/>', "ITEA2 release 1.2.0"),
        ('<am:HWModel xmlns:am="http://app4mc.eclipse.org/amalthea/0.6.0"/>', "release '0.6.0'"),
    ],
)
def test_a_release_that_is_too_old_is_named(tmp_path: Path, root: str, words: str) -> None:
    file = tmp_path / "old.amxmi"
    file.write_text(root)
    with pytest.raises(BadInput, match=re.escape(words)) as raised:
        import_amalthea(file)
    assert "0.7 to 3.x are read" in str(raised.value)


def test_distribution_without_upper_bound_gives_no_wcet(tmp_path: Path) -> None:
    bare = '<default xsi:type="am:DiscreteValueGaussDistribution" mean="10000" sd="10"/>'
    path = edited(tmp_path, ('<default xsi:type="am:DiscreteValueConstant" value="10000"/>', bare))
    imported = import_amalthea(path)
    assert imported.system is not None and "wcet" not in imported.system["tasks"]["control"]
    assert any(what == "execution time" for what, _ in imported.report.left_out)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("amalthea/1.0.0", "amalthea/0.6.2", "the model is of release '0.6.2'; releases 0.7 to 3.x are read"),
        ("amalthea/1.0.0", "amalthea/4.0.0", "the model is of release '4.0.0'"),
        ("http://app4mc.eclipse.org/amalthea/1.0.0", "http://example.org/x", "not an Amalthea model"),
        ("</am:Amalthea>", "", "is not well-formed XML: no element found"),
        ('unit="KiB"', 'unit="KIB"', "the unit 'KIB' is not known"),
        ('<recurrence value="1" unit="ms"/>', "", "has no recurrence; add one above 0"),
        ('value="20" unit="us"/></jitter>', 'value="x" unit="us"/></jitter>', "'x' is not a number"),
        (
            'lowerBound="1000" upperBound="3000"',
            'lowerBound="4000" upperBound="3000"',
            "is above the upper bound",
        ),
        ('lowerBound="1000"', 'lowerBound="1e999999999"', "is not a number"),
        ('priority="7"', 'priority="7.5"', "is not a 32-bit whole number"),
        ('xmi:id="log?type=Task"', 'xmi:id="control?type=Task"', "the id 'control?type=Task' stands twice"),
    ],
)
def test_errors_name_file_and_what(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = edited(tmp_path, (old, new))
    with pytest.raises(BadInput) as caught:
        import_amalthea(path)
    assert str(path) in str(caught.value) and message in str(caught.value)
    assert caught.value.exit_status == 2


def test_runnables_that_call_themselves(tmp_path: Path) -> None:
    loop = '<items xsi:type="am:RunnableCall" runnable="law?type=Runnable"/>'
    path = edited(
        tmp_path, ('<items xsi:type="am:LabelAccess" data="gains?type=Label" access="read"/>', loop)
    )
    with pytest.raises(BadInput, match="calls itself"):
        import_amalthea(path)


def test_entities_are_never_expanded(tmp_path: Path) -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>\n<!--'
    path = edited(tmp_path, ("<!--", bomb))
    with pytest.raises(BadInput, match="declares a document type"):
        import_amalthea(path)


def test_deep_nesting_is_refused(tmp_path: Path) -> None:
    path = edited(tmp_path, ("</mappingModel>", "<a>" * 5000 + "</a>" * 5000 + "</mappingModel>"))
    with pytest.raises(BadInput, match="nested more than"):
        import_amalthea(path)


def test_large_model(tmp_path: Path) -> None:
    path = tmp_path / "large.amxmi"
    path.write_text(large_model(runnables=1250, labels=10_000), encoding="utf-8")
    imported = import_amalthea(path)
    assert imported.system is not None
    labels = [len(names) for (what, _), names in imported.report.left_out.items() if what == "label"]
    # Every label is a channel or is said to be left out.
    assert sum(labels) + len(imported.system["channels"]) >= 10_000
    assert len(imported.system["tasks"]) == 36
    valid(imported)


def waters(name: str) -> Path:
    for folder in FOLDERS:
        if (folder / name).is_file():
            return folder / name
    pytest.skip(f"{name} of the WATERS 2019 challenge is not on this machine")


@pytest.mark.parametrize("name", ["mobstr.amxmi", "mobstr-mapped.amxmi"])
def test_waters_2019(name: str) -> None:
    imported = import_amalthea(waters(name))
    assert imported.system is not None and imported.platform is not None
    assert {n: c["count"] for n, c in imported.platform["cores"].items()} == {
        "GPU_def": 1,
        "A57": 4,
        "Denver": 2,
    }
    tasks = imported.system["tasks"]
    assert len(tasks) == 14
    # 21,736,000 cycles at 2 GHz on the one, 27,320,000 on the other.
    assert tasks["Lidar_Grabber"]["wcet"] == {"A57": "22410us", "Denver": "14368us"}
    inner = import_amalthea(waters(name), within=True).system
    assert inner is not None
    assert inner["tasks"]["Lidar_Grabber"]["wcet"] == {"A57": "13660us", "Denver": "10868us"}
    assert tasks["Lidar_Grabber"]["bcet"] == {"A57": "10160us", "Denver": "9794us"}
    left = {name: why for (what, why), names in imported.report.left_out.items() for name in names
            if what == "execution times of tasks"}  # fmt: skip
    for name, why in (
        ("PRE_Detection_gpu_POST", "it waits for an event: a bound would be too low"),
        (
            "Detection",
            "UserSpecificSchedulingAlgorithm serves the tasks of its core: a bound would be too low",
        ),
    ):
        assert "wcet" not in tasks[name] and left[name].startswith(why)
    assert imported.system["channels"]["Occupancy_grid_host"]["size"] == "500kB"
    # The published bound of the planner exceeds its published deadline on every processor.
    assert (inner["tasks"]["Planner"]["wcet"]["A57"], tasks["Planner"]["deadline"]) == ("13241911ns", "12ms")
    valid(imported)


def test_waters_2019_mapping() -> None:
    imported = import_amalthea(waters("mobstr-mapped.amxmi"))
    assert imported.system is not None
    placed = {name: task["on"] for name, task in imported.system["tasks"].items()}
    assert placed["Planner"] == "Denver-0" and placed["CANbus_polling"] == "A57-0" == placed["EKF"]
    assert placed["Detection"] == "GPU_def-0" and placed["DASM"] == "A57-3"
    assert imported.system["tasks"]["CANbus_polling"]["priority"] == 5


CALLS_READ = '<items xsi:type="am:RunnableCall" runnable="read+sensor?type=Runnable"/>'
ALGORITHM = '"am:FixedPriorityPreemptive"'


@pytest.mark.parametrize(
    ("changes", "unsaid", "why"),
    [
        *(
            ([(CALLS_READ, f'{CALLS_READ}<items xsi:type="am:{item}"/>')], {"sample"} if why else set(), why)
            for item, why in (
                ("WaitEvent", "it waits for an event"),
                ("SemaphoreAccess", "it waits for a semaphore"),
                ("SynchronousServerCall", "it waits for a server"),
                ("EnforcedMigration", "it goes on on another core"),
                ("SetEvent", ""),
            )
        ),
        (
            [('stimuli="fast?type=Per', 'stimuli="slow?type=PeriodicStimulus fast?type=Per')],
            {"sample"},
            "it has releases of several stimuli",
        ),
        ([('<upperBound value="20" unit="us"/>', "")], {"sample"}, "its jitter has no upper bound"),
        ([(ALGORITHM, '"am:PfairPD2"')], {"sample", "control"}, "PfairPD2 serves the tasks of its core"),
        (
            [('name="control" stimuli="slow?type=PeriodicStimulus" preemption="preemptive"',
              'name="control" stimuli="slow?type=PeriodicStimulus" preemption="non_preemptive"')],
            {"sample", "control"},
            "control is not preempted whenever it runs",
        ),
        # Nobody knows how often it comes, and it keeps the others of its core from it.
        (
            [('"fast?type=PeriodicStimulus" name="fast">', '"fast?type=PeriodicStimulus" name="fast2">'),
             ('stimuli="fast?type=PeriodicStimulus"', 'stimuli="once?type=SingleStimulus"')],
            {"control"},
            "sample may run on its core, and is left out",
        ),
    ],
)  # fmt: skip
def test_a_time_that_the_model_does_not_say_leaves_no_bound(
    tmp_path: Path, changes: list[tuple[str, str]], unsaid: set[str], why: str
) -> None:
    imported = import_amalthea(edited(tmp_path, *changes))
    valid(imported)
    assert imported.system is not None
    tasks = imported.system["tasks"]
    # `log` is released by `control`, and needs its bound.
    assert {name for name, task in tasks.items() if "wcet" not in task} - {"log"} == unsaid
    said = [
        text
        for (what, text), names in imported.report.left_out.items()
        if what == "execution times of tasks" and unsaid & set(names)
    ]
    assert all(text.startswith(f"{why}: a bound would be too low") for text in said) and bool(said) == bool(
        why
    )


@pytest.mark.parametrize("often", ["²", "-2", "0", "1", "99999999999999999999", ""])
def test_odd_numbers_of_occurrences_are_no_distances(tmp_path: Path, often: str) -> None:
    change = ('numberOfOccurrences="2"', f'numberOfOccurrences="{often}"')
    imported = import_amalthea(edited(tmp_path, change))
    assert imported.system is not None and "alarm" not in imported.system["tasks"]
    assert ("task", "no period or least distance of releases is known") in imported.report.left_out


@pytest.mark.parametrize(
    ("given", "odd", "words"),
    [
        (
            'recurrence value="1" unit="ms"',
            'recurrence value="1e-40" unit="ms"',
            "is not a time that Consort takes",
        ),
        ('recurrence value="5" unit="ms"', 'recurrence value="2e9" unit="ms"', "0, or 1ps to 1000000s"),
        ('maximum value="40" unit="ms"', 'maximum value="2e9" unit="ms"', "is not a time that Consort takes"),
        ('value="10000"', 'value="-1"', "a number of cycles is below 0"),
        ('value="5"/>', 'value="-5"/>', "a number of cycles is below 0"),
        ('value="5"/>', 'value="1e40"/>', "a latency of it is longer than 1000000s"),
        ('value="1.0" unit="GHz"', 'value="1e-40" unit="GHz"', "a clock is below 1 Hz"),
        ('value="300" unit="MHz"', 'value="1e99" unit="MHz"', "1e99 MHz is more than any machine has"),
        ('value="4" unit="B"', 'value="1e99" unit="B"', "1e99 B is more than any machine has"),
    ],
)
def test_numbers_that_no_machine_has_are_refused_with_their_line(
    tmp_path: Path, given: str, odd: str, words: str
) -> None:
    with pytest.raises(BadInput, match=re.escape(words)) as refused:
        import_amalthea(edited(tmp_path, (given, odd)))
    assert refused.value.line


def test_a_core_has_a_name_that_is_not_too_long(tmp_path: Path) -> None:
    valid(import_amalthea(edited(tmp_path, ('name="big"', f'name="{300 * "b"}"'))))
