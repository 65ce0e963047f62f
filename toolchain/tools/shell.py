"""`ktc completion` and `ktc man`: scripts for shells, and manual pages made from the commands."""

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class
from ktc.base.version import VERSION
from ktc.cli.help import man_page

_VARIABLE = "_KTC_COMPLETE"


@click.command("completion")
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@click.pass_context
def completion_command(context: click.Context, shell: str) -> int:
    """Print a shell script for completion of commands, options and their values."""
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(context.find_root().command, {}, "ktc", _VARIABLE).source())
    return 0


@click.command("man")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.pass_context
def man_command(context: click.Context, folder: Path) -> int:
    """Write a manual page for each command to FOLDER."""
    root = context.find_root().command
    assert isinstance(root, click.Group)
    commands: dict[str, click.Command] = {"ktc": root}
    for name in root.list_commands(context):
        command = root.get_command(context, name)
        if command is not None:
            commands[f"ktc {name}"] = command
    names = [name.replace(" ", "-") for name in commands]
    folder.mkdir(parents=True, exist_ok=True)
    for path, command in commands.items():
        page = man_page(path, command, names, VERSION)
        Path(os.fspath(folder), f"{path.replace(' ', '-')}.1").write_text(page, "utf-8")
    click.echo(f"wrote {len(commands)} pages to {folder}")
    return 0
