# SPDX-License-Identifier: Apache-2.0
"""A folder with a small, right description and all that it names."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent
BASE = (HERE / "base.yaml").read_text(encoding="utf-8")

FILES = {
    "step.hpp": "namespace servo {}\n",
    "data/servo.csv": "time,set_point,process_value\n0,1,2\n50000,3,4\n",
    "golden.py": "def golden(inputs, arithmetic):\n    return inputs\n",
    "wrong.py": "def golden(:\n",
    "inputs.py": "def inputs(dtype):\n    return []\n",
    "bad-board.yaml": (
        "consort: 1\nname: board\nprocessors: {a72: {isa: arm}}\n"
        "cores: {a72: {processor: a72, count: 0}}\nmemories: {}\n"
    ),
    "board.yml": (
        "consort: 1\nname: board\nprocessors: {cortex-a72: {isa: aarch64}}\n"
        "cores: {a72: {processor: cortex-a72, count: 2}}\nmemories: {shm: {kind: posix-shared-memory}}\n"
    ),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of the test: messages then show file names without a path."""
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (tmp_path / "system.yaml").write_text(BASE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path
