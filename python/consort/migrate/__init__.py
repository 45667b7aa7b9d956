# SPDX-License-Identifier: Apache-2.0
"""Steps that can be moved in mid-job: built through WebAssembly, checked, run on any processor."""
