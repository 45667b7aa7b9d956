# SPDX-License-Identifier: Apache-2.0
"""The base of all sub-packages: errors, arguments, files, limits, progress, tools that build. It imports none."""
