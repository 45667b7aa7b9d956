# SPDX-License-Identifier: Apache-2.0
"""`make docs`: every Markdown page of the repository, and the notebook, as one site in build/site/html.

Pages stay where they are in the repository, so that their links hold. A link to what is not a page (a source
file, a folder) becomes its text. A link whose target is missing ends the build, and so does one whose heading
is missing.
"""

from __future__ import annotations

import json
import posixpath
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "build" / "site"
IMAGES = (".svg", ".png")
# Captions of the side bar, and the pages below each: a folder's in alphabetical order.
SECTIONS = {
    "Tutorials": ("docs/tutorial/",),
    "How to": ("docs/how-to/", "ports/README.md"),
    "Reference": ("docs/reference/", "bench/README.md"),
    "Explanation": ("docs/explanation/", "docs/gallery.md", "python/consort/proofs/"),
    "Remote memory": ("remote-memory/",),
    "Examples": ("examples/",),
    "Papers": ("experiments/",),
    "Project": ("",),
}
FENCE = re.compile(r"^ *(```|~~~)")
LINK = re.compile(r"(?<!!)\[(?P<text>(?:[^\[\]]|\[[^\]]*\]|!\[[^\]]*\]\([^)]*\))*)\]\((?P<target>[^)\s]+)\)")


def tracked(pattern: str) -> list[str]:
    """The files of the repository that match, by their paths in it."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", pattern],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return sorted(name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file())


def name_of(page: str) -> str:
    """The page's place in the site: that of the repository; the README at its top is the front page."""
    return "index.md" if page == "README.md" else page.removesuffix(".ipynb").removesuffix(".md") + ".md"


def relinked(text: str, page: str, pages: set[str], broken: list[str]) -> str:
    """A page's text with links that hold in the site."""
    folder = posixpath.dirname(page)

    def link(found: re.Match[str]) -> str:
        target, _, heading = found["target"].partition("#")
        if re.match(r"[a-z]+:", target) or not target:
            return found[0]
        path = posixpath.normpath(posixpath.join(folder, target))
        if not (ROOT / path).exists():
            broken.append(f"{page}: {found['target']} is missing")
        if posixpath.join(path, "README.md") in pages:
            path = posixpath.join(path, "README.md")
        if path not in pages:
            return found["text"]
        there = posixpath.relpath(name_of(path), folder or ".")
        return f"[{found['text']}]({there}{'#' if heading else ''}{heading})"

    lines, fenced = [], False
    for line in text.splitlines():
        fenced ^= FENCE.match(line) is not None
        lines.append(line if fenced else LINK.sub(link, line))
    return "\n".join(lines) + "\n"


def markdown_of(notebook: str) -> str:
    """A notebook's cells as Markdown."""
    cells = json.loads(notebook)["cells"]
    texts = ("".join(cell["source"]) for cell in cells)
    return "\n\n".join(
        text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```"
        for cell, text in zip(cells, texts, strict=True)
    )


def side_bar(pages: list[str]) -> str:
    """Trees of contents for the front page: each page in the first section that names it."""
    left = [page for page in pages if page != "README.md"]
    made = []
    for caption, places in SECTIONS.items():
        mine = [p for place in places for p in left if p.startswith(place)]
        left = [page for page in left if page not in mine]
        listed = "\n".join(name_of(page) for page in mine)
        made.append(f"```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{listed}\n```\n")
    return "\n" + "\n".join(made)


def lay_out(folder: Path) -> list[str]:
    """Writes the pages and their images; returns the links that lead nowhere."""
    pages = tracked("*.md") + tracked("docs/*.ipynb")
    broken: list[str] = []
    for page in pages:
        text = (ROOT / page).read_text(encoding="utf-8")
        text = relinked(markdown_of(text) if page.endswith(".ipynb") else text, page, {*pages}, broken)
        file = folder / name_of(page)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + side_bar(pages) if page == "README.md" else text, encoding="utf-8")
    for image in (name for kind in IMAGES for name in tracked(f"*{kind}")):
        (folder / image).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / image, folder / image)
    return broken


def main() -> int:
    source = SITE / "pages"
    shutil.rmtree(source, ignore_errors=True)
    if broken := lay_out(source):
        print("\n".join(broken), file=sys.stderr)
        return 1
    # -W: a heading that is missing is an error; -n would ask for Python's own documentation.
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-j", "auto"]
    command += [
        "-c",
        str(Path(__file__).parent),
        "-d",
        str(SITE / "doctrees"),
        str(source),
        str(SITE / "html"),
    ]
    status = subprocess.run(command, check=False).returncode
    if status == 0:
        print(SITE / "html" / "index.html")
    return status


if __name__ == "__main__":
    sys.exit(main())
