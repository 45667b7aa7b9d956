# SPDX-License-Identifier: Apache-2.0
"""The judge: every time of a run against its bound, every output against its expected value.

verdict = judge(RawRun.load(folder), Bounds.of(analyze(plan)), expected={"servo": Expected(rows)})
writer.add_configuration("local", "local", raw, verdict=verdict)
"""

from consort.judge.judge import judge
from consort.judge.outputs import Expected, WrongOutput
from consort.judge.verdict import Bounds, Limit, Verdict
from consort.record.findings import Check, JobCounts, Row

__all__ = ["Bounds", "Check", "Expected", "JobCounts", "Limit", "Row", "Verdict", "WrongOutput", "judge"]
