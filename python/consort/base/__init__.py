# SPDX-License-Identifier: Apache-2.0
"""The base of all sub-packages, none of which it imports: errors, files, limits, tools that build."""
