# SPDX-License-Identifier: Apache-2.0
"""What is made of a finished run: one self-contained HTML page, and a trace for Perfetto."""

from consort.report.page import write_report
from consort.report.trace import write_trace

__all__ = ["write_report", "write_trace"]
