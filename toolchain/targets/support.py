"""The support of each kind of target: outputs, and how they are tested. `ktc targets --support` prints it."""

from ktc.base.records import record


@record
class Support:
    """One row.

    Args:
        name: the vendor, or the triple of a host.
        makes: the output.
        checked: the tool that reads it back or links it.
        launched: the driver that launches it, or the system that it runs on.
        tested: the machines of the tests.
    """

    name: str
    makes: str
    checked: str
    launched: str
    tested: str


KERNELS = (
    Support("NVIDIA", "PTX, cubin", "ptxas", "CUDA's driver", "an H200"),
    Support("AMD", "code object", "a loader, lld", "HIP", "a stand-in for HIP"),
    Support("Apple", "metallib", "a second reader", "Metal", "a stand-in for Metal"),
    Support("OpenCL", "SPIR-V", "spirv-val", "libOpenCL", "Intel's runtime for processors"),
    Support("cpu", "native code", "running it", "threads", "every test"),
)
"""Kernels, by vendor."""

HOSTS = (
    Support("x86_64-unknown-linux-gnu", "ELF", "ld, cc, zig", "glibc", "every test"),
    Support("aarch64-unknown-linux-gnu", "ELF", "cross gcc, zig", "glibc", "qemu-aarch64"),
    Support("riscv64-unknown-linux-gnu", "ELF", "cross gcc, zig", "glibc", "qemu-riscv64"),
    Support("*-unknown-linux-musl", "static ELF", "cross gcc, zig", "any Linux", "x86-64, qemu"),
    Support("x86_64-pc-windows-gnu", "PE", "mingw-w64, zig", "Windows", "Wine"),
    Support("*-apple-macosx", "Mach-O", "zig", "macOS", "reading it back"),
)
"""Hosts, by triple."""
