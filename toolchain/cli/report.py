"""`ktc report`: what the kernels of a program need, and with --run what they take.

Input: words. Output: a table or JSON on standard output, a picture; exit code 1 if a kernel does not keep what it must.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from ktc import config as configs
from ktc.base.records import as_dict, replace
from ktc.cli.standard_input import path_of
from ktc.cli.task import Task, compile_options, task_of
from ktc.config import Config, environment_with
from ktc.diag.codes import Code
from ktc.diag.diagnostic import CompileError, Diagnostic, Sink
from ktc.emit import tools
from ktc.emit.linking.commands import EXECUTABLE, LinkOptions
from ktc.emit.linking.link import LinkFailed, run_linker
from ktc.emit.linking.tools import find_link_tools
from ktc.targets.target import Target

if TYPE_CHECKING:
    from ktc.bench.kernel_facts import KernelFacts
    from ktc.bench.roofline import Ceiling, Measured
    from ktc.driver.session import Session


@click.command("report")
@click.argument("file", required=False)
@click.option("--size", "shows_size", is_flag=True, help="Show what the executable consists of, in bytes.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
@click.option("--run", "runs", is_flag=True, help="Run the program on this machine's GPU and time its kernels.")
@click.option("--chart", type=click.Path(path_type=Path), help="With --run: draw the roofline to this .svg and .png.")
@click.option("--max-registers", type=click.IntRange(min=1), help="Fail if a kernel uses more registers per thread.")
@click.option("--no-spills", is_flag=True, help="Fail if a kernel spills registers.")
@compile_options
def report_command(
    file: str | None, shows_size: bool, as_json: bool, runs: bool, chart: Path | None, max_registers: int | None,
    no_spills: bool, **words: Any,
) -> int:  # fmt: skip
    """Show registers, spills, shared memory, stack, instructions and occupancy of FILE's kernels.

    With --size, show the functions, constants and device code of its executable instead, and their modules.
    """
    if shows_size and (runs or no_spills or max_registers is not None):
        raise click.UsageError("--size shows the executable, and not what its kernels need")
    if chart is not None and not runs:
        raise click.UsageError("--chart draws what --run measures: add --run")
    if words["accelerators"] is None and not (shows_size or runs) and not configs.local_gpus(configs.open_cache()):
        words["accelerators"] = "sm_90" if tools.find_ptxas() else "gfx942"
        said = f"no GPU here: the report is for {words['accelerators']}; --target-accelerator names others"
        click.echo(f"ktc: {said}", err=True)
    task = task_of(words, path_of(file))
    failed: list[str] = []

    def work(config: Config) -> None:
        from ktc.cli.output import print_json, print_table  # late: only for some commands

        session = task.open_session(config)
        if shows_size:
            _show_sizes(session, as_json)
            return
        facts = _facts(session)
        failed.extend(_broken(facts, max_registers, no_spills))
        shown: dict[str, Any] = {"kernels": [as_dict(one) for one in facts]}
        if not as_json:
            print_table(_HEAD, [_row(one) for one in facts])
            print_table(("kernel", "instructions"), [(one.name, _mix(one)) for one in facts])
        if runs:
            ceiling, measured = _measured(task, config)
            names = {one.symbol: one.name for one in facts}
            measured = {names.get(symbol, symbol): one for symbol, one in measured.items()}
            shown |= {"device": as_dict(ceiling), "measured": {name: as_dict(one) for name, one in measured.items()}}
            _show_run(ceiling, measured, as_json, chart)
        if as_json:
            print_json(shown)

    code = task.run(work)
    for line in failed:
        sys.stderr.write(f"ktc: {line}\n")
    return code or (1 if failed else 0)


def _show_sizes(session: "Session", as_json: bool) -> None:
    from ktc.bench import executable_sizes  # late: only with some options
    from ktc.cli.output import print_json, print_table  # late: only for some commands
    from ktc.driver.pipeline import compile_objects  # late: only for some commands

    objects, found = compile_objects(session), find_link_tools(session.config.host.triple)
    assert session.program is not None
    try:
        symbols = run_linker(objects, found, LinkOptions(debug=True))
        size = len(run_linker(objects, found, EXECUTABLE))
        parts = executable_sizes.parts_of(symbols, size, session.program)
    except (LinkFailed, ValueError) as error:
        said = " ".join(str(error).split())
        _fail(session.sink, Diagnostic(Code.LINK_FAILED, None, f"the executable cannot be looked into: {said}"))
    modules = [*executable_sizes.by_module(parts)]
    if as_json:
        shown = [as_dict(one) for one in parts]
        print_json({"bytes": size, "parts": shown, "modules": dict(modules)})
        return
    print_table(("bytes", "module"), [(f"{count:,}", name) for name, count in (*modules, ("in all", size))])
    sys.stdout.write("\n")
    print_table(
        ("bytes", "kind", "name", "module"), [(f"{one.size:,}", one.kind, one.name, one.module) for one in parts]
    )


_HEAD = ("kernel", "target", "registers", "spills", "shared", "stack", "occupancy for 64 128 256 512 1024 threads")


def _place(text: tuple[Target, str, str, bytes]) -> list[tuple[bool, int, str]]:
    """Return where a kernel stands: by target and name, numbers in names by their value."""
    words = re.split(r"(\d+)", f"{text[0].name} {text[1]}")
    return [(word.isdigit(), int(word) if word.isdigit() else 0, word) for word in words]


def _facts(session: "Session") -> "list[KernelFacts]":
    """Return the facts about each kernel."""
    from ktc.bench import kernel_facts  # late: only for some commands
    from ktc.driver.pipeline import kernel_texts  # late: only for some commands

    texts, facts, ptxas = sorted(kernel_texts(session), key=_place), [], tools.find_ptxas()
    if not texts:
        text = "the program has no kernels for a GPU: there is nothing to report"
        _fail(session.sink, Diagnostic(Code.INVALID_KERNEL, None, text, "name a target: --target-accelerator sm_90"))
    for target, title, symbol, data in texts:
        text = data.decode()
        if target.vendor == "nvidia":
            if not ptxas:
                said = "there is no ptxas, which knows what kernels for NVIDIA need: put it on PATH"
                _fail(session.sink, Diagnostic(Code.FILE_ERROR, None, said, "or 'pip install nvidia-cuda-nvcc'"))
            said = tools.measured_by_ptxas(ptxas, data, target.cpu)
            facts.append(kernel_facts.of_nvidia(title, symbol, target, text, said))
        elif target.vendor == "amd":
            facts.append(kernel_facts.of_amd(title, symbol, target, text))
        else:
            facts.append(kernel_facts.of_others(title, symbol, target, text))
    return facts


def _fail(sink: Sink, problem: Diagnostic) -> None:
    sink.report(problem)
    raise CompileError(sink.diagnostics)


def _row(one: "KernelFacts") -> tuple[str, ...]:
    numbers = [one.registers, one.spills, one.shared, one.stack]
    parts = " ".join(f"{100 * part:.0f}%" for part in one.occupancy.values())
    return (one.name, one.target, *("-" if number is None else str(number) for number in numbers), parts or "-")


def _mix(one: "KernelFacts") -> str:
    return ", ".join(f"{count} {kind}" for kind, count in one.mix.items())


def _broken(facts: "list[KernelFacts]", max_registers: int | None, no_spills: bool) -> list[str]:
    """Return the limits that the kernels break, a line each."""
    lines = []
    for one in facts:
        if max_registers is not None and (one.registers or 0) > max_registers:
            lines.append(f"'{one.name}' takes {one.registers} registers on {one.target}, more than {max_registers}")
        if no_spills and one.spills:
            lines.append(f"'{one.name}' spills {one.spills} bytes on {one.target}")
    return lines


def _measured(task: Task, config: Config) -> "tuple[Ceiling, dict[str, Measured]]":
    """Build the program, run it with the library's profile, and once more under ncu where that is found."""
    from ktc.bench import roofline  # late: only for some commands
    from ktc.driver.pipeline import build as build_program  # late: only for some commands

    with tempfile.TemporaryDirectory() as folder:
        output, profile = Path(folder, "program"), Path(folder, "profile")
        made = build_program(task.open_session(replace(config, output=output)))
        environment = environment_with({"KTC_PROFILE": str(profile), "KTC_DEVICE": "gpu"})
        done = subprocess.run([str(made.path)], env=environment, capture_output=True, text=True, check=False)
        if done.returncode or not profile.exists():
            said = " ".join(done.stderr.split()) or f"exit status {done.returncode}, and no kernel was started"
            _fail(task.sink, Diagnostic(Code.FILE_ERROR, None, f"the program did not run on a GPU: {said}"))
        name = next((one.cpu for one in config.accelerators if one.vendor == "nvidia"), "")
        digits = "".join(filter(str.isdigit, name))
        ceiling, measured = roofline.read(profile.read_text(), int(digits or 0))
        ncu = shutil.which("ncu")
        if ncu:
            command = [
                ncu,
                "--csv",
                "--page",
                "raw",
                "--clock-control",
                "none",
                "--metrics",
                ",".join(roofline.METRICS),
            ]
            counted = subprocess.run([*command, str(made.path)], capture_output=True, text=True, check=False)
            for symbol, (size, operations) in roofline.read_counters(counted.stdout).items():
                if symbol in measured:
                    measured[symbol] = replace(measured[symbol], bytes=size, operations=operations)
    return ceiling, measured


def _show_run(ceiling: "Ceiling", measured: "dict[str, Measured]", as_json: bool, chart: Path | None) -> None:
    from ktc.bench import roofline  # late: only for some commands
    from ktc.cli.output import print_table  # late: only for some commands

    if not as_json:
        sys.stdout.write(f"\n{ceiling.name}\n")
        head = ("kernel", "launches", "least us", "mean us", "GB/s", "TFLOP/s")
        print_table(head, roofline.rows(ceiling, measured))
        if all(one.bytes is None for one in measured.values()):
            sys.stdout.write("ncu was not found, or may not count: bytes and operations are not known\n")
    if chart is not None:
        try:
            for path in roofline.draw(ceiling, measured, chart):
                sys.stderr.write(f"ktc: drew {path}\n")
        except ImportError:
            raise click.UsageError("--chart needs matplotlib: pip install 'ktc[bench]'") from None
