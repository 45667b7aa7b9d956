# SPDX-License-Identifier: Apache-2.0
"""The tools that build programs here: compilers, kept builds, Consort's sources, Debian's packages."""
