# SPDX-License-Identifier: Apache-2.0
"""Partition configurations of real boards, and the static tables of the scratchpad-centric kernel."""

from consort.generate.folder import write_together
from consort.generate.kernel import TableOptions, Tables
from consort.generate.plan import PartitionOptions, Plan, make_plan
from consort.generate.scratchpad import make_tables
from consort.generate.tables import summary, table_files
from consort.generate.write import FORMATS, files

__all__ = [
    "FORMATS",
    "PartitionOptions",
    "Plan",
    "TableOptions",
    "Tables",
    "files",
    "make_plan",
    "make_tables",
    "summary",
    "table_files",
    "write_together",
]
