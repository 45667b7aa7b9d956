# SPDX-License-Identifier: Apache-2.0
"""A key means the same to check, analysis, simulator and every target: descriptions that once did not."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from consort.cli import main
from loops import for_each
from ruamel.yaml import YAML

CASES = YAML(typ="safe").load(Path(__file__).with_name("meanings.yaml").read_text(encoding="utf-8"))


@for_each("name", CASES)
def test_right_or_refused(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    case: dict[str, Any] = CASES[name]
    folder = tmp_path / name
    folder.mkdir()
    monkeypatch.chdir(folder)
    (folder / "platform.yaml").write_text(f"consort: 1\nname: small\n{case.get('platform', '')}")
    chosen = "platform.yaml" if "platform" in case else "linux-host"
    (folder / "system.yaml").write_text(f"consort: 1\nassumed: x\nplatform: {chosen}\n{case['system']}")
    for command, (status, *says) in case["answers"].items():
        first, *options = command.split()
        with pytest.raises(SystemExit) as ended:
            main([first, "system.yaml", *options])
        said = "".join(capsys.readouterr())
        assert (ended.value.code or 0) == status, f"{command}: {said}"
        for part in says:
            assert re.search(part, said), f"{command}: {part!r} is not in\n{said}"
