# SPDX-License-Identifier: Apache-2.0
"""The colours of diagrams. Chains have the Okabe-Ito set, which colour-blind readers can tell apart."""

INK, DIM, EDGE, PAPER = "#4a5561", "#57606a", "#9aa5b1", "#ffffff"
PROCESSOR, STUB, MEMORY = "#f1f4f7", "#fafbfc", "#f7f4ec"
# Fill and border of a task, by its execution.
TASKS = {
    "local": ("#e6f0fa", "#7fa8d1"),
    "offloaded": ("#e9f5ea", "#7fb58a"),
    "three-phase": ("#fdf0e1", "#d9a566"),
}
TEXT = "#1b1f24"
CHAINS = ("#e69f00", "#56b4e9", "#009e73", "#cc79a7", "#d55e00", "#0072b2", "#f0e442")
KINDS = {"periodic": "#0072b2", "sporadic": "#009e73", "queue": "#d55e00", "subscription": "#cc79a7"}
# Their counterparts on a dark page. The colours of chains and channels are unlike on both.
DARK = {
    TEXT: "#e4e8ec",
    INK: "#aab4bf",
    DIM: "#9aa5b1",
    EDGE: "#56616d",
    PAPER: "#14171b",
    PROCESSOR: "#1d2228",
    STUB: "#191d22",
    MEMORY: "#25221a",
    "#e6f0fa": "#16283a",
    "#7fa8d1": "#4f7eae",
    "#e9f5ea": "#172c1c",
    "#7fb58a": "#4f8a5c",
    "#fdf0e1": "#35260f",
    "#d9a566": "#a97a3e",
}
