# SPDX-License-Identifier: Apache-2.0
"""0.8.2 to 0.8.3: stimuli say what deviates: jitter, the next occurrence, occurrences of a curve."""

from __future__ import annotations

from consort.exchange.amalthea.migration.tree import key_of, keys, parts, rename, retype, retype_references
from consort.exchange.report import Report
from consort.exchange.xmltree import Element

RENAMED = {"SporadicStimulus": "RelativePeriodicStimulus", "SyntheticStimulus": "PeriodicSyntheticStimulus"}
# A deviation of these stimuli is a jitter, or the time to the next; for others it has no meaning.
DEVIATIONS = {"PeriodicStimulus": "jitter", "SporadicStimulus": "nextOccurrence"}


def migrate(root: Element, report: Report) -> None:
    for stimulus in parts(root, "stimuliModel", "stimuli"):
        kind = stimulus.type
        clocked = kind == "PeriodicStimulus" and bool(keys(stimulus, "clock"))
        if kind in DEVIATIONS and not clocked:
            rename(stimulus, "stimulusDeviation", DEVIATIONS[kind])
        elif any(child.children for child in stimulus.all("stimulusDeviation")):
            report.leave("deviation of stimulus", stimulus.get("name"), f"{kind} is not bounded by one")
        for entry in stimulus.all("entries"):
            rename(entry, "numberOfEvents", "numberOfOccurrences")
        if clocked:
            # Its period is one of a clock whose rate varies; ids by name follow the kind.
            _rename_kind(root, stimulus, "VariableRateStimulus")
    retype_references(root, RENAMED)
    for element in root.walk():
        if element.type in RENAMED and (element.name == "stimuli" or element.get("href")):
            retype(element, RENAMED[element.type])


def _rename_kind(root: Element, stimulus: Element, kind: str) -> None:
    old = key_of(stimulus, stimulus.type)
    retype(stimulus, kind)
    if "xmi:id" in stimulus.attributes:
        return
    new = key_of(stimulus, kind)
    for element in root.walk():
        for name, text in element.attributes.items():
            if old in text:
                words = (new if word == old else word for word in text.split())
                element.attributes[name] = (
                    text.replace(f"#{old}", f"#{new}") if "#" in text else " ".join(words)
                )
