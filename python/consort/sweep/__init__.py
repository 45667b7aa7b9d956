# SPDX-License-Identifier: Apache-2.0
"""Sweeps: figures as functions of parameters, declared in one file, computed on all cores or on a cluster."""

from consort.base.packages import make_callable

make_callable(__name__, "consort.sweep.run", "sweep")
