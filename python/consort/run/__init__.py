# SPDX-License-Identifier: Apache-2.0
"""Running a plan: its program, its data, its processes on this machine, and what the judge says of it."""

from consort.callable_package import make_callable
from consort.run.application import Prepared, prepare
from consort.run.flow import run_system
from consort.run.options import Options

__all__ = ["Options", "Prepared", "prepare", "run_system"]

make_callable(__name__, "consort.run.call", "run")
