# SPDX-License-Identifier: Apache-2.0
"""``consort schema``: the JSON Schemas by which editors complete and check descriptions."""

from __future__ import annotations

import importlib

import click

# The module and function that makes each.
SCHEMAS = {
    "system": ("consort.model.schema", "system_schema"),
    "platform": ("consort.model.schema", "platform_schema"),
    "board": ("consort.board.description", "board_schema"),
    "sweep": ("consort.sweep.model", "sweep_schema"),
}


@click.command(
    "schema",
    epilog="Example: consort schema > schema/system.schema.json",
    help="Print the JSON Schema (draft 2020-12) of system descriptions, platform files, boards'"
    " board.yaml, or sweep files. An editor with a YAML language server uses it when a description begins"
    " with '# yaml-language-server: $schema=PATH'.",
)
@click.argument("which", type=click.Choice(list(SCHEMAS)), default="system")
def command(which: str) -> None:
    from consort.model.schema import schema_text

    module, function = SCHEMAS[which]
    click.echo(schema_text(getattr(importlib.import_module(module), function)()), nl=False)
