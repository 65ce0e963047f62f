"""The text of `--help` and the man pages beside the options: examples, exit codes, environment variables."""

from inspect import cleandoc

import click
from ktc.base.similarity import similarity

_LIKELY = 0.8
EXIT_CODES = (
    ("0", "success"),
    ("1", "error in the program or one of its files"),
    ("2", "usage error"),
    ("70", "internal compiler error"),
    ("130", "Ctrl-C"),
)
"""Of every command; `ktc run` gives the program's own."""

ENVIRONMENT = (
    ("KTC_CACHE_DIR", "cache folder; empty: no cache"),
    ("KTC_CACHE_SIZE", "maximum size of the cache in MiB (default 1024)"),
    ("KTC_CACHE_URL", "a cache that several machines share: http://… or a folder"),
    ("KTC_NATIVE", "0: run ktc as Python, even if it is compiled"),
    ("KTC_DEVICE", "read by programs: cpu, gpu, cuda, hip, metal or opencl"),
    ("KTC_CPU_THREADS", "read by programs: threads of the CPU device"),
    ("NO_COLOR", "set: no colours"),
    ("FORCE_COLOR", "set: colours even in files and pipes"),
)

EXAMPLES = {
    "": ("ktc run prog.kpy", "ktc prog.kpy", "ktc build prog.kpy -o prog", "ktc check .", "ktc test"),
    "build": ("ktc build prog.kpy", "ktc build prog.kpy -o prog --target-accelerator sm_90,gfx942,cpu",
              "ktc build prog.kpy --time"),
    "run": ("ktc run prog.kpy", "ktc run -O1 prog.kpy first second", "KTC_DEVICE=cpu ktc run prog.kpy",
            "ktc run --watch prog.kpy"),
    "emit": ("ktc emit --kind ir prog.kpy", "ktc emit --kind asm prog.kpy --target-accelerator sm_90 --kernel add"),
    "check": ("ktc check prog.kpy", "ktc check --fix src", "ktc check --format sarif src > ktc.sarif"),
    "test": ("ktc test", "ktc test tests/test_sum.kpy::test_empty", "ktc test -k 'sum and not slow' --fail-fast",
             "ktc test --watch"),
    "format": ("ktc format src", "ktc format --check .", "ktc format --diff prog.kpy"),
    "new": ("ktc new saxpy",),
    "repl": ("ktc repl",),
    "debug": ("ktc debug prog.kpy", "ktc debug --stop prog.kpy first second",
              "ktc debug --batch -x 'break prog.kpy:12' -x run -x bt prog.kpy"),
    "doc": ("ktc doc src -o site", "ktc doc --check src", "ktc doc --format json mod.kpy"),
    "explore": ("ktc explore prog.kpy", "ktc explore prog.kpy --no-browser --port 8000"),
    "lsp": ("ktc lsp",),
    "explain": ("ktc explain", "ktc explain type-mismatch"),
    "targets": ("ktc targets", "ktc targets --json"),
    "doctor": ("ktc doctor", "ktc doctor --json"),
    "cache": ("ktc cache info --json", "ktc cache why prog.kpy", "ktc cache clear"),
    "completion": ("ktc completion bash >> ~/.bashrc",
                   "ktc completion fish > ~/.config/fish/completions/ktc.fish"),
    "man": ("ktc man ~/.local/share/man/man1",),
    "tune": ("ktc tune prog.kpy", "ktc tune prog.kpy --search optuna --trials 40 --plot search.svg",
             "ktc build prog.kpy --tuned prog.tuned.toml"),
    "report": ("ktc report prog.kpy --target-accelerator gfx942", "ktc report --size prog.kpy",
               "ktc report --max-registers 64 --no-spills --target-accelerator sm_90 prog.kpy"),
    "package": ("ktc package shapes -o lib/shapes.kpypkg --package-version 1.2",),
    "wheel": ("ktc wheel filters",),
    "bench": ("ktc bench compile prog.kpy --repeat 5",),
}  # fmt: skip
"""Of each command, the whole of ktc first."""


def with_likely_option(error: click.NoSuchOption) -> click.NoSuchOption:
    """Suggest first the option whose first word a misspelt one looks like: `--target-accelerator` for `--traget`."""
    if error.ctx is None:
        return error
    names = [name for one in error.ctx.command.params for name in one.opts if name.startswith("--")]
    words = len(error.option_name.lstrip("-").split("-"))
    firsts = {name: "--" + "-".join(name.lstrip("-").split("-")[:words]) for name in names}
    near = max(names, key=lambda name: similarity(firsts[name], error.option_name), default="")
    if near and similarity(firsts[near], error.option_name) >= _LIKELY:
        text = f"No such option '{error.option_name}'. Did you mean '{near}'?"
        return click.NoSuchOption(error.option_name, text, ctx=error.ctx)
    return error


def epilog(name: str) -> str:
    """Return the text below the options of a command."""
    parts = []
    if name in EXAMPLES:
        parts.append(_block("Examples:", [f"  {one}" for one in EXAMPLES[name]]))
    if not name:
        parts.append(_block("Exit codes:", [f"  {code:<4} {what}" for code, what in EXIT_CODES]))
        parts.append(_block("Environment:", [f"  {one:<16} {what}" for one, what in ENVIRONMENT]))
    return "\n\n".join(parts)


def _block(head: str, lines: list[str]) -> str:
    """Return lines that are not filled again."""
    return "\n".join(["\b", head, *lines])


def man_page(path: str, command: click.Command, names: list[str], version: str) -> str:
    """Return the man page of a command in roff.

    Args:
        path: the words of the command, "ktc build". names: of all pages.
    """
    context = click.Context(command, info_name=path)
    title = path.replace(" ", "-")
    usage = command.collect_usage_pieces(context)
    short = command.get_short_help_str(200).rstrip(".")
    lines = [
        f'.TH "{title.upper()}" "1" "" "ktc {version}" "ktc"', ".SH NAME", f"{title} \\- {_roff(short)}",
        ".SH SYNOPSIS", f".B {path}", _roff(" ".join(usage)), ".SH DESCRIPTION",
        *(_roff(part) for part in cleandoc(command.help or "").split("\n") if part != "\b"),
    ]  # fmt: skip
    records = [one for one in map(lambda param: param.get_help_record(context), command.get_params(context)) if one]
    if records:
        lines.append(".SH OPTIONS")
        for option, text in records:
            lines += [".TP", f".B {_roff(option)}", _roff(text)]
    if isinstance(command, click.Group):
        lines.append(".SH COMMANDS")
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            lines += [".TP", f".B {name}", _roff(inner.get_short_help_str(200) if inner else "")]
    name = path.partition(" ")[2]
    if name in EXAMPLES:
        lines += [".SH EXAMPLES", ".nf", *(_roff(one) for one in EXAMPLES[name]), ".fi"]
    for head, rows in ((".SH EXIT STATUS", EXIT_CODES), (".SH ENVIRONMENT", ENVIRONMENT)):
        lines.append(head)
        for first, text in rows:
            lines += [".TP", f".B {first}", _roff(text)]
    others = ", ".join(f"\\fB{one}\\fR(1)" for one in names if one != title)
    return "\n".join([*lines, ".SH SEE ALSO", others]) + "\n"


def _roff(text: str) -> str:
    """Return a text in which nothing is a command of roff."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{text}" if text.startswith((".", "'")) else text
