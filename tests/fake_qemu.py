# SPDX-License-Identifier: Apache-2.0
"""Answers of QEMU 7.2 over QMP about memory that comes and goes, for tests of what a guest may do."""

from __future__ import annotations

import json
import os
import socket
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

Event = tuple[str, dict[str, Any]]


def ost(source: int, status: int, name: str = "consort-1") -> Event:
    """The guest's answer to an ACPI notification."""
    info = {"device": name, "slot": "0", "slot-type": "DIMM", "source": source, "status": status}
    return "ACPI_DEVICE_OST", {"info": info}


def deleted(name: str = "consort-1") -> Event:
    return "DEVICE_DELETED", {"device": name, "path": f"/machine/peripheral/{name}"}


class Error(Exception):
    """The error with which a command is refused."""

    def __init__(self, words: str, kind: str = "GenericError") -> None:
        super().__init__(words)
        self.kind = kind


class FakeQemu:
    """A monitor at `path`. What the guest does is said by what is set beforehand."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.refused: dict[str, str] = {}  # commands that are refused, with QEMU's words
        self.plugged: list[Event] = [ost(1, 0)]  # what comes after device_add of a pc-dimm
        self.unplugged: list[Event] = [deleted()]  # and after device_del
        self.before_answer = False  # whether those come before the answer to the command
        self.takes, self.keeps = (
            1 << 40,
            0,
        )  # bytes that the guest takes of a virtio-mem, and does not give back
        self.block = 2 << 20  # of a virtio-mem
        self.gone_first = False  # whether a device goes by itself just before device_del
        self.status = "running"
        self.busy = 0  # how often the memory of a deleted device is still in use
        self.greets = True
        self.ends_at = ""  # a command in place of whose answer the machine ends
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.memory: dict[str, dict[str, Any]] = {}
        self.holds: dict[str, int] = {}  # character devices, with the descriptors of their connections
        self.lost: set[str] = set()
        self.devices: dict[str, dict[str, Any]] = {}
        self._named: dict[str, int] = {}
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(path))
        self._listening.listen()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def end(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listening.close()
        for descriptor in self.holds.values():
            os.close(descriptor)

    def names(self) -> list[str]:
        """The commands that came, in their order."""
        return [name for name, _ in self.asked]

    def delete(self, name: str = "consort-1") -> None:
        self.devices.pop(name, None)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            # A client that has gone does not wait for what comes after the answer.
            with connection, suppress(BrokenPipeError, ConnectionResetError):
                self._talk(connection)

    def _talk(self, connection: socket.socket) -> None:
        def say(what: dict[str, Any]) -> None:
            connection.sendall(json.dumps(what).encode() + b"\r\n")

        if self.greets:
            say({"QMP": {"version": {"qemu": {"major": 7, "minor": 2, "micro": 22}}, "capabilities": []}})
        buffer = b""
        descriptors: list[int] = []
        while True:
            try:
                data, came, _, _ = socket.recv_fds(connection, 1 << 16, 4)
            except OSError:
                return
            if not data:
                return
            buffer += data
            descriptors += came
            while b"\n" in buffer:
                line, _, buffer = buffer.partition(b"\n")
                order = json.loads(line)
                name, arguments = order["execute"], order.get("arguments", {})
                self.asked.append((name, arguments))
                if name == self.ends_at:
                    return
                events: list[Event] = []
                try:
                    if name in self.refused:
                        raise Error(self.refused[name])
                    answer: dict[str, Any] = {"return": self._do(name, arguments, descriptors, events)}
                except Error as error:
                    answer = {"error": {"class": error.kind, "desc": str(error)}}
                said = [{"event": event, "data": data} for event, data in events]
                for each in [*said, answer] if self.before_answer else [answer, *said]:
                    say(each)

    def _do(self, name: str, given: dict[str, Any], descriptors: list[int], events: list[Event]) -> Any:
        what = getattr(self, "_" + name.replace("-", "_"), None)
        return {} if what is None else what(given, descriptors, events)

    def _query_status(self, *_: object) -> Any:
        return {"status": self.status}

    def _getfd(self, given: dict[str, Any], descriptors: list[int], _: object) -> Any:
        self._named[given["fdname"]] = descriptors.pop(0)
        return {}

    def _closefd(self, given: dict[str, Any], *_: object) -> Any:
        os.close(self._named.pop(given["fdname"]))
        return {}

    def _add_fd(self, _given: object, descriptors: list[int], _: object) -> Any:
        os.close(descriptors.pop(0))
        return {"fdset-id": 3, "fd": 17}

    def _chardev_add(self, given: dict[str, Any], *_: object) -> Any:
        self.holds[given["id"]] = self._named.pop(given["backend"]["data"]["addr"]["data"]["str"])
        return {}

    def _chardev_remove(self, given: dict[str, Any], *_: object) -> Any:
        if given["id"] not in self.holds:
            raise Error("Chardev not found")
        os.close(self.holds.pop(given["id"]))
        return {}

    def _query_chardev(self, *_: object) -> Any:
        return [{"label": "serial0", "filename": "stdio"}] + [
            {"label": each, "filename": f"disconnected:fd:{each}" if each in self.lost else "unix:"}
            for each in self.holds
        ]

    def _object_add(self, given: dict[str, Any], *_: object) -> Any:
        self.memory[given["id"]] = given
        return {}

    def _object_del(self, given: dict[str, Any], *_: object) -> Any:
        if self.busy:
            self.busy -= 1
            raise Error(f"object '{given['id']}' is in use, can not be deleted")
        del self.memory[given["id"]]
        return {}

    def _query_memdev(self, *_: object) -> Any:
        return [{"size": 1 << 30}] + [{"id": each, "size": of["size"]} for each, of in self.memory.items()]

    def _device_add(self, given: dict[str, Any], _: object, events: list[Event]) -> Any:
        size = self.memory[given["memdev"]]["size"]
        data: dict[str, Any] = {"id": given["id"], "node": given.get("node", 0)}
        if given["driver"] == "pc-dimm":
            data |= {"addr": 1 << 32, "size": size, "slot": 0}
            events += self.plugged
        else:
            data |= {
                "memaddr": 1 << 32,
                "size": 0,
                "requested-size": 0,
                "max-size": size,
                "block-size": self.block,
            }
        kind = "dimm" if given["driver"] == "pc-dimm" else "virtio-mem"
        self.devices[given["id"]] = {"type": kind, "data": data}
        return {}

    def _device_del(self, given: dict[str, Any], _: object, events: list[Event]) -> Any:
        if self.gone_first:
            self.delete(given["id"])
        if given["id"] not in self.devices:
            raise Error(f"Device '{given['id']}' not found", "DeviceNotFound")
        events += self.unplugged
        if deleted(given["id"]) in self.unplugged:
            self.delete(given["id"])
        return {}

    def _query_memory_devices(self, *_: object) -> Any:
        return [*self.devices.values(), {"type": "nvdimm", "data": {"id": "disk", "size": 1 << 20}}]

    def _qom_get(self, given: dict[str, Any], *_: object) -> Any:
        return self.devices[given["path"].rpartition("/")[2]]["data"][given["property"]]

    def _qom_set(self, given: dict[str, Any], _: object, events: list[Event]) -> Any:
        name = given["path"].rpartition("/")[2]
        data = self.devices[name]["data"]
        data["requested-size"] = given["value"]
        data["size"] = max(min(given["value"], self.takes), min(data["size"], self.keeps))
        events.append(("MEMORY_DEVICE_SIZE_CHANGE", {"id": name, "size": data["size"]}))
        return {}
