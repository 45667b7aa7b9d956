# SPDX-License-Identifier: Apache-2.0
"""The structs, enumerations and constants that a board's image shares with the host, as its compiler laid
them out: read from the image's debug information (DWARF), so that they stand in C++ alone."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from consort.base.errors import BadInput
from consort.board.image import opened_elf

if TYPE_CHECKING:
    from elftools.dwarf.die import DIE

_STRUCTS = ("DW_TAG_structure_type", "DW_TAG_class_type")
_NAMED = ("DW_TAG_namespace", "DW_TAG_enumeration_type", *_STRUCTS)
_QUALIFIERS = ("DW_TAG_typedef", "DW_TAG_const_type", "DW_TAG_volatile_type")
# DW_ATE_*: what a base type's bits are.
_BASES = {0x02: "u", 0x04: "f", 0x05: "i", 0x06: "i", 0x07: "u", 0x08: "u", 0x10: "u"}
# A member that only fills a gap.
FILLER = "reserved"

Dtype = np.dtype[Any]


class Layouts:
    """The types of an image. Names are those of C++ and may leave out outer namespaces: `spm::Kind`.

    What the image does not have, or has in a form that no NumPy type stands for, is `BadInput`.
    """

    def __init__(self, image: Path) -> None:
        from elftools.elf.elffile import ELFFile

        self.image = image
        with opened_elf(image) as elf:
            if not elf.has_dwarf_info():
                raise BadInput("the image has no debug information; compile it with -g", file=image)
            elf.stream.seek(0)
            # Entries are read when they are asked for.
            kept = ELFFile(io.BytesIO(elf.stream.read()))
            self._order = "<" if elf.little_endian else ">"
            self._entries: dict[str, DIE] = {}
            self._structs: dict[str, Dtype] = {}
            for unit in kept.get_dwarf_info(follow_links=False).iter_CUs():
                self._collect(unit.get_top_DIE(), "")

    def struct(self, name: str) -> Dtype:
        """The NumPy type of a struct."""
        if name not in self._structs:
            die = self._find(name)
            if die.tag not in _STRUCTS:
                raise self._wrong(name, "is not a struct")
            self._structs[name] = self._struct(die)
        return self._structs[name]

    def enumerators(self, name: str) -> dict[str, int]:
        """An enumeration's values by their names, in the order of their declaration."""
        die = self._find(name)
        if die.tag != "DW_TAG_enumeration_type":
            raise self._wrong(name, "is not an enumeration")
        return {_name(e): int(_value(e, "DW_AT_const_value")) for e in die.iter_children() if _name(e)}

    def constant(self, struct: str, name: str) -> int:
        """A whole number that a struct has as `static constexpr`."""
        for entry in self._find(struct).iter_children():
            if _name(entry) == name and "DW_AT_const_value" in entry.attributes:
                return int(_value(entry, "DW_AT_const_value"))
        raise self._wrong(struct, f"has no constant {name}")

    def _collect(self, parent: DIE, scope: str) -> None:
        for die in parent.iter_children():
            if die.tag not in _NAMED or not (name := _name(die)):
                continue
            full = f"{scope}::{name}"
            if die.tag != "DW_TAG_namespace" and "DW_AT_declaration" not in die.attributes:
                self._entries.setdefault(full, die)
            if die.tag != "DW_TAG_enumeration_type":
                self._collect(die, full)

    def _find(self, name: str) -> DIE:
        found = [full for full in self._entries if full.endswith(f"::{name}")]
        if not found:
            raise self._wrong(name, "is not a type that the image uses")
        if len(found) > 1:
            raise self._wrong(name, f"may be each of {', '.join(one.removeprefix('::') for one in found)}")
        return self._entries[found[0]]

    def _wrong(self, name: str, what: str) -> BadInput:
        return BadInput(f"{name} {what}", file=self.image)

    def _struct(self, die: DIE) -> Dtype:
        names, formats, offsets = [], [], []
        for entry in die.iter_children():
            if entry.tag != "DW_TAG_member" or "DW_AT_data_member_location" not in entry.attributes:
                continue
            names.append(_name(entry))
            formats.append(self._type(entry))
            offsets.append(_value(entry, "DW_AT_data_member_location"))
        size = _value(die, "DW_AT_byte_size")
        return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": size})

    def _type(self, entry: DIE) -> Dtype:
        """The type that an entry's DW_AT_type leads to."""
        die = entry.get_DIE_from_attribute("DW_AT_type")
        while die.tag in _QUALIFIERS:
            die = die.get_DIE_from_attribute("DW_AT_type")
        if die.tag == "DW_TAG_base_type":
            kind = _BASES.get(_value(die, "DW_AT_encoding"))
            if kind is not None:
                return np.dtype(f"{self._order}{kind}{_value(die, 'DW_AT_byte_size')}")
        if die.tag == "DW_TAG_enumeration_type":
            return np.dtype(f"{self._order}u{_value(die, 'DW_AT_byte_size')}")
        if die.tag == "DW_TAG_array_type":
            return np.dtype((self._type(die), tuple(_lengths(die))))
        if die.tag in _STRUCTS:
            within = _wrapped(die)
            return self._struct(die) if within is None else self._type(within)
        raise self._wrong(_name(entry), f"is of a kind that the host does not read ({die.tag})")


def _name(die: DIE) -> str:
    attribute = die.attributes.get("DW_AT_name")
    return "" if attribute is None else attribute.value.decode()


def _value(die: DIE, attribute: str) -> Any:
    return die.attributes[attribute].value


def _wrapped(struct: DIE) -> DIE | None:
    """The only part of a class of the compiler's library (std::atomic), which is read as the type it
    wraps."""
    parts = [
        entry
        for entry in struct.iter_children()
        if entry.tag in ("DW_TAG_member", "DW_TAG_inheritance")
        and "DW_AT_data_member_location" in entry.attributes
    ]
    if len(parts) != 1 or not (parts[0].tag == "DW_TAG_inheritance" or _name(parts[0]).startswith("_M_")):
        return None
    return parts[0]


def _lengths(array: DIE) -> Iterator[int]:
    for range_ in array.iter_children():
        if range_.tag == "DW_TAG_subrange_type":
            yield int(_value(range_, "DW_AT_upper_bound")) + 1


def packed(layout: Dtype, **members: int) -> bytes:
    """One struct: each member is given, but those that fill a gap; no value is cut off."""
    names = set(layout.names or ()) - {FILLER}
    if members.keys() != names:
        differing = ", ".join(sorted(members.keys() ^ names))
        raise ValueError(f"not the members of the struct: {differing}")
    row = np.zeros((), layout)
    for name, value in members.items():
        if not 0 <= value <= np.iinfo(layout[name]).max:
            raise BadInput(f"{name} of {value} does not fit into {layout[name].itemsize * 8} bits")
        row[name] = value
    return row.tobytes()
