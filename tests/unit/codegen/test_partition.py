"""A large host in several modules: each function is defined once, and a change stays in its module."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from codegen_kit import HOST, arg, function, i64, op, parsed, unit
from ktc.codegen import partition
from ktc.codegen.module import lower_host, lower_host_parts
from ktc.ir.nodes import (
    Call,
    Continue,
    Declare,
    If,
    Let,
    Load,
    Local,
    LocalAddress,
    Loop,
    Return,
    Store,
    Temp,
)
from ktc.ir.types import BOOL, I64

from programs import environment, run_ktc

LINES = 12
"""Of a function that is made here."""


def many(count: int, changed: int = -1):
    """Return a unit: `f` calls each of some functions once, and these a shared one and a short one."""

    def product(start: int):
        value = arg(0, I64)
        for index in range(LINES):
            value = op("mul", value, i64(start + index))
        return value

    functions = []
    for number in range(count):
        short, shared = Temp(1, I64), Temp(2, I64)
        lines = [
            Let(short, Call("short", (product(number + 3 + (number == changed)),), I64)),
            Let(shared, Call("shared", (short,), I64)),
            Return(op("add", short, shared)),
        ]
        functions.append(function(f"work{number}", (I64,), I64, *lines, linkage="internal"))
    calls = [Let(Temp(number, I64), Call(f"work{number}", (arg(0, I64),), I64)) for number in range(count)]
    return unit(
        HOST,
        function("f", (I64,), I64, *calls, Return(Temp(0, I64))),
        function("short", (I64,), I64, Return(op("add", arg(0, I64), i64(1))), linkage="internal"),
        function("shared", (I64,), I64, Return(product(100)), linkage="internal"),
        *functions,
    )


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("WHOLE_LINES", 50), ("_MODULE_LINES", 60), ("_CLUSTER_LINES", 70), ("_GRAIN", 1)):
        monkeypatch.setattr(partition, name, value)
    monkeypatch.setattr(partition, "_COPIED_LINES", 4)


def defined(text: str) -> set[str]:
    return set(re.findall(r"^define (?:hidden )?i64 @(\w+)\(", text, re.MULTILINE))


def test_each_function_is_defined_once(small: None) -> None:
    source = many(40)
    modules = lower_host_parts(source, {}, level=3)
    assert len(modules) > 4
    for module in modules:
        parsed(module)
    texts = [module.text for module in modules]
    visible = [defined(text) for text in texts]
    assert sum(map(len, visible)) == len(set().union(*visible))
    for text in texts:
        wanted = set(re.findall(r"^declare hidden i64 @(\w+)\(", text, re.MULTILINE))
        assert wanted <= set().union(*visible) - defined(text)
    assert any("available_externally hidden i64 @short" in text for text in texts)
    joined = [name for text in texts for name in re.findall(r"define internal i64 @(work\d+)\(", text)]
    assert joined and not set(joined) & set().union(*visible)


def test_a_short_host_is_one_module() -> None:
    source = many(10)
    assert lower_host_parts(source, {}, level=3) == (lower_host(source, {}, level=3),)


def counting(name: str):
    """Return a function with a loop whose length is not known."""
    count = Local(0, I64)
    turn = op("add", Temp(0, I64), i64(1))
    body = (
        Let(Temp(0, I64), Load(LocalAddress(count), I64)),
        If(op("uge", Temp(0, I64), arg(0, I64), to=BOOL), (Return(Temp(0, I64)),), ()),
        Store(LocalAddress(count), turn),
        Continue(1),
    )
    return function(name, (I64,), I64, Declare(count), Store(LocalAddress(count), i64(0)), Loop(1, body))


def test_loops_are_not_unrolled_and_those_of_long_hosts_not_interleaved(monkeypatch: pytest.MonkeyPatch) -> None:
    source = unit(HOST, *(counting(f"count{number}") for number in range(6)))
    for most, parts in ((1_000, 1), (1, 2)):
        for name in ("WHOLE_LINES", "_MODULE_LINES", "_CLUSTER_LINES"):
            monkeypatch.setattr(partition, name, most)
        modules = lower_host_parts(source, {}, level=3)
        assert (len(modules) > 1) == (parts > 1)
        for module in modules:
            parsed(module)
            assert module.text.count("!llvm.loop !1") == module.text.count("\nloop1:") > 0
            assert "llvm.loop.unroll.runtime.disable" in module.text
            assert ("llvm.loop.interleave.count" in module.text) == (parts > 1)


def test_a_change_stays_in_its_module(small: None) -> None:
    before, after = (lower_host_parts(many(40, changed), {}, level=3) for changed in (-1, 17))
    differ = [index for index, (old, new) in enumerate(zip(before, after, strict=True)) if old.text != new.text]
    assert len(differ) == 1


@pytest.mark.slow
def test_a_program_in_many_modules(program_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions, state that all of them share, and constants; a second build compiles the changed module alone."""
    for name in ("WHOLE_LINES", "_MODULE_LINES", "_CLUSTER_LINES"):
        monkeypatch.setattr(partition, name, getattr(partition, name) // 4)
    functions = [
        f"""
fn work{number}(mut state: List[Int], text: String) raises -> String:
    var made = text + "{number}"
    for item in state:
        if item % {number % 7 + 2} == 0:
            made += String(item)
    state[{number} % 3] += len(made)
    if len(made) > 100_000:
        raise Error("too long in {number}")
    return String(made[len(made) - 1])
"""
        for number in range(24)
    ]
    calls = [f"    text = work{number}(state, text)" for number in range(24)]
    main = [
        "",
        "def main():",
        "    var state = [1, 2, 3]",
        '    var text = String("a")',
        *calls,
        "    print(state[0], text)",
    ]

    def build(sources: list[str]) -> tuple[str, list[dict[str, object]]]:
        (tmp_path / "many.kpy").write_text("\n".join([*sources, *main]) + "\n")
        words = ["build", "--target-accelerator", "cpu", "--time-json", "times.json", "many.kpy"]
        done = run_ktc(words, program_cache, tmp_path)
        assert done.returncode == 0, done.stderr
        printed = subprocess.run(
            [tmp_path / "many"], capture_output=True, text=True, check=True, env=environment(program_cache)
        )
        phases = json.loads((tmp_path / "times.json").read_text())["phases"]
        return printed.stdout, [one for one in phases if one["name"] == "lower" and one["unit"] == "host"]

    said, phases = build(functions)
    assert said.split()[1] == "8" and phases[0]["misses"] > 1
    functions[10] = functions[10].replace("String(item)", "String(item + 1)")
    _, phases = build(functions)
    assert phases[0]["misses"] == 1
