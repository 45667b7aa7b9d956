# SPDX-License-Identifier: Apache-2.0
"""The simulator: a description run in exact integer time, its jobs recorded like those of a run."""

from consort.base.packages import make_callable

make_callable(__name__, "consort.simulate.call", "simulate")
