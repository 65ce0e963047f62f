"""Workers of Dask `distributed`, each with ktc on a machine of its own; and the compile times that they measure.

Input: the address of a scheduler. Output: answers of the workers; the results of a plan. A worker measures all flows
of a program, and the compiler that it is compared with, so that a ratio never has two machines in it.
"""

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path

from ktc.base.records import as_dict, replace
from ktc.bench import compile_runs, report
from ktc.bench.compile_runs import BenchFailed, Plan, Result, Run, Variant
from ktc.syntax.editions import SUFFIXES

_RETRIES = 3
_CONNECT_SECONDS = 10

Ask = Callable[[Callable[[str], str], Sequence[str]], Iterator[tuple[int, str | Exception]]]
"""Calls a function with each text on a worker; gives the text's number and the answer, or what was raised, as it comes.
If a worker dies, another one does its job."""


class NoScheduler(Exception):
    """No scheduler answers there, or it has no workers."""


def connect(address: str) -> Ask:
    """Return a client of a scheduler, which asks its workers.

    Raises:
        ImportError: there is no `distributed`.
        NoScheduler: the scheduler does not answer, or there are no workers.
    """
    distributed = import_module("distributed")
    try:
        client = distributed.Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise NoScheduler(f"no scheduler answers at '{address}': {error}") from error
    if not client.scheduler_info()["workers"]:
        client.close()
        raise NoScheduler(f"the scheduler at '{address}' has no workers: start 'dask worker {address} --nthreads 1'")

    def ask(function: Callable[[str], str], texts: Sequence[str]) -> Iterator[tuple[int, str | Exception]]:
        futures = {client.submit(function, text, pure=False, retries=_RETRIES): at for at, text in enumerate(texts)}
        for future in distributed.as_completed([*futures], loop=client.loop):
            try:
                yield futures[future], str(future.result())
            except Exception as error:  # whatever a worker raises is the job's fate
                yield futures[future], error

    return ask


def measure(plan: Plan, address: str, progress: Callable[[str], None]) -> tuple[list[Result], list[str]]:
    """Have workers build every variant; returns the results in the plan's order, and the machines that measured.

    Raises:
        ImportError, NoScheduler: as `connect`.
        BenchFailed: a build failed.
    """
    parts = [*_parts(plan)]
    files = {file: sources(file, plan.suffix) for file in plan.files}
    jobs = [json.dumps({"plan": _as_data(part), "files": files[part.files[0]]}) for part in parts]
    found: dict[Variant, Result] = {}
    machines: dict[str, None] = {}
    for count, (at, answer) in enumerate(connect(address)(evaluate, jobs), 1):
        if isinstance(answer, Exception):
            raise BenchFailed(f"a worker failed: {answer}")
        made = json.loads(answer)
        if "failed" in made:
            raise BenchFailed(made["failed"])
        machines[made["machine"]] = None
        for variant, runs in zip(compile_runs.variants(parts[at]), made["runs"], strict=True):
            found[variant] = Result(variant, [Run(**run) for run in runs])
        progress(f"{count} of {len(parts)} parts are measured")
    return [found[variant] for variant in compile_runs.variants(plan)], [*machines]


def evaluate(text: str) -> str:
    """Measure a part of a plan on this machine; takes and gives JSON."""
    job = json.loads(text)
    with tempfile.TemporaryDirectory(prefix="ktc-bench-") as folder:
        for name, source in job["files"].items():
            if ".." in Path(name).parts:
                raise ValueError(f"'{name}' lies outside of the program's folder")
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(source, "utf-8")
        plan = _plan_of(job["plan"], Path(folder))
        try:
            results = compile_runs.measure(plan, compile_runs.own_command(), lambda _: None)
        except BenchFailed as error:
            return json.dumps({"failed": str(error)})
    machine = ", ".join(f"{name}: {fact}" for name, fact in report.machine().items() if name != "load")
    return json.dumps({"machine": machine, "runs": [[as_dict(run) for run in one.runs] for one in results]})


def sources(file: Path, suffix: str) -> dict[str, str]:
    """Return the texts that a program may be made of, by path: its folder's sources, and those of packages in it."""
    folder = file.parent
    found = [*folder.iterdir()]
    for package in [one for one in found if any((one / f"__init__{end}").exists() for end in SUFFIXES)]:
        found += package.rglob("*")
    twin = file.with_suffix(suffix) if suffix else file
    needed = {twin, *(path for path in found if path.suffix in SUFFIXES)}
    return {str(path.relative_to(folder)): path.read_text("utf-8") for path in sorted(needed) if path.is_file()}


def _parts(plan: Plan) -> Iterator[Plan]:
    """Split a plan into what one worker measures."""
    for file in plan.files:
        for level in plan.levels:
            for debug in plan.debugs:
                yield replace(plan, files=(file,), levels=(level,), debugs=(debug,))


def _plan_of(data: Mapping[str, list[str] | str | int], folder: Path) -> Plan:
    """Return the plan that `_as_data` wrote, of files in a folder."""
    plan = replace(Plan(()), **{name: tuple(one) if isinstance(one, list) else one for name, one in data.items()})
    return replace(plan, files=tuple(Path(folder, name) for name in plan.files))


def _as_data(plan: Plan) -> dict[str, object]:
    return {**as_dict(plan), "files": [file.name for file in plan.files]}
