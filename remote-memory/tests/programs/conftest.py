# SPDX-License-Identifier: Apache-2.0
"""One server of remote memory for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from remote_server import RemoteServer, serving


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RemoteServer]:
    with serving(tmp_path_factory.mktemp("r")) as running:
        yield running
