# SPDX-License-Identifier: Apache-2.0
"""Partition configurations of real boards: planned once, written in the form of each system."""

from consort.generate.plan import Plan, Wishes, make_plan
from consort.generate.write import FORMATS, files

__all__ = ["FORMATS", "Plan", "Wishes", "files", "make_plan"]
