# SPDX-License-Identifier: Apache-2.0
"""Mutants of good inputs, the same for the same seed: bytes and slices moved, numbers and words replaced."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence

NUMBERS = (b"0", b"-1", b"1", b"255", b"65536", b"4294967295", b"4294967296", b"9223372036854775807")
NUMBERS += (b"18446744073709551616", b"1e999", b"-0.0", b"0x", b"9" * 5000, b"NaN", b"Infinity")
WORDS = (b"", b"null", b"true", b"[]", b"{}", b'""', b"..", b"/etc/passwd", b"../../x", b"\x00", b"\xff\xfe")
WORDS += (b"~", b"&a", b"*a", b"<<: *a", b"!!python/object:x", b"---", b"%YAML 1.1", b"\t", b"\n", b"<", b">")
WORDS += (
    b"[[[[",
    b"{{{{",
    b"<![CDATA[",
    b"<!DOCTYPE x>",
    b'/include/ "tree.dts"',
    b"(1 << 99)",
    b"-rf",
    b"a,b=c",
)
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
WORD = re.compile(rb"[A-Za-z_][A-Za-z0-9_-]*|\"[^\"]*\"")
LONGEST = 1 << 20


def mutants(seeds: Sequence[bytes], seed: int, count: int | None = None) -> Iterator[bytes]:
    """`count` mutants (None: without end) of 1 to 8 changes each."""
    source = random.Random(seed)
    made = 0
    while count is None or made < count:
        data = source.choice(seeds)
        for _ in range(source.choice((1, 1, 1, 2, 3, 8))):
            data = _changed(data, seeds, source)[:LONGEST]
        yield data
        made += 1


def _changed(data: bytes, seeds: Sequence[bytes], source: random.Random) -> bytes:
    kind = source.randrange(9)
    if kind in (0, 1):
        return _replaced(data, NUMBER, NUMBERS, source)
    if kind in (2, 3):
        return _replaced(data, WORD, WORDS, source)
    at, end = sorted(source.randrange(len(data) + 1) for _ in range(2))
    if kind == 4 and data:
        place = source.randrange(len(data))
        return data[:place] + bytes([data[place] ^ 1 << source.randrange(8)]) + data[place + 1 :]
    if kind == 5:
        return data[:at] + data[min(end, at + source.randrange(1, 64)) :]
    if kind == 6:
        return data[:at] + data[at:end][:4096] * source.choice((2, 3, 20)) + data[end:]
    if kind == 7:
        other = source.choice(seeds)
        begin = source.randrange(len(other) + 1)
        return data[:at] + other[begin : begin + source.randrange(256)] + data[at:]
    return data[:at] + source.choice(WORDS + NUMBERS) + data[at:]


def _replaced(data: bytes, what: re.Pattern[bytes], by: Sequence[bytes], source: random.Random) -> bytes:
    places = [match.span() for match in what.finditer(data)]
    if not places:
        return data + source.choice(by)
    begin, end = source.choice(places)
    return data[:begin] + source.choice(by) + data[end:]
