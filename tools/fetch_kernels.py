# SPDX-License-Identifier: Apache-2.0
"""Fetches the Linux kernels that tests boot on emulated machines; does nothing when they are there.

Exit status 3 where one cannot be fetched.
"""

from __future__ import annotations

import sys

from consort.base.errors import EnvironmentLacks
from consort.board import rtlinux
from consort.board.boards import all_boards
from consort_remote import kernel


def main() -> None:
    try:
        for spec in all_boards():
            if spec.linux is not None:
                rtlinux.kernel(spec.linux)
        for machine in kernel.MACHINES.values():
            kernel.kernel(machine)
    except EnvironmentLacks as error:
        print(error, file=sys.stderr)
        sys.exit(3)


if __name__ == "__main__":
    main()
