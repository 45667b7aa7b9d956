# SPDX-License-Identifier: Apache-2.0
"""docs/reference/cli.md names every command and no option that there is not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
from consort.cli import cli
from loops import for_each

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "cli.md"


def commands(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    """Every command that does something, with its whole name."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        whole = f"{path} {name}"
        if isinstance(command, click.Group):
            yield from commands(command, whole)
            if command.invoke_without_command:
                yield whole, command
        else:
            yield whole, command


COMMANDS = dict(commands(cli, "consort"))


def sections(text: str) -> dict[str, str]:
    """The page by its headings of commands."""
    parts = re.split(r"^## `(consort [^`]+)`\n", text, flags=re.MULTILINE)
    names = (re.sub(r" [\[A-Z].*", "", heading) for heading in parts[1::2])
    return dict(zip(names, parts[2::2], strict=True))


SECTIONS = sections(PAGE.read_text(encoding="utf-8"))


def test_every_command_has_its_section_and_no_other_has() -> None:
    assert len(COMMANDS) > 25
    assert set(SECTIONS) == set(COMMANDS)


@for_each("name", sorted(COMMANDS))
def test_options_that_are_named_exist(name: str) -> None:
    known = {"--help"}
    for parameter in COMMANDS[name].params:
        known |= {*parameter.opts, *parameter.secondary_opts}
    items = [line.partition(": ")[0] for line in SECTIONS[name].splitlines() if line.startswith("- `-")]
    named = set(re.findall(r"`(-[-a-z]+)", "\n".join(items)))
    assert named <= known, named - known
    assert len(named) >= len(items), "an item names no option"


def test_every_long_option_of_run_and_simulate_is_named() -> None:
    """Those that people look up: none may be missing here."""
    for name in ("consort run", "consort simulate"):
        for parameter in COMMANDS[name].params:
            if isinstance(parameter, click.Option) and not parameter.hidden:
                assert any(f"`{option}" in SECTIONS[name] for option in parameter.opts), parameter.opts


@for_each("name", sorted(COMMANDS))
def test_the_help_ends_with_an_example(name: str) -> None:
    before, found, example = (COMMANDS[name].epilog or "").partition("Example")
    assert found and name in example, before
