# SPDX-License-Identifier: Apache-2.0
"""Choosing where each task runs: docs/explanation/placement.md."""

from consort.base.packages import make_callable

make_callable(__name__, "consort.place.call", "place")
