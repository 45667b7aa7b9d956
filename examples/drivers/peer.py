# SPDX-License-Identifier: Apache-2.0
"""The other ends of the drivers, so that the example runs without hardware: an operator's panel that sends
requests over UDP, and an amplifier on a pseudo-terminal that measures angles and takes torques.

    python3 examples/drivers/peer.py consort run examples/drivers/system.yaml
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import subprocess
import sys
import threading
import tty
from collections.abc import Iterator

MARK = b"\xa5\x5a"
# A mark, two words, a checksum.
FRAME = len(MARK) + 8 + 2
WISHED = 10.0
EVERY_S = 0.005


def crc16(data: bytes) -> bytes:
    """CRC-16/CCITT-FALSE, the high byte first."""
    crc = 0xFFFF
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x1021 if crc & 0x8000 else crc << 1) & 0xFFFF
    return crc.to_bytes(2, "big")


class Peers:
    """The panel and the amplifier; they talk until `close`. `environment`: where the drivers find them."""

    def __init__(self) -> None:
        self.reports: list[tuple[float, float, int]] = []
        self._taken = b""
        self._line, self._other = os.openpty()
        tty.setraw(self._other)
        os.set_blocking(self._line, False)
        self._panel = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._panel.bind(("127.0.0.1", 0))
        self._panel.setblocking(False)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._talk)
        self._thread.start()

    @property
    def environment(self) -> dict[str, str]:
        return {"DRIVERS_UDP_PORT": str(self._port), "DRIVERS_SERIAL": os.ttyname(self._other)}

    def close(self) -> None:
        """Ends once all that was sent has been taken."""
        self._over.wait(20 * EVERY_S)
        self._over.set()
        self._thread.join()
        self._panel.close()
        os.close(self._line)
        os.close(self._other)

    def torques(self) -> Iterator[tuple[float, int]]:
        """The torques that the amplifier received; `ValueError` where a frame is not whole."""
        for at in range(0, len(self._taken), FRAME):
            frame = self._taken[at : at + FRAME]
            if len(frame) < FRAME or frame[:2] != MARK or frame[-2:] != crc16(frame[2:-2]):
                raise ValueError(f"no frame at byte {at}: {frame.hex()}")
            torque, number = struct.unpack("<fI", frame[2:-2])
            yield torque, number

    def _talk(self) -> None:
        number = 0
        while not self._over.wait(EVERY_S):
            number += 1
            angle = struct.pack("<fI", 0.5 * number, number)
            # Noise on the line, that begins as a frame does.
            noise = MARK + MARK[:1] if number % 3 == 0 else b""
            # While nobody listens, the line's buffer fills up and the port refuses.
            with contextlib.suppress(BlockingIOError):
                os.write(self._line, noise + MARK + angle + crc16(angle))
            with contextlib.suppress(BlockingIOError, ConnectionRefusedError):
                self._panel.sendto(struct.pack("<fI", WISHED, number), ("127.0.0.1", self._port))
                # A datagram of another size is not a wish.
                self._panel.sendto(b"short", ("127.0.0.1", self._port))
            with contextlib.suppress(BlockingIOError):
                self._taken += os.read(self._line, 4096)
            with contextlib.suppress(BlockingIOError, ConnectionRefusedError):
                while True:
                    self.reports.append(struct.unpack("<ffI", self._panel.recv(64)))


def main() -> int:
    if len(sys.argv) < 2:
        print(f"usage: {sys.argv[0]} COMMAND [ARGUMENTS]...", file=sys.stderr)
        return 2
    peers = Peers()
    try:
        status = subprocess.run(sys.argv[1:], env=os.environ | peers.environment, check=False).returncode
    finally:
        peers.close()
    given = list(peers.torques())
    print(f"the amplifier was given {len(given)} torques, the panel {len(peers.reports)} reports")
    return status


if __name__ == "__main__":
    sys.exit(main())
