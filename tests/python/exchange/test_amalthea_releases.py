# SPDX-License-Identifier: Apache-2.0
"""AMALTHEA models of APP4MC 0.7.0 to 0.9.2: each step of the migration, and models in several files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from consort.base.errors import BadInput
from consort.exchange.amalthea.importer import import_amalthea
from consort.exchange.conventions import Imported
from consort.model import platform_from_data, system_from_data

OLD = Path(__file__).parent / "data" / "release-0.7.2.amxmi"
# The file's figures, counted by hand: 88,000 and 20,000 instructions, two a cycle, at 100 MHz. An access to
# the memory takes 7 cycles; what it takes from the other core the file does not say.
TASKS = {
    "fast": {
        "period": "1ms",
        "offset": "50us",
        "jitter": "20us",
        "deadline": "900us",
        "wcet": {"z6": "540140ns"},
        "bcet": {"z6": "360us"},
        "on": "z6-0",
        "priority": 7,
    },
    "slow": {
        "period": "1ms",
        "offset": "50us",
        "jitter": "560140ns",
        "wcet": {"z6": "100070ns"},
        "bcet": {"z6": "100us"},
        "on": "z6-0",
        "priority": 0,
    },
    "rare": {
        "min_interarrival": "30ms",
        "on": "z6-2-0",
        "priority": 0,
    },
}
# The same of another release: what has another name or form there.
TO_070 = (
    ("amalthea/0.7.2", "amalthea/0.7.0"),
    ('<size value="4" unit="byte"/>', '<size numberBits="32"/>'),
    (
        '<memoryTypes name="kind of RAM" type="RAM"><size value="512" unit="kB"/></memoryTypes>',
        '<memoryTypes name="kind of RAM" type="RAM" size="512000"/>',
    ),
    (
        '<quartzes name="crystal" type="STATIC"><frequency value="100.0" unit="MHz"/></quartzes>',
        '<quartzes name="crystal" type="STATIC" frequency="100000000"/>',
    ),
    ("<items xsi:type", "<graphEntries xsi:type"),
    ("</items></entries>", "</graphEntries></entries>"),
)
TO_071 = (
    ("amalthea/0.7.2", "amalthea/0.7.1"),
    (
        '<runnableItems xsi:type="am:RunnableInstructions">'
        '<default xsi:type="am:InstructionsConstant" value="20000"/>'
        "</runnableItems>",
        '<runnableItems xsi:type="am:Group" ordered="true"><items>'
        '<runnableItem xsi:type="am:InstructionsConstant"'
        ' value="20000"/></items></runnableItems>',
    ),
    (
        '<runnableItems xsi:type="am:RunnableInstructions">'
        '\n        <default xsi:type="am:InstructionsDeviation">',
        '<runnableItems xsi:type="am:ProbabilityGroup"><items probability="100">'
        '<runnableItem xsi:type="am:InstructionsDeviation">',
    ),
    (
        "</deviation>\n        </default>\n      </runnableItems>",
        "</deviation></runnableItem></items></runnableItems>",
    ),
    ('<tasks name="fast"', '<tasks name="fast" size="1"'),
)
TO_080 = (
    ("amalthea/0.7.2", "amalthea/0.8.0"),
    ("ProbabiltitySwitch", "ProbabilitySwitch"),
    ('unit="byte"', 'unit="B"'),
    ('<mapping xsi:type="am:AbstractElementMapping"', "<memoryMapping"),
    ("SignedTime", "Time"),
)
TO_082 = (
    *TO_080,
    ("amalthea/0.8.0", "amalthea/0.8.2"),
    *((f"type={kind}", f"type={kind}Stimulus") for kind in ("Periodic", "InterProcess", "Sporadic")),
    *(
        (f'"am:{kind}" name', f'"am:{kind}Stimulus" name')
        for kind in ("Periodic", "InterProcess", "Sporadic")
    ),
    ("InterProcessActivation", "InterProcessTrigger"),
    ('priority="7"/>', '><schedulingParameters priority="7"/></taskAllocation>'),
    (
        'scheduler="s0?type=TaskScheduler" priority="0"/>',
        'scheduler="s0?type=TaskScheduler"><schedulingParameters priority="0"/></taskAllocation>',
    ),
    (
        '<taskAllocation task="rare?type=Task" scheduler="s1?type=TaskScheduler"/>',
        '<taskAllocation task="rare?type=Task" scheduler="s1?type=TaskScheduler">'
        '<schedulingParameters priority="0"/></taskAllocation>',
    ),
    ("coreAllocation", "schedulerAllocation"),
    (' core="', ' responsibility="'),
)
TO_083 = (
    *TO_082,
    ("amalthea/0.8.2", "amalthea/0.8.3"),
    ("now+and+then?type=SporadicStimulus", "now+and+then?type=RelativePeriodicStimulus"),
    ("am:SporadicStimulus", "am:RelativePeriodicStimulus"),
    (
        '<stimulusDeviation><lowerBound xsi:type="am:Time" value="30"',
        '<nextOccurrence><lowerBound xsi:type="am:Time" value="30"',
    ),
    ('value="90" unit="ms"/></stimulusDeviation>', 'value="90" unit="ms"/></nextOccurrence>'),
    ("stimulusDeviation>", "jitter>"),
)


def written(folder: Path, *changes: tuple[str, str]) -> Path:
    text = OLD.read_text()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    path = folder / "model.amxmi"
    path.write_text(text)
    return path


def tasks(imported: Imported) -> dict[str, Any]:
    platform = platform_from_data(imported.platform)
    system_from_data(imported.system, platform=platform)
    found: dict[str, Any] = imported.system["tasks"]
    return found


def test_a_model_of_0_7_2_is_read() -> None:
    imported = import_amalthea(OLD)
    assert tasks(imported) == TASKS
    assert (
        imported.comment == "Imported from release-0.7.2.amxmi, an AMALTHEA model of release 0.7.2, migrated."
    )
    assert imported.system["channels"]["speed"] == {
        "kind": "sporadic",
        "from": "fast",
        "to": ["slow", "rare"],
        "size": "4B",
        "memory": "ram",
    }
    # 7 cycles of 100 MHz, the dearer of reading and writing, of 32 bits.
    assert imported.platform["memories"]["ram"] == {
        "kind": "sram",
        "size": "500KiB",
        "access": {"from": {"z6": {"base": "70ns", "granularity": "4B"}}},
    }
    assert [imported.platform["processors"][name]["clock"] for name in ("z6", "z6-2")] == ["100MHz", "250MHz"]
    left = imported.report.left_out
    assert left["scheduler's own execution", "not modelled"] == ["s0"]
    assert left["hardware: networks", "not modelled"] == ["bus"]
    assert left["clock of memory", "its latencies count the core's cycles"] == ["ram"]


@pytest.mark.parametrize(
    "changes", [TO_070, TO_071, TO_080, TO_082, TO_083], ids=["070", "071", "080", "082", "083"]
)
def test_the_same_model_of_other_releases_is_the_same(
    tmp_path: Path, changes: tuple[tuple[str, str], ...]
) -> None:
    imported, expected = import_amalthea(written(tmp_path, *changes)), import_amalthea(OLD)
    assert tasks(imported) == TASKS
    assert (imported.platform, imported.system["channels"]) == (
        expected.platform,
        expected.system["channels"],
    )


def test_the_files_of_an_old_model_are_one(tmp_path: Path) -> None:
    """Each part in a file of its own, some of them as the root, and references from file to file."""
    text = OLD.read_text()
    start = text.index("<am:Amalthea")
    opening = text[start : text.index(">", start) + 1]
    roots = {"swModel": "SWModel", "hwModel": "HWModel", "stimuliModel": "StimuliModel"}
    for part in ("swModel", "hwModel", "osModel", "stimuliModel", "constraintsModel", "mappingModel"):
        begin, end = text.index(f"<{part}"), text.index(f"</{part}>")
        inner = text[text.index(">", begin) + 1 : end]
        if part in roots:
            whole = opening.replace("am:Amalthea", f"am:{roots[part]}") + inner + f"</am:{roots[part]}>"
        else:
            whole = f"{opening}<{part}>{inner}</{part}></am:Amalthea>"
        (tmp_path / f"{part}.amxmi").write_text(whole)
    stimuli = tmp_path / "swModel.amxmi"
    inner = stimuli.read_text().replace(
        ' stimuli="every+1ms?type=Periodic" preemption="preemptive">',
        ' preemption="preemptive"><stimuli xsi:type="am:Periodic" href="amlt:/#every+1ms?type=Periodic"/>',
    )
    stimuli.write_text(inner)
    assert tasks(import_amalthea(tmp_path)) == TASKS


def test_files_of_two_old_releases_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.amxmi"
    other.write_text(
        '<am:SWModel xmlns:am="http://app4mc.eclipse.org/amalthea/0.7.1" '
        'xmlns:xmi="http://www.omg.org/XMI" xmi:version="2.0"/>'
    )
    with pytest.raises(BadInput, match=r"is of release 0\.7\.1, and release-0\.7\.2\.amxmi of 0\.7\.2"):
        import_amalthea(OLD, other)


def test_priorities_of_tasks_count_where_allocations_have_none(tmp_path: Path) -> None:
    changes = (
        ('scheduler="s0?type=TaskScheduler" priority="7"', 'scheduler="s0?type=TaskScheduler" priority="0"'),
        ('<tasks name="fast" priority="0"', '<tasks name="fast" priority="3"'),
        ('<tasks name="slow" priority="0"', '<tasks name="slow" priority="5"'),
    )
    imported = import_amalthea(written(tmp_path, *changes))
    assert [tasks(imported)[name]["priority"] for name in ("fast", "slow")] == [3, 5]
    assert imported.report.changed["own priority of task", "taken: allocations have none"] == ["fast", "slow"]
    both = import_amalthea(written(tmp_path, changes[1]))
    assert tasks(both)["fast"]["priority"] == 7
    assert both.report.left_out["own priority of task", "allocations have priorities, too"] == ["fast"]


def test_zeros_everywhere_are_no_priorities(tmp_path: Path) -> None:
    changes = (
        ('scheduler="s0?type=TaskScheduler" priority="7"', 'scheduler="s0?type=TaskScheduler" priority="0"'),
    )
    assert not any(
        "priority" in task for task in tasks(import_amalthea(written(tmp_path, *changes))).values()
    )


def test_a_period_of_a_clock_is_none(tmp_path: Path) -> None:
    """A clock's rate varies: the recurrence is not the least distance in time."""
    clocked = (
        '<stimuli xsi:type="am:Periodic" name="every 1ms">',
        '<stimuli xsi:type="am:Periodic" name="every 1ms" clock="crank?type=ClockTriangleFunction">',
    )
    imported = import_amalthea(written(tmp_path, clocked))
    assert set(tasks(imported)) == {"rare"}
    left = imported.report.left_out
    assert left["stimulus", "VariableRateStimulus gives no least distance"] == ["every 1ms", "every 1ms"]
    assert left["deviation of stimulus", "PeriodicStimulus is not bounded by one"] == ["every 1ms"]


@pytest.mark.parametrize(
    ("old", "new", "what", "why"),
    [
        (
            'clockRatio="2.5"',
            'clockRatio="0.0"',
            "clock of core",
            "its quartz has no frequency, or its ratio is 0",
        ),
        (
            'accessType="R" transferSize="0" quartz="crystal',
            'accessType="R" quartz="other',
            "latency of access path",
            "it counts cycles of another clock than the core's",
        ),
        ("am:LatencyAccessPath", "am:HwAccessPath", "access path", "no latencies from a core to a memory"),
    ],
)
def test_what_cannot_be_carried_over_is_reported(
    tmp_path: Path, old: str, new: str, what: str, why: str
) -> None:
    assert (what, why) in import_amalthea(written(tmp_path, (old, new))).report.left_out


def test_a_clock_ratio_that_is_no_number_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"prescaler 'p1'.*'fast' is not a number"):
        import_amalthea(written(tmp_path, ('clockRatio="2.5"', 'clockRatio="fast"')))


@pytest.mark.parametrize("release", ["0.9.0", "0.9.2"])
def test_latencies_before_0_9_3_are_cycles(tmp_path: Path, release: str) -> None:
    """They were a constant of cycles, or a deviation of them; without the step they would be left out."""
    small = (OLD.parent / "small.amxmi").read_text()
    for old, new in (
        ("amalthea/1.0.0", f"amalthea/{release}"),
        (
            '<readLatency xsi:type="am:DiscreteValueConstant" value="5"/>',
            '<readLatency xsi:type="am:LatencyConstant" cycles="5"/>',
        ),
        (
            '<writeLatency xsi:type="am:DiscreteValueConstant" value="7"/>',
            '<writeLatency xsi:type="am:LatencyDeviation">'
            '<cycles><lowerBound xsi:type="am:LongObject" value="1"/>'
            '<upperBound xsi:type="am:LongObject" value="7"/></cycles></writeLatency>',
        ),
    ):
        assert old in small
        small = small.replace(old, new)
    path = tmp_path / "small.amxmi"
    path.write_text(small)
    assert import_amalthea(path).platform["memories"]["ram"]["access"]["from"]["big"] == {"base": "7ns"}
