# SPDX-License-Identifier: Apache-2.0
"""Remote memory in hardware: builds and drives the SystemVerilog of rtl/."""
