# SPDX-License-Identifier: Apache-2.0
"""``consort schema``: the JSON Schema by which editors complete and check system descriptions."""

from __future__ import annotations

import click

from consort.model.schema import schema_text


@click.command(
    "schema",
    epilog="Example: consort schema > schema/system.schema.json",
    help="Print the JSON Schema (draft 2020-12) of system descriptions. An editor with a YAML language"
    " server uses it when a description begins with '# yaml-language-server: $schema=PATH'.",
)
def command() -> None:
    click.echo(schema_text(), nl=False)
