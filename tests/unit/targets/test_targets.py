"""Targets by name, and their facts against LLVM's own."""

import subprocess
import sys

import llvmlite.binding as llvm
import pytest
from ktc import targets
from ktc.base.records import replace
from ktc.emit.llvm import machine
from ktc.targets import air
from ktc.targets.cpu import SYSTEM_VALUES, cpu_target
from ktc.targets.host import Processor, detect, host_target, identity, supported_architectures
from ktc.targets.spirv import FINAL_LAYOUT

DEVICES = targets.device_targets()


@pytest.mark.parametrize("target", [t for t in DEVICES if t.vendor != "apple"], ids=lambda t: t.name)
def test_data_layout_is_that_of_llvm(target):
    """Of what is emitted, for modules of SPIR-V are optimised with another one."""
    layout = FINAL_LAYOUT if target.vendor == "opencl" else target.data_layout
    assert str(machine(target, 0, emits=True).target_data) == layout


@pytest.mark.parametrize(
    "triple",
    [
        "x86_64-unknown-linux-gnu",
        "x86_64-apple-darwin",
        "aarch64-unknown-linux-gnu",
        "arm64-apple-darwin",
        "riscv64-linux",
    ],
)
def test_host_layout_is_that_of_llvm(triple):
    llvm.initialize_all_targets()
    target = host_target(triple, cpu="generic")
    assert str(llvm.Target.from_triple(triple).create_target_machine().target_data) == target.data_layout


def test_names_and_aliases_are_unique():
    spelled = [word for target in DEVICES for word in (target.name, *target.aliases)]
    assert len(spelled) == len(set(spelled))
    assert all(word == word.lower() for word in spelled)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("sm_90", "sm_90"), ("nvidia:90", "sm_90a"), ("nvidia:sm_90a", "sm_90a"), ("SM_80", "sm_80"), ("90", "sm_90a"),
        ("nvidia:sm_100", "sm_100a"), ("100a", "sm_100a"), ("nvidia:120", "sm_120a"), ("110", "sm_110"),
        ("cuda", "sm_80"),
        ("amdgpu:gfx942", "gfx942"), ("mi300x", "gfx942"), ("amdgpu:mi300x", "gfx942"), ("m1", "apple-m1"),
        ("metal:4", "apple-m4"), ("apple-m5", "apple-m5"),
    ],
)  # fmt: skip
def test_find(written, name):
    assert targets.find(written).name == name


def test_find_unknown():
    assert targets.find("sm_999") is None
    assert targets.find("") is None


@pytest.mark.parametrize(
    ("written", "name"),
    [("sm_91", "sm_90"), ("gfx940", "gfx942"), ("aple-m4", "apple-m4"), ("cpuu", "cpu"), ("m9", "apple-m1")],
)
def test_nearest(written, name):
    assert name in targets.nearest(written)


def test_no_name_is_near():
    assert targets.nearest("quantum") == []


def test_every_target_has_a_title_and_can_be_found():
    for target in targets.all_targets(host_target()):
        assert target.title and target.is_device
        assert targets.find(target.name).name == target.name
    assert targets.names() == tuple(target.name for target in targets.all_targets(host_target()))


def test_processor_as_a_device():
    target = cpu_target()
    assert (target.name, target.triple, target.cpu) == ("cpu", detect().triple, detect().cpu)
    assert sorted(SYSTEM_VALUES.values()) == list(range(14))
    assert target.system_values["ktc.cpu.block_dim.y"] == 7


def test_system_arguments_of_air():
    for name, slot in air.SYSTEM_VALUES.items():
        word, dimension = air.SYSTEM_ARGUMENTS[slot]
        assert name == f"llvm.{word}" + ("" if dimension < 0 else f".{'xyz'[dimension]}")
    assert air.SYSTEM_ARGUMENTS[3] == ("air.threadgroup_position_in_grid", 0)


def test_every_apple_target_has_versions():
    assert {air.versions(target).air for target in air.TARGETS} == {(2, 7, 0), (2, 8, 0)}


def test_host_is_this_machine():
    here = Processor("x86_64-unknown-linux-gnu", "znver3", "+avx,-sse4a")
    target = host_target(processor=here)
    assert (target.triple, target.cpu, target.features) == ("x86_64-unknown-linux-gnu", "znver3", "+avx,-sse4a")
    assert host_target(cpu="skylake", processor=here).features == ""
    assert host_target(features="-avx", processor=here).features == "+avx,-sse4a,-avx"


def test_host_of_another_machine():
    here = Processor("x86_64-unknown-linux-gnu", "znver3", "+avx")
    target = host_target("aarch64-unknown-linux-gnu", processor=here)
    assert (target.cpu, target.features) == ("", "")
    assert host_target("vax-dec-ultrix", processor=here) is None
    assert "x86_64" in supported_architectures()


def test_identity_is_stable():
    assert identity() == identity()


def test_gpu_targets_need_no_llvm():
    code = (
        "import sys, ktc.targets as t; t.find('sm_90'); t.nearest('x'); t.names(); sys.exit('llvmlite' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_target_can_be_changed():
    assert replace(targets.find("sm_90"), features="+ptx85").features == "+ptx85"
