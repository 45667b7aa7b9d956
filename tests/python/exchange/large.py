# SPDX-License-Identifier: Apache-2.0
"""A large AMALTHEA model of made-up tasks; as in engine control most labels stay in one task."""

from __future__ import annotations

import random

PERIODS_MS = (1, 2, 5, 10, 20, 50, 100, 200, 1000)


def large_model(runnables: int = 1250, labels: int = 10_000, cores: int = 4, seed: int = 1) -> str:
    """The text of a model with that many runnables and labels, the same for the same seed."""
    choose = random.Random(seed)
    tasks = len(PERIODS_MS) * cores
    accesses: list[list[tuple[int, str]]] = [[] for _ in range(runnables)]
    for label in range(labels):
        kind = choose.random()
        writer = choose.randrange(runnables)
        if kind > 0.4:
            accesses[writer].append((label, "write"))
        # A third of those that are written and read leave their task.
        for _ in range(choose.randrange(1, 4) if kind < 0.9 else 0):
            reader = choose.randrange(runnables)
            if choose.random() < 0.67:
                # Another runnable of the writer's task.
                reader = (reader - reader % tasks + writer % tasks) % runnables
            accesses[reader].append((label, "read"))
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<am:Amalthea xmlns:am="http://app4mc.eclipse.org/amalthea/2.2.0" xmlns:xmi="http://www.omg.org/XMI"'
        ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmi:version="2.0">',
        "<swModel>",
    ]
    for task in range(tasks):
        period = PERIODS_MS[task // cores]
        lines.append(f'<tasks name="T{task}" stimuli="P{period}?type=PeriodicStimulus"><activityGraph>')
        lines += [
            f'<items xsi:type="am:RunnableCall" runnable="R{runnable}?type=Runnable"/>'
            for runnable in range(task, runnables, tasks)
        ]
        lines.append("</activityGraph></tasks>")
    for runnable in range(runnables):
        period = PERIODS_MS[runnable % tasks // cores]
        ticks = period * 200_000 // len(PERIODS_MS) // (runnables // tasks + 1) // 2
        lines.append(f'<runnables name="R{runnable}"><activityGraph>')
        lines += [
            f'<items xsi:type="am:LabelAccess" data="L{label}?type=Label" access="{way}"/>'
            for label, way in accesses[runnable]
        ]
        lines.append(
            '<items xsi:type="am:Ticks"><default xsi:type="am:DiscreteValueStatistics"'
            f' lowerBound="{ticks // 2}" upperBound="{ticks}" average="{ticks * 0.7}"/></items>'
            "</activityGraph></runnables>"
        )
    for label in range(labels):
        size = choose.choice((1, 1, 2, 2, 4, 4, 4, 16, 64))
        lines.append(f'<labels name="L{label}"><size value="{size}" unit="B"/></labels>')
    lines += [
        "</swModel><hwModel>",
        '<definitions xsi:type="am:ProcessingUnitDefinition" name="Tri"/>',
        '<structures name="Ecu">',
        *(
            f'<modules xsi:type="am:ProcessingUnit" name="Core{core}"'
            ' frequencyDomain="Main?type=FrequencyDomain" definition="Tri?type=ProcessingUnitDefinition"/>'
            for core in range(cores)
        ),
        '</structures><domains xsi:type="am:FrequencyDomain" name="Main">',
        '<defaultValue value="200" unit="MHz"/>',
        "</domains></hwModel><osModel><operatingSystems>",
        *(f'<taskSchedulers name="S{core}"/>' for core in range(cores)),
        "</operatingSystems></osModel><stimuliModel>",
        *(
            f'<stimuli xsi:type="am:PeriodicStimulus" name="P{period}">'
            f'<recurrence value="{period}" unit="ms"/></stimuli>'
            for period in PERIODS_MS
        ),
        "</stimuliModel><mappingModel>",
        *(
            f'<schedulerAllocation scheduler="S{core}?type=TaskScheduler"'
            f' responsibility="Core{core}?type=ProcessingUnit"/>'
            for core in range(cores)
        ),
        *(
            f'<taskAllocation task="T{task}?type=Task" scheduler="S{task % cores}?type=TaskScheduler">'
            f'<schedulingParameters priority="{100 - task}"/></taskAllocation>'
            for task in range(tasks)
        ),
        "</mappingModel></am:Amalthea>",
    ]
    return "\n".join(lines)
