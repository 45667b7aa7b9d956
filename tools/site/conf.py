# SPDX-License-Identifier: Apache-2.0
"""Sphinx: the site of `make docs`, from the pages that pages.py lays out."""

project = "Consort"
author = "the Consort authors"
html_title = "Consort"
html_theme = "furo"
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False

extensions = ["myst_parser"]
root_doc = "index"
# Headings are linked to as GitHub names them, down to the fourth level.
myst_heading_anchors = 4
# Programs of other projects that Sphinx has no rule for.
highlight_language = "none"
# A page may begin below the second level: README files of the experiments do.
suppress_warnings = ["myst.header", "misc.highlighting_failure"]
