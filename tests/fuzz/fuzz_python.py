# SPDX-License-Identifier: Apache-2.0
"""One Python fuzz target, guided by coverage: fuzz_python.py TARGET CORPUS [options of libFuzzer]."""

from __future__ import annotations

import random
import shutil
import sys
import types
from pathlib import Path

import atheris
from mutate import mutants
from targets import TARGETS, tried, working_folder


def instrument() -> None:
    """Counts the branches of what is fuzzed: once imported, as an editable install has its own importer."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] not in ("consort", "devicetree"):
            continue
        for owner in (module, *[c for c in list(vars(module).values()) if isinstance(c, type)]):
            if owner is not module and owner.__module__ != name:
                continue
            for value in list(vars(owner).values()):
                function = getattr(value, "__func__", value)
                if isinstance(function, types.FunctionType) and function.__module__ == name:
                    atheris.instrument_func(function)


def main() -> None:
    name, corpus = sys.argv[1], Path(sys.argv[2])
    target, folder = TARGETS[name], working_folder()
    seeds = target.seeds(folder)
    corpus.mkdir(parents=True, exist_ok=True)
    for index, data in enumerate(seeds):
        (corpus / f"seed-{index}").write_bytes(data)

    def one_input(data: bytes) -> None:
        tried(target, data, folder)

    def mutate(data: bytes, largest: int, seed: int) -> bytes:
        # libFuzzer's own changes find bytes, these find numbers and words of a format.
        if random.Random(seed).random() < 0.5:
            return bytes(atheris.Mutate(data, largest))
        return next(mutants([data, *seeds], seed))[:largest]

    instrument()
    atheris.Setup([sys.argv[0], *sys.argv[3:], str(corpus)], one_input, custom_mutator=mutate)
    try:
        atheris.Fuzz()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
