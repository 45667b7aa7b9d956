# SPDX-License-Identifier: Apache-2.0
"""Diagrams of systems and platforms as SVG."""

from consort.report.draw.diagram import draw_for_page, draw_platform, draw_system

__all__ = ["draw_for_page", "draw_platform", "draw_system"]
