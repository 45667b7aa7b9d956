# SPDX-License-Identifier: Apache-2.0
"""Partition configurations of real boards, and the static tables of the scratchpad-centric kernel."""

from consort.board.generate.kernel import TableOptions, Tables
from consort.board.generate.plan import PartitionOptions, Plan, make_plan
from consort.board.generate.scratchpad import make_tables
from consort.board.generate.tables import summary, table_files
from consort.board.generate.write import FORMATS, files, write_together

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
