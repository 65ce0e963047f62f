"""The host: where the executable runs.

Input: a triple, a processor and features, each empty for "this machine's". Output: a `Target`. This machine's processor
is asked of LLVM, which takes a tenth of a second to load: `identity` is a cheap key under which a caller may keep what
`detect` said.
"""

import platform
import re
import subprocess
import sys
from hashlib import sha256
from importlib import import_module
from pathlib import Path

from ktc.base.records import record
from ktc.targets import triples
from ktc.targets.target import Target
from ktc.targets.triples import LINUX

_LAYOUTS = {
    ("x86_64", "elf"): "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128",
    ("x86_64", "macho"): "e-m:o-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128",
    ("aarch64", "elf"): "e-m:e-p270:32:32-p271:32:32-p272:64:64-i8:8:32-i16:16:32-i64:64-i128:128-n32:64-S128-Fn32",
    ("aarch64", "macho"): "e-m:o-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-n32:64-S128-Fn32",
    ("x86_64", "coff"): "e-m:w-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128",
    ("aarch64", "coff"): "e-m:w-p270:32:32-p271:32:32-p272:64:64-p:64:64-i32:32-i64:64-i128:128-n32:64-S128-Fn32",
    ("riscv64", "elf"): "e-m:e-p:64:64-i64:64-i128:128-n32:64-S128",
}
"""LLVM 22's data layout by architecture and object format; a test compares them with LLVM's own."""

_LEAST_FEATURES = {("riscv64", LINUX): "+m,+a,+f,+d,+c"}
"""Features of every machine of an architecture and system: Linux distributions for RISC-V are built for RV64GC."""

_ASK = """
import sys
import llvmlite.binding as llvm
llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
llvm.Target.from_triple(sys.argv[1]).create_target_machine(cpu=sys.argv[2], features=sys.argv[3])
"""

SPACES = {0: 0, 1: 0, 3: 0, 4: 0, 5: 0}
"""A processor has one address space."""

SCOPES = {"": "", "gpu": "", "cluster": "", "block": "", "warp": ""}


@record
class Processor:
    """LLVM's description of a machine: triple, processor and features."""

    triple: str
    cpu: str
    features: str


def identity() -> str:
    """Return a digest that changes when this machine's processor does; needs no LLVM."""
    parts = [platform.system(), platform.machine()]
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").split("\n\n", 1)[0].splitlines()
    except OSError:
        lines = []
        parts.append(platform.processor())  # starts a process on some systems
    # The other lines hold the clock's present speed and the like.
    kept = ("vendor_id", "cpu family", "model", "flags", "Features", "CPU ", "isa", "uarch")
    parts += [line for line in lines if line.startswith(kept)]
    return sha256("\n".join(parts).encode()).hexdigest()[:32]


def detect() -> Processor:
    """Ask LLVM for this machine's triple, processor and features (as `-march=native` does)."""
    llvm = import_module("llvmlite.binding")
    features: dict[str, bool] = llvm.get_host_cpu_features()
    flags = ",".join(("+" if on else "-") + name for name, on in sorted(features.items()))
    return Processor(llvm.get_process_triple(), llvm.get_host_cpu_name(), flags)


def host_target(
    triple: str = "", cpu: str = "", features: str = "", processor: Processor | None = None
) -> Target | None:
    """Return the host's target, or None if its architecture is none that ktc knows.

    A triple of one's own means another machine: its processor is then the architecture's least one unless `cpu`
    names it. The processor's own features are kept only while `cpu` is not given.

    Args:
        processor: the result of `detect`, if it is known already.
    """
    parts = triples.parsed(triple)
    least = _LEAST_FEATURES.get((parts.architecture, parts.system), "") if not cpu else ""
    here = Processor(triple, cpu, ",".join(part for part in (least, features) if part))
    if not triple or cpu in ("", "native"):
        this = processor or detect()
        if triple in ("", this.triple):
            native = cpu in ("", "native")
            own = ",".join(part for part in (this.features if native else "", features) if part)
            here = Processor(this.triple, this.cpu if native else cpu, own)
    layout = _layout(here.triple)
    if layout is None:
        return None
    return Target(
        name=here.triple, vendor="cpu", triple=here.triple, data_layout=layout, cpu=here.cpu, features=here.features,
        spaces=SPACES, scopes=SCOPES, splits_vector_casts=True, flushes_bfloat=True, describes_variables=True,
        title="host",
    )  # fmt: skip


def unknown_words(triple: str, cpu: str, features: str) -> tuple[str, ...]:
    """Return those of a processor and features (`+avx2`) that LLVM does not know for a triple.

    LLVM only says so on standard error, so a process of its own is asked: a tenth of a second.
    """
    words = [sys.executable, "-c", _ASK, triple, "" if cpu == "native" else cpu, features]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    found = re.findall(r"'([^']+)' is not a recognized (?:processor|feature)", done.stderr)
    return tuple(dict.fromkeys(found))


def supported_architectures() -> tuple[str, ...]:
    """Return the architectures that a host may have."""
    return tuple(dict.fromkeys(architecture for architecture, _ in _LAYOUTS))


def _layout(triple: str) -> str | None:
    parts = triples.parsed(triple)
    formats = {triples.MACOS: "macho", triples.WINDOWS: "coff"}
    return _LAYOUTS.get((parts.architecture, formats.get(parts.system, "elf")))
