# SPDX-License-Identifier: Apache-2.0
"""The site of `make docs` has every page once; its links lead to pages, and what else was a link is text."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
SPEC = importlib.util.spec_from_file_location("site_pages", ROOT / "tools" / "site" / "pages.py")
assert SPEC is not None and SPEC.loader is not None
site = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(site)

PAGE = "docs/how-to/sweep.md"
PAGES = {"README.md", PAGE, "docs/tutorial/notebook.ipynb", "examples/servo/README.md"}


def test_links_lead_to_pages_of_the_site() -> None:
    broken: list[str] = []
    for link, expected in (
        ("[a](../tutorial/notebook.ipynb)", "[a](../tutorial/notebook.md)"),
        ("[a](../../README.md#two-commands)", "[a](../../index.md#two-commands)"),
        ("[`a`](../../examples/servo)", "[`a`](../../examples/servo/README.md)"),
        ("[a](../../LICENSE), [b](#here)", "a, [b](#here)"),
        ("[a](https://example.org/b.md) ![c](c.svg)", "[a](https://example.org/b.md) ![c](c.svg)"),
    ):
        assert site.relinked(link, PAGE, PAGES, broken) == f"{expected}\n"
    assert broken == []
    site.relinked("```sh\n[a](none.md)\n```\n[b](none.md)", PAGE, PAGES, broken)
    assert broken == [f"{PAGE}: none.md is missing"]


def test_each_page_stands_in_the_side_bar_once(tmp_path: Path) -> None:
    assert site.lay_out(tmp_path) == []
    made = {file.relative_to(tmp_path).as_posix() for file in tmp_path.rglob("*.md")}
    bar = (tmp_path / "index.md").read_text(encoding="utf-8").partition("```{toctree}")[2]
    listed = [line for line in bar.splitlines() if re.fullmatch(r"[\w/.-]+\.md", line)]
    assert sorted([*listed, "index.md"]) == sorted(made)
    assert listed[0].startswith("docs/tutorial/")
    assert "```python\nimport consort" in (tmp_path / "docs/tutorial" / "notebook.md").read_text(
        encoding="utf-8"
    )
