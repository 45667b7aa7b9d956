# SPDX-License-Identifier: Apache-2.0
"""LLVM's text of a step before it is optimized: the functions that stay separate, and their places."""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import dataclass

SAFEPOINT = "consort_safepoint"
# Lines of LLVM's unoptimized text, those of its debugger among them.
SHORT = 12
_DEFINED = re.compile(r"^define [^@]*@\"?([\w.$]+)\"?\(.*$", re.M)
_BODY_END = "\n}\n"
_CALLED = re.compile(r"\b(?:call|invoke)\b[^@\n]*@\"?([\w.$]+)\"?\(")


@dataclass(frozen=True)
class Place:
    """The place of a function in the source."""

    name: str
    file: str
    line: int


def bodies(text: str) -> dict[str, str]:
    """The text of each defined function, with its first line."""
    found = {}
    for head in _DEFINED.finditer(text):
        end = text.find(_BODY_END, head.start())
        found[head[1]] = text[head.start() : end]
    return found


def reaching(calls: dict[str, set[str]], target: str) -> set[str]:
    """The functions that may call `target`, directly or not."""
    found: set[str] = set()
    more = {target}
    while more:
        more = {name for name, callees in calls.items() if name not in found and callees & more}
        found |= more
    return found


def divided(text: str) -> str:
    """Merges the functions that can stand above a safepoint into few; one that reaches none stays separate.

    The former are instrumented, each at some cost; the latter are as fast and as small as ever, but would be
    instrumented where they were inlined. Short ones without a loop are inlined all the same: they cost less
    there than a call.
    """
    found = bodies(text)
    called = {name: _CALLED.findall(body) for name, body in found.items()}
    above = reaching({name: set(callees) for name, callees in called.items()}, SAFEPOINT)
    times = Counter(callee for callees in called.values() for callee in callees)
    fixed = set(re.findall(r"^attributes #(\d+) = \{[^\n]*\b(?:noinline|alwaysinline)\b", text, re.M))
    attributes: dict[str, list[str]] = {name: ["minsize", "optsize"] for name in above & found.keys()}
    for name in {callee for each in above for callee in called[each]} & found.keys():
        if name in above and times[name] == 1:
            attributes[name].append("alwaysinline")
        elif name not in above and ("!llvm.loop" in found[name] or found[name].count("\n") > SHORT):
            attributes[name] = ["noinline"]
    for name, more in attributes.items():
        head = found[name].split("\n", 1)[0]
        group = re.search(r" #(\d+)", head)
        # Its author has said otherwise.
        if group is None or fixed & {group[1]}:
            continue
        text = text.replace(head, re.sub(r"( #\d+)", rf" {' '.join(more)}\1", head, count=1), 1)
    return text


def places(text: str) -> dict[str, Place]:
    """The place of each function in the source, by the name that the linker knows."""
    files = {
        number: (folder.rstrip("/") + "/" if not name.startswith("/") and folder else "") + name
        for number, name, folder in re.findall(
            r"^(!\d+) = !DIFile\(filename: \"([^\"]*)\", directory: \"([^\"]*)\"", text, re.M
        )
    }
    found = {}
    for body in re.findall(r"!DISubprogram\((.*)\)$", text, re.M):
        name = re.search(r"\bname: \"([^\"]*)\"", body)
        linked = re.search(r"linkageName: \"([^\"]*)\"", body)
        file = re.search(r"\bfile: (!\d+)", body)
        line = re.search(r"\bline: (\d+)", body)
        if name and file and line:
            place = Place(name[1], os.path.normpath(files.get(file[1], "")), int(line[1]))
            found[(linked or name)[1]] = place
    return found
