"""AMD GPUs through LLVM's AMDGPU back end. The artefact is an ELF shared object (hsaco), which HIP loads.

`TARGETS` has the processors whose objects were compared with those of a full linker. XNACK and SRAM-ECC stay open
("any"), so that one object fits every setting of a machine.
"""

from ktc.targets.target import Target

LAYOUT = (
    "e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128:128:48"
    "-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024"
    "-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9"
)
"""Source: LLVM 22, `AMDGPUTargetMachine.cpp`."""

CODE_OBJECT_VERSION = 500
"""ROCm 5 to 7 load version 5; newer ones are known to newer ROCm only."""

_PROCESSORS = (
    # name, lanes of a warp, shared KiB a block, title, further names
    ("gfx90a", 64, 64, "AMD CDNA 2 (MI210, MI250)", ("mi210", "mi250", "mi250x")),
    ("gfx942", 64, 64, "AMD CDNA 3 (MI300A, MI300X, MI325X)", ("mi300", "mi300a", "mi300x", "mi325x")),
    ("gfx950", 64, 160, "AMD CDNA 4 (MI350X, MI355X)", ("mi350x", "mi355x")),
    ("gfx1030", 32, 64, "AMD RDNA 2 (RX 6800, RX 6900)", ()),
    ("gfx1100", 32, 64, "AMD RDNA 3 (RX 7900)", ()),
    ("gfx1101", 32, 64, "AMD RDNA 3 (RX 7700, RX 7800)", ()),
    ("gfx1102", 32, 64, "AMD RDNA 3 (RX 7600)", ()),
    ("gfx1103", 32, 64, "AMD RDNA 3 (Radeon 780M)", ()),
    ("gfx1150", 32, 64, "AMD RDNA 3.5 (Radeon 890M)", ()),
    ("gfx1151", 32, 64, "AMD RDNA 3.5 (Radeon 8060S)", ()),
    ("gfx1200", 32, 64, "AMD RDNA 4 (RX 9060)", ()),
    ("gfx1201", 32, 64, "AMD RDNA 4 (RX 9070)", ()),
)


_FLOAT_ATOMICS = ("amdgpu.no.fine.grained.memory", "amdgpu.no.remote.memory", "amdgpu.ignore.denormal.mode")
"""Else the back end writes a loop: it must fear memory beyond the bus, which has no such atomics."""


def _target(name: str, lanes: int, shared_kib: int, title: str, further: tuple[str, ...]) -> Target:
    return Target(
        name=name,
        vendor="amd",
        triple="amdgcn-amd-amdhsa",
        data_layout=LAYOUT,
        cpu=name,
        features="",
        spaces={0: 0, 1: 1, 3: 3, 4: 4, 5: 5},
        alloca_space=5,
        kernel_convention="amdgpu_kernel",
        kernel_attributes='"amdgpu-flat-work-group-size"="1,1024" "uniform-work-group-size"="true"',
        bounded_kernel_attributes={"threads": '"amdgpu-flat-work-group-size"="1,{}" "uniform-work-group-size"="true"'},
        module_flags=(f'!{{i32 1, !"amdhsa_code_object_version", i32 {CODE_OBJECT_VERSION}}}',),
        scopes={"": "", "gpu": "agent", "cluster": "agent", "block": "workgroup", "warp": "wavefront"},
        warp_lanes=lanes,
        shared_bytes=shared_kib << 10,
        dynamic_shared_bytes=shared_kib << 10,
        artefact="hsaco",
        value_argument="ptr addrspace(4) byref({type}) align {align}",
        value_space=4,
        global_spaces=(4, 1),
        has_wide_casts=False,
        float_atomics=_FLOAT_ATOMICS,
        is_convergent=True,
        is_device=True,
        title=title,
        aliases=(f"amdgpu:{name}", f"amd:{name}", f"hip:{name}", *further, *(f"amdgpu:{word}" for word in further)),
    )


TARGETS = tuple(_target(*row) for row in _PROCESSORS)
