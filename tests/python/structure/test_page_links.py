# SPDX-License-Identifier: Apache-2.0
"""Links of pages lead to files and headings that exist, and so do the pages that sources name."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest
from loops import for_each

pytestmark = pytest.mark.representative

ROOT = Path(__file__).parents[3]
TRACKED = subprocess.run(
    ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
).stdout.split("\0")
PAGES = [name for name in TRACKED if name.endswith(".md") and (ROOT / name).is_file()]
FENCE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\]\(([^()\s]+)\)")
NAMED = re.compile(r"(?<![\w./-])(?:[\w-]+/)*docs/(?:[\w-]+/)*[\w-]+\.md")
SOURCES = (".py", ".pyi", ".hpp", ".cpp", ".sv", ".yaml", ".c", ".h", ".toml", ".rdl", ".sh", ".md", ".json")


@cache
def text(page: str) -> str:
    return FENCE.sub("", (ROOT / page).read_text(encoding="utf-8"))


@cache
def anchors(page: str) -> set[str]:
    """The headings of a page as GitHub names them."""
    found: set[str] = set()
    for heading in re.findall(r"^#{1,6} +(.*?) *#*$", text(page), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").replace("*", "")
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        count = 0
        while (name := f"{slug}-{count}" if count else slug) in found:
            count += 1
        found.add(name)
    return found


@for_each("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    wrong = []
    for link in LINK.findall(CODE.sub("", text(page))):
        if re.match(r"[a-z+]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (ROOT / page).parent / path if path else ROOT / page
        if not target.exists():
            wrong.append(f"{link}: no such file")
        elif anchor and target.suffix == ".md":
            name = target.resolve().relative_to(ROOT).as_posix()
            if anchor not in anchors(name):
                wrong.append(f"{link}: no such heading")
    assert wrong == []


def test_pages_that_sources_name_exist() -> None:
    wrong = []
    for name in TRACKED:
        if not name.endswith(SOURCES) or name == "CHANGELOG.md" or not (ROOT / name).is_file():
            continue
        tops = [ROOT, ROOT / "remote-memory"] if name.startswith("remote-memory/") else [ROOT]
        for said in NAMED.findall((ROOT / name).read_text(encoding="utf-8", errors="replace")):
            if not any((top / said).is_file() for top in tops):
                wrong.append(f"{name}: {said}")
    assert wrong == []
