# SPDX-License-Identifier: Apache-2.0
"""Findings of address and undefined-behaviour sanitizers in a program's words, one line a finding."""

from __future__ import annotations

import re

# A finding ends the process by a signal, which the executive ascribes to a task and a job. What a process
# still has when it ends is no leak of a step.
ENVIRONMENT = {
    "ASAN_OPTIONS": "abort_on_error=1:detect_leaks=0:print_legend=0",
    "UBSAN_OPTIONS": "halt_on_error=1:abort_on_error=1:print_stacktrace=1",
}

_UNDEFINED = re.compile(r"^(?P<where>\S+?:\d+:\d+): runtime error: (?P<what>.+)$")
_ADDRESS = re.compile(r"^SUMMARY: AddressSanitizer: (?P<what>\S+) (?P<where>.+)$")
_ACCESS = re.compile(r"^(?P<access>READ|WRITE) of size (?P<bytes>\d+) ")
_REPORT = re.compile(
    r"^(=+\d*=*|==\d+==.*|SUMMARY: .*|\s*#\d+ .*|(READ|WRITE) of size .*|\s*|"
    r"(?P<note>(0x[0-9a-f]+|Address 0x[0-9a-f]+|HINT|AddressSanitizer:DEADLYSIGNAL|allocated by|freed by|"
    r"previously allocated|Shadow bytes|\s*=?>?0x[0-9a-f]+:).*)|\s*\[\d+, \d+\).*|\s*This frame has .*|"
    r"\s*\(longjmp .*|.* is located .*|Thread T\d+ .*|(/\S*|\S+\.[ch]pp):\d+:\d+: note:.*)$"
)


def findings_in(words: str) -> tuple[list[str], str]:
    """The findings in what a program said, and what else it said."""
    lines = words.splitlines()
    if not any(_UNDEFINED.match(line) or _ADDRESS.match(line) for line in lines):
        return [], words
    findings: list[str] = []
    access = ""
    rest = []
    for line in lines:
        if undefined := _UNDEFINED.match(line):
            findings.append(f"undefined behaviour at {undefined['where']}: {undefined['what']}")
        elif address := _ADDRESS.match(line):
            findings.append(f"{address['what']}{access} at {address['where']}")
            access = ""
        elif found := _ACCESS.match(line):
            access = f", a {found['access'].lower()} of {found['bytes']} bytes,"
        elif not _REPORT.match(line):
            rest.append(line)
    return list(dict.fromkeys(findings)), "\n".join(rest).strip()
