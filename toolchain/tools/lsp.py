"""`ktc lsp`: the language server on standard input and output."""

import importlib.util

import click


@click.command("lsp")
def lsp_command() -> int:
    """Start the language server, for editors, on standard input and output."""
    if importlib.util.find_spec("pygls") is None:
        raise click.ClickException("the language server needs pygls: pip install 'ktc[lsp]'")
    from ktc.lsp.features import serve  # late: only for some commands

    serve()
    return 0
