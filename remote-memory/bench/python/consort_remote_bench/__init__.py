# SPDX-License-Identifier: Apache-2.0
"""The benchmarks of remote memory; `consort bench` has them in its registry."""
