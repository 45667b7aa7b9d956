# SPDX-License-Identifier: Apache-2.0
"""Tests of the hardware need its tools; where they cannot be had, the tests are skipped with the reason."""

from __future__ import annotations

import pytest
from consort.base.errors import EnvironmentLacks
from consort_remote import build


@pytest.fixture(scope="session", autouse=True)
def hardware_tools() -> None:
    try:
        build.tools()
    except EnvironmentLacks as error:
        pytest.skip(f"hardware tests need their tools: {error}")
