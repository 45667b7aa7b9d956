# SPDX-License-Identifier: Apache-2.0
"""The cells of a sweep: combinations of parameters, each in blocks of task sets. One of both is a cell. One
of both is a cell.

A cell's key and seed follow from what it computes alone, so that it can be computed again anywhere.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from consort.base.errors import BadInput
from consort.model import System, platform_from_data, system_from_data
from consort.sweep.load import Loaded
from consort.sweep.model import BLOCKS, Attack, Varied, parameters_of

FORMAT = 1
MOST_COMBINATIONS = 10_000_000
Spec = dict[str, Any]
# The figures of a cell, in the order of FIGURES' columns.
Row = tuple[Any, ...]


@dataclass(frozen=True)
class Combination:
    """An analysis, and a value of each parameter that its figures depend on."""

    analysis: str
    parameters: dict[str, Any]


def spec_of(loaded: Loaded) -> Spec:
    """All that cells are computed from, as plain data; names, titles and plots are not in it."""
    sweep, block = loaded.sweep, loaded.sweep.swept
    spec: Spec = {
        "format": FORMAT,
        "kind": sweep.kind,
        "seed": sweep.seed,
        "sets": sweep.sets,
        "block": sweep.block,
        "analyses": list(sweep.analyses),
        "parameters": {name: list(values) for name, values in parameters_of(sweep).items()},
    }
    if loaded.programs:
        spec["programs"] = loaded.programs
    if isinstance(block, Attack):
        spec |= {"lowered": block.lowered, "until_refuted": block.until_refuted}
    if isinstance(block, Varied) and loaded.system is not None:
        simulated = block.simulate
        spec |= {
            "sets": 1,
            "system": loaded.system.to_json(),
            "platform": loaded.system.platform_description.to_json(),
            "file": str(loaded.system.file.resolve()),
            "simulate": None
            if simulated is None
            else simulated.model_dump(mode="json") | {"duration": simulated.duration.picoseconds},
        }
    return spec


def digest(data: object, size: int = 16) -> str:
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.blake2b(text.encode(), digest_size=size).hexdigest()


class Cells:
    """The cells of a spec, in their canonical order: those that judge the same sets stand together."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.kind: str = spec["kind"]
        # A search that ends with what it looks for is not divided: what it ends depends on its order.
        whole = self.kind == "description" or spec.get("until_refuted", False)
        self.block: int = spec["sets"] if whole else min(spec["block"], spec["sets"])
        self.blocks: int = -(-spec["sets"] // self.block)
        self.combinations: list[Combination] = []
        self.groups: list[tuple[int, int]] = []
        """The combinations that judge the same sets: the first, and how many."""
        # The sets of a description depend on all parameters that change it.
        self._made_of = BLOCKS[self.kind].made_of or tuple(spec["parameters"])
        self._combine()
        # The common part of all keys, put together once.
        common = ("format", "kind", "seed", "programs", "until_refuted", "system", "platform", "simulate")
        self._common = digest({key: spec.get(key) for key in common})
        self._of_combination: dict[int, str] = {}

    def _combine(self) -> None:
        values = self.spec["parameters"]
        block = BLOCKS[self.kind]
        count = 1
        for name in values:
            count *= len(values[name])
        if count * len(self.spec["analyses"]) > MOST_COMBINATIONS:
            raise BadInput(
                f"{count} combinations of parameters are more than {MOST_COMBINATIONS}; give fewer values"
            )
        extras = {analysis: list(block.analyses[analysis]) for analysis in self.spec["analyses"]}
        for chosen in itertools.product(*(values[name] for name in self._made_of)):
            made = dict(zip(self._made_of, chosen, strict=True))
            first = len(self.combinations)
            for analysis, names in extras.items():
                for more in itertools.product(*(values[name] for name in names)):
                    parameters = made | dict(zip(names, more, strict=True))
                    self.combinations.append(Combination(analysis, parameters))
            self.groups.append((first, len(self.combinations) - first))

    def __len__(self) -> int:
        return len(self.combinations) * self.blocks

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Each cell as its combination and its block."""
        for first, count in self.groups:
            for block in range(self.blocks):
                for combination in range(first, first + count):
                    yield combination, block

    def sets(self, block: int) -> int:
        """The number of sets in a block."""
        left: int = self.spec["sets"] - block * self.block
        return min(self.block, left)

    def key(self, combination: int, block: int) -> str:
        """The cell's name: the same wherever, and in whatever order, it is computed."""
        own = self._of_combination.get(combination)
        if own is None:
            one = self.combinations[combination]
            lowered = self.spec.get("lowered", {}).get(one.parameters.get("lowered"), None)
            own = digest([self._common, one.analysis, one.parameters, lowered])
            self._of_combination[combination] = own
        text = f"{own}/{block * self.block}/{self.sets(block)}"
        return hashlib.blake2b(text.encode(), digest_size=10).hexdigest()

    def seed(self, combination: int, block: int) -> int:
        """The seed of a cell's sets: equal for all analyses, so that they judge the same ones."""
        made = self.made(combination)
        # The first set's number and not the block's: a block of another size has other sets.
        return int(digest([self.spec["seed"], self.kind, made, block * self.block, self.block], 8), 16) >> 1

    def made(self, combination: int) -> dict[str, Any]:
        """The parameters that the sets depend on."""
        parameters = self.combinations[combination].parameters
        return {name: parameters[name] for name in self._made_of}

    @cached_property
    def system(self) -> System:
        """The description that a sweep changes."""
        platform = platform_from_data(self.spec["platform"])
        return system_from_data(self.spec["system"], file=self.spec["file"], platform=platform)

    def find(self, key: str) -> tuple[int, int]:
        for combination, block in self:
            if self.key(combination, block) == key:
                return combination, block
        raise BadInput(f"no cell has the key {key!r}; --list shows them", field="--cell")


@lru_cache(maxsize=2)
def cells_of(text: str) -> Cells:
    """The cells of a spec's JSON text; a worker gets the same text with every task."""
    return Cells(json.loads(text))
