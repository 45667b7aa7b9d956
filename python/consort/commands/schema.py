# SPDX-License-Identifier: Apache-2.0
"""``consort schema``: the JSON Schemas by which editors complete and check descriptions."""

from __future__ import annotations

import click

from consort.board.description import board_schema
from consort.model.schema import platform_schema, schema_text, system_schema
from consort.sweep.model import sweep_schema

SCHEMAS = {
    "system": system_schema,
    "platform": platform_schema,
    "board": board_schema,
    "sweep": sweep_schema,
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
    click.echo(schema_text(SCHEMAS[which]()), nl=False)
