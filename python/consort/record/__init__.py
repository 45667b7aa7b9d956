# SPDX-License-Identifier: Apache-2.0
"""Recorded runs: a measuring program's raw records, and the run folder made of them."""

from consort.record.ran import Ran
from consort.record.raw import IncompleteRun, RawRun, RawTable
from consort.record.sections import Held, Judgement
from consort.record.store import Run, default_root, list_runs, load_run
from consort.record.summary import PROVENANCE, Summary, summarise
from consort.record.writer import RunWriter

__all__ = [
    "PROVENANCE",
    "Held",
    "IncompleteRun",
    "Judgement",
    "Ran",
    "RawRun",
    "RawTable",
    "Run",
    "RunWriter",
    "Summary",
    "default_root",
    "list_runs",
    "load_run",
    "summarise",
]
